"""Modes fed with differences report what modes fed with whole sets of solutions report."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import Query
from heliograph.sparql.solve import QueryPlan, Solution, ValuesStep
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import Variable, parse_cell
from heliograph.vocabulary import Vocabulary
from heliograph.watch.changes import (
    Changes,
    Completion,
    CountRule,
    Match,
    MatchCount,
    RankChange,
    Ranking,
    Turn,
    limits_of,
    mode_of,
)
from heliograph.watch.options import Options, Top
from tests.watch.naive_modes import Ranked, rerank
from tests.watch.naive_modes import mode_of as naive_mode_of

TERMS = [parse_cell(cell) for cell in ("a", "b", "c", "9", "10", '"x"', "_:n")]
QUERIES = (
    "SELECT * { ?x :p ?y }",
    "SELECT * { ?x :p [ :q ?y ] }",
    "SELECT DISTINCT ?x { ?x :p ?y }",
    "SELECT DISTINCT ?y ?x { ?x :p ?y . ?y :p ?z }",
    "ASK { ?x :p ?y }",
    "SELECT * { ?x :p ?y FILTER(?x != ?y && STR(?y) != 'x') }",
    "SELECT * { ?x :p ?y VALUES (?x ?z) { (:a UNDEF) (:a UNDEF) (UNDEF 1) (:b 2) } VALUES ?y { :a :b 9 } }",
    "SELECT DISTINCT ?z { ?x :p ?y VALUES (?x ?z) { (:a UNDEF) (UNDEF 1) (:b 2) } FILTER(BOUND(?z) || ?x = ?y) }",
    "SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) >= 2)",
    "ASK { ?x :p ?y } HAVING (COUNT(*) < 2)",
    "ASK { ?x :p ?y FILTER(?x < 100 || isIRI(?x)) } HAVING (COUNT(*) = 1 || COUNT(*) = 3)",
    "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) >= 2)",
    "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) < 2)",
    "SELECT ?z (COUNT(*) AS ?n) { ?x :p ?y VALUES (?x ?z) { (:a UNDEF) (UNDEF 1) } } GROUP BY ?z HAVING (COUNT(*) > 1)",
)
COUNTED = [text for text in QUERIES if "HAVING" in text]


def query_of(text: str) -> Query:
    return parse_sparql(text, verb="watch")


class World:
    """A query, its pattern's variables as slots, and what the two ways make of its rows."""

    def __init__(self, text: str, options: Options) -> None:
        self.query = query_of(text)
        self.vocabulary = Vocabulary()
        self.slots = Query(patterns=self.query.patterns).variables[::-1]
        self.completion = Completion(self.query, self.slots, self.vocabulary, self.query.filters)
        self.naive = naive_mode_of(self.query, options)
        self.mode = mode_of(self.query, options, self.completion)

    def rows(self, terms: Iterable[tuple[int, ...]]) -> Any:
        ids = [[self.vocabulary.intern(TERMS[term]) for term in row] for row in sorted(terms)]
        return np.array(ids, np.int32).reshape(len(ids), len(self.slots))

    def solutions(self, terms: Iterable[tuple[int, ...]]) -> list[Solution]:
        """By the plain solver's own steps."""
        found = [dict(zip(self.slots, (TERMS[term] for term in row), strict=True)) for row in terms]
        for block in self.query.values:
            found = [extended for each in found for extended in ValuesStep(block).extend(each)]
        unique = {frozenset(each.items()): each for each in found}.values()
        return [each for each in unique if all(Condition.of(test).holds(each) for test in self.query.filters)]

    def turn(self, before: set[tuple[int, ...]], now: set[tuple[int, ...]], witness: bool) -> Turn:
        lost, gained = (self.completion(self.rows(each)).terms for each in (before - now, now - before))
        size = len(lost) + len(gained)
        update, phase = np.full(size, 3), np.ones(size, np.int64)
        changes = Changes.sorted(update, phase, np.arange(size) < len(gained), np.concatenate((gained, lost)))
        told = list(self.mode.follow(changes, witness))
        assert all(each[:2] == (3, 1) for each in told)
        assert len(told) <= 1
        return told[0].turn if told else Turn()


