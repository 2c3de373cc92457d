"""`ccassg fit` and `ccassg embed`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ccassg.cli.app import JsonFile, app, console, say, say_notes, write_json
from ccassg.cli.names import datasets_beginning, methods_beginning
from ccassg.cli.progress import steps

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH", help="A dataset's name, an edge file, a folder with edges.* and nodes.*, or a store."
    ),
]
FeaturesOption = Annotated[
    Path | None, typer.Option("--features", "-f", help="Node table (CSV, Parquet) or matrix (.npy, .npz).")
]
LabelsOption = Annotated[Path | None, typer.Option("--labels", "-l", help="Label file; for evaluation only.")]
IdsOption = Annotated[Path | None, typer.Option(help="Ids of a matrix's rows.")]
ColumnOption = Annotated[str | None, typer.Option(help="Column of the edge file.")]
NodeColumnOption = Annotated[str | None, typer.Option(help="Column of the node table.")]
FeatureColumnsOption = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="Columns that are features; all but ids and labels by default.")
]
EncodingOption = Annotated[str, typer.Option(help="Of text files.")]
DirectedOption = Annotated[bool, typer.Option("--directed", help="Keep directions; by default edges go both ways.")]
TextOption = Annotated[str, typer.Option(help="Free-text feature columns: refuse or hash.")]
ScaleOption = Annotated[
    bool,
    typer.Option("--scale", help="Bring numeric columns to mean 0 and standard deviation 1; the model keeps both."),
]
DataDirOption = Annotated[Path | None, typer.Option(help="Folder with the datasets' files.")]


@app.command()
def fit(
    graph: GraphArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Folder for the model and embedding.")
    ],
    features: FeaturesOption = None,
    labels: LabelsOption = None,
    ids: IdsOption = None,
    source: ColumnOption = None,
    target: ColumnOption = None,
    weight: ColumnOption = None,
    id_column: NodeColumnOption = None,
    label_column: NodeColumnOption = None,
    feature_columns: FeatureColumnsOption = None,
    directed: DirectedOption = False,
    text: TextOption = "refuse",
    scale: ScaleOption = False,
    encoding: EncodingOption = "utf-8",
    method: Annotated[
        str,
        typer.Option(help="cca-ssg or another system; ccassg settings lists them.", autocompletion=methods_beginning),
    ] = "cca-ssg",
    preset: Annotated[
        str | None,
        typer.Option(help="The paper's settings for this dataset.", autocompletion=datasets_beginning),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="One setting; may be repeated. See ccassg settings."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same bits.")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    checkpoint_every: Annotated[int, typer.Option(min=1, help="Steps between two saves of an unfinished run.")] = 50,
    tensorboard: Annotated[Path | None, typer.Option(help="Folder for TensorBoard's log of the loss.")] = None,
    data_dir: DataDirOption = None,
    json_file: JsonFile = None,
) -> None:
    """Learn embeddings of a graph: writes the model and embedding.parquet, one row per node under its own id.

    An interrupted run continues when the same command is given again. Started by torchrun, its processes train one model.

    Example: ccassg fit edges.csv --features nodes.csv -o my-model
    """
    from ccassg import baselines, distributed, runs

    started = time.perf_counter()
    console.quiet = not distributed.speaks()
    chosen = {"random_state": seed} | runs.parse_settings(settings or [])
    if method == "cca-ssg":
        chosen.setdefault("device", device)
    model = baselines.make(method, preset, **chosen)
    if baselines.METHODS[method].kind == "classifier":
        raise ValueError(f"{method} classifies nodes from labels and makes no embedding; choose an embedder")
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output} is a file; name a folder for the model")
    opened = runs.open_graph(
        graph, data_dir=data_dir, features=features, labels=labels, ids=ids, source=source, target=target, weight=weight,
        id_column=id_column, label_column=label_column, feature_columns=split_names(feature_columns), directed=directed,
        text=text, scale=scale, encoding=encoding, verify=distributed.is_first_here(),
    )  # fmt: skip
    loaded = opened.loaded
    say(f"{graph}: {loaded.graph!r}")
    say_notes(loaded.notes)
    output.mkdir(parents=True, exist_ok=True)
    checkpoint = output / "checkpoint.safetensors"
    log_folder = tensorboard if distributed.speaks() else None
    with _says_how_to_resume(checkpoint), runs.tensorboard_log(log_folder) as log:
        with distributed.session(device):
            _fit(model, loaded.graph, checkpoint, checkpoint_every, log, is_ours=method == "cca-ssg")
        if not distributed.speaks():
            return  # the first process writes for all
        for reason in getattr(model, "reasons_", ()):
            say(f"chose {reason}")
        with runs.embedding(model, loaded.graph, output) as z:
            provenance = runs.provenance(seed, time.perf_counter() - started) | {"method": method}
            runs.save_run(output, model, opened, z, source=graph, provenance=provenance)
    for leftover in output.glob("checkpoint.safetensors*"):
        leftover.unlink()
    say(f"wrote {output}: model.safetensors, config.json, embedding.parquet ({len(z):,} x {z.shape[1]})")
    say(f"next: ccassg report {output} -o report.html")
    write_json(
        json_file, {"model": str(output), "graph": runs.counts(loaded.graph), "notes": list(loaded.notes)} | provenance
    )


@app.command()
def embed(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder written by ccassg fit.")],
    graph: GraphArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Embedding file: .parquet, .csv, .npy, .txt (word2vec) or .h5ad.")
    ],
    features: FeaturesOption = None,
    ids: IdsOption = None,
    source: ColumnOption = None,
    target: ColumnOption = None,
    weight: ColumnOption = None,
    id_column: NodeColumnOption = None,
    directed: DirectedOption = False,
    text: TextOption = "refuse",
    encoding: EncodingOption = "utf-8",
    data_dir: DataDirOption = None,
    json_file: JsonFile = None,
) -> None:
    """Embed a graph with a trained model: nodes seen in training or not, one row each under its own id.

    Example: ccassg embed my-model new-edges.csv --features new-nodes.csv -o new.parquet
    """
    from ccassg import baselines, runs
    from ccassg.io.embeddings import format_of, write_embeddings

    format_of(output)  # before the work, not after it
    encoder = baselines.load(model)
    record = runs.read_run(model) if (model / runs.RUN).exists() else {}
    opened = runs.open_graph(
        graph, data_dir=data_dir, features=features, ids=ids, source=source, target=target, weight=weight,
        id_column=id_column, directed=directed, text=text, encoding=encoding, like=record.get("feature_names"),
        scale=record.get("scaling", False),
    )  # fmt: skip
    loaded = opened.loaded
    say_notes(loaded.notes)
    needs_features = getattr(encoder, "needs_features", True) and not record.get("structural")
    if needs_features and loaded.structural and loaded.graph.n_features != encoder.n_features_in_:
        raise ValueError(
            f"{graph} has no features, but {model} was trained with {encoder.n_features_in_}; give those of its nodes "
            f"(`features`)"
        )
    if needs_features:
        runs.require_same_scale(loaded, record, graph)
    if record.get("structural") and graph != record.get("source"):
        say(
            "note: this model was trained on features made from another graph's edges; its eigenvectors do not carry over"
        )
    with runs.embedding(encoder, loaded.graph, output.absolute().parent) as z:
        write_embeddings(output, z, loaded.graph.node_ids)
    say(f"wrote {output}: {len(z):,} nodes x {z.shape[1]} dimensions")
    write_json(json_file, {"output": str(output), "nodes": len(z), "dimensions": z.shape[1]})


@app.command("settings")
def list_settings(
    method: Annotated[
        str, typer.Argument(metavar="METHOD", help="A method's name.", autocompletion=methods_beginning)
    ] = "cca-ssg",
) -> None:
    """List what --set can change, with the defaults; and the methods there are.

    Example: ccassg settings grace
    """
    from rich.table import Table

    from ccassg import baselines, runs

    table = Table("setting", "default", "meaning", box=None, pad_edge=False)
    for name, default, meaning in runs.settings_of(baselines.get_class(method)):
        table.add_row(name, repr(default), meaning)
    console.print(table)
    say(f"methods: {', '.join(baselines.METHODS)}")


def split_names(names: str | None) -> list[str] | None:
    """Names separated by commas; None stays None."""
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


@contextmanager
def _says_how_to_resume(checkpoint: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint.exists():
            say(f"stopped; the state is saved in {checkpoint}: run the same command again to continue from there")
        raise


def _fit(model: Any, graph: Any, checkpoint: Path, every: int, log: Any, *, is_ours: bool) -> None:
    if not is_ours:
        say(f"training {type(model).__name__} ...")
        model.fit(graph)
        return
    with steps("training") as advance:

        def on_step(step: int, terms: Any, total: int) -> None:
            advance(step, total, f"loss {float(terms.loss):.2f}")
            log(step, terms)

        model.fit(graph, checkpoint=checkpoint, checkpoint_every=every, on_step=on_step)
