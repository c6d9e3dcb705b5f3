"""The filter algorithms of [G] and [R]: OPS, G-ToPSS and the RSS matcher, as printed, with their faults mended."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial, reduce
from itertools import chain
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from heliograph.filter.encode import Publication
from heliograph.sparql.evaluate import compare, equal
from heliograph.sparql.query import (
    And,
    ClassPattern,
    ClassRelation,
    Compare,
    Expression,
    In,
    Node,
    Pattern,
    Query,
    TriplePattern,
)
from heliograph.sparql.solve import QueryPlan, Triple, World
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Classes
from heliograph.terms import RDF_LANG_STRING, RDF_TYPE, RDFS_MEMBER, Term, Variable, value_of
from heliograph.values import NUMERIC, XSD_STRING, Instant, to_float32

# --- constraints ------------------------------------------------------------------------------------------------
# Constraints on a star: [G] section 3.2's `(?x, op, v)`, comparing values or asking the taxonomy, and
# CheckConstraint.
#
# The law: a star's constraints are ANDed, and each depends on the star's value alone; so a row of a binding table
# passes exactly if each of its columns does, and a column may be checked whenever it is at hand.
#
# Mends of [G]'s isTrue (SEED_NOTES, filter 6 and 7): printed, it knows only the taxonomy, `=` tests whether value and
# class are one node where the text says "direct instance", and `<=` cannot tell an instance from a sub-class. Here
# values are compared by SPARQL's rules, and there are four class relations. The taxonomy is not walked for each
# value: ancestors come from its closure, so a cycle never hangs.

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Relation(StrEnum):
    """How a value stands to a class."""

    IS_A = "is-a"
    DIRECT = "direct-is-a"
    BELOW = "subclass-of"
    ABOVE = "superclass-of"


class ValueConstraint(NamedTuple):
    """`?x op v` for = != < <= > >=."""

    operator: str
    value: Term


class Choice(NamedTuple):
    """`?x IN (…)`: equal to one of these."""

    values: tuple[Term, ...]


class ClassConstraint(NamedTuple):
    """`?x relation class`."""

    relation: Relation
    of: Term


Constraint = ValueConstraint | Choice | ClassConstraint


def holds(constraint: Constraint, value: Term, classes: Classes) -> bool:
    """[G]'s isTrue(v, op, c, T), mended."""
    match constraint:
        case ValueConstraint(operator, bound):
            return compare(operator, value, bound) is True
        case Choice(values):
            return any(equal(value, choice) is True for choice in values)
        case ClassConstraint(relation, of):
            return of in related(relation, value, classes)


def check_constraints(constraints: tuple[Constraint, ...], value: Term, classes: Classes) -> bool:
    """[G]'s CheckConstraint for one star: whether its value satisfies all that is asked of it."""
    return all(holds(constraint, value, classes) for constraint in constraints)


def related(relation: Relation, value: Term, classes: Classes) -> Iterable[Term]:
    """The classes that a value stands in a relation to; a set wherever that is at hand."""
    match relation:
        case Relation.IS_A:
            return classes.all_types(value)
        case Relation.DIRECT:
            return classes.types(value)
        case Relation.BELOW:
            return classes.ancestors(value)
        case Relation.ABOVE:
            return classes.descendants(value)


# --- reading a query --------------------------------------------------------------------------------------------


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """The expression's ANDed parts; it holds exactly if all of them do."""
    stack = [expression]
    while stack:
        part = stack.pop()
        if isinstance(part, And):
            stack.extend(reversed(part.operands))
        else:
            yield part


def value_constraints(part: Expression) -> tuple[Variable, tuple[Constraint, ...]] | None:
    """The variable and the constraints that a part of a FILTER puts on it; None if it is more than the seeds know."""
    match part:
        case Compare(operator, Variable() as name, Term() as value):
            return name, (ValueConstraint(operator, value),)
        case Compare(operator, Term() as value, Variable() as name):
            return name, (ValueConstraint(_MIRRORED[operator], value),)
        case In(Variable() as name, choices, negated):
            values = tuple(choice for choice in choices if isinstance(choice, Term))
            if len(values) < len(choices):
                return None
            return name, tuple(ValueConstraint("!=", value) for value in values) if negated else (Choice(values),)
        case _:
            return None


def class_constraint(pattern: Pattern) -> tuple[Variable, tuple[Constraint, ...]] | None:
    """The variable and the class relation of an is-a form between a variable and a constant; else None."""
    match pattern:
        case ClassPattern(ClassRelation.IS_A, Variable() as name, Term() as of):
            return name, (ClassConstraint(Relation.IS_A, of),)
        case ClassPattern(ClassRelation.SUBCLASS_OF, Variable() as name, Term() as of):
            return name, (ClassConstraint(Relation.BELOW, of),)
        case ClassPattern(ClassRelation.SUBCLASS_OF, Term() as of, Variable() as name):
            return name, (ClassConstraint(Relation.ABOVE, of),)
        case TriplePattern(Variable() as name, predicate, Term() as of) if predicate == RDF_TYPE:
            return name, (ClassConstraint(Relation.DIRECT, of),)
        case _:
            return None


# --- subscriptions ----------------------------------------------------------------------------------------------
# A subscription as the seeds see it: G_S, edges between constants and stars, and the stars' constraints.
#
# [G] section 3.2 writes it as 5-tuples (subject, property, object, constraintSet(subject), constraintSet(object)).
# The variables are named by the "special sequence of labels *i" of section 4.1, numbered from 1 in order of
# appearance.
#
# The laws: a publication that matches the query holds an edge for each edge of G_S, under one binding of the stars
# whose every value satisfies the star's constraints; and if `plan` is None the converse holds too. Otherwise the
# query says something that the seeds have no notion of (counts, VALUES, arithmetic, text, a variable as property, two
# variables in one FILTER, a class that is a variable, a class asked of a constant), and the plan decides.
#
# Two variables may take one value (SEED_NOTES, filter 1): both seeds say "isomorphic" and both implement
# homomorphism. A variable on several edges has one constraint set (SEED_NOTES, filter 5); printed, each 5-tuple has
# its own.

