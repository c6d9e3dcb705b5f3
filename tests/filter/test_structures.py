"""Structures: interests share one only if a renaming turns one into the other, and those without symmetry always do."""

from __future__ import annotations

from itertools import permutations
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.filter.interests import COMPLEX, Interest, gather
from heliograph.filter.layout import DocumentEdges
from heliograph.filter.segment import access_keys, group, order_steps
from tests import naive
from tests.filter.index_worlds import batch_of, draw_graph, draw_pattern, draw_world, in_order, seeds, sketch

_COSTS = [6, 4, 5, 1, 4, 2, 1, 0]  # by known parts, as kernels.structures has it


def edges_of(edges: DocumentEdges, structure: int) -> list[naive.Edge]:
    part = slice(int(edges.offsets[structure]), int(edges.offsets[structure + 1]))
    return list(zip(*(column[part].tolist() for column in edges[1:]), strict=True))


def shares(asked: list[Interest]) -> list[int]:
    """The structure of each interest."""
    grouped = group(gather(asked, range(len(asked))))
    found = np.empty(len(asked), np.int64)
    found[grouped.order] = np.repeat(np.arange(len(grouped.variables)), np.diff(grouped.offsets))
    return [int(each) for each in found]


def shuffled(edges: tuple[naive.Edge, ...], random: Random) -> tuple[naive.Edge, ...]:
    """The same pattern: other names, another order, some edges twice."""
    names = list(range(9))
    random.shuffle(names)
    again = naive.renamed(edges, dict(enumerate(names)))
    again += [random.choice(again) for _ in range(random.randrange(3))]
    random.shuffle(again)
    return in_order(again)


def pattern(seed: int) -> tuple[naive.Edge, ...]:
    random = Random(seed)
    return draw_pattern(random, [draw_graph(random)])


def automorphisms(edges: tuple[naive.Edge, ...]) -> int:
    """How many renamings leave a pattern as it is."""
    names = sorted({~node for edge in edges for node in edge if node < 0})
    orders = (dict(zip(names, order, strict=True)) for order in permutations(names))
    return sum(set(naive.renamed(edges, each)) == set(edges) for each in orders)


@settings(max_examples=300)
@given(seeds)
def test_the_form_does_not_show_names_nor_order(seed: int) -> None:
    edges, random = pattern(seed), Random(seed)
    one, other = shares([Interest(edges), Interest(shuffled(edges, random))])
    assert one == other or automorphisms(edges) > 1


@settings(max_examples=200)
@given(seeds, st.booleans())
def test_interests_share_a_structure_only_if_they_are_one_pattern(seed: int, family: bool) -> None:
    asked, random = draw_world(seed, family=family).asked, Random(seed)
    asked += [each._replace(edges=shuffled(each.edges, random)) for each in asked]
    found = shares(asked)
    for one, its in zip(found, asked, strict=True):
        for other, theirs in zip(found, asked, strict=True):
            if one == other:
                assert naive.isomorphic(its.edges, theirs.edges)
                assert its.flags & COMPLEX == theirs.flags & COMPLEX


@settings(max_examples=200)
@given(seeds)
def test_names_lead_from_an_interest_to_its_structure(seed: int) -> None:
    asked = draw_world(seed, family=False).asked
    grouped, structures = group(gather(asked, range(len(asked)))), shares(asked)
    for number, interest in enumerate(asked):
        names = grouped.names.numbers[slice(*grouped.names.offsets[number : number + 2])].tolist()
        assert sorted(names) == list(range(grouped.variables[structures[number]]))
        renamed = naive.renamed(interest.edges, dict(enumerate(names)))
        assert set(renamed) == set(edges_of(grouped.edges, structures[number]))


@settings(max_examples=200)
@given(seeds)
def test_steps_are_the_edges_in_the_cheapest_order(seed: int) -> None:
    grouped = group(gather([Interest(pattern(seed + number)) for number in range(4)], range(4)))
    steps, modes = order_steps(grouped.edges, grouped.variables)
    for structure in range(len(grouped.variables)):
        ordered = edges_of(steps, structure)
        assert sorted(ordered) == sorted(edges_of(grouped.edges, structure))
        expected = naive.order_steps(ordered, _COSTS)
        assert modes[steps.offsets[structure] : steps.offsets[structure + 1]].tolist() == [mode for mode, _ in expected]
        assert all(_COSTS[mode] == least for mode, least in expected)


@settings(max_examples=100)
@given(seeds)
def test_structures_are_looked_up_by_the_edge_that_publications_hold_least(seed: int) -> None:
    from heliograph.filter.kernels import sketch_edges

    random = Random(seed)
    given = [draw_graph(random) for _ in range(3)]
    counts = np.zeros(1 << 16, np.uint32)  # so large that nothing collides
    sketch_edges(batch_of(given).edges, 0, 1, counts)
    grouped = group(gather([Interest(draw_pattern(random, given)) for _ in range(6)], range(6)))
    structures = [edges_of(grouped.edges, structure) for structure in range(len(grouped.variables))]
    keys = access_keys(grouped.edges, counts)
    allowed = naive.choose_access(structures, given)
    for key, access in enumerate(
        zip(keys.subject.tolist(), keys.predicate.tolist(), keys.object.tolist(), strict=True)
    ):
        for structure in keys.postings[keys.offsets[key] : keys.offsets[key + 1]].tolist():
            assert access in allowed[structure]
    assert sorted(keys.postings.tolist()) == list(range(len(structures)))


def test_without_publications_the_edge_with_most_constants_is_chosen_and_then_the_rarest() -> None:
    asked = [Interest(((0, 0, 1), (~0, 0, 2))), Interest(((0, 0, 1), (3, 1, 4))), Interest(((~0, 0, ~1), (~0, 1, ~1)))]
    keys = access_keys(group(gather(asked, range(3))).edges, sketch())
    found = set(zip(keys.subject.tolist(), keys.predicate.tolist(), keys.object.tolist(), strict=True))
    assert {(0, 0, 1), (3, 1, 4)} <= found
    assert len(found) == 3


def test_what_has_no_edge_is_always_looked_at() -> None:
    grouped = group(gather([Interest((), (), COMPLEX), Interest(((0, 0, 1),))], [0, 1]))
    keys = access_keys(grouped.edges, sketch())
    assert len(keys.always) == len(keys.postings) == 1
    assert {*keys.always.tolist(), *keys.postings.tolist()} == {0, 1}
