"""`ccassg datasets`: what there is and what is cached; `ccassg datasets fetch NAME`: get it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import DownloadColumn, TaskID

from ccassg.cli.app import DataDir, JsonFile, app, say, write_json
from ccassg.cli.names import datasets_beginning
from ccassg.cli.progress import make_bar

datasets_app = typer.Typer(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(datasets_app, name="datasets")


@datasets_app.callback()
def list_datasets(context: typer.Context, data_dir: DataDir = None, json_file: JsonFile = None) -> None:
    """List the datasets: counts (edges in both directions), size in memory, licence, and whether they are on this machine.

    Example: ccassg datasets --json datasets.json
    """
    from ccassg.datasets import DATASETS

    if context.invoked_subcommand is not None:
        return
    rows = [_describe(name, data_dir) for name in DATASETS]
    write_json(json_file, rows)
    _print_table(rows)


@datasets_app.command()
def fetch(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...", help="As ccassg datasets lists them; or all.", autocompletion=datasets_beginning
        ),
    ],
    folder: Annotated[Path | None, typer.Option(help="Put the files here instead of the cache.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of a mirror: a folder with the same files.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Download datasets and check them. A broken connection is tried again.

    Example: ccassg datasets fetch citeseer pubmed
    """
    from ccassg.datasets import DATASETS
    from ccassg.datasets.download import fetch_dataset
    from ccassg.datasets.load import check_name

    wanted = list(DATASETS) if names == ["all"] else names
    for name in wanted:
        check_name(name)
    fetched: dict[str, list[str]] = {}
    for name in wanted:
        with _download_bar() as on_bytes:
            paths = fetch_dataset(name, folder=folder, base_url=base_url, progress=on_bytes)
        fetched[name] = [str(path) for path in paths]
        if paths:
            say(f"{name}: {len(paths)} {'file' if len(paths) == 1 else 'files'} in {paths[0].parent}")
        else:
            say(f"{name}: part of the package, nothing to fetch")
    write_json(json_file, fetched)


@contextmanager
def _download_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function of (file, bytes done, bytes in all) that draws a bar for each file."""
    with make_bar(DownloadColumn()) as bar:
        tasks: dict[str, TaskID] = {}

        def on_bytes(file: str, done: int, total: int) -> None:
            if file not in tasks:
                tasks[file] = bar.add_task(file)
            bar.update(tasks[file], completed=done, total=total or None)

        yield on_bytes


def _describe(name: str, data_dir: Path | None) -> dict[str, Any]:
    """Return one row of the list, ready for JSON."""
    from ccassg.datasets.cards import CARDS, FILES
    from ccassg.datasets.load import embedded_file, find_folder, search_path

    card, folder = CARDS[name], find_folder(name, data_dir)
    where, paths = "not fetched", []
    if name == "cora":
        where, paths = "embedded", [Path(str(embedded_file()))]
    elif folder is not None:
        where = "cached" if folder == search_path(data_dir)[-1] else str(folder)
        paths = [folder / file.path for file in FILES[name]]
    return {
        "name": name,
        "title": card.title,
        "nodes": card.n_nodes,
        "edges": card.n_edges // 2,  # an undirected edge once
        "features": card.n_features,
        "classes": card.n_classes,
        "feature_density": round(card.feature_density, 5),
        "memory_bytes": card.memory_bytes,
        "file_bytes": sum(path.stat().st_size for path in paths) or None,
        "licence": card.licence,
        "source": card.source,
        "citation": card.citation,
        "split": card.split,
        "where": where,
        "available": where != "not fetched",
    }


def _print_table(rows: list[dict[str, Any]]) -> None:
    """Print aligned columns."""
    columns = ("name", "nodes", "edges", "features", "classes", "size", "licence", "where")
    cells = []
    for row in rows:
        counts = (f"{row[key]:,}" for key in columns[1:5])
        size = f"{row['memory_bytes'] / 1e6:.1f} MB"
        cells.append([row["name"], *counts, size, row["licence"].split(" (")[0], row["where"]])
    lines = [list(columns), *cells]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        padded = [f"{cell:{'>' if 1 <= i <= 5 else '<'}{widths[i]}}" for i, cell in enumerate(line)]
        say("  ".join(padded).rstrip())
