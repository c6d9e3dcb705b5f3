"""A query as containment and merging see it: its edges, the region of each variable, and what regions cannot say.

The laws: a publication matches a form exactly if it matches the query that the form was made of, and exactly if it
matches `query_of(form)`; variables are numbered by what is asked of them and edges stand in order, so that patterns
which differ in the names of their variables alone have one form, but for the rare ones that are alike in all their
edges. What a query selects makes no difference. One that counts, or that has variables no edge binds, is `opaque`:
nothing is known of it but what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from heliograph.partition.flat import Flat, Head, laid, raised, substituted, variables_of
from heliograph.partition.regions import EVERYTHING, NOTHING, Region, just, meet
from heliograph.partition.spelling import hull, says, spelled
from heliograph.partition.truths import true_of
from heliograph.syntax.query import (
    And,
    ClassPattern,
    ClassRelation,
    Compare,
    Expression,
    Node,
    Pattern,
    Query,
    TriplePattern,
    Values,
)
from heliograph.terms import Term, Variable

__all__ = ["EVERYTHING", "NOTHING", "Counted", "Form", "Region", "form_of", "hull", "numbered", "query_of"]

_NAMED = tuple(Variable(f"v{number}") for number in range(64))
_VALUES = "Values"  # the head of a VALUES block that is laid flat: its variables, then its rows


class Counted(NamedTuple):
    """What a query that counts asks of the count."""

    group_by: tuple[Variable, ...]
    having: Flat | None


class Form(NamedTuple):
    """`regions` are of the variables that must satisfy something, in order; `residue` is ANDed and laid flat."""

    edges: tuple[Pattern, ...]
    regions: tuple[tuple[Variable, Region], ...] = ()
    residue: tuple[Flat, ...] = ()
    counted: Counted | None = None
    opaque: bool = False

    def region(self, variable: Variable) -> Region:
        """The region of a variable."""
        for name, region in self.regions:
            if name == variable:
                return region
        return EVERYTHING

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the edges, by first appearance."""
        return tuple(
            dict.fromkeys([node for edge in self.edges for node in ends_of(edge) if isinstance(node, Variable)])
        )


def numbered(number: int) -> Variable:
    """The variable of that number."""
    return _NAMED[number] if number < len(_NAMED) else Variable(f"v{number}")


def ends_of(edge: Pattern) -> tuple[Node, ...]:
    """The nodes of an edge: two or three."""
    return (edge.subject, edge.object) if isinstance(edge, ClassPattern) else edge


# --- from a query -----------------------------------------------------------------------------------------------


def form_of(query: Query) -> Form:
    """The form of a query."""
    names = _numbering(query.patterns)
    edges = _edges(query.patterns, names)
    regions, residue, loose = _conditions(query, names)
    counted = _counted(query, names) if query.counted else None
    return Form(edges, regions, residue, counted, query.counted or loose)


def _edges(patterns: Iterable[Pattern], names: Mapping[Node, Variable]) -> tuple[Pattern, ...]:
    found = dict.fromkeys([_renamed(edge, names) for edge in patterns])
    return tuple(sorted(found, key=_edge_key)) if len(found) > 1 else tuple(found)


def _renamed(edge: Pattern, names: Mapping[Node, Variable]) -> Pattern:
    if isinstance(edge, ClassPattern):
        relation, subject, object = edge
        return ClassPattern(relation, names.get(subject, subject), names.get(object, object))
    subject, predicate, object = edge
    if subject in names or object in names or predicate in names:
        return TriplePattern(
            names.get(subject, subject),
            names.get(predicate, predicate),
            names.get(object, object),
        )
    return edge


_Key = tuple[object, ...]
_STAR: _Key = (9,)  # of a variable, behind all kinds of term
_RANKS = {ClassRelation.IS_A: 1, ClassRelation.SUBCLASS_OF: 2}


def _edge_key(edge: Pattern) -> _Key:
    """The order of edges: first those of plain triples, by their nodes, constants before variables."""
    if isinstance(edge, ClassPattern):
        relation, subject, object = edge
        return _RANKS[relation], _node_key(subject), (), _node_key(object)
    subject, predicate, object = edge
    return 0, _node_key(subject), _node_key(predicate), _node_key(object)


def _node_key(node: Node) -> _Key:
    return (9, len(node.name), node.name) if isinstance(node, Variable) else node


def _numbering(patterns: Sequence[Pattern]) -> dict[Node, Variable]:
    """Numbers for the variables, by what their edges say of them, and then by what these say of their neighbours."""
    seen: dict[Node, list[_Key]] = {}
    for edge in patterns:
        ends = edge if isinstance(edge, TriplePattern) else (edge.subject, edge.relation, edge.object)
        for place, node in enumerate(ends):
            if isinstance(node, Variable):
                seen.setdefault(node, []).append((place, *(_outline(other, node) for other in ends)))
    if len(seen) > 1:
        colours: dict[Node, tuple[_Key, ...]] = {node: tuple(sorted(keys)) for node, keys in seen.items()}
        ordered = sorted(seen, key=colours.__getitem__)
        if len(set(colours.values())) < len(seen):
            ordered = _refined(patterns, ordered, colours)
        return {node: numbered(number) for number, node in enumerate(ordered)}
    return {node: numbered(0) for node in seen}


def _outline(node: object, this: Node) -> _Key:
    if isinstance(node, Variable):
        return (8,) if node == this else _STAR
    return node if isinstance(node, Term) else (5, str(node))


