"""`ccassg tune`: search settings for a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ccassg.cli.app import JsonFile, app, say, say_notes, write_json
from ccassg.cli.graph_files import GraphFiles, reads_graph


@app.command()
@reads_graph()
def tune(
    files: GraphFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the search is kept; it goes on from there.")
    ],
    minutes: Annotated[float, typer.Option(help="Stop after so long; run again to go on.")] = 10.0,
    n_candidates: Annotated[int, typer.Option("--candidates", min=1, help="Settings to begin with.")] = 16,
    without_labels: Annotated[
        bool, typer.Option("--without-labels", help="Rank without labels even where there are some.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the settings drawn and of every training.")] = 0,
    json_file: JsonFile = None,
) -> None:
    """Search the paper's grids by successive halving, without labels or by validation accuracy; never on test nodes.

    Example: ccassg tune edges.csv --features nodes.csv --minutes 5 -o my-search
    """
    from ccassg import run
    from ccassg import tune as tuning

    opened = files.open()
    loaded = opened.loaded
    say(f"{files.graph}: {loaded.graph!r}")
    say_notes(loaded.notes)
    given: dict[str, Any] = {}
    if loaded.y is not None and not without_labels:
        given = {"y": loaded.y, "split": run.split_to_choose_on(opened, seed)}

    def on_trial(trial: dict[str, Any], n: int, total: int) -> None:
        say(f"[{n}/{total}] candidate {trial['candidate']}, {trial['n_steps']} steps: {trial['score']:.4f}")

    found = tuning.search(
        loaded.graph, output, minutes=minutes, n_candidates=n_candidates, seed=seed, on_trial=on_trial, **given
    )
    if not found["is_complete"]:
        say(f"the time is over; run the same command again to go on from {output}")
    say(f"best by {found['criterion']}: {found['score']:.4f}")
    say(f"next: ccassg fit {files.words()} {tuning.as_arguments(found['settings'])} -o my-model")
    write_json(json_file, found)
