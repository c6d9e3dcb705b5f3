"""The internal form of a filter or watch interest, its limits, and its spelling as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from math import prod
from typing import Any, NamedTuple

from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Position, Term, TermKind, Variable, spell

# --- the internal form ------------------------------------------------------------------------------------------
# The internal form of a filter or watch interest: what SPARQL text and pattern tables both compile to.
#
# Everything here is immutable and hashable, so queries can be shared, compared and used as keys.

Node = Term | Variable


class TriplePattern(NamedTuple):  # a million of them in a bulk load: half the time of a dataclass to make and to hash
    """One edge of the pattern. A constant predicate rdf:type is the direct is-a form (taxonomy rows count);
    a constant predicate rdfs:member also matches every rdf:_n."""

    subject: Node
    predicate: Node
    object: Node


class ClassRelation(StrEnum):
    """`is-a` is `a/rdfs:subClassOf*`; `subclass-of` is `rdfs:subClassOf+` (its ends swapped: super-class of)."""

    IS_A = "is-a"
    SUBCLASS_OF = "subclass-of"


class ClassPattern(NamedTuple):
    """`subject relation object`, answered from the closure of taxonomy and document."""

    relation: ClassRelation
    subject: Node
    object: Node


Pattern = TriplePattern | ClassPattern


# --- expressions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expression


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    operator: str  # = != < <= > >=
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class In:
    operand: Expression
    choices: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: str  # + - * /
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negate:
    """Unary minus."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in by its upper-case name: BOUND STR LANG DATATYPE ISIRI ISLITERAL CONTAINS STRSTARTS STRENDS REGEX."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """An `hg:` function by its local name (`degree`, `distance`, …); watch only."""

    name: str
    arguments: tuple[Expression, ...]


# How each `hg:` function is written: the contract's table of metrics.
SIGNATURES = {
    "degree": "hg:degree(?x) or hg:degree(?x, :property)",
    "indegree": "hg:indegree(?x) or hg:indegree(?x, :property)",
    "outdegree": "hg:outdegree(?x) or hg:outdegree(?x, :property)",
    "clustering": "hg:clustering(?x)",
    "transitivity": "hg:transitivity()",
    "averageClustering": "hg:averageClustering()",
    "distance": 'hg:distance(?a, ?b[, "undirected"][, "weight"][, :property…])',
    "cliques": "hg:cliques(k) with k from 1 to 5",
    "betweenness": "hg:betweenness(?x)",
    "density": "hg:density() or hg:density(?x, hops) with hops 0, 1, 2, …",
    "dense": "hg:dense(?x)",
    "steiner": "hg:steiner(?a, ?b, …[, hg:via(:property)…])",
    "steinerPoint": "hg:steinerPoint(?x, ?a, ?b, …)",
    "via": "hg:via(:property) among the arguments of hg:steiner",
}


@dataclass(frozen=True, slots=True)
class Count:
    """COUNT(*), in HAVING only."""


Expression = Term | Variable | Not | And | Or | Compare | In | Arithmetic | Negate | Call | Metric | Count


# --- the query --------------------------------------------------------------------------------------------------