def plainly(turn: Turn, witness: bool) -> Turn:
    """A turn without what nobody asked for."""
    lost, gained = (tuple(m if witness else m._replace(witness=None) for m in matches) for matches in turn)
    return Turn(lost, gained)


histories = st.lists(st.sets(st.tuples(*[st.integers(0, len(TERMS) - 1)] * 3), max_size=9), min_size=1, max_size=6)
options = st.sampled_from((Options(), Options(mode="change")))


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(QUERIES), options, histories, st.booleans())
def test_differences_tell_what_whole_sets_tell(text: str, given: Options, history: Any, witness: bool) -> None:
    world = World(text, given)
    states = [{row[: len(world.slots)] for row in state} for state in history]
    world.naive.observe(world.solutions(states[0]), witness)
    world.mode.start(world.completion(world.rows(states[0])).terms)
    for before, now in pairwise(states):
        expected = world.naive.observe(world.solutions(now), witness)
        assert plainly(world.turn(before, now, witness), witness) == plainly(expected, witness)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(COUNTED), histories, st.sampled_from((0.0, 1.0, 2.5)), st.integers(0, 5))
def test_what_held_is_remembered(text: str, history: Any, hysteresis: float, where: int) -> None:
    if "||" in text:
        hysteresis = 0.0
    given = Options(hysteresis=hysteresis)
    world, again = World(text, given), World(text, given)
    states = [{row[: len(world.slots)] for row in state} for state in history]
    world.naive.observe(world.solutions(states[0]), False)
    world.mode.start(world.completion(world.rows(states[0])).terms)
    for step, (before, now) in enumerate(pairwise(states)):
        if step == where:  # a rest, after which only memory is left
            again.mode.start(again.completion(again.rows(before)).terms, world.mode.held)
            world.mode, world.completion, world.vocabulary = again.mode, again.completion, again.vocabulary
        assert world.turn(before, now, False) == world.naive.observe(world.solutions(now), False)
        assert sorted(map(str, world.mode.held)) == sorted(map(str, world.naive.standing))


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(("SELECT * { ?x :p ?y }", "SELECT DISTINCT ?x { ?x :p ?y }")), histories)
def test_tallies(text: str, history: Any) -> None:
    world = World(text, Options(top=Top("", 1)))
    assert isinstance(world.mode, MatchCount)
    assert isinstance(world.naive, Ranked)
    states = [{row[:2] for row in state} for state in history]
    world.mode.start(world.completion(world.rows(states[0])).terms)
    for before, now in zip(states[:1] + states, states, strict=False):
        assert world.turn(before, now, False) == Turn()
        world.naive.observe(world.solutions(now), False)
        assert world.mode.count == world.naive.count


def test_phases_of_changes() -> None:
    update, phase = np.array([4, 2, 2, 2, 4, 4]), np.array([1, 1, 0, 1, 1, 0])
    gained = np.array([True, False, False, True, False, False])
    changes = Changes.sorted(update, phase, gained, np.arange(6, dtype=np.int32).reshape(6, 1))
    assert [tuple(each) for each in changes.phases()] == [
        (2, 0, 0, 1, 1),
        (2, 1, 1, 2, 3),
        (4, 0, 3, 4, 4),
        (4, 1, 4, 5, 6),
    ]
    assert changes.terms.ravel().tolist() == [2, 1, 3, 5, 4, 0]


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(QUERIES), histories)
def test_a_batch_is_its_phases(text: str, history: Any) -> None:
    whole, single = World(text, Options()), World(text, Options())
    states = [set(), *({row[: len(whole.slots)] for row in state} for state in history)]
    parts = []
    expected = []
    for step, (before, now) in enumerate(pairwise(states)):
        lost, gained = (whole.completion(whole.rows(each)).terms for each in (before - now, now - before))
        update, phase = divmod(step, 2)
        for terms, is_gained in ((lost, False), (gained, True)):
            size = len(terms)
            parts.append((np.full(size, update), np.full(size, phase), np.full(size, is_gained), terms))
        turn = single.turn(before, now, False)
        expected += [(update, phase, plainly(turn, False))] if turn.lost or turn.gained else []
    changes = Changes.sorted(*map(np.concatenate, zip(*parts, strict=True)))
    assert [(each.update, each.phase, plainly(each.turn, False)) for each in whole.mode.follow(changes)] == expected


