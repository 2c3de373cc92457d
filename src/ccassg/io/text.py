"""Text tables: CSV, TSV, whitespace. Layout guessed from the first lines, parsed by pyarrow, errors with their line."""

import codecs
import csv
import io
import itertools
import mmap
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as pacsv

from ccassg.io.files import Meter, is_gzip, limits, open_bytes, open_regular, read_head, suffix_of, vetted
from ccassg.io.tables import Reading, Table
from ccassg.io.whitespace import BLOCK_BYTES, parsed_bytes, read_line, squeeze, squeezed_pieces

LINE_BREAK = r"\r\n?|\n"


class TextTable(Table):
    """A text table on disk, its layout known and its rows not yet read.

    A blank as delimiter stands for any run of blanks and tabs. Without a header columns are ``column 1``, ``column 2``, ...
    """

    is_text = True

    def __init__(self, path: Path, reading: Reading, known_names: Collection[str] = ()) -> None:
        header, self.encoding = reading.header, _check_encoding(reading.encoding)
        with vetted(path, "text") as self.path:
            self.n_skipped, first = self._first_row()
            self.delimiter = _guess_delimiter(first, suffix_of(self.path))
            self._closed = False  # whether all quotes were seen to close
            # In whitespace text quotes enclose cells only if the first line has some.
            self.quoted = self.delimiter != " " or '"' in first
            cells = _split(first, self.delimiter)
            words = self.delimiter != " " and not any(_is_number(cell) for cell in cells)
            self.has_header = (words or _looks_named(cells, known_names)) if header is None else header
            names = [(cell if self.has_header else "") or f"column {i}" for i, cell in enumerate(cells, 1)]
            if self.has_header and self.quoted:
                self._require_closed(first.encode(), self.n_skipped + 1)
            super().__init__(str(self.path), names)
        self.unsure_header = header is None and self.has_header and not _looks_named(names, known_names)
        if self.unsure_header:
            first = self.delimiter.join(names[:4])
            self.notes.append(f"{self.path}: took its first line ({first[:80]!r}) as column names")

    def read(self, columns: Sequence[str], as_text: Collection[str] = ()) -> pa.Table:
        """Read the columns, those ``as_text`` as strings and the others as what they look like."""
        read = pacsv.ReadOptions(
            column_names=list(self.names),
            skip_rows=0 if self.delimiter == " " else self.n_skipped + self.has_header,
            block_size=BLOCK_BYTES,
        )
        parse = pacsv.ParseOptions(
            delimiter=self.delimiter,
            quote_char='"' if self.quoted else False,
            newlines_in_values=self.delimiter != " ",
        )
        convert = pacsv.ConvertOptions(
            include_columns=list(columns), column_types=dict.fromkeys(as_text, pa.string()), strings_can_be_null=False
        )
        try:
            pieces = [pacsv.read_csv(piece, read, parse, convert) for piece in self._pieces(len(columns))]
            table = pa.concat_tables(pieces, promote_options="permissive") if pieces else None
        except (pa.ArrowException, UnicodeError, OSError) as error:
            raise self._explain(error) from None
        if table is None or table.num_rows == 0:
            raise ValueError(f"{self.path} has column names but no rows; check how it was written")
        for name in table.column_names:
            if pa.types.is_binary(table.schema.field(name).type):
                raise self._explain(UnicodeError("invalid UTF8 data"))
        return table

    def place(self, row: int, column: str | None = None) -> str:
        """Return the line of data row ``row`` (from 0), found by reading again, since blank lines do not count.

        With a column, it is the line on which that cell begins: cells before it may hold line breaks.
        """
        line, cells = next(itertools.islice(self._rows(), row, None), (None, []))
        if line is None:
            return f"data row {row + 1}"
        before = cells[: self.names.index(column)] if column is not None else []
        return f"line {line + sum(len(re.findall(LINE_BREAK, cell)) for cell in before)}"

    def _first_row(self) -> tuple[int, str]:
        """Return how many comment and blank lines there are at the beginning, and the line after them."""
        size = limits().first_row
        with self._open() as file:
            head = file.read(size)
        try:
            text = head.decode(errors="strict" if len(head) < size else "replace").lstrip("\ufeff")
        except UnicodeDecodeError as error:
            raise self._wrong_encoding(head.count(b"\n", 0, error.start) + 1) from None
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        n_skipped = next((i for i, line in enumerate(lines) if not _is_comment(line)), len(lines))
        if n_skipped == len(lines):
            raise ValueError(f"{self.path} has no rows of data (only blank or comment lines); check how it was written")
        if n_skipped == len(lines) - 1 and len(head) == size:
            raise ValueError(f"{self.path}, line {n_skipped + 1}: more than {size:,} bytes in one line; is it a table?")
        return n_skipped, lines[n_skipped]

    def _open(self) -> IO[bytes]:
        """Open the content as UTF-8; another encoding is turned into it in memory."""
        file = open_bytes(self.path)
        if self.encoding == "utf-8":
            return file
        with file:
            data = file.read()
        try:
            return io.BytesIO(data.decode(self.encoding).encode())
        except UnicodeError as error:
            raise ValueError(f"{self.path} is not {self.encoding} text: {error}; pass another encoding") from None

    def _pieces(self, n_columns: int) -> Iterator[Any]:
        """Yield what the parser reads, one after the other, of which it keeps so many columns.

        Never a Python stream: the parser reads ahead in threads, which wait for ever if such a stream fails or closes
        early. A plain file is opened by the parser, a gzipped one held in memory, whitespace text squeezed in pieces.
        """
        if self.delimiter == " ":
            yield from self._squeezed(n_columns)
        elif is_gzip(self.path) or self.encoding != "utf-8":
            content: Any = bytearray()
            meter = Meter(self.path, "parsed")
            with self._open() as file:
                while chunk := file.read(limits().piece):
                    meter.add(parsed_bytes(chunk, n_columns))
                    content += chunk
            self._require_rows_closed(content)
            yield pa.BufferReader(pa.py_buffer(content))
        else:
            with open_regular(self.path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                self._require_rows_closed(content)
            yield str(self.path)

    def _squeezed(self, n_columns: int) -> Iterator[pa.BufferReader]:
        """Yield whitespace text as the parser wants it, without its header."""
        with self._open() as file:
            for _ in range(self.n_skipped + self.has_header):
                read_line(self.path, file)
            for squeezed in squeezed_pieces(self.path, file, n_columns):
                if self.quoted and _unclosed(squeezed, " ") is not None:
                    raise self._unclosed_line()
                yield pa.BufferReader(squeezed)

    def _require_rows_closed(self, content: Any) -> None:
        """Refuse a quote that opens in the rows and never closes: the parser would take all that follows as one cell."""
        if self._closed:
            return
        n_lines = self.n_skipped + self.has_header
        begin = re.match(rb"(?:[^\r\n]*+(?:\r\n?|\n)){%d}" % n_lines, content) if content.find(b'"') >= 0 else None
        if begin is not None:
            self._require_closed(content, n_lines + 1, begin.end())
        self._closed = True

    def _require_closed(self, content: Any, line: int, start: int = 0) -> None:
        """Refuse a quote that opens at or after ``start``, where ``line`` begins, and never closes."""
        opened = _unclosed(content, self.delimiter, start)
        if opened is not None:
            before = content[start:opened]
            raise self._says_unclosed(line + (before.count(b"\n") or before.count(b"\r")))

    def _unclosed_line(self) -> ValueError:
        """Return the error for the first line of whitespace text in which a quote opens and does not close."""
        with self._open() as file:
            lines = ((i, squeeze(line)) for i, line in enumerate(file, 1) if i > self.n_skipped + self.has_header)
            return self._says_unclosed(next((i for i, line in lines if _unclosed(line, " ") is not None), 1))

    def _says_unclosed(self, line: int) -> ValueError:
        return ValueError(
            f"{self.path}, line {line}: a quote opens here and never closes; close it, or write a quote that is meant as "
            f"such twice, in a quoted cell"
        )

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield all data rows with the numbers of the lines on which they begin, slowly; only errors pay for it."""
        with self._open() as file:
            lines = io.TextIOWrapper(file, "utf-8", errors="replace", newline="")
            if self.delimiter == " ":
                cut = (lambda line: _split(line, " ")) if self.quoted else str.split
                rows = ((i, cut(line)) for i, line in enumerate(lines, 1) if not _is_comment(line))
            else:
                rows = ((i, row) for i, row in _records(lines, self.delimiter) if row and i > self.n_skipped)
            with suppress(csv.Error):  # a cell beyond the module's limit, a NUL: the line stays unknown
                yield from itertools.islice(rows, int(self.has_header), None)

    def _explain(self, error: Exception) -> ValueError:
        """Return the sentence for a parser's error: what is wrong at which line."""
        if bad_line := self._undecodable_line():
            return self._wrong_encoding(bad_line)
        width = len(self.names)
        for line, row in self._rows():
            if len(row) != width:
                return ValueError(
                    f"{self.path}, line {line}: {len(row)} columns where the first line has {width}; make all rows equally "
                    f"long (quote cells that contain {self.delimiter!r})"
                )
        text = (str(error).splitlines() or [type(error).__name__])[0]
        if "Empty CSV" in text:
            return ValueError(f"{self.path} has no rows of data; check how it was written")
        return ValueError(f"{self.path} cannot be read as a table: {text[:300]}")

    def _undecodable_line(self) -> int | None:
        with self._open() as file:
            for i, line in enumerate(file, 1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return i
        return None

    def _wrong_encoding(self, line: int) -> ValueError:
        if read_head(self.path, 2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            way_out = "it begins like UTF-16, so name that (`encoding='utf-16'`), or save the file as UTF-8"
        else:
            way_out = "save the file as UTF-8, or name its encoding (for example `encoding='latin-1'`)"
        return ValueError(f"{self.path}, line {line}: not {self.encoding} text; {way_out}")


def _unclosed(content: Any, delimiter: str, start: int = 0) -> int | None:
    """Return where the quote is that opens a cell and never closes, None if all do.

    As the parser has it: a quote opens a cell only as its first character, two of them within stand for one. In text
    between blanks a cell ends with its line.
    """
    mark, inside = re.escape(delimiter.encode()), rb'[^"\n]' if delimiter == " " else rb'[^"]'
    cell, stray = rb'(?<![^%b\r\n])"(?:%b++|"")*+"' % (mark, inside), rb'(?<=[^%b\r\n])"' % mark
    end = re.compile(rb'(?:[^"]++|%b|%b)*+' % (cell, stray)).match(content, start).end()  # type: ignore[union-attr]
    return None if end == len(content) else end


def _records(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows, blank ones too, with the numbers of the lines on which they begin."""
    reader = csv.reader(lines, delimiter=delimiter)
    begin = 1
    for row in reader:
        yield begin, row
        begin = reader.line_num + 1


def _is_comment(line: str) -> bool:
    """Return whether a line is blank or a comment."""
    return not line.strip() or line.lstrip()[0] in "#%"


def _guess_delimiter(line: str, suffix: str) -> str:
    if suffix in (".tsv", ".tab"):
        return "\t"
    if suffix != ".csv":  # .txt, .edges, .edgelist, .el, none: blanks, unless the line says otherwise
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


def _looks_named(cells: Sequence[str], known_names: Collection[str]) -> bool:
    if any(cell.lower() in known_names for cell in cells):
        return True
    # A data frame written with numbered columns: an index name, perhaps empty, then 0, 1, 2, ...
    counted = [str(i) for i in range(len(cells) - 1)]
    return not cells[0] or (len(cells) > 2 and not _is_number(cells[0]) and list(cells[1:]) == counted)


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