Star = int
Vertex = Term | Star

_DERIVED = (RDF_TYPE, RDFS_MEMBER)  # properties that also match what no triple of the document says


class GraphEdge(NamedTuple):
    """A labelled edge of a subscription graph."""

    source: Vertex
    label: Term
    target: Vertex


@dataclass(frozen=True, slots=True)
class SubscriptionGraph:
    """G_S. `constraints[i - 1]` are those of the star *i; `plan` decides where edges and constraints do not suffice."""

    edges: tuple[GraphEdge, ...]
    stars: tuple[Variable, ...]
    constraints: tuple[tuple[Constraint, ...], ...]
    plan: QueryPlan | None

    @classmethod
    def of(cls, query: Query) -> SubscriptionGraph:
        if query.counted and query.having is not None and not query.group_by:  # COUNT(*) = 0 holds without a solution
            return cls((), (), (), QueryPlan.of(query))
        beyond = query.counted or bool(query.values)
        plain: list[tuple[Node, Term, Node]] = []
        asked = [each for expression in query.filters for each in map(value_constraints, conjuncts(expression))]
        for pattern in query.patterns:
            match pattern:
                case TriplePattern(subject, Term() as label, object) if label not in _DERIVED:
                    plain.append((subject, label, object))
                case _:
                    asked.append(class_constraint(pattern))
        ends = (end for subject, _, object in plain for end in (subject, object) if isinstance(end, Variable))
        stars = {name: number for number, name in enumerate(dict.fromkeys(ends), start=1)}
        constraints: dict[Variable, list[Constraint]] = {name: [] for name in stars}
        for each in asked:
            if each is None or each[0] not in stars:
                beyond = True
            else:
                constraints[each[0]] += each[1]

        def vertex(node: Node) -> Vertex:
            return stars[node] if isinstance(node, Variable) else node

        edges = dict.fromkeys(GraphEdge(vertex(subject), label, vertex(object)) for subject, label, object in plain)
        sets = tuple(map(tuple, constraints.values()))
        return cls(tuple(edges), tuple(stars), sets, QueryPlan.of(query) if beyond else None)

    def constraints_of(self, vertex: Vertex) -> tuple[Constraint, ...]:
        """What is asked of a vertex; nothing of a constant."""
        return self.constraints[vertex - 1] if isinstance(vertex, Star) else ()


# --- binding tables ---------------------------------------------------------------------------------------------
# Binding tables and their natural join: which values the stars of a subscription can take together.
#
# A table has a column for each end of an edge ([G] algorithm Insert: newTable(E.v, E.w)) and a row for each
# publication edge that the edge matches. The law: the bindings of a subscription are the rows of the natural join of
# its edges' tables ([G] section 4.2, figure 8), and a condition on one column may be tested before or after any join.
#
# Mend (SEED_NOTES, filter 2): printed, all tables are joined before anything is checked, and a fork of n equal edges
# has |table| ** n rows. Only truth is asked here, so a column that no table still to come shares is checked and
# dropped, equal rows are kept once, and parts that share no column are joined apart: their product is empty only if
# one is.

Row = tuple[Term, ...]
Accept = Callable[[Vertex, Term], bool]


class BindingTable(NamedTuple):
    """Rows of values under the vertices they are values of."""

    columns: tuple[Vertex, ...]
    rows: Sequence[Row]


def natural_join(left: BindingTable, right: BindingTable) -> BindingTable:
    """The rows of both that agree on all common columns: the right one is hashed on them."""
    common = [column for column in right.columns if column in left.columns]
    added = [column for column in right.columns if column not in left.columns]
    key, keyed, rest = (_picker(*pair) for pair in ((left, common), (right, common), (right, added)))
    hashed: dict[Row, list[Row]] = {}
    for row in right.rows:
        hashed.setdefault(keyed(row), []).append(rest(row))
    rows = [row + more for row in left.rows for more in hashed.get(key(row), ())]
    return BindingTable((*left.columns, *added), rows)


def star_table(edge: GraphEdge, rows: Sequence[Row]) -> BindingTable:
    """An edge's table without its constant ends, which bind nothing; a star at both ends takes one value."""
    columns = [end for end in (edge.source, edge.target) if isinstance(end, Star)]
    if len(columns) == 2 and columns[0] == columns[1]:
        return BindingTable((edge.source,), [(source,) for source, target in rows if source == target])
    return project(BindingTable((edge.source, edge.target), rows), columns)


def project(table: BindingTable, columns: Sequence[Vertex]) -> BindingTable:
    """Some of a table's columns, each row once."""
    if tuple(columns) == table.columns:
        return table
    return BindingTable(tuple(columns), list(dict.fromkeys(map(_picker(table, columns), table.rows))))


def joins(graph: SubscriptionGraph, tables: Iterable[BindingTable], classes: Classes) -> bool:
    """Whether the star tables of a subscription's edges join in a row that satisfies its constraints."""

    def accept(vertex: Vertex, value: Term) -> bool:
        return check_constraints(graph.constraints_of(vertex), value, classes)

    return joinable(tables, accept)


