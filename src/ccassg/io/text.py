"""Text tables: CSV, TSV, whitespace. Layout guessed from the first lines, parsed by pyarrow, errors with their line."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as pacsv

from ccassg.io.files import PathLike, check_file, is_gzip, one_sentence, open_bytes, read_head, require_kind, suffix_of

HEAD_BYTES = 1 << 22
BLOCK_BYTES = 1 << 24
PIECE_BYTES = 1 << 25
MAX_COLUMNS = 20_000
# One row of a wide feature table must fit a block of the parser.
MAX_LINE = BLOCK_BYTES // 2


@dataclass(frozen=True)
class Layout:
    """How a text table is laid out.

    Attributes
    ----------
    delimiter : str
        One character; a blank stands for any run of blanks and tabs.
    names : tuple of str
        From the header, or ``column 1``, ``column 2``, ...
    has_header : bool
        Whether the first line that is not a comment holds the names.
    n_skipped : int
        Comment and blank lines before it.
    quoted : bool
        Whether double quotes enclose cells; in whitespace text only if the first line has some.
    """

    delimiter: str
    names: tuple[str, ...]
    has_header: bool
    n_skipped: int
    quoted: bool


class TextTable:
    """A text table on disk, its layout known and its rows not yet read."""

    is_text = True

    def __init__(self, path: PathLike, header: bool | None, encoding: str, known_names: Collection[str] = ()) -> None:
        self.path = check_file(path)
        require_kind(self.path, "text")
        self.encoding = _check_encoding(encoding)
        with one_sentence(self.path):
            self.layout = _guess_layout(self.path, header, self.encoding, known_names)
        self.notes: list[str] = []
        self.unsure_header = (
            header is None and self.layout.has_header and not _looks_named(self.layout.names, known_names)
        )
        if self.unsure_header:
            first = self.layout.delimiter.join(self.layout.names[:4])
            self.notes.append(f"{self.path}: took its first line ({first[:80]!r}) as column names")

    def __str__(self) -> str:
        return str(self.path)

    @property
    def names(self) -> tuple[str, ...]:
        """The column names."""
        return self.layout.names

    def read(self, columns: Sequence[str], as_text: Collection[str] = ()) -> pa.Table:
        """Read the columns, those ``as_text`` as strings and the others as what they look like."""
        layout = self.layout
        read = pacsv.ReadOptions(
            column_names=list(layout.names),
            skip_rows=0 if layout.delimiter == " " else layout.n_skipped + layout.has_header,
            block_size=BLOCK_BYTES,
        )
        parse = pacsv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char='"' if layout.quoted else False,
            newlines_in_values=layout.delimiter != " ",
        )
        convert = pacsv.ConvertOptions(
            include_columns=list(columns), column_types=dict.fromkeys(as_text, pa.string()), strings_can_be_null=False
        )
        try:
            pieces = [pacsv.read_csv(piece, read, parse, convert) for piece in self._pieces()]
            table = pa.concat_tables(pieces, promote_options="permissive") if pieces else None
        except (pa.ArrowException, UnicodeError, OSError) as error:
            raise self._explain(error) from None
        if table is None or table.num_rows == 0:
            raise ValueError(f"{self.path} has column names but no rows; check how it was written")
        for name in table.column_names:
            if pa.types.is_binary(table.schema.field(name).type):
                raise self._explain(UnicodeError("invalid UTF8 data"))
        return table

    def _pieces(self) -> Iterator[Any]:
        """What the parser reads, one after the other.

        Never a Python stream: the parser reads ahead in threads, which wait for ever if such a stream fails or closes
        early. A plain file is opened by the parser, a gzipped one held in memory, whitespace text squeezed in pieces.
        """
        if self.layout.delimiter == " ":
            with self._open() as file:
                yield from (pa.BufferReader(piece) for piece in _squeezed(self.path, file, self.layout))
        elif is_gzip(self.path) or self.encoding != "utf-8":
            with self._open() as file:
                yield pa.BufferReader(file.read())
        else:
            yield str(self.path)

    def _open(self) -> IO[bytes]:
        """The content as UTF-8."""
        return _open_utf8(self.path, self.encoding)

    def place(self, row: int) -> str:
        """Where data row ``row`` (from 0) stands in the file: found by reading again, since blank lines do not count."""
        for i, (line, _) in enumerate(self._rows()):
            if i == row:
                return f"line {line}"
        return f"data row {row + 1}"

    def _explain(self, error: Exception) -> ValueError:
        """The sentence for a parser's error: what is wrong at which line."""
        bad_line = self._undecodable_line()
        if bad_line:
            return _wrong_encoding(self.path, bad_line, self.encoding)
        width = len(self.names)
        for line, row in self._rows():
            if len(row) != width:
                return ValueError(
                    f"{self.path}, line {line}: {len(row)} columns where the first line has {width}; make all rows equally "
                    f"long (quote cells that contain {self.layout.delimiter!r})"
                )
        text = (str(error).splitlines() or [type(error).__name__])[0]
        if "Empty CSV" in text:
            return ValueError(f"{self.path} has no rows of data; check how it was written")
        return ValueError(f"{self.path} cannot be read as a table: {text[:300]}")

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """All data rows with their line numbers, slowly; only errors pay for it."""
        layout = self.layout
        with self._open() as file:
            lines: Iterable[str] = io.TextIOWrapper(file, "utf-8", errors="replace", newline="")
            if layout.delimiter == " ":
                rows = ((i, _squeeze_line(line, layout.quoted)) for i, line in enumerate(lines, 1))
                kept = ((i, row) for i, row in rows if row)
                yield from _without_header(kept, layout.has_header)
                return
            reader = csv.reader(lines, delimiter=layout.delimiter)
            try:
                numbered = ((reader.line_num, row) for row in reader)
                kept = ((line, row) for line, row in numbered if row and line > layout.n_skipped)
                yield from _without_header(kept, layout.has_header)
            except csv.Error:  # a cell beyond the module's limit, a NUL: the line stays unknown
                return

    def _undecodable_line(self) -> int | None:
        with self._open() as file:
            for i, line in enumerate(file, 1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return i
        return None


def _open_utf8(path: Path, encoding: str) -> IO[bytes]:
    """The content as UTF-8; another encoding is turned into it in memory."""
    file = open_bytes(path)
    if encoding == "utf-8":
        return file
    with file:
        data = file.read()
    try:
        return io.BytesIO(data.decode(encoding).encode())
    except UnicodeError as error:
        raise ValueError(f"{path} is not {encoding} text: {error}; pass another encoding") from None


def _squeezed(path: Path, file: IO[bytes], layout: Layout) -> Iterator[bytes]:
    """Whitespace text as the parser wants it: comments and header gone, runs of blanks one blank."""
    n_skip = layout.n_skipped + layout.has_header
    rest = b""
    while chunk := file.read(PIECE_BYTES):
        chunk = rest + chunk
        end = chunk.rfind(b"\n") + 1
        chunk, rest = chunk[:end], chunk[end:]
        if len(rest) > MAX_LINE:
            raise ValueError(f"{path} has a line of more than {MAX_LINE:,} bytes; is it text?")
        while n_skip and chunk:
            chunk = chunk.partition(b"\n")[2]
            n_skip -= 1
        if squeezed := squeeze(chunk):
            yield squeezed
    if not n_skip and (squeezed := squeeze(rest)):
        yield squeezed


def squeeze(block: bytes) -> bytes:
    """Lines without comments, each with single blanks between its cells and none around them."""
    block = re.sub(rb"(?m)^[ \t]*[#%][^\n]*\n?", b"", block)
    block = re.sub(rb"[ \t\r\f\v]+", b" ", block)
    return re.sub(rb"(?m)^ | $", b"", block).strip(b"\n")


def _guess_layout(path: Path, header: bool | None, encoding: str, known_names: Collection[str]) -> Layout:
    with _open_utf8(path, encoding) as file:
        head = file.read(HEAD_BYTES)
    try:
        text = head.decode(errors="strict" if len(head) < HEAD_BYTES else "replace").lstrip("\ufeff")
    except UnicodeDecodeError as error:
        raise _wrong_encoding(path, head.count(b"\n", 0, error.start) + 1, encoding) from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    n_skipped = 0
    while n_skipped < len(lines) and (not lines[n_skipped].strip() or lines[n_skipped].lstrip()[0] in "#%"):
        n_skipped += 1
    if n_skipped == len(lines):
        raise ValueError(f"{path} has no rows of data (only blank or comment lines); check how it was written")
    if n_skipped == len(lines) - 1 and len(head) == HEAD_BYTES:
        raise ValueError(f"{path}, line {n_skipped + 1}: more than {HEAD_BYTES:,} bytes in one line; is it a table?")
    first = lines[n_skipped]
    delimiter = _guess_delimiter(first, suffix_of(path))
    cells = _split(first, delimiter)
    if len(cells) > MAX_COLUMNS:
        raise ValueError(
            f"{path} has {len(cells):,} columns, more than {MAX_COLUMNS:,}; store such features as .npz or .npy"
        )
    if header is None:
        header = _looks_named(cells, known_names) or (delimiter != " " and not any(_is_number(cell) for cell in cells))
    names = tuple(cell or f"column {i}" for i, cell in enumerate(cells, 1)) if header else _numbered(len(cells))
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{path}: column {name!r} appears {count} times in the header; rename all but one")
    return Layout(delimiter, names, header, n_skipped, delimiter != " " or '"' in first)


def _wrong_encoding(path: Path, line: int, encoding: str) -> ValueError:
    begins = read_head(path, 2)
    if begins in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        way_out = "it begins like UTF-16, so name that (`encoding='utf-16'`), or save the file as UTF-8"
    else:
        way_out = "save the file as UTF-8, or name its encoding (for example `encoding='latin-1'`)"
    return ValueError(f"{path}, line {line}: not {encoding} text; {way_out}")


def _guess_delimiter(line: str, suffix: str) -> str:
    if suffix in (".tsv", ".tab"):
        return "\t"
    if suffix not in (".csv",):  # .txt, .edges, .edgelist, .el, none: blanks, unless the line says otherwise
        return next((mark for mark in ",;" if mark in line), " ")
    counts = {mark: line.count(mark) for mark in ",;\t|"}
    best = max(counts, key=lambda mark: counts[mark])
    return "," if counts[","] or not counts[best] else best


def _split(line: str, delimiter: str) -> list[str]:
    if delimiter == " " and '"' not in line:
        return line.split()
    line = " ".join(line.split()) if delimiter == " " else line
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
    except (csv.Error, StopIteration):
        return [cell.strip() for cell in line.split(delimiter)]


def _squeeze_line(line: str, quoted: bool) -> list[str]:
    if not line.strip() or line.lstrip()[0] in "#%":
        return []
    return _split(line, " ") if quoted else line.split()


def _without_header(rows: Iterator[tuple[int, list[str]]], has_header: bool) -> Iterator[tuple[int, list[str]]]:
    if has_header:
        next(rows, None)
    return rows


def _looks_named(cells: Sequence[str], known_names: Collection[str]) -> bool:
    if any(cell.lower() in known_names for cell in cells):
        return True
    # A data frame written with numbered columns: an index name, perhaps empty, then 0, 1, 2, ...
    counted = [str(i) for i in range(len(cells) - 1)]
    return not cells[0] or (len(cells) > 2 and not _is_number(cells[0]) and list(cells[1:]) == counted)


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"column {i}" for i in range(1, n + 1))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _check_encoding(encoding: str) -> str:
    try:
        return "utf-8" if "é".encode(encoding) == b"\xc3\xa9" else encoding
    except (LookupError, UnicodeError):
        raise ValueError(f"encoding must be one that Python knows, got {encoding!r}; for example 'latin-1'") from None
