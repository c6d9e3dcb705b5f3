"""Segments: whatever the order of merges, a version holds exactly what was added and not removed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from heliograph import Filter
from heliograph.filter import segment as module
from heliograph.filter.interests import Interest
from heliograph.filter.search import search
from heliograph.filter.segment import Segment, Segments, SegmentsVersion
from heliograph.filter.strategy import IndexedMatcher
from tests.filter.index_worlds import (
    Answers,
    Graph,
    answers_of,
    batch_of,
    columns_of,
    draw_graph,
    draw_interest,
    draw_pattern,
    segment_of,
)

RANDOM = Random(7)
GRAPHS: list[Graph] = [draw_graph(RANDOM) for _ in range(4)]
POOL: list[Interest] = [draw_interest(RANDOM, draw_pattern(RANDOM, GRAPHS)) for _ in range(60)]
BATCH = batch_of(GRAPHS)
VERDICTS: Answers = answers_of(search(segment_of(POOL), BATCH, 0))


def number(interest: int, time: int) -> int:
    """Numbers grow with time and say which interest of the pool it is."""
    return time * len(POOL) + interest


def found_in(version: SegmentsVersion) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Sure and doubtful pairs; nothing is in two segments."""
    parts = [answers_of(search(segment, BATCH, version.stamp)) for segment in version.segments]
    sure = [pair for part in parts for pair in part.sure]
    doubtful = [pair for part in parts for pair in part.doubtful]
    assert len(sure) == len(set(sure))
    assert len(doubtful) == len(set(doubtful))
    return set(sure), set(doubtful)


def check_version(version: SegmentsVersion, alive: set[int]) -> None:
    sure, doubtful = found_in(version)
    assert version.size == len(alive)
    assert sure == {
        (row, each) for each in alive for row in range(len(GRAPHS)) if (row, each % len(POOL)) in VERDICTS.sure
    }
    expected = {
        (row, each) for each in alive for row in range(len(GRAPHS)) if (row, each % len(POOL)) in VERDICTS.doubtful
    }
    assert doubtful == expected


class History:
    """Adds and removes at random."""

    def __init__(self, seed: int) -> None:
        self.random, self.segments, self.alive, self.time = Random(seed), Segments(), set[int](), 0

    def add(self, size: int) -> None:
        self.time += 1
        chosen = sorted(self.random.sample(range(len(POOL)), size))
        numbers = [number(each, self.time) for each in chosen]
        self.segments.add(columns_of([POOL[each] for each in chosen], numbers), [f"o{each}" for each in numbers])
        self.alive |= set(numbers)

    def remove(self, size: int) -> None:
        numbers = self.random.sample(sorted(self.alive), min(size, len(self.alive)))
        self.segments.remove(numbers)
        self.alive -= set(numbers)

    def step(self) -> None:
        if self.random.random() < 0.5:
            self.add(self.random.choice([0, 1, 1, 2, 30]))
        else:
            self.remove(self.random.choice([1, 3, 20]))


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TAIL": 2, "RATIO": 2, "LARGE": 6, "WAITING": 3}.items():
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("tiny")
def test_versions_hold_what_was_added_and_not_removed(seed: int) -> None:
    history, held = History(seed), []
    for _ in range(25):
        history.step()
        held.append((history.segments.version, set(history.alive)))
    for version, alive in held[-4:]:
        check_version(version, alive)
    history.segments.wait()
    check_version(history.segments.version, history.alive)


def test_single_additions_wait_and_are_built_together() -> None:
    history = History(1)
    for _ in range(5):
        history.add(1)
    gone = min(history.alive)
    history.segments.remove([gone])  # it was never built
    history.alive.remove(gone)
    (segment,) = history.segments.version.segments
    assert len(segment) == 4
    check_version(history.segments.version, history.alive)


def test_segments_are_few() -> None:
    history = History(2)
    for _ in range(60):
        history.add(30)
        history.add(1)
    history.segments.wait()
    sizes = [len(segment) for segment in history.segments.version.segments]
    assert sum(sizes) == len(history.alive) == 60 * 31
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) <= 8


def test_an_older_version_still_sees_the_last_member_of_a_structure() -> None:
    segments = Segments()
    segments.add(columns_of([Interest(((0, 0, 1),)), Interest(((1, 0, 1),)), Interest(((1, 0, 2),))]), ["a", "b", "c"])
    older, batch = segments.version, batch_of([((0, 0, 1), (1, 0, 1))])
    segments.remove([0])
    newer = segments.version
    segments.remove([1, 2])

    def seen(version: SegmentsVersion) -> set[tuple[int, int]]:
        return {pair for each in version.segments for pair in answers_of(search(each, batch, version.stamp)).sure}

    assert (seen(older), seen(newer), seen(segments.version)) == ({(0, 0), (0, 1)}, {(0, 1)}, set())
    assert (older.size, newer.size, segments.version.size) == (3, 2, 0)
    assert not segments.version.segments