def joinable(tables: Iterable[BindingTable], accept: Accept) -> bool:
    """Whether the natural join of the tables has a row each of whose values is accepted."""
    waiting = sorted(tables, key=lambda table: len(table.rows))  # the smallest first
    if waiting and not waiting[0].rows:
        return False
    waiting = [table for table in waiting if table.columns]
    while waiting:
        joined = _reduce(waiting.pop(0), waiting, accept)
        while sharing := [
            table for table in waiting if joined.rows and not {*table.columns}.isdisjoint(joined.columns)
        ]:
            waiting.remove(sharing[0])
            joined = _reduce(natural_join(joined, sharing[0]), waiting, accept)
        if not joined.rows:
            return False
    return True


def _reduce(table: BindingTable, waiting: Sequence[BindingTable], accept: Accept) -> BindingTable:
    """Drops the columns that no waiting table has, with the rows whose values there are not accepted."""
    needed = set(chain.from_iterable(other.columns for other in waiting))
    final = [column for column in table.columns if column not in needed]
    rows = table.rows
    for column in final:
        at = table.columns.index(column)
        good = {value for value in {row[at] for row in rows} if accept(column, value)}
        rows = [row for row in rows if row[at] in good]
    kept = [column for column in table.columns if column in needed]
    return project(BindingTable(table.columns, rows), kept)


def _picker(table: BindingTable, columns: Sequence[Vertex]) -> Callable[[Row], Row]:
    places = [table.columns.index(column) for column in columns]
    return lambda row: tuple([row[place] for place in places])


# --- stamped subscriptions --------------------------------------------------------------------------------------
# Subscriptions with the stamps between which they lived, so that one index serves many versions.
#
# The law: a version sees an entry exactly if it was born by the version's stamp and had not died by then. An index
# only grows: an entry is put into it before the version that sees it is published, and a removed one stays until so
# many are dead that a new index is built of the living; versions in use keep the older one. So taking a version
# copies nothing, and no change disturbs a reader.

_ALIVE = 1 << 62  # a stamp that no version reaches
_WORTH_FOLDING = 64  # dead entries below which the index is left as it is


class Entry:
    """A subscription as a graph, and when it came and went."""

    __slots__ = ("born", "died", "graph", "subscription")

    def __init__(self, subscription: Subscription, born: int) -> None:
        self.subscription = subscription
        self.graph = SubscriptionGraph.of(subscription.query)
        self.born = born
        self.died = _ALIVE

    def lives(self, stamp: int) -> bool:
        return self.born <= stamp < self.died


class Search(Protocol):
    """One publication's way through an index, made of the index, the publication and the version's stamp: what was
    touched, and whether that matches."""

    world: World

    def __init__(self, index: Any, world: World, stamp: int) -> None: ...

    @property
    def candidates(self) -> Mapping[int, Entry]:
        """The entries for which anything was done, by number, in order of subscribing."""
        ...

    def matches(self, entry: Entry) -> bool:
        """Whether a candidate matches."""
        ...


class Index(Protocol):
    """Where entries are found. `insert` has one caller at a time and may run while others search."""

    def insert(self, entry: Entry) -> None: ...


class PaperIndexVersion:
    """The entries of an index that lived at one stamp."""

    def __init__(self, search: Callable[[World], Search], alive: int = 0) -> None:
        self._search = search
        self._alive = alive
        self._last = threading.local()  # each reader's search of the publication it is at

    def __len__(self) -> int:
        return self._alive

    def candidates(self, publication: Publication) -> Iterator[Subscription]:
        for entry in self.search(publication).candidates.values():
            yield entry.subscription

    def verify(self, subscription: Subscription, publication: Publication) -> bool:
        search = self.search(publication)
        entry = search.candidates.get(subscription.number)
        return entry is not None and search.matches(entry)

    def search(self, publication: Publication) -> Search:
        """The publication's search: made when it is first asked about, kept until the next one is."""
        last: Search | None = getattr(self._last, "search", None)
        if last is None or last.world is not publication.world:
            last = self._last.search = self._search(publication.world)
        return last


class PaperMatcher:
    """The living entries of an index that takes every change. One writer at a time."""

    def __init__(self, index: Callable[[], Index], search: type[Search]) -> None:
        self._make, self._make_search = index, search
        self._index = index()
        self._by_number: dict[int, Entry] = {}
        self._dead = 0
        self._stamp = -1
        self._publish()

    def version(self) -> PaperIndexVersion:
        return self._version

    def insert(self, subscriptions: Sequence[Subscription]) -> None:
        """Takes all of them, or none: what was entered before one fails never lives."""
        entries = [Entry(subscription, self._stamp + 1) for subscription in subscriptions]
        try:
            for entry in entries:
                self._index.insert(entry)
        except BaseException:
            for entry in entries:
                entry.died = entry.born
            self._dead += len(entries)
            raise
        self._by_number.update((entry.subscription.number, entry) for entry in entries)
        self._publish()

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        for subscription in subscriptions:
            self._by_number.pop(subscription.number).died = self._stamp + 1
            self._dead += 1
        if self._dead > max(_WORTH_FOLDING, len(self._by_number)):
            self._index, self._dead = self._make(), 0
            for entry in self._by_number.values():
                self._index.insert(entry)
        self._publish()

    def _publish(self) -> None:
        """One assignment makes a change visible, all of it at once."""
        self._stamp += 1
        search = partial(self._make_search, self._index, stamp=self._stamp)
        self._version = PaperIndexVersion(search, len(self._by_number))


def in_order(entries: Iterable[Entry]) -> dict[int, Entry]:
    """Entries by number, in order of subscribing."""
    ordered = sorted(entries, key=lambda entry: entry.subscription.number)
    return {entry.subscription.number: entry for entry in ordered}


