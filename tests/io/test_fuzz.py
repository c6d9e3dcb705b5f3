"""Garbage in: a clean read or rejections, never another exception, and every table that comes out is sound."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.io.schemas import TABLES
from heliograph.io.sources import Source
from heliograph.io.tables import as_table, read_all
from heliograph.io.write import open_writer
from tests.io.strategies import tables

SUFFIXES = (".parquet", ".csv", ".ndjson")
QUIET = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
_PIECES = st.sampled_from(
    [
        *(b'"', b'""', b",", b"\n", b"\r", b"{", b"}", b"[", b"]", b":", b"\\u", b"\\ud800", b"\0", b"-1"),
        *(b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"PAR1", b"1e999", b"NaN", b"null", b'"seq":', b'"at":'),
        b'{"op":"+","subject":"a","property":"p","object":"o"}\n',
        b"op,subject,property,object\n",
    ]
)
GARBAGE = st.lists(_PIECES | st.binary(max_size=6), max_size=14).map(b"".join)


@pytest.fixture(autouse=True)
def _arrow_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks go through Arrow's reader too."""
    monkeypatch.setattr("heliograph.io.ndjson._SMALL", 0)


def check(path: Path, name: str) -> None:
    whole = read_all(name, [Source(path, path.name)])
    whole.table.validate(full=True)
    assert whole.table.schema == TABLES[name].arrow
    assert len(whole.table.to_pylist()) == whole.table.num_rows
    assert all(entry.code.startswith("HG-2") and entry.source == path.name for entry in whole.rejected)
    assert all(whole.place(row).source == path.name for row in range(whole.table.num_rows))


@pytest.mark.parametrize("suffix", SUFFIXES)
@QUIET
@given(content=GARBAGE, name=st.sampled_from(["updates", "nodes", "events"]))
def test_garbage(tmp_path: Path, suffix: str, content: bytes, name: str) -> None:
    path = tmp_path / f"garbage{suffix}"
    path.write_bytes(content)
    check(path, name)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["updates", "nodes", "notifications"])
@QUIET
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_damaged_files(tmp_path: Path, suffix: str, name: str, data: st.DataObject, seed: int) -> None:
    path = tmp_path / f"damaged{suffix}"
    with open_writer(name, path) as writer:
        writer.write(data.draw(tables(TABLES[name])))
    path.write_bytes(_damaged(path.read_bytes(), random.Random(seed)))
    check(path, name)


def _damaged(content: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 8))):
        at = chance.randrange(len(content) + 1)
        content = chance.choice(
            (
                content[:at],
                content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :],
                content[:at] + chance.randbytes(3) + content[at:],
                content[:at] + content[at + chance.randrange(1, 9) :],
            )
        )
    return content


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.parametrize("name", ["updates", "edges", "constraints"])
@settings(max_examples=40, deadline=None)
@given(value=_ANYTHING)
def test_any_python_value_is_taken_or_refused(name: str, value: object) -> None:
    columns = TABLES[name].columns
    read = as_table(name, [{column.name: value for column in columns}, value, [value] * len(columns)])
    assert read.table.num_rows + len(read.rejected) == 3
    assert isinstance(read.table, pa.Table)
