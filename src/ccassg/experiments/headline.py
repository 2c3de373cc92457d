"""The few numbers of the front page: CCA-SSG on the seven datasets, ours beside the paper's, and the speed of a step."""

from __future__ import annotations

import json
from typing import Any

from ccassg.datasets import DATASETS
from ccassg.experiments.experiment import accuracies, classification_run
from ccassg.experiments.published import CITATION, COPURCHASE, TITLES
from ccassg.experiments.records import Records
from ccassg.report.tables import mean_std, to_markdown

N_SEEDS = 20


def headline(records: Records) -> str | None:
    """A Markdown table of what is recorded with the presets; None without any record."""
    paper = CITATION["cca-ssg"] | COPURCHASE["cca-ssg"]
    rows: list[dict[str, Any]] = []
    n_recorded = 0
    times_faster = _times_faster(records)
    for name in DATASETS:
        found = records.of(classification_run("cca-ssg", name, seed) for seed in range(N_SEEDS))
        n_recorded += len(found)
        ours = mean_std(accuracies(found), digits=1) if found else "not recorded yet"
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
