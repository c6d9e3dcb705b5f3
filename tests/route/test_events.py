"""Events read column by column, against the same rules applied row by row."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import PublicationError
from heliograph.predicate.attributes import NameTable, event_cells
from heliograph.route.read import read_events
from tests.predicate.cell_cases import cell_rows

Rows = list[tuple[str | None, str | None, str | None]]
_IDS = st.sampled_from(["e1", "e2", "e3", "", None])
_PUBLISHERS = st.sampled_from(["p", "q", "", None])
_TEXTS = st.sampled_from(
    [
        None,
        "",
        " ",
        "{}",
        '{"a":1}',
        '{"a":"x","labels":["s"]}',
        '{"labels":5}',
        "{",
        "[]",
        '{"a":NaN}',
        '{"labels":"s"}',
    ]
)
_ROWS = st.lists(st.tuples(_IDS, _PUBLISHERS, _TEXTS), max_size=10)


def _table(rows: Rows) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    names = ("event_id", "publisher", "attributes")
    return pa.table({name: pa.array(list(column), pa.string()) for name, column in zip(names, columns, strict=True)})


def naive_read(rows: Rows, with_labels: bool) -> tuple[list[str | None], list[tuple[str, str | None]]]:
    """The ids of the good events, and the code and item of the refused ones, row by row."""
    good: list[str | None] = []
    refused: list[tuple[str, str | None]] = []
    for number, (id, publisher, text) in enumerate(rows, 1):
        code = _naive_code(text, with_labels) if id and publisher else "HG-640"
        code = code or ("HG-641" if id in good else None)
        if code:
            refused.append((code, id or str(number)))
        else:
            good.append(id)
    return good, refused


def _naive_code(text: str | None, with_labels: bool) -> str | None:
    try:
        tree = json.loads(text) if text and text.strip() else {}
    except ValueError:
        return "HG-642"
    if not isinstance(tree, dict) or tree.get("a") != tree.get("a"):
        return "HG-642"
    return "HG-644" if with_labels and tree.get("labels") == 5 else None


@settings(max_examples=80, deadline=None)
@given(_ROWS, st.booleans(), st.booleans(), st.booleans())
def test_rows_are_accepted_and_refused_one_by_one(
    rows: Rows, with_labels: bool, compiled: bool, encoded_first: bool
) -> None:
    names = NameTable()
    names.attribute(("a",))
    events = read_events(_table(rows), with_labels)
    cells = events.encode(names, compiled) if encoded_first else None
    good, refused = naive_read(rows, with_labels)
    assert events.ids.to_pylist() == [event.id for event in events] == good
    assert events.publishers.to_pylist() == [event.publisher for event in events]
    assert [(entry.code, entry.item) for entry in events.rejected] == refused
    assert [error.code for error in events.errors] == [code for code, _ in refused]
    cells = cells or events.encode(names, compiled)
    assert len(events) == len(good) == len(cells.offsets) - 1
    for row in range(len(events)):
        tree = events.event(row).attributes._tree
        assert cell_rows(cells, row) == event_cells(names, tree)


def test_messages_places_and_order() -> None:
    rows: Rows = [
        ("e1", "p", "{"),
        ("e1", "p", "{}"),
        (None, "p", "{}"),
        ("e3", "", "{"),
        ("e1", "q", "{}"),
        ("e4", "p", '{"labels":[1]}'),
    ]
    events = read_events(_table(rows), True)
    assert [(entry.item, entry.code) for entry in events.rejected] == [
        ("e1", "HG-642"),
        ("3", "HG-640"),
        ("e3", "HG-640"),
        ("e1", "HG-641"),
        ("e4", "HG-644"),
    ]
    messages = [entry.message for entry in events.rejected]
    assert "attributes that are not JSON: Expecting property name" in messages[0]
    assert "an event without event_id (item 3)" in messages[1]
    assert "an event without publisher (item 4)" in messages[2]
    assert "the event 'e1' comes twice in one call (item 5)" in messages[3]
    assert "the attribute labels is [1] (item 6)" in messages[4]
    assert events.ids.to_pylist() == ["e1"]


def test_what_reading_refused_comes_first() -> None:
    items = [{"event_id": "a", "publisher": "p", "attributes": "{"}, 5, {"event_id": "b", "publisher": "p"}]
    events = read_events([*items, {"event_id": "c", "publisher": "p", "attributes": {"a": [1]}}], False)
    assert [entry.code for entry in events.rejected] == ["HG-208", "HG-202", "HG-642"]
    assert [error.code for error in events.errors] == ["HG-642"]
    assert events.event(0).attributes.value(("a",)) == [1]
    assert events.source is None


def test_columns_in_chunks() -> None:
    part = _table([("a", "p", '{"a":1}'), ("b", "p", '{"a":2}')])
    other = _table([("c", "p", "{"), ("b", "p", "{}"), ("d", "q", '{"a":3}')])
    names = NameTable()
    names.attribute(("a",))
    events = read_events(pa.concat_tables([part, other]), False)
    cells = events.encode(names, True)
    assert events.ids.to_pylist() == ["a", "b", "d"]
    assert [row.number for event in range(3) for row in cell_rows(cells, event)] == [1, 2, 3]


def test_an_accepted_event_that_fails_later_is_no_event_without_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's decoder goes as deep as the stack is free: what it took once it may refuse from a deeper call."""
    from heliograph.predicate import attributes

    events = read_events(_table([("a", "p", '{"a":{"a":1}}'), ("b", "p", "{")]), False)
    assert len(events) == 1

    class Deep:
        def decode(self, text: str) -> Any:
            raise RecursionError

    monkeypatch.setattr(attributes, "_DECODER", Deep())
    with pytest.raises(PublicationError, match="nested too deeply"):
        events.encode(NameTable(), False)
