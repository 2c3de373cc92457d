"""Records that no experiment and no study uses as they are now: `python -m studies.prune` counts them, with --remove they go.

Those of earlier revisions of a system, of settings that nothing runs any more, of seeds beyond those that a table draws. Not
while runs are being recorded: a file is replaced whole.
"""

import collections
from pathlib import Path
from typing import Annotated

import typer

from ccassg.cli.app import say
from ccassg.experiments import EXPERIMENTS
from ccassg.experiments.records import key_of, read
from ccassg.io.atomic import write_bytes_atomic
from ccassg.report.tables import to_markdown
from studies.catalogue import STUDIES


def used() -> set[str]:
    """Return the keys of all runs that an experiment or study draws, those that it only draws among them."""
    keys = set()
    for experiment in (EXPERIMENTS | STUDIES).values():
        plan = experiment.everything(experiment.plan())
        for cells in (experiment.cells(plan), experiment.former(plan)):
            keys |= {key_of(run) for runs in cells.values() for run in runs}
    return keys


def prune(path: Path, keys: set[str], *, remove: bool) -> collections.Counter[tuple[str, str]]:
    """Count the records in a file whose keys are not given, by task and method, and take them out if told to."""
    runs = [record["run"] for record in read(path)]
    unused = [key_of(run) not in keys for run in runs]
    if remove and any(unused):
        lines = path.read_bytes().splitlines(keepends=True)  # one more where the last was not finished
        kept = [line for line, out in zip(lines, unused, strict=False) if not out]
        write_bytes_atomic(path, b"".join(kept)) if kept else path.unlink()
    return collections.Counter(
        (run["task"], run.get("method", "")) for run, out in zip(runs, unused, strict=True) if out
    )


def main(
    results: Annotated[Path, typer.Option(help="Folder of the records.")] = Path("results"),
    remove: Annotated[bool, typer.Option("--remove", help="Take them out of the files.")] = False,
) -> None:
    """Say which records no table uses any more."""
    if not results.is_dir():
        raise typer.BadParameter(f"there is no folder {results}")
    keys = used()
    counts = {path.name: prune(path, keys, remove=remove) for path in sorted(results.glob("*.jsonl"))}
    rows = [
        {"file": name, "task": task, "method": method, "records": n}
        for name, count in counts.items()
        for (task, method), n in sorted(count.items())
    ]
    say(to_markdown(rows) + f"{sum(map(collections.Counter.total, counts.values()))} records are used by no table")
    if rows and not remove:
        say("--remove takes them out")


if __name__ == "__main__":
    typer.run(main)
