"""Where input comes from, its bytes in blocks of whole lines, and what reading a piece of a table gives."""

from __future__ import annotations

import difflib
import gc
import glob
import io
import os
import re
import select
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import HeliographError, Place, TableError, UsageError
from heliograph.io.coerce import Array, Bad, Coerced, coerce_array, coerce_values, nulls
from heliograph.io.schemas import Column, TableSchema
from heliograph.model import Brief, Rejected, Rejections

# ----------------------------------------------------------------------------------------------------------------------
# Bulk loads: the collector of cyclic garbage rests while a million objects are made that are all kept.
#
# Measured on 100,000 queries whose constants all differ: a third of the time goes to collections that find nothing.
# ----------------------------------------------------------------------------------------------------------------------

_LARGE = 50_000  # objects


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the cyclic collector, and leaves it as it was.

    What a large load made moves to the oldest generation without being looked at: the next collection of the youngest
    would visit all of it, which took an eighth of the time. After small ones nothing is moved, or thousands of them
    would carry everybody's garbage to where it is collected last, and all at once.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            if gc.get_count()[0] > _LARGE and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


# ----------------------------------------------------------------------------------------------------------------------
# What reading a piece of a table gives: the rows that are good, where they stood, and what was refused.
#
# The law: every row of the input is in the table or in `rejected`, exactly once; a refused row takes no other with
# it.
# ----------------------------------------------------------------------------------------------------------------------

Rows = npt.NDArray[np.int64]
RawColumn = Array | Sequence[Any]


class Read(NamedTuple):
    """Rows of one source, coerced to the schema. `rows` are their numbers in the source, from 1."""

    source: str | None
    table: pa.Table
    first_row: int
    rejected: Rejections
    rows: Rows

    def place(self, index: int) -> Place:
        """Where the table's row `index` (from 0) stood in its source."""
        return Place(self.source, str(self.rows[index]))


class Refused(NamedTuple):
    """A row that was refused before its cells were looked at."""

    row: int
    rejected: Rejected


class Raw(NamedTuple):
    """Columns as they were found, before coercion; `rows` are the numbers of their rows."""

    source: str | None
    columns: Mapping[str, RawColumn]
    rows: Rows
    refused: Sequence[Refused] = ()


def finish(schema: TableSchema, raw: Raw) -> Read:
    """Coerce every column; the rows with a bad cell are rejected, the others go on."""
    coerced = {column.name: _coerce(column, raw) for column in schema.columns}
    table = pa.Table.from_arrays([column.array for column in coerced.values()], schema=schema.arrow)
    worst: dict[int, tuple[str, Bad]] = {}
    for name, column in coerced.items():
        for bad in column.bad:
            worst.setdefault(bad.row, (name, bad))
    if not worst:
        return _read(raw, table, raw.rows, raw.refused)
    keys = coerced[schema.key].array if schema.key else None
    brief = Brief()
    refused = [_refuse(raw, keys, name, bad, brief) for name, bad in worst.values()]
    keep = np.ones(len(raw.rows), dtype=bool)
    keep[list(worst)] = False
    return _read(raw, table.filter(pa.array(keep)), raw.rows[keep], [*raw.refused, *refused])


def _read(raw: Raw, table: pa.Table, rows: Rows, refused: Iterable[Refused]) -> Read:
    in_order = sorted(refused, key=lambda entry: entry.row)
    first = int(rows[0]) if len(rows) else (int(raw.rows[0]) if len(raw.rows) else 1)
    return Read(raw.source, table, first, Rejections(entry.rejected for entry in in_order), rows)


def _coerce(column: Column, raw: Raw) -> Coerced:
    values = raw.columns.get(column.name)
    if values is None:
        return Coerced(nulls(len(raw.rows), column.type))
    return coerce_array(column.kind, values) if isinstance(values, pa.Array) else coerce_values(column.kind, values)


def _refuse(raw: Raw, keys: Array | None, name: str, bad: Bad, brief: Brief) -> Refused:
    row = int(raw.rows[bad.row])
    key = None if keys is None else keys[bad.row].as_py()
    if not brief.wants("HG-204"):
        return Refused(row, Rejected(raw.source, key or str(row), "HG-204", ""))
    error = TableError(
        "HG-204", f"{_shown(bad.value)} in column {name!r}", place=Place(raw.source, str(row)), fix=bad.expected
    )
    return Refused(row, Rejected.of(error, raw.source, key))


