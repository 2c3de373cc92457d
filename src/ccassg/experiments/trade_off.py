"""Accuracy against the trade-off lambda (the paper's figure "Effect of lambda")."""

from ccassg.experiments import sweep

# The paper's search grid, and beyond it to both sides until something breaks.
VALUES = (1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 1e-1)
QUICK = (1e-4, 1e-3, 1e-2)


def near_best_inside(by_value: sweep.ByValue) -> bool:
    """Whether the paper's two values hold one that is near the best, and both ends are worse."""
    near = sweep.near_best(by_value)
    return bool({5e-4, 1e-3} & set(near)) and min(by_value) < near[0] and near[-1] < max(by_value)


EXPERIMENT = sweep.experiment(
    "Test accuracy (%) against the weight of the decorrelation term",
    name="lambda",
    label="lambda",
    values=lambda plan, dataset: QUICK if plan.quick else VALUES,
    change=lambda value: {"decorrelation": value},
    statement="A lambda of 0.0005 or 0.001 is right (one of them within one point of the best), much less or much more is worse",
    holds=near_best_inside,
)
