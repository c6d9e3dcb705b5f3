"""Bytes to blocks of whole lines, from a file in large pieces or from a pipe as they come.

The law: joined, the blocks are the input without its byte order mark; each ends with a line's end, except perhaps the
last. A pipe never waits for more while a whole line is at hand.
"""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO

from heliograph.errors import Place, TableError
from heliograph.tables.sources import Source

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
