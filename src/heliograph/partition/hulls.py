"""The merger of patterns: their product, with the hull of what each of them asks.

The law: whatever matches a member matches the merger. The product maps into each member (`antiunification`), so a match
of the member gives each column a value; of that value the member asks its own region, which lies in the hull. Classes
become a class above all of them, conditions that regions cannot say are kept where all members have them, and become
alternatives where each has some. Anything else is left out, which only lets more pass.

A merger is one connected pattern with at least one edge, or there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from heliograph.partition.antiunification import Column, Edge, Product
from heliograph.partition.cuts import Line
from heliograph.partition.flat import Flat, Head, laid, raised, substituted, variables_of
from heliograph.partition.forms import EVERYTHING, Form, Region, numbered
from heliograph.partition.regions import Some, convex, holds, join, just
from heliograph.partition.spelling import region_of, spelled
from heliograph.partition.truths import comparison
from heliograph.syntax.query import And, ClassPattern, ClassRelation, Expression, Node, Or, Pattern, TriplePattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term, Variable, sort_key

_TERMS = 256  # given terms up to which a hull lists them
_INTERVALS = 64  # intervals up to which it keeps the gaps between them
_ALTERNATIVES = 64  # conditions up to which they are listed

IS_A, SUBCLASS_OF, TYPE, MEMBER = -2, -3, -4, -5  # labels that mean more than one edge of the document
_RELATIONS = {IS_A: ClassRelation.IS_A, SUBCLASS_OF: ClassRelation.SUBCLASS_OF}
_PROBE = Variable("x")


class Member(NamedTuple):
    """A pattern that is merged: its form, and its nodes by place."""

    form: Form
    nodes: tuple[Node, ...]


def merged(members: Sequence[Member], product: Product, taxonomy: Taxonomy) -> Form | None:
    """The merger of members around their product; None if there is none."""
    nodes = [_node(members, column, number) for number, column in enumerate(product.columns)]
    edges = {edge: _pattern(members, product, edge, nodes, taxonomy) for edge in product.edges}
    kept = _connected([(edge, pattern) for edge, pattern in edges.items() if pattern is not None])
    if not any(isinstance(pattern, TriplePattern) for pattern in kept):
        return None
    bound = dict.fromkeys(node for pattern in kept for node in pattern if isinstance(node, Variable))
    columns = {
        node: column
        for node, column in zip(nodes, product.columns, strict=True)
        if isinstance(node, Variable) and node in bound
    }
    regions = [(variable, _hull(members, column)) for variable, column in columns.items()]
    limits = tuple((variable, region) for variable, region in regions if region != EVERYTHING)
    return Form(kept, limits, _residue(members, columns))


def _node(members: Sequence[Member], column: Column, number: int) -> Node:
    """The term that all members have there, or a variable."""
    first, *others = (member.nodes[place] for member, place in zip(members, column, strict=True))
    same = isinstance(first, Term) and all(node == first for node in others)
    return first if same else numbered(number)


# --- edges ------------------------------------------------------------------------------------------------------


def _pattern(
    members: Sequence[Member], product: Product, edge: Edge, nodes: Sequence[Node], taxonomy: Taxonomy
) -> Pattern | None:
    """An edge of the product between its nodes; None where classes differ that have none above them."""
    subject, object = nodes[edge.subject], nodes[edge.object]
    kinds = _terms(members, product.columns[edge.object])
    if edge.label == TYPE and taxonomy.rows and isinstance(object, Variable) and kinds:
        above = _bound(kinds, taxonomy.ancestors)
        return None if above is None else ClassPattern(ClassRelation.IS_A, subject, above)
    if edge.label not in _RELATIONS:
        return TriplePattern(subject, nodes[edge.predicate], object)
    relation = _RELATIONS[edge.label]
    if isinstance(object, Variable) and kinds:
        above = _bound(kinds, taxonomy.ancestors)
        return None if above is None else ClassPattern(relation, subject, above)
    kinds = _terms(members, product.columns[edge.subject])
    if relation is ClassRelation.SUBCLASS_OF and isinstance(subject, Variable) and kinds:
        below = _bound(kinds, taxonomy.descendants)
        return None if below is None else ClassPattern(relation, below, object)
    return ClassPattern(relation, subject, object)


def _terms(members: Sequence[Member], column: Column) -> list[Term]:
    """The terms of a column, if they are all terms."""
    nodes = [member.nodes[place] for member, place in zip(members, column, strict=True)]
    terms = [node for node in nodes if isinstance(node, Term)]
    return terms if len(terms) == len(nodes) else []


def _bound(kinds: Sequence[Term], closure: Callable[[Term], Iterable[Term]]) -> Term | None:
    """The nearest class that bounds all of them: one of them, or one in the closure of each."""
    common = set.intersection(*({kind, *closure(kind)} for kind in kinds))
    return max(sorted(common, key=sort_key), key=lambda kind: len(common.intersection(closure(kind))), default=None)


def _connected(found: Sequence[tuple[Edge, Pattern]]) -> tuple[Pattern, ...]:
    """The edges of the largest part that hangs together; of equal ones the first."""
    parts: list[tuple[set[Node], list[Pattern]]] = []
    for _, pattern in found:
        ends = {pattern.subject, pattern.object}
        touching = [part for part in parts if part[0] & ends]
        parts = [part for part in parts if not part[0] & ends]
        nodes = ends.union(*(nodes for nodes, _ in touching))
        parts.append((nodes, [*(each for _, patterns in touching for each in patterns), pattern]))
    largest = max((patterns for _, patterns in parts), key=len, default=[])
    return tuple(dict.fromkeys(largest))


# --- regions ----------------------------------------------------------------------------------------------------


def _hull(members: Sequence[Member], column: Column) -> Region:
    """What holds the regions of a column; never less, and more only where a query could not say it, or not shortly."""
    regions = {_region(member, place): None for member, place in zip(members, column, strict=True)}
    if EVERYTHING in regions:
        return EVERYTHING
    return hull_of(list(regions))


def _region(member: Member, place: int) -> Region:
    node = member.nodes[place]
    return just({node}) if isinstance(node, Term) else member.form.region(node)


def hull_of(regions: Sequence[Region]) -> Region:
    """The union of regions, as far as that can be said."""
    if all(region.among is not None for region in regions):
        terms = frozenset[Term]().union(*(region.among or () for region in regions))
        return just(terms) if len(terms) <= _TERMS else EVERYTHING
    joined = reduce(join, map(_by_value, regions))
    if any(map(_is_long, joined.parts)):
        joined = convex(joined)
    return EVERYTHING if any(map(_is_long, joined.parts)) else region_of(spelled(_PROBE, joined))


def _by_value(region: Region) -> Region:
    """The same with the equals of its terms, so that points and intervals run side by side on the lines of numbers."""
    equals = [truth.true for term in region.among or () if (truth := comparison("=", term)) and holds(truth.true, term)]
    return reduce(join, equals, region)


def _is_long(part: Some | Line) -> bool:
    return len(part.terms) > _TERMS if isinstance(part, Some) else len(part) > 2 * _INTERVALS


# --- what regions cannot say ------------------------------------------------------------------------------------


def _residue(members: Sequence[Member], columns: Mapping[Variable, Column]) -> tuple[Flat, ...]:
    """Conditions that all members have; and, if each has others as well, one of these."""
    if not all(member.form.residue for member in members):
        return ()
    asked = [_translated(member, number, columns) for number, member in enumerate(members)]
    common = [flat for flat in asked[0] if all(flat in each for each in asked)]
    others = [[flat for flat in each if flat not in common] for each in asked]
    return (*common, *_alternatives(others))


def _translated(member: Member, number: int, columns: Mapping[Variable, Column]) -> list[Flat]:
    """The conditions of a member that speak of columns alone, in their variables."""
    images: dict[Node, Node] = {}
    for variable, column in columns.items():
        node = member.nodes[column[number]]
        if isinstance(node, Variable):
            images.setdefault(node, variable)
    return [substituted(flat, images) for flat in member.form.residue if variables_of(flat) <= images.keys()]


def _alternatives(others: Sequence[Sequence[Flat]]) -> tuple[Flat, ...]:
    if not all(others) or any(_is_block(flat) for each in others for flat in each):
        return ()
    choices = dict.fromkeys(choice for each in others for choice in _choices(each))
    return (laid(Or(tuple(choices))),) if len(choices) <= _ALTERNATIVES else ()


def _choices(flats: Sequence[Flat]) -> tuple[Expression, ...]:
    """Conditions that are ANDed, as alternatives: one, unless they are alternatives already."""
    found = tuple(map(raised, flats))
    if len(found) > 1:
        return (And(found),)
    return found[0].operands if isinstance(found[0], Or) else found


def _is_block(flat: Flat) -> bool:
    """Whether a condition is a VALUES block, which is no expression."""
    return isinstance(flat[0], Head) and flat[0].kind == "Values"
