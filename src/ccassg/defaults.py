"""What CCASSG does when nobody says what to do: settings chosen from the graph, without labels."""

from __future__ import annotations

from typing import Any

from ccassg.graph import Graph

AUTO = "auto"
MAX_DIM = 512


def choose(graph: Graph, parameters: dict[str, Any], *, has_edges: bool) -> tuple[dict[str, Any], list[str]]:
    """Replace every "auto" by a value; also return one line of reason per choice.

    Parameters
    ----------
    graph : Graph
        With features.
    parameters : dict
        Of `CCASSG`; values that are not "auto" stay.
    has_edges : bool
        False for a plain feature matrix.
    """
    chosen = dict(parameters)
    reasons: list[str] = []

    def decide(name: str, value: Any, why: str) -> None:
        if isinstance(chosen[name], str) and chosen[name] == AUTO:
            chosen[name] = value
            reasons.append(f"{name} = {value}: {why}")

    if has_edges and graph.n_edges:
        decide("encoder", "gcn", "the graph has edges")
    else:
        decide("encoder", "mlp", "there are no edges to aggregate over")
    decide("n_layers", 2, "the paper's choice on six of seven graphs")
    decide(
        "embedding_dim",
        fillable_width(graph),
        f"at most {MAX_DIM}, the number of features ({graph.n_features}), and half the nodes",
    )
    width = chosen["embedding_dim"] if isinstance(chosen["embedding_dim"], int) else MAX_DIM
    decide("hidden_dim", max(width, min(MAX_DIM, 2 * width)), "at least as wide as the embedding")
    # The invariance term has d parts and the decorrelation term d^2: lambda d stays what it is at the paper's width.
    strength = _rounded(1e-3 * MAX_DIM / min(max(width, 1), MAX_DIM))
    decide("decorrelation", strength, "the paper's at width 512, in proportion when narrower")
    decide("edge_drop_rate", 0.0 if chosen["encoder"] == "mlp" else 0.4, "middle of the useful range")
    decide("feature_mask_rate", 0.2, "middle of the useful range")
    decide("n_steps", 50, "more steps whiten noise")
    return chosen, reasons


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")


def fillable_width(graph: Graph) -> int:
    """The widest embedding that the data can fill with uncorrelated dimensions."""
    return max(1, min(MAX_DIM, graph.n_features, graph.n_nodes // 2))
