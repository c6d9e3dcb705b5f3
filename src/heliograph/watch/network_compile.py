"""A query as numbers: components, each folded into what its slots hear and a core that is joined, and in which
order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, cast

from heliograph.filter.interests import conditions_of
from heliograph.sparql.evaluate import holds
from heliograph.sparql.query import And, ClassPattern, Expression, Metric, Node, Query, walk
from heliograph.sparql.regions import Atom, Domain
from heliograph.terms import Term, Variable
from heliograph.watch.derived import Derived, DerivedRelation
from heliograph.watch.layout import ANY_NODE, IN, IS_NODE, NONE, OUT, Q_ROWS, Q_TRUTH, SELF_NODE

# --- a query as numbers ------------------------------------------------------------------------------------------

# A query as numbers: edges between terms and slots, and what is asked of each slot by itself.
#
# A node of an edge is a term id, or `~v` for the variable number v; variables are numbered by first appearance. Class
# forms and rdfs:member are edges under virtual properties. Filters are taken apart at `&&`: a conjunct about a single
# variable of the pattern becomes a test of it, as far as intervals can say it; what they cannot say remains.
#
# The law: edges, tests and remaining conjuncts together are true of exactly the solutions of the query's pattern and
# filters; a test is necessary even where its conjunct remains.

Intern: TypeAlias = Callable[[Term], int]
Edge: TypeAlias = tuple[int, int, int]
Want: TypeAlias = tuple[DerivedRelation, int | None]  # a relation, for one class at its upper end or for any

HERE = Variable("")  # what the expressions of a test call the term that they check
_MOST_NODES = 200  # of a conjunct that becomes a test: what is larger is checked outside


class TermTest(NamedTuple):
    """What is asked of a slot: that its term lies in one of the atoms; in doubt, the expressions decide."""

    atoms: tuple[Atom, ...]
    expressions: tuple[Expression, ...]


class Question(NamedTuple):
    """A query's pattern and filters. `never`: no solution can satisfy them."""

    edges: tuple[Edge, ...]
    variables: tuple[Variable, ...]
    tests: Mapping[int, TermTest]  # by variable
    remaining: tuple[Expression, ...]
    never: bool
    wants: tuple[Want, ...]


def question_of(query: Query, intern: Intern, derived: Derived | None) -> Question:
    """A query as numbers; its constants get ids."""
    numbers: dict[Variable, int] = {}
    edges: dict[Edge, None] = {}
    wants: dict[Want, None] = {}

    def node(each: Node) -> int:
        return ~numbers.setdefault(each, len(numbers)) if isinstance(each, Variable) else intern(each)

    for pattern in query.patterns:
        relation = None if derived is None else derived.relation(pattern)
        if relation is not None and derived is not None:
            edges[node(pattern.subject), derived.virtual(relation), node(pattern.object)] = None
            wants[relation, None if isinstance(pattern.object, Variable) else intern(pattern.object)] = None
        elif isinstance(pattern, ClassPattern):
            raise ValueError("class forms need derived edges")
        else:
            edges[node(pattern.subject), node(pattern.predicate), node(pattern.object)] = None
    tests, remaining, never = _tests(query, numbers, intern)
    return Question(tuple(edges), tuple(numbers), tests, remaining, never, tuple(wants))


# --- filters ----------------------------------------------------------------------------------------------------


