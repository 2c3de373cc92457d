"""`ccassg fit` and `ccassg embed`."""

import contextlib
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ccassg.cli.app import JsonFile, app, console, say, say_notes, write_json
from ccassg.cli.graph_files import GraphFiles, reads_graph
from ccassg.cli.names import datasets_beginning, embedders_beginning, methods_beginning
from ccassg.cli.progress import steps, working

# Bytes from which on the program says how to get a smaller file, and the width that it names.
LARGE, NARROWER = 100_000_000, 256


@app.command()
@reads_graph()
def fit(
    files: GraphFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Folder for the model and embedding.")
    ],
    method: Annotated[
        str,
        typer.Option(help="cca-ssg or another system; ccassg settings lists them.", autocompletion=embedders_beginning),
    ] = "cca-ssg",
    preset: Annotated[
        str | None,
        typer.Option(
            help="The paper's settings for this dataset; NAME-fast for the quickest ones.",
            autocompletion=datasets_beginning,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="One setting; may be repeated. See ccassg settings."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same bits.")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    checkpoint_every: Annotated[int, typer.Option(min=1, help="Steps between two saves of an unfinished run.")] = 50,
    json_file: JsonFile = None,
) -> None:
    """Learn embeddings of a graph: writes the model and embedding.parquet, one row per node under its own id.

    An interrupted run continues when the same command is given again. Started by torchrun, its processes train one model.

    Example: ccassg fit edges.csv --features nodes.csv -o my-model
    """
    from ccassg import systems
    from ccassg.cli.settings import AUTOMATIC, parse_settings

    chosen = {"random_state": seed} | parse_settings(settings or [])
    if systems.method_of(method).kind == "classifier":
        raise ValueError(f"{method} classifies nodes from labels and makes no embedding; choose an embedder")
    if method == "cca-ssg":
        systems.require_parameters(method, chosen, AUTOMATIC)
    files.require_there()
    # Seconds of loading, which a slip of the pen need not wait for.
    from ccassg import optional, provenance, run, scoring
    from ccassg.io import folders
    from ccassg.io.results import EMBEDDING
    from ccassg.training import distributed

    started = time.perf_counter()
    console.quiet = not distributed.speaks()
    if "device" in systems.get_class(method)._get_param_names():
        chosen.setdefault("device", device)
    model = systems.make(method, preset, **chosen)
    optional.require(model.package, method)
    if distributed.speaks():  # the first process writes for all
        folders.require_ours(output, run.FILES, inputs=files.paths)
    with folders.locked(output) if distributed.speaks() else contextlib.nullcontext():
        # Several processes that share the work check what each of them reads.
        data = files.open(verify=distributed.n_processes() == 1 or not model.embeds_in_blocks)
        say(f"{files.graph}: {data.graph!r}")
        say_notes(data.notes)
        if (output / run.RUN).exists():
            say(f"note: the run in {output} will be replaced")
        checkpoint = output / folders.CHECKPOINT
        resumable = {"checkpoint": checkpoint, "checkpoint_every": checkpoint_every} if model.resumable else {}
        with _says_how_to_resume(checkpoint), contextlib.ExitStack() as held:
            with distributed.session(device, checkpoint):
                with steps("training", before="fitting") as advance:
                    model.fit(
                        data,
                        on_step=lambda step, losses, total: advance(step, total, f"loss {losses['loss']:.2f}"),
                        **resumable,
                    )
                for reason in getattr(model, "reasons_", ()):
                    say(f"chose {reason}")
                if distributed.n_processes() > 1 and getattr(model, "settings_", {}).get("encoder") == "canonical":
                    say(
                        "note: one process solved this for all, as the encoder is not trained; -s encoder=gcn shares the work"
                    )
                tell = held.enter_context(working("fit"))
                tell("embedding")
                z = held.enter_context(run.embedding(model, data, output))
            if not distributed.speaks():
                return
            made_by = provenance.of_run(seed, time.perf_counter() - started) | {"method": method}
            tell("writing")
            run.save_run(output, model, data, z, source=files.graph, provenance=made_by, read_from=files.recorded())
            tell("looking at the embedding")
            warned = scoring.judge(model, data, z)
        for leftover in output.glob(f"{folders.CHECKPOINT}*"):
            leftover.unlink()
    size = _size(output / EMBEDDING)
    say(f"wrote {output}: model.safetensors, config.json, embedding.parquet ({len(z):,} x {z.shape[1]}, {size})")
    _say_if_large(output / EMBEDDING, model)
    for warning in warned:
        say(f"warning: {warning}")
    say(f"next: ccassg report {output} -o report.html")
    write_json(
        json_file,
        {"model": str(output), "graph": data.graph.counts(), "notes": list(data.notes), "warnings": warned} | made_by,
    )


@app.command()
@reads_graph(without=("labels", "label_column", "feature_columns", "keep", "scale"))
def embed(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder written by ccassg fit.")],
    files: GraphFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Embedding file: .parquet, .csv, .npy, .txt (word2vec) or .h5ad.")
    ],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is already there.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Embed a graph with a fitted model: nodes seen in fitting or not, one row each under its own id.

    Started by torchrun, on one machine or several, its processes embed together.

    Example: ccassg embed my-model new-edges.csv --features new-nodes.csv -o new.parquet
    """
    from ccassg.io.embeddings import format_of, require_free, write_embeddings

    format_of(output)  # before the work, not after it
    files.require_there()
    from ccassg import run, systems
    from ccassg.training import distributed

    console.quiet = not distributed.speaks()
    if distributed.speaks():
        require_free(output, overwrite=overwrite, inputs=[model, *files.paths])
    encoder = systems.load(model)
    data = files.open(like=encoder.features_, verify=distributed.n_processes() == 1 or not encoder.embeds_in_blocks)
    say_notes(data.notes)
    with warnings.catch_warnings(), contextlib.ExitStack() as held:
        warnings.showwarning = lambda message, *_, **__: say_notes([str(message)])
        with distributed.session():
            z = held.enter_context(run.embedding(encoder, data, output.absolute().parent))
        if not distributed.speaks():
            return
        write_embeddings(output, z, data.ids, encoder=run.encoder_name(encoder), overwrite=overwrite)
    say(f"wrote {output}: {len(z):,} nodes x {z.shape[1]} dimensions, {_size(output)}")
    _say_if_large(output, encoder)
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

    from ccassg import parameters, systems
    from ccassg.cli.settings import AUTOMATIC, settings_of

    table = Table("setting", "default", "allowed", "meaning", box=None, pad_edge=False)
    for name, default, meaning in settings_of(systems.get_class(method)):
        automatic = f" Automatic: {AUTOMATIC[name]}." if default == "auto" and name in AUTOMATIC else ""
        if name != "augmentations":  # functions, which Python alone can give
            table.add_row(name, repr(default), parameters.allowed(name), meaning + automatic)
    console.print(table, markup=False)
    say(f"for fit --method: {', '.join(systems.EMBEDDERS)}")
    say(f"classifiers, in Python only: {', '.join(systems.CLASSIFIERS)}")


def _size(path: Path) -> str:
    n_bytes = path.stat().st_size
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"


def _say_if_large(path: Path, model: Any) -> None:
    """Say how a large file becomes smaller, if the model's width can be chosen."""
    width = model.get_params(deep=False).get("embedding_dim")
    if path.stat().st_size > LARGE and width is not None and (width == "auto" or width > NARROWER):
        say(f"note: {path} has {_size(path)}; ccassg fit --set embedding_dim={NARROWER} makes fewer columns")


@contextlib.contextmanager
def _says_how_to_resume(checkpoint: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint.exists():
            say(f"stopped; the state is saved in {checkpoint}: run the same command again to continue from there")
        raise
