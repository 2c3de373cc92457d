"""The options that say where a graph is and how its files are read, written once for all commands that read one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ccassg.cli.app import DataDir

if TYPE_CHECKING:
    from ccassg.graph import Dataset

Column = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the edge file.")]


@dataclass(frozen=True, kw_only=True)
class GraphFiles:
    """A graph as the command line names it; every field is an argument or an option."""

    graph: Annotated[
        str,
        typer.Argument(
            metavar="GRAPH",
            help="A dataset's name, an edge file, a file with all of a graph (.graphml, .gexf, .gml, .npz, .h5ad), a folder with "
            "edges.* and nodes.* or features.*, or a store.",
        ),
    ]
    features: Annotated[
        list[Path] | None,
        typer.Option(
            "--features",
            "-f",
            metavar="FILE",
            help="Node table (CSV, Parquet, JSON) or matrix (.npy, .npz, .mtx); may be repeated.",
        ),
    ] = None
    labels: Annotated[Path | None, typer.Option("--labels", "-l", help="Label file; for evaluation only.")] = None
    label_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of labels in the node table; not learned from.")
    ] = None
    id_column: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of ids in the node table.")] = None
    ids: Annotated[Path | None, typer.Option(help="Ids of a matrix's rows.")] = None
    source: Column = None
    target: Column = None
    weight: Column = None
    feature_columns: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Columns that are features; all but ids and labels by default."),
    ] = None
    keep: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Columns to learn from although they look like ids, dates or constants."),
    ] = None
    directed: Annotated[bool, typer.Option("--directed", help="Keep directions; by default edges go both ways.")] = (
        False
    )
    scale: Annotated[
        bool | None,
        typer.Option(
            "--scale/--no-scale",
            help="Bring numeric columns to mean 0 and standard deviation 1, kept with the model; by default where sizes are "
            "far apart.",
        ),
    ] = None
    encoding: Annotated[str, typer.Option(help="Of text files.")] = "utf-8"
    data_dir: DataDir = None

    @property
    def paths(self) -> list[str | Path]:
        """What is read, as far as it lies in files."""
        from ccassg.io.graphs import names_dataset

        graph = None if names_dataset(self.graph) else self.graph
        return [path for path in (graph, *(self.features or ()), self.labels, self.ids) if path is not None]

    def require_there(self) -> None:
        """Refuse paths where nothing is, before what reads and learns is imported."""
        from ccassg.io.files import check_file
        from ccassg.io.graphs import require_there

        require_there(self.graph)
        for path in (*(self.features or ()), self.labels, self.ids):
            if path is not None and not self.graph.lower().endswith(".h5ad"):  # whose features are named within
                check_file(path)

    def open(self, **more: Any) -> Dataset:
        """Read it; ``more`` are options of `open_graph` that no user gives, or that stand in for theirs."""
        from ccassg.io.graphs import open_graph

        given = {field.name: getattr(self, field.name) for field in fields(self)} | self._parsed()
        return open_graph(given.pop("graph"), **(given | more))

    def recorded(self) -> dict[str, Any]:
        """Return the arguments of `open_graph` that read it again, from any folder, in JSON's types."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        changed = {field.name: given[field.name] for field in fields(self) if given[field.name] != field.default}
        changed |= self._parsed()
        if self.graph in self.paths and Path(self.graph).exists():
            changed["graph"] = Path(self.graph)
        return {name: _anywhere(value) for name, value in changed.items() if value is not None}

    def _parsed(self) -> dict[str, Any]:
        """Return the features, one file or several, and the options that list columns as far as they are given."""
        given = {"feature_columns": self.feature_columns, "keep": self.keep}
        several = self.features or []
        return {"features": several[0] if len(several) == 1 else several or None} | {
            option: [name.strip() for name in names.split(",") if name.strip()]
            for option, names in given.items()
            if names is not None
        }


def _anywhere(value: Any) -> Any:
    """Return paths as text that names them from any folder; a name that is no file (an entry of `.h5ad`) as it is."""
    if isinstance(value, list):
        return [_anywhere(each) for each in value]
    return str(value.absolute() if value.exists() else value) if isinstance(value, Path) else value


def reads_graph(*, without: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the arguments and options of `GraphFiles`, but for some, in place of its parameter ``files``."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())
        shared = [
            parameter
            for parameter in inspect.signature(GraphFiles, eval_str=True).parameters.values()
            if parameter.name not in without
        ]
        graph, options = shared[0], shared[1:]
        required = [graph if p.name == "files" else p for p in own if p.default is p.empty]
        parameters = [*required, *options, *(p for p in own if p.default is not p.empty)]

        @functools.wraps(command)
        def wrapped(**given: Any) -> None:
            files = GraphFiles(**{p.name: given.pop(p.name) for p in shared})
            command(files=files, **given)

        keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
        wrapped.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
        return wrapped

    return decorate
