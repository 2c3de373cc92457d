"""Every table and figure of the paper: `EXPERIMENTS` by name; see `ccassg reproduce --list`."""

from ccassg.experiments import citation, copurchase
from ccassg.experiments.experiment import Drawn, Experiment, Plan
from ccassg.experiments.records import Records

EXPERIMENTS: dict[str, Experiment] = {
    "citation": citation.EXPERIMENT,
    "copurchase": copurchase.EXPERIMENT,
}

__all__ = ["EXPERIMENTS", "Drawn", "Experiment", "Plan", "Records"]
