"""`ccassg reproduce`: every table and figure of the paper, from recorded runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ccassg.cli.app import JsonFile, app, console, say, write_json
from ccassg.cli.names import experiments_beginning

if TYPE_CHECKING:
    from ccassg.experiments.runner import Progress

DOCUMENT = Path("docs/reproduction.md")


@app.command()
def reproduce(
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
    docs: Annotated[
        Path | None,
        typer.Option(help=f"Document whose generated blocks to renew; {DOCUMENT} beside the results if it is there."),
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with the dataset files; else CCASSG_DATA.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Redo tables and figures of the paper. Finished runs are recorded and never repeated.

    Example: ccassg reproduce citation --methods cca-ssg --datasets cora --seeds 20 --json cora.json
    """
    from ccassg.experiments import EXPERIMENTS, output, runner, summary
    from ccassg.experiments.headline import headline
    from ccassg.experiments.records import Records

    if list_only or not names:
        width = max(map(len, EXPERIMENTS)) + 2
        for name, experiment in EXPERIMENTS.items():
            say(f"{name:<{width}}{experiment.title}")
        return
    wanted = list(EXPERIMENTS) if names == ["all"] else names
    for name in wanted:
        if name not in EXPERIMENTS:
            raise ValueError(f"there is no experiment {name!r}; choose from {', '.join(EXPERIMENTS)}")
    document = _document(docs, results)
    records = Records(results)
    failures: list[str] = []
    summaries = {}
    for name in wanted:
        experiment = EXPERIMENTS[name]
        plan = experiment.plan(datasets=_split(datasets), methods=_split(methods), n_seeds=seeds, quick=quick)
        runs = experiment.runs(plan)
        todo = runner.missing(runs, records)
        say(f"{name}: {len(runs) - len(todo)} of {len(runs)} runs are recorded in {results}")
        if todo and not draw_only:
            with _progress(name, len(todo)) as on_run:
                try:
                    runner.carry_out(todo, records, jobs=jobs, data_dir=data_dir, on_run=on_run)
                except runner.FailedRunsError as error:
                    failures.append(str(error))
        written = output.write(name, experiment, records, plan, document=document)
        with output.readable(name, records):
            summaries[name] = summary.summarize(name, records.of(runs))
        if written is None:
            say(f"{name}: nothing to draw yet")
        else:
            say(written.markdown)
            say("Written: " + ", ".join(str(path) for path in written.files))
    if document is not None:
        output.renew_findings(document)
    front_page = results.parent / "README.md"
    with output.readable("the front page", records):
        table = headline(records)
    if front_page.is_file() and table:
        output.replace_block(front_page, "results", table)
    write_json(json_file, summaries[wanted[0]] if len(wanted) == 1 else summaries)
    for failure in failures:
        say(failure)
    if failures:
        raise typer.Exit(1)


def _document(given: Path | None, results: Path) -> Path | None:
    """The document to renew: the given one, or the project's own if these are its results."""
    if given is not None:
        if not given.is_file():
            raise FileNotFoundError(2, "there is no such document", str(given))
        return given
    own = results.parent / DOCUMENT
    return own if own.is_file() else None


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


@contextmanager
def _progress(name: str, n_runs: int) -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal, a line per run elsewhere; both with the time left."""
    from ccassg.experiments.runner import describe

    if not console.is_terminal:

        def line(progress: Progress) -> None:
            outcome = f"failed: {progress.error}" if progress.error else f"{progress.seconds:.1f} s"
            say(
                f"[{progress.n_done}/{progress.n_runs}] {describe(progress.run)}: {outcome}; "
                f"{_duration(progress.seconds_left)} left"
            )

        yield line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=n_runs, left="")

        def update(progress: Progress) -> None:
            if progress.error:
                say(f"{describe(progress.run)} failed: {progress.error}")
            bar.update(task, completed=progress.n_done, left=f"{_duration(progress.seconds_left)} left")

        yield update


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
