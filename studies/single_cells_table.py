"""Renew the table of docs/guide/single-cells.md from results/single-cells.json: `python -m studies.single_cells_table`.

The record is made by `python examples/single_cells.py --json results/single-cells.json`.
"""

import json
from pathlib import Path

import numpy as np

from ccassg.experiments.documents import replace_block

PROJECT = Path(__file__).parents[1]
RECORD, DOCUMENT = PROJECT / "results" / "single-cells.json", PROJECT / "docs" / "guide" / "single-cells.md"


def table(record: dict) -> str:
    """Both embeddings as Markdown, and what they were made with."""
    lines = ["| embedding | NMI | ARI |", "|---|---|---|"]
    for name, scores in record["scores"].items():
        cells = (f"{np.mean(scores[key]):.3f} ± {np.std(scores[key]):.3f}" for key in ("nmi", "ari"))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    commit, versions = record["commit"]["id"][:7], record["versions"]
    source = f"commit {commit}, torch {versions['torch']}, scanpy {versions['scanpy']}"
    n_seeds, dims = len(record["seeds"]), record["dimensions"]
    return "\n".join([*lines, "", f"<small>{dims} dimensions, {n_seeds} seeds; {source}.</small>", ""])


if __name__ == "__main__":
    replace_block(DOCUMENT, "single-cells", table(json.loads(RECORD.read_text())))