# --- intervals --------------------------------------------------------------------------------------------------
# The ordered lists of [R]'s constraint tables: constraints as intervals on an axis of values, and those that a value
# stabs. They are the paper's structure, not the algebra of `sparql.regions`.
#
# A term lies on one axis, at one key; terms of different axes are never equal and never ordered. The law: if `x op c`
# holds for one of = < <= > >=, then x lies on c's axis, in the interval of `op c`. The converse may fail by a
# rounding or at an end, so what is stabbed is checked again by CheckConstraint.
#
# Numbers lie at the nearest float32 of the nearest double: of SPARQL's four kinds of comparison (exact, float, double
# after promotion) each is monotone in that key, and equal under any of them means equal there. Dates and dateTimes
# lie at their instant, with or without a zone: where the unknown zone leaves the order open, no comparison holds.
#
# Mend (SEED_NOTES, filter 9): [R] section 4.1 keeps one ordered list for each operator, so `?x > 5 && ?x < 9` is
# looked for in either list and found half of the time in vain. Here the constraints of a variable are intersected
# first, and a tree of intervals answers: those that contain a centre, ordered by both ends, and the rest to its left
# and right. As in [R], going through an ordered list stops "at the first non-satisfied look-up".

Axis = tuple[str, ...]
Bound = tuple[int] | tuple[int, Any]  # (-1,) and (1,) lie beyond every (0, key)

LOWEST: Bound = (-1,)
HIGHEST: Bound = (1,)
_UNORDERED: Axis = ("term",)  # every term for itself: equal to itself alone
_FEW = 32  # intervals that are looked at one by one

T = TypeVar("T")


class Interval(NamedTuple):
    """Everything on an axis from `low` to `high`, both included."""

    axis: Axis
    low: Bound
    high: Bound


class Point(NamedTuple):
    """Where a term lies."""

    axis: Axis
    bound: Bound


def point(term: Term) -> Point | None:
    """Where a term lies; None for a double that is no number, to which nothing is equal."""
    value = value_of(term)
    if value is None:
        if term.datatype in (XSD_STRING, RDF_LANG_STRING):
            return Point(("text", term.language), (0, term.value))
        return Point(_UNORDERED, (0, term))
    if value.kind in NUMERIC:
        nearest = _rounded(value.value)
        return None if math.isnan(nearest) else Point(("number",), (0, nearest))
    key = value.value.atto if isinstance(value.value, Instant) else value.value
    return Point((value.kind.name,), (0, key))


def _rounded(number: Any) -> float:
    try:
        return to_float32(float(number))
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def intervals(constraints: Iterable[Constraint]) -> tuple[Interval, ...] | None:
    """Where a value must lie that satisfies the constraints; None if they do not say (`!=`, classes)."""
    sets = [found for constraint in constraints if (found := _interval_set(constraint)) is not None]
    return reduce(_intersect, sets) if sets else None


def _interval_set(constraint: Constraint) -> tuple[Interval, ...] | None:
    match constraint:
        case Choice(values):
            return tuple(dict.fromkeys(each for value in values for each in _comparable("=", value)))
        case ValueConstraint("!=", _):
            return None
        case ValueConstraint(operator, value):
            return _comparable(operator, value)
        case _:
            return None


def _comparable(operator: str, value: Term) -> tuple[Interval, ...]:
    at = point(value)
    if at is None:
        return ()
    low = LOWEST if operator in ("<", "<=") else at.bound
    high = HIGHEST if operator in (">", ">=") else at.bound
    return (Interval(at.axis, at.bound, at.bound) if at.axis == _UNORDERED else Interval(at.axis, low, high),)


def _intersect(ones: tuple[Interval, ...], others: tuple[Interval, ...]) -> tuple[Interval, ...]:
    met = (
        Interval(one.axis, max(one.low, other.low), min(one.high, other.high))
        for one in ones
        for other in others
        if one.axis == other.axis
    )
    return tuple(dict.fromkeys(each for each in met if each.low <= each.high))


# --- stabbing ---------------------------------------------------------------------------------------------------

Item = tuple[Bound, Bound, T]


@dataclass(frozen=True, slots=True)
class _Tree(Generic[T]):
    """The intervals around a centre by their low ends and, falling, by their high ends; the others on either side."""

    centre: Bound
    by_low: Sequence[Item[T]]
    by_high: Sequence[Item[T]]
    left: _Tree[T] | None
    right: _Tree[T] | None


