"""Every `hg:` function worked out from scratch over a graph of terms: the slow, obvious twin of the metrics, used by
the plain strategy.

A graph is a mapping from triples to weights (None where there is none). Edges are the triples whose object is no
literal and whose property is neither rdf:type nor rdfs:subClassOf; a property argument replaces that choice of
properties. A vertex that no such edge touches has the value 0, and is infinitely far from everything, itself
included; it still counts among the vertices that betweenness, averageClustering and cliques(1) are about.

What is chosen where several choices are equally good depends on nothing but the graph and the order of terms:

- a shortest path has the least weight, then the fewest edges; backwards from its end, each vertex follows the
  smallest one that such a path can come from. Weights are summed exactly, and rounded once;
- a Steiner tree joins the terminals' pairs by (distance, edges, smaller terminal, larger terminal), a pair only if
  nothing joins it yet; each pair becomes the shortest path from its smaller terminal to its larger one. Where such
  paths make a ring, their edges are joined again by (weight, smaller end, larger end), and what then hangs loose is
  cut off;
- between two vertices the edge of least weight is shown, of several that of the smallest property, then subject.

`dense` takes the best of C(k) and x together, where C(k) is the k-core. Why that is at least half of the optimum is
described in `watch.metrics.dense`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import combinations, count
from math import inf
from typing import Any, NamedTuple

from heliograph.sparql.query import Metric, Query
from heliograph.sparql.solve import Graph, QueryPlan, world
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Term, TermKind, Variable, sort_key
from heliograph.watch.changes import Match, MatchDelta, Solution
from heliograph.watch.metrics.calls import (
    Key,
    asked_metrics,
    metric_filters,
    metric_term,
    shown_more,
    shown_value,
    spelled_edge,
)

Triple = tuple[Term, Term, Term]
Weighted = Mapping[Triple, float | None]
Argument = Term | Metric  # a Metric is hg:via(…)
Order = Callable[[Term], Any]
Links = dict[Term, dict[Term, float]]  # from each vertex to its neighbours, by the least weight
Cost = tuple[Fraction, int]  # the weight of a path, and its edges
Reach = dict[Term, Cost]  # that of the best path to each vertex that one leads to
Pair = tuple[Term, Term]

DENSE_FACTOR = 2.0
_PARTS = 1e12  # betweenness is told in this many parts: what lies beyond depends on the order of summing
_CLASS_PROPERTIES = frozenset({RDF_TYPE, RDFS_SUBCLASS_OF})


class NaiveWorld(NamedTuple):
    """What a function is asked about."""

    arguments: Sequence[Argument]
    graph: Weighted
    selected: Collection[Term]
    order: Order

    def edges(self, properties: Collection[Term] = ()) -> Iterator[Triple]:
        """The triples that are edges for those who ask for these properties, or for none in particular."""
        for triple in self.graph:
            if not triple[2].is_literal and (
                triple[1] in properties if properties else triple[1] not in _CLASS_PROPERTIES
            ):
                yield triple

    @property
    def terms(self) -> list[Term]:
        return [argument for argument in self.arguments if isinstance(argument, Term)]


def naive_value(
    name: str,
    arguments: Sequence[Argument],
    graph: Weighted,
    selected: Collection[Term] = (),
    order: Order = sort_key,
) -> float:
    """The value of `hg:name(arguments)`, all of them bound; `selected` are the vertices of hg:density()."""
    return float(_FUNCTIONS[name](NaiveWorld(arguments, graph, selected, order)))


def naive_evidence(
    name: str, arguments: Sequence[Argument], graph: Weighted, order: Order = sort_key
) -> dict[str, list[Any]]:
    """What is shown beside a value: the edges of a shortest path or of a Steiner tree, or an interval."""
    world = NaiveWorld(arguments, graph, (), order)
    if name == "distance":
        return {"edges": _path_edges(world)}
    if name in ("steiner", "steinerPoint"):
        return {"edges": _tree_edges(world, world.terms[name == "steinerPoint" :])}
    if name == "dense":
        value = float(_dense(world))
        return {"interval": [value, DENSE_FACTOR * value]}
    return {}


# --- projections ------------------------------------------------------------------------------------------------


def _vertices(graph: Weighted) -> set[Term]:
    """Whatever a triple touches, attributes and classes included."""
    return {term for s, _, o in graph for term in (s, o) if not term.is_literal}


def _links(
    world: NaiveWorld, properties: Collection[Term] = (), *, weighted: bool = False, both: bool = False
) -> Links:
    """Neighbours along edges, or in both directions."""
    links: Links = {}
    for triple in world.edges(properties):
        weight = world.graph[triple] if weighted else None
        weight = 1.0 if weight is None else weight
        ends = (triple[0], triple[2])
        for one, other in (ends, ends[::-1]) if both else (ends,):
            near = links.setdefault(one, {})
            near[other] = min(weight, near.get(other, inf))
            links.setdefault(other, {})
    return links


def _simple(world: NaiveWorld) -> dict[Term, set[Term]]:
    """The undirected simple projection; a vertex with nothing but a loop is there without neighbours."""
    return {vertex: set(near) - {vertex} for vertex, near in _links(world, both=True).items()}


# --- degrees, triangles, cliques --------------------------------------------------------------------------------


def _ends(world: NaiveWorld) -> tuple[int, int]:
    """How many edges leave a vertex, and how many reach it."""
    vertex, *properties = world.terms
    edges = list(world.edges(properties))
    return sum(s == vertex for s, _, _ in edges), sum(o == vertex for _, _, o in edges)


def _triangles(near: Mapping[Term, set[Term]], vertex: Term) -> int:
    return sum(two in near[one] for one, two in combinations(near.get(vertex, ()), 2))


def _coefficient(near: Mapping[Term, set[Term]], vertex: Term) -> float:
    degree = len(near.get(vertex, ()))
    return _triangles(near, vertex) / (degree * (degree - 1) / 2) if degree > 1 else 0.0


def _transitivity(world: NaiveWorld) -> float:
    near = _simple(world)
    triads = sum(len(some) * (len(some) - 1) // 2 for some in near.values())
    return sum(_triangles(near, vertex) for vertex in near) / triads if triads else 0.0


def _average_clustering(world: NaiveWorld) -> float:
    near, vertices = _simple(world), _vertices(world.graph)
    return sum(_coefficient(near, vertex) for vertex in near) / len(vertices) if vertices else 0.0


def _cliques(world: NaiveWorld) -> int:
    size = int(world.terms[0].value)
    if size == 1:
        return len(_vertices(world.graph))
    near = _simple(world)
    place = {vertex: number for number, vertex in enumerate(near)}
    later = {vertex: {other for other in some if place[other] > place[vertex]} for vertex, some in near.items()}
    return _extended(later, set(near), size)


def _extended(later: Mapping[Term, set[Term]], candidates: set[Term], size: int) -> int:
    """How many cliques of a size the candidates hold, each counted from its first vertex on."""
    if size == 1:
        return len(candidates)
    return sum(_extended(later, candidates & later[vertex], size - 1) for vertex in candidates)


# --- betweenness ------------------------------------------------------------------------------------------------


def _betweenness(world: NaiveWorld) -> float:
    """Brandes: from each source the vertices by distance, then what each passes back to those before it."""
    vertex, links = world.terms[0], _links(world)
    total = sum(_dependencies(links, source).get(vertex, 0.0) for source in links if source != vertex)
    n = len(_vertices(world.graph))
    return round(total / ((n - 1) * (n - 2)) * _PARTS) / _PARTS if n > 2 else 0.0


def _dependencies(links: Links, source: Term) -> dict[Term, float]:
    """For each vertex the share of shortest paths from a source that it lies on, summed over where they lead."""
    hops, paths, before = {source: 0}, {source: 1}, dict[Term, list[Term]]()
    reached = [source]
    for one in reached:
        for other in links[one]:
            if other not in hops:
                hops[other], paths[other], before[other] = hops[one] + 1, 0, []
                reached.append(other)
            if hops[other] == hops[one] + 1:
                paths[other] += paths[one]
                before[other].append(one)
    passed = dict.fromkeys(reached, 0.0)
    for other in reversed(reached[1:]):
        for one in before[other]:
            passed[one] += paths[one] / paths[other] * (1 + passed[other])
    return passed


# --- density ----------------------------------------------------------------------------------------------------


def _density(world: NaiveWorld) -> float:
    """Of a vertex's surroundings, or without arguments of what is selected."""
    held = _ball(_simple(world), world.terms[0], int(world.terms[1].value)) if world.arguments else set(world.selected)
    directed = {(s, o) for s, _, o in world.edges() if s != o and s in held and o in held}
    return len(directed) / (len(held) * (len(held) - 1)) if len(held) > 1 else 0.0


