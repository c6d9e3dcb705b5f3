"""What is entered for a query says what the query says, of any graph."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.query import Query
from heliograph.sparql.solve import QueryPlan, world
from heliograph.terms import Term
from heliograph.watch.layout import Q_COUNT, Q_ROWS, Q_TRUTH
from tests.watch.network_worlds import World, queries, triples

Triples = set[tuple[Term, Term, Term]]


def check_answers(graph: Triples, asked: list[Query], kind: int) -> None:
    small = World(graph)
    rows = [small.subscribe(query, kind) for query in asked]
    values = small.evaluator().values()
    for row, query in zip(rows, asked, strict=True):
        assert small.answer(row, values) == small.expected(query, kind), query.patterns


@settings(max_examples=100, deadline=None)
@given(triples(), st.lists(queries(), min_size=1, max_size=4))
def test_truth_is_that_of_the_query(graph: Triples, asked: list[Query]) -> None:
    check_answers(graph, asked, Q_TRUTH)


@settings(max_examples=100, deadline=None)
@given(triples(), st.lists(queries(), min_size=1, max_size=3))
def test_counts_are_those_of_the_query(graph: Triples, asked: list[Query]) -> None:
    check_answers(graph, asked, Q_COUNT)


@settings(max_examples=100, deadline=None)
@given(triples(), st.lists(queries(free_predicates=True, most=4), min_size=1, max_size=4))
def test_rows_are_the_solutions_of_the_query(graph: Triples, asked: list[Query]) -> None:
    small = World(graph)
    intern = small.vocabulary.intern
    wanted = [small.network.compile(query, Q_ROWS) for query in asked]
    rows = [small.network.subscribe(each) for each in wanted]
    for row, query, compiled in zip(rows, asked, wanted, strict=True):
        solutions = QueryPlan.of(query).solutions(world(small.graph))
        expected = {tuple(intern(solution[variable]) for variable in compiled.slots) for solution in solutions}
        component = small.network.component(row)
        assert (set() if component < 0 else small.evaluator().rows(component)) == expected
        assert compiled.remaining == ()