def _shown(value: Any, limit: int = 60) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= limit else text[:limit] + "…"


def failed(source: str | None, error: HeliographError, schema: TableSchema) -> Read:
    """A source, or the rest of it, that cannot be read at all."""
    none = np.empty(0, dtype=np.int64)
    return Read(source, schema.empty(), 1, Rejections([Rejected.of(error, source)]), none)


def numbered(start: int, count: int) -> Rows:
    """Row numbers from `start`."""
    return np.arange(start, start + count, dtype=np.int64)


# ----------------------------------------------------------------------------------------------------------------------
# Where input comes from: a file, a folder, a glob, or a pipe, resolved to the files to read.
#
# The law: a source's name is its path relative to what was given. It is the path itself for a file or a glob's match,
# the path below the folder for a folder, and `-` for standard input. The order is that of the names.
# ----------------------------------------------------------------------------------------------------------------------

TABLE_SUFFIXES = (".parquet", ".csv", ".ndjson", ".jsonl")
DOCUMENT_SUFFIXES = (".nt", ".nq", ".ttl", ".trig", ".rdf", ".jsonld")
FEED_SUFFIXES = (".rss", ".atom", ".xml")
QUERY_SUFFIXES = (".rq",)

PIPE = "-"
_SEVERAL = re.compile(r"(?<![^/])\*\*(?:/+\*\*)+(?![^/])")  # parts of a glob, `**` in a row


class Source(NamedTuple):
    """One file to read, or standard input where `path` is None; `data` is what it holds, where that is known."""

    path: Path | None
    name: str
    data: bytes | None = None

    @property
    def suffix(self) -> str:
        """The suffix that decides how it is read, in lower case; empty for a pipe."""
        return "" if self.path is None else os.path.splitext(self.path)[1].lower()

    @property
    def is_pipe(self) -> bool:
        """Standard input, a named pipe or a device: read once, as it comes."""
        return self.path is None or (self.data is None and is_special(self.path))


def find_sources(spec: str | os.PathLike[str], suffixes: Collection[str] = TABLE_SUFFIXES) -> list[Source]:
    """The files that `spec` means, in order; raises `UsageError` where there is none that fits."""
    text = os.fspath(spec)
    if text == PIPE:
        return [Source(None, PIPE)]
    path = Path(text)
    if os.path.isdir(text):
        return _some(_folder(path, suffixes), f"no fitting file in the folder {text}", suffixes)
    if os.path.exists(text):
        return [_file(path, text, suffixes)]
    if glob.has_magic(text):
        return _some(_glob(text, suffixes), f"nothing that fits matches {text}", suffixes)
    raise UsageError("HG-021", f"no such file: {text}", fix=_near(path, suffixes))