def _tests(
    query: Query, numbers: Mapping[Variable, int], intern: Intern
) -> tuple[dict[int, TermTest], tuple[Expression, ...], bool]:
    """Tests by variable, the conjuncts that remain, and whether nothing can satisfy them."""
    alone: dict[int, list[Expression]] = {}
    remaining: list[Expression] = []
    never, conjuncts = False, list(reversed(query.filters))
    while conjuncts:
        conjunct = conjuncts.pop()
        if isinstance(conjunct, And):
            conjuncts.extend(reversed(conjunct.operands))
        elif not any(isinstance(node, (Variable, Metric)) for node in walk(conjunct)):
            never = never or not holds(conjunct, {})
        elif (variable := _only_variable(conjunct)) is None or variable not in numbers:
            remaining.append(conjunct)
        else:
            here = cast(Expression, _renamed(conjunct, variable))
            conditions = conditions_of([here], intern)
            never = never or conditions.never
            alone.setdefault(numbers[variable], []).append(here)
            if not conditions.exact:
                remaining.append(conjunct)
    tests = {}
    for number, expressions in alone.items():
        # the atoms that say where a term must lie; what is asked of its text is not among them
        found = (atoms for _, atoms in conditions_of(expressions, intern).conjuncts)
        atoms = next((each for each in found if all(atom.domain < Domain.IS_A for atom in each)), None)
        if atoms is not None:
            tests[number] = TermTest(atoms, tuple(expressions))
    return tests, tuple(remaining), never


def _only_variable(expression: Expression) -> Variable | None:
    """The one variable of a small expression without metrics."""
    found: set[Variable] = set()
    for count, node in enumerate(walk(expression)):
        if count >= _MOST_NODES or isinstance(node, Metric):
            return None
        if isinstance(node, Variable):
            found.add(node)
    return found.pop() if len(found) == 1 else None


def _renamed(node: Any, variable: Variable) -> Any:
    """An expression about `HERE` in place of a variable, so that equal tests are equal whatever they call it."""
    if isinstance(node, Variable):
        return HERE if node == variable else node
    if isinstance(node, tuple) and not isinstance(node, Term):
        return tuple(_renamed(each, variable) for each in node)
    if is_dataclass(node) and not isinstance(node, Term):
        kind: Any = type(node)
        return kind(*(_renamed(getattr(node, field.name), variable) for field in fields(node)))
    return node


# --- the order of slots ------------------------------------------------------------------------------------------

# An order of the slots of a core that does not depend on how a query names or lists them.
#
# Slots are told apart by what they hear, then by what their neighbours are, round by round; where some still look
# alike, one of them is taken first and the rest told apart from it. If those are truly interchangeable, any choice
# gives the same core. Where they only look it, equal cores may be entered twice: that costs work, never an answer.

_FORWARD, _BACKWARD = range(2)
_MOST = 200  # slots: an order that tells more of them apart takes longer than it saves


def slot_order(codes: Mapping[int, Any], edges: Sequence[Edge]) -> list[int]:
    """Slots in order; `edges` are (slot, label, slot)."""
    if len(codes) > _MOST:
        return list(codes)
    touching: dict[int, list[tuple[int, int, int]]] = {slot: [] for slot in codes}
    for s, label, o in edges:
        touching[s].append((_FORWARD, label, o))
        touching[o].append((_BACKWARD, label, s))
    ranks, known = _ranked(codes), 0
    while (told := len(set(ranks.values()))) < len(ranks):
        if told > known:  # by their neighbours too
            seen = {slot: sorted((way, label, ranks[other]) for way, label, other in touching[slot]) for slot in ranks}
            ranks, known = _ranked({slot: (rank, seen[slot]) for slot, rank in ranks.items()}), told
        else:  # one of the first rank that several share is taken first
            ordered = sorted(ranks, key=ranks.__getitem__)
            chosen = next(slot for slot, following in pairwise(ordered) if ranks[slot] == ranks[following])
            ranks = _ranked({slot: (rank, slot != chosen) for slot, rank in ranks.items()})
    return sorted(ranks, key=ranks.__getitem__)


def _ranked(codes: Mapping[int, Any]) -> dict[int, int]:
    """The rank of each code among all, equal ones alike."""
    ordered = sorted(codes, key=codes.__getitem__)
    ranks: dict[int, int] = {}
    for place, slot in enumerate(ordered):
        alike = place and codes[slot] == codes[ordered[place - 1]]
        ranks[slot] = ranks[ordered[place - 1]] if alike else place
    return ranks


