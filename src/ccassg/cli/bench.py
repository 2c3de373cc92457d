"""`ccassg bench`: speed and memory against the textbook implementation."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ccassg.cli.app import app, check_json, say, write_json


@app.command()
def bench(
    datasets: Annotated[str, typer.Option(help="Names separated by commas; or all.")] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Cora only, few rounds, small growth series.")] = False,
    rounds: Annotated[int, typer.Option(min=1, help="Steps that each contestant takes in turn.")] = 7,
    threads: Annotated[int, typer.Option(min=1, help="Of each contestant.")] = 2,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    busy: Annotated[
        int, typer.Option(min=0, help="Then time the same steps with so many cores taken by another process.")
    ] = 0,
    to_accuracy: Annotated[
        bool, typer.Option("--to-accuracy", help="Beside whole fits, show the accuracy that they reach.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Of --to-accuracy.")] = 20,
    results: Annotated[
        Path, typer.Option(help="Folder of recorded runs, for --to-accuracy; what is missing is run.")
    ] = Path("results"),
    no_growth: Annotated[bool, typer.Option("--no-growth", help="Leave the growth series out.")] = False,
    docs: Annotated[Path | None, typer.Option(help="Document whose generated tables and picture to renew.")] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Keep what the --json file says of other datasets and of growth.")
    ] = False,
    draw_only: Annotated[
        bool, typer.Option("--draw-only", help="Measure nothing: renew the document from the --json file.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file as JSON, or read them from it.")
    ] = None,
) -> None:
    """Time our step against the paper's pseudo-code in plain PyTorch, side by side, and its growth with the graph.

    Example: ccassg bench --datasets cora,photo --json bench.json
    """
    from ccassg import optional, provenance
    from ccassg.bench.accuracy import add_accuracies, describe_accuracy
    from ccassg.bench.compare import GROWTH, compare, growth
    from ccassg.bench.page import read_figures, updated, write_page
    from ccassg.bench.probes import compare_probes
    from ccassg.datasets import DATASETS
    from ccassg.datasets.load import check_name
    from ccassg.experiments.records import Records

    if draw_only:
        if json_file is None or docs is None:
            raise ValueError("--draw-only needs the recorded figures and a document: --json FILE --docs FILE")
        write_page(read_figures(json_file), docs)
        say(f"Written: {docs}")
        return
    if update and json_file is None:
        raise ValueError("--update needs the file to keep: --json FILE")
    kept = read_figures(json_file) if update and json_file is not None else None
    check_json(json_file)
    optional.require("matplotlib" if docs is not None else None, "--docs")
    given = DATASETS if datasets == "all" else [name.strip() for name in datasets.split(",")]
    names = ["cora"] if quick else given
    for name in names:
        check_name(name)
    result: dict[str, Any] = {
        "datasets": compare(names, rounds=3 if quick else rounds, threads=threads, device=device, say=say, busy=busy)
    }
    if to_accuracy:
        add_accuracies(result["datasets"], Records(results), n_seeds=seeds, on_run=say)
        for row in result["datasets"]:
            say(describe_accuracy(row))
    if not no_growth:
        sizes = GROWTH[:2] if quick else GROWTH
        for name, kind, what in (("growth", "exact", "width 128"), ("growth_default", "default", "nothing named")):
            say(f"growth with the number of nodes (synthetic, mean degree 10, 128 features, {what}):")
            made = result[name] = growth(sizes, threads=threads, device=device, say=say, kind=kind)
            say(f"time grows with exponent {made['time_exponent']:.2f}, memory with {made['memory_exponent']:.2f}")
    result["probes"] = compare_probes(rounds=1 if quick else 3, threads=threads)
    say(
        f"evaluating 20 runs on Cora takes as long as {result['probes']['textbook_probes']:.1f} runs of the textbook's loop"
    )
    result["provenance"] = provenance.of_run(0, 0.0) | {"threads": threads, "device": device}
    for row in result["datasets"]:
        row["commit"] = result["provenance"]["commit"]
    if kept is not None:
        result = updated(kept, result)
    write_json(json_file, result)
    if docs is not None:
        write_page(result, docs)
