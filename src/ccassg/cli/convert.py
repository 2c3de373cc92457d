"""`ccassg convert`: write any graph as a store of memory-mapped files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ccassg.cli.app import JsonFile, app, say, say_notes, write_json
from ccassg.cli.fit import (
    ColumnOption,
    DataDirOption,
    DirectedOption,
    EncodingOption,
    FeatureColumnsOption,
    FeaturesOption,
    GraphArgument,
    IdsOption,
    LabelsOption,
    NodeColumnOption,
    ScaleOption,
    TextOption,
    split_names,
)


@app.command()
def convert(
    graph: GraphArgument,
    store: Annotated[Path, typer.Option("--output", "-o", metavar="STORE", help="The folder to make.")],
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
    parts: Annotated[int, typer.Option(min=1, help="Order the nodes by this many parts that few edges cross.")] = 1,
    method: Annotated[str, typer.Option(help="How to find the parts: auto, metis or contiguous.")] = "auto",
    data_dir: DataDirOption = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a store that is already there.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Write a graph as a store: a folder that opens at once and is read only where it is touched.

    Example: ccassg convert pubmed -o pubmed-store --parts 4
    """
    from ccassg import partition, runs
    from ccassg.io.storewriter import write_store

    start = time.perf_counter()
    loaded = runs.open_graph(
        graph, data_dir=data_dir, features=features, labels=labels, ids=ids, source=source, target=target, weight=weight,
        id_column=id_column, label_column=label_column, feature_columns=split_names(feature_columns),
        directed=directed, text=text, scale=scale, encoding=encoding,
    ).loaded  # fmt: skip
    opened = loaded.graph
    found_parts = partition.partition(opened, parts, method=method)  # type: ignore[arg-type]
    assigned = found_parts if parts > 1 else None
    known: dict[str, Any] = {name: getattr(loaded, name) for name in ("y", "class_names", "feature_names", "scaling")}
    write_store(store, opened, parts=assigned, overwrite=overwrite, **known)
    result: dict[str, Any] = {
        "store": str(store),
        "nodes": opened.n_nodes,
        "edges": opened.n_edges,
        "features": opened.n_features,
        "parts": parts,
        "bytes": sum(file.stat().st_size for file in store.iterdir()),
        "seconds": time.perf_counter() - start,
    }
    lines = [f"{store}: {opened!r}, {result['bytes'] / 1e6:.1f} MB"]
    if assigned is not None:
        found = partition.cost(opened, assigned)
        result |= {"edges_cut": found.cut, "halo": found.halo, "largest_part": found.largest}
        lines.append(
            f"{parts} parts: {found.cut / max(1, opened.n_edges):.1%} of the edges cross them; a part holds up to "
            f"{found.largest:,} nodes and receives from up to {found.largest_halo:,} others"
        )
    write_json(json_file, result)
    for line in lines:
        say(line)
    say_notes(loaded.notes or opened.notes)
