"""Table 2 of the paper: node classification on the three citation graphs, public splits."""

from __future__ import annotations

from ccassg.experiments import accuracy_table, published
from ccassg.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    title="Test accuracy (%) on citation graphs, public splits (Table 2)",
    datasets=("cora", "citeseer", "pubmed"),
    methods=tuple(published.NAMES),
    runs=accuracy_table.runs,
    draw=lambda records, plan, _: accuracy_table.draw(records, plan, published.CITATION, digits=1),
)
