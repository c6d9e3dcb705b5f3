"""Indexed, by kernels: the same answers as asking every predicate, whatever they are."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.predicate import index as index_rows
from heliograph.predicate import index as index_search
from heliograph.predicate.index import PredicateIndex
from heliograph.predicate.layout import RUN_SIZE
from heliograph.workloads import route as workload
from tests.predicate.predicate_events import check_index, events, expected, plain_events, texts


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything but the newest two rows is indexed."""
    monkeypatch.setattr(index_rows, "TAIL", 3)


many_texts = st.lists(texts, min_size=1, max_size=9)


@given(listed=many_texts, given_events=st.lists(events, min_size=1, max_size=4))
def test_any_predicates_on_any_events(listed: list[str], given_events: list[dict[str, Any]]) -> None:
    pairs = [(str(number), text) for number, text in enumerate(listed)]
    check_index(PredicateIndex(pairs), pairs, given_events)


@given(listed=many_texts, given_events=st.lists(plain_events, min_size=1, max_size=70))
@settings(max_examples=40)
def test_several_blocks_of_plain_events(listed: list[str], given_events: list[dict[str, Any]]) -> None:
    pairs = [(str(number), text) for number, text in enumerate(listed)]
    check_index(PredicateIndex(pairs), pairs, given_events)


CASES = [
    ("word", "a = 'x'"),
    ("words", "a IN ('x', 'y')"),
    ("below", "n < 5"),
    ("from", "n >= 5"),
    ("between", "n BETWEEN 2 AND 6"),
    ("equal", "n = 9.5"),
    ("other", "a <> 'x'"),
    ("true", "b"),
    ("false", "b = FALSE"),
    ("null", "n IS NULL"),
    ("there", "n IS NOT NULL"),
    ("prefix", "a LIKE 'x%'"),
    ("after", "a >= 'y'"),
    ("before", "a < 'y'"),
    ("long prefix", "a LIKE 'a long prefix%'"),
    ("anything", "a LIKE '%z'"),
    ("numbers", "n IN (1, 5)"),
    ("not between", "NOT n BETWEEN 2 AND 6"),
    ("not in", "a NOT IN ('x', 'y')"),
    ("pair", "n < m"),
    ("not pair", "NOT n < m"),
    ("slow", "a ILIKE 'X%'"),
    ("mixed", "n IN (1, 'x')"),
    ("nested", "o.p = 3"),
    ("never", "n = 1 AND FALSE"),
    ("always", ""),
    ("empty range", "n BETWEEN 6 AND 2"),
    ("big", "n >= 9007199254740993"),
]
ATTRIBUTE_VALUES: dict[str, list[Any]] = {
    "a": ["x", "xyz", "y", "", "z", "a long prefix of a text", "a long prefiz", "éa", ["x", "q"], [], ["q"], 5, None],
    "n": [5, 1, 9.5, 2, 6.0001, -3, 2**53 + 1, [1, 9], ["x", 5], [], "5", True, [[5]], {"p": 1}],
    "b": [True, False, [False], 1],
    "m": [5, [4, 6], 10**30],
    "o": [{"p": 3}, [{"p": 3}, {"p": 4}], {"q": 1}, 3],
}


@pytest.mark.parametrize(("id", "text"), CASES, ids=[id for id, _ in CASES])
def test_each_kind_of_test_alone(id: str, text: str) -> None:
    """Among others that hold never, so that it is found by its own entries of the index, if it has any."""
    others = [(f"{id} {number}", f"z{number} = {number} AND k = 'k{number}'") for number in range(8)]
    given_events = [{name: value} for name, values in ATTRIBUTE_VALUES.items() for value in values]
    given_events += [{"n": 5, "m": value, "a": "x"} for value in ATTRIBUTE_VALUES["m"]] + [{}, {"unknown": 1}]
    index = PredicateIndex([(id, text), *others])
    for event in given_events:
        assert list(index.match(event)) == [expected([(id, text)], event)]


def test_duckdb_agrees_on_a_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_rows, "TAIL", 100)
    rng = np.random.default_rng(3)
    listed = workload.spell_targeting(workload.draw_targeting(rng, 400, 1 / 16))
    drawn = workload.draw_events(rng, 130)
    columns = {
        attribute.name: [attribute.values[number] for number in drawn[:, place].tolist()]
        for place, attribute in enumerate(workload.ATTRIBUTES)
    }
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.register("drawn", pa.table({"number": range(len(drawn)), **columns}))
    connection.execute("CREATE TABLE events AS FROM drawn")
    theirs = set[tuple[int, str]]()
    for id, text in enumerate(listed):
        accepting = connection.execute(f"SELECT number FROM events WHERE {text}").fetchall()
        theirs.update((number, str(id)) for (number,) in accepting)
    connection.close()
    index = PredicateIndex([(str(number), text) for number, text in enumerate(listed)])
    found = index.match(pa.array([workload.spell_event(event) for event in drawn]))
    assert {(event, id) for event, ids in enumerate(found) for id in ids} == theirs
    assert len(theirs) > 1000