class Form(StrEnum):
    SELECT = "select"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Values:
    """A VALUES block; None is UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A compiled interest.

    `projection` holds the named variables that SELECT lists (all of them for `*` and for pattern tables), in that
    order, and is empty for ASK and for counts. `filters` are ANDed. `variables` are all variables of the pattern in
    order of first appearance, hidden ones (blank nodes) included.
    """

    form: Form = Form.SELECT
    patterns: tuple[Pattern, ...] = ()
    filters: tuple[Expression, ...] = ()
    values: tuple[Values, ...] = ()
    projection: tuple[Variable, ...] = ()
    distinct: bool = False
    counted: bool = False  # SELECT (COUNT(*) AS ?n), or anything with GROUP BY or HAVING
    group_by: tuple[Variable, ...] = ()
    having: Expression | None = None
    count_names: tuple[Variable, ...] = ()  # what SELECT calls the count

    @property
    def variables(self) -> tuple[Variable, ...]:
        found = [node for pattern in self.patterns for node in pattern if isinstance(node, Variable)]
        for block in self.values:
            found += block.variables
        for metric in self.metrics:
            found += [node for node in walk(metric) if isinstance(node, Variable)]
        return tuple(dict.fromkeys(found))

    @property
    def ranging(self) -> tuple[Variable, ...]:
        """The variables of metrics that no triple and no VALUES binds."""
        bound = frozenset(Query(patterns=self.patterns, values=self.values).variables)
        return tuple(name for name in self.variables if name not in bound)

    @property
    def named_variables(self) -> tuple[Variable, ...]:
        return tuple(variable for variable in self.variables if not variable.hidden)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Every `hg:` function in the query, in order of appearance."""
        roots = (*self.filters, *((self.having,) if self.having is not None else ()))
        return tuple(node for root in roots for node in walk(root) if isinstance(node, Metric))


def children(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Not(operand) | Negate(operand):
            return (operand,)
        case And(operands) | Or(operands) | Call(_, operands) | Metric(_, operands):
            return operands
        case Compare(_, left, right) | Arithmetic(_, left, right):
            return (left, right)
        case In(operand, choices):
            return (operand, *choices)
        case _:
            return ()


def builder(node: Expression) -> Callable[[Sequence[Any]], Expression]:
    """What makes a node like this one with other operands in the place of its `children`."""
    kind: Any = type(node)
    match node:
        case Compare(detail) | Arithmetic(detail):
            return lambda below: kind(detail, below[0], below[1])
        case Not() | Negate():
            return lambda below: kind(below[0])
        case And() | Or():
            return lambda below: kind(tuple(below))
        case Call(detail) | Metric(detail):
            return lambda below: kind(detail, tuple(below))
        case In(negated=negated):
            return lambda below: In(below[0], tuple(below[1:]), negated)
    return lambda below: node


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, parents first, without recursion."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def variables_in(expression: Expression) -> set[Variable]:
    """The variables that an expression names."""
    return {node for node in walk(expression) if isinstance(node, Variable)}


def conjuncts(filters: Iterable[Expression]) -> Iterator[Expression]:
    """Filters that are ANDed, taken apart at `&&`, in order."""
    stack = list(filters)[::-1]
    while stack:
        node = stack.pop()
        if isinstance(node, And):
            stack.extend(reversed(node.operands))
        else:
            yield node


# --- limits -----------------------------------------------------------------------------------------------------
# How large a query may be. Beyond these limits it is refused with `HG-436`, so that one query cannot hold up the
# rest.
#
# They are far above what people write, and what they leave takes at most seconds to take, explain and lint. Lists of
# constants, in IN and in one VALUES block, may be as long as the text: their cost is linear.

MAX_PATTERNS = 300  # a search looks at all that are left before each step: k² / 2 looks for each solution
MAX_CONDITIONS = 1_000  # operators and functions of FILTER and HAVING; explanations try them out one by one
MAX_CONSTRAINTS = 300  # rows of the constraints table for one subscription: a row may be a pattern
MAX_VARIABLES = 1_000  # of SELECT, or of one VALUES block; patterns and conditions are limited already
MAX_COMBINATIONS = 100_000  # of rows of VALUES blocks: those that no pattern narrows down are all tried
MAX_RANGING = 3  # variables that only metrics name: each ranges over all vertices
MAX_BASES = 100  # each may lengthen the one before
MAX_NAMESPACE = 2_000  # characters of the IRI of PREFIX and BASE: each short name that uses it takes as much memory


def size_of(expression: Expression) -> int:
    """What an expression counts for `MAX_CONDITIONS`: its nodes without constants and variables."""
    return sum(not isinstance(node, (Term, Variable)) for node in walk(expression))


def combinations(blocks: Iterable[Values], bound: Collection[object] = ()) -> int:
    """How many combinations of rows the VALUES blocks have. A block without UNDEF whose variables are all `bound` by
    patterns only narrows solutions down, so it counts as one."""
    return prod(
        len(block.rows) or 1
        for block in blocks
        if any(name not in bound for name in block.variables) or any(None in row for row in block.rows)
    )


# --- queries as JSON --------------------------------------------------------------------------------------------
# A query as a line of JSON and back, for queries that nobody wrote: mergers on their way from one process to another.
#
# The law: `from_text(to_text(query)) == query`. Only the classes that a query is made of are made again, nothing
# else.

_NODES: tuple[Any, ...] = (
    *(Query, Values, TriplePattern, ClassPattern, Not, And, Or, Compare),
    *(In, Arithmetic, Negate, Call, Metric, Count, Term, Variable),
)
_ENUMS: tuple[Any, ...] = (Form, ClassRelation, TermKind)
_CLASSES = {each.__name__: each for each in (*_NODES, *_ENUMS)}
_TUPLE = ""  # what stands for a plain tuple where others have the name of their class


def to_text(query: Query) -> str:
    return json.dumps(_lowered(query), ensure_ascii=False, separators=(",", ":"))


def from_text(text: str) -> Query:
    made = _raised(json.loads(text))
    if not isinstance(made, Query):
        raise ValueError("no query")
    return made


def _lowered(value: Any) -> Any:
    kind = type(value)
    if kind in _ENUMS:
        return [kind.__name__, value.value]
    if is_dataclass(kind):
        return [kind.__name__, *(_lowered(getattr(value, field.name)) for field in fields(kind))]
    if isinstance(value, tuple):
        return [kind.__name__ if kind in _NODES else _TUPLE, *map(_lowered, value)]
    return value


def _raised(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    name, *content = value
    made = tuple(map(_raised, content))
    return made if name == _TUPLE else _CLASSES[name](*made)


# --- queries as text --------------------------------------------------------------------------------------------
# Patterns and expressions as text, for people: what an explanation quotes. Terms are spelled as in tables.

_PATHS = {ClassRelation.IS_A: "a/rdfs:subClassOf*", ClassRelation.SUBCLASS_OF: "rdfs:subClassOf+"}
_SHORT = {RDF_TYPE: "a", RDFS_SUBCLASS_OF: "rdfs:subClassOf"}
_NOTHING: Mapping[Variable, Term] = {}


def spell_pattern(pattern: Pattern, bindings: Mapping[Variable, Term] = _NOTHING) -> str:
    """A pattern such as `?x knows Bob`, its variables replaced where they are bound."""
    if isinstance(pattern, ClassPattern):
        middle = _PATHS[pattern.relation]
    else:
        assert isinstance(pattern, TriplePattern)
        middle = spell_node(pattern.predicate, bindings, Position.PROPERTY)
    return f"{spell_node(pattern.subject, bindings)} {middle} {spell_node(pattern.object, bindings)}"


def spell_node(node: Node, bindings: Mapping[Variable, Term] = _NOTHING, position: Position = Position.OBJECT) -> str:
    term = bindings.get(node, node) if isinstance(node, Variable) else node
    if isinstance(term, Variable):
        return str(term)
    return (_SHORT.get(term) if position is Position.PROPERTY else None) or spell(term, position)


def spell_expression(expression: Expression) -> str:
    """An expression with brackets around every operation below the top, without recursion."""
    texts: dict[int, str] = {}
    stack: list[tuple[Expression, bool]] = [(expression, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            texts[id(node)] = _spelled(node, [texts[id(child)] for child in children(node)])
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in children(node))
    return texts[id(expression)]


def _spelled(node: Expression, parts: list[str]) -> str:
    match node:
        case Call(name):
            return f"{name}({', '.join(parts)})"
        case Metric(name):
            return f"hg:{name}({', '.join(parts)})"
        case Count():
            return "COUNT(*)"
        case Term() | Variable():
            return spell_node(node)
    shown = [
        f"({part})" if isinstance(child, (And, Or, Compare, Arithmetic, In)) else part
        for child, part in zip(children(node), parts, strict=True)
    ]
    match node:
        case And():
            return " && ".join(shown)
        case Or():
            return " || ".join(shown)
        case Compare(operator) | Arithmetic(operator):
            return f"{shown[0]} {operator} {shown[1]}"
        case In(negated=negated):
            return f"{shown[0]} {'NOT IN' if negated else 'IN'} ({', '.join(shown[1:])})"
        case _:
            return f"{'!' if isinstance(node, Not) else '-'}{shown[0]}"
