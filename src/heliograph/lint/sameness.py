"""Queries that are one up to the names of their variables and the order of their parts.

A query is a set of parts. Its variables are told apart by how they occur: colours are refined until that tells no more,
and where variables still look alike each of them is tried as the first. The law: equal keys mean that a renaming turns
one query into the other. The converse holds but for patterns so symmetrical that trying would not end, and for
conditions and VALUES that say the same in another order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from heliograph.index.comparing import MIRRORED
from heliograph.lint.demands import conjuncts, replaced
from heliograph.syntax.query import Compare, Expression, Query, Values, children, walk
from heliograph.terms import Term, Variable

Colours = dict[Variable, int]
Token = Hashable  # a variable, a constant, or the sort of an operation

_TRIED = 64  # ways of naming the variables of one query


class Part(NamedTuple):
    """One part of a query: what holds it together, its constants and variables in order."""

    sort: str
    tokens: tuple[Token, ...]


def alike(queries: Sequence[Query]) -> Iterator[list[int]]:
    """The groups of two or more that ask the same, each by their places in ascending order."""
    for bucket in _grouped((_rough(query) for query in queries), range(len(queries))):
        if len(bucket) > 1:
            yield from (same for same in _grouped((key_of(queries[at]) for at in bucket), bucket) if len(same) > 1)


def _grouped(keys: Iterable[Hashable], places: Iterable[int]) -> list[list[int]]:
    groups: dict[Hashable, list[int]] = {}
    for key, place in zip(keys, places, strict=True):
        groups.setdefault(key, []).append(place)
    return list(groups.values())


def _rough(query: Query) -> Hashable:
    """What two queries that ask the same have in common for certain, at little cost."""
    masked = [tuple([None if isinstance(node, Variable) else node for node in pattern]) for pattern in query.patterns]
    return frozenset(masked), sum(1 for _ in conjuncts(query.filters)), len(query.values), len(query.group_by)


def select_the_same(one: Query, other: Query) -> bool:
    """Whether two queries that ask the same select the same too."""
    if (one.form, one.distinct) != (other.form, other.distinct):
        return False
    if all(set(query.projection) == set(query.variables) for query in (one, other)):
        return True
    return key_of(one, selected=True) == key_of(other, selected=True)


def key_of(query: Query, selected: bool = False) -> Hashable:
    """The query without the names of its variables; with what it selects, if that matters."""
    chosen = [Part("selected", (variable,)) for variable in query.projection] if selected else []
    parts = list(dict.fromkeys([*_parts(query), *chosen]))
    names = dict.fromkeys(token for part in parts for token in part.tokens if isinstance(token, Variable))
    return frozenset(_renamed(parts, colours) for colours in islice(_namings(dict.fromkeys(names, 0), parts), _TRIED))


def _namings(colours: Colours, parts: Sequence[Part]) -> Iterator[Colours]:
    """The ways of giving each variable a colour of its own that do not depend on names."""
    stack: list[tuple[Colours, Variable | None]] = [(colours, None)]  # refined when its turn comes: few are asked for
    while stack:
        coarse, chosen = stack.pop()
        colours = _refined(coarse if chosen is None else {**coarse, chosen: -1}, parts)
        tied = _tied(colours)
        if not tied:
            yield colours
        stack += [(colours, variable) for variable in tied]


# --- parts ------------------------------------------------------------------------------------------------------


def _parts(query: Query) -> Iterator[Part]:
    yield from (Part(type(pattern).__name__, tuple(pattern)) for pattern in query.patterns)
    yield from (Part("filter", _tokens(each)) for each in conjuncts(query.filters))
    yield from (Part("values", _listed(block)) for block in query.values)
    yield from (Part("group", (variable,)) for variable in query.group_by)
    yield Part("counted", (query.counted,))
    if query.having is not None:
        yield Part("having", _tokens(query.having))


def _tokens(expression: Expression) -> tuple[Token, ...]:
    """An expression as its nodes, operators first: with the number of their operands that says all."""
    turned: dict[Expression, Expression] = {
        node: _turned(node) for node in walk(expression) if isinstance(node, Compare)
    }
    return tuple([_token(node) for node in walk(replaced(expression, turned) if turned else expression)])


def _turned(test: Compare) -> Compare:
    """A comparison with its constant on the right."""
    if isinstance(test.left, Term) and not isinstance(test.right, Term):
        return Compare(MIRRORED[test.operator], test.right, test.left)
    return test


def _token(node: Expression) -> Token:
    if isinstance(node, (Term, Variable)):
        return node
    said = tuple(getattr(node, name, None) for name in ("operator", "name", "negated"))
    return type(node), said, len(children(node))


def _listed(block: Values) -> tuple[Token, ...]:
    """A block as its columns, rows in an order that does not depend on how they were given."""
    rows = sorted(set(block.rows), key=repr)
    columns = [(variable, tuple(row[at] for row in rows)) for at, variable in enumerate(block.variables)]
    return tuple(token for column in columns for token in column)


# --- colours ----------------------------------------------------------------------------------------------------


def _refined(colours: Colours, parts: Sequence[Part]) -> Colours:
    """Variables coloured by how they occur together with other colours, until that tells no more of them apart."""
    while True:
        seen: dict[Variable, list[int]] = {variable: [] for variable in colours}
        for part in parts:
            shown = tuple([colours[token] if isinstance(token, Variable) else token for token in part.tokens])
            for at, token in enumerate(part.tokens):
                if isinstance(token, Variable):
                    seen[token].append(hash((part.sort, shown, at)))
        finer = {variable: hash((colours[variable], *sorted(marks))) for variable, marks in seen.items()}
        if len(set(finer.values())) == len(set(colours.values())):
            return finer
        colours = finer


def _tied(colours: Colours) -> list[Variable]:
    """The variables of the first colour that several have."""
    by_colour: dict[int, list[Variable]] = {}
    for variable, colour in colours.items():
        by_colour.setdefault(colour, []).append(variable)
    return next((by_colour[colour] for colour in sorted(by_colour) if len(by_colour[colour]) > 1), [])


def _renamed(parts: Sequence[Part], colours: Mapping[Variable, int]) -> Hashable:
    order = {variable: number for number, variable in enumerate(sorted(colours, key=lambda name: colours[name]))}
    return frozenset(
        (part.sort, tuple([order[token] if isinstance(token, Variable) else (token,) for token in part.tokens]))
        for part in parts
    )