# --- components and shapes ---------------------------------------------------------------------------------------

# Components of a pattern, and each of them folded: trees into what a slot hears, the rest into a core.
#
# A component is what variables connect. Where one of its slots hangs by a single edge from another, the slot with all
# that it hears is a *branch* of the other, and so on until nothing hangs: what is left is the core, one slot if the
# component is a tree. Constants stand in the shape as parameters, by number, so that a shape serves every query that
# differs in constants alone.
#
# The law: every edge of a component is in its shape exactly once, as something that is heard, as the driver or as an
# edge of the core; and shapes that differ in nothing but the order and the names of slots are equal, as far as the
# order of the core's slots can be told from the pattern.

NODE = 0  # the kind of what is heard from a branch
MOST_ROUNDS = 60  # of folding; a tree is at most twice as deep from any other root, and MOST_LEVELS is 128
_MOST_ROOTS = 32  # that are compared

Code: TypeAlias = tuple[object, ...]


class Hears(NamedTuple):
    """What a slot hears through one edge: from a branch, any vertex, itself, or the constant with a number."""

    key: int
    kind: int  # NODE, ANY_NODE, IS_NODE or SELF_NODE
    constant: int = NONE
    branch: Branch | None = None

    @property
    def code(self) -> Code:
        return (self.key, self.kind, self.branch.code if self.branch else ())


class Branch(NamedTuple):
    """A slot with what it hears, and whether it is tested; equal branches have equal codes."""

    variable: int
    hears: tuple[Hears, ...]
    tested: bool
    code: Code


class Driver(NamedTuple):
    """The edge from a core slot to a constant by which components of a group are found."""

    slot: int
    key: int
    constant: int


class QueryShape(NamedTuple):
    """A component: the branches of its core, one a slot, the edges between slots, and the driver."""

    core: tuple[Branch, ...]
    edges: tuple[Edge, ...]
    driver: Driver | None


class Component(NamedTuple):
    """What variables connect: `edges` between two of them, and what each hears of itself and of constants."""

    variables: tuple[int, ...]
    edges: tuple[Edge, ...]  # variable, property, variable
    hears: dict[int, list[Hears]]
    tested: Collection[int]


class Rules(NamedTuple):
    """How components are folded: with a driver or not, and which keys lead to classes."""

    driven: bool
    class_keys: Collection[int]


# --- components -------------------------------------------------------------------------------------------------


def components_of(edges: Sequence[Edge], tested: Collection[int]) -> list[Component]:
    """The components of abstract edges: subjects and objects are `~v`, or the number of a constant."""
    members: dict[int, list[int]] = {}  # by variable, one list for all of a component
    for edge in edges:
        ends = [members.setdefault(~node, [~node]) for node in (edge[0], edge[2]) if node < 0]
        if len(ends) == 2 and ends[0] is not ends[1]:
            ends[0].extend(ends[1])
            members.update(dict.fromkeys(ends[1], ends[0]))
    order = {variable: place for place, variable in enumerate(members)}
    found = {id(each): sorted(each, key=order.__getitem__) for each in members.values()}
    gathered: dict[int, list[Edge]] = {each: [] for each in found}
    for edge in edges:
        variable = next((~node for node in (edge[0], edge[2]) if node < 0), None)
        if variable is not None:
            gathered[id(members[variable])].append(edge)
    return [_component(found[each], gathered[each], tested) for each in found]


def _component(variables: list[int], edges: Iterable[Edge], tested: Collection[int]) -> Component:
    between: list[Edge] = []
    hears: dict[int, list[Hears]] = {variable: [] for variable in variables}
    for s, p, o in edges:
        if s >= 0:
            hears[~o].append(Hears(2 * p + IN, IS_NODE, s))
        elif o >= 0:
            hears[~s].append(Hears(2 * p + OUT, IS_NODE, o))
        elif s == o:
            hears[~s].append(Hears(2 * p + OUT, SELF_NODE))
        else:
            between.append((~s, p, ~o))
    return Component(tuple(variables), tuple(between), hears, tested)


