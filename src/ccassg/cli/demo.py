"""`ccassg demo`: the whole job on the embedded Cora."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ccassg.cli.app import JsonFile, app, say, write_json
from ccassg.cli.progress import steps, working

if TYPE_CHECKING:
    from ccassg.evaluate.scores import ProbeResult


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("demo-report.html"),
    model_folder: Annotated[Path, typer.Option("--model", help="Folder for the trained model.")] = Path("demo-model"),
    seeds: Annotated[int, typer.Option(min=1, help="Models to train and evaluate.")] = 5,
    json_file: JsonFile = None,
) -> None:
    """Train on the embedded Cora, evaluate honestly over several seeds, and write a page to look at.

    Example: ccassg demo
    """
    from ccassg import provenance, run, scoring
    from ccassg.datasets import load_dataset
    from ccassg.estimator import CCASSG
    from ccassg.evaluate.probe import linear_probe
    from ccassg.io import folders
    from ccassg.io.atomic import require_replaceable
    from ccassg.report.page import is_page, write_page

    require_replaceable(output, is_page)
    folders.require_ours(model_folder, run.FILES)
    data = load_dataset("cora")
    say(f"Cora, a citation graph that comes with the package: {data.graph!r}")
    embeddings, seconds = [], []
    with steps("training") as advance:
        for seed in range(seeds):
            model, started = CCASSG.preset("cora", random_state=seed), time.perf_counter()
            embeddings.append(
                model.fit_transform(
                    data,
                    on_step=lambda step, losses, total, seed=seed: advance(
                        seed * total + step, seeds * total, f"model {seed + 1} of {seeds}, loss {losses['loss']:.1f}"
                    ),
                )
            )
            seconds.append(model.fit_seconds_)
            took = time.perf_counter() - started
    say(
        f"trained {seeds} models without labels, {min(seconds):.1f} s each at best; linear probe on the public split ..."
    )
    result = linear_probe(embeddings, data, seeds=range(seeds))
    made_by = provenance.of_run(seeds - 1, took)
    run.save_run(
        model_folder, model, data, embeddings[-1], source="cora", provenance=made_by, read_from={"graph": "cora"}
    )
    say(
        f"test accuracy {_percent(result)} over {seeds} seeds, chosen on validation only (paper: 84.2, partly chosen on the test set)"
    )
    say(f"model   {model_folder}/")
    write_page(output, scoring.page(model_folder, probe=result.as_dict()))
    say(f"page    {output} (open it in a browser)")
    with working("the default, which ccassg fit takes where nothing is named") as tell:
        tell("solving")
        solved = [CCASSG(random_state=seed).fit_transform(data) for seed in range(seeds)]
        tell("linear probe")
        default = linear_probe(solved, data, seeds=range(seeds))
    say(f"the default of ccassg fit, solved without training, scored alike: {_percent(default)}")
    say("next    ccassg fit edges.csv --features nodes.csv -o my-model")
    write_json(json_file, result.as_dict() | {"seconds": seconds, "default": default.as_dict()} | made_by)


def _percent(result: "ProbeResult") -> str:
    return f"{100 * result.accuracy:.1f} ± {100 * result.std:.1f} %"
