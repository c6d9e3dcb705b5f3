"""Random filter workloads with every feature mixed, over so few terms that matches are frequent.

Queries go in as text or as pattern tables. Some are drawn at random, some are made of a document's own triples by
turning terms into variables, and some are *families*: one pattern with other names for its variables and other
constants in its conditions, dozens of times, as an index that shares structures and sorts constants wants them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st

from heliograph import Filter
from heliograph.filter.strategy import ALGORITHMS
from heliograph.terms import Position, parse_cell
from tests.filter.conditions import (
    CLASSES,
    NAMES,
    PROPERTIES,
    WILD,
    Palette,
    comparisons,
    conditions,
    constants,
    textual,
    token,
)
from tests.filter.conditions import names as any_names

RIVALS = tuple(name for name in ALGORITHMS if name != "naive")  # what is measured against the naive algorithm

Cells = tuple[str, str, str]
Row = tuple[str, ...]


class Interest(NamedTuple):
    """One subscription: its text, or its rows in the tables of patterns and constraints."""

    id: str
    text: str | None
    patterns: tuple[Cells, ...] = ()
    constraints: tuple[Cells, ...] = ()


class Workload(NamedTuple):
    """A taxonomy, subscriptions in order, and documents."""

    taxonomy: list[tuple[str, str]]
    interests: list[Interest]
    documents: list[list[Cells]]

    @property
    def publications(self) -> list[tuple[str, list[Cells]]]:
        return [(f"d{number}", document) for number, document in enumerate(self.documents)]

    def engine(self, algorithm: str | None = None) -> Filter:
        made = Filter(self.taxonomy) if algorithm is None else Filter(self.taxonomy, algorithm=algorithm)
        subscribe(made, self.interests)
        return made


def subscribe(engine: Filter, interests: Iterable[Interest]) -> None:
    """Subscribes to all of them in this order; none may be refused."""
    for textual_ones, run in groupby(interests, key=lambda interest: interest.text is not None):
        some = list(run)
        if textual_ones:
            receipt = engine.subscribe([(interest.id, interest.text) for interest in some])
        else:
            rows = [[(each.id, *row) for each in some for row in part(each)] for part in (_patterns, _constraints)]
            receipt = engine.subscribe(patterns=rows[0], constraints=rows[1] or None)
        assert not receipt.rejected, (some, list(receipt.rejected))


def _patterns(interest: Interest) -> Sequence[Cells]:
    return interest.patterns


def _constraints(interest: Interest) -> Sequence[Cells]:
    return interest.constraints


def examples(number: int) -> settings:
    """Settings for so many examples, times EXAMPLES from the environment for a longer search."""
    return settings(max_examples=number * int(os.environ.get("EXAMPLES", "1")), deadline=None)


# --- documents --------------------------------------------------------------------------------------------------

_subjects = st.sampled_from([*NAMES, *NAMES, *CLASSES, "_:b0", "_:b1", "p"])
_properties = st.sampled_from([*PROPERTIES * 3, "a", "a", "rdfs:subClassOf", "rdf:_1", "rdf:_2", "rdfs:member"])


def documents(palette: Palette) -> st.SearchStrategy[list[Cells]]:
    objects = st.one_of(_subjects, _subjects, palette.literals)
    return st.lists(st.tuples(_subjects, _properties, objects), min_size=1, max_size=9)


taxonomies = st.lists(st.tuples(st.sampled_from(NAMES + CLASSES), st.sampled_from(CLASSES + NAMES[:1])), max_size=5)

# --- patterns ---------------------------------------------------------------------------------------------------

VARIABLES = ("?x", "?y", "?z", "_:n")
_variables = st.sampled_from(VARIABLES)
_relations = st.sampled_from(["a/rdfs:subClassOf*", "a", "rdfs:subClassOf+"])
_classes = st.sampled_from(CLASSES + NAMES[:1]).map(token)


def _edges(palette: Palette) -> st.SearchStrategy[Row]:
    return st.tuples(
        st.one_of(_variables, _variables, any_names.map(token)),
        st.one_of(_properties, _properties, st.sampled_from(VARIABLES[:3])).map(token),
        st.one_of(_variables, _variables, constants(palette)),
    )


_class_edges: st.SearchStrategy[Row] = st.tuples(
    st.one_of(_variables, _variables, _classes), _relations, st.one_of(_classes, _classes, _variables)
)


@st.composite
def abstracted(draw: st.DrawFn, document: list[Cells]) -> list[Row]:
    """Some of a document's triples, some of their terms turned into variables: it has a solution."""
    taken = draw(st.lists(st.sampled_from(document), min_size=1, max_size=4, unique=True))
    terms = [[parse_cell(cell, at) for cell, at in zip(triple, Position)] for triple in taken]
    properties = {triple[Position.PROPERTY] for triple in terms}
    cells = dict(zip((term for triple in terms for term in triple), (cell for triple in taken for cell in triple)))
    nodes = {}
    for number, (term, cell) in enumerate(cells.items()):
        likely = 2 if term in properties else 7
        turned = cell.startswith("_:") or draw(st.integers(0, 9)) < likely
        label = f"?v{number}" if term in properties or number % 5 != 4 else f"_:n{number}"  # no property may be blank
        nodes[term] = label if turned else token(cell)
    return [tuple(nodes[term] for term in triple) for triple in terms]


