"""NDJSON lines against a twin that writes one row at a time with Python's own encoder."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.io.schemas import TableSchema, table_schema
from heliograph.io.write import ndjson_bytes

NOTIFICATIONS = table_schema("notifications")
TEXT = st.sampled_from(["", "s1", "s2", 'say "hi"', "back\\slash", "line\nend", "\x7f", "\u00e9", "\U0001f600", None])
_BROKEN = ['{"x":1} ', '{"x":NaN}', '{"x":}', "{}{}", '{"a":[{}', "{", "NaN", "not json", "[" * 5000]
_WHOLE = ["{}", "[1,2]", '{"bindings": [{"x":"Alice"}]}', '{"x":\n1}', "[1,\r\n2]", "5", '"text"']
EVIDENCE = st.sampled_from([None, "", *_WHOLE, *_BROKEN])
TIMES = st.sampled_from([None, datetime(2026, 11, 15, 8, 30, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 0, 5, tzinfo=UTC)])
ROWS = st.lists(st.tuples(TEXT, TEXT, TEXT, st.just("filter"), TEXT, TIMES, EVIDENCE), max_size=6)


def table_of(rows: list[tuple[Any, ...]], schema: TableSchema = NOTIFICATIONS) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema.arrow)


def nested(text: str | None) -> Any:
    """What a cell of JSON stands for in a line: the object or list that it is, else its text."""
    try:
        value = json.loads(text or "", parse_constant=int)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (dict, list)) else text


def twin(row: tuple[Any, ...]) -> dict[str, Any]:
    *texts, at, evidence = row
    shown = at and at.isoformat().replace("+00:00", "Z")
    return dict(zip(NOTIFICATIONS.names, (*texts, shown, nested(evidence)), strict=True))


@given(ROWS, st.integers(0, 3))
def test_a_line_is_what_a_json_encoder_writes_of_its_row(rows: list[tuple[Any, ...]], first: int) -> None:
    lines = ndjson_bytes(NOTIFICATIONS, table_of(rows).slice(first)).decode().split("\n")
    assert lines[-1] == ""
    assert [json.loads(line) for line in lines[:-1]] == [twin(row) for row in rows[first:]]
    assert all(json.dumps(row[0], ensure_ascii=False) in line for row, line in zip(rows[first:], lines))


def test_evidence_that_is_compact_stays_as_it_is() -> None:
    row = ("s", None, "p", "filter", "+", None, '{"bindings":[{"x":"a"}]}')
    line = b'{"subscription_id":"s","subscriber":null,"publication_id":"p","verb":"filter","change":"+","at":null,'
    line += b'"evidence":{"bindings":[{"x":"a"}]}}\n'
    assert ndjson_bytes(NOTIFICATIONS, table_of([row])) == line
    assert ndjson_bytes(NOTIFICATIONS, table_of([row, row])) == line * 2
    assert ndjson_bytes(NOTIFICATIONS, table_of([row, (*row[:6], "{}")])) == line + line.replace(
        b'{"bindings":[{"x":"a"}]}', b"{}"
    )


@pytest.mark.parametrize(("cost", "written"), [(2.5, b"2.5"), (float("inf"), b'"inf"'), (None, b"null")])
def test_numbers_and_lists_stand_without_quotes(cost: float | None, written: bytes) -> None:
    schema = table_schema("nodes")
    table = table_of([("n", None, cost, ["a", 'b"']), ("m", "x = 1", 1.0, None)], schema)
    assert ndjson_bytes(schema, table).splitlines() == [
        b'{"node_id":"n","targeting":null,"cost":' + written + b',"labels":["a","b\\""]}',
        b'{"node_id":"m","targeting":"x = 1","cost":1' + (b".0" if cost == float("inf") else b"") + b',"labels":null}',
    ]