# --- completion -------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(QUERIES), st.sets(st.tuples(*[st.integers(0, len(TERMS) - 1)] * 3), max_size=9))
def test_completion_is_the_solvers(text: str, drawn: Any) -> None:
    world = World(text, Options())
    rows = {row[: len(world.slots)] for row in drawn}
    found = world.completion(world.rows(rows))
    made = [world.completion.solution(row) for row in found.terms.tolist()]
    key = lambda solution: sorted(map(str, solution.items()))  # noqa: E731
    assert sorted(made, key=key) == sorted(world.solutions(rows), key=key)
    assert list(found.origins) == sorted(found.origins)


def test_a_query_of_values_alone() -> None:
    query = query_of("SELECT * { VALUES (?x ?y) { (1 2) (UNDEF 2) } }")
    completion = Completion(query, (), Vocabulary(), ())
    found = completion(np.empty((1, 0), np.int32))
    assert [completion.solution(row) for row in found.terms.tolist()] == [
        {Variable("y"): parse_cell("2")},
        {Variable("x"): parse_cell("1"), Variable("y"): parse_cell("2")},
    ]
    assert len(list(QueryPlan.of(query).solutions(None))) == 2  # type: ignore[arg-type]


# --- limits -----------------------------------------------------------------------------------------------------

