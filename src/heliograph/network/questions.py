"""A query as numbers: edges between terms and slots, and what is asked of each slot by itself.

A node of an edge is a term id, or `~v` for the variable number v; variables are numbered by first appearance. Class
forms and rdfs:member are edges under virtual properties. Filters are taken apart at `&&`: a conjunct about a single
variable of the pattern becomes a test of it, as far as intervals can say it; what they cannot say remains.

The law: edges, tests and remaining conjuncts together are true of exactly the solutions of the query's pattern and
filters; a test is necessary even where its conjunct remains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

from heliograph.evolution.derived import Relation
from heliograph.index.conditions import Conditions, conditions_of
from heliograph.index.domains import Domain
from heliograph.index.interests import Atom
from heliograph.semantics.expressions import holds
from heliograph.syntax.query import And, ClassPattern, Expression, Metric, Node, Pattern, Query, walk
from heliograph.terms import Term, Variable

Intern: TypeAlias = Callable[[Term], int]
Edge: TypeAlias = tuple[int, int, int]
Want: TypeAlias = tuple[Relation, int | None]  # a relation, for one class at its upper end or for any

HERE = Variable("")  # what the expressions of a test call the term that they judge
_MOST_NODES = 200  # of a conjunct that becomes a test: what is larger is judged outside


class Virtual(Protocol):
    """What relates patterns to virtual properties; see `evolution.derived.Derived`."""

    def relation(self, pattern: Pattern) -> Relation | None: ...

    def virtual(self, relation: Relation) -> int: ...


class Test(NamedTuple):
    """What is asked of a slot: that its term lies in one of the atoms; where that is in doubt, the expressions tell."""

    atoms: tuple[Atom, ...]
    expressions: tuple[Expression, ...]


class Question(NamedTuple):
    """A query's pattern and filters. `never`: no solution can satisfy them."""

    edges: tuple[Edge, ...]
    variables: tuple[Variable, ...]
    tests: Mapping[int, Test]  # by variable
    remaining: tuple[Expression, ...]
    never: bool
    wants: tuple[Want, ...]


def question_of(query: Query, intern: Intern, derived: Virtual | None) -> Question:
    """A query as numbers; its constants get ids."""
    numbers: dict[Variable, int] = {}
    edges = dict.fromkeys(_edge(pattern, numbers, intern, derived) for pattern in query.patterns)
    asked, remaining, never = _asked(query, numbers, intern)
    wants = _wants(query, intern, derived) if derived is not None else ()
    return Question(tuple(edges), tuple(numbers), asked, remaining, never, wants)


# --- edges ------------------------------------------------------------------------------------------------------


def _edge(pattern: Pattern, numbers: dict[Variable, int], intern: Intern, derived: Virtual | None) -> Edge:
    def node(each: Node) -> int:
        return ~numbers.setdefault(each, len(numbers)) if isinstance(each, Variable) else intern(each)

    relation = None if derived is None else derived.relation(pattern)
    if relation is not None and derived is not None:
        return node(pattern.subject), derived.virtual(relation), node(pattern.object)
    if isinstance(pattern, ClassPattern):
        raise ValueError("class forms need derived edges")
    return node(pattern.subject), node(pattern.predicate), node(pattern.object)


def _wants(query: Query, intern: Intern, derived: Virtual) -> tuple[Want, ...]:
    found: dict[Want, None] = {}
    for pattern in query.patterns:
        relation = derived.relation(pattern)
        if relation is not None:
            found[relation, None if isinstance(pattern.object, Variable) else intern(pattern.object)] = None
    return tuple(found)


# --- filters ----------------------------------------------------------------------------------------------------


def _asked(
    query: Query, numbers: Mapping[Variable, int], intern: Intern
) -> tuple[dict[int, Test], tuple[Expression, ...], bool]:
    """Tests by variable, the conjuncts that remain, and whether nothing can satisfy them."""
    alone: dict[int, list[Expression]] = {}
    remaining: list[Expression] = []
    never = False
    for conjunct in _conjuncts(query.filters):
        if not _names_any(conjunct):
            never = never or not holds(conjunct, {})
            continue
        variable = _only_variable(conjunct)
        if variable is None or variable not in numbers:
            remaining.append(conjunct)
            continue
        here = cast(Expression, _renamed(conjunct, variable))
        conditions = conditions_of([here], intern)
        never = never or conditions.never
        alone.setdefault(numbers[variable], []).append(here)
        if not conditions.exact:
            remaining.append(conjunct)
    return _tests(alone, intern), tuple(remaining), never


def _conjuncts(filters: tuple[Expression, ...]) -> Iterator[Expression]:
    """Filters that are ANDed, taken apart at `&&`."""
    stack = list(reversed(filters))
    while stack:
        expression = stack.pop()
        if isinstance(expression, And):
            stack.extend(reversed(expression.operands))
        else:
            yield expression


def _only_variable(expression: Expression) -> Variable | None:
    """The one variable of a small expression without metrics."""
    found: set[Variable] = set()
    for count, node in enumerate(walk(expression)):
        if count >= _MOST_NODES or isinstance(node, Metric):
            return None
        if isinstance(node, Variable):
            found.add(node)
    return found.pop() if len(found) == 1 else None


def _names_any(expression: Expression) -> bool:
    return any(isinstance(node, (Variable, Metric)) for node in walk(expression))


def _renamed(node: Any, variable: Variable) -> Any:
    """An expression about `HERE` in place of a variable, so that equal tests are equal whatever they call it."""
    if isinstance(node, Variable):
        return HERE if node == variable else node
    if isinstance(node, Term):
        return node
    if isinstance(node, tuple):
        return tuple(_renamed(each, variable) for each in node)
    if is_dataclass(node):
        kind: Any = type(node)
        return kind(*(_renamed(getattr(node, field.name), variable) for field in fields(node)))
    return node


def _tests(alone: Mapping[int, list[Expression]], intern: Intern) -> dict[int, Test]:
    tests = {}
    for number, expressions in alone.items():
        atoms = _interval(conditions_of(expressions, intern))
        if atoms is not None:
            tests[number] = Test(atoms, tuple(expressions))
    return tests


def _interval(conditions: Conditions) -> tuple[Atom, ...] | None:
    """The atoms that say where a term must lie; what is asked of its text is not among them."""
    for _, atoms in conditions.conjuncts:
        if all(atom.domain < Domain.IS_A for atom in atoms):
            return atoms
    return None
