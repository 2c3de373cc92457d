"""What CCASSG does when nobody says what to do: settings chosen from the graph, without labels."""

from collections.abc import Collection
from typing import Any

from ccassg.defaults import canonical
from ccassg.graph import Graph
from ccassg.io.tables import counted
from ccassg.model.canonical import HOPS
from ccassg.training import distributed

AUTO = "auto"
# Raised when the same graph gets other settings of training, or they another meaning: recorded runs of trained encoders with nothing
# else named name it; those with nothing named at all, `canonical.VERSION`.
VERSION = 5
MAX_DIM = 512
# On more nodes than so many, the loss is on a random part of them: eight for each of the widest embedding's dimensions. No
# recorded run of the defaults is on so large a graph.
EXACT_UP_TO, LOSS_NODES = 50_000, 8 * MAX_DIM
# What a width given by hand must leave a set of canonical directions. Below, a trained encoder is better: on Cora at width 64, 81.5 %
# against 75.7.
MIN_SET_DIM = 8
# What to do about a setting that asks for training.
NAME_ONE = 'name another encoder, encoder="gcn" or "mlp" (--set encoder=gcn)'
# Settings of training, which go with a trained encoder. Batches may be named with any: canonical directions need none.
OF_TRAINING = (
    "n_layers", "hidden_dim", "decorrelation", "edge_drop_rate", "feature_mask_rate", "n_steps", "early_stopping", "learning_rate",
    "weight_decay", "drop_both_directions", "loss_nodes", "augmentations", "invariance", "second_view",
)  # fmt: skip


def choose(graph: Graph, parameters: dict[str, Any], named: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """Replace every "auto" among the parameters of `CCASSG` by a value, or by None where it has no use.

    ``named`` are the parameters that somebody set. Returns the settings, and one line of reason per choice; ValueError for a setting
    of training where nothing is trained.
    """
    chosen = dict(parameters)
    reasons: list[str] = []

    def decide(name: str, value: Any, why: str) -> None:
        if is_auto(chosen[name]):
            chosen[name] = value
            reasons.append(f"{name} = {value}: {why}")

    decide("encoder", "canonical", "own features and neighbours side by side, solved without training")
    if chosen["encoder"] == "canonical":
        if asked := [name for name in OF_TRAINING if name in named]:
            raise ValueError(
                f"{asked[0]} is of training, and canonical directions, the default, are not trained: {NAME_ONE}"
            )
        width, parts = _parts(graph)
        decide("embedding_dim", width, parts)
        least = min(width, MIN_SET_DIM * (1 + 3 * len(HOPS) if graph.n_edges else 3))
        if chosen["embedding_dim"] < least:
            told = f"embedding_dim must be at least {least} for canonical directions, the default, got {chosen['embedding_dim']}"
            raise ValueError(f"{told}; for a narrower one {NAME_ONE}")
        return chosen | {name: None for name, value in chosen.items() if is_auto(value)}, reasons
    decide("n_layers", 2, "the paper's choice on six of seven graphs")
    limit = _limit(graph, MAX_DIM) or "as in the paper"
    decide("embedding_dim", fillable_width(graph), limit)
    width = chosen["embedding_dim"] if isinstance(chosen["embedding_dim"], int) else fillable_width(graph)
    decide(
        "hidden_dim",
        max(width, min(MAX_DIM, 2 * width)),
        f"twice the embedding, but at most {MAX_DIM} unless that is wider",
    )
    # The invariance term has d parts and the decorrelation term d^2: lambda d stays what it is at the paper's width.
    strength = float(f"{1e-3 * MAX_DIM / min(max(1, width), MAX_DIM):.2g}")
    decide("decorrelation", strength, "the paper's 0.001 at width 512, more when narrower")
    no_edges = chosen["encoder"] == "mlp"
    decide(
        "edge_drop_rate", *((0.0, "an MLP sees no edges") if no_edges else (0.4, "the paper has 0.3 to 0.5 for a GCN"))
    )
    decide("feature_mask_rate", 0.2, "the paper has 0.1 to 0.3 on five of seven graphs")
    decide("n_steps", 50, "the paper's choice on four of seven graphs; more would fit noise")
    decide("loss_nodes", *_loss_nodes(graph, chosen))
    return chosen, reasons


def fillable_width(graph: Graph) -> int:
    """Return the widest embedding that the data can fill with uncorrelated dimensions."""
    return max(1, min(MAX_DIM, graph.n_features, graph.n_nodes // 2))


def _parts(graph: Graph) -> tuple[int, str]:
    """Return the width of canonical directions and the parts that it is made of."""
    own, principal, neighbours = canonical.widths_of(graph)
    if not graph.n_edges:
        said = (
            f"two parts of {_columns(own)}" if own == principal else f"a part of {_columns(own)} and one of {principal}"
        )
    elif own == principal:
        said = f"nine parts of {_columns(own)}"
    else:
        said = f"a part of {_columns(own)}, four of {principal} and four of {neighbours}"
    limit = _limit(graph, 2 * canonical.WIDTH)
    return own + (len(HOPS) if graph.n_edges else 1) * (principal + neighbours), f"{said}{limit and ', '}{limit}"


def _limit(graph: Graph, most: int) -> str:
    """Say what keeps a part narrower than so many columns; nothing if nothing does."""
    if min(graph.n_features, graph.n_nodes // 2) >= most:
        return ""
    if graph.n_features <= graph.n_nodes // 2:
        return f"as there {'is' if graph.n_features == 1 else 'are'} only {counted(graph.n_features, 'feature', 'features')}"
    return f"as there are only {graph.n_nodes} nodes"


def _columns(n: int) -> str:
    return counted(n, "column", "columns")


def _loss_nodes(graph: Graph, chosen: dict[str, Any]) -> tuple[int | None, str]:
    """Return how many nodes the loss is on, None for all, and why."""
    if chosen["batch_nodes"]:
        return None, "the loss is on all nodes of a batch"
    if distributed.n_processes() > 1:
        return None, "several processes share the loss on all nodes"
    if graph.n_nodes <= EXACT_UP_TO:
        return None, f"the loss is on all nodes of up to {EXACT_UP_TO:,}"
    return (
        LOSS_NODES,
        f"others at every step, as the graph has over {EXACT_UP_TO:,}; loss_nodes=None takes all: exact, but slow",
    )


def is_auto(value: Any) -> bool:
    """Return whether a setting is left to the choice."""
    return isinstance(value, str) and value == AUTO