def test_a_form_that_would_explode_is_indexed_as_the_tree_it_is() -> None:
    """30 pairs of alternatives would be 2 to the 30 conjunctions."""
    parts = [f"(a{number} = 1 OR b{number} = 'x')" for number in range(30)]
    others = [(str(number), f"c = 'word {number}'") for number in range(40)]
    index = PredicateIndex([("exploding", " AND ".join(parts)), *others])
    segments = index._version.segments
    assert sum(len(segment.lows) + len(segment.word_groups) for segment in segments) <= 2 + len(others)
    assert index._source.targeting.nbytes < 100 * 41
    yes = {f"a{number}": 1 for number in range(0, 30, 2)} | {f"b{number}": "x" for number in range(1, 30, 2)}
    found = index.match([yes, yes | {"a4": 2}, {"a0": 2}])
    assert list(found) == [("exploding",), (), ()]
    assert found.stats.candidates <= 2 + 2 * 3  # and the two newest rows, which are not indexed yet


def test_candidates_are_few_where_predicates_are_selective(monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrow ranges on one attribute, words of another: a candidate is hardly ever in vain."""
    monkeypatch.setattr(index_rows, "TAIL", 1000)
    ranges = [(f"r{low}", f"x BETWEEN {low} AND {low + 3}") for low in range(0, 4000, 4)]
    words = [(f"w{number}", f"word = 'w{number}' AND x >= 0") for number in range(1000)]
    index = PredicateIndex([*ranges, *words])
    found = index.match([{"x": 2001, "word": "w7"}, {"x": 5000, "word": "w8"}, {"x": -1, "word": "w9"}])
    assert list(found) == [("r2000", "w7"), ("w8",), ()]
    assert found.stats.candidates <= 3 + 2 * RUN_SIZE


def test_one_expression_of_many_ids_is_evaluated_once() -> None:
    index = PredicateIndex([(str(number), "x = 1" if number % 2 else "x=1") for number in range(100)])
    found = index.match({"x": 1})
    assert len(found[0]) == 100
    assert found.stats.candidates <= 3  # once, and for each of the newest rows


def test_many_results_are_turned_and_few_are_not() -> None:
    """200 predicates that hold for nearly all of 100 events, then for hardly any."""
    pairs = [(str(number), f"x >= {number}") for number in range(200)]
    index = PredicateIndex(pairs)
    check_index(index, pairs, [{"x": 150 + number} for number in range(100)])
    check_index(index, pairs, [{"x": number % 3 - 2} for number in range(100)])


@given(listed=many_texts, given_events=st.lists(events, max_size=4))
@settings(max_examples=30)
def test_plain_python_gives_the_same(listed: list[str], given_events: list[dict[str, Any]]) -> None:
    pairs = [(str(number), text) for number, text in enumerate(listed)]
    index = PredicateIndex(pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_search, "_is_small", lambda *_: True)
        check_index(index, pairs, given_events)


def test_events_that_have_few_of_many_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some predicates require attributes, one of two sets of them, more than are looked at, or none."""
    monkeypatch.setattr(index_rows, "TAIL", 100)
    rng = np.random.default_rng(8)
    pairs = [(str(number), _wide(rng.integers(0, 40, 6).tolist(), number)) for number in range(400)]
    given_events = [
        {f"a{name}": int(rng.integers(0, 3)) for name in rng.permutation(40)[:6].tolist()} for _ in range(100)
    ]
    index = PredicateIndex(pairs)
    check_index(index, pairs, given_events)
    assert index.match(given_events).stats.candidates < 400 * 100 // 2


def _wide(names: list[int], number: int) -> str:
    a, b, c, d, e, f = (f"a{name}" for name in names)
    forms = (
        f"{a} >= 1 AND {b} <= 1 OR {c} = 2 AND {d} <> 0",
        f"{a} >= 0 AND ({b} = 1 OR {c} = 1)",
        f"{a} >= 0 AND {b} >= 0 AND {c} >= 0 AND {d} >= 0 AND {e} >= 0",
        f"{a} = 1 OR {b} IS NULL AND {c} = 2",
        f"{a} IS NULL AND {b} IS NULL",
        f"({a} = 1 OR {b} = 1) AND ({c} = 1 OR {d} = 1 OR {e} < 2) AND {f} >= 0",
        f"NOT ({a} BETWEEN 1 AND 2) OR {b} IN (1, 2) AND {c} NOT IN (0)",
    )
    return forms[number % (len(forms) if number % 40 == 0 else 3)]
