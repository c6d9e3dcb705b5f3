"""Windows in flat arrays beside their twins: the contract's words one by one, and the plain evolving graph."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heliograph.terms import parse_cell
from heliograph.vocabulary import Vocabulary
from heliograph.watch.graph import FlatGraph, matching
from heliograph.watch.layout import LINK, NO_TIME, Stamp
from heliograph.watch.plain import EdgeFacts, EvolvingGraph
from heliograph.watch.updates import Update, WindowExtent
from tests.watch.graph_steps import accept, add
from tests.watch.naive import NaiveGraph, Step
from tests.watch.streams import steps

SPANS, LASTS = st.none() | st.integers(1, 8), st.none() | st.integers(1, 6)
STEPS = st.lists(st.tuples(steps(timed=True), st.none() | st.floats(0, 1)), max_size=40)


class Flat:
    """A flat graph that takes steps, and spells what it holds."""

    def __init__(self, span: int | None, last: int | None) -> None:
        self.graph, self.vocabulary, self.seq = FlatGraph(span, last), Vocabulary(), 0

    def apply(self, step: Step, weight: float | None = None) -> None:
        self.seq += 1
        at = NO_TIME if step.at is None else step.at
        accept(self.graph.arrays.address, at)
        if step.op == "-" and step.predicate is None:
            self.graph.drop_edges(self.graph.touching(self._id(step.subject)))
        elif step.op == "-":
            self.graph.drop(*self._ids(step))
        else:
            self._add(step, Stamp(math.nan if weight is None else weight, at, self.seq, self.graph.accepted))

    def _add(self, step: Step, stamp: Stamp) -> None:
        ids = self._ids(step)
        if step.op == "=":
            others = matching(self.graph.arrays, (ids[0], ids[1], None))
            self.graph.drop_edges(others[self.graph.arrays.edges[others, 2] != ids[2]])
        self.graph.cover(len(self.vocabulary))
        if not math.isnan(stamp.weight):
            self.graph.keep_weights()
        while not add(self.graph.arrays.address, ids, stamp):
            self.graph.grow()

    def _id(self, cell: str) -> int:
        return self.vocabulary.intern(parse_cell(cell))

    def _ids(self, step: Step) -> tuple[int, int, int]:
        return self._id(step.subject), self._id(str(step.predicate)), self._id(str(step.object))

    def triples(self) -> list[tuple[str, ...]]:
        term = self.vocabulary.term
        rows = self.graph.arrays.edges[self.graph.edge_numbers(), :LINK].tolist()
        return sorted(tuple(str(term(part)) for part in row) for row in rows)

    def known(self) -> dict[tuple[str, ...], EdgeFacts]:
        """What a window needs to know; without one, the weight."""
        saved, term = self.graph.saved(), self.vocabulary.term
        rows = zip(*(column.tolist() for column in saved), strict=True)
        return {
            tuple(str(term(part)) for part in row[:3]): EdgeFacts(
                None if math.isnan(row[3]) else row[3], *(None if part == NO_TIME else part for part in row[4:])
            )
            for row in rows
        }


def spelled(triples: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return sorted(tuple(str(parse_cell(cell)) for cell in triple) for triple in triples)


@given(STEPS, SPANS, LASTS)
def test_like_the_words_of_the_contract(
    stream: list[tuple[Step, float | None]], span: int | None, last: int | None
) -> None:
    flat, naive = Flat(span, last), NaiveGraph(span, last)
    for step, weight in stream:
        flat.apply(step, weight)
        naive.expire(step)
        naive.apply(step)
        assert flat.triples() == spelled(naive.edges)


@given(STEPS, SPANS, LASTS, st.integers(0, 40))
def test_like_the_plain_graph(
    stream: list[tuple[Step, float | None]], span: int | None, last: int | None, stop: int
) -> None:
    """Weights and times too, and after being saved and restored in mid-stream."""
    flat, plain = Flat(span, last), EvolvingGraph(WindowExtent(span, last))
    for place, (step, weight) in enumerate(stream):
        if place == stop:
            flat.graph = restored(flat.graph, span, last)
        flat.apply(step, weight)
        predicate, object = (None if cell is None else parse_cell(cell) for cell in (step.predicate, step.object))
        check_applied(plain, Update(flat.seq, step.op, parse_cell(step.subject), predicate, object, weight, step.at))
        expected = {tuple(map(str, triple)): edge for triple, edge in plain.edges.items()}
        if not plain.window.extent:
            expected = {triple: EdgeFacts(edge.weight) for triple, edge in expected.items()}
        assert flat.known() == expected


def check_applied(plain: EvolvingGraph, update: Update) -> None:
    assert list(plain.apply(update))


def restored(graph: FlatGraph, span: int | None, last: int | None) -> FlatGraph:
    again = FlatGraph(span, last)
    again.restore(graph.saved())
    again.set_clocks(graph.clock, graph.accepted)
    return again


@given(
    st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 20), st.booleans()), max_size=30),
    SPANS,
    LASTS,
    st.lists(st.integers(0, 40), max_size=5),
)
def test_background_like_the_plain_graph(
    rows: list[tuple[int, int | None, bool]], span: int | None, last: int | None, later: list[int]
) -> None:
    """What is loaded expires by its time, and without one never."""
    plain, flat = EvolvingGraph(WindowExtent(span, last)), Flat(span, last)
    cells = [f"e{end}" for end, _, _ in rows]
    plain.load(
        Update(seq, "+", parse_cell("a"), parse_cell("p"), parse_cell(cell), None, at)
        for seq, (cell, (_, at, _)) in enumerate(zip(cells, rows, strict=True))
    )
    ids = [flat._ids(Step("+", "a", "p", cell)) for cell in cells]
    subjects, predicates, objects = np.array(ids, np.int32).reshape(-1, 3).T
    times = [NO_TIME if at is None else at for _, at, _ in rows]
    flat.graph.load(subjects, predicates, objects, at=np.array(times, np.int64), seq=np.arange(len(rows)))
    for at in later:
        flat.apply(Step("+", "x", "p", "y", at))
        check_applied(plain, Update(1, "+", parse_cell("x"), parse_cell("p"), parse_cell("y"), None, at))
    assert flat.triples() == sorted(tuple(map(str, triple)) for triple in plain.edges)


def test_promises_outlive_growth() -> None:
    """A ring that has gone round, and a heap, both made larger while edges wait in them."""
    flat = Flat(span=50, last=40)
    for turn in range(300):
        flat.apply(Step("+", f"s{turn % 90}", "p", "o", at=turn))
    assert len(flat.triples()) == 40
    flat.apply(Step("-", "s1", "p", "x", at=1000))
    assert flat.triples() == []
