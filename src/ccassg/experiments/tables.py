"""What the tables share: accuracies of records, rows with a dataset per column, how many runs, and what the paper stated."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ccassg.experiments.experiment import Found
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Record
from ccassg.report.tables import mean_std

# How a sentence on a statement of the paper begins; `documents` gathers them.
FINDING = "**Finding.** "


def accuracies(records: Iterable[Record], split: int = 0) -> list[float]:
    """Test accuracies in percent, one per record."""
    return [100 * record["result"]["test_accuracy"][split] for record in records]


def accuracy_cell(done: list[Record], *, digits: int = 1) -> str:
    """Mean and standard deviation of the test accuracy."""
    return mean_std(accuracies(done), digits=digits)


def rows_by_dataset(
    found: Found,
    key: str,
    names: Mapping[Any, str],
    datasets: Iterable[str],
    cell: Callable[[list[Record]], str] = accuracy_cell,
) -> list[dict[str, Any]]:
    """A row per name, a column per dataset, from the cells (name, dataset); names without any cell are left out.

    Parameters
    ----------
    key : str
        Title of the column of names.
    names : dict
        From the name in the cells to the one in the table.
    cell : function of a list of records
        What a cell shows.
    """
    columns = {dataset: TITLES[dataset] for dataset in datasets}
    return [
        {key: shown}
        | {
            title: cell(found[name, dataset]) if (name, dataset) in found else None
            for dataset, title in columns.items()
        }
        for name, shown in names.items()
        if any((name, dataset) in found for dataset in columns)
    ]


def in_titles(published: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Published values under the names that the tables show."""
    return {
        names[name]: {TITLES[dataset]: value for dataset, value in values.items()} for name, values in published.items()
    }


def count_note(counts: Iterable[int], what: str = "Mean and standard deviation") -> str:
    """How many runs an entry stands for, and what of them it shows."""
    some = [int(count) for count in counts if count]
    if min(some) == max(some):
        return "One run per entry." if some[0] == 1 else f"{what} over {some[0]} runs."
    return f"{what} over {min(some)} to {max(some)} runs."


def verdict(statement: str, holds: Mapping[str, bool | str]) -> str:
    """A sentence on a statement of the paper: on which datasets it is confirmed, on which contradicted, or another word.

    Empty if there is no dataset to judge it on.
    """
    words: dict[str, list[str]] = {}
    for dataset, held in holds.items():
        word = held if isinstance(held, str) else "confirmed" if held else "contradicted"
        words.setdefault(word, []).append(TITLES[dataset])
    parts = [f"{word} on {_enumerate(names)}" for word, names in words.items()]
    return f"{FINDING}{statement}: {', '.join(parts)}." if parts else ""


def paragraphs(*parts: str) -> str:
    """The parts that are not empty, one below the other."""
    return "\n\n".join(part for part in parts if part)


def _enumerate(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
