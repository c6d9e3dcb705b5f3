"""Updates as they come: shapes, numbers, and rows that must be refused without losing the others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from heliograph import Updates, UsageError, Watch
from heliograph.terms import Position

ANY = ("any", "SELECT * { ?s ?p ?o }")


def watch(**options: Any) -> Watch:
    made = Watch(**options)
    made.subscribe(ANY)
    return made


def seqs(notifications: Any) -> list[tuple[str, str]]:
    return [(n.publication_id, n.change) for n in notifications]


def codes(notifications: Any) -> list[tuple[str, str]]:
    return [(rejected.item, rejected.code) for rejected in notifications.rejected]


GOOD = ("+", "a", "p", "b")


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (("*", "a", "p", "b"), "HG-621"),
        ({"op": None, "subject": "a", "property": "p", "object": "b"}, "HG-621"),
        ({"op": "", "subject": "a", "property": "p", "object": "b"}, "HG-621"),
        (("-", "a", "p", None), "HG-622"),
        (("-", "a", None, "b"), "HG-622"),
        (("-", "a", "", "b"), "HG-622"),
        (("+", "a", None, None), "HG-101"),
        (("=", "a", "p", None), "HG-101"),
        (("-", None, None, None), "HG-101"),
        (("+", '"a"', "p", "b"), "HG-102"),
        (("+", "a", "_:p", "b"), "HG-102"),
        (("+", "a", "ex:p", "b"), "HG-104"),
        (("+", "a", "p", "?x"), "HG-106"),
        (("+", "a", "p", "b", -1.0), "HG-624"),
        (("+", "a", "p", "b", float("inf")), "HG-624"),
        (("+", "a", "p", "b", "heavy"), "HG-204"),
        (("+", "a"), "HG-101"),
        (("a", "p", "b"), "HG-208"),
        ({"subject": "a"}, "HG-202"),
    ],
)
def test_a_bad_row_loses_no_other(bad: Any, code: str) -> None:
    published = watch().publish([GOOD, bad, ("+", "a", "p", "c")])
    assert codes(published) == [("2", code)]
    assert seqs(published) == [("1", "+"), ("3", "+")]
    assert published.stats.publications == 2
    assert published.stats.rejected == 1


def test_a_refusal_names_column_row_and_fix() -> None:
    (rejected,) = watch().publish([GOOD, ("+", "a", "ex:p", "b")]).rejected
    assert "'property'" in rejected.message
    assert "item 2" in rejected.message
    assert "--prefix ex=" in rejected.message


def test_a_time_beyond_the_calendar() -> None:
    at = pa.array([None, 9_000_000_000_000_000_000 // 10], pa.int64()).cast(pa.timestamp("us", "UTC"))
    table = pa.table({"op": ["+"] * 2, "subject": ["a"] * 2, "property": ["p"] * 2, "object": ["b", "c"], "at": at})
    published = watch().publish(table)
    assert codes(published) == [("2", "HG-204")]
    assert seqs(published) == [("1", "+")]


def test_a_window_needs_times() -> None:
    published = watch(window="1d").publish([GOOD, (*GOOD, None, datetime(2026, 1, 1, tzinfo=UTC))])
    assert codes(published) == [("1", "HG-625")]
    assert [(n.publication_id, n.at) for n in published] == [("2", datetime(2026, 1, 1, tzinfo=UTC))]


def test_a_window_of_updates_does_not() -> None:
    assert seqs(watch(window_updates=1).publish([GOOD, ("+", "a", "p", "c")])) == [("1", "+"), ("2", "-"), ("2", "+")]


# --- seqs -------------------------------------------------------------------------------------------------------


def numbered(*numbers: int | None) -> list[dict[str, Any]]:
    return [
        {"seq": seq, "op": "+", "subject": "a", "property": "p", "object": f"o{row}"} for row, seq in enumerate(numbers)
    ]


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_a_seq_must_rise(batch: int) -> None:
    made, rows = watch(), numbered(3, 5, 5, 4, -1, 9, 8)
    parts = [made.publish(rows[start : start + batch]) for start in range(0, len(rows), batch)]
    assert [line for part in parts for line in seqs(part)] == [("3", "+"), ("5", "+"), ("9", "+")]
    assert [code for part in parts for _, code in codes(part)] == ["HG-623"] * 4


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_a_missing_seq_follows_the_last(batch: int) -> None:
    made, rows = watch(), numbered(None, 10, None, 12, None, 11, None)
    parts = [made.publish(rows[start : start + batch]) for start in range(0, len(rows), batch)]
    assert [seq for part in parts for seq, _ in seqs(part)] == ["1", "10", "11", "12", "13", "14"]


# --- shapes -----------------------------------------------------------------------------------------------------


def test_shapes_of_updates() -> None:
    made = watch()
    assert seqs(made.publish(())) == []
    assert seqs(made.publish({"op": "+", "subject": "a", "property": "p", "object": "b"})) == [("1", "+")]
    assert seqs(made.publish(pa.table({"op": ["-"], "subject": ["a"], "property": ["p"], "object": ["b"]}))) == [
        ("2", "-")
    ]
    assert seqs(made.publish([(9, "+", "a", "p", "b", 1.5)])) == [("9", "+")]
    assert seqs(made.publish([("-", "a")])) == [("10", "-")]
    with pytest.raises(UsageError):
        made.publish(5)


def test_blank_nodes_are_constants_by_label() -> None:
    made = watch()
    assert seqs(made.publish([("+", "_:x", "p", "_:y"), ("+", "_:x", "p", "_:y"), ("-", "_:y")])) == [
        ("1", "+"),
        ("3", "-"),
    ]


def test_prefixes() -> None:
    made = Watch(mode="change", prefixes={"ex": "http://example.org/"})
    made.subscribe(("s", "ASK { ex:a ex:p 5 }"))
    assert seqs(made.publish([("+", "<http://example.org/a>", "ex:p", "05")])) == [("1", "+")]


# --- batches of ids -----------------------------------------------------------------------------------------------

MIXED = [GOOD, ("?", "a"), ("+", "a", "p", "c"), ("-", "a", "p", "b"), ("+", '"a"', "p", "b"), ("-", "c")]


def test_an_encoded_batch_is_no_update_yet() -> None:
    made = watch()
    made.encode(MIXED)
    assert (made.seq, made.stats().publications) == (None, 0)


def test_an_encoded_batch_keeps_its_seqs() -> None:
    made = watch()
    updates = made.encode(numbered(4, None, 9))
    assert seqs(made.publish(updates)) == [("4", "+"), ("5", "+"), ("9", "+")]
    assert codes(made.publish(updates)) == [("1", "HG-623"), ("3", "HG-623")]
    assert made.seq == 10


def test_a_window_needs_times_of_encoded_batches_too() -> None:
    made = watch(window="1d")
    assert codes(made.publish(made.encode([GOOD]))) == [("1", "HG-625")]


def test_ids_are_published() -> None:
    made = watch()
    cells = pa.array(["a", "p", "b"])
    a, p, b = made.vocabulary.intern_cells(cells, Position.OBJECT).ids.tolist()
    assert seqs(made.publish(Updates.of(made.vocabulary, ([a, b], [p, p], [b, a])))) == [("1", "+"), ("2", "+")]
    assert seqs(made.publish(Updates.of(made.vocabulary, ([a], [-1], [-1]), 3))) == [("3", "-"), ("3", "-")]


def test_an_encoded_batch_may_be_loaded() -> None:
    made = watch()
    assert made.load_graph(made.encode(MIXED)).accepted == 4
    assert seqs(made.publish([("-", "a", "p", "c"), ("-", "a", "p", "b")])) == []
