"""Names that a shell completes at a Tab."""


def methods_beginning(incomplete: str) -> list[str]:
    """Methods whose name begins so."""
    from ccassg.systems import METHODS

    return sorted(name for name in METHODS if name.startswith(incomplete))


def datasets_beginning(incomplete: str) -> list[str]:
    """Datasets whose name begins so."""
    from ccassg.datasets import DATASETS

    return sorted(name for name in DATASETS if name.startswith(incomplete))


def experiments_beginning(incomplete: str) -> list[str]:
    """Experiments whose name begins so."""
    from ccassg.experiments import EXPERIMENTS

    return [name for name in EXPERIMENTS if name.startswith(incomplete)]