def is_special(path: Path) -> bool:
    """Whether this is a named pipe or a device: neither a file nor a folder, but there."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _fits(path: Path | str, suffixes: Collection[str]) -> bool:
    return os.path.splitext(path)[1].lower() in suffixes


def _file(path: Path, text: str, suffixes: Collection[str]) -> Source:
    """A single file, given by name; a named pipe needs no suffix."""
    if not _fits(path, suffixes) and not is_special(path):
        raise UsageError(
            "HG-022",
            f"{text} ends in {path.suffix or 'no suffix'}",
            fix=f"give a file that ends in {_listed(suffixes)}",
        )
    return Source(path, text)


def _folder(folder: Path, suffixes: Collection[str]) -> list[Source]:
    found = [Source(folder / name, name) for name in _below(folder) if _fits(name, suffixes)]
    return sorted(found, key=lambda source: source.name)


def _below(folder: Path) -> Iterator[str]:
    """Names of the regular files below a folder; `.x` and `_x` are other programs' leavings (Spark's `_SUCCESS`)."""
    waiting = [""]  # no recursion, as folders may lie thousands deep
    while waiting:
        parent = waiting.pop()
        with suppress(OSError), os.scandir(os.path.join(folder, parent)) as entries:  # where we may not look is nothing
            for entry in entries:
                name = os.path.join(parent, entry.name)
                if entry.name.startswith((".", "_")):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)
                elif entry.is_file():
                    yield name.replace(os.sep, "/")


def _glob(pattern: str, suffixes: Collection[str]) -> list[Source]:
    """Files that match, and what lies in folders that match, each once."""
    found: dict[str, Source] = {}
    for text in _matching(pattern):
        if os.path.isdir(text):
            inside = [Source(source.path, os.path.join(text, source.name)) for source in _folder(Path(text), suffixes)]
            found |= {os.path.normpath(source.name): source for source in inside}
        elif _fits(text, suffixes) and os.path.isfile(text):
            found[os.path.normpath(text)] = Source(Path(text), text)
    return sorted(found.values(), key=lambda source: source.name)


def _matching(pattern: str) -> list[str]:
    """What a glob matches; Python looks for each part of it inside of the look for the part before.

    `**` in a row mean what one does, but Python would come to a folder in as many ways as they divide its path.
    """
    try:
        return list(glob.iglob(_SEVERAL.sub("**", pattern), recursive=True))
    except RecursionError as error:
        fix = "give the folder itself, of which everything is read"
        raise UsageError("HG-023", f"a glob over too many folders in each other: {pattern[:60]}…", fix=fix) from error


def _some(sources: list[Source], problem: str, suffixes: Collection[str]) -> list[Source]:
    if not sources:
        raise UsageError("HG-023", problem, fix=f"a file that fits ends in {_listed(suffixes)}")
    return sources


def _near(path: Path, suffixes: Collection[str]) -> str:
    """The nearest name beside the missing file, or the first folder of its path that is missing too."""
    parent = path.parent
    if not os.path.isdir(parent):
        return f"there is no folder {parent} either"
    try:
        beside = [entry.name for entry in os.scandir(parent) if entry.is_dir() or _fits(entry.name, suffixes)]
    except OSError:
        return "check the spelling"
    near = [name for name in beside if Path(name).stem == path.stem]
    near = near or difflib.get_close_matches(path.name[:255], beside, 1, 0.6)
    return f"did you mean {parent / near[0]}?" if near else "check the spelling"


def _listed(suffixes: Iterable[str]) -> str:
    return " ".join(suffixes)


# ----------------------------------------------------------------------------------------------------------------------
# Bytes to blocks of whole lines, from a file in large pieces or from a pipe as they come.
#
# The law: joined, the blocks are the input without its byte order mark; each ends with a line's end, except perhaps
# the last. A pipe never waits for more while a whole line is at hand.
# ----------------------------------------------------------------------------------------------------------------------

PIECE = 1 << 22
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_blocks(source: Source) -> Iterator[bytes]:
    """The blocks of a file or of standard input."""
    if source.path is None:
        if sys.stdin is not None:  # None where the shell has closed it
            yield from _checked(cut_lines(_pipe_reader(sys.stdin.buffer)), source)
        return
    with source.path.open("rb", buffering=0) as file:
        if source.is_pipe:
            yield from _checked(cut_lines(_pipe_reader(file)), source)
        else:
            yield from _checked(cut_lines(lambda: file.read(PIECE) or b""), source)


def _checked(blocks: Iterator[bytes], source: Source) -> Iterator[bytes]:
    """Drop the byte order mark; refuse UTF-16."""
    first = next(blocks, b"")
    if first.startswith(_UTF16):
        raise TableError("HG-207", "a text in UTF-16", place=Place(source.name), fix="save it as UTF-8")
    first = first.removeprefix(_BOM)
    if first:
        yield first
    yield from blocks


def cut_lines(read: Callable[[], bytes]) -> Iterator[bytes]:
    """Cut what `read` returns, until it returns nothing, behind the last line end of each piece."""
    pending: list[bytes] = []
    while piece := read():
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield b"".join((*pending, piece[:cut]))
            pending = []
        if cut < len(piece):
            pending.append(piece[cut:])
    if pending:
        yield b"".join(pending)


def _pipe_reader(stream: BinaryIO | io.FileIO) -> Callable[[], bytes]:
    """A function that waits for the first bytes and then takes what else is there, up to a piece."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # a stream that only looks like standard input, as in a test
        read = getattr(stream, "read1", stream.read)
        return lambda: read(PIECE) or b""
    return lambda: _available(descriptor)


def _available(descriptor: int) -> bytes:
    got = [os.read(descriptor, PIECE)]
    while got[-1] and sum(map(len, got)) < PIECE and _is_ready(descriptor):
        got.append(os.read(descriptor, PIECE))
    return b"".join(got)


def _is_ready(descriptor: int) -> bool:
    with suppress(OSError, ValueError):
        return bool(select.select([descriptor], [], [], 0)[0])
    return False
