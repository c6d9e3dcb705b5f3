"""Metrics inside filters: what is told equals recomputing every query from scratch after every update."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from heliograph import Watch
from heliograph.sparql.query import Metric, Query
from heliograph.sparql.solve import Graph, QueryPlan, world
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Term, TermKind, Variable, literal
from heliograph.values import XSD_DOUBLE
from heliograph.watch.metrics.calls import call_of, metric_filters
from heliograph.watch.metrics.naive import naive_value
from tests.watch.metrics.oracle import metric_value
from tests.watch.metrics.questions import CHOSEN, EXACT, query, updates

_CLASSES = (RDF_TYPE, RDFS_SUBCLASS_OF)
Edges = dict[tuple[Term, Term, Term], float]
_TWINS = ("dense", "steinerPoint")  # what is chosen is no business of networkx: their twins are tested by its bounds


class FromScratch:
    """The edges as they are, and every query answered anew by networkx."""

    def __init__(self, edges: Edges) -> None:
        self.edges = edges
        self._weights = {edge: None if weight != weight else weight for edge, weight in edges.items()}
        self.vertices = {s for s, _, _ in edges} | {o for _, _, o in edges if o.kind is not TermKind.LITERAL}

    def solutions(self, asked: Query) -> set[tuple[Term | None, ...]]:
        _, others = metric_filters(asked.filters)
        bare = QueryPlan.of(Query(patterns=asked.patterns, values=asked.values, filters=tuple(others)))
        rows = bare.solutions(world(Graph(self.edges)))
        self.selected = {term for each in rows for term in each.values()} & self.vertices
        found = QueryPlan.of(asked).solutions(world(Graph(self.edges)), metrics=self._value, vertices=self.vertices)
        return {tuple(solution.get(name) for name in asked.variables) for solution in found}

    def _value(self, metric: Metric, bindings: Mapping[Variable, Term]) -> Term | None:
        terms: dict[int, Term] = {}

        def intern(term: Term) -> int:
            terms[hash(term) & 0xFFFFFF] = term
            return hash(term) & 0xFFFFFF

        names = {variable: place for place, variable in enumerate(bindings)}
        call = call_of(metric, names, intern)
        values = list(bindings.values())
        vertices = [values[~node] if node < 0 else terms[node] for node in call.vertices]
        seen = {edge: weight for edge, weight in self.edges.items() if self._sees(call.key.properties, edge, terms)}
        vertices = list(self.selected) if call.key.is_selected else vertices
        if call.key.name in _TWINS:
            value = naive_value(call.key.name, vertices, self._weights)
        else:
            value = metric_value(call.key, vertices, seen, len(self.vertices))
        return literal("INF" if value == float("inf") else repr(float(value)), XSD_DOUBLE)

    @staticmethod
    def _sees(properties: tuple[int, ...], edge: tuple[Term, Term, Term], terms: dict[int, Term]) -> bool:
        if edge[2].kind is TermKind.LITERAL:
            return False
        return edge[1] in {terms[each] for each in properties} or (not properties and edge[1] not in _CLASSES)


def read(watch: Watch) -> Edges:
    """The edges of an engine's graph."""
    saved = watch._strategy.snapshot().edges
    term = watch.vocabulary.term
    triples = zip(*(map(term, column.tolist()) for column in saved[:3]), strict=True)
    return dict(zip(triples, saved.weight.tolist(), strict=True))


def watching(texts: list[str], algorithm: str = "indexed") -> Watch:
    watch = Watch(algorithm=algorithm)
    watch.load_graph([("a", "p", "b"), ("b", "q", "c")])
    watch.subscribe([(f"s{number}", text) for number, text in enumerate(texts)])
    watch.publish([])
    return watch


def check(r: Random, count: int, functions: tuple[str, ...] = (*EXACT, *CHOSEN)) -> None:
    """One by one against what is worked out from scratch, and all at once against one by one."""
    texts, rows = [query(r, functions) for _ in range(4)], list(updates(r, count))
    watch, at_once, plain = watching(texts), watching(texts), watching(texts, "plain")
    asked = [parse_sparql(text, verb="watch") for text in texts]
    before = [FromScratch(read(watch)).solutions(each) for each in asked]
    lines = []
    for row in rows:
        told = watch.publish([row])
        lines += list(told)
        assert list(plain.publish([row])) == list(told), texts
        now = FromScratch(read(watch))
        for number, each in enumerate(asked):
            after = now.solutions(each)
            check_told(told, f"s{number}", each, before[number], after)
            before[number] = after
    assert list(at_once.publish(rows)) == lines


def check_told(told: Any, id: str, asked: Query, before: set[Any], after: set[Any]) -> None:
    lines = [note for note in told if note.subscription_id == id]
    if asked.having is not None:
        least = int(asked.having.right.value)  # type: ignore[union-attr]
        held, holds = len(before) >= least, len(after) >= least
        assert [note.change for note in lines] == ([] if held == holds else ["+" if holds else "-"])
    elif asked.form == "ask":
        held, holds = bool(before), bool(after)
        assert [note.change for note in lines] == ([] if held == holds else ["+" if holds else "-"])
    else:
        changes = sorted(note.change for note in lines)
        assert changes == ["+"] * len(after - before) + ["-"] * len(before - after), (asked, before, after)


# Seeds, not Hypothesis: of a stream whose every choice depends on those before there is nothing that it could shrink.


def test_what_is_told_is_what_changes() -> None:
    for seed in range(20):
        check(Random(seed), 12)


@pytest.mark.long
@pytest.mark.parametrize("first", range(20, 620, 50))
def test_many_streams(first: int) -> None:
    for seed in range(first, first + 50):
        check(Random(seed), 25)
