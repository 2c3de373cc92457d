"""`ccassg reproduce`: every table and figure of the paper, from recorded runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ccassg.cli.app import DataDir, JsonFile, app, say, write_json
from ccassg.cli.names import experiments_beginning
from ccassg.cli.progress import make_bar

if TYPE_CHECKING:
    from ccassg.experiments import Experiment, Plan, Records

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
    list_only: Annotated[
        bool, typer.Option("--list", help="Say what is recorded, what is missing, and how long that may take.")
    ] = False,
    datasets: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these, separated by commas; or all.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Runs per entry, with seeds 0, 1, 2, ...")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version: fewer seeds, coarser grids.")] = False,
    hours: Annotated[
        float | None, typer.Option(metavar="H", min=0, help="Begin no run that is not expected to end within so many.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(help="Runs at a time; they share the processors. Runs that are timed have them alone.")
    ] = 1,
    draw_only: Annotated[
        bool, typer.Option("--draw-only", help="Train nothing: draw anew from what is recorded.")
    ] = False,
    results: Annotated[Path, typer.Option(help="Folder of the records and tables.")] = Path("results"),
    data_dir: DataDir = None,
    json_file: JsonFile = None,
) -> None:
    """Redo tables and figures of the paper. Finished runs are recorded and never repeated.

    What is missing is done in the order of its worth: first what fills an empty cell of the accuracy tables. After an interruption
    the next call goes on; a run that failed is told in the end, and tried again by the next call.

    The generated blocks of docs/reproduction.md, and of the pages in docs/reproduction, are renewed if they lie beside the results.

    Example: ccassg reproduce all --hours 8

    Example: ccassg reproduce citation --methods cca-ssg --datasets cora --seeds 20 --json cora.json
    """
    from ccassg.experiments import EXPERIMENTS, Records, agenda, documents
    from ccassg.experiments.summary import summarize
    from ccassg.graph.checks import choose_from
    from ccassg.io.atomic import require_room

    # The studies of the repository come here with experiments and a document of their own.
    experiments, page = context.obj or (EXPERIMENTS, DOCUMENT)
    wanted = list(experiments) if names == ["all"] or not names else names
    for name in wanted:
        if name not in experiments:
            raise ValueError(f"there is no experiment {name!r}; {choose_from(name, experiments)}")
    planned = {}
    for name in wanted:
        plan = experiments[name].plan(datasets=_split(datasets), methods=_split(methods), n_seeds=seeds, quick=quick)
        planned[name] = (experiments[name], plan)
    if list_only or not names:
        _say_what_is_missing(planned, Records(results))
        return
    document = results.parent / page if (results.parent / page).is_file() else None
    require_room(results / "tables", 1) if results.is_dir() else results.mkdir(parents=True)  # before the work
    records = Records(results)
    for name, (experiment, plan) in planned.items():
        runs = experiment.runs(plan)
        say(f"{name}: {len(records.of(runs))} of {len(runs)} runs are recorded in {results}")
    failures = []
    if not draw_only:
        todo = agenda.missing(planned.values(), records)
        with _progress(len(todo)) as on_run:
            failures = agenda.carry_out(todo, records, budget=hours, jobs=jobs, data_dir=data_dir, on_run=on_run)
    summaries = {}
    for name, (experiment, plan) in planned.items():
        if written := documents.write(name, experiment, records, plan, document=document):
            say(written.markdown)
            say("Written: " + ", ".join(str(path) for path in written.files))
        else:
            say(f"{name}: nothing to draw yet")
        with documents.readable(name, records):
            summaries[name] = summarize(name, records.of(experiment.runs(plan)))
    if document is not None:
        documents.renew_findings(document, experiments)
    documents.renew_front_page(results.parent / "README.md", records)
    write_json(json_file, summaries[wanted[0]] if len(wanted) == 1 else summaries)
    if left := agenda.missing(planned.values(), records):
        say(f"{len(left)} runs are missing, about {agenda.hours(left):.1f} hours")
    for failure in failures:
        say(failure)
    if failures:
        raise typer.Exit(1)


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def _say_what_is_missing(planned: "dict[str, tuple[Experiment, Plan]]", records: "Records") -> None:
    """Say a line per experiment, and one of all together, which share runs."""
    from ccassg.experiments import agenda
    from ccassg.experiments.records import key_of

    width = max(map(len, planned)) + 2
    say(f"{'':<{width}}{'recorded':>8}{'missing':>9}{'hours':>7}")
    lines = {name: [one] for name, one in planned.items()} | {"all": list(planned.values())}
    for name, some in lines.items():
        n_runs = len({key_of(run) for experiment, plan in some for run in experiment.runs(plan)})
        todo = agenda.missing(some, records)
        title = f"  {some[0][0].title}" if name in planned else ""
        say(f"{name:<{width}}{n_runs - len(todo):>8}{len(todo):>9}{agenda.hours(todo):>7.1f}{title}")


@contextmanager
def _progress(n_runs: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on a terminal, a line per run elsewhere; both with the time left."""
    with make_bar() as bar:
        task = bar.add_task("runs", total=n_runs)

        def on_run(outcome: str) -> None:
            bar.advance(task)
            if bar.disable:
                state = bar.tasks[0]
                left = "" if state.time_remaining is None else f"; {timedelta(seconds=state.time_remaining)} left"
                say(f"[{state.completed:.0f}/{n_runs}] {outcome}{left}")

        yield on_run
