"""The few numbers of the front page: CCA-SSG on the seven datasets, ours beside the paper's."""

from __future__ import annotations

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
    for name in DATASETS:
        found = records.of(classification_run("cca-ssg", name, seed) for seed in range(N_SEEDS))
        n_recorded += len(found)
        ours = mean_std(accuracies(found), digits=1) if found else "not recorded yet"
        rows.append({"dataset": TITLES[name], "test accuracy, %": ours, "runs": len(found), "paper": paper[name]})
    return to_markdown(rows) if n_recorded else None