# --- folding ----------------------------------------------------------------------------------------------------


class Peeled(NamedTuple):
    """What is left when leaves are taken away round by round, in how many rounds, and the last that went."""

    core: tuple[int, ...]
    rounds: int
    centre: tuple[int, ...]


def peel(component: Component) -> Peeled:
    """Takes the leaves away until none is left; a tree disappears, its centre last."""
    touching = _touching(component)
    degree = {variable: len(found) for variable, found in touching.items()}
    left, rounds, last = dict.fromkeys(component.variables), 0, component.variables
    leaves = [variable for variable in left if degree[variable] <= 1]
    while leaves:
        rounds, last, following = rounds + 1, tuple(leaves), []
        for leaf in leaves:
            del left[leaf]
        for leaf in leaves:
            for other in (_other(edge, leaf) for edge in touching[leaf]):
                degree[other] -= 1
                if other in left and degree[other] == 1:
                    following.append(other)
        leaves = following
    return Peeled(tuple(left), rounds, last)


def shape_of(component: Component, rules: Rules) -> QueryShape | None:
    """A component folded; None if its trees are too deep."""
    peeled = peel(component)
    if peeled.rounds > MOST_ROUNDS:
        return None
    if not peeled.core:
        return _tree_shape(component, peeled, rules)
    branches = _folded(component, peeled.core)
    core = set(peeled.core)
    between = [edge for edge in component.edges if edge[0] in core and edge[2] in core]
    order = slot_order({variable: branches[variable].code for variable in peeled.core}, between)
    slots = {variable: slot for slot, variable in enumerate(order)}
    edges = tuple(sorted((slots[s], p, slots[o]) for s, p, o in between))
    return _driven(tuple(branches[variable] for variable in order), edges, rules)


def _tree_shape(component: Component, peeled: Peeled, rules: Rules) -> QueryShape:
    """A tree hangs from the root whose code is smallest."""
    roots = _roots(component, peeled, rules)[:_MOST_ROOTS]
    shapes = [_driven((_folded(component, (root,))[root],), (), rules) for root in roots]
    return min(shapes, key=lambda shape: (shape.driver is None, shape.driver and shape.driver.key, shape.core[0].code))


def _roots(component: Component, peeled: Peeled, rules: Rules) -> Sequence[int]:
    """Where a tree may hang from: slots next to a constant if that drives, else far from all constants.

    Without a driver constants are part of the structure: what hears of them first, and hands on little, should be
    heard by all others.
    """
    for classes in (False, True):
        named = [
            variable
            for variable in component.variables
            if any(
                each.kind == IS_NODE and (classes or each.key not in rules.class_keys)
                for each in component.hears[variable]
            )
        ]
        if named:
            return named if rules.driven else _farthest(component, named)
    return peeled.centre


def _farthest(component: Component, sources: Sequence[int]) -> Sequence[int]:
    touching, seen = _touching(component), set(sources)
    layer = following = list(sources)
    while following:
        layer, following = following, []
        for variable in layer:
            for other in (_other(edge, variable) for edge in touching[variable]):
                if other not in seen:
                    seen.add(other)
                    following.append(other)
    return layer


