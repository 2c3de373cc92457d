"""A graph beyond the comfort of one machine, from unordered edges to embeddings: `python -m studies.scale`.

The graph has planted classes: edges prefer a node's own class, and its features are a weak trace of the class under noise, most
of it in a few strong directions that say nothing. Averaging over neighbours brings the class out; telling it from the strong
directions takes training. The graph and the settings were picked so that training has something to gain: the accuracies say that the
pipeline learns at this size, not how well the method does on graphs at large. Time and peak resident memory are measured stage by stage, in this one process.

`python -m studies.scale --default` is another scenario: nothing is named, as a user would have it, on a graph of 10 million nodes.
"""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer

from ccassg import provenance
from ccassg.bench.page import origin
from ccassg.cli.app import JsonFile, say
from ccassg.estimator import CCASSG
from ccassg.evaluate.probe import linear_probe
from ccassg.graph import Array, Dataset, Split
from ccassg.io.store import open_store
from ccassg.io.storewriter import StoreWriter
from ccassg.report.tables import to_markdown
from ccassg.training.embedding import embed_blocks
from studies.command import Docs, DrawOnly, run_benchmark

CHUNK = 2**22


@dataclass(frozen=True)
class Scale:
    """The synthetic graph and the budget; by default the size of ogbn-products.

    ``n_edges`` counts undirected edges before repeats are merged. In the features, the classes are vectors of length ``trace`` in
    ``n_signal`` directions, against noise of 1 in every direction and of ``nuisance`` in ``n_nuisance`` of them.
    """

    n_nodes: int = 2_449_029
    n_edges: int = 61_859_140
    n_features: int = 100
    n_classes: int = 47
    homophily: float = 0.5
    trace: float = 1.0
    n_signal: int = 12
    nuisance: float = 10.0
    n_nuisance: int = 20
    # Nothing named instead: what stands from here to the learning rate is not used.
    default: bool = False
    n_steps: int = 100
    batch_nodes: int = 4096
    max_neighbors: int = 10
    hidden_dim: int = 256
    embedding_dim: int = 16
    decorrelation: float = 0.03
    learning_rate: float = 5e-3
    labels_per_class: int = 20
    n_scored: int = 50_000
    seed: int = 0


# 100 million edges, of which both directions are stored.
DEFAULT = Scale(n_nodes=10_000_000, n_edges=100_000_000, default=True)


def run_scale(
    scale: Scale | None = None, *, folder: Path | None = None, say: Callable[[str], object] = lambda line: None
) -> dict[str, Any]:
    """Generate, convert, fit, embed and probe; return what it took and what came out, ready for JSON.

    Parameters
    ----------
    scale : Scale, optional
    folder : Path, optional
        Where to work; a temporary folder by default. Takes about 4 bytes per stored edge, feature and embedding value.
    say : function of str
        Told about every finished stage.
    """
    scale = scale or Scale()
    stages: dict[str, dict[str, float]] = {}
    accuracy: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=folder) as name:
        work = Path(name)
        with _stage("convert", stages, say):
            write_synthetic(work / "store", scale)
        with _stage("open", stages, say):
            store = open_store(work / "store", verify=False)
        with _stage("verify", stages, say):
            open_store(work / "store", verify=True)
        model, made = (
            (CCASSG(random_state=scale.seed), "fit") if scale.default else (_model(scale, scale.n_steps), "train")
        )
        with _stage(made, stages, say):
            model.fit(store.graph)
        with _stage("embed", stages, say):
            z = embed_blocks(model.encoder_, store.graph, work / "z.npy")
        with _stage("probe", stages, say):
            accuracy["raw features"] = _probe(store.graph.features, store, scale)
            accuracy["default" if scale.default else "trained"] = _probe(z, store, scale)
        if not scale.default:
            with _stage("embed untrained", stages, say):
                z = embed_blocks(_model(scale, 0).fit(store.graph).encoder_, store.graph, work / "untrained.npy")
            accuracy["untrained"] = _probe(z, store, scale)
        n_bytes = {file.name: file.stat().st_size for file in (work / "store").iterdir()}
        n_edges = store.graph.n_edges
    say(", ".join(f"{name} {value:.1%}" for name, value in accuracy.items()))
    return {
        "scale": asdict(scale),
        "stored_edges": n_edges,
        "store_bytes": n_bytes,
        "embedding_dim": z.shape[1],
        "stages": stages,
        "accuracy": accuracy,
    } | (
        {}
        if scale.default
        else {"step_seconds": stages["train"]["seconds"] / max(1, scale.n_steps), "loss": model.history_["loss"]}
    )


