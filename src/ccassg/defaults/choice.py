"""What CCASSG does when nobody says what to do: settings chosen from the graph, without labels."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ccassg.defaults import agreement, towers
from ccassg.graph import Graph
from ccassg.training import distributed

AUTO = "auto"
# Raised when the same graph gets other settings, or they another meaning: recorded runs of the defaults name it.
VERSION = 2
MAX_DIM = 512
# A joined encoder: how many parts it can have, the width of one, and what a width given by hand must leave each.
MAX_PARTS, MAX_PART_DIM, MIN_PART_DIM = 4, 256, 8
# Fewer nodes or features say nothing about agreement; more nodes do not fit into memory beside their averages.
MIN_NODES, MIN_FEATURES, MAX_NODES = 50, 4, 500_000

Decide = Callable[[str, Any, str], None]


def choose(graph: Graph, parameters: dict[str, Any]) -> tuple[dict[str, Any], list[str], dict[str, float]]:
    """Replace every "auto" among the parameters of `CCASSG` by a value.

    Returns the settings, one line of reason per choice, and what every tower of the encoder weighs.
    """
    chosen = dict(parameters)
    reasons: list[str] = []

    def decide(name: str, value: Any, why: str) -> None:
        if _is_auto(chosen[name]):
            chosen[name] = value
            reasons.append(f"{name} = {value}: {why}")

    _choose_encoder(graph, chosen, decide)
    decide("n_layers", 2, "the paper's choice on six of seven graphs")
    weights, widest = {chosen["encoder"]: 1.0}, MAX_DIM
    if chosen["encoder"] == "joined":
        share, n_hops = chosen["own_share"], chosen["n_hops"]
        # Values that make no sense are refused later, with all others.
        known = isinstance(share, (int, float, np.number)) and 0 <= share <= 1 and isinstance(n_hops, (int, np.integer))
        weights = towers.tower_weights(float(share), int(n_hops)) if known else {}
        widest = MAX_PART_DIM
    n_parts = len(weights) or MAX_PARTS
    width = min(widest, fillable_width(graph))
    shared = f"{n_parts} parts of at most" if n_parts > 1 else "at most"
    decide(
        "embedding_dim",
        n_parts * width,
        f"{shared} {widest}, the number of features ({graph.n_features}), and half the nodes",
    )
    if isinstance(chosen["embedding_dim"], int):
        width = max(1, chosen["embedding_dim"] // n_parts)
    decide("hidden_dim", max(width, min(MAX_DIM, 2 * width)), "at least as wide as the embedding")
    # The invariance term has d parts and the decorrelation term d^2: lambda d stays what it is at the paper's width.
    strength = _rounded(1e-3 * MAX_DIM / min(width, MAX_DIM))
    decide("decorrelation", strength, "the paper's at width 512, in proportion when narrower")
    decide("edge_drop_rate", 0.0 if chosen["encoder"] == "mlp" else 0.4, "middle of the useful range")
    decide("feature_mask_rate", 0.2, "middle of the useful range")
    decide("n_steps", 50, "more steps whiten noise")
    return chosen, reasons, weights


def fillable_width(graph: Graph) -> int:
    """Return the widest embedding that the data can fill with uncorrelated dimensions."""
    return max(1, min(MAX_DIM, graph.n_features, graph.n_nodes // 2))


def _choose_encoder(graph: Graph, chosen: dict[str, Any], decide: Decide) -> None:
    """Encoder, own_share and n_hops: from how well descriptions of the nodes that share no column agree."""
    has_edges = graph.n_edges > 0
    if not has_edges:
        decide("encoder", "mlp", "there are no edges to aggregate over")
    elif graph.n_nodes < MIN_NODES or graph.n_features < MIN_FEATURES:
        decide("encoder", "gcn", "the graph has edges, and is too small to tell whether they help")
    elif graph.n_nodes > MAX_NODES:
        decide("encoder", "gcn", f"the graph has edges; whether they help is not measured beyond {MAX_NODES:,} nodes")
    if _is_auto(chosen["encoder"]) or chosen["encoder"] == "joined":
        _choose_parts(graph, chosen, decide, has_edges=has_edges)
    if chosen["encoder"] != "joined":
        chosen |= {"own_share": 0.0 if chosen["encoder"] == "gcn" else 1.0, "n_hops": 0}


def _choose_parts(graph: Graph, chosen: dict[str, Any], decide: Decide, *, has_edges: bool) -> None:
    """Whether parts are joined, and what each of them weighs: from what was measured."""
    is_open = _is_auto(chosen["encoder"])
    asked = is_open or _is_auto(chosen["own_share"]) or _is_auto(chosen["n_hops"])
    found = agreement.measure_signals(graph) if asked and has_edges and graph.n_features >= 2 else None
    share, n_hops = (0.5, 2) if found is None else (_rounded(found.own_share), found.n_hops)
    evidence = (
        "" if found is None else f"agreement {found.own:.3f} of own features, {found.neighbourhood:.3f} of neighbours"
    )
    obstacle = _obstacle(chosen) if is_open else None
    if obstacle is not None:
        decide("encoder", "mlp" if share > 0.5 else "gcn", f"{evidence}; parts are not joined {obstacle}")
        return
    decide("encoder", "joined", "own features and neighbourhood stay apart, so that a linear probe can use either")
    decide("own_share", share, evidence or "nothing tells")
    decide("n_hops", n_hops, "the fewest hops at which averaged features agree about best")


def _obstacle(chosen: dict[str, Any]) -> str | None:
    """Why parts cannot be joined in this run, or None."""
    if chosen["batch_nodes"]:
        return "in batches"
    if distributed.active() is not None:
        return "on several processes"
    width = chosen["embedding_dim"]
    if isinstance(width, int) and width < MAX_PARTS * MIN_PART_DIM:
        return f"in so few dimensions as {width}"
    return None


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")
