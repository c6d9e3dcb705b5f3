"""Folding: every edge is kept exactly once, and neither names nor order matter."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.watch.layout import IS_NODE, MOST_LEVELS, SELF_NODE
from heliograph.watch.network_compile import Branch, Driver, QueryShape, Rules, components_of, peel, shape_of

Edge = tuple[int, int, int]
Kept = tuple[int | None, int, int | None]  # None is an end that has no name in the shape
CLASS = 9
RULES = Rules(driven=True, class_keys=frozenset({2 * CLASS}))
PLAIN = Rules(driven=False, class_keys=frozenset({2 * CLASS}))

x, y, z, u = ~0, ~1, ~2, ~3


def shapes(edges: list[Edge], rules: Rules = RULES, tested: frozenset[int] = frozenset()) -> list[QueryShape | None]:
    return [shape_of(component, rules) for component in components_of(edges, tested)]


def only(edges: list[Edge], rules: Rules = RULES, tested: frozenset[int] = frozenset()) -> QueryShape:
    (shape,) = shapes(edges, rules, tested)
    assert shape is not None
    return shape


def spelled(branch: Branch) -> list[Kept]:
    """The edges that a branch hears, as they stood in the pattern."""
    found: list[Kept] = []
    for each in branch.hears:
        other: int | None = ~branch.variable if each.kind == SELF_NODE else each.constant
        if each.kind not in (IS_NODE, SELF_NODE):
            other = ~each.branch.variable if each.branch else None
        ends = (other, ~branch.variable) if each.key & 1 else (~branch.variable, other)
        found.append((ends[0], each.key >> 1, ends[1]))
        found += spelled(each.branch) if each.branch else []
    return found


def kept(shape: QueryShape) -> Counter[Kept]:
    """All edges of a shape; an end that nothing else is asked of has no name in it."""
    found = [edge for branch in shape.core for edge in spelled(branch)]
    names = [~branch.variable for branch in shape.core]
    found += [(names[s], p, names[o]) for s, p, o in shape.edges]
    if shape.driver is not None:
        slot, key, constant = shape.driver
        found.append((constant, key >> 1, names[slot]) if key & 1 else (names[slot], key >> 1, constant))
    return Counter(found)


edges_between = st.tuples(st.integers(-5, 2), st.integers(0, 2) | st.just(CLASS), st.integers(-5, 2))
patterns = st.lists(edges_between.filter(lambda edge: edge[0] < 0 or edge[2] < 0), min_size=1, max_size=8, unique=True)


def _name(node: int, known: set[int]) -> int | None:
    return None if node < 0 and node not in known else node


def named(edges: list[Edge], known: set[int]) -> Counter[Kept]:
    """Edges in which ends that nothing else is asked of have lost their names."""
    return Counter((_name(s, known), p, _name(o, known)) for s, p, o in edges)


@given(patterns, st.booleans())
def test_every_edge_is_kept_exactly_once(edges: list[Edge], driven: bool) -> None:
    found: Counter[Kept] = Counter()
    for shape in shapes(edges, RULES if driven else PLAIN):
        assert shape is not None
        found += kept(shape)
    names = {node for edge in found for node in edge if node is not None and node < 0}
    assert found == named(edges, names)


@given(patterns, st.permutations(range(5)), st.randoms(), st.sets(st.integers(0, 4)))
@settings(max_examples=60)
def test_trees_do_not_depend_on_names_or_order(edges: list[Edge], names: list[int], random, tested: set[int]) -> None:  # type: ignore[no-untyped-def]
    def again(node: int) -> int:
        return ~names[~node] if node < 0 else node

    renamed = [(again(s), p, again(o)) for s, p, o in edges]
    random.shuffle(renamed)
    first = shapes(edges, PLAIN, frozenset(tested))
    second = shapes(renamed, PLAIN, frozenset(names[each] for each in tested))
    trees = [Counter(shape.core[0].code for shape in each if shape and not shape.edges) for each in (first, second)]
    assert trees[0] == trees[1]


def test_a_tree_hangs_from_the_slot_next_to_a_constant_that_is_no_class() -> None:
    shape = only([(x, 1, y), (x, CLASS, 0), (y, 2, z), (z, 3, 1)])
    assert shape.driver == Driver(0, 6, 1)
    assert [branch.variable for branch in shape.core] == [2]
    assert shape.edges == ()


def test_a_class_drives_where_there_is_nothing_else() -> None:
    shape = only([(x, 1, y), (y, CLASS, 0), (y, 2, z)])
    assert shape.driver == Driver(0, 2 * CLASS, 0)


def test_counts_have_no_driver_and_hang_far_from_constants() -> None:
    shape = only([(x, 1, 0), (x, 1, y), (y, 1, z)], PLAIN)
    assert shape.driver is None
    assert shape.core[0].variable == 2


def test_a_tree_without_constants_hangs_from_its_centre() -> None:
    shape = only([(x, 1, y), (y, 1, z), (z, 2, u), (u, 3, ~4)])
    assert shape.core[0].variable == 2


def test_what_lies_on_cycles_and_between_them_is_the_core() -> None:
    edges = [(x, 1, y), (y, 1, x), (y, 2, z), (z, 3, u), (u, 4, z), (u, 5, ~4)]
    shape = only(edges)
    assert sorted(branch.variable for branch in shape.core) == [0, 1, 2, 3]
    assert len(shape.edges) == 5


def test_parallel_edges_are_a_cycle_and_loops_are_not() -> None:
    assert len(only([(x, 1, y), (x, 2, y)]).edges) == 2
    assert only([(x, 1, x), (x, 1, y)]).edges == ()


def test_constants_do_not_connect() -> None:
    assert len(shapes([(x, 1, 0), (y, 1, 0)])) == 2


@pytest.mark.parametrize(("length", "folds"), [(100, True), (119, True), (400, False)])
def test_trees_that_are_too_deep_are_not_folded(length: int, folds: bool) -> None:
    chain = [(~place, 1, ~(place + 1)) for place in range(length)]
    (component,) = components_of(chain, ())
    assert (shape_of(component, RULES) is not None) == folds
    assert not folds or 2 * peel(component).rounds <= MOST_LEVELS
