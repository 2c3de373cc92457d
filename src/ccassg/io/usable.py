"""What a column of a node table is to a model, by its values; and which ones are left out: ids, dates, addresses, constants."""

import re
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array
from ccassg.io.columns import distinct_values
from ccassg.io.parquet import is_list
from ccassg.io.tables import Column, FrameTable, is_string, plain, shown

Kind = Literal["number", "date", "list", "category", "text"]

MAX_CATEGORIES = 256
MAX_CATEGORY_LENGTH = 60
# Fewer rows do not tell whether values are all alike, or all different, by chance: a few new nodes may well be.
TELLING_ROWS = 20
ID_NAME = re.compile(r"(^|.*[\W_])(id|ids|idx|uuid|guid|code|key)$|^index$", re.IGNORECASE)
ID_ENDING = re.compile(r".*[a-z](Id|ID)$")

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
AMOUNT = r"^[+-]?[$€£]?\s*(\d{1,3}(,\d{3})+|\d+)(\.\d+)?\s*[%$€£]?$"
UNKNOWN = ("?", "-", "--")
DATE = r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ]\d{1,2}:\d{2}.*)?$"
ADDRESS = r"^(https?://|www\.)\S+$|^\S+@\S+\.\w+$"
# Two words or more, as separated in sentences and in lists of tags.
WORDS = r"\p{L}{2}.*[\s|;,]+.*\p{L}{2}"


class Judged(NamedTuple):
    """What a column is, and why it is left out, if it is."""

    kind: Kind
    why_not: str | None = None


def judge(column: Column) -> Judged:
    """Return what a column is; ValueError for one that is neither numbers nor text, with the place where it is not."""
    values = plain(column.values)
    if is_list(values.type):
        return Judged("list")
    if pa.types.is_temporal(values.type):
        is_date = pa.types.is_date(values.type) or pa.types.is_timestamp(values.type)
        return Judged("date", "dates" if is_date else "times")
    if values.null_count == len(values):
        return Judged("number", "no value")
    if is_string(values.type):
        return _judge_text(column)
    return Judged("number", _why_no_number(column.name, values))


def amounts(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return numbers that are written as prices, percentages or with commas, ``?`` as missing; None if these are not such."""
    text = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
    known = pc.if_else(pc.is_in(text, pa.array([*UNKNOWN, ""], pa.large_string())), None, text)
    if known.null_count == len(known) or not pc.all(pc.match_substring_regex(known, f"{NUMBER}|{AMOUNT}")).as_py():
        return None
    return pc.replace_substring_regex(known, r"[$€£%,\s]", "").cast(pa.float64())


def _why_no_number(name: str, column: pa.ChunkedArray) -> str | None:
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)):
        return None
    n = len(column) - column.null_count
    low, high = pc.min_max(column).as_py().values()
    if low == high and n == len(column) >= TELLING_ROWS:
        return f"always {shown(low)}"
    whole = pa.types.is_integer(column.type)
    named = ID_NAME.match(name) or ID_ENDING.match(name)
    # So many numbers out of so few would meet again, unless they are given to the rows.
    telling = whole and n >= TELLING_ROWS and (high - low + 1) * TELLING_ROWS <= n * n
    if not (telling or (named and (whole or _are_whole(column)))):
        return None
    n_different = pc.count_distinct(column).as_py()
    if n_different == n:
        return "another whole number in every row"
    return "codes" if named and n_different > MAX_CATEGORIES else None


def _are_whole(column: pa.ChunkedArray) -> bool:
    return pa.types.is_floating(column.type) and bool(pc.all(pc.equal(pc.round(column), column)).as_py())


def _judge_text(column: Column) -> Judged:
    values, codes = distinct_values(plain(column.values), ("",))
    texts, n = pa.array(values, pa.large_string()), int((codes >= 0).sum())
    if not values:
        return Judged("category", "no value")
    if len(values) == 1 and n == len(codes) >= TELLING_ROWS:
        return Judged("category", f"always {shown(values[0])}")
    if _share(texts, DATE) == 1:
        return Judged("date", "dates")
    if pa.types.is_dictionary(column.values.type) and isinstance(column.table, FrameTable):
        return Judged("category")
    if _share(texts, NUMBER) < 1 and amounts(pa.chunked_array([texts])) is not None:
        return Judged("number")
    _refuse_mixture(column, values, codes)
    few = len(values) <= TELLING_ROWS or len(values) <= len(codes) / 2
    if len(values) <= MAX_CATEGORIES and few and max(map(len, values)) <= MAX_CATEGORY_LENGTH:
        return Judged("category")
    if _share(texts, ADDRESS) > 0.9:
        return Judged("text", "addresses")
    if _share(texts, WORDS) < 0.1 and len(values) > n / 2:
        return Judged("text", f"names or codes such as {shown(values[0])}")
    return Judged("text")


def _share(texts: pa.Array, pattern: str) -> float:
    return float(pc.mean(pc.match_substring_regex(texts, pattern)).as_py())


def _refuse_mixture(column: Column, values: list[str], codes: Array) -> None:
    """Refuse numbers with a few words among them: a damaged column, not categories."""
    is_number = pc.match_substring_regex(pa.array(values, pa.large_string()), NUMBER).to_numpy(zero_copy_only=False)
    filled = codes[codes >= 0]
    if is_number.all() or is_number[filled].mean() < 0.5:
        return
    column.refuse_where(
        (codes >= 0) & ~is_number[codes],
        lambda row: (
            f"{shown(values[codes[row]])} among numbers; mend the value or leave the column out (`feature_columns` lists "
            f"the columns to use)"
        ),
    )
