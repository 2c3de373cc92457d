"""What the parameters of all systems may be, by their names; and what CCA-SSG makes of them, its settings."""

from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from ccassg.model.loss import Objective
from ccassg.training.settings import Settings

# No encoder looks farther, and none is deeper; a saved model may claim what it likes.
MAX_HOPS, MAX_LAYERS = 64, 1000

# Whole numbers: the least, and the most if there is one. Names that end in _dim are widths, at least 1.
COUNTS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("n_steps", "n_warmup_steps"), (0, None)),
    **dict.fromkeys(("n_walks", "walk_length", "window_length", "n_heads", "n_output_heads"), (1, None)),
    **dict.fromkeys(("patience", "subgraph_nodes", "max_neighbors"), (1, None)),
    **dict.fromkeys(("loss_nodes", "batch_nodes"), (2, None)),
    **dict.fromkeys(("n_layers", "n_terms"), (1, MAX_LAYERS)),
    "n_hops": (0, MAX_HOPS),
}
# Numbers that are not negative; and those from 0 to 1. Names that end in _rate are probabilities below 1, one or two.
NUMBERS = ("learning_rate", "weight_decay", "decorrelation", "invariance", "variance", "covariance", "threshold")
SHARES = ("momentum", "alpha", "shrinkage")
# None says that there is no such limit.
OPTIONAL = ("patience", "loss_nodes", "batch_nodes", "subgraph_nodes", "max_neighbors")


def check(values: dict[str, Any]) -> None:
    """Refuse impossible values, each by its name; what has no entry above is not a number."""
    for name, value in values.items():
        is_number = isinstance(value, (int, float, np.number))
        if value is None and name in OPTIONAL:
            continue
        if name in COUNTS or name.endswith("_dim"):
            least, most = COUNTS.get(name, (1, None))
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ValueError(f"{name} must be an integer, at least {least}, got {value!r}")
            if most is not None and value > most:
                raise ValueError(f"{name} must be at most {most}, got {value}")
        elif name in NUMBERS:
            if not is_number or not 0 <= value < float("inf"):
                raise ValueError(f"{name} must be a finite number, at least 0, got {value!r}")
        elif name in SHARES:
            if not is_number or not 0 <= value <= 1:
                raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}")
        elif name.endswith("_rate"):
            rates(name, value)
        elif name == "temperature" and (not is_number or not 0 < value < float("inf")):
            raise ValueError(f"{name} must be positive, got {value!r}")


def rates(name: str, value: Any) -> tuple[float, float]:
    """Return a probability for each of the two views, from one for both or a pair."""
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"{name} must be one rate or a pair of rates, got {value!r}")
    for rate in pair:
        if not isinstance(rate, (int, float, np.number)) or not 0 <= rate < 1:
            raise ValueError(f"{name} must be in [0, 1), got {rate!r}")
    return float(pair[0]), float(pair[1])


def seed_of(random_state: Any) -> int:
    """Return a seed from what scikit-learn calls a random state; the same number for the same number."""
    if isinstance(random_state, (int, np.integer)):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def device_of(name: Any) -> torch.device:
    """Return a device by its name; ValueError for one that torch does not know or cannot reach."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, TypeError, AssertionError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise ValueError(f"device {name!r} cannot be used ({why}); cpu always can") from None
    return device


def settings(chosen: dict[str, Any], seed: int) -> Settings:
    """Return everything that determines a training run of CCA-SSG; ValueError for what cannot be, or not together."""
    check(chosen)
    if chosen["second_view"] not in ("node", "neighbour"):
        raise ValueError(f"second_view must be 'node' or 'neighbour', got {chosen['second_view']!r}")
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
