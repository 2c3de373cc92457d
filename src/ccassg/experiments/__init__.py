"""Every table and figure of the paper, and some more: `EXPERIMENTS` by name; see `ccassg reproduce --list`."""

from ccassg.experiments import (
    ablation,
    augmentation,
    baseline_details,
    batches,
    citation,
    collapse,
    copurchase,
    correlation,
    default_settings,
    details,
    dimension,
    fast_presets,
    information,
    label_free,
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
    "label-free": label_free.EXPERIMENT,
    "default-settings": default_settings.EXPERIMENT,
    "details": details.EXPERIMENT,
    "baseline-details": baseline_details.EXPERIMENT,
    "fast-presets": fast_presets.EXPERIMENT,
    "batches": batches.EXPERIMENT,
}

__all__ = ["EXPERIMENTS", "Drawn", "Experiment", "Plan", "Records"]
