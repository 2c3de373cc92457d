"""Names that a shell completes at a Tab; what holds them is imported only then."""

from collections.abc import Callable
from importlib import import_module


def _beginning(module: str, names: str) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return sorted(name for name in getattr(import_module(module), names) if name.startswith(incomplete))

    return complete


methods_beginning = _beginning("ccassg.systems", "METHODS")
embedders_beginning = _beginning("ccassg.systems", "EMBEDDERS")
datasets_beginning = _beginning("ccassg.datasets", "DATASETS")
experiments_beginning = _beginning("ccassg.experiments", "EXPERIMENTS")
