"""Table 3 of the paper: node classification on co-purchase and co-author graphs, a random split per run."""

from __future__ import annotations

from ccassg.experiments import accuracy_table, published
from ccassg.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    title="Test accuracy (%) on co-purchase and co-author graphs, random splits (Table 3)",
    datasets=("computers", "photo", "cs", "physics"),
    methods=tuple(published.NAMES),
    runs=accuracy_table.runs,
    draw=lambda records, plan, _: accuracy_table.draw(records, plan, published.COPURCHASE, digits=2),
)
