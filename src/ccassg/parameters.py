"""From chosen settings to what training needs: every value checked by its name, the seed, the device, the untrained encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from ccassg import model_file
from ccassg.defaults import towers
from ccassg.graph import Graph
from ccassg.model.encoder import Encoder, Joined
from ccassg.model.loss import Objective
from ccassg.training import loop


def build(chosen: dict[str, Any], graph: Graph, seed: int) -> Encoder | Joined:
    """The untrained encoder."""
    hidden = [chosen["hidden_dim"]] * (chosen["n_layers"] - 1)
    if chosen["encoder"] == "joined":
        share, n_hops = float(chosen["own_share"]), int(chosen["n_hops"])
        return towers.build(
            graph.n_features, hidden, chosen["embedding_dim"], own_share=share, n_hops=n_hops, seed=seed
        )
    is_gcn = chosen["encoder"] == "gcn"
    dims = [graph.n_features, *hidden, chosen["embedding_dim"]]
    return Encoder(dims, propagate=is_gcn, batch_norm=not is_gcn, seed=seed)


def check(chosen: dict[str, Any], graph: Graph, seed: int) -> loop.Settings:
    """Refuse impossible values, each by name; then everything that determines the run."""
    if graph.n_nodes < 2:
        raise ValueError(f"training needs at least 2 nodes, got {graph.n_nodes} (n_samples = {graph.n_nodes})")
    if chosen["encoder"] not in ("gcn", "mlp", "joined"):
        raise ValueError(f"encoder must be 'auto', 'gcn', 'mlp' or 'joined', got {chosen['encoder']!r}")
    for name in ("n_layers", "hidden_dim", "embedding_dim", "n_steps"):
        _require_count(name, chosen[name], least=0 if name == "n_steps" else 1)
    if chosen["encoder"] == "joined":
        _check_joined(chosen)
    for name in ("learning_rate", "weight_decay", "decorrelation", "invariance"):
        value = chosen[name]
        if not isinstance(value, (int, float, np.number)) or not 0 <= value < float("inf"):
            raise ValueError(f"{name} must be a finite number, at least 0, got {value!r}")
    for name, least in (("loss_nodes", 2), ("batch_nodes", 2), ("max_neighbors", 1)):
        if chosen[name] is not None:
            _require_count(name, chosen[name], least=least)
    if chosen["batch_nodes"] and (chosen["loss_nodes"] or chosen["augmentations"]):
        raise ValueError("batch_nodes goes with neither loss_nodes nor augmentations; leave out one or the other")
    if chosen["max_neighbors"] and not chosen["batch_nodes"]:
        raise ValueError("max_neighbors is for batches; give batch_nodes as well, or leave it out")
    return loop.Settings(
        n_steps=int(chosen["n_steps"]),
        learning_rate=float(chosen["learning_rate"]),
        weight_decay=float(chosen["weight_decay"]),
        objective=Objective(float(chosen["decorrelation"]), float(chosen["invariance"])),
        edge_drop_rate=_rates("edge_drop_rate", chosen["edge_drop_rate"]),
        feature_mask_rate=_rates("feature_mask_rate", chosen["feature_mask_rate"]),
        drop_both_directions=bool(chosen["drop_both_directions"]),
        loss_nodes=int(chosen["loss_nodes"] or 0),
        batch_nodes=int(chosen["batch_nodes"] or 0),
        max_neighbors=int(chosen["max_neighbors"] or 0),
        seed=seed,
        augmentations=tuple(chosen["augmentations"]),
        stop_when_flat=bool(chosen["early_stopping"]),
    )


def _check_joined(chosen: dict[str, Any]) -> None:
    share = chosen["own_share"]
    if not isinstance(share, (int, float, np.number)) or not 0 <= share <= 1:
        raise ValueError(f"own_share must be a number from 0 to 1, got {share!r}")
    _require_count("n_hops", chosen["n_hops"], least=0)
    if chosen["n_hops"] > model_file.MAX_EXTRA_HOPS:
        raise ValueError(f"n_hops must be at most {model_file.MAX_EXTRA_HOPS}, got {chosen['n_hops']}")
    n_parts = len(towers.part_weights(float(share), int(chosen["n_hops"])))
    if chosen["embedding_dim"] < n_parts:
        raise ValueError(
            f"embedding_dim {chosen['embedding_dim']} is too narrow for {n_parts} parts; widen it or take a plain encoder"
        )
    if chosen["batch_nodes"]:
        raise ValueError(
            "batch_nodes goes with a plain encoder; set encoder to 'gcn' or 'mlp', or leave out batch_nodes"
        )


def _rates(name: str, value: Any) -> tuple[float, float]:
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"{name} must be one rate or a pair of rates, got {value!r}")
    for rate in pair:
        if not isinstance(rate, (int, float, np.number)) or not 0 <= rate < 1:
            raise ValueError(f"{name} must be in [0, 1), got {rate!r}")
    return float(pair[0]), float(pair[1])


def _require_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be an integer, at least {least}, got {value!r}")


def device_of(name: Any) -> torch.device:
    """A device by its name; ValueError for one that torch does not know or cannot reach."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, TypeError, AssertionError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise ValueError(f"device {name!r} cannot be used ({why}); cpu always can") from None
    return device


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn calls a random state; the same number for the same number."""
    if isinstance(random_state, (int, np.integer)):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