def draw(result: dict[str, Any]) -> str:
    """The table of stages, and the accuracies."""
    scale, stages = result["scale"], result["stages"]
    rows = [
        {
            "stage": name,
            "seconds": f"{stage['seconds']:.0f}",
            "peak resident memory in it, GB": f"{stage['peak_rss_bytes'] / 1e9:.2f}",
        }
        for name, stage in stages.items()
    ]
    accuracy = ", ".join(f"{name} {100 * value:.1f} %" for name, value in result["accuracy"].items())
    what = f"nothing named, {result.get('embedding_dim')} dimensions"
    if not scale.get("default"):
        what = f"{scale['n_steps']} steps of {scale['batch_nodes']:,} nodes, {result['step_seconds']:.2f} s each"
    text = (
        f"{scale['n_nodes']:,} nodes, {result['stored_edges']:,} stored edges, {scale['n_features']} features; {what}. Accuracy of a linear "
        f"probe on {scale['n_classes']} planted classes, {scale['labels_per_class']} labels each: {accuracy}."
    )
    return "\n\n".join([to_markdown(rows).rstrip(), text, origin(result)]) + "\n"


def write_synthetic(path: Path, scale: Scale) -> None:
    """Draw the graph and write it as a store, holding no more than two copies of the edge codes in memory."""
    rng = np.random.default_rng(scale.seed)
    n = scale.n_nodes
    y = rng.integers(scale.n_classes, size=n, dtype=np.int32)
    codes = _edge_codes(y, scale, rng)
    indptr = np.searchsorted(codes, np.arange(n + 1, dtype=np.int64) * n)
    with StoreWriter(path) as writer:
        writer.add("indptr", indptr)
        pieces = ((codes[start : start + CHUNK] % n) for start in range(0, len(codes), CHUNK))
        writer.add_pieces("indices", np.int32, (len(codes),), pieces)
        n_edges = len(codes)
        del codes
        writer.add_pieces("features", np.float32, (n, scale.n_features), _features(y, scale, rng))
        writer.add("labels", y.astype(np.int64))
        writer.finish(n, n_edges, scale.n_features, class_names=[f"class {k}" for k in range(scale.n_classes)])


def _edge_codes(y: Array, scale: Scale, rng: np.random.Generator) -> Array:
    """Sorted codes sender * n + receiver of different edges, both directions of each, without loops."""
    n = scale.n_nodes
    order = np.argsort(y, kind="stable")
    sizes = np.bincount(y, minlength=scale.n_classes)
    starts = np.cumsum(sizes) - sizes
    codes = np.empty(2 * scale.n_edges, np.int64)
    for start in range(0, scale.n_edges, CHUNK):
        stop = min(start + CHUNK, scale.n_edges)
        u = rng.integers(n, size=stop - start)
        own = order[starts[y[u]] + rng.integers(sizes[y[u]])]
        v = np.where(rng.random(stop - start) < scale.homophily, own, rng.integers(n, size=stop - start))
        codes[2 * start : 2 * stop : 2] = u * n + v
        codes[2 * start + 1 : 2 * stop : 2] = v * n + u
    codes.sort()
    keep = np.empty(len(codes), bool)
    keep[:1] = True
    np.not_equal(codes[1:], codes[:-1], out=keep[1:])
    for start in range(0, len(codes), CHUNK):
        piece = codes[start : start + CHUNK]
        keep[start : start + CHUNK] &= piece // n != piece % n
    return codes[keep]


