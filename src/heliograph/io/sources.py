"""Where input comes from: a file, a folder, a glob or a pipe, as the files to read and their bytes in whole lines.

The laws: a source's name is its path relative to what was given. It is the path itself for a file or a glob's match,
the path below the folder for a folder, and `-` for standard input. Sources come in the order of their names. Joined,
the blocks of a source are its bytes without the byte order mark; each ends with a line's end, except perhaps the
last. A pipe never waits for more while a whole line is at hand.
"""

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
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from heliograph.errors import Place, TableError, UsageError

TABLE_SUFFIXES = (".parquet", ".csv", ".ndjson", ".jsonl", ".json")
DOCUMENT_SUFFIXES = (".nt", ".nq", ".ttl", ".trig", ".rdf", ".jsonld")
FEED_SUFFIXES = (".rss", ".atom", ".xml")
QUERY_SUFFIXES = (".rq",)
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}  # a second suffix, and what Arrow calls it

FORMATS = {  # what a text or bytes in memory can be said to be, and the suffix of such a file
    "nt": ".nt", "ntriples": ".nt", "nq": ".nq", "nquads": ".nq", "ttl": ".ttl", "turtle": ".ttl", "trig": ".trig",
    "rdf": ".rdf", "rdfxml": ".rdf", "jsonld": ".jsonld", "rss": ".rss", "atom": ".atom", "xml": ".xml",
    "csv": ".csv", "ndjson": ".ndjson", "jsonl": ".jsonl", "json": ".json", "parquet": ".parquet",
}  # fmt: skip

PIPE = "-"
_SEVERAL = re.compile(r"(?<![^/])\*\*(?:/+\*\*)+(?![^/])")  # parts of a glob, `**` in a row


class Source(NamedTuple):
    """One file to read, or standard input where `path` is None; `data` is what it holds, where that is known."""

    path: Path | None
    name: str
    data: bytes | None = None
    below: str = ""  # its path below the folder, or the fixed part of the glob, that was given

    @property
    def suffix(self) -> str:
        """The suffix that decides how it is read, in lower case; empty for a pipe."""
        return "" if self.path is None else suffix_of(self.path)

    @property
    def compression(self) -> str | None:
        """How its bytes are compressed, in Arrow's words."""
        return None if self.path is None or self.data is not None else COMPRESSIONS.get(self.path.suffix.lower())

    @property
    def is_pipe(self) -> bool:
        """Standard input, a named pipe or a device: read once, as it comes."""
        return self.path is None or (self.data is None and is_special(self.path))


def suffix_of(path: Path | str) -> str:
    """The suffix that says what a file holds, in lower case: of `x.csv.gz`, `.csv`."""
    stem, suffix = os.path.splitext(path)
    return (os.path.splitext(stem)[1] if suffix.lower() in COMPRESSIONS else suffix).lower()