def _folded(component: Component, roots: Sequence[int]) -> dict[int, Branch]:
    """Every slot as a branch that hangs towards the roots; edges among roots are left out."""
    touching, branches = _touching(component), {}
    order, towards = list(roots), dict.fromkeys(roots, NONE)
    for variable in order:
        for edge in touching[variable]:
            other = _other(edge, variable)
            if other not in towards:
                towards[other] = variable
                order.append(other)
    hanging: dict[int, list[Hears]] = {variable: list(component.hears[variable]) for variable in order}
    for variable in reversed(order):
        branch = _branch(variable, hanging[variable], variable in component.tested)
        branches[variable] = branch
        if towards[variable] >= 0:
            edge = next(each for each in touching[variable] if _other(each, variable) == towards[variable])
            key = 2 * edge[1] + (IN if edge[0] == variable else OUT)
            plain = not branch.hears and not branch.tested
            hanging[towards[variable]].append(Hears(key, ANY_NODE) if plain else Hears(key, NODE, NONE, branch))
    return branches


def _branch(variable: int, hears: list[Hears], tested: bool) -> Branch:
    found = tuple(sorted(hears, key=lambda each: each.code))
    return Branch(variable, found, tested, (tested, *(each.code for each in found)))


def _driven(core: tuple[Branch, ...], edges: tuple[Edge, ...], rules: Rules) -> QueryShape:
    """The core with one of its constants, rather no class, as the driver."""
    found = [
        (each.key in rules.class_keys, slot, each.key, place)
        for slot, branch in enumerate(core)
        for place, each in enumerate(branch.hears)
        if each.kind == IS_NODE
    ]
    if not found or not rules.driven:
        return QueryShape(core, edges, None)
    _, slot, key, place = min(found)
    branch = core[slot]
    rest = _branch(branch.variable, [*branch.hears[:place], *branch.hears[place + 1 :]], branch.tested)
    driver = Driver(slot, key, branch.hears[place].constant)
    return QueryShape((*core[:slot], rest, *core[slot + 1 :]), edges, driver)


def _touching(component: Component) -> dict[int, list[Edge]]:
    touching: dict[int, list[Edge]] = {variable: [] for variable in component.variables}
    for edge in component.edges:
        touching[edge[0]].append(edge)
        touching[edge[2]].append(edge)
    return touching


def _other(edge: Edge, variable: int) -> int:
    return edge[2] if edge[0] == variable else edge[0]


# --- the order of joins ------------------------------------------------------------------------------------------

# In which order the edges of a core are joined: from each slot, from each edge, and from nothing but filled holes.
#
# Edges all of whose parts are known come first: they only refuse. Then edges that lead from what is known to one new
# slot, rather to one that hears or is tested, so that few ways are followed; then those that begin anew, from
# constants if they have any. An edge that could have bound the same slot is named as the `other` of the one that does:
# the one with fewer neighbours is then walked through.
#
# An order depends on which nodes of an edge are slots, never on the terms and properties, so orders are shared.

_ALL = 7  # subject 1, predicate 2, object 4
_WALKED = (3, 6)  # what is known where a run is walked through


class JoinStep(NamedTuple):
    """A core edge, which of its parts are known when it is reached, a later step that could bind the same slot, the
    hole that it binds, if it walks through neighbours, and the holes that are filled then, as bits."""

    edge: int
    known: int
    other: int = NONE
    hole: int = NONE
    given: int = 0


class Slots(NamedTuple):
    """The slots of a core: how many, how many of them are holes, the last ones, and which others hear or are tested."""

    number: int
    holes: int
    choosy: frozenset[int]

    @property
    def first_hole(self) -> int:
        return self.number - self.holes


class _Choice(NamedTuple):
    """How good an edge is to go on with; the least is best."""

    open: bool  # something of it is unknown
    apart: bool  # no slot of it is known
    loose: bool  # more is unknown than one end
    plain: bool  # the slot that it binds neither hears nor is tested
    unknown: int
    edge: int


def orders_of(edges: Sequence[Edge], slots: Slots, listed: bool) -> tuple[tuple[JoinStep, ...], ...]:
    """Orders from each of the slots, from each edge and from nothing but holes.

    No join of a listed pattern starts from a slot, for nothing is heard there: those orders are empty.
    """
    return _orders(tuple((min(s, 0), min(p, 0), min(o, 0)) for s, p, o in edges), slots, listed)


