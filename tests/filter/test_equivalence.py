"""Every algorithm gives the notifications of the plain one: the same pairs, order and evidence, however publications
arrive and whatever happened to the subscriptions before.

An algorithm that joins `ALGORITHMS` is tested here without being named. EXAMPLES=20 in the environment searches longer.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph import Filter
from heliograph.filter import strategy as indexed
from heliograph.filter.encode import encode
from heliograph.filter.interests import closure_of
from heliograph.filter.strategy import ALGORITHMS
from heliograph.model import Notifications
from heliograph.terms import PREFIXES, plain_name
from heliograph.vocabulary import Vocabulary
from tests.filter.strategies import RIVALS, Interest, Workload, examples, subscribe, workloads

BINDINGS = 3


def table(workload: Workload) -> pa.Table:
    """The publications as one Arrow table, their rows dealt out in turn, so that no publication lies in one piece."""
    dealt = [(position, id, *cells) for id, triples in workload.publications for position, cells in enumerate(triples)]
    rows = [row[1:] for row in sorted(dealt, key=lambda row: row[0])]
    names = ("publication_id", "subject", "property", "object")
    return pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, zip(*rows))})


def assert_alike(found: Notifications, expected: Notifications, what: Any) -> None:
    """The same notifications, and as complete; what was looked at lies between the matches and all pairs."""
    assert (what, list(found)) == (what, list(expected))
    assert (what, found.complete, found.stats.truncated) == (what, expected.complete, expected.stats.truncated)
    stats = found.stats
    assert (what, stats.subscriptions, stats.publications) == (
        what,
        expected.stats.subscriptions,
        expected.stats.publications,
    )
    assert stats.notifications == len(found) <= stats.candidates <= stats.subscriptions * stats.publications, what


def check_batches(algorithm: str, workload: Workload) -> None:
    """In one call, one by one, with evidence and without."""
    plain, engine = workload.engine("naive"), workload.engine(algorithm)
    for bindings in (BINDINGS, 0):
        expected = plain.publish(workload.publications, bindings=bindings)
        found = engine.publish(workload.publications, bindings=bindings)
        assert_alike(found, expected, (algorithm, bindings))
        assert (algorithm, found.table.to_pylist()) == (algorithm, expected.table.to_pylist())
    apart = [each for publication in workload.publications for each in engine.publish(publication)]
    assert (algorithm, apart) == (algorithm, list(expected))


def check_ways(algorithm: str, workload: Workload) -> None:
    """As items, as a table, and interned already: over the engine's vocabulary, before it grew, or over another."""
    plain, engine = workload.engine("naive"), Filter(workload.taxonomy, algorithm=algorithm)
    before = encode(workload.publications, engine.vocabulary, PREFIXES).publications
    subscribe(engine, workload.interests)
    over = encode(workload.publications, engine.vocabulary, PREFIXES).publications
    foreign = Vocabulary()
    foreign.intern_many([plain_name(name) for name in ("r", "other", "K", "A", "p")])  # other ids than the engine's
    elsewhere = encode(workload.publications, foreign, PREFIXES).publications
    expected = plain.publish(workload.publications, bindings=BINDINGS)
    for way, given_publications in {"before": before, "over": over, "elsewhere": elsewhere}.items():
        assert_alike(engine.publish(given_publications, bindings=BINDINGS), expected, (algorithm, way))
    rows = table(workload)
    assert_alike(engine.publish(rows), plain.publish(rows), (algorithm, "table"))
    dealt = [dict(zip(rows.schema.names, row)) for row in zip(*rows.to_pydict().values())]
    assert_alike(engine.publish(dealt), plain.publish(rows), (algorithm, "rows"))


def _changed(engine: Filter, interests: list[Interest], gone: list[int], back: list[int]) -> Filter:
    """Unsubscribes some, in batch and alone, and subscribes to some of them again: they come last then."""
    if gone:
        engine.unsubscribe([interests[number].id for number in gone[1:]])
        engine.unsubscribe(interests[gone[0]].id)
    subscribe(engine, [interests[number] for number in back])
    return engine


def check_changes(algorithm: str, workload: Workload, gone: list[int], back: list[int]) -> None:
    """After unsubscribing and subscribing again, and once more when saved and loaded."""
    plain, engine = (_changed(workload.engine(each), workload.interests, gone, back) for each in ("naive", algorithm))
    expected = plain.publish(workload.publications, bindings=BINDINGS)
    assert_alike(engine.publish(workload.publications, bindings=BINDINGS), expected, (algorithm, "changed"))
    with tempfile.TemporaryDirectory() as folder:
        engine.save(Path(folder) / "saved")
        loaded = Filter.load(Path(folder) / "saved")
    assert loaded.algorithm == algorithm
    assert_alike(loaded.publish(workload.publications, bindings=BINDINGS), expected, (algorithm, "loaded"))
    for one in (plain, engine, loaded):
        one.unsubscribe([workload.interests[number].id for number in back])
    expected = plain.publish(workload.publications)
    assert_alike(engine.publish(workload.publications), expected, (algorithm, "removed"))
    assert_alike(loaded.publish(workload.publications), expected, (algorithm, "loaded, removed"))


@st.composite
def changes(draw: st.DrawFn) -> tuple[Workload, list[int], list[int]]:
    """A workload, the numbers of what is unsubscribed, and of what of it comes back."""
    workload = draw(workloads())
    numbers = range(len(workload.interests))
    gone = draw(st.lists(st.sampled_from(numbers), unique=True)) if numbers else []
    return workload, gone, draw(st.lists(st.sampled_from(gone), unique=True)) if gone else []


@examples(50)
@given(workloads())
def test_in_batches_and_one_by_one(workload: Workload) -> None:
    for algorithm in RIVALS:
        check_batches(algorithm, workload)


@examples(25)
@given(workloads())
def test_however_the_publications_arrive(workload: Workload) -> None:
    for algorithm in RIVALS:
        check_ways(algorithm, workload)


@examples(20)
@given(changes())
def test_after_changes_and_when_loaded(change: tuple[Workload, list[int], list[int]]) -> None:
    for algorithm in RIVALS:
        check_changes(algorithm, *change)


@examples(12)
@given(workloads(most=80))
def test_with_large_families(workload: Workload) -> None:
    for algorithm in RIVALS:
        check_batches(algorithm, workload)


@examples(15)
@given(workloads(most=12))
def test_with_a_taxonomy_too_large_for_a_closure(workload: Workload) -> None:
    """Then classes are walked to in every publication, as in one that has sub-classes of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexed, "closure_of", partial(closure_of, limit=0))
        check_batches("indexed", workload)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nothing_at_all(algorithm: str) -> None:
    engine = Filter(algorithm=algorithm)
    assert list(engine.publish([])) == list(engine.publish([("d", [("A", "p", "B")])])) == []
    subscribe(engine, [Interest("s", "ASK { ?x ?y ?z }")])
    engine.unsubscribe("s")
    assert list(engine.publish([("d", [("A", "p", "B")])])) == []


def _published(algorithm: str, rows: list[tuple[str, str, str, str]]) -> Notifications:
    engine = Filter(algorithm=algorithm)
    subscribe(engine, [Interest("s", "ASK { :A :p ?x }")])
    return engine.publish(rows)
