"""From records to files: tables as Markdown and CSV, figures, and the generated blocks of a document."""

import itertools
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccassg.experiments.experiment import Drawn, Experiment, Plan
from ccassg.experiments.published import CITATION, COPURCHASE, TITLES
from ccassg.experiments.records import Record, Records
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.experiments.tables import accuracy_cell
from ccassg.io.atomic import atomic_write, require_replaceable
from ccassg.report.tables import to_csv, to_markdown

# The columns of a table of findings; `renew_findings` knows it by them.
_CLAIM, _FOUND = "the paper's claim", "found here"


@dataclass(frozen=True)
class Written:
    """The Markdown that was made, and the files."""

    markdown: str
    files: tuple[Path, ...]


def write(
    name: str, experiment: Experiment, records: Records, asked: Plan, *, document: Path | None = None
) -> Written | None:
    """Draw an experiment anew from all its records, more than was asked for; None, and so in words, if there is none to draw.

    Tables go into ``tables/`` in the folder of the records, and into the block between ``<!-- begin: NAME -->`` and
    ``<!-- end: NAME -->`` of the document or a page in the folder of its name; into a block ``NAME table`` goes the first
    table alone. Figures go into ``figures/`` beside the document, or else beside the tables.
    """
    plan = experiment.everything(asked)
    figures = (records.folder if document is None else document.parent) / "figures"
    used = records.of(experiment.runs(plan))
    pages = () if document is None else (document, *document.with_suffix("").glob("*.md"))
    with readable(name, records):
        found = experiment.found(records, plan)
        # A table of methods without datasets says something without any run.
        drawn = experiment.draw(found, plan, figures) if found or not experiment.datasets else None
        if drawn is None:
            for path in pages:  # what was drawn from earlier records is no longer true
                replace_block(path, name, "Not recorded.\n")
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
    for path in pages:
        with_figures = body.replace("FIGURES", os.path.relpath(figures, path.parent))
        is_page = replace_block(path, name, with_figures)
        is_overview = replace_block(path, f"{name} table", to_markdown(next(iter(drawn.tables.values()), [])))
        files += [path] if is_page or is_overview else []
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


def renew_findings(document: Path, names: Iterable[str]) -> None:
    """Gather the findings on the experiments' pages into the block ``findings`` of a document, each with a link to its page."""
    pages = [path for name in names if (path := document.with_suffix("") / f"{name}.md").is_file()]
    gathered = [f"| {_CLAIM} | {_FOUND} | page |", "| --- | --- | --- |"]
    for page in pages:
        title, *lines = page.read_text(encoding="utf-8").splitlines()
        link = f"[{title.removeprefix('# ')}]({page.relative_to(document.parent).as_posix()})"
        rows = itertools.dropwhile(lambda line: not re.match(rf"\| {_CLAIM} +\| {_FOUND} +\|$", line), lines)
        gathered += [f"{row} {link} |" for row in itertools.takewhile(bool, itertools.islice(rows, 2, None))]
    replace_block(document, "findings", "\n".join(gathered) + "\n")


def renew_front_page(page: Path, records: Records) -> None:
    """Renew the few numbers in the block ``results`` of a page, if it is there and something is recorded."""
    with readable("the front page", records):
        table = headline(records)
    if page.is_file() and table:
        replace_block(page, "results", table)


def headline(records: Records) -> str | None:
    """Make the front page's table: presets beside the paper, the default, and the speed of a step; None without records."""
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
        solved = records.of(classification_runs("default", name, 20))
        ours, default = (accuracy_cell(some) if some else "not recorded yet" for some in (done, solved))
        row = {"dataset": TITLES[name], "paper": paper[name], "preset": ours, "default": default}
        rows.append(row | times_faster.get(name, {}))
    return to_markdown(rows)


def provenance_line(used: list[Record]) -> str:
    """Return one line: how many runs, when, of how many commits, on what; the records name each."""
    commits = sorted({short_commit(commit) for record in used if (commit := record["commit"]) is not None})
    n_changed = sum(commit.endswith("+") for commit in commits)
    torch = sorted({record["versions"].get("torch", "?") for record in used})
    processors = sorted({record["machine"]["processor"] for record in used})
    days = sorted(record["time"][:10] for record in used)
    first, last = days[0], days[-1]
    when = first if first == last else f"{first} to {last[8:] if first[:8] == last[:8] else last}"
    which = f"commit {commits[0]}" if len(commits) == 1 else f"{len(commits) or 'no'} commits"
    changed = f" ({n_changed} with files changed)" if n_changed and len(commits) > 1 else ""
    runs = "1 run" if len(used) == 1 else f"{len(used)} runs"
    return f"{runs}, {when}, {which}{changed}; torch {', '.join(torch)}; {', '.join(processors)}"


def _body(drawn: Drawn, title: str, used: list[Record]) -> str:
    parts = [f"**{title}**"]
    if drawn.findings:
        parts.append(to_markdown([{_CLAIM: claim, _FOUND: found} for claim, found in drawn.findings]).rstrip())
    for suffix, rows in drawn.tables.items():
        table = to_markdown(rows).rstrip()
        if suffix in drawn.folded:
            table = f"<details markdown>\n<summary>{suffix or 'the table'}</summary>\n\n{table}\n\n</details>"
        elif suffix:
            table = f"*{suffix}*\n\n{table}"
        parts.append(table)
    parts += [f"![{title}](FIGURES/{stem}.svg)" for stem in drawn.figures]
    if drawn.notes:
        parts.append(drawn.notes)
    if used:
        parts.append(f"<small>{provenance_line(used)}</small>")
    return "\n\n".join(parts) + "\n"


def short_commit(commit: dict[str, Any] | None) -> str:
    """Return a commit in seven digits, with a plus if files differed from it; "none" if there was none."""
    return "none" if commit is None else commit["id"][:7] + ("+" if commit["modified"] else "")


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path, "w") as file:
        file.write(text)