@lru_cache(maxsize=4096)
def _orders(edges: tuple[Edge, ...], slots: Slots, listed: bool) -> tuple[tuple[JoinStep, ...], ...]:
    holes = range(slots.first_hole, slots.number)
    join = _Join(edges, slots.choosy.union(holes), slots.first_hole)
    from_slots = [() if listed else join.order({slot}) for slot in range(slots.number)]
    from_edges = [join.order(set(_slots_of(edge)), place) for place, edge in enumerate(edges)]
    return (*from_slots, *from_edges, join.order(set(holes)))


class _Join:
    """The edges of a core, and by slot those that touch it."""

    def __init__(self, edges: Sequence[Edge], choosy: Collection[int], first_hole: int) -> None:
        self._edges, self._choosy, self._first_hole = edges, choosy, first_hole
        self._touching: dict[int, list[int]] = {}
        for place, edge in enumerate(edges):
            for slot in _slots_of(edge):
                self._touching.setdefault(slot, []).append(place)

    def order(self, bound: set[int], done: int = NONE) -> tuple[JoinStep, ...]:
        """All edges but the one that is done, from slots that are bound. What a choice is worth changes only when a
        slot of its edge is bound: it is entered again then."""
        left = set(range(len(self._edges))) - {done}
        heap = sorted(self._choice(edge, bound) for edge in left)
        steps: list[tuple[JoinStep, list[int]]] = []
        while left:
            edge = heappop(heap).edge
            if edge not in left:
                continue
            left.remove(edge)
            fresh = [slot for slot in _slots_of(self._edges[edge]) if slot not in bound]
            known = _known(self._edges[edge], bound)
            hole = fresh[0] - self._first_hole if known in _WALKED else NONE
            others = self._others(edge, fresh, bound) if left else []
            steps.append((JoinStep(edge, known, hole=max(hole, NONE), given=self._filled(bound)), others))
            bound.update(fresh)
            for other in {other for slot in fresh for other in self._touching[slot]} & left:
                heappush(heap, self._choice(other, bound))
        places = {step.edge: place for place, (step, _) in enumerate(steps)}
        return tuple(
            step._replace(other=min((places[each] for each in others if places.get(each, NONE) > place), default=NONE))
            for place, (step, others) in enumerate(steps)
        )

    def _choice(self, edge: int, bound: Collection[int]) -> _Choice:
        nodes = self._edges[edge]
        known, slots = _known(nodes, bound), _slots_of(nodes)
        fresh = [slot for slot in slots if slot not in bound]
        apart = len(fresh) == len(slots) and known != _ALL
        plain = not any(slot in self._choosy for slot in fresh)
        return _Choice(known != _ALL, apart, known not in (*_WALKED, _ALL), plain, 3 - known.bit_count(), edge)

    def _filled(self, bound: Collection[int]) -> int:
        return sum(1 << slot - self._first_hole for slot in bound if slot >= self._first_hole)

    def _others(self, edge: int, fresh: list[int], bound: Collection[int]) -> list[int]:
        """Edges that could bind the same slot, where a run is walked through."""
        if _known(self._edges[edge], bound) not in _WALKED:
            return []
        return [other for other in self._touching[fresh[0]] if _known(self._edges[other], bound) in _WALKED]


def _known(edge: Edge, bound: Collection[int]) -> int:
    return sum(1 << place for place, node in enumerate(edge) if node >= 0 or ~node in bound)


def _slots_of(edge: Edge) -> list[int]:
    return list(dict.fromkeys(~node for node in edge if node < 0))


# --- what is entered for a query ---------------------------------------------------------------------------------

