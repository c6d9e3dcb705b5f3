"""CSV to raw columns of text: nothing is guessed, `007`, `true` and `1e5` stay what they are; an empty field is null.

The grammar is RFC 4180 as Excel writes it: a field is quoted as a whole or not at all, a quote inside is doubled, a
quoted field may hold line ends; a quote within an unquoted field stands for itself. A record that is never closed,
or has text behind a closing quote, is refused by its first line, and reading goes on with the line after that.

Arrow reads blocks of whole, regular records. `read_records` reads the others, and everything behind a quote that
stands where none belongs. The law: both give the same rows.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import IO, NamedTuple, cast

import numpy as np
import pyarrow as pa

from heliograph.errors import Place, TableError
from heliograph.io.schemas import TableSchema
from heliograph.io.sources import Source, read_blocks
from heliograph.io.tables import RawColumns, numbered
from heliograph.model import MessageLimit, Rejected

# --- records ---

_QUOTED = rb'"([^"]*+(?:""[^"]*+)*+)'
_END = rb"(,|\r\n|\n|\r|\Z)"
_FIELD = re.compile(_QUOTED + rb'"' + _END + rb"|([^\",\r\n][^,\r\n]*+)?" + _END)
_OPEN = re.compile(_QUOTED + rb"\Z")
_LOOK_AHEAD = 1 << 26  # bytes that may be given back, beyond eight times what was read


class CsvRecord(NamedTuple):
    """The fields of one record, or None with what is wrong; `line` is the number of its first line."""

    line: int
    fields: list[bytes] | None
    problem: str = ""


class _Lines:
    """Numbered lines that can be taken back, as long as that stays linear in what has been read."""

    def __init__(self, blocks: Iterable[bytes], line: int) -> None:
        self._lines = (text for block in blocks for text in block.splitlines(keepends=True))
        self._ahead: deque[bytes] = deque()
        self._budget = _LOOK_AHEAD
        self.line = line - 1

    def take(self) -> bytes | None:
        if not self._ahead:
            if (text := next(self._lines, None)) is None:
                return None
            self._budget += 8 * len(text)
            self._ahead.append(text)
        self.line += 1
        return self._ahead.popleft()

    def give_back(self, texts: list[bytes]) -> None:
        self.line -= len(texts)
        self._budget -= sum(map(len, texts))
        self._ahead.extendleft(reversed(texts))

    def up_to_closing(self) -> list[bytes]:
        """The lines up to the next that can close a quoted field, one with an odd number of quotes; else none."""
        taken: list[bytes] = []
        while self._budget > 0 and (text := self.take()) is not None:
            taken.append(text)
            if text.count(b'"') % 2:
                return taken
        self.give_back(taken)
        return []


def read_records(blocks: Iterable[bytes], line: int = 1) -> Iterator[CsvRecord]:
    """Every record of blocks of whole lines, the first of which has the number `line`. Blank lines are no records."""
    lines = _Lines(blocks, line)
    while (text := lines.take()) is not None:
        if text.rstrip(b"\r\n"):
            yield _record(text, lines)


def _record(text: bytes, lines: _Lines) -> CsvRecord:
    first = lines.line
    if b'"' not in text:
        return CsvRecord(first, text.rstrip(b"\r\n").split(b","))
    fields: list[bytes] = []
    more: list[bytes] = []
    while (opened := _split(text, fields)) > 0 and (rest := lines.up_to_closing()):
        more += rest
        text = b"".join((text[opened - 1 :], *rest))
    if not opened:
        return CsvRecord(first, fields)
    lines.give_back(more)
    return CsvRecord(first, None, "a quote that is not closed" if opened > 0 else "text behind a closing quote")


def _split(text: bytes, fields: list[bytes]) -> int:
    """Add the fields of `text`. 0: that was all; n > 0: the field at n - 1 is still open; -1: malformed."""
    at = 0
    while match := _FIELD.match(text, at):
        quoted, end, bare, bare_end = match.groups()
        fields.append(quoted.replace(b'""', b'"') if quoted is not None else bare or b"")
        at = match.end()
        if (end or bare_end) != b",":
            return 0
    return at + 1 if _OPEN.match(text, at) else -1


_COMMA, _LF, _CR, _QUOTE = b',\n\r"'
_EDGE = np.zeros(256, dtype=bool)  # the bytes that a field ends at
_EDGE[[_COMMA, _LF, _CR, _QUOTE]] = True


def whole_records(data: bytes) -> int | None:
    """How many bytes of `data` are whole records; None where its quotes do not stand at the edges of fields.

    With every odd quote at the start of a field (or doubling the one before it) and every even quote at the end of one
    (or doubled by the next), a line end ends a record exactly when the number of quotes before it is even.
    """
    quotes = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _QUOTE)
    if not len(quotes):
        return data.rfind(b"\n") + 1
    padded = np.frombuffer(b"\n" + data + b"\n", dtype=np.uint8)
    if not (_EDGE[padded[quotes[0::2]]].all() and _EDGE[padded[quotes[1::2] + 2]].all()):
        return None
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _LF)
    outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else 0


# --- blocks of records ---

BATCH_ROWS = 1 << 16


def read_csv(schema: TableSchema, source: Source) -> Iterator[RawColumns]:
    """The rows of one file, block by block."""
    blocks = read_blocks(source)
    first = next(blocks, b"")
    header, length = _header(first, source.name)
    schema.check(header, Place(source.name))
    schema.hint(header, Place(source.name))
    wanted = {name: header.index(name) for name in schema.names if name in header}
    file = _CsvFile(source.name, len(header), wanted, line=1 + len(first[:length].splitlines()))
    yield from file.read(chain([first[length:]], blocks))


def _header(block: bytes, source: str) -> tuple[list[str], int]:
    """The names of the columns, and the length of the text that holds them."""
    records = read_records([block])
    record, following = next(records, CsvRecord(1, [])), next(records, None)
    if record.fields is None:
        raise _broken(record.problem, Place(source, None, record.line))
    try:
        names = [field.decode("utf-8").strip() for field in record.fields]
    except UnicodeDecodeError as error:
        place = Place(source, None, record.line)
        raise TableError("HG-207", "column names that are not UTF-8", place=place, fix="save it as UTF-8") from error
    lines = block.splitlines(keepends=True)
    return names, sum(map(len, lines[: following.line - 1] if following else lines))


class _CsvFile:
    """Which fields are wanted of a file, and how far it has been read."""

    def __init__(self, source: str, width: int, wanted: dict[str, int], line: int) -> None:
        self._source, self._width, self._wanted = source, width, wanted
        self._row, self._line = 1, line

    def read(self, blocks: Iterator[bytes]) -> Iterator[RawColumns]:
        rest = b""
        for block in blocks:
            data = rest + block
            cut = whole_records(data)
            if cut is None:
                yield from self._one_by_one(chain([data], blocks))
                return
            rest, whole = data[cut:], data[:cut]
            table = self._by_arrow(whole) if whole.strip(b"\r\n") else None
            if table is None:
                yield from self._one_by_one([whole])
            else:
                columns = dict(zip(self._wanted, (column.combine_chunks() for column in table.columns), strict=True))
                yield RawColumns(self._source, columns, numbered(self._row, table.num_rows))
                self._row += table.num_rows
            self._line += whole.count(b"\n")
        yield from self._one_by_one([rest])

    def _by_arrow(self, block: bytes) -> pa.Table | None:
        """A block of whole, regular records; None where Arrow refuses it."""
        from pyarrow import csv

        names = [str(number) for number in range(self._width)]
        wanted = [str(number) for number in self._wanted.values()]
        try:
            return csv.read_csv(
                cast("IO[bytes]", pa.BufferReader(block)),
                read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=len(block) + 1),
                parse_options=csv.ParseOptions(newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(wanted, pa.string()),
                    include_columns=wanted,
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
        except (pa.ArrowException, OverflowError):
            return None

    def _one_by_one(self, blocks: Iterable[bytes]) -> Iterator[RawColumns]:
        """Any records, in batches."""
        records = read_records(blocks, self._line)
        for first in records:
            columns: dict[str, list[str | None]] = {name: [] for name in self._wanted}
            rows: list[int] = []
            refused: list[tuple[int, Rejected]] = []
            limit = MessageLimit()
            for record in chain([first], islice(records, BATCH_ROWS - 1)):
                fields = self._fields(record, limit)
                if isinstance(fields, Rejected):
                    refused.append((self._row, fields))
                else:
                    rows.append(self._row)
                    for column, field in zip(columns.values(), fields, strict=True):
                        column.append(field)
                self._row += 1
            yield RawColumns(self._source, columns, np.array(rows, dtype=np.int64), refused)

    def _fields(self, record: CsvRecord, limit: MessageLimit) -> list[str | None] | Rejected:
        """The wanted fields of a record as text, or why it is refused."""
        fields, code, problem = record.fields, "HG-206", record.problem
        if fields is not None and len(fields) == self._width:
            try:
                return [fields[index].decode("utf-8") or None for index in self._wanted.values()]
            except UnicodeDecodeError:
                code = "HG-207"
        elif fields is not None:
            problem = f"{len(fields)} fields where the header has {self._width}"
        item = str(self._row)
        if not limit.allows(code):
            return Rejected(self._source, item, code, "")
        place = Place(self._source, item, record.line)
        if code == "HG-207":
            return Rejected.of(TableError(code, "text that is not UTF-8", place=place, fix="save it as UTF-8"))
        return Rejected.of(_broken(problem, place))


def _broken(problem: str, place: Place) -> TableError:
    fix = 'put a field with a comma, a quote or a line end in quotes, and double the quotes inside: "a ""b"", c"'
    return TableError("HG-206", problem, place=place, fix=fix)