def _ball(near: Mapping[Term, set[Term]], centre: Term, hops: int) -> set[Term]:
    held, edge = {centre}, {centre}
    while edge and hops:
        edge = {other for vertex in edge for other in near.get(vertex, ())} - held
        held, hops = held | edge, hops - 1
    return held


def _dense(world: NaiveWorld) -> float:
    """The density of the best of C(k) and x together."""
    near, vertex = _simple(world), world.terms[0]
    if not near.get(vertex):
        return 0.0
    cores = _core_numbers(near)
    held = [{vertex} | {other for other, number in cores.items() if number >= k} for k in set(cores.values())]
    return max(sum(len(near[one] & some) for one in some) / 2 / len(some) for some in held)


def _core_numbers(near: Mapping[Term, set[Term]]) -> dict[Term, int]:
    """Peeling: whoever has the fewest neighbours left goes; the largest number of those so far is its core number."""
    left = {vertex: set(some) for vertex, some in near.items() if some}
    cores: dict[Term, int] = {}
    level = 0
    while left:
        vertex = min(left, key=lambda one: len(left[one]))
        level = max(level, len(left[vertex]))
        cores[vertex] = level
        for other in left.pop(vertex):
            left[other].remove(vertex)
    return cores


# --- distances --------------------------------------------------------------------------------------------------


