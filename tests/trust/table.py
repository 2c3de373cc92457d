"""Renew the table of docs/trust.md from results/trust.json: `python tests/trust/table.py`."""

from __future__ import annotations

import json
from pathlib import Path

PROJECT = Path(__file__).parents[2]
BEGIN, END = "<!-- begin trust -->", "<!-- end trust -->"
TITLES = {
    "killed fits": "`ccassg fit` killed (SIGKILL) and resumed",
    "killed runners": "the experiments' runner killed while it writes records",
    "killed reproductions": "`ccassg reproduce` killed with its workers",
    "killed writes": "stores, runs, models and embeddings killed at each change of a name while they are replaced",
    "forged runs": "forged run folders: wrong hashes, missing files, wrong types, links",
    "full disk": "disk full while a run is saved",
    "full outputs": "disk full while an output of each kind is written",
    "read-only place": "place that cannot be written",
    "person": "commands of a person without privileges, HOME or TMPDIR",
    "Ctrl-C": "Ctrl-C during `ccassg fit`",
    "pickles": "pickles with a payload, in every format",
    "damaged tables": "edge, feature and embedding files damaged at random",
    "forged files": "stores, models, runs, records, labels, checkpoints forged so that their hashes fit",
    "bombs": "files of all formats, and runs, that ask for more memory than they are worth",
    "pipes": "pipes, sockets and devices in place of a file",
    "property tests": "tables, configs, records and runs made by hypothesis",
    "coverage-guided": "files of all kinds made by atheris, guided by coverage",
    "hostile page": "tests of the page, script in names among them",
    "soak": "fits of varied graphs in one process",
    "shared cache": "processes that fetch into one cache",
    "threads": "1 thread against 2",
}
FUZZED = ("damaged tables", "forged files", "property tests", "coverage-guided")


def table(record: dict) -> str:
    """The figures as Markdown, a line per harness; harnesses without a recorded run say so."""
    lines = ["| harness | recorded | commit |", "|---|---|---|"]
    for name, title in TITLES.items():
        numbers = dict(record["figures"].get(name, {}))
        commit = numbers.pop("made", {}).get("commit") or {}
        text = ", ".join(f"{key.replace('_', ' ')}: {_shown(value)}" for key, value in numbers.items())
        lines.append(f"| {title} | {text or 'no full run recorded yet'} | {str(commit.get('id', ''))[:10]} |")
    n_files = sum(record["figures"].get(name, {}).get("files", 0) for name in FUZZED)
    lines.append(f"| **files tried in all** | {n_files:,} | |")
    return "\n".join(lines)


def renew(document: str, record: dict) -> str:
    """The document with its table made anew."""
    head, _, rest = document.partition(BEGIN)
    _, _, tail = rest.partition(END)
    if not rest or not document.count(END):
        raise ValueError(f"the document lacks {BEGIN} or {END}")
    return f"{head}{BEGIN}\n{table(record)}\n{END}{tail}"


def main() -> None:
    """Read the record, write the document."""
    results, document = PROJECT / "results" / "trust.json", PROJECT / "docs" / "trust.md"
    record = json.loads(results.read_text()) if results.exists() else {"figures": {}}
    document.write_text(renew(document.read_text(), record))


def _shown(value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
