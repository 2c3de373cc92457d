"""`ccassg convert`: write any graph as a store of memory-mapped files."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ccassg.cli.app import JsonFile, app, say, say_notes, write_json
from ccassg.cli.graph_files import GraphFiles, reads_graph


@app.command()
@reads_graph()
def convert(
    files: GraphFiles,
    store: Annotated[Path, typer.Option("--output", "-o", metavar="STORE", help="The folder to make.")],
    parts: Annotated[int, typer.Option(min=1, help="Order the nodes by this many parts that few edges cross.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a store that is already there.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Write a graph as a store: a folder that opens at once and is read only where it is touched.

    Example: ccassg convert pubmed -o pubmed-store --parts 4
    """
    from ccassg.graph import partition
    from ccassg.io.storewriter import require_free, write_store

    start = time.perf_counter()
    require_free(store, overwrite=overwrite)
    if store.exists() and Path(files.graph).exists() and store.samefile(files.graph):
        raise ValueError(f"{store} is read by this very command; name another folder to write to")
    data = files.open()
    graph = data.graph
    assigned = partition.partition(graph, parts) if parts > 1 else None
    write_store(store, data, parts=assigned, overwrite=overwrite)
    result: dict[str, Any] = {
        "store": str(store),
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "features": graph.n_features,
        "parts": parts,
        "bytes": sum(file.stat().st_size for file in store.iterdir()),
        "seconds": time.perf_counter() - start,
    }
    say(f"{store}: {graph!r}, {result['bytes'] / 1e6:.1f} MB")
    if assigned is not None:
        found = partition.cost(graph, assigned)
        result |= {"edges_cut": found.cut, "halo": found.halo, "largest_part": found.largest}
        say(
            f"{parts} parts: {found.cut / max(1, graph.n_edges):.1%} of the edges cross them; a part holds up to "
            f"{found.largest:,} nodes and receives from up to {found.largest_halo:,} others"
        )
    say_notes(data.notes or graph.notes)
    write_json(json_file, result)