def _reach(links: Links, source: Term) -> Reach:
    """Dijkstra by (weight, edges)."""
    reach: Reach = {}
    numbers = count()  # vertices themselves are never compared
    waiting = [((Fraction(0), 0), next(numbers), source)] if source in links else []
    while waiting:
        cost, _, one = heappop(waiting)
        if one not in reach:
            reach[one] = cost
            for other, weight in links[one].items():
                heappush(waiting, (_onward(cost, weight), next(numbers), other))
    return reach


def _onward(cost: Cost, weight: float) -> Cost:
    """What a path costs with another edge."""
    return cost[0] + Fraction(weight), cost[1] + 1


def _finite(total: Fraction) -> float:
    """A sum of weights as a number; what is beyond all numbers is infinite."""
    try:
        return float(total)
    except OverflowError:
        return inf


def _distance_links(world: NaiveWorld) -> Links:
    options = world.terms[2:]
    words = {option.value for option in options if option.is_literal}
    properties = [option for option in options if not option.is_literal]
    return _links(world, properties, weighted="weight" in words, both="undirected" in words)


def _distance(world: NaiveWorld) -> float:
    start, end = world.terms[:2]
    reach = _reach(_distance_links(world), start)
    return _finite(reach[end][0]) if end in reach else inf


def _path(links: Links, start: Term, end: Term, order: Order) -> list[Pair]:
    """The pairs of vertices along the chosen shortest path; the way there is one."""
    reach, pairs = _reach(links, start), list[Pair]()
    while end != start:
        sources = [
            one
            for one, near in links.items()
            if one in reach and end in near and _onward(reach[one], near[end]) == reach[end]
        ]
        pairs.append((min(sources, key=order), end))
        end = pairs[-1][0]
    return pairs[::-1]


def _path_edges(world: NaiveWorld) -> list[Triple]:
    start, end = world.terms[:2]
    links, options = _distance_links(world), world.terms[2:]
    if end not in _reach(links, start):
        return []
    words = {option.value for option in options if option.is_literal}
    edges = list(world.edges([option for option in options if not option.is_literal]))
    pairs = _path(links, start, end, world.order)
    return [_shown(world, edges, pair, weighted="weight" in words, both="undirected" in words) for pair in pairs]


def _shown(world: NaiveWorld, edges: Iterable[Triple], pair: Pair, *, weighted: bool, both: bool) -> Triple:
    """The edge that is shown between two vertices."""

    def key(edge: Triple) -> tuple[float, Any, Any]:
        weight = world.graph[edge] if weighted else None
        return 1.0 if weight is None else weight, world.order(edge[1]), world.order(edge[0])

    ends = (pair, pair[::-1]) if both else (pair,)
    return min((edge for edge in edges if (edge[0], edge[2]) in ends), key=key)


# --- Steiner trees ----------------------------------------------------------------------------------------------


def _via(world: NaiveWorld) -> list[Term]:
    arguments = [argument for via in world.arguments if isinstance(via, Metric) for argument in via.arguments]
    return [argument for argument in arguments if isinstance(argument, Term)]


def _steiner(world: NaiveWorld) -> float:
    links = _links(world, _via(world), weighted=True, both=True)
    pairs = _joined_terminals(links, world.terms, world.order)
    return inf if pairs is None else _finite(sum((weight for (weight, _), _ in pairs), Fraction()))


