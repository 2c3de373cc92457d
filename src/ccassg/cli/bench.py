"""`ccassg bench`: speed and memory against the textbook implementation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ccassg.cli.app import JsonFile, app, say, write_json
from ccassg.datasets import DATASETS


@app.command()
def bench(
    datasets: Annotated[str, typer.Option(help="Names separated by commas.")] = ",".join(DATASETS),
    quick: Annotated[bool, typer.Option("--quick", help="Cora only, few rounds, small growth series.")] = False,
    rounds: Annotated[int, typer.Option(min=1, help="Steps that each contestant takes in turn.")] = 7,
    threads: Annotated[int, typer.Option(min=1, help="Of each contestant.")] = 2,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    no_growth: Annotated[bool, typer.Option("--no-growth", help="Leave the growth series out.")] = False,
    scale: Annotated[
        bool, typer.Option("--scale", help="Instead: a synthetic graph the size of ogbn-products, end to end.")
    ] = False,
    ranks: Annotated[
        str | None, typer.Option(help="Instead: memory and traffic on so many processes, such as 1,2,4.")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(min=100, help="With --scale or --ranks: so many nodes, with edges in proportion.")
    ] = None,
    docs: Annotated[Path | None, typer.Option(help="Document whose generated tables and picture to renew.")] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Keep what the --json file says of other datasets and of growth.")
    ] = False,
    draw_only: Annotated[
        bool, typer.Option("--draw-only", help="Measure nothing: renew the document from the --json file.")
    ] = False,
    json_file: JsonFile = None,
) -> None:
    """Time our step against the paper's pseudo-code in plain PyTorch, side by side, and its growth with the graph.

    Example: ccassg bench --datasets cora,photo --json bench.json
    """
    from ccassg import provenance
    from ccassg.bench.compare import GROWTH, compare, growth
    from ccassg.bench.page import write_page
    from ccassg.bench.probes import compare_probes

    if draw_only:
        if json_file is None or docs is None:
            raise ValueError("--draw-only needs the recorded figures and a document: --json FILE --docs FILE")
        write_page(_read(json_file), docs)
        say(f"Written: {docs}")
        return
    if ranks is not None:
        _finish(_bench_ranks(ranks, nodes), json_file, docs)
        return
    if update and json_file is None:
        raise ValueError("--update needs the file to keep: --json FILE")
    if nodes is not None and not scale:
        raise ValueError("--nodes goes with --scale or --ranks")
    if scale:
        _finish(_bench_scale(nodes, threads), json_file, docs)
        return
    names = ["cora"] if quick else [name.strip() for name in datasets.split(",")]
    for name in names:
        if name not in DATASETS:
            raise ValueError(f"there is no dataset {name!r}; there are {', '.join(DATASETS)}")
    result: dict[str, Any] = {
        "datasets": compare(names, rounds=3 if quick else rounds, threads=threads, device=device, say=say)
    }
    if not no_growth:
        say("growth with the number of nodes (synthetic, mean degree 10, 128 features, width 128):")
        sizes = GROWTH[:2] if quick else GROWTH
        result["growth"] = growth(sizes, threads=threads, device=device, say=say)
        say(
            f"time grows with exponent {result['growth']['time_exponent']:.2f}, memory with "
            f"{result['growth']['memory_exponent']:.2f}"
        )
    result["probes"] = compare_probes(rounds=1 if quick else 3, threads=threads)
    say(
        f"evaluating 20 runs on Cora takes as long as {result['probes']['textbook_probes']:.1f} runs of the textbook's loop"
    )
    result["provenance"] = provenance.of_run(0, 0.0) | {"threads": threads, "device": device}
    for row in result["datasets"]:
        row["commit"] = result["provenance"]["commit"]
    if update and json_file is not None:
        result = _updated(_read(json_file), result)
    _finish(result, json_file, docs)


def _read(path: Path) -> dict[str, Any]:
    """The figures that an earlier benchmark wrote."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        result = None
    if not isinstance(result, dict) or "provenance" not in result:
        raise ValueError(f"{path} does not hold the figures of ccassg bench; measure them with --json {path}")
    return result


def _updated(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old figures with those measured now in their place, in the order of the datasets."""
    rows = {row["dataset"]: row for row in (*old["datasets"], *new["datasets"])}
    return old | new | {"datasets": [rows[name] for name in DATASETS if name in rows]}


def _finish(result: dict[str, Any], json_file: Path | None, docs: Path | None) -> None:
    from ccassg.bench.page import write_page

    write_json(json_file, result)
    if docs is not None:
        write_page(result, docs)


def _bench_scale(nodes: int | None, threads: int) -> dict[str, Any]:
    import torch

    from ccassg import provenance
    from ccassg.bench.scale import Scale, run_scale

    torch.set_num_threads(threads)
    size = Scale()
    if nodes is not None:
        size = replace(size, n_nodes=nodes, n_edges=round(size.n_edges * nodes / size.n_nodes))
    result = run_scale(size, say=say)
    result["provenance"] = provenance.of_run(size.seed, sum(stage["seconds"] for stage in result["stages"].values()))
    return result


def _bench_ranks(ranks: str, nodes: int | None) -> dict[str, Any]:
    from ccassg import provenance
    from ccassg.bench.ranks import compare_ranks

    try:
        sizes = [int(size) for size in ranks.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1:
        raise ValueError(f"--ranks takes numbers of processes separated by commas, such as 1,2,4; got {ranks!r}")
    result = compare_ranks(sizes, **({} if nodes is None else {"n_nodes": nodes}), say=say)
    result["provenance"] = provenance.of_run(0, 0.0) | {"threads": 1}
    return result
