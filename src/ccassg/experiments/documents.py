"""From records to files: tables as Markdown and CSV, figures, and the generated blocks of a document."""

import json
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccassg.experiments.experiment import Drawn, Experiment, Plan
from ccassg.experiments.published import CITATION, COPURCHASE, TITLES
from ccassg.experiments.records import Record, Records
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.experiments.tables import FINDING, accuracy_cell
from ccassg.io.atomic import atomic_write, require_replaceable
from ccassg.report.tables import to_csv, to_markdown


@dataclass(frozen=True)
class Written:
    """The Markdown that was made, and the files."""

    markdown: str
    files: tuple[Path, ...]


def write(
    name: str, experiment: Experiment, records: Records, asked: Plan, *, document: Path | None = None
) -> Written | None:
    """Draw an experiment anew from all its records, more than was asked for; None if there is no record to draw.

    Tables go into ``tables/`` in the folder of the records, and into the block between ``<!-- begin: NAME -->`` and
    ``<!-- end: NAME -->`` of the document; figures into ``figures/`` beside the document, or else beside the tables.
    """
    plan = experiment.everything(asked)
    figures = (records.folder if document is None else document.parent) / "figures"
    used = records.of(experiment.runs(plan))
    with readable(name, records):
        found = experiment.found(records, plan)
        # A table of methods without datasets says something without any run.
        drawn = experiment.draw(found, plan, figures) if found or not experiment.datasets else None
        if drawn is None:
            return None
        body = _body(drawn, experiment.title, used)
    tables = records.folder / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    page = tables / f"{name}.md"
    texts = {page: body.replace("FIGURES", os.path.relpath(figures, tables))}  # first: it vouches for those beside it
    texts |= {
        tables / f"{name}{'-' if suffix else ''}{suffix}.csv": to_csv(rows) for suffix, rows in drawn.tables.items()
    }
    is_ours = page.is_file() and page.read_bytes().startswith(b"**")
    for path in texts:
        require_replaceable(path, lambda _: is_ours)
    for path, text in texts.items():
        _write_text(path, text)
    files = [figures / f"{stem}.{ending}" for stem in drawn.figures for ending in ("svg", "png")] + list(texts)
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
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    made, n_blocks = pattern.subn(lambda _: f"{begin}\n\n{body}\n{end}", text, count=1)
    if made != text:
        _write_text(document, made)
    return n_blocks == 1


def renew_findings(document: Path) -> None:
    """Gather what a document says of the paper's statements into its block ``findings``, each with a link to its section."""
    section, found = "", []
    for line in document.read_text(encoding="utf-8").splitlines():
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


def headline(records: Records) -> str | None:
    """Make the front page's table: presets beside the paper, and the speed of a step; None without records."""
    paper = CITATION[OURS] | COPURCHASE[OURS]
    found = {name: records.of(classification_runs(OURS, name, 20)) for name in TITLES}
    if not any(found.values()):
        return None
    times_faster: dict[str, dict[str, str]] = {}
    if (recorded := records.folder / "bench.json").is_file():  # by `ccassg bench`
        for timed in json.loads(recorded.read_text(encoding="utf-8"))["datasets"]:
            ratios = {f"step, {kind}": f"{timed[kind]['ratio']:.1f}x" for kind in ("exact", "fast")}
            times_faster[timed["dataset"]] = ratios
    rows: list[dict[str, Any]] = []
    for name, done in found.items():
        ours = accuracy_cell(done) if done else "not recorded yet"
        row = {"dataset": TITLES[name], "test accuracy, %": ours, "runs": len(done), "paper": paper[name]}
        rows.append(row | times_faster.get(name, {}))
    return to_markdown(rows)


def provenance_line(used: list[Record]) -> str:
    """Return one sentence: how many runs, of which commits, on what."""
    commits = sorted({short_commit(r["commit"], f"none (ccassg {r['versions'].get('ccassg', '?')})") for r in used})
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


def short_commit(commit: dict[str, Any] | None, none: str = "none") -> str:
    """Return a commit in seven digits, with a plus if files differed from it; another word if there was none."""
    return none if commit is None else commit["id"][:7] + ("+" if commit["modified"] else "")


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path, "w") as file:
        file.write(text)
