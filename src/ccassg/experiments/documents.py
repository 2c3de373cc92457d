"""From records to files: tables as Markdown and CSV, figures, and the generated blocks of a document."""

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ccassg.experiments.experiment import Drawn, Experiment, Plan
from ccassg.experiments.headline import headline
from ccassg.experiments.records import Record, Records
from ccassg.experiments.tables import FINDING
from ccassg.io.atomic import atomic_write
from ccassg.report.tables import to_csv, to_markdown


@dataclass(frozen=True)
class Written:
    """The Markdown that was made, and the files."""

    markdown: str
    files: tuple[Path, ...]


def write(
    name: str, experiment: Experiment, records: Records, asked: Plan, *, document: Path | None = None
) -> Written | None:
    """Draw an experiment anew from all its records; nothing is trained.

    Parameters
    ----------
    name : str
        Of the experiment, and of the files.
    records : Records
        In whose folder ``tables/`` and, without a document, ``figures/`` are written.
    asked : Plan
        What was asked for; what else is recorded is shown as well.
    document : path, optional
        Markdown file whose block between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->`` is replaced; figures
        go into ``figures/`` beside it.

    Returns
    -------
    Written, or None if there is no record to draw.
    """
    plan = experiment.everything(asked)
    figures = (records.folder if document is None else document.parent) / "figures"
    used = records.of(experiment.runs(plan))
    with readable(name, records):
        drawn = experiment.draw(experiment.found(records, plan), plan, figures)
        if drawn is None:
            return None
        body = _body(drawn, experiment.title, used)
    files = [figures / f"{stem}.{ending}" for stem in drawn.figures for ending in ("svg", "png")]
    tables = records.folder / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    for suffix, rows in drawn.tables.items():
        files.append(tables / f"{name}{'-' if suffix else ''}{suffix}.csv")
        _write_text(files[-1], to_csv(rows))
    files.append(tables / f"{name}.md")
    _write_text(files[-1], body.replace("FIGURES", os.path.relpath(figures, tables)))
    if document is not None and replace_block(document, name, body.replace("FIGURES", "figures")):
        files.append(document)
    return Written(body.replace("FIGURES", str(figures)), tuple(files))


@contextmanager
def readable(name: str, records: Records) -> Iterator[None]:
    """Say in one sentence that a record does not hold what an experiment shows: someone may have edited the files."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, ArithmeticError, zlib.error) as error:
        raise ValueError(
            f"{records.folder}: a record does not hold what {name} shows ({type(error).__name__}: {error}); remove its line, "
            f"and the run is done again"
        ) from error


def replace_block(document: Path, name: str, body: str) -> bool:
    """Put generated Markdown between a document's markers; False if it has none for this name."""
    text = document.read_text(encoding="utf-8")
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    if begin not in text or end not in text:
        return False
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    made = pattern.sub(lambda _: f"{begin}\n\n{body}\n{end}", text, count=1)
    if made != text:
        _write_text(document, made)
    return True


def renew_findings(document: Path) -> None:
    """Gather what a document says of the paper's statements into its block ``findings``, each with a link to its section."""
    lines = document.read_text(encoding="utf-8").splitlines()
    section, found = "", []
    for line in lines:
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith(FINDING):
            anchor = re.sub(r"[^\w-]", "", section.lower().replace(" ", "-"))
            found.append(f"- {line.removeprefix(FINDING)} ([{section}](#{anchor}))")
    replace_block(document, "findings", "\n".join(found) + "\n")


def renew_front_page(page: Path, records: Records) -> None:
    """Renew the few numbers in the block ``results`` of a page, if it is there and something is recorded."""
    with readable("the front page", records):
        table = headline(records)
    if page.is_file() and table:
        replace_block(page, "results", table)


def provenance_line(records: Iterable[Record]) -> str:
    """One sentence: how many runs, of which commits, on what."""
    used = list(records)
    commits = sorted({_commit(record) for record in used})
    torch = sorted({record["versions"].get("torch", "?") for record in used})
    machines = sorted({f"{r['machine']['cpus']} CPUs ({r['machine']['processor']})" for r in used})
    days = sorted({record["time"][:10] for record in used})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{len(used)} recorded runs, {when}; commit {', '.join(commits)}; torch {', '.join(torch)}; {'; '.join(machines)}."


def _body(drawn: Drawn, title: str, used: list[Record]) -> str:
    parts = [f"**{title}**"]
    for suffix, rows in drawn.tables.items():
        parts += [f"*{suffix}*"] if suffix else []
        parts.append(to_markdown(rows).rstrip())
    parts += [f"![{title}](FIGURES/{stem}.svg)" for stem in drawn.figures]
    if drawn.notes:
        parts.append(drawn.notes)
    if used:
        parts.append(f"<small>{provenance_line(used)}</small>")
    return "\n\n".join(parts) + "\n"


def _commit(record: Record) -> str:
    commit = record["commit"]
    if commit is None:
        return f"none (ccassg {record['versions'].get('ccassg', '?')})"
    return commit["id"][:7] + ("+" if commit["modified"] else "")


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path, "w") as file:
        file.write(text)
