"""Searching a segment says what the plain rules say, for every interest and every publication."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.filter import search as module
from heliograph.filter import segment as constraint_tables
from heliograph.filter.interests import COMPLEX, INEXACT, Interest
from heliograph.filter.search import search
from heliograph.sparql.regions import Atom, Domain, text_keys
from heliograph.terms import literal
from heliograph.values import XSD_FLOAT
from tests import naive
from tests.filter.index_worlds import (
    NODES,
    TAXONOMY,
    TERMS,
    TEXTS,
    VOCABULARY,
    Graph,
    World,
    answers_of,
    ask,
    batch_of,
    check_answers,
    families,
    segment_of,
    worlds,
)


@settings(max_examples=300)
@given(worlds)
def test_answers_are_those_of_the_plain_rules(world: World) -> None:
    check_answers(ask(*world, TAXONOMY), *world, TAXONOMY)


# --- room -------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(worlds)
def test_a_search_goes_on_where_room_ran_out(world: World) -> None:
    segment, batch = segment_of(world.asked), batch_of(world.given, TAXONOMY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LOOKED_UP", 1)
        patch.setattr(module, "VERIFIED", 1)
        patch.setattr(module, "VERIFIED_EACH", 0)
        found = search(segment, batch, 0)
    at_once = search(segment, batch, 0)
    assert answers_of(found) == answers_of(at_once)
    assert found.candidates == at_once.candidates
    assert [each.tolist() for each in found.searched] == [each.tolist() for each in at_once.searched]


# --- one by one or in tables ------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(families)
def test_tables_answer_like_trying_one_by_one(world: World) -> None:
    batch, found = batch_of(world.given, TAXONOMY), []
    with pytest.MonkeyPatch.context() as patch:
        for few in (0, 1000):
            patch.setattr(constraint_tables, "FEW", few)
            found.append(answers_of(search(segment_of(world.asked), batch, 0)))
    assert found[0] == found[1]


# --- long and wide ----------------------------------------------------------------------------------------------


def star(leaves: int) -> tuple[naive.Edge, ...]:
    return tuple((~0, 0, ~(1 + leaf)) for leaf in range(leaves))


def between(low: float, high: float) -> tuple[Atom, ...]:
    return (Atom(Domain.NUMBER, low, high),)


RAYS: Graph = ((0, 0, 5), (0, 0, 6))  # the numbers 1 and 2


@pytest.mark.parametrize("copies", [1, 2, 9])
@pytest.mark.parametrize("leaves", [60, 62, 63, 64, 200])
@pytest.mark.parametrize(
    ("asked", "expected"),
    [((), True), ((-1,), True), ((-1,), False), ((1, -1), True), ((1, -1), False), ((1, 20, 40, -1), True)],
)
def test_a_wide_star_is_not_searched_in_all_combinations(
    copies: int, leaves: int, asked: tuple[int, ...], expected: bool
) -> None:
    """Two values for each leaf: 2^60 solutions and more, of which the first few tell everything."""
    wanted = [(leaf % (leaves + 1), between(1, 2)) for leaf in asked]
    if not expected:
        wanted[-1] = (leaves, between(8, 9))
    hits = search(segment_of([Interest(star(leaves), tuple(wanted))] * copies), batch_of([RAYS]), 0)
    assert len(hits.number) == (copies if expected else 0)
    assert hits.searched[1].sum() < 2000


@pytest.mark.parametrize("leaves", [60, 63, 200])
def test_a_wide_star_without_its_last_edge_is_given_up_at_once(leaves: int) -> None:
    hits = search(segment_of([Interest((*star(leaves), (~1, 1, ~(leaves + 1))))]), batch_of([RAYS]), 0)
    assert not len(hits.number)
    assert hits.searched[1].sum() < 2000


def test_a_wide_star_with_an_inexact_member_is_left_to_the_query() -> None:
    hits = search(segment_of([Interest(star(60), (), INEXACT)]), batch_of([RAYS]), 0)
    assert answers_of(hits).doubtful[0, 0] >= {None}
    assert hits.searched[1].sum() < 2000


@pytest.mark.parametrize("length", [61, 62, 63, 64, 65, 130])
def test_long_chains(length: int) -> None:
    """Beyond 62 edges bits are shared; a cycle of five nodes is long enough for any chain."""
    cycle: Graph = tuple((node, 0, (node + 1) % NODES) for node in range(NODES))
    edges = tuple((~step, 0, ~(step + 1)) for step in range(length))
    ends = [
        Interest(edges, ((0, (Atom(Domain.IRI, 0, 0),)), (length, (Atom(Domain.IRI, end, end),)))) for end in range(5)
    ]
    found = ask(ends, [cycle, cycle[1:]])
    assert found.sure == {(0, length % NODES)}
    assert not found.doubtful


@pytest.mark.parametrize("flags", [0, INEXACT])
@pytest.mark.parametrize("solutions", [63, 64, 65])
def test_many_doubtful_solutions_are_left_to_the_query(solutions: int, flags: int) -> None:
    """The xsd:float of each ray is in doubt; up to 64 solutions are written out, then the whole query decides."""
    floats = [literal(str(number), XSD_FLOAT) for number in range(100, 100 + solutions)]
    graph: Graph = tuple((0, 0, id) for id in VOCABULARY.intern_many(floats))
    found = ask([Interest(((~0, 0, ~1),), ((1, between(0, 1)),), flags)] * 2, [graph])
    assert not found.sure
    for number in range(2):
        written = found.doubtful[0, number]
        assert (None in written) == (solutions > 64)
        assert len(written - {None}) == min(solutions, 64)


def test_no_publications_and_empty_ones() -> None:
    asked = [Interest(((~0, 0, ~1),)), Interest((), (), COMPLEX)]
    assert ask(asked, []) == (set(), {})
    assert ask(asked, [(), ((0, 0, 1),)]) == ({(1, 0)}, {(0, 1): {None}, (1, 1): {None}})


def test_text_keys_lead_to_members_and_the_query_decides() -> None:
    key = min(text_keys("abc"))
    asked = [Interest(((~0, 0, ~1),), ((1, (Atom(Domain.WORD, key, key),)),), INEXACT)] * 9
    graphs: list[Graph] = [((0, 0, TERMS.index(literal(text))),) for text in TEXTS]
    found = ask(asked, graphs)
    assert {row for row, _ in found.doubtful} == {row for row, text in enumerate(TEXTS) if key in text_keys(text)}
    assert not found.sure


@settings(max_examples=60)
@given(worlds, st.data())
def test_what_was_removed_is_not_found_in_later_versions(world: World, data: st.DataObject) -> None:
    segment, batch = segment_of(world.asked), batch_of(world.given, TAXONOMY)
    before = answers_of(search(segment, batch, 0))
    removed = data.draw(st.sets(st.integers(0, len(world.asked) - 1)))
    for stamp, number in enumerate(sorted(removed), start=1):
        segment.tombstone(segment.find(number), stamp)
    after = answers_of(search(segment, batch, len(removed)))
    assert after.sure == {pair for pair in before.sure if pair[1] not in removed}
    assert after.doubtful.keys() == {pair for pair in before.doubtful if pair[1] not in removed}
    assert answers_of(search(segment, batch, 0)) == before