NUMBERS = ("0", "1", "3", "2.5", "-1", "1e0", "7.0", "3e300", '"3"^^xsd:float', "9007199254740993", "1e19")
CONDITIONS = st.recursive(
    st.builds(
        lambda number, operator, flipped: (
            f"{number} {operator} COUNT(*)" if flipped else f"COUNT(*) {operator} {number}"
        ),
        st.sampled_from(NUMBERS),
        st.sampled_from(("<", "<=", ">", ">=", "=", "!=")),
        st.booleans(),
    ),
    lambda inner: st.builds(
        lambda one, other, join: f"!({one})" if join == "!" else f"({one} {join} {other})",
        inner,
        inner,
        st.sampled_from(("&&", "||", "!")),
    ),
    max_leaves=3,
)
COUNTS = [*range(12), 2**53, 2**53 + 1, 2**53 + 2, 10**19 // 2, 2**63 - 1]


@settings(deadline=None, max_examples=300)
@given(CONDITIONS)
def test_limits_are_where_the_condition_holds(condition: str) -> None:
    query = query_of(f"ASK {{ ?x :p ?y }} HAVING ({condition})")
    assert query.having is not None
    limits, test = limits_of(query.having), Condition.of(query.having)
    held = [test.holds({}, count=count) for count in COUNTS]
    if limits is None:
        edges = sum(one != other for one, other in pairwise(held))
        assert edges != 1 or "=" in condition
    else:
        assert held == [limits.enter_low <= count <= limits.enter_high for count in COUNTS]
        assert limits[:2] == limits[2:]


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("number", ["3", "2.5", "0", "1e0"])
@pytest.mark.parametrize("hysteresis", [0.5, 1.0, 2.0, 1e300])
def test_limits_with_hysteresis(operator: str, number: str, hysteresis: float) -> None:
    query = query_of(f"ASK {{ ?x :p ?y }} HAVING (COUNT(*) {operator} {number})")
    assert query.having is not None
    limits, rule = limits_of(query.having, hysteresis), CountRule(query, hysteresis)
    assert limits is not None
    for count in range(12):
        assert (limits.enter_low <= count <= limits.enter_high) == rule.holds((), count, False)
        assert (limits.stay_low <= count <= limits.stay_high) == rule.holds((), count, True)


@pytest.mark.parametrize("condition", ["COUNT(*) + 1 > 2", "COUNT(*) > 'many'", "COUNT(*) != 2", "COUNT(*) = COUNT(*)"])
def test_what_is_no_range(condition: str) -> None:
    having = query_of(f"ASK {{ ?x :p ?y }} HAVING ({condition})").having
    assert having is not None
    assert limits_of(having) is None


# --- ranking ----------------------------------------------------------------------------------------------------


class PlainRanks:
    """The members as a board keeps them."""

    def __init__(self) -> None:
        self.members: dict[str, Ranked] = {}
        self.dirty = False

    def phase(self, counts: dict[str, int]) -> dict[str, Turn]:
        for id, count in counts.items():
            self.members[id].count = count
        return {} if self.dirty or not counts else news(rerank(self.members))

    def finish(self) -> dict[str, Turn]:
        dirty, self.dirty = self.dirty, False
        return news(rerank(self.members)) if dirty else {}


def news(turns: dict[str, Turn]) -> dict[str, Turn]:
    return {id: turn for id, turn in turns.items() if turn != Turn()}


counts = st.dictionaries(st.sampled_from("pqrst"), st.integers(0, 4), max_size=3)
events = st.one_of(
    st.tuples(st.just("add"), st.sampled_from("pqrst"), st.integers(1, 3), st.integers(0, 4)),
    st.tuples(st.just("remove"), st.sampled_from("pqrst")),
    st.tuples(st.just("batch"), st.lists(st.tuples(counts, counts), min_size=1, max_size=3)),
)


@settings(deadline=None, max_examples=300)
@given(st.lists(events, max_size=12))
def test_ranking_is_reranking(stream: list[Any]) -> None:
    plain, ranking = PlainRanks(), Ranking()
    any_query = query_of("SELECT * { ?x :p ?y }")
    for kind, *what in stream:
        if kind == "add" and what[0] not in plain.members:
            id, k, count = what
            plain.members[id] = Ranked(any_query, Top("s", k))
            plain.members[id].count, plain.dirty = count, True
            rerank(plain.members, only={id})
            ranking.add(id, Top("s", k))
            ranking.refresh({id: count})
        elif kind == "remove" and what[0] in plain.members:
            del plain.members[what[0]]
            plain.dirty = True
            ranking.remove(what[0])
        elif kind == "batch":
            check_batch(plain, ranking, what[0])
        assert {id for id, mode in plain.members.items() if mode.standing} == {
            id for id in plain.members if ranking.holds(id)
        }
        assert {id: mode.count for id, mode in plain.members.items()} == {
            id: ranking.set_of(id).counts[id] for id in plain.members
        }


def check_batch(plain: PlainRanks, ranking: Ranking, updates: list[tuple[dict[str, int], dict[str, int]]]) -> None:
    expected: dict[tuple[int, str], list[Turn]] = {}
    changes: list[RankChange] = []
    for update, both in enumerate(updates):
        for phase, drawn in enumerate(both):
            given = {id: count for id, count in drawn.items() if id in plain.members}
            changes += [RankChange(update, phase, id, count) for id, count in given.items()]
            for id, turn in plain.phase(given).items():
                expected.setdefault((update, id), []).append(turn)
        for id, turn in plain.finish().items():
            expected.setdefault((update, id), []).append(turn)
    found = ranking.follow(changes, len(updates))
    assert found.keys() == expected.keys()
    for key, turns in expected.items():
        assert found[key] == joined(turns)


def joined(turns: list[Turn]) -> Turn:
    """What comes and goes within an update is not told; what goes and comes back is."""
    if len(turns) == 1:
        return turns[0]
    return Turn() if turns[0].gained else Turn(turns[0].lost, turns[1].gained)


def test_a_graph_loaded_silently_places_everybody() -> None:
    ranking = Ranking()
    ranking.add("p", Top("s", 1))
    ranking.add("q", Top("s", 1))
    ranking.refresh({"p": 1, "q": 0})
    assert ranking.follow([], 1) == {}
    ranking.rank_unknown.update(ranking)
    ranking.refresh({"q": 2})
    assert (ranking.holds("p"), ranking.holds("q"), "q" in ranking, "r" in ranking) == (False, True, True, False)
    again = Ranking()
    for id in "pq":
        again.add(id, Top("s", 1))
    again.restore({"p": False, "q": True}, ["s", "gone"], [])
    again.refresh({"p": 3, "q": 2})
    match = Match(None, 2)
    assert again.follow([], 1) == {(0, "q"): Turn((match,), ()), (0, "p"): Turn((), (Match(None, 3),))}
