"""Incremental ≡ from scratch, whichever way updates are answered: random streams against pyoxigraph."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Watch
from tests.watch.naive import NaiveGraph, Step
from tests.watch.oracle import Action, check_stream
from tests.watch.streams import queries, row, steps

SLOW = ("SELECT (COUNT(*) AS ?n) { ?x :p ?y }", "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x")
slow = st.builds(
    "{} HAVING (COUNT(*) {} {})".format,
    st.sampled_from(SLOW),
    st.sampled_from(("<", "<=", ">", ">=")),
    st.integers(1, 3),
)
RANKED = ("SELECT * { ?x :p ?y }", "SELECT DISTINCT ?x { ?x ?r ?y }", "SELECT * { ?x :q ?y . ?y ?r ?z }")
asked = st.one_of(
    st.tuples(queries(), st.sampled_from(("each", "change"))),
    st.tuples(queries(), st.sampled_from(("each", "change"))),
    st.tuples(slow, st.sampled_from((0.5, 1, 2)).map(lambda slack: {"hysteresis": slack})),
    st.tuples(st.sampled_from(RANKED), st.integers(1, 2).map(lambda k: {"top_k_of": k})),
)
subscribing = st.builds(lambda id, given: ("subscribe", id, *given), st.sampled_from("stuvw"), asked)
at_first = st.lists(subscribing, min_size=1, max_size=4)
leaving = st.tuples(st.just("unsubscribe"), st.sampled_from("stuvw"))
both_ways = pytest.mark.parametrize("algorithm", ["plain", "indexed"])


def publishing(timed: bool) -> st.SearchStrategy[tuple[str, Step]]:
    return st.tuples(st.just("publish"), steps(timed))


@both_ways
@settings(deadline=None, max_examples=40)
@given(
    first=at_first, actions=st.lists(st.one_of(subscribing, leaving, *[publishing(False)] * 8), min_size=8, max_size=25)
)
def test_every_update_of_a_stream(algorithm: str, first: list[Action], actions: list[Action]) -> None:
    check_stream(first + actions, Watch(algorithm=algorithm), NaiveGraph())


@both_ways
@settings(deadline=None, max_examples=40)
@given(
    first=at_first,
    actions=st.lists(publishing(True), min_size=5, max_size=20),
    span=st.none() | st.integers(1, 8),
    last=st.none() | st.integers(1, 5),
)
def test_windows(
    algorithm: str, first: list[Action], actions: list[Action], span: int | None, last: int | None
) -> None:
    watch = Watch(algorithm=algorithm, window=span, window_updates=last)
    check_stream(first + actions, watch, NaiveGraph(span, last))


FIXED: list[Action] = [
    ("subscribe", "s", "SELECT * { ?x :p ?y . ?y :q ?z . ?x :p ?z }", "each"),
    ("subscribe", "t", "SELECT * { ?x ?r ?y }", "each"),
]


@both_ways
@settings(deadline=None, max_examples=20)
@given(stream=st.lists(steps(), min_size=10, max_size=30))
def test_everything_and_a_triangle(algorithm: str, stream: list[Step]) -> None:
    check_stream([*FIXED, *(("publish", step) for step in stream)], Watch(algorithm=algorithm), NaiveGraph())


@both_ways
def test_a_graph_that_was_loaded_first(algorithm: str) -> None:
    loaded = [Step("+", "a", "p", "b"), Step("+", "b", "q", "c"), Step("+", "a", "p", "c")]
    watch, graph = Watch(algorithm=algorithm), NaiveGraph()
    for step in loaded:
        graph.apply(step)
    assert watch.load_graph([row(step) for step in loaded]).accepted == 3
    stream = [Step("-", "b", "q", "c"), Step("+", "b", "q", "c"), Step("-", "c"), Step("=", "a", "p", "c")]
    check_stream([*FIXED, *(("publish", step) for step in stream)], watch, graph)


@pytest.mark.long
@both_ways
@settings(deadline=None, max_examples=2000)
@given(
    first=at_first, actions=st.lists(st.one_of(subscribing, leaving, *[publishing(True)] * 8), min_size=8, max_size=40)
)
def test_many_streams(algorithm: str, first: list[Action], actions: list[Action]) -> None:
    check_stream(first + actions, Watch(algorithm=algorithm, window=6), NaiveGraph(6))
