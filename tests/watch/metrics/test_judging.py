"""Metrics inside filters: what is told equals recomputing every query from scratch after every update."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Watch
from heliograph.baselines.solve import Graph, Plan, world
from heliograph.syntax.query import Metric, Query
from heliograph.syntax.sparql import parse_sparql
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Term, TermKind, Variable, literal
from heliograph.values import XSD_DOUBLE
from heliograph.watch import enrolment
from heliograph.watch.metrics.calls import call_of
from heliograph.watch.metrics.comparing import metric_filters
from tests.watch.metrics.oracle import Recomputed, metric_value

VERTICES, PROPERTIES = ("a", "b", "c", "d", "e"), ("p", "q")
FUNCTIONS = (
    "hg:degree({x})",
    "hg:indegree({x}, :p)",
    "hg:outdegree({x})",
    "hg:clustering({x})",
    "hg:distance({x}, :b)",
    'hg:distance({x}, {y}, "undirected", "weight")',
    "hg:cliques(3)",
    "hg:density({x}, 1)",
    "hg:steiner({x}, :c, :d)",
    "hg:transitivity()",
    "hg:averageClustering()",
    "hg:cliques(1)",
    "hg:betweenness({x})",
    "hg:density()",
    "hg:steiner({x}, :a, :e)",
)
LIMITS = {
    **dict.fromkeys(("density", "clustering", "transitivity", "averageClustering"), ("0.3", "0.5", "1")),
    "betweenness": ("0.05", "0.2"),
    "cliques": ("1", "4"),
    "steinerPoint": ("1",),
}
Edges = dict[tuple[Term, Term, Term], float]


def condition(r: Random, names: tuple[str, ...]) -> str:
    function = r.choice(FUNCTIONS).format(x=r.choice(names), y=r.choice(names))
    name = function[3:].split("(")[0]
    limit = r.choice(LIMITS.get(name, ("1", "2", "3")))
    operator = r.choice((">=", ">", "<", "<=", "=", "!="))
    text = f"{function} {operator} {limit}"
    if r.random() < 0.2:
        text = f"{limit} {operator} {function}"
    if r.random() < 0.15:
        text = f"!({text})"
    if r.random() < 0.15:
        text = f"{function} + 1 > hg:degree({r.choice(names)})"
    return text


def query(r: Random) -> str:
    pattern, names = r.choice(
        (
            ("", ("?x", ":a")),
            ("", (":a", ":b")),
            ("?x :p ?y .", ("?x", "?y", ":a")),
            ("?x :p ?y . ?y :q ?z .", ("?x", "?z")),
            ("VALUES ?x { :a :c }", ("?x",)),
            (":a :p ?y .", ("?y", ":b")),
        )
    )
    tests = [condition(r, names) for _ in range(r.choice((1, 1, 2)))]
    joint = r.choice((" && ", " || ")) if r.random() < 0.6 else None
    filters = f"FILTER({joint.join(tests)})" if joint else " ".join(f"FILTER({each})" for each in tests)
    form = r.choice(("SELECT *", "SELECT *", "ASK", "SELECT (COUNT(*) AS ?n)"))
    having = f" HAVING (COUNT(*) >= {r.randint(1, 2)})" if "COUNT" in form else ""
    return f"{form} {{ {pattern} {filters} }}{having}"


def updates(r: Random, count: int) -> Iterator[dict[str, Any]]:
    for _ in range(count):
        op = r.choice("+++++--=")
        row: dict[str, Any] = {"op": op, "subject": r.choice(VERTICES), "property": r.choice((*PROPERTIES * 3, "a"))}
        row["object"] = r.choice((*VERTICES * 3, "7"))
        if op == "-" and r.random() < 0.3:
            row["property"] = row["object"] = None
        row["weight"] = r.choice((0.5, 2.0)) if op == "+" and r.random() < 0.2 else None
        yield row


class FromScratch:
    """The edges as they are, and every query answered anew by networkx."""

    def __init__(self, edges: Edges) -> None:
        self.edges = edges
        self.vertices = {s for s, _, _ in edges} | {o for _, _, o in edges if o.kind is not TermKind.LITERAL}

    def solutions(self, asked: Query) -> set[tuple[Term | None, ...]]:
        _, others = metric_filters(asked.filters)
        bare = Plan.of(Query(patterns=asked.patterns, values=asked.values, filters=tuple(others)))
        rows = bare.solutions(world(Graph(self.edges)))
        self.selected = {term for each in rows for term in each.values()} & self.vertices
        found = Plan.of(asked).solutions(world(Graph(self.edges)), metrics=self._value, vertices=self.vertices)
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
        value = metric_value(call.key, vertices, seen, len(self.vertices))
        return literal("INF" if value == float("inf") else repr(float(value)), XSD_DOUBLE)

    @staticmethod
    def _sees(properties: tuple[int, ...], edge: tuple[Term, Term, Term], terms: dict[int, Term]) -> bool:
        if properties:
            return edge[1] in [terms[each] for each in properties]
        return edge[2].kind is not TermKind.LITERAL and edge[1] not in (RDF_TYPE, RDFS_SUBCLASS_OF)


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


def check(r: Random, count: int) -> None:
    """One by one against what is worked out from scratch, and all at once against one by one."""
    with mock.patch.object(enrolment, "make_measure", Recomputed):
        texts, rows = [query(r) for _ in range(4)], list(updates(r, count))
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


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=False))
def test_what_is_told_is_what_changes(r: Random) -> None:
    check(r, 12)


@pytest.mark.long
def test_many_streams() -> None:
    for seed in range(300):
        check(Random(seed), 25)
