"""Every table and figure of the paper: `EXPERIMENTS` by name; see `ccassg reproduce --list`."""

from ccassg.experiments import (
    ablation,
    augmentation,
    citation,
    collapse,
    copurchase,
    correlation,
    dimension,
    information,
    label_rates,
    methods,
    scalability,
    trade_off,
)
from ccassg.experiments.experiment import Drawn, Experiment, Plan
from ccassg.experiments.records import Records

EXPERIMENTS: dict[str, Experiment] = {
    "methods": methods.EXPERIMENT,
    "citation": citation.EXPERIMENT,
    "copurchase": copurchase.EXPERIMENT,
    "ablation": ablation.EXPERIMENT,
    "lambda": trade_off.EXPERIMENT,
    "dimension": dimension.EXPERIMENT,
    "scalability": scalability.EXPERIMENT,
    "correlation": correlation.EXPERIMENT,
    "augmentation": augmentation.EXPERIMENT,
    "label-rates": label_rates.EXPERIMENT,
    "collapse": collapse.EXPERIMENT,
    "information": information.EXPERIMENT,
}

__all__ = ["EXPERIMENTS", "Drawn", "Experiment", "Plan", "Records"]