def _refined(patterns: Sequence[Pattern], ordered: list[Node], colours: Mapping[Node, tuple[_Key, ...]]) -> list[Node]:
    """Variables of one colour told apart by the colours around them, once for each variable at most."""
    rank = _ranked(ordered, colours)
    for _ in range(min(len(ordered), 8)):
        around: dict[Node, list[_Key]] = {node: [] for node in ordered}
        for edge in patterns:
            ends = [node for node in ends_of(edge) if isinstance(node, Variable)]
            for place, node in enumerate(ends):
                around[node].append((place, *(rank[other] for other in ends)))
        keys = {node: (rank[node], *sorted(around[node])) for node in ordered}
        ordered = sorted(ordered, key=keys.__getitem__)
        finer = _ranked(ordered, keys)
        if finer == rank or len(set(finer.values())) == len(ordered):
            break
        rank = finer
    return ordered


def _ranked(ordered: Sequence[Node], keys: Mapping[Node, object]) -> dict[Node, int]:
    """Ranks by key, equal ones of one rank."""
    ranks: dict[Node, int] = {}
    for number, node in enumerate(ordered):
        same = number and keys[ordered[number - 1]] == keys[node]
        ranks[node] = ranks[ordered[number - 1]] if same else number
    return ranks


# --- conditions -------------------------------------------------------------------------------------------------

_Regions = dict[Variable, Region]
_Conditions = tuple[tuple[tuple[Variable, Region], ...], tuple[Flat, ...], bool]


def _conditions(query: Query, names: Mapping[Node, Variable]) -> _Conditions:
    """The regions, the residue, and whether a variable stands in no edge."""
    if not query.filters and not query.values:
        return (), (), False
    said: dict[Variable, list[Expression]] = {}
    regions: _Regions = {}
    residue: list[Flat] = []
    loose = False
    for expression in _conjuncts(query.filters):
        found = _variables(expression)
        loose |= not found <= names.keys()
        true = true_of(expression) if len(found) == 1 and found <= names.keys() else None
        if true is None:
            residue.append(substituted(laid(expression), names))
        else:
            variable = names[found.pop()]
            regions[variable] = meet(regions.get(variable, EVERYTHING), true)
            said.setdefault(variable, []).append(expression)
    for block in query.values:
        loose |= not names.keys() >= set(block.variables)
        if len(block.variables) == 1 and block.variables[0] in names and (None,) not in block.rows:
            variable = names[block.variables[0]]
            regions[variable] = meet(regions.get(variable, EVERYTHING), _choice(block))
        else:
            residue.append(_laid_values(block, names))
    kept = tuple(sorted([each for each in regions.items() if each[1] != EVERYTHING]))
    unsaid = [each for variable, region in kept if variable in said and not says(region) for each in said[variable]]
    residue += [substituted(laid(expression), names) for expression in unsaid]
    return kept, tuple(sorted(dict.fromkeys(residue), key=repr)), loose


def _conjuncts(filters: Iterable[Expression]) -> Iterable[Expression]:
    """Filters without the ANDs on top of them."""
    stack = list(reversed([*filters]))
    while stack:
        each = stack.pop()
        if isinstance(each, And):
            stack.extend(reversed(each.operands))
        else:
            yield each


def _variables(expression: Expression) -> set[Variable]:
    if isinstance(expression, Compare) and isinstance(expression.right, Term):  # as most filters are
        return {expression.left} if isinstance(expression.left, Variable) else variables_of(laid(expression))
    return variables_of(laid(expression))


def _choice(block: Values) -> Region:
    return just({term for (term,) in block.rows if term is not None})


def _laid_values(block: Values, names: Mapping[Node, Variable]) -> Flat:
    cells = [
        cell if cell is not None else Head("Undef", "", 0) for row in sorted(set(block.rows), key=repr) for cell in row
    ]
    head = Head(_VALUES, str(len(block.variables)), len(block.variables) + len(cells))
    return head, *(names.get(variable, variable) for variable in block.variables), *cells


def _counted(query: Query, names: Mapping[Node, Variable]) -> Counted:
    having = None if query.having is None else substituted(laid(query.having), names)
    return Counted(tuple(names.get(name, name) for name in query.group_by), having)


# --- back to a query --------------------------------------------------------------------------------------------


def query_of(form: Form) -> Query:
    """A query that says what the form says."""
    filters: list[Expression] = []
    blocks: list[Values] = []
    kept = [variables_of(flat) for flat in form.residue]
    for variable, region in form.regions:
        if {variable} in kept and not says(region):
            continue  # the residue says it
        said = spelled(variable, region)
        filters += said.filters
        if said.values is not None:
            blocks.append(Values((variable,), tuple((term,) for term in said.values)))
    for flat in form.residue:
        if isinstance(flat[0], Head) and flat[0].kind == _VALUES:
            blocks.append(_raised_values(flat))
        else:
            filters.append(raised(flat))
    return _query(form, tuple(filters), tuple(blocks))


def _query(form: Form, filters: tuple[Expression, ...], blocks: tuple[Values, ...]) -> Query:
    if form.counted is None:
        return Query(patterns=form.edges, filters=filters, values=blocks, projection=form.variables)
    group_by, having = form.counted
    return Query(
        patterns=form.edges,
        filters=filters,
        values=blocks,
        counted=True,
        group_by=group_by,
        having=None if having is None else raised(having),
    )


def _raised_values(flat: Flat) -> Values:
    head = flat[0]
    assert isinstance(head, Head)
    width = int(head.detail)
    cells = [cell if isinstance(cell, Term) else None for cell in flat[1 + width :]]
    rows = tuple(tuple(cells[at : at + width]) for at in range(0, len(cells), width))
    return Values(tuple(node for node in flat[1 : 1 + width] if isinstance(node, Variable)), rows)