# From a query to what is entered for it: components with a shape each, or the whole pattern as one core.
#
# Constants next to variables are numbered out of the pattern first, so that a shape is worked out once for all
# queries that differ in constants: what remains for each of them is to look its parts up.
#
# Truth and counts need every edge to have a known property and every filter to be said by tests of single slots.
# Anything else lists solutions, and what is left of its filters is checked outside. There constants are slots as well,
# to be filled, so that patterns which differ in them are joined as one. If a pattern falls apart even so, its
# constants stay where they are: what is known of one piece would not say which constants another could have.

FEW = 64  # counts of one structure that have no driver


class ListedPattern(NamedTuple):
    """A pattern all of whose solutions are listed: its edges between slots, the tests of slots, and what fills the last
    ones, its holes."""

    slots: int
    edges: tuple[Edge, ...]
    tests: tuple[tuple[int, TermTest], ...]
    fillings: tuple[int, ...]


class CompiledQuery(NamedTuple):
    """What a query needs.

    `kind` is Q_ROWS where truth or count cannot be had otherwise. `never`: it has no solution, whatever the graph.
    `slots` are the variables in the order of a listed solution's terms; `remaining` are the conjuncts of its filters
    that are still to be checked. VALUES and metrics are no business of the network.
    """

    kind: int
    never: bool
    concrete: tuple[Edge, ...]  # edges without variables
    shapes: tuple[QueryShape, ...]
    constants: tuple[int, ...]  # by the numbers that shapes have for them
    tests: Mapping[int, TermTest]  # by variable
    listed: ListedPattern | None
    slots: tuple[Variable, ...]
    remaining: tuple[Expression, ...]
    wants: tuple[Want, ...]


class Customs(NamedTuple):
    """What queries are folded by: the keys that lead to classes, and how many counts of each structure there were."""

    class_keys: frozenset[int]
    counted: Counter[tuple[Edge, ...]]


def compiled(query: Query, question: Question, kind: int, customs: Customs) -> CompiledQuery:
    """A query made ready to be entered."""
    free = any(p < 0 for _, p, _ in question.edges)
    if kind == Q_ROWS or query.values or query.metrics or question.remaining or free:
        return _listing(question)
    return _counting(question, kind, customs) or _listing(question)


# --- truth and counts -------------------------------------------------------------------------------------------


def _counting(question: Question, kind: int, customs: Customs) -> CompiledQuery | None:
    """A query that is answered without its solutions; None if one of its components is too deep."""
    concrete, abstract = [], []
    constants: list[int] = []
    for s, p, o in question.edges:
        if s >= 0 and o >= 0:
            concrete.append((s, p, o))
            continue
        abstract.append((s if s < 0 else len(constants), p, o if o < 0 else len(constants)))
        constants += [node for node in (s, o) if node >= 0]
    edges, driven = tuple(abstract), True
    if kind != Q_TRUTH:  # a few counts of one structure are better off with their constants in place, where little is
        # heard; many share what is heard everywhere, and are found by their driving constants
        customs.counted[edges] += 1
        driven = customs.counted[edges] > FEW
    shapes = _shapes(edges, frozenset(question.tests), driven, customs.class_keys)
    if shapes is None:
        return None
    known = (tuple(concrete), shapes, tuple(constants), question.tests)
    return CompiledQuery(kind, question.never, *known, None, (), (), question.wants)


@lru_cache(maxsize=4096)
def _shapes(
    edges: tuple[Edge, ...], tested: frozenset[int], driven: bool, class_keys: frozenset[int]
) -> tuple[QueryShape, ...] | None:
    """The shapes of all components; None if one of them is too deep."""
    rules, shapes = Rules(driven, class_keys), []
    for component in components_of(edges, tested):
        shape = shape_of(component, rules)
        if shape is None:
            return None
        shapes.append(shape)
    return tuple(shapes)


# --- rows -------------------------------------------------------------------------------------------------------


def _listing(question: Question) -> CompiledQuery:
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
    listed = ListedPattern(len(order), renumbered, tests, filled)
    variables = tuple(question.variables[number] for number in order[:count])
    return CompiledQuery(
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
