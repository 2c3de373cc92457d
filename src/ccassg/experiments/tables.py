"""What the tables share: accuracies of records, rows with a dataset per column, what the paper stated."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ccassg.experiments.experiment import Finding, Found
from ccassg.experiments.published import TITLES, Table
from ccassg.experiments.records import Record
from ccassg.report.tables import mean_std


def accuracies(records: Iterable[Record], split: int = 0) -> list[float]:
    """Return the test accuracies in percent, one per record."""
    return [100 * record["result"]["test_accuracy"][split] for record in records]


def accuracy_cell(done: list[Record], *, digits: int = 1) -> str:
    """Return the mean and standard deviation of the test accuracy."""
    return mean_std(accuracies(done), digits=digits)


def rows_by_dataset(
    found: Found,
    key: str,
    names: Mapping[Any, str],
    datasets: Sequence[str],
    cell: Callable[[list[Record]], str] = accuracy_cell,
) -> list[dict[str, Any]]:
    """Return a row per name, a column per dataset, from the cells (name, dataset); names without any cell are left out.

    ``key`` is the title of the column of names, which ``names`` translates; ``cell`` says what is shown of a cell's records.
    """
    rows: list[dict[str, Any]] = []
    for name, shown in names.items():
        done = {TITLES[dataset]: found.get((name, dataset)) for dataset in datasets}
        if any(done.values()):
            rows.append({key: shown, **{title: cell(records) if records else None for title, records in done.items()}})
    return rows


def in_titles(published: Table, names: Mapping[str, str]) -> Table:
    """Published values under the names that the tables show."""
    return {names[name]: {TITLES[d]: value for d, value in values.items()} for name, values in published.items()}


def count_note(counts: Iterable[int], what: str = "Mean and standard deviation") -> str:
    """Return how many runs an entry stands for, and what of them it shows."""
    some = [int(count) for count in counts if count]
    if min(some) == max(some):
        return "One run per entry." if some[0] == 1 else f"{what} over {some[0]} runs."
    return f"{what} over {min(some)} to {max(some)} runs."


def verdict(claim: str, holds: Mapping[str, bool | str]) -> list[Finding]:
    """Say on which datasets a statement of the paper is confirmed or contradicted; empty without any to judge it on."""
    words: dict[str, list[str]] = {}
    for dataset, held in holds.items():
        word = held if isinstance(held, str) else "confirmed" if held else "contradicted"
        words.setdefault(word, []).append(TITLES[dataset])
    parts = [f"{word} on {_enumerate(names)}" for word, names in words.items()]
    return [Finding(claim, ", ".join(parts))] if parts else []


def _enumerate(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
