"""Renew the tables of docs/large-graphs.md from results/cluster.json: `python -m tests.cluster.page`."""

from __future__ import annotations

import json
from pathlib import Path

PROJECT = Path(__file__).parents[2]
RESULTS, DOCUMENT = PROJECT / "results" / "cluster.json", PROJECT / "docs" / "large-graphs.md"
BEGIN, END = "<!-- begin cluster -->", "<!-- end cluster -->"
CHECKS = ("same", "wires", "delays", "faults", "reads", "embed", "default")


def tables(record: dict) -> str:
    """The figures as Markdown; checks without a recorded run say so."""
    if not record:
        return "No figures are recorded yet."
    figures = {name: record[name]["figures"] for name in CHECKS if name in record}
    parts = [DRAW[name](figures[name]) if name in figures else f"`{name}`: not recorded yet." for name in CHECKS]
    commits = sorted({str((each["made"]["commit"] or {}).get("id", ""))[:7] for each in record.values()})
    busy = [name for name in CHECKS if name in record and record[name]["made"]["busy"]]
    shared = f" Recorded while the machine was shared with other work: {', '.join(busy)}." if busy else ""
    return "\n\n".join([*parts, f"<small>Commit {', '.join(commits) or 'none'}.{shared}</small>"])


def renew(document: str, record: dict) -> str:
    """The document with its tables made anew."""
    head, _, rest = document.partition(BEGIN)
    if not rest.count(END):
        raise ValueError(f"the document lacks {BEGIN} or {END}")
    return f"{head}{BEGIN}\n\n{tables(record)}\n\n{END}{rest.partition(END)[2]}"


def renew_document() -> None:
    """Read the record, write the document."""
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    DOCUMENT.write_text(renew(DOCUMENT.read_text(), record))


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def _same(figures: dict) -> str:
    rows = [[name, f"{each['loss']:.1e}", f"{each['embedding']:.1e}"] for name, each in figures.items()]
    return _table(
        ["four machines against one process", "loss, largest difference", "embedding, norm of the difference"], rows
    )


def _wires(figures: dict) -> str:
    rows = [
        [str(i), f"{row['measured'] / 1e6:.2f}", f"{row['formula'] / 1e6:.2f}"] for i, row in enumerate(figures["rows"])
    ]
    return _table(["rank", "sent on its wire per step, MB", "by the formula below, MB"], rows)


def _delays(figures: dict) -> str:
    rows = [[kind, f"{v['round_trip_ms']:.2f}", f"{v['seconds_per_step']:.2f}"] for kind, v in figures.items()]
    return _table(["each wire", "round trip measured, ms", "seconds per step"], rows)


def _faults(figures: dict) -> str:
    rows = []
    for name, each in figures.items():
        ended = "no" if each["seconds"] is None else f"{each['seconds']:.0f} s"
        named = f"{sum(each['named'].values())} of {len(each['named'])}"
        rows.append([name, ended, named, "yes" if each["resumed"] else "no"])
    return _table(["machine", "the others ended after", "that name it", "resumed on three"], rows)


def _reads(figures: dict) -> str:
    rows = [
        [str(i), *(f"{row[key] / 1e6:.0f}" for key in ("own", "fit", "embedding"))]
        for i, row in enumerate(figures["rows"])
    ]
    size = f"{figures['store'] / 1e6:.0f}"
    return _table(["rank", f"its part of a store of {size} MB, MB", "read to fit, MB", "read to embed, MB"], rows)


def _embed(figures: dict) -> str:
    rows = [
        [
            name,
            str(i),
            f"{row['own']:,}",
            f"{row['processor_seconds']:.1f}",
            f"{row['measured'] / 1e6:.2f}",
            f"{row['formula'] / 1e6:.2f}",
            f"{each['difference']:.1e}",
        ]
        for name, each in figures.items()
        for i, row in enumerate(each["rows"])
    ]
    head = ["embedding of a store of pubmed", "rank", "rows it makes", "processor seconds", "sent on its wire, MB"]
    return _table([*head, "by the formula, MB", "norm of the difference to one process"], rows)


def _default(figures: dict) -> str:
    return f"The default on four machines: largest difference of the embedding to that of one: {figures['difference']:.1e}."


DRAW = {
    "same": _same, "wires": _wires, "delays": _delays, "faults": _faults, "reads": _reads, "embed": _embed, "default": _default,
}  # fmt: skip

if __name__ == "__main__":
    renew_document()
