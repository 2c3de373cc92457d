"""What the parameters of all systems may be, by their names; and what CCA-SSG makes of them, its settings."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ccassg.graph.checks import check_count, check_number, shown
from ccassg.model.loss import Objective
from ccassg.training.settings import Settings

# No encoder looks farther, none is deeper or wider; a saved model may claim what it likes. Nothing else counts beyond a billion.
MAX_HOPS, MAX_LAYERS, MAX_DIM, MAX_COUNT = 64, 1000, 32_768, 10**9
# An embedding this wide is granted on any graph; a wider one must have as many nodes.
ALWAYS_DIM = 2048

# Whole numbers: the least and the most. Names that end in _dim are widths, from 1 to `MAX_DIM`.
COUNTS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("n_steps", "n_warmup_steps"), (0, MAX_COUNT)),
    **dict.fromkeys(("n_walks", "walk_length", "window_length"), (1, MAX_COUNT)),
    **dict.fromkeys(("patience", "subgraph_nodes", "max_neighbors"), (1, MAX_COUNT)),
    **dict.fromkeys(("loss_nodes", "batch_nodes"), (2, MAX_COUNT)),
    **dict.fromkeys(("n_layers", "n_terms", "n_heads", "n_output_heads"), (1, MAX_LAYERS)),
    "n_hops": (0, MAX_HOPS),
}
# Endings of those that decide how much memory is needed.
SIZES = ("_dim", "_layers", "_terms", "_heads", "_walks", "_length", "_nodes")
# Numbers that are not negative; and those from 0 to 1. Names that end in _rate are probabilities below 1,
# one or two.
NUMBERS = ("learning_rate", "weight_decay", "decorrelation", "invariance", "variance", "covariance", "threshold")
SHARES = ("momentum", "alpha", "shrinkage")
FLAGS = ("early_stopping", "drop_both_directions", "add_features")
CHOICES = {"encoder": ("auto", "canonical", "gcn", "mlp"), "second_view": ("node", "neighbour")}
# None says that there is no such limit.
OPTIONAL = ("patience", "loss_nodes", "batch_nodes", "subgraph_nodes", "max_neighbors")


def check(values: dict[str, Any]) -> None:
    """Refuse impossible values, each by its name; what has no entry above is checked where it is used."""
    for name, value in values.items():
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if value is None and name in OPTIONAL:
            continue
        if name in COUNTS or name.endswith("_dim"):
            check_count(name, value, *COUNTS.get(name, (1, MAX_DIM)))
        elif name in NUMBERS:
            check_number(name, value)
        elif name in SHARES:
            if not is_number or not 0 <= value <= 1:
                raise ValueError(f"{name} must be a number from 0 to 1, got {shown(value)}")
        elif name.endswith("_rate"):
            rates(name, value)
        elif name == "temperature":
            if check_number(name, value) == 0:
                raise ValueError(f"{name} must be positive, got {shown(value)}")
        elif name in FLAGS and not (isinstance(value, (bool, np.bool_, int)) and value in (0, 1)):
            raise ValueError(f"{name} must be True or False, got {shown(value)}")
        elif name in CHOICES and not (isinstance(value, str) and value in CHOICES[name]):
            *others, last = map(repr, CHOICES[name])
            raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {shown(value)}")
        elif name == "augmentations":
            _check_augmentations(value)


def allowed(name: str) -> str:
    """Say what a parameter may be, as `check` holds it; nothing of those that are checked where they are used."""
    none = " or None" if name in OPTIONAL else ""
    if name in CHOICES:
        return ", ".join(CHOICES[name])
    if name in FLAGS:
        return "True, False"
    if name in COUNTS or name.endswith("_dim"):
        least, most = COUNTS.get(name, (1, MAX_DIM))
        return (f"{least} or more" if most == MAX_COUNT else f"{least} to {most:,}") + none
    if name in NUMBERS:
        return "0 or more"
    return "0 to 1" if name in SHARES else "0 to below 1, one or two" if name.endswith("_rate") else ""


def check_width(embedding_dim: int, n_nodes: int) -> None:
    """Refuse an embedding so wide that the nodes cannot fill it; ValueError."""
    if embedding_dim > max(n_nodes, ALWAYS_DIM):
        raise ValueError(
            f"embedding_dim must be at most {max(n_nodes, ALWAYS_DIM):,} on {n_nodes:,} nodes, which fill no more dimensions, got "
            f"{embedding_dim:,}"
        )


def rates(name: str, value: Any) -> tuple[float, float]:
    """Return a probability for each of the two views, from one for both or a pair."""
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"{name} must be one rate or a pair of rates, got {shown(value)}")
    for rate in pair:
        if not isinstance(rate, (int, float, np.number)) or not 0 <= rate < 1:
            raise ValueError(f"{name} must be in [0, 1), got {shown(rate)}")
    return float(pair[0]), float(pair[1])


def sizes(values: dict[str, Any]) -> dict[str, Any]:
    """Return those of the values that decide how much memory is needed."""
    names = [name for name in values if name.endswith(SIZES)]
    return {name: values[name] for name in names if isinstance(values[name], (int, np.integer))}


def seed_of(random_state: Any) -> int:
    """Return a seed from what scikit-learn calls a random state; the same number for the same number."""
    if isinstance(random_state, (int, np.integer)):
        if not 0 <= random_state < 2**63:
            raise ValueError(f"random_state must be from 0 to 2**63 - 1, got {shown(random_state)}")
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except (ValueError, TypeError):
        raise ValueError(
            f"random_state must be a whole number, a RandomState or None, got {shown(random_state)}"
        ) from None


def _check_augmentations(value: Any) -> None:
    if not isinstance(value, (tuple, list)) or not all(map(callable, value)):
        raise ValueError(
            f"augmentations must be functions (graph, seed, step, view) -> graph, which Python alone can give, got "
            f"{shown(value)}"
        )


def settings(chosen: dict[str, Any], seed: int) -> Settings:
    """Return everything that determines a training run of CCA-SSG; ValueError for what cannot be, or not together."""
    check(chosen)
    if chosen["second_view"] == "neighbour" and chosen["encoder"] != "mlp":
        raise ValueError("a neighbour as the second view goes with encoder='mlp'; a GCN sees neighbours in either view")
    if chosen["batch_nodes"] and (chosen["loss_nodes"] or chosen["augmentations"]):
        raise ValueError("batch_nodes goes with neither loss_nodes nor augmentations; leave out one or the other")
    if chosen["max_neighbors"] and not chosen["batch_nodes"]:
        raise ValueError("max_neighbors is for batches; give batch_nodes as well, or leave it out")
    return Settings(
        n_steps=int(chosen["n_steps"]),
        learning_rate=float(chosen["learning_rate"]),
        weight_decay=float(chosen["weight_decay"]),
        objective=Objective(float(chosen["decorrelation"]), float(chosen["invariance"])),
        edge_drop_rate=rates("edge_drop_rate", chosen["edge_drop_rate"]),
        feature_mask_rate=rates("feature_mask_rate", chosen["feature_mask_rate"]),
        drop_both_directions=bool(chosen["drop_both_directions"]),
        neighbour_view=chosen["second_view"] == "neighbour",
        loss_nodes=int(chosen["loss_nodes"] or 0),
        batch_nodes=int(chosen["batch_nodes"] or 0),
        max_neighbors=int(chosen["max_neighbors"] or 0),
        seed=seed,
        augmentations=tuple(chosen["augmentations"]),
        stop_when_flat=bool(chosen["early_stopping"]),
    )
