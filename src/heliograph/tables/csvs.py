"""CSV to raw columns of text: nothing is guessed, `007`, `true` and `1e5` stay what they are; an empty field is null.

Arrow reads blocks of whole, regular records; `records` reads the others, and everything behind a quote that stands
where none belongs. The law: both give the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO, cast

import numpy as np
import pyarrow as pa

from heliograph.errors import Place, TableError
from heliograph.model import Brief, Rejected
from heliograph.tables.blocks import read_blocks
from heliograph.tables.reads import Raw, Refused, numbered
from heliograph.tables.records import Record, read_records, whole_records
from heliograph.tables.schemas import TableSchema
from heliograph.tables.sources import Source

BATCH_ROWS = 1 << 16


@dataclass(slots=True)
class _Reading:
    """Which fields are wanted, and how far the file has been read."""

    source: str
    width: int
    wanted: dict[str, int]
    row: int = 1
    line: int = 1


def read_csv(schema: TableSchema, source: Source) -> Iterator[Raw]:
    """The rows of one file, block by block."""
    blocks = read_blocks(source)
    first = next(blocks, b"")
    header, length = _header(first, source.name)
    schema.check(header, Place(source.name))
    schema.hint(header, Place(source.name))
    wanted = {name: header.index(name) for name in schema.names if name in header}
    reading = _Reading(source.name, len(header), wanted, line=1 + len(first[:length].splitlines()))
    yield from _blocks(reading, chain([first[length:]], blocks))


def _header(block: bytes, source: str) -> tuple[list[str], int]:
    """The names of the columns, and the length of the text that holds them."""
    record = next(read_records([block]), Record(1, []))
    if record.fields is None:
        raise _broken(record.problem, Place(source, None, record.line))
    try:
        names = [field.decode("utf-8").strip() for field in record.fields]
    except UnicodeDecodeError as error:
        place = Place(source, None, record.line)
        raise TableError("HG-207", "column names that are not UTF-8", place=place, fix="save it as UTF-8") from error
    lines = block.splitlines(keepends=True)
    following = next(islice(read_records([block]), 1, None), None)
    return names, sum(map(len, lines[: following.line - 1] if following else lines))


def _blocks(reading: _Reading, blocks: Iterator[bytes]) -> Iterator[Raw]:
    rest = b""
    for block in blocks:
        data = rest + block
        cut = whole_records(data)
        if cut is None:
            yield from _slow(reading, chain([data], blocks))
            return
        rest = data[cut:]
        yield from _fast(reading, data[:cut])
    yield from _slow(reading, [rest])


def _fast(reading: _Reading, block: bytes) -> Iterator[Raw]:
    """A block of whole, regular records."""
    table = _arrow_csv(reading, block) if block.strip(b"\r\n") else None
    if table is None:
        yield from _slow(reading, [block])
    else:
        columns = dict(zip(reading.wanted, (column.combine_chunks() for column in table.columns), strict=True))
        yield Raw(reading.source, columns, numbered(reading.row, table.num_rows))
        reading.row += table.num_rows
    reading.line += block.count(b"\n")


def _arrow_csv(reading: _Reading, block: bytes) -> pa.Table | None:
    from pyarrow import csv

    names = [str(number) for number in range(reading.width)]
    wanted = [str(number) for number in reading.wanted.values()]
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


def _slow(reading: _Reading, blocks: Iterable[bytes]) -> Iterator[Raw]:
    """Any records, one by one."""
    records = read_records(blocks, reading.line)
    for first in records:
        yield _batch(reading, chain([first], islice(records, BATCH_ROWS - 1)))


def _batch(reading: _Reading, records: Iterable[Record]) -> Raw:
    columns: dict[str, list[str | None]] = {name: [] for name in reading.wanted}
    rows: list[int] = []
    refused: list[Refused] = []
    brief = Brief()
    for row, record in enumerate(records, reading.row):
        reading.row = row + 1
        fields = _fields(reading, record)
        if fields is None:
            refused.append(Refused(row, _refused(reading, record, row, brief)))
            continue
        rows.append(row)
        for column, field in zip(columns.values(), fields, strict=True):
            column.append(field)
    return Raw(reading.source, columns, np.array(rows, dtype=np.int64), refused)


def _fields(reading: _Reading, record: Record) -> list[str | None] | None:
    """The wanted fields of a record as text; None where it must be refused."""
    fields = record.fields
    if fields is not None and len(fields) == reading.width:
        with suppress(UnicodeDecodeError):
            return [fields[index].decode("utf-8") or None for index in reading.wanted.values()]
    return None


def _refused(reading: _Reading, record: Record, row: int, brief: Brief) -> Rejected:
    """Why a record was refused."""
    fields = record.fields
    is_broken = fields is None or len(fields) != reading.width
    code = "HG-206" if is_broken else "HG-207"
    if not brief.wants(code):
        return Rejected(reading.source, str(row), code, "")
    place = Place(reading.source, str(row), record.line)
    if is_broken:
        problem = f"{len(fields)} fields where the header has {reading.width}" if fields is not None else record.problem
        return Rejected.of(_broken(problem, place))
    return Rejected.of(TableError(code, "text that is not UTF-8", place=place, fix="save it as UTF-8"))


def _broken(problem: str, place: Place) -> TableError:
    fix = 'put a field with a comma, a quote or a line end in quotes, and double the quotes inside: "a ""b"", c"'
    return TableError("HG-206", problem, place=place, fix=fix)
