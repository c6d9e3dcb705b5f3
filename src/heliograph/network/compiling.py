"""From a query to what is entered for it: components with a shape each, or the whole pattern as one core.

Constants next to variables are numbered out of the pattern first, so that a shape is worked out once for all queries
that differ in constants: what remains for each of them is to look its parts up.

Truth and counts need every edge to have a known property and every filter to be said by tests of single slots.
Anything else lists solutions, and what is left of its filters is judged outside. There constants are slots as well, to
be filled, so that patterns which differ in them are joined as one. If a pattern falls apart even so, its constants stay
where they are: what is known of one piece would not say which constants another could have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from heliograph.kernels.network_layout import Q_ROWS, Q_TRUTH
from heliograph.network.cores import slot_order
from heliograph.network.questions import Edge, Question, Test, Want
from heliograph.network.shapes import Rules, Shape, components_of, shape_of
from heliograph.syntax.query import Expression, Query
from heliograph.terms import Variable

FEW = 64  # counts of one structure that have no driver


class Listed(NamedTuple):
    """A pattern all of whose solutions are listed: its edges between slots, the tests of slots, and what fills the last
    ones, its holes."""

    slots: int
    edges: tuple[Edge, ...]
    tests: tuple[tuple[int, Test], ...]
    fillings: tuple[int, ...]


class Compiled(NamedTuple):
    """What a query needs.

    `kind` is Q_ROWS where truth or count cannot be had otherwise. `never`: it has no solution, whatever the graph.
    `slots` are the variables in the order of a listed solution's terms; `remaining` are the conjuncts of its filters
    that are still to be judged. VALUES and metrics are nobody's business here.
    """

    kind: int
    never: bool
    concrete: tuple[Edge, ...]  # edges without variables
    shapes: tuple[Shape, ...]
    constants: tuple[int, ...]  # by the numbers that shapes have for them
    tests: Mapping[int, Test]  # by variable
    listed: Listed | None
    slots: tuple[Variable, ...]
    remaining: tuple[Expression, ...]
    wants: tuple[Want, ...]


class Customs(NamedTuple):
    """What queries are folded by: the keys that lead to classes, and how many counts of each structure there were."""

    class_keys: frozenset[int]
    counted: Counter[tuple[Edge, ...]]


def compiled(query: Query, question: Question, kind: int, customs: Customs) -> Compiled:
    """A query made ready to be entered."""
    if kind != Q_ROWS and not _lists(query, question):
        found = _folded(question, kind, customs)
        if found is not None:
            return found
    return _listing(question)


def _lists(query: Query, question: Question) -> bool:
    """Whether a query can be answered by its solutions alone."""
    return bool(query.values or query.metrics or question.remaining or any(p < 0 for _, p, _ in question.edges))


# --- truth and counts -------------------------------------------------------------------------------------------


def _folded(question: Question, kind: int, customs: Customs) -> Compiled | None:
    concrete, abstract = [], []
    constants: list[int] = []
    for s, p, o in question.edges:
        if s >= 0 and o >= 0:
            concrete.append((s, p, o))
            continue
        abstract.append((s if s < 0 else len(constants), p, o if o < 0 else len(constants)))
        constants += [node for node in (s, o) if node >= 0]
    edges = tuple(abstract)
    driven = kind == Q_TRUTH or _is_crowded(edges, customs.counted)
    shapes = _shapes(edges, frozenset(question.tests), driven, customs.class_keys)
    if shapes is None:
        return None
    known = (tuple(concrete), shapes, tuple(constants), question.tests)
    return Compiled(kind, question.never, *known, None, (), (), question.wants)


def _is_crowded(edges: tuple[Edge, ...], counted: Counter[tuple[Edge, ...]]) -> bool:
    """Whether there are many counts of one structure. A few of them are better off with their constants in place,
    where little is heard; many share what is heard everywhere, and are found by their driving constants."""
    counted[edges] += 1
    return counted[edges] > FEW


@lru_cache(maxsize=4096)
def _shapes(
    edges: tuple[Edge, ...], tested: frozenset[int], driven: bool, class_keys: frozenset[int]
) -> tuple[Shape, ...] | None:
    """The shapes of all components; None if one of them is too deep."""
    rules, shapes = Rules(driven, class_keys), []
    for component in components_of(edges, tested):
        shape = shape_of(component, rules)
        if shape is None:
            return None
        shapes.append(shape)
    return tuple(shapes)


# --- rows -------------------------------------------------------------------------------------------------------


def _listing(question: Question) -> Compiled:
    count = len(question.variables)
    edges, fillings = _with_holes(question.edges, count)
    if not _is_connected(edges):
        edges, fillings = question.edges, ()
    order = _row_order(edges, count, len(fillings), frozenset(question.tests))
    slots = {number: slot for slot, number in enumerate(order)}
    renamed = {~number: ~slot for number, slot in slots.items()}
    renumbered = tuple(sorted((renamed.get(s, s), renamed.get(p, p), renamed.get(o, o)) for s, p, o in edges))
    tests = tuple(sorted(((slots[each], test) for each, test in question.tests.items()), key=lambda pair: pair[0]))
    filled = tuple(fillings[number - count] for number in order[count:])
    listed = Listed(len(order), renumbered, tests, filled)
    variables = tuple(question.variables[number] for number in order[:count])
    return Compiled(
        Q_ROWS, question.never, (), (), (), question.tests, listed, variables, question.remaining, question.wants
    )


def _with_holes(edges: tuple[Edge, ...], count: int) -> tuple[tuple[Edge, ...], tuple[int, ...]]:
    """Edges with a slot, numbered from `count`, in place of each constant at their ends; and the constants."""
    holes: dict[int, int] = {}

    def node(each: int) -> int:
        return each if each < 0 else ~holes.setdefault(each, count + len(holes))

    return tuple((node(s), p, node(o)) for s, p, o in edges), tuple(holes)


def _is_connected(edges: tuple[Edge, ...]) -> bool:
    """Whether all edges hang together by their ends; a query of VALUES alone has none."""
    if not edges:
        return True
    reached, left = set(edges[0][::2]), list(edges[1:])
    while touching := [edge for edge in left if edge[0] in reached or edge[2] in reached]:
        reached.update(node for edge in touching for node in edge[::2])
        left = [edge for edge in left if edge not in touching]
    return not left


@lru_cache(maxsize=4096)
def _row_order(edges: tuple[Edge, ...], count: int, holes: int, tested: frozenset[int]) -> tuple[int, ...]:
    """The variables in an order that does not depend on their names, then the holes in one that does not on what fills
    them.

    An edge is a slot of its own here, labelled by its constants, so that predicates may be variables as well.
    """
    slots = count + holes
    codes: dict[int, tuple[object, ...]] = {
        number: (0, (), (number >= count, number in tested)) for number in range(slots)
    }
    ends = []
    for place, edge in enumerate(edges, slots):
        codes[place] = (1, tuple(max(node, -1) for node in edge), ())
        ends += [(place, position, ~node) for position, node in enumerate(edge) if node < 0]
    order = [slot for slot in slot_order(codes, ends) if slot < slots]
    return (*(slot for slot in order if slot < count), *(slot for slot in order if slot >= count))
