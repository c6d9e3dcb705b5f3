"""Queries that differ in constants and thresholds alone share everything, 64 choices at a time."""

from __future__ import annotations

import pytest

from heliograph.sparql.query import Compare, Form, Query, TriplePattern
from heliograph.terms import RDF_TYPE, Term, Variable, iri, literal
from heliograph.values import XSD_INTEGER
from heliograph.watch.layout import Q_COUNT, Q_ROWS, Q_TRUTH
from tests.watch.network_laws import check_network
from tests.watch.network_worlds import World

x, y, z = (Variable(name) for name in "xyz")
p, q, r = (iri(f"urn:x:{name}") for name in "pqr")


def name(number: int) -> Term:
    return iri(f"urn:x:n{number}")


def number(value: int) -> Term:
    return literal(str(value), XSD_INTEGER)


def ask(*edges: tuple[object, object, object], filters: tuple[Compare, ...] = ()) -> Query:
    return Query(Form.ASK, tuple(TriplePattern(*edge) for edge in edges), filters)  # type: ignore[arg-type]


def check_answers(small: World, asked: list[Query], kind: int = Q_TRUTH) -> None:
    rows = [small.subscribe(query, kind) for query in asked]
    check_network(small.network)
    values = small.evaluator().values()
    answers = [small.answer(row, values) for row in rows]
    assert answers == [small.expected(query, kind) for query in asked]
    assert len(set(answers)) > 1


def test_driving_constants_share_one_group() -> None:
    small = World({(name(1), p, name(2)), (name(2), q, name(3))})
    check_answers(small, [ask((x, p, y), (y, q, name(place))) for place in range(100)])
    assert (len(small.network.groups), small.network.groups.alive, len(small.network.messages)) == (1, 100, 1)


def test_constants_beyond_64_open_another_anchor_set() -> None:
    small = World({(name(1), p, name(2)), (name(2), q, name(3)), (name(3), r, name(70))})
    asked = [ask((name(1), p, y), (y, q, z), (z, r, name(place))) for place in range(100)]
    check_answers(small, asked)
    assert len(small.network.groups) in (1, 2)
    assert small.network.groups.alive == 100


def test_tuples_beyond_64_open_another_bank() -> None:
    graph = {(name(1), p, name(2)), (name(2), RDF_TYPE, name(7)), (name(2), RDF_TYPE, name(93)), (name(1), r, name(0))}
    small = World(graph)
    asked = [
        ask((x, r, name(0)), (x, p, y), (y, RDF_TYPE, name(kind)), (y, RDF_TYPE, name(90 + place)))
        for kind in range(10)
        for place in range(10)
    ]
    check_answers(small, asked)
    assert (len(small.network.groups), len(small.network.nodes), small.network.groups.alive) == (2, 2, 100)


def test_thresholds_share_a_bank() -> None:
    small = World({(name(1), p, number(50)), (name(1), q, name(2))})
    asked = [ask((x, q, name(2)), (x, p, y), filters=(Compare(">", y, number(place)),)) for place in range(100)]
    check_answers(small, asked)
    assert len(small.network.groups) == 2
    assert small.network.world.banks[:2, 63].tolist() == [63, -1]


def test_a_constant_asked_twice_at_one_slot_is_heard_by_twins() -> None:
    small = World({(name(1), p, name(5)), (name(1), p, name(6)), (name(1), q, name(2)), (name(3), p, name(5))})
    pairs = [(5, 6), (6, 5), (5, 7)]
    asked = [ask((x, p, name(a)), (x, p, name(b)), (x, q, y), (y, r, z)) for a, b in pairs]
    asked += [ask((x, p, name(a)), (x, p, name(b)), (y, q, x)) for a, b in pairs]
    asked += [ask((x, p, name(a)), (x, p, name(b)), (x, q, y)) for a, b in pairs]
    check_answers(small, asked)


def test_equal_branches_are_heard_once_in_truth_and_twice_in_counts() -> None:
    graph = {(name(1), p, name(2)), (name(1), p, name(3)), (name(1), q, name(4)), (name(5), q, name(4))}
    small = World(graph)
    fork = ask((x, p, y), (x, p, z), (x, q, Variable("w")))
    check_answers(small, [fork, ask((x, p, x))])
    assert len(small.network.messages) == 3
    counting = World(graph)
    check_answers(counting, [fork, ask((x, q, y), (z, q, Variable("w"))), ask((x, p, x))], Q_COUNT)
    assert counting.expected(fork, Q_COUNT) == 4


def test_equal_components_are_one_and_equal_rows_share_a_component() -> None:
    small = World(set())
    first = small.subscribe(ask((x, p, y), (y, q, z)), Q_ROWS)
    second = small.subscribe(ask((z, q, x), (y, p, z)), Q_ROWS)
    assert small.network.component(first) == small.network.component(second)
    ends = [
        small.network.compile(each, Q_ROWS).slots for each in (ask((x, p, y), (y, q, z)), ask((z, q, x), (y, p, z)))
    ]
    assert [slots.index(middle) for slots, middle in zip(ends, (y, z), strict=True)] == [ends[0].index(y)] * 2
    assert small.network.groups.alive == 1


@pytest.mark.parametrize("rounds", [70])
def test_a_tag_that_was_given_up_is_never_given_again(rounds: int) -> None:
    small = World({(name(1), p, name(2)), (name(2), RDF_TYPE, name(7)), (name(1), r, name(0))})
    small.subscribe(ask((x, r, name(0)), (x, p, y), (y, RDF_TYPE, name(8))), Q_TRUTH)
    seen: set[tuple[int, int]] = set()
    for _ in range(rounds):
        small.network.populated()
        row = small.subscribe(ask((x, r, name(0)), (x, p, y), (y, RDF_TYPE, name(7))), Q_TRUTH)
        fresh = set(small.network.fresh.messages)
        assert fresh
        assert not fresh & seen
        seen |= fresh
        assert small.answer(row, small.evaluator().values()) == 1
        small.network.unsubscribe(row)
    check_network(small.network)
    assert len(small.network.nodes) <= 2