# --- in the background ------------------------------------------------------------------------------------------


class Gate:
    """Holds merges up until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open, self.reached = threading.Event(), threading.Event()
        build = Segment.build

        def held(*given: Any) -> Segment:
            if threading.current_thread().name == "heliograph-merge":
                self.reached.set()
                assert self.open.wait(60)
            return build(*given)

        monkeypatch.setattr(Segment, "build", held)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.open.set()


@pytest.mark.usefixtures("tiny")
def test_what_is_removed_while_a_merge_runs_stays_removed(gate: Gate) -> None:
    history = History(11)
    history.add(6)
    history.add(5)  # more than LARGE together
    assert gate.reached.wait(60)
    for _ in range(3):
        history.remove(2)
        check_version(history.segments.version, history.alive)
        history.add(4)
        check_version(history.segments.version, history.alive)
    during = history.segments.version, set(history.alive)
    gate.open.set()
    history.segments.wait()
    check_version(history.segments.version, history.alive)
    check_version(*during)


@pytest.mark.usefixtures("tiny")
def test_everything_may_be_removed_while_a_merge_runs(gate: Gate) -> None:
    history = History(12)
    history.add(6)
    history.add(5)
    assert gate.reached.wait(60)
    history.remove(11)
    gate.open.set()
    history.segments.wait()
    check_version(history.segments.version, set())


@pytest.mark.usefixtures("tiny")
def test_a_large_segment_that_is_half_dead_is_rebuilt_behind() -> None:
    history = History(13)
    history.add(30)
    history.remove(20)
    history.segments.wait()
    check_version(history.segments.version, history.alive)
    assert sum(len(segment) for segment in history.segments.version.segments) == 10


@pytest.mark.usefixtures("tiny")
def test_a_failed_merge_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)
    build = Segment.build

    def failing(*given: Any) -> Segment:
        if threading.current_thread().name == "heliograph-merge":
            raise MemoryError
        return build(*given)

    with monkeypatch.context() as patch:
        patch.setattr(Segment, "build", failing)
        history = History(14)
        history.add(6)
        history.add(5)
        history.segments.wait()
    assert [each.exc_type for each in failures] == [MemoryError]
    check_version(history.segments.version, history.alive)
    history.add(4)  # and the next one is not kept from merging
    history.segments.wait()
    check_version(history.segments.version, history.alive)


# --- saving -----------------------------------------------------------------------------------------------------


def test_the_whole_is_one_segment_without_tombstones() -> None:
    history = History(15)
    assert history.segments.whole() is None
    for _ in range(4):
        history.add(25)
        history.remove(5)
    whole = history.segments.whole()
    assert whole is not None
    assert set(whole.index.numbers.tolist()) == history.alive
    adopted = Segments()
    adopted.adopt(whole)
    check_version(adopted.version, history.alive)
    assert adopted.whole() is whole


# --- what publications teach ------------------------------------------------------------------------------------


def hot_and_rare(subscriptions: int, algorithm: str = "indexed") -> Filter:
    """Each asks for an edge that every publication holds, and for one that hardly any does."""
    engine = Filter(algorithm=algorithm)
    engine.subscribe([(f"s{each}", f"ASK {{ :hub :p :hot . ?x :q{each} ?y }}") for each in range(subscriptions)])
    return engine


def publish(engine: Filter, rounds: int) -> list[tuple[int, list[str]]]:
    """Candidates and matches of each round."""
    found = []
    for number in range(rounds):
        triples = [("hub", "p", "hot"), ("a", f"q{number}", "b")]
        each = engine.publish([(f"d{copy}", triples) for copy in range(4)])
        found.append((each.stats.candidates, [item.subscription_id for item in each]))
    return found


@pytest.mark.parametrize("large", [module.LARGE, 16])
def test_a_hot_edge_is_no_longer_the_way_in(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE", large)
    engine = hot_and_rare(40)
    matcher = engine._matcher
    assert isinstance(matcher, IndexedMatcher)
    found = publish(engine, 12)
    matcher.segments.wait()
    assert [matches for _, matches in found] == [[f"s{number}"] * 4 for number in range(12)]
    assert found[0][0] == 4 * 40
    (last, matches), *_ = publish(engine, 1)
    assert matches == ["s0"] * 4
    assert last == 4


def test_a_way_in_is_not_given_up_for_publications_that_match() -> None:
    """Nothing is verified in vain, so nothing is rebuilt."""
    engine = Filter(algorithm="indexed")
    engine.subscribe([(f"s{each}", f"ASK {{ :hub :p :hot . ?x :q{each % 2} ?y }}") for each in range(4)])
    matcher = engine._matcher
    assert isinstance(matcher, IndexedMatcher)
    before = matcher.segments.version
    for _ in range(40):
        engine.publish(("d", [("hub", "p", "hot"), ("a", "q0", "b"), ("a", "q1", "b")]))
    assert matcher.segments.version is before