def _joined_terminals(links: Links, terminals: Iterable[Term], order: Order) -> list[tuple[Cost, Pair]] | None:
    """The pairs of terminals that a minimum spanning tree joins; None if some are apart."""
    several = sorted(set(terminals), key=order)
    reaches = {one: _reach(links, one) for one in several}
    if any(other not in reaches[one] for one in several for other in several):
        return None
    pairs = {(one, other): reaches[one][other] for one, other in combinations(several, 2)}
    return [(pairs[pair], pair) for pair in _spanning(pairs, order)]


def _spanning(weights: Mapping[Pair, Any], order: Order) -> list[Pair]:
    """Kruskal, by (weight, smaller end, larger end), where a weight may be a cost; pairs begin with the smaller end."""
    part: dict[Term, set[Term]] = {end: {end} for pair in weights for end in pair}
    chosen = []
    for one, other in sorted(weights, key=lambda pair: (weights[pair], order(pair[0]), order(pair[1]))):
        if part[one] is not part[other]:
            chosen.append((one, other))
            part[one] |= part[other]
            part.update(dict.fromkeys(part[other], part[one]))
    return chosen


def _tree(world: NaiveWorld, terminals: Collection[Term]) -> list[Pair]:
    """The pairs of vertices that the evidence tree joins; none if terminals are apart."""
    links = _links(world, _via(world), weighted=True, both=True)
    joined = _joined_terminals(links, terminals, world.order) or []
    steps = {step for _, (one, other) in joined for step in _path(links, one, other, world.order)}
    weights: dict[Pair, float] = {}
    for one, other in steps:
        weights[(one, other) if world.order(one) < world.order(other) else (other, one)] = links[one][other]
    return _pruned(_spanning(weights, world.order), terminals)


def _pruned(pairs: list[Pair], terminals: Collection[Term]) -> list[Pair]:
    """Without ends that are no terminals."""
    while True:
        ends = [end for pair in pairs for end in pair]
        loose = {end for end in ends if ends.count(end) == 1 and end not in terminals}
        if not loose:
            return pairs
        pairs = [pair for pair in pairs if loose.isdisjoint(pair)]


def _tree_edges(world: NaiveWorld, terminals: Collection[Term]) -> list[Triple]:
    edges = list(world.edges(_via(world)))
    pairs = sorted(_tree(world, terminals), key=lambda pair: (world.order(pair[0]), world.order(pair[1])))
    return [_shown(world, edges, pair, weighted=True, both=True) for pair in pairs]


def _steiner_point(world: NaiveWorld) -> bool:
    vertex, *terminals = world.terms
    return vertex not in terminals and any(vertex in pair for pair in _tree(world, terminals))


_FUNCTIONS: dict[str, Callable[[NaiveWorld], float]] = {
    "degree": lambda world: sum(_ends(world)),
    "outdegree": lambda world: _ends(world)[0],
    "indegree": lambda world: _ends(world)[1],
    "clustering": lambda world: _coefficient(_simple(world), world.terms[0]),
    "transitivity": _transitivity,
    "averageClustering": _average_clustering,
    "distance": _distance,
    "cliques": _cliques,
    "betweenness": _betweenness,
    "density": _density,
    "dense": _dense,
    "steiner": _steiner,
    "steinerPoint": _steiner_point,
}


# --- for the plain strategy: each value worked out at most once while the graph stays --------------------------------

Called = tuple[str, tuple[Term | Metric, ...]]