def _features(y: Array, scale: Scale, rng: np.random.Generator) -> Iterator[Array]:
    """Class vectors of length ``trace``, noise, and strong noise in a few directions, some rows at a time."""
    width = scale.n_features
    axes = np.linalg.qr(rng.standard_normal((width, width)))[0].astype(np.float32)
    signal, directions = axes[: scale.n_signal], axes[scale.n_signal :][: scale.n_nuisance]
    centres = rng.standard_normal((scale.n_classes, len(signal)), dtype=np.float32)
    centres *= scale.trace / np.linalg.norm(centres, axis=1, keepdims=True)
    centres = centres @ signal
    rows = max(1, CHUNK // width)
    for start in range(0, len(y), rows):
        classes = y[start : start + rows]
        strong = rng.standard_normal((len(classes), len(directions)), dtype=np.float32) * np.float32(scale.nuisance)
        noise = rng.standard_normal((len(classes), width), dtype=np.float32)
        yield centres[classes] + noise + strong @ directions


def _model(scale: Scale, n_steps: int) -> CCASSG:
    return CCASSG(
        encoder="gcn",
        n_layers=2,
        hidden_dim=scale.hidden_dim,
        embedding_dim=scale.embedding_dim,
        decorrelation=scale.decorrelation,
        edge_drop_rate=0.4,
        feature_mask_rate=0.0,
        n_steps=n_steps,
        learning_rate=scale.learning_rate,
        batch_nodes=min(scale.batch_nodes, scale.n_nodes),
        max_neighbors=scale.max_neighbors,
        random_state=scale.seed,
    )


def _probe(z: Any, store: Dataset, scale: Scale) -> float:
    """Accuracy of the linear probe on some nodes: a few labelled ones per class, the rest for validation and test."""
    assert store.y is not None
    rng = np.random.default_rng(scale.seed + 1)
    n_scored = min(scale.n_scored, store.graph.n_nodes)
    nodes = np.sort(rng.choice(store.graph.n_nodes, n_scored, replace=False))
    y = np.asarray(store.y[nodes])
    order = rng.permutation(n_scored)
    train = np.concatenate([order[y[order] == k][: scale.labels_per_class] for k in range(scale.n_classes)])
    rest = np.setdiff1d(order, train)
    rng.shuffle(rest)
    cut = len(rest) // 5
    return float(linear_probe(z[nodes], y, Split(train, rest[:cut], rest[cut:]), epochs=500, standardize=True).accuracy)


@contextmanager
def _stage(name: str, stages: dict[str, dict[str, float]], say: Callable[[str], object]) -> Iterator[None]:
    _reset_peak()
    start = time.perf_counter()
    yield
    stages[name] = {"seconds": time.perf_counter() - start, "peak_rss_bytes": float(_peak())}
    say(f"{name}: {stages[name]['seconds']:.1f} s, {stages[name]['peak_rss_bytes'] / 1e9:.2f} GB resident at most")


def _reset_peak() -> None:
    """Let the kernel count the peak anew; where it cannot, peaks are those since the start."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Highest resident memory since the last reset, in bytes."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(
    default: Annotated[
        bool, typer.Option("--default", help="Name nothing: fit and embed 10 million nodes and 100 million edges.")
    ] = False,
    nodes: Annotated[int | None, typer.Option(min=100, help="So many nodes, with edges in proportion.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where to work; the system's temporary folder otherwise.")] = None,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    docs: Docs = None,
    draw_only: DrawOnly = False,
    json_file: JsonFile = None,
) -> None:
    """Embed a synthetic graph the size of ogbn-products, or larger, end to end; time and memory of every stage."""
    scale = DEFAULT if default else Scale()
    if nodes is not None:
        scale = replace(scale, n_nodes=nodes, n_edges=round(scale.n_edges * nodes / scale.n_nodes))

    def measure() -> dict[str, Any]:
        torch.set_num_threads(threads)
        result = run_scale(scale, folder=folder, say=say)
        seconds = sum(stage["seconds"] for stage in result["stages"].values())
        return result | {"provenance": provenance.of_run(scale.seed, seconds)}

    block = "bench-scale-default" if default else "bench-scale"
    run_benchmark(measure, draw, block, json_file=json_file, docs=docs, draw_only=draw_only)


if __name__ == "__main__":
    typer.run(main)
