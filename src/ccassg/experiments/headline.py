"""The few numbers of the front page: CCA-SSG on the seven datasets, ours beside the paper's, and the speed of a step."""

import json
from typing import Any

from ccassg.datasets import DATASETS
from ccassg.experiments.published import CITATION, COPURCHASE, TITLES
from ccassg.experiments.records import Records
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.experiments.tables import accuracy_cell
from ccassg.report.tables import to_markdown

N_SEEDS = 20


def headline(records: Records) -> str | None:
    """A Markdown table of what is recorded with the presets; None without any record."""
    paper = CITATION[OURS] | COPURCHASE[OURS]
    rows: list[dict[str, Any]] = []
    n_recorded = 0
    times_faster = _times_faster(records)
    for name in DATASETS:
        found = records.of(classification_runs(OURS, name, N_SEEDS))
        n_recorded += len(found)
        ours = accuracy_cell(found) if found else "not recorded yet"
        row = {"dataset": TITLES[name], "test accuracy, %": ours, "runs": len(found), "paper": paper[name]}
        rows.append(row | times_faster.get(name, {}))
    return to_markdown(rows) if n_recorded else None


def _times_faster(records: Records) -> dict[str, dict[str, str]]:
    """By dataset, how many times faster than the textbook's a step is, from the file that `ccassg bench` recorded."""
    path = records.folder / "bench.json"
    if not path.exists():
        return {}
    return {
        row["dataset"]: {f"step, {kind}": f"{row[kind]['ratio']:.1f}x" for kind in ("exact", "fast")}
        for row in json.loads(path.read_text(encoding="utf-8"))["datasets"]
    }
