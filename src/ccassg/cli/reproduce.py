"""`ccassg reproduce`: every table and figure of the paper, from recorded runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from ccassg.cli.app import DataDir, JsonFile, app, say, write_json
from ccassg.cli.names import experiments_beginning
from ccassg.cli.progress import make_bar

DOCUMENT = Path("docs/reproduction.md")


@app.command()
def reproduce(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT...",
            help="Which, by name (see --list); or all.",
            autocompletion=experiments_beginning,
        ),
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="Say what experiments there are.")] = False,
    datasets: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these, separated by commas; or all.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Runs per entry, with seeds 0, 1, 2, ...")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version: fewer seeds, coarser grids.")] = False,
    jobs: Annotated[int, typer.Option(help="Runs at a time; they share the processors.")] = 1,
    draw_only: Annotated[
        bool, typer.Option("--draw-only", help="Train nothing: draw anew from what is recorded.")
    ] = False,
    results: Annotated[Path, typer.Option(help="Folder of the records and tables.")] = Path("results"),
    data_dir: DataDir = None,
    json_file: JsonFile = None,
) -> None:
    """Redo tables and figures of the paper. Finished runs are recorded and never repeated.

    The generated blocks of docs/reproduction.md, and of the pages in docs/reproduction, are renewed if they lie beside the results.

    Example: ccassg reproduce citation --methods cca-ssg --datasets cora --seeds 20 --json cora.json
    """
    from ccassg.experiments import EXPERIMENTS, Records, documents
    from ccassg.experiments.reproduce import reproduce as redo
    from ccassg.io.atomic import require_room

    # The studies of the repository come here with experiments and a document of their own.
    experiments, page = context.obj or (EXPERIMENTS, DOCUMENT)
    if list_only or not names:
        width = max(map(len, experiments)) + 2
        for name, experiment in experiments.items():
            say(f"{name:<{width}}{experiment.title}")
        return
    wanted = list(experiments) if names == ["all"] else names
    for name in wanted:
        if name not in experiments:
            raise ValueError(f"there is no experiment {name!r}; choose from {', '.join(experiments)}")
    document = results.parent / page if (results.parent / page).is_file() else None
    require_room(results / "tables", 1) if results.is_dir() else results.mkdir(parents=True)  # before the work
    records = Records(results)
    done = {}
    for name in wanted:
        plan = experiments[name].plan(datasets=_split(datasets), methods=_split(methods), n_seeds=seeds, quick=quick)
        runs = experiments[name].runs(plan)
        n_recorded = len(records.of(runs))
        say(f"{name}: {n_recorded} of {len(runs)} runs are recorded in {results}")
        with _progress(name, len(runs) - n_recorded) as on_run:
            done[name] = redo(
                name,
                experiments[name],
                records,
                plan,
                draw_only=draw_only,
                jobs=jobs,
                data_dir=data_dir,
                document=document,
                on_run=on_run,
            )
        if written := done[name].written:
            say(written.markdown)
            say("Written: " + ", ".join(str(path) for path in written.files))
        else:
            say(f"{name}: nothing to draw yet")
    if document is not None:
        documents.renew_findings(document, experiments)
    documents.renew_front_page(results.parent / "README.md", records)
    summaries = {name: outcome.summary for name, outcome in done.items()}
    write_json(json_file, summaries[wanted[0]] if len(wanted) == 1 else summaries)
    failures = [outcome.failure for outcome in done.values() if outcome.failure]
    for failure in failures:
        say(failure)
    if failures:
        raise typer.Exit(1)


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


@contextmanager
def _progress(name: str, n_runs: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on a terminal, a line per run elsewhere; both with the time left."""
    with make_bar() as bar:
        task = bar.add_task(name, total=n_runs)

        def on_run(outcome: str) -> None:
            bar.advance(task)
            if bar.disable:
                state = bar.tasks[0]
                left = "" if state.time_remaining is None else f"; {timedelta(seconds=state.time_remaining)} left"
                say(f"[{state.completed:.0f}/{n_runs}] {outcome}{left}")

        yield on_run
