"""`ccassg bench`: speed and memory against the textbook implementation."""

from __future__ import annotations

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
    json_file: JsonFile = None,
) -> None:
    """Time our step against the paper's pseudo-code in plain PyTorch, side by side, and its growth with the graph.

    Example: ccassg bench --datasets cora,photo --json bench.json
    """
    from ccassg import runs
    from ccassg.bench.compare import GROWTH, compare, growth

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
    result["provenance"] = runs.provenance(0, 0.0) | {"threads": threads, "device": device}
    write_json(json_file, result)
