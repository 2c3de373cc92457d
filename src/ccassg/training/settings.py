"""What determines a training run, and what comes of it."""

from collections.abc import Callable
from dataclasses import dataclass

from ccassg.graph import Graph
from ccassg.model.loss import Objective

Augmentation = Callable[[Graph, int, int, int], Graph]
# Called after every step with its number, the loss and its terms by name, and the number of steps.
OnStep = Callable[[int, dict[str, float], int], None]
# The loss of every step, and each of its terms, by name (`ccassg.model.loss.Terms`).
History = dict[str, list[float]]


@dataclass(frozen=True)
class Settings:
    """What determines a run, apart from the graph and the initial weights.

    Rates are pairs, one per view. ``loss_nodes`` is the number of nodes drawn for the loss each step, 0 for all;
    ``neighbour_view`` makes a random neighbour the second view of a node (`ccassg.training.views.partners`).
    ``batch_nodes`` and ``max_neighbors`` are described in `ccassg.training.batches`.
    ``stop_when_flat`` ends training before ``n_steps`` when the loss says so (`ccassg.training.loop.is_flat`).
    ``augmentations`` are functions (graph, seed, step, view) -> graph, applied before edges are dropped and columns masked.
    """

    n_steps: int
    learning_rate: float
    weight_decay: float
    objective: Objective
    edge_drop_rate: tuple[float, float]
    feature_mask_rate: tuple[float, float]
    drop_both_directions: bool = False
    neighbour_view: bool = False
    loss_nodes: int = 0
    batch_nodes: int = 0
    max_neighbors: int = 0
    seed: int = 0
    augmentations: tuple[Augmentation, ...] = ()
    stop_when_flat: bool = False


class NonFiniteLossError(ArithmeticError):
    """Training met a loss that is not a number."""