def named(edges: Iterable[Row]) -> tuple[str, ...]:
    """The variables with a name, in order of appearance."""
    return tuple(dict.fromkeys(node for edge in edges for node in edge if node.startswith("?")))


# --- queries ----------------------------------------------------------------------------------------------------


@st.composite
def blocks(draw: st.DrawFn, variables: tuple[str, ...], palette: Palette) -> str:
    """A VALUES block of one or two variables, with UNDEF here and there."""
    cells = st.one_of(constants(palette), constants(palette), st.just("UNDEF"))
    over = draw(st.lists(st.sampled_from(variables), min_size=1, max_size=2, unique=True))
    rows = draw(st.lists(st.lists(cells, min_size=len(over), max_size=len(over)), min_size=1, max_size=4))
    return f"VALUES ({' '.join(over)}) {{ {' '.join('(' + ' '.join(row) + ')' for row in rows)} }}"


@st.composite
def forms(draw: st.DrawFn, body: str, variables: tuple[str, ...]) -> str:
    """A query with this body: SELECT, ASK, or one that counts."""
    kind = draw(st.integers(0, 11))
    if kind <= 4 or not variables:
        return f"ASK {{ {body} }}"
    one = draw(st.sampled_from(variables))
    compared = f"HAVING (COUNT(*) {draw(st.sampled_from(['>=', '>', '<', '=']))} {draw(st.integers(0, 3))})"
    if kind == 5:
        return f"SELECT (COUNT(*) AS ?total) {{ {body} }} {compared}"
    if kind == 6:
        return f"SELECT {one} (COUNT(*) AS ?total) {{ {body} }} GROUP BY {one} {compared}"
    return f"SELECT {draw(st.sampled_from(['*', one, f'DISTINCT {one}', 'DISTINCT *']))} {{ {body} }}"


@st.composite
def queries(draw: st.DrawFn, document: list[Cells], palette: Palette) -> str:
    """A whole query; most are made of the document, so that they have a chance."""
    if draw(st.integers(0, 3)):
        edges = draw(abstracted(document))
    else:
        edges = draw(st.lists(_edges(palette), min_size=1, max_size=3))
    edges += draw(st.one_of(st.just([]), st.lists(_class_edges, max_size=1)))
    variables = named(edges)
    parts = [" ".join(edge) + " ." for edge in edges]
    if draw(st.booleans()) and variables:
        bound = (*variables, "?nowhere") if draw(st.integers(0, 5)) == 0 else variables
        parts.append(f"FILTER({draw(conditions(bound, palette))})")
    if draw(st.integers(0, 4)) == 0 and variables:
        parts.append(draw(blocks((*variables, "?k"), palette)))
    return draw(forms(" ".join(parts), variables))


# --- families ---------------------------------------------------------------------------------------------------

_OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
_CLASS_OPERATORS = ("is-a", "direct-is-a", "subclass-of", "superclass-of")


def _spelled(cells: list[str]) -> str:
    return json.dumps(cells)


@st.composite
def constraints(draw: st.DrawFn, variable: str, palette: Palette) -> Cells:
    """A row of the table of constraints."""
    cells = st.one_of(any_names, palette.literals)
    kind = draw(st.integers(0, 5))
    if kind <= 2:
        operators = _OPERATORS if palette.wild else ("<", "<=", ">", ">=", "=")
        return (variable, draw(st.sampled_from(operators)), draw(palette.ordered))
    if kind == 3:
        return (variable, "in", _spelled(draw(st.lists(cells, min_size=1, max_size=3))))
    if kind == 4:
        return (variable, draw(st.sampled_from(_CLASS_OPERATORS)), draw(st.sampled_from(CLASSES + NAMES[:1])))
    return (variable, draw(st.sampled_from(["contains", "starts-with", "regex"])), draw(st.sampled_from("abAé.")))


def _renamed(edges: Sequence[Row], names: dict[str, str]) -> list[Row]:
    return [tuple(names.get(node, node) for node in edge) for edge in edges]


@st.composite
def members(draw: st.DrawFn, edges: list[Row], kind: str, palette: Palette) -> str:
    """One member of a family, as text."""
    pool = draw(st.sampled_from([("?x", "?y", "?z", "?u"), ("?a", "?b", "?c", "?d"), ("?y", "?x", "?u", "?z")]))
    variables = named(edges)
    names = dict(zip(variables, pool))
    own = _renamed(edges[::-1] if draw(st.booleans()) else edges, names)
    variable = names.get(draw(st.sampled_from(variables)), variables[-1])
    body = " ".join(" ".join(edge) + " ." for edge in own)
    if kind == "class":
        return f"ASK {{ {body} {variable} {draw(_relations)} {draw(_classes)} }}"
    if kind == "set":
        return f"ASK {{ {body} {draw(blocks((variable,), palette))} }}"
    if kind == "text":
        return f"ASK {{ {body} FILTER({draw(textual(variable))}) }}"
    if kind == "mixed":
        return f"ASK {{ {body} FILTER({draw(conditions(named(own), palette))}) }}"
    return f"ASK {{ {body} FILTER({draw(comparisons(variable, palette))}) }}"


@st.composite
def families(draw: st.DrawFn, document: list[Cells], palette: Palette, most: int = 24) -> list[Interest]:
    """Subscriptions that share a structure, without their ids."""
    edges = draw(abstracted(document).filter(named))
    number = draw(st.integers(2, most))
    if draw(st.integers(0, 3)) == 0:
        rows = tuple((s.removeprefix(":"), p.removeprefix(":"), o.removeprefix(":")) for s, p, o in edges)
        one = st.sampled_from(named(edges)).flatmap(lambda variable: constraints(variable, palette))
        drawn = draw(st.lists(st.lists(one, max_size=2), min_size=number, max_size=number))
        return [Interest("", None, rows, tuple(each)) for each in drawn]
    kind = draw(st.sampled_from(["order", "order", "class", "set", "text", "mixed"]))
    texts = draw(st.lists(members(edges, kind, palette), min_size=number, max_size=number))
    return [Interest("", text) for text in texts]


@st.composite
def workloads(draw: st.DrawFn, palette: Palette = WILD, *, most: int = 24) -> Workload:
    """Everything at once."""
    published = draw(st.lists(documents(palette), min_size=1, max_size=3))
    some = st.sampled_from(published)
    alone = draw(st.lists(some.flatmap(lambda document: queries(document, palette)), max_size=6))
    shared = draw(st.lists(some.flatmap(lambda document: families(document, palette, most)), max_size=2))
    drawn = [Interest("", text) for text in alone]
    drawn += [member for family in shared for member in family]
    order = draw(st.permutations(range(len(drawn)))) if len(drawn) < 12 else range(len(drawn))
    interests = [drawn[place]._replace(id=f"s{number}") for number, place in enumerate(order)]
    return Workload(draw(taxonomies), interests, published)
