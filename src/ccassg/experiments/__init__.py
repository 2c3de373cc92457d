"""Every table and figure of the paper: `EXPERIMENTS` by name; see `ccassg reproduce --list`."""

from ccassg.experiments import (
    ablation,
    accuracy_table,
    augmentation,
    collapse,
    correlation,
    information,
    label_rates,
    methods,
    scalability,
    sweep,
)
from ccassg.experiments.experiment import Drawn, Experiment, Plan
from ccassg.experiments.records import Records

EXPERIMENTS: dict[str, Experiment] = {
    "methods": methods.EXPERIMENT,
    "citation": accuracy_table.CITATION_GRAPHS,
    "copurchase": accuracy_table.COPURCHASE_GRAPHS,
    "ablation": ablation.EXPERIMENT,
    "lambda": sweep.TRADE_OFF,
    "dimension": sweep.DIMENSION,
    "scalability": scalability.EXPERIMENT,
    "correlation": correlation.EXPERIMENT,
    "augmentation": augmentation.EXPERIMENT,
    "label-rates": label_rates.EXPERIMENT,
    "collapse": collapse.EXPERIMENT,
    "information": information.EXPERIMENT,
}

__all__ = ["EXPERIMENTS", "Drawn", "Experiment", "Plan", "Records"]