class Plainly:
    """The `hg:` functions over a graph, which is read when one of them is asked."""

    def __init__(self, read: Callable[[], Weighted], taxonomy: Taxonomy | None) -> None:
        self._read, self._taxonomy = read, taxonomy
        self.forget()

    def forget(self) -> None:
        """The graph has changed."""
        self._known: Weighted | None = None
        self._vertices: set[Term] | None = None
        self._values: dict[tuple[Called, Collection[Term]], float] = {}

    @property
    def _graph(self) -> Weighted:
        if self._known is None:
            self._known = self._read()
        return self._known

    @property
    def vertices(self) -> set[Term]:
        """Whoever an edge touches, or an attribute is set on."""
        if self._vertices is None:
            objects = {o for _, _, o in self._graph if o.kind is not TermKind.LITERAL}
            self._vertices = {s for s, _, _ in self._graph} | objects
        return self._vertices

    def selected(self, query: Query) -> frozenset[Term]:
        """The vertices that solutions of a query bind, whatever it asks of metrics; for `hg:density()`."""
        if not any(metric.name == "density" and not metric.arguments for metric in query.metrics):
            return frozenset()
        _, others = metric_filters(query.filters)
        bare = Query(patterns=query.patterns, filters=tuple(others), values=query.values)
        found = QueryPlan.of(bare).solutions(world(Graph(self._graph), self._taxonomy))
        return frozenset(term for each in found for term in each.values() if term in self.vertices)

    def value(self, metric: Metric, bindings: Solution, selected: frozenset[Term]) -> float | None:
        """The value of a function; None where an argument is unbound."""
        called = _called(metric, bindings)
        if called is None:
            return None
        if (called, selected) not in self._values:
            self._values[called, selected] = naive_value(*called, self._graph, selected)
        return self._values[called, selected]

    def term(self, metric: Metric, bindings: Solution, selected: frozenset[Term]) -> Term | None:
        value = self.value(metric, bindings, selected)
        return None if value is None else metric_term(Key(metric.name), value)

    # --- beside matches -----------------------------------------------------------------------------------------

    def valued(self, query: Query, delta: MatchDelta, witness: bool) -> MatchDelta:
        """What a delta tells, with what the metrics of its query say now."""
        selected = self.selected(query)
        lost, gained = (tuple(self._valued(query, each, selected, witness) for each in some) for some in delta)
        return MatchDelta(lost, gained)

    def _valued(self, query: Query, match: Match, selected: frozenset[Term], witness: bool) -> Match:
        metrics = asked_metrics(query)
        known = match.witness if match.witness is not None else {} if not query.variables else None
        if match.value is not None or known is None:
            return match
        values = [self.value(metric, known, selected) for metric in metrics]
        shown = [None if value is None else shown_value(value) for value in values]
        more = shown_more(
            [self.shown(each, known) if witness or Key(each.name).has_interval else {} for each in metrics]
        )
        return match._replace(value=shown[0] if len(shown) == 1 else shown, more=more or None)

    def shown(self, metric: Metric, bindings: Solution) -> Mapping[str, Any]:
        """What a function shows beside its value, edges as texts."""
        called = _called(metric, bindings)
        shown = {} if called is None else naive_evidence(*called, self._graph)
        return {name: [*map(spelled_edge, what)] if name == "edges" else what for name, what in shown.items()}


def _called(metric: Metric, bindings: Solution) -> Called | None:
    arguments = tuple(bindings.get(each) if isinstance(each, Variable) else each for each in metric.arguments)
    if any(each is None for each in arguments):
        return None
    return metric.name, arguments  # type: ignore[return-value]


# --- how long plain answers will take --------------------------------------------------------------------------------
#
# Worked out from scratch, a metric reads the edges at least once for each choice of its vertices, betweenness once more
# for each vertex. So one update may take hours where a graph has grown before anybody looked at a clock: a choice
# between strategies asks first. It is a forecast, 0.4 to 13 times what was measured where there are three edges a
# vertex; answers do not depend on it.

# ns for each edge and vertex that one value reads, from graphs of 90 to 600 edges; transitivity and averageClustering,
# which were not measured, are taken to be like cliques.
_READ_NS = {
    **dict.fromkeys(("degree", "indegree", "outdegree", "betweenness"), 300),
    **dict.fromkeys(("clustering", "density"), 1_500),
    **dict.fromkeys(("transitivity", "averageClustering", "cliques", "dense", "distance"), 5_000),
}
_TERMINAL_NS = 12_000  # of Steiner trees, for each argument


class Effort:
    """The metrics that are asked, each once for whoever asks it, as terms of a polynomial of the number of edges."""

    def __init__(self) -> None:
        self._askers: Counter[Metric] = Counter()
        self._terms: Counter[int] = Counter()  # ns, by the power of the number of edges

    def add(self, query: Query) -> None:
        for metric in asked_metrics(query):
            self._askers[metric] += 1
            if self._askers[metric] == 1:
                self._terms[_power(metric)] += _reading_ns(metric)

    def remove(self, query: Query) -> None:
        for metric in asked_metrics(query):
            self._askers[metric] -= 1
            if not self._askers[metric]:
                del self._askers[metric]
                self._terms[_power(metric)] -= _reading_ns(metric)

    @property
    def asked(self) -> bool:
        """Whether there are any."""
        return bool(self._askers)

    def foreseen_ns(self, edges: int) -> int:
        """About how long one update takes. There are taken to be as many vertices as edges."""
        return sum(2 * ns * edges**power for power, ns in self._terms.items())


def _power(metric: Metric) -> int:
    chosen = {argument for argument in metric.arguments if isinstance(argument, Variable)}
    return 1 + len(chosen) + (metric.name == "betweenness")


def _reading_ns(metric: Metric) -> int:
    return _READ_NS.get(metric.name, _TERMINAL_NS * len(metric.arguments))
