"""Pipes: rows come as they arrive, publications when they end, and a reader that leaves is no error."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heliograph.io.publications import complete_publications
from heliograph.io.sources import find_sources
from heliograph.io.tables import TableRows, read_table


class _Stdin:
    """Standard input on a file descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.buffer = os.fdopen(descriptor, "rb", buffering=0)


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    reading, writing = os.pipe()
    stdin = _Stdin(reading)
    monkeypatch.setattr(sys, "stdin", stdin)
    yield writing
    stdin.buffer.close()


def row(publication_id: str, number: int) -> bytes:
    return b'{"publication_id":"%s","subject":"s","property":"p","object":%d}\n' % (publication_id.encode(), number)


def objects(read: TableRows) -> list[Any]:
    return list(read.table["object"].to_pylist())


def test_rows_come_as_they_arrive(pipe: int) -> None:
    reads = read_table("publications", find_sources("-"))
    os.write(pipe, b"\xef\xbb\xbf" + row("d", 1))
    assert objects(next(reads)) == ["1"]
    os.write(pipe, row("d", 2) + row("d", 3) + row("d", 4)[:10])
    assert objects(next(reads)) == ["2", "3"]
    os.write(pipe, row("d", 4)[10:] + b"broken\n")
    last = next(reads)
    assert (objects(last), int(last.rows[0]), last.source) == (["4"], 4, "-")
    assert [(entry.source, entry.item) for entry in last.rejected] == [("-", "5")]
    os.write(pipe, row("d", 6).rstrip())
    os.close(pipe)
    assert [objects(read) for read in reads] == [["6"]]


def test_publications_come_when_they_end(pipe: int) -> None:
    pieces = complete_publications(read_table("publications", find_sources("-")))
    os.write(pipe, row("d1", 1))
    os.write(pipe, row("d1", 2) + row("d2", 3))
    assert objects(next(pieces)) == ["1", "2"]
    os.write(pipe, row("d2", 4))
    os.write(pipe, row("d3", 5))
    assert objects(next(pieces)) == ["3", "4"]
    os.close(pipe)
    assert [objects(piece) for piece in pieces] == [["5"]]


def test_an_empty_pipe_is_no_rows(pipe: int) -> None:
    os.close(pipe)
    assert list(read_table("publications", find_sources("-"))) == []


def test_a_stream_without_a_descriptor_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(row("d", 1) + row("d", 2))))
    assert [objects(read) for read in read_table("publications", find_sources("-"))] == [["1", "2"]]


def test_a_closed_standard_input_is_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert list(read_table("publications", find_sources("-"))) == []


def test_a_named_pipe_is_read_as_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "pipe.ndjson"
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: path.write_bytes(row("d", 1)))
    thread.start()
    assert [objects(read) for read in read_table("publications", find_sources(path))] == [["1"]]
    thread.join()