class IntervalTree(Generic[T]):
    """Intervals of one axis with an item each. One writer; a reader that finds many new ones builds the tree anew."""

    def __init__(self) -> None:
        self._items: list[Item[T]] = []
        self._built: tuple[int, _Tree[T] | None] = (0, None)  # how many items are in the tree

    def add(self, interval: Interval, item: T) -> None:
        self._items.append((interval.low, interval.high, item))

    def stab(self, at: Bound) -> Iterator[T]:
        """The items of the intervals that hold a bound."""
        count, tree = self._grown()
        yield from _stabbed(tree, at)
        for low, high, item in self._items[count:]:
            if low <= at <= high:
                yield item

    def _grown(self) -> tuple[int, _Tree[T] | None]:
        count, tree = self._built
        known = len(self._items)
        if known - count > max(_FEW, count // 16):
            # Two readers may do this at once; whichever is kept last, its count says what it holds.
            count, tree = self._built = known, _build(self._items[:known])
        return count, tree


def _build(items: list[Item[T]]) -> _Tree[T] | None:
    if not items:
        return None
    ends = sorted(end for low, high, _ in items for end in (low, high))
    centre = ends[len(items)]  # an end of some interval, which therefore holds it: each level takes one at least
    here = [item for item in items if item[0] <= centre <= item[1]]
    return _Tree(
        centre,
        sorted(here, key=lambda item: item[0]),
        sorted(here, key=lambda item: item[1], reverse=True),
        _build([item for item in items if item[1] < centre]),
        _build([item for item in items if item[0] > centre]),
    )


def _stabbed(tree: _Tree[T] | None, at: Bound) -> Iterator[T]:
    while tree is not None:
        below = at < tree.centre
        for low, high, item in tree.by_low if below else tree.by_high:
            if low > at or high < at:
                break
            yield item
        tree = tree.left if below else tree.right


# --- constraint tables ------------------------------------------------------------------------------------------
# The constraint table of one end of an edge of G_M ([R] section 4.1, figure 4): the subscriptions that a value
# satisfies.
#
# [R] prints four lists, for = > < and !=, each ordered by value, an entry leading from a value to the subscriptions
# that compare with it. The law: `satisfied(v)` holds every item one of whose constraints is known to hold of v and
# none is known not to hold by the list it stands in; the rest of an item's constraints is its own affair.
#
# The mends: = > < and ranges between two ends are one tree of intervals for each axis of values (SEED_NOTES, filter
# 9); = and IN are intervals of one point, looked up by hash. != keeps [R]'s list, in which each distinct value is
# compared once, by value. A fifth list holds the classes, which [R] dropped (SEED_NOTES, filter 6): by relation and
# class, looked up for each class that the value stands in that relation to.


class ConstraintTable(Generic[T]):
    """Items under the constraints of a variable. One writer; readers may be in it."""

    def __init__(self) -> None:
        self._equal: dict[Point, list[T]] = {}
        self._between: dict[tuple[str, ...], IntervalTree[T]] = {}
        self._unequal: dict[Term, list[T]] = {}
        self._unequal_values: list[Term] = []
        self._classes: dict[Relation, dict[Term, list[T]]] = {relation: {} for relation in Relation}

    def insert(self, constraints: tuple[Constraint, ...], item: T) -> None:
        """Puts an item under the constraints that say most: a place among values, else a class, else !=."""
        places = intervals(constraints)
        kinds = [each for each in constraints if isinstance(each, ClassConstraint)]
        if places is not None:
            for place in places:
                self._insert_interval(place, item)
        elif kinds:
            self._classes[kinds[0].relation].setdefault(kinds[0].of, []).append(item)
        else:
            self._insert_unequal(constraints[0], item)

    def _insert_interval(self, place: Interval, item: T) -> None:
        if place.low == place.high:
            self._equal.setdefault(Point(place.axis, place.low), []).append(item)
        else:
            self._between.setdefault(place.axis, IntervalTree()).add(place, item)

    def _insert_unequal(self, constraint: Constraint, item: T) -> None:
        assert isinstance(constraint, ValueConstraint)
        if constraint.value not in self._unequal:
            self._unequal[constraint.value] = []
            self._unequal_values.append(constraint.value)
        self._unequal[constraint.value].append(item)

    def satisfied(self, value: Term, classes: Classes) -> Iterator[T]:
        """The items whose constraint in this table the value satisfies, as far as the table can tell."""
        at = point(value)
        if at is not None:
            yield from self._equal.get(at, ())
            if at.axis in self._between:
                yield from self._between[at.axis].stab(at.bound)
        for other in self._unequal_values:
            if holds(ValueConstraint("!=", other), value, classes):
                yield from self._unequal[other]
        for relation, items in self._classes.items():
            if items:
                for kind in related(relation, value, classes):
                    yield from items.get(kind, ())


# --- G-ToPSS ----------------------------------------------------------------------------------------------------
# G-ToPSS ([G] section 4): all subscriptions in one union graph, against which a publication is matched edge by edge.
#
# What the paper prints. G_M is the union of the subscription graphs. Constants are shared by name; variables are the
# stars *1, *2, …, shared by number, as many as the subscription with the most has. Figure 7 keeps it in two levels of
# hash tables: a pair of vertices leads to the edges between them, a label to one edge, and an edge to the list of
# subscriptions that hold it and to a binding table. *Insert* puts each edge of a subscription there. *match* has two
# stages. For each publication edge (v, w) it looks up v and every star against w and every star, (k + 1) ** 2 pairs
# for k stars; each edge found takes (v, w) into its binding table and counts for its subscriptions, which join
# SubSet. Then each subscription of SubSet whose counter is complete joins the tables of its edges, and
# CheckConstraint tests the rows.
#
# The law it relies on: a publication that matches a subscription matches each of its edges, so a subscription one of
# whose edges has an empty table cannot match; and the join of all its tables is the set of its bindings.
#
# The mends: SEED_NOTES, filter 3: printed, the counter counts publication edges, so three edges that match one
# subscription edge count three; and it is reset only where the join was tried, so it leaks into the next publication.
# It counts distinct subscription edges (a G_M edge counts when its table gets its first row), and belongs to one
# publication, as the binding tables do; printed, nothing ever empties those either. Section 4.2 prints "a fully
# connected graph" over v, w and the stars, which also holds w → v and *i → v. The text names the four kinds that
# agree with the edge, v w, v *i, *i w and *i *j, and only those are looked up; an edge from *i to *i takes only v =
# w. SEED_NOTES, filter 1, 2, 5, 6, 7: see the sections above. Unsubscribing, of
# which the paper says nothing: see the stamped subscriptions.
#
# Candidates are SubSet: every subscription whose counter was touched.


class UnionEdge:
    """An edge of G_M with the subscriptions that hold it."""

    __slots__ = ("edge", "subscriptions")

    def __init__(self, edge: GraphEdge) -> None:
        self.edge = edge
        self.subscriptions: list[Entry] = []  # only appended to: readers may be in it


class UnionGraph:
    """G_M: vertex pair → label → edge."""

    def __init__(self) -> None:
        self.stars = 0
        self._pairs: dict[tuple[Vertex, Vertex], dict[Term, UnionEdge]] = {}
        self.overlaps: dict[Entry, tuple[UnionEdge, ...]] = {}  # [G]'s E.smEdge of each edge E of a subscription
        self.edgeless: list[Entry] = []

    def insert(self, entry: Entry) -> None:
        """[G]'s algorithm Insert. A subscription without an edge to look up is met by every publication."""
        graph = entry.graph
        self.stars = max(self.stars, len(graph.stars))
        self.overlaps[entry] = overlaps = tuple(self._edge(edge) for edge in graph.edges)
        for overlap in overlaps:
            overlap.subscriptions.append(entry)
        if not overlaps:
            self.edgeless.append(entry)

    def _edge(self, edge: GraphEdge) -> UnionEdge:
        labels = self._pairs.setdefault((edge.source, edge.target), {})
        return labels.get(edge.label) or labels.setdefault(edge.label, UnionEdge(edge))

    def edges(self, triple: Triple) -> Iterator[UnionEdge]:
        """The edges of G_M that a publication edge matches."""
        source, label, target = triple
        stars = range(1, self.stars + 1)
        for pair in ((one, other) for one in (source, *stars) for other in (target, *stars)):
            labels = self._pairs.get(pair)
            edge = labels.get(label) if labels is not None else None
            if edge is not None and (source == target or pair[0] != pair[1] or not isinstance(pair[0], Star)):
                yield edge


class Matching:
    """[G]'s algorithm match for one publication: the first stage when made, the second when asked."""

    def __init__(self, union: UnionGraph, world: World, stamp: int) -> None:
        self.world = world
        self._union = union
        self.tables: dict[UnionEdge, list[Row]] = {}
        for triple in world.graph:
            for edge in union.edges(triple):
                self.tables.setdefault(edge, []).append((triple[0], triple[2]))
        self._star_tables: dict[UnionEdge, BindingTable] = {}
        self.counts = {entry: 0 for entry in union.edgeless if entry.lives(stamp)}
        for edge in self.tables:
            for entry in edge.subscriptions:
                if entry.lives(stamp):
                    self.counts[entry] = self.counts.get(entry, 0) + 1

    @cached_property
    def candidates(self) -> dict[int, Entry]:
        return in_order(self.counts)

    def matches(self, entry: Entry) -> bool:
        graph = entry.graph
        if self.counts[entry] < len(graph.edges):
            return False
        if graph.plan is not None:
            return graph.plan.matches(self.world)
        return joins(graph, map(self._star_table, self._union.overlaps[entry]), self.world.classes)

    def _star_table(self, union: UnionEdge) -> BindingTable:
        """An edge's table for joining: stars have the same names in every subscription, so it is made once."""
        table = self._star_tables.get(union)
        if table is None:
            table = self._star_tables[union] = star_table(union.edge, self.tables[union])
        return table


class GToPSSMatcher(PaperMatcher):
    """Candidates by counting matched edges in the union graph, verified by joining binding tables."""

    def __init__(self) -> None:
        super().__init__(UnionGraph, Matching)


# --- OPS --------------------------------------------------------------------------------------------------------
# OPS-style subgraph matching ([G] section 2 and figure 9(g)): subscriptions that overlap share their subgraphs.
#
# What the paper prints of OPS, its opponent: "a very general subgraph isomorphism algorithm for matching over
# overlapping graphs", which assumes "that every node in a subscription is a variable", so that "any node of a
# publication can match with any other node in the subscription graph"; slower than G-ToPSS and "far better than a
# naive approach which sequentially checks all subscriptions". No pseudo-code is given. This is the classic algorithm
# of that description, a network of subgraphs: each subscription is taken apart edge by edge, equal beginnings are
# kept once, and a publication is led through the network from the root, each subgraph's instances being extended by
# one edge. Names come last.
#
# The law: an instance of a subgraph extends an instance of the subgraph without its last edge, so where one has no
# instance nothing beyond it has; and a subscription matches exactly if one of its structure's instances has the
# subscription's constants in their places and values there that satisfy the constraints.
#
# The mends: instances are homomorphisms (SEED_NOTES, filter 1). All nodes being variables, the instances of a
# subgraph may be exponentially many (SEED_NOTES, filter 2): beyond `MOST_INSTANCES` it is given up, and the
# subscriptions that go through it are decided one by one, by joining what the publication holds for each of their
# edges.
#
# Candidates are the subscriptions whose last edge was tried, and those behind a subgraph that was given up.

MOST_INSTANCES = 10_000

Instance = tuple[Term, ...]  # the publication's node in the place of each vertex


class PaperStep(NamedTuple):
    """An edge between vertices by number; a number that the vertices so far do not reach is a new vertex."""

    label: Term
    source: int
    target: int


class Subgraph:
    """A node of the network: the subgraph of its parent and one more edge."""

    __slots__ = ("_by_step", "children", "endings", "step")

    def __init__(self, step: PaperStep | None = None) -> None:
        self.step = step
        self.children: list[Subgraph] = []  # these two are only appended to: readers may be in them
        self.endings: list[Entry] = []
        self._by_step: dict[PaperStep, Subgraph] = {}

    def child(self, step: PaperStep) -> Subgraph:
        known = self._by_step.get(step)
        if known is None:
            known = self._by_step[step] = Subgraph(step)
            self.children.append(known)
        return known

    def below(self) -> Iterator[Subgraph]:
        """This subgraph and all that go through it."""
        stack = [self]
        while stack:
            subgraph = stack.pop()
            yield subgraph
            stack.extend(subgraph.children)


class Network:
    """All subscriptions as paths from the root, the subgraph without an edge."""

    def __init__(self) -> None:
        self.root = Subgraph()
        self.placed: dict[Entry, tuple[Subgraph, tuple[Vertex, ...]]] = {}
        """Where a subscription ends, and what stands at each of its vertices."""

    def insert(self, entry: Entry) -> None:
        steps, vertices = take_apart(entry.graph.edges)
        subgraph = self.root
        for step in steps:
            subgraph = subgraph.child(step)
        self.placed[entry] = subgraph, vertices
        subgraph.endings.append(entry)


def take_apart(edges: Sequence[GraphEdge]) -> tuple[list[PaperStep], tuple[Vertex, ...]]:
    """The edges in an order in which equal graphs tend to begin equally and each edge meets the ones before it."""
    numbers: dict[Vertex, int] = {}
    steps = []
    waiting = sorted(edges, key=lambda edge: edge.label)
    while waiting:
        # One with few new vertices, then by label; of equals the first.
        edge = min(waiting, key=lambda each: (len({each.source, each.target} - numbers.keys()), each.label))
        waiting.remove(edge)
        ends = [numbers.setdefault(vertex, len(numbers)) for vertex in (edge.source, edge.target)]
        steps.append(PaperStep(edge.label, *ends))
    return steps, tuple(numbers)


class Descent:
    """One publication led through the network."""

    def __init__(self, network: Network, world: World, stamp: int) -> None:
        self.world = world
        self._network = network
        self._stamp = stamp
        self.instances: dict[Subgraph, list[Instance]] = {network.root: [()]}
        self.given_up: set[Subgraph] = set()
        labels = {predicate for _, predicate, _ in world.graph}
        stack = [network.root]
        while stack:
            parent = stack.pop()
            for child in parent.children:
                assert child.step is not None
                if child.step.label in labels:
                    extended = self.instances[child] = self._extend(self.instances[parent], child.step)
                    if len(extended) > MOST_INSTANCES:
                        self.given_up.update(child.below())
                    elif extended:
                        stack.append(child)

    def _extend(self, instances: list[Instance], step: PaperStep) -> list[Instance]:
        """The instances with one more edge; if there are too many, one more than are allowed."""
        extended: list[Instance] = []
        for instance in instances:
            extended += _extensions(instance, step, self.world)
            if len(extended) > MOST_INSTANCES:
                return extended[: MOST_INSTANCES + 1]
        return extended

    @cached_property
    def candidates(self) -> dict[int, Entry]:
        tried = self.instances.keys() | self.given_up
        return in_order(entry for subgraph in tried for entry in subgraph.endings if entry.lives(self._stamp))

    def matches(self, entry: Entry) -> bool:
        plan = entry.graph.plan
        return self._embeds(entry) and (plan is None or plan.matches(self.world))

    def _embeds(self, entry: Entry) -> bool:
        """Whether the subscription's edges and constraints can be met."""
        subgraph, vertices = self._network.placed[entry]
        if subgraph in self.given_up:
            return joins(entry.graph, map(self._star_table, entry.graph.edges), self.world.classes)
        return any(_fits(entry, vertices, found, self.world.classes) for found in self.instances[subgraph])

    def _star_table(self, edge: GraphEdge) -> BindingTable:
        source, target = (vertex if isinstance(vertex, Term) else None for vertex in (edge.source, edge.target))
        return star_table(edge, [(s, o) for s, _, o in self.world.graph.match(source, edge.label, target)])


def _extensions(instance: Instance, step: PaperStep, world: World) -> Iterator[Instance]:
    known = len(instance)
    source = instance[step.source] if step.source < known else None
    target = instance[step.target] if step.target < known else None
    for triple in world.graph.match(source, step.label, target):
        if step.source != step.target or triple[0] == triple[2]:
            new = {step.source: triple[0], step.target: triple[2]}  # the source is numbered before the target
            yield instance + tuple(node for number, node in new.items() if number >= known)


def _fits(entry: Entry, vertices: tuple[Vertex, ...], instance: Instance, classes: Classes) -> bool:
    """Whether an instance of the structure has the subscription's constants and satisfies its constraints."""
    return all(
        node == vertex
        if isinstance(vertex, Term)
        else check_constraints(entry.graph.constraints_of(vertex), node, classes)
        for vertex, node in zip(vertices, instance, strict=True)
    )


class OpsMatcher(PaperMatcher):
    """Candidates by their structure alone, verified on the structure's instances."""

    def __init__(self) -> None:
        super().__init__(Network, Descent)


# --- the RSS matcher --------------------------------------------------------------------------------------------
# The matcher of the paper on RSS filtering ([R] sections 4.1 and 4.5): edge labels first, constraints before joins.
#
# What the paper prints. G_M is kept in two levels of hash tables, the other way round than in [G]: a label leads to
# the pairs of vertices between which it stands, a pair to the subscriptions that hold the edge. All variables are one
# star, so a publication edge e(v, w) has four pairs to look up: v w, v *, * w, * *. Where an end is a variable, the
# subscriptions are classified by their constraints on it and ordered in a table (figure 4). *match* takes, for each
# publication edge and each edge of G_M it matches, the set C of subscriptions whose constraints are satisfied: those
# without, those satisfied by v and those satisfied by w; the edge's binding table takes (v, w), and C joins SubSet.
# Then each subscription of SubSet joins the binding tables of its edges and matches if a row is left.
#
# The law it relies on: a selection commutes with a natural join, so constraints may go first; a subscription whose
# constraint no publication edge satisfies cannot match, and is never looked at.
#
# The mends: SEED_NOTES, filter 4: the binding tables are shared, so they hold values that *any* subscription's
# constraint accepts, and printed nothing is checked again: false positives. Each subscription's constraints are checked
# on its own binding. SEED_NOTES, filter 5: one that is constrained on both ends of an edge needs both; printed, C is a
# union. And a variable has one constraint set on all of its edges. SEED_NOTES, filter 9: two-sided ranges, see the
# intervals. SEED_NOTES, filter 6: classes, see the constraint tables. Printed, C holds all that have no constraint on
# *this* edge, even if another of its edges has one. Subscriptions of one structure then all enter SubSet through the
# edges that they share, and figure 9(b) cannot be flat. A subscription with a constraint enters only through edges that
# have one: one of those must be satisfied anyway. Binding tables belong to one publication; printed, nothing empties
# them. Unsubscribing within one machine: see the stamped subscriptions.
#
# Candidates are SubSet, with those dropped from C because of the other end.

STAR = 0  # stands for any variable


class Listing(NamedTuple):
    """A subscription, listed for one of its edges."""

    entry: Entry
    edge: GraphEdge


class LabelledPair:
    """An edge of G_M: the subscriptions that hold it, classified by constraints."""

    __slots__ = ("free", "source", "target")

    def __init__(self) -> None:
        self.free: list[Entry] = []
        self.source: ConstraintTable[Listing] | None = None
        self.target: ConstraintTable[Listing] | None = None

    def insert(self, entry: Entry, edge: GraphEdge) -> None:
        """Under the constraints of the source if it has any, else under the target's; see the mends for the rest."""
        source, target = (entry.graph.constraints_of(vertex) for vertex in (edge.source, edge.target))
        if source:
            self.source = self.source or ConstraintTable()
            self.source.insert(source, Listing(entry, edge))
        elif target:
            self.target = self.target or ConstraintTable()
            self.target.insert(target, Listing(entry, edge))
        elif not any(entry.graph.constraints):
            self.free.append(entry)

    def listings(self, triple: Triple, classes: Classes) -> Iterator[Listing]:
        """Those whose constraints on one end are satisfied; the other end is still to be checked."""
        for table, value in ((self.source, triple[0]), (self.target, triple[2])):
            if table is not None:
                yield from table.satisfied(value, classes)


class SubscriptionMatrix:
    """G_M: label → vertex pair → edge."""

    def __init__(self) -> None:
        self._labels: dict[Term, dict[tuple[Vertex, ...], LabelledPair]] = {}
        self.overlaps: dict[Entry, tuple[LabelledPair, ...]] = {}
        self.edgeless: list[Entry] = []

    def insert(self, entry: Entry) -> None:
        self.overlaps[entry] = overlaps = tuple(self._pair(edge) for edge in entry.graph.edges)
        for edge, overlap in zip(entry.graph.edges, overlaps, strict=True):
            overlap.insert(entry, edge)
        if not overlaps:
            self.edgeless.append(entry)

    def _pair(self, edge: GraphEdge) -> LabelledPair:
        pairs = self._labels.setdefault(edge.label, {})
        pair = tuple(STAR if isinstance(vertex, Star) else vertex for vertex in (edge.source, edge.target))
        return pairs.get(pair) or pairs.setdefault(pair, LabelledPair())

    def edges(self, triple: Triple) -> Iterator[LabelledPair]:
        """The edges of G_M that a publication edge matches."""
        source, label, target = triple
        pairs = self._labels.get(label)
        if pairs is not None:
            for pair in ((source, target), (source, STAR), (STAR, target), (STAR, STAR)):
                edge = pairs.get(pair)
                if edge is not None:
                    yield edge


class RssMatching:
    """[R]'s algorithm match for one publication: SubSet when made, the joins when asked."""

    def __init__(self, matrix: SubscriptionMatrix, world: World, stamp: int) -> None:
        self.world = world
        self._matrix = matrix
        self.tables: dict[LabelledPair, list[Row]] = {}
        self.dropped: set[Entry] = set()  # met, but never satisfied at both ends of an edge
        self.subset: set[Entry] = {entry for entry in matrix.edgeless if entry.lives(stamp)}
        for triple in world.graph:
            for edge in matrix.edges(triple):
                self.tables.setdefault(edge, []).append((triple[0], triple[2]))
                for entry, listed in edge.listings(triple, world.classes):
                    if entry.lives(stamp):
                        (self.subset if self._satisfied(entry, listed, triple) else self.dropped).add(entry)
        self.subset.update(entry for edge in self.tables for entry in edge.free if entry.lives(stamp))
        self.dropped -= self.subset

    def _satisfied(self, entry: Entry, listed: GraphEdge, triple: Triple) -> bool:
        """Whether the constraints on both ends hold, exactly."""
        ends = ((listed.source, triple[0]), (listed.target, triple[2]))
        return all(check_constraints(entry.graph.constraints_of(end), node, self.world.classes) for end, node in ends)

    @cached_property
    def candidates(self) -> dict[int, Entry]:
        return in_order(self.subset | self.dropped)

    def matches(self, entry: Entry) -> bool:
        graph, overlaps = entry.graph, self._matrix.overlaps[entry]
        if entry in self.dropped or any(edge not in self.tables for edge in overlaps):
            return False
        if graph.plan is not None:
            return graph.plan.matches(self.world)
        tables = (star_table(edge, self.tables[pair]) for edge, pair in zip(graph.edges, overlaps, strict=True))
        return joins(graph, tables, self.world.classes)


class RssMatcher(PaperMatcher):
    """Candidates by label and constraint, verified by joining binding tables."""

    def __init__(self) -> None:
        super().__init__(SubscriptionMatrix, RssMatching)