def is_special(path: Path) -> bool:
    """Whether this is a named pipe or a device: neither a file nor a folder, but there."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


# --- what was given: a path, several, or a document in memory ---

_DOCUMENT = re.compile(r"[\n{]|^\s*(?:<|@prefix|@base|PREFIX\s|BASE\s)", re.IGNORECASE)  # no name of a file


def given_sources(
    items: Any, suffixes: Collection[str], *, format: str | None = None, id: str | None = None
) -> list[Source] | None:
    """The sources that an argument means: a path, a folder, a glob, a list of these, or text or bytes of a `format`.

    None where it is something else, which has no files behind it.
    """
    if format is not None:
        return [_in_memory(items, format, id, suffixes)]
    if hasattr(items, "serialize") and hasattr(items, "triples"):  # a graph of rdflib
        return [_of_graph(items, id, 1)]
    if isinstance(items, (bytes, bytearray, memoryview)):
        fix = 'say what it is, as in publish(data, format="turtle", id="doc"); or give the path of a file'
        raise UsageError("HG-024", f"{len(items):,} bytes without a format", fix=fix)
    if isinstance(items, str) and not os.path.exists(items[:4096]) and _DOCUMENT.search(items[:4096]):
        fix = 'a text is the path of a file; for a document say publish(text, format="turtle", id="doc")'
        raise UsageError("HG-024", f"a text that is no path: {items[:40]!r}", fix=fix)
    if isinstance(items, (str, os.PathLike)):
        return find_sources(items, suffixes)
    if isinstance(items, list) and items and all(isinstance(item, (str, os.PathLike)) for item in items):
        return [source for item in items for source in find_sources(item, suffixes)]
    if (
        isinstance(items, list)
        and items
        and all(hasattr(item, "serialize") and hasattr(item, "triples") for item in items)
    ):
        return [_of_graph(item, id, number) for number, item in enumerate(items, 1)]
    return None


def _of_graph(graph: Any, id: str | None, number: int) -> Source:
    """A graph of rdflib, written as it would be to a file; its own name is its id, unless that is a blank node."""
    is_dataset = hasattr(graph, "quads")
    own = str(graph.identifier) if type(graph.identifier).__name__ == "URIRef" else None
    if own is not None and own.startswith("urn:x-rdflib:"):  # what rdflib calls the default graph of a dataset
        own = None
    name = id or own or ("graph" if number == 1 else f"graph#{number}")
    text = graph.serialize(format="nquads" if is_dataset else "nt")
    data = text if isinstance(text, bytes) else text.encode()
    return Source(Path("graph.nq" if is_dataset else "graph.nt"), name, data)


def _in_memory(items: Any, format: str, id: str | None, suffixes: Collection[str]) -> Source:
    suffix = FORMATS.get(format.lower().replace("-", "").replace("/", "")) if isinstance(format, str) else None
    if suffix is None or suffix not in suffixes:
        known = ", ".join(name for name, ending in FORMATS.items() if ending in suffixes)
        raise UsageError("HG-024", f"the format {format!r}", fix=f"choose one of {known}")
    if isinstance(items, str):
        items = items.encode("utf-8", "surrogatepass")
    if not isinstance(items, (bytes, bytearray, memoryview)):
        fix = "give the text or the bytes of a document, or leave the format out"
        raise UsageError("HG-024", f"{type(items).__name__} with format={format!r}", fix=fix)
    name = "document" if id is None else id
    return Source(Path(f"document{suffix}"), name, bytes(items))


# --- what a path means ---


def find_sources(spec: str | os.PathLike[str], suffixes: Collection[str] = TABLE_SUFFIXES) -> list[Source]:
    """The files that `spec` means, in order; raises `UsageError` where there is none that fits."""
    text = os.fspath(spec)
    if text == PIPE:
        return [Source(None, PIPE)]
    path, fitting = Path(text), " ".join(suffixes)
    if os.path.isdir(text):
        found, problem = _in_folder(path, suffixes), f"no fitting file in the folder {text}"
    elif os.path.exists(text):
        if not _fits(path, suffixes) and not is_special(path):  # a named pipe needs no suffix
            ending = path.suffix or "no suffix"
            raise UsageError("HG-022", f"{text} ends in {ending}", fix=f"give a file that ends in {fitting}")
        return [Source(path, text, None, path.name)]
    elif glob.has_magic(text):
        fixed = Path(*takewhile(lambda part: not glob.has_magic(part), path.parts[:-1]))
        found, problem = _matching(text, suffixes), f"nothing that fits matches {text}"
        found = [each._replace(below=_below(Path(each.name), fixed)) for each in found]
    else:
        raise UsageError("HG-021", f"no such file: {text}", fix=_near(path, suffixes))
    if not found:
        raise UsageError("HG-023", problem, fix=f"a file that fits ends in {fitting}")
    return sorted(found, key=lambda source: source.name)


def _below(path: Path, folder: Path) -> str:
    return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()


def _fits(path: Path | str, suffixes: Collection[str]) -> bool:
    return suffix_of(path) in suffixes


def _in_folder(folder: Path, suffixes: Collection[str]) -> list[Source]:
    """The regular files below a folder; `.x` and `_x` are other programs' leavings (Spark's `_SUCCESS`)."""
    found: list[Source] = []
    waiting = [""]  # no recursion, as folders may lie thousands deep
    while waiting:
        parent = waiting.pop()
        with suppress(OSError), os.scandir(os.path.join(folder, parent)) as entries:  # where we may not look is nothing
            for entry in entries:
                path = os.path.join(parent, entry.name)
                if entry.name.startswith((".", "_")):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif _fits(path, suffixes) and entry.is_file():
                    name = path.replace(os.sep, "/")
                    found.append(Source(folder / name, name, None, name))
    return found


def _matching(pattern: str, suffixes: Collection[str]) -> list[Source]:
    """Files that match a glob, and what lies in folders that match, each once.

    `**` in a row mean what one does, but Python would come to a folder in as many ways as they divide its path.
    """
    try:
        texts = list(glob.iglob(_SEVERAL.sub("**", pattern), recursive=True))
    except RecursionError as error:  # it looks for each part inside of the look for the part before
        fix = "give the folder itself, of which everything is read"
        raise UsageError("HG-023", f"a glob over too many folders in each other: {pattern[:60]}…", fix=fix) from error
    found: dict[str, Source] = {}
    for text in texts:
        if os.path.isdir(text):
            for source in _in_folder(Path(text), suffixes):
                name = os.path.join(text, source.name)
                found[os.path.normpath(name)] = Source(source.path, name)
        elif _fits(text, suffixes) and os.path.isfile(text):
            found[os.path.normpath(text)] = Source(Path(text), text)
    return list(found.values())


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


# --- blocks of whole lines ---

PIECE = 1 << 22
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_blocks(source: Source) -> Iterator[bytes]:
    """The blocks of a file or of standard input."""
    if source.path is None:
        if sys.stdin is not None:  # None where the shell has closed it
            yield from _checked(cut_lines(_pipe_reader(sys.stdin.buffer)), source)
        return
    if source.data is not None:
        held = io.BytesIO(source.data)
        yield from _checked(cut_lines(lambda: held.read(PIECE)), source)
        return
    if source.compression is not None:
        with opened(source) as stream:
            yield from _checked(cut_lines(lambda: stream.read(PIECE)), source)
        return
    with source.path.open("rb", buffering=0) as file:
        read = _pipe_reader(file) if source.is_pipe else lambda: file.read(PIECE) or b""
        yield from _checked(cut_lines(read), source)


@contextmanager
def opened(source: Source) -> Iterator[Any]:
    """The bytes of a compressed file, as they are unpacked; raises OSError where they cannot be."""
    import pyarrow as pa

    try:
        with pa.input_stream(str(source.path), compression=cast(Any, source.compression)) as stream:
            yield stream
    except pa.ArrowException as error:
        raise OSError(0, f"no {source.compression} file: {str(error)[:80]}") from error


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

    def is_ready() -> bool:
        with suppress(OSError, ValueError):
            return bool(select.select([descriptor], [], [], 0)[0])
        return False

    def available() -> bytes:
        got = [os.read(descriptor, PIECE)]
        while got[-1] and sum(map(len, got)) < PIECE and is_ready():
            got.append(os.read(descriptor, PIECE))
        return b"".join(got)

    return available


# --- bulk loads ---

_LARGE = 50_000  # objects


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the collector of cyclic garbage while many objects are made that are all kept, and leaves it as it was.

    On 100,000 queries whose constants all differ a third of the time went to collections that found nothing. What a
    large load made moves to the oldest generation without being looked at: the next collection of the youngest would
    visit all of it, which took an eighth of the time. After small ones nothing is moved, or thousands of them would
    carry everybody's garbage to where it is collected last, and all at once.
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
