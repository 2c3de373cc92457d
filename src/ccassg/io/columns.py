"""Which column of a table is what: named by the user, or guessed by its name, alike in every reader."""

from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches

import numpy as np
import pyarrow as pa

from ccassg.graph import Array
from ccassg.io.tables import Column, Table, is_string, listed, plain, shown

SOURCE_TARGET = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("source_id", "target_id"),
    ("sourceid", "targetid"),
    ("src_id", "dst_id"),
    ("from_id", "to_id"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("i", "j"),
    ("row", "col"),
    ("head", "tail"),
    ("start", "end"),
    ("citing", "cited"),
)
WEIGHT = ("weight", "weights", "w", "edge_weight")
ID = ("id", "node", "node_id", "nodeid", "ids", "index", "name")
LABEL = ("label", "labels", "class", "y")
FEATURE = ("feature_id", "featureid", "feat_id", "feature", "attribute_id", "word_id")
VALUE = ("value", "values", "count", "tf", "tfidf", *WEIGHT)
EDGE_NAMES = frozenset(name for pair in SOURCE_TARGET for name in pair) | frozenset(WEIGHT)
NODE_NAMES = frozenset(ID) | frozenset(LABEL) | frozenset(FEATURE)


def find_column(table: Table, name: str | int, role: str, option: str) -> str:
    """Return the column that the user named, by name or, in a file without header, by number from 1; ValueError if it is not there."""
    for candidate in (name, f"column {name}"):
        if candidate in table.names:
            return str(candidate)
    near = get_close_matches(str(name), table.names, 1)
    way_out = f"did you mean {near[0]!r}?" if near else f"it has {listed(table.names)} (`{option}` names the column)"
    raise ValueError(f"{table}: there is no column {name!r} for the {role}; {way_out}")


def guess_column(table: Table, known: Sequence[str], but: Sequence[str | None] = ()) -> str | None:
    """Return the column with one of the known (lower-case) names, the earliest of these first; None if there is none."""
    lower = {column.lower(): column for column in reversed(table.names)}
    return next((lower[candidate] for candidate in known if candidate in lower and candidate not in but), None)


def id_column(table: Table, name: str | int | None = None) -> str | None:
    """Return the column of ids, by the user's word or by its name; None if neither tells."""
    return guess_column(table, ID) if name is None else find_column(table, name, "ids", "id_column")


def label_column(table: Table, name: str | int | None, ids: str | None) -> str | None:
    """Return the column of labels, by the user's word or by its name; None if neither tells."""
    if name is None:
        return guess_column(table, LABEL, but=(ids,))
    return find_column(table, name, "labels", "label_column")


def listed_features(table: Table) -> tuple[str, str, str | None] | None:
    """Return the columns of node, feature and value in a table that has a row for each feature of a node; None for any other."""
    feature = guess_column(table, FEATURE)
    value = guess_column(table, VALUE, but=(feature,))
    rest = [name for name in table.names if name not in (feature, value)]
    # A column of the name "feature" alone may as well be a number of each node.
    if feature is None or len(rest) != 1 or (feature.lower() == "feature" and value is None):
        return None
    return rest[0], feature, value


def edge_columns(table: Table, source: str | int | None, target: str | int | None) -> tuple[str, str]:
    """Return the columns of an edge's two ends: named, guessed by name, or the first two."""
    if (source is None) != (target is None):
        given, lacking = ("source", "target") if target is None else ("target", "source")
        raise ValueError(f"{table}: {given} was given without {lacking}; name both columns or none")
    if source is not None and target is not None:
        first = find_column(table, source, "sources of the edges", "source")
        second = find_column(table, target, "targets of the edges", "target")
        if first == second:
            raise ValueError(f"{table}: source and target are the same column {first!r}; name two")
        return first, second
    if (known := named_ends(table)) is not None:
        return known
    if len(table.names) < 2:
        raise ValueError(
            f"{table}: an edge table needs two columns, this has one ({table.names[0][:80]!r}); check the delimiter: "
            f".csv is read with commas, .tsv with tabs, .txt with blanks"
        )
    first, second = table.names[:2]
    if not first.startswith("column "):
        table.notes.append(f"{table}: took its first two columns, {first!r} and {second!r}, as the ends of the edges")
    return first, second


def named_ends(table: Table) -> tuple[str, str] | None:
    """Return the columns of an edge's two ends by their names; None if these do not tell."""
    lower = {column.lower(): column for column in reversed(table.names)}
    return next(((lower[a], lower[b]) for a, b in SOURCE_TARGET if a in lower and b in lower), None)


def weight_column(table: Table, name: str | int | None, ends: Sequence[str]) -> str | None:
    """Return the column of weights, by the user's word or by its name; None if edges have no weights."""
    if name is not None:
        found = find_column(table, name, "weights", "weight")
        if found in ends:
            raise ValueError(f"{table}: column {found!r} is an end of the edges and cannot be their weight as well")
        return found
    guess = guess_column(table, WEIGHT, but=ends)
    if guess is None and len(table.names) > 2 and table.names[2] == "column 3":
        table.notes.append(f"{table}: its third column is not used; pass `weight=3` if it holds the weights")
    return guess


def numbers(column: Column, role: str) -> Array:
    """Return a column as floats of 64 bits, every value present and finite; ValueError with the place otherwise."""
    values = plain(column.values)
    kind = values.type
    if is_string(kind):
        raise not_a_number(column, role)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)) and not (
        pa.types.is_decimal(kind) or pa.types.is_null(kind)
    ):
        raise ValueError(f"{column}: {role} must be numbers, the column holds {kind}; leave it out")
    if values.null_count:
        column.refuse_where(values.is_null(), "no value where a number must be (empty or NaN); fill or drop such rows")
    floats = values.cast(pa.float64(), safe=False).to_numpy()
    column.refuse_where(
        ~np.isfinite(floats), lambda row: f"{floats[row]} is not a finite number; fill or drop such rows"
    )
    return floats


def not_a_number(column: Column, role: str) -> ValueError:
    """Return the error for text among numbers, at its first place."""
    for row, value in enumerate(cell.as_py() for cell in column.values):
        try:
            float(value)
        except (TypeError, ValueError):
            return ValueError(
                f"{column}, {column.table.place(row)}: {shown(value)} where {role} must be a number; mend the value or leave the "
                f"column out"
            )
    return ValueError(f"{column}: {role} are written as text; store them as numbers")


def distinct_values(
    column: pa.ChunkedArray, missing: Collection[str], order: Callable[[set[str]], list[str]] = sorted
) -> tuple[list[str], Array]:
    """Return the different values of a column, without blanks around them, and for each row its position among them.

    The position is -1 where a cell is null or holds one of the values that mean nothing.
    """
    encoded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    values = [value.strip() for value in encoded.dictionary.to_pylist()]
    distinct = order({value for value in values if value not in missing})
    rank = {value: i for i, value in enumerate(distinct)}
    lookup = np.array([rank.get(value, -1) for value in values] + [-1], np.int64)
    return distinct, lookup[encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)]


def check_weights(column: Column, weights: Array) -> None:
    """Refuse negative weights and those beyond 32 bits, with their place."""
    column.refuse_where(
        (weights < 0) | (weights > np.finfo(np.float32).max),
        lambda row: (
            f"{weights[row]:g} cannot be a weight; weights are from 0 to 3e38, so shift, rescale or drop such edges"
        ),
    )
