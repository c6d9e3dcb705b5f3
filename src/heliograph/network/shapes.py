"""Components of a pattern, and each of them folded: trees into what a slot hears, the rest into a core.

A component is what variables connect. Where one of its slots hangs by a single edge from another, the slot with all
that it hears is a *branch* of the other, and so on until nothing hangs: what is left is the core, one slot if the
component is a tree. Constants stand in the shape as parameters, by number, so that a shape serves every query that
differs in constants alone.

The law: every edge of a component is in its shape exactly once, as something that is heard, as the driver or as an edge
of the core; and shapes that differ in nothing but the order and the names of slots are equal, as far as the order of
the core's slots can be told from the pattern.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from heliograph.kernels.evolution_layout import IN, OUT
from heliograph.kernels.network_layout import ANY_NODE, IS_NODE, NONE, SELF_NODE
from heliograph.network.cores import slot_order
from heliograph.network.questions import Edge

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


class Shape(NamedTuple):
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
    leaders: dict[int, int] = {}
    for edge in edges:
        _unite(leaders, [~node for node in (edge[0], edge[2]) if node < 0])
    members: dict[int, list[int]] = {}
    for variable in leaders:
        members.setdefault(_leader(leaders, variable), []).append(variable)
    gathered: dict[int, list[Edge]] = {leader: [] for leader in members}
    for edge in edges:
        ends = [~node for node in (edge[0], edge[2]) if node < 0]
        if ends:
            gathered[_leader(leaders, ends[0])].append(edge)
    return [_component(members[leader], gathered[leader], tested) for leader in members]


def _unite(leaders: dict[int, int], ends: list[int]) -> None:
    for end in ends:
        leaders.setdefault(end, end)
    if len(ends) == 2:
        leaders[_leader(leaders, ends[1])] = _leader(leaders, ends[0])


def _leader(leaders: dict[int, int], variable: int) -> int:
    while leaders[variable] != variable:
        leaders[variable] = leaders[leaders[variable]]
        variable = leaders[variable]
    return variable


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


def shape_of(component: Component, rules: Rules) -> Shape | None:
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


def _tree_shape(component: Component, peeled: Peeled, rules: Rules) -> Shape:
    """A tree hangs from the root whose code is smallest."""
    roots = _roots(component, peeled, rules)[:_MOST_ROOTS]
    shapes = [_driven((_folded(component, (root,))[root],), (), rules) for root in roots]
    return min(shapes, key=lambda shape: (shape.driver is None, shape.driver and shape.driver.key, shape.core[0].code))


def _roots(component: Component, peeled: Peeled, rules: Rules) -> Sequence[int]:
    """Where a tree may hang from: slots next to a constant if that drives, else far from all constants.

    Without a driver constants are part of the structure: what hears of them first, and hands on little, should be
    heard by all others.
    """
    named = [variable for variable in component.variables if _constants(component, variable, rules, classes=False)]
    named = named or [variable for variable in component.variables if _constants(component, variable, rules, True)]
    if not named:
        return peeled.centre
    return named if rules.driven else _farthest(component, named)


def _constants(component: Component, variable: int, rules: Rules, classes: bool) -> bool:
    return any(
        each.kind == IS_NODE and (classes or each.key not in rules.class_keys) for each in component.hears[variable]
    )


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
            hanging[towards[variable]].append(_heard(branch, edge))
    return branches


def _branch(variable: int, hears: list[Hears], tested: bool) -> Branch:
    found = tuple(sorted(hears, key=lambda each: each.code))
    return Branch(variable, found, tested, (tested, *(each.code for each in found)))


def _heard(branch: Branch, edge: Edge) -> Hears:
    """What the other end of an edge hears of a branch."""
    key = 2 * edge[1] + (IN if edge[0] == branch.variable else OUT)
    plain = not branch.hears and not branch.tested
    return Hears(key, ANY_NODE) if plain else Hears(key, NODE, NONE, branch)


def _driven(core: tuple[Branch, ...], edges: tuple[Edge, ...], rules: Rules) -> Shape:
    """The core with one of its constants, rather no class, as the driver."""
    found = [
        (each.key in rules.class_keys, slot, each.key, place)
        for slot, branch in enumerate(core)
        for place, each in enumerate(branch.hears)
        if each.kind == IS_NODE
    ]
    if not found or not rules.driven:
        return Shape(core, edges, None)
    _, slot, key, place = min(found)
    branch = core[slot]
    rest = _branch(branch.variable, [*branch.hears[:place], *branch.hears[place + 1 :]], branch.tested)
    driver = Driver(slot, key, branch.hears[place].constant)
    return Shape((*core[:slot], rest, *core[slot + 1 :]), edges, driver)


def _touching(component: Component) -> dict[int, list[Edge]]:
    touching: dict[int, list[Edge]] = {variable: [] for variable in component.variables}
    for edge in component.edges:
        touching[edge[0]].append(edge)
        touching[edge[2]].append(edge)
    return touching


def _other(edge: Edge, variable: int) -> int:
    return edge[2] if edge[0] == variable else edge[0]
