"""Accuracy against the width of the embedding (the paper's figure "Effect of D")."""

from ccassg.experiments import sweep
from ccassg.experiments.experiment import Plan

VALUES = (32, 64, 128, 256, 512, 1024, 2048)
QUICK = (64, 512)
# The cost grows with the square of the width; Pubmed at 2048 would take longer than all the rest together.
WIDEST = {"pubmed": 1024}


def widths(plan: Plan, dataset: str) -> tuple[int, ...]:
    """Which widths."""
    return tuple(v for v in (QUICK if plan.quick else VALUES) if v <= WIDEST.get(dataset, max(VALUES)))


def rises_and_falls(by_value: sweep.ByValue) -> bool:
    """Whether wide is better than narrow, and too wide worse."""
    best = max(by_value, key=lambda width: by_value[width])
    return bool(256 <= best < max(by_value))


EXPERIMENT = sweep.experiment(
    "Test accuracy (%) against the width of the embedding",
    name="dimension",
    label="width D",
    values=widths,
    # Hidden layer and embedding have one width, as in the paper's grid.
    change=lambda width: {"hidden_dim": width, "embedding_dim": width},
    statement="Accuracy rises with the width up to some hundreds of dimensions and falls beyond",
    holds=rises_and_falls,
)
