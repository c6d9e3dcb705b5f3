"""All measures over one graph: each is kept once for every query that asks it, and follows the journal of the graph.

Metrics see triples whose object is no literal and whose property is neither rdf:type nor rdfs:subClassOf; where
properties are named, those in place of that choice. A vertex exists while an edge touches it or an attribute is set on
it. The law: a measure that nobody asks any more is gone, and one that comes over a graph stands as if it had been there
from the first edge. Does not import Numba before a measure is made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from heliograph.errors import StorageError
from heliograph.sparql.query import Metric, Query
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Term, TermKind, Variable, sort_key
from heliograph.vocabulary import Vocabulary
from heliograph.watch.changes import Solution
from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import (
    J_CHANGE,
    J_OBJECT,
    J_PHASE,
    J_PREDICATE,
    J_SUBJECT,
    J_UPDATE,
    OBJECT,
    PREDICATE,
    SUBJECT,
    Floats,
    Int8s,
    Int32s,
    Int64s,
)
from heliograph.watch.metrics.calls import DEGREES, Key, MetricCall, call_of, metric_term, spelled_edge
from heliograph.watch.metrics.thresholds import (
    CAME,
    CHANGED,
    Attention,
    CountingMeasure,
    Listeners,
    Log,
    Measure,
    Order,
)
from heliograph.watch.updates import NO_TERM, Flags

# --- which measure answers which function ----------------------------------------------------------------------------


def make_measure(key: Key, order: Order) -> Measure:
    """The measure of a key, over an empty graph. Of paths and trees that are equally good, that is shown whose terms
    come first in an `order` of their ids."""
    name: Any = key.name
    if name in DEGREES:
        from heliograph.watch.metrics.degree import Degree

        return Degree(name)
    if name in ("clustering", "transitivity", "averageClustering"):
        from heliograph.watch.metrics.clustering import Clustering, GlobalClustering

        return Clustering() if name == "clustering" else GlobalClustering(name)
    if name == "cliques":
        from heliograph.watch.metrics.cliques import Cliques

        return Cliques(int(key.options[0]))
    if name == "density":
        from heliograph.watch.metrics.density import NeighbourhoodDensity, SelectionDensity

        return NeighbourhoodDensity(int(key.options[0])) if key.options else SelectionDensity()
    if name == "dense":
        from heliograph.watch.metrics.dense import Dense

        return Dense()
    if name == "betweenness":
        from heliograph.watch.metrics.betweenness import Betweenness

        return Betweenness(order=order)
    if name == "distance":
        from heliograph.watch.metrics.distance import Distance

        return Distance(undirected="undirected" in key.options, weighted="weight" in key.options, order=order)
    from heliograph.watch.metrics.distance import Steiner, SteinerPoint

    return Steiner(order) if name == "steiner" else SteinerPoint(order)


# --- which vertices there are ----------------------------------------------------------------------------------------

_FEW = 8  # ends that are sooner counted one by one: 7 to 11 µs instead of 60


class VertexChanges(NamedTuple):
    """Ends of edges, or vertices, that came or went, in order of step."""

    step: Int64s
    vertex: Int32s
    came: Flags


class Vertices:
    """How many ends of edges each vertex has."""

    def __init__(self) -> None:
        self._ends: Int64s = np.zeros(0, np.int64)
        self.count = 0

    def __contains__(self, vertex: int) -> bool:
        return vertex < len(self._ends) and bool(self._ends[vertex])

    @property
    def all(self) -> Int32s:
        """Every vertex, by id."""
        return np.flatnonzero(self._ends).astype(np.int32)

    def follow(self, ends: VertexChanges) -> VertexChanges:
        """Takes ends over; which vertices are there at the end of a step and were not before, or the other way
        round."""
        if not len(ends.vertex):
            return ends
        if (lacking := int(ends.vertex.max()) + 1 - len(self._ends)) > 0:
            self._ends = np.append(self._ends, np.zeros(max(lacking, len(self._ends)), np.int64))
        if len(ends.vertex) <= _FEW:
            return self._follow_few(ends)
        order = np.lexsort((ends.step, ends.vertex))
        vertex, step = ends.vertex[order], ends.step[order]
        delta = np.where(ends.came[order], 1, -1)
        after = np.cumsum(delta)
        firsts = np.flatnonzero(np.diff(vertex, prepend=-1))
        sizes = np.diff(np.append(firsts, len(vertex)))
        base = self._ends[vertex[firsts]] - np.where(firsts, after[firsts - 1], 0)
        after += np.repeat(base, sizes)
        lasts = np.append((vertex[1:] != vertex[:-1]) | (step[1:] != step[:-1]), True)  # of a vertex in a step
        seen, counts = vertex[lasts], after[lasts]
        begins = np.diff(seen, prepend=-1) != 0
        before = np.where(begins, self._ends[seen], np.append(0, counts[:-1]))
        turned = (before > 0) != (counts > 0)
        self._ends[seen] = counts  # in order, so the last one counts
        self.count += int((counts > 0)[turned].sum() - (before > 0)[turned].sum())
        steps, vertices, there = step[lasts][turned], seen[turned], (counts > 0)[turned]
        by_step = np.argsort(steps, kind="stable")
        return VertexChanges(steps[by_step], vertices[by_step], there[by_step])

    def _follow_few(self, ends: VertexChanges) -> VertexChanges:
        """The same, one after the other."""
        turned: list[tuple[int, int, bool]] = []
        rows = zip(ends.step.tolist(), ends.vertex.tolist(), ends.came.tolist(), strict=True)
        for step, some in groupby(rows, key=itemgetter(0)):
            known: dict[int, bool] = {}
            for _, vertex, came in some:
                known.setdefault(vertex, vertex in self)
                self._ends[vertex] += 1 if came else -1
            turned += [(step, vertex, not was) for vertex, was in sorted(known.items()) if was != (vertex in self)]
        self.count += sum(1 if came else -1 for _, _, came in turned)
        steps, vertices, there = zip(*turned, strict=True) if turned else ((), (), ())
        return VertexChanges(np.array(steps, np.int64), np.array(vertices, np.int32), np.array(there, np.bool_))


# --- the meter -------------------------------------------------------------------------------------------------------

Make: TypeAlias = Callable[[Key, Order], Measure]
Measures: TypeAlias = Mapping[Key, Mapping[str, Any]]  # what each has `saved`
Asker: TypeAlias = "tuple[Any, int]"  # a query, and which of its calls


class Page(NamedTuple):
    """A part of the journal: changes of edges, by step (twice the update, and its phase)."""

    step: Int64s
    change: Int8s
    triples: Int32s  # rows
    weight: Floats
    literal: Flags  # whether the object is one

    def take(self, rows: slice) -> Page:
        return Page(self.step[rows], self.change[rows], self.triples[rows], self.weight[rows], self.literal[rows])

    def ends(self) -> VertexChanges:
        """The ends of edges that changed; an attribute has one, and a new weight changes none."""
        kept = self.change != CHANGED
        step, change, triples, objects = self.step[kept], self.change[kept], self.triples[kept], ~self.literal[kept]
        steps = np.concatenate((step, step[objects]))
        vertices = np.concatenate((triples[:, 0], triples[objects, 2]))
        came = np.concatenate((change, change[objects])) == CAME
        order = np.argsort(steps, kind="stable")
        return VertexChanges(steps[order], vertices[order], came[order])


class ValueChange(NamedTuple):
    """A value of an instance that passed a threshold at the end of a step."""

    step: int
    key: Key
    instance: int
    value: float


class ValueChanges(NamedTuple):
    """What one measure reported, in order of steps."""

    key: Key
    step: Int64s
    instance: Int32s
    value: Floats

    def one_by_one(self) -> Iterator[ValueChange]:
        columns = (self.step.tolist(), self.instance.tolist(), self.value.tolist())
        return (ValueChange(step, self.key, instance, value) for step, instance, value in zip(*columns, strict=True))


@dataclass(slots=True)
class Kept:
    """A measure, what it last reported of its instances, and which queries listen."""

    measure: Measure
    askers: int = 0
    values: dict[int, float] = field(default_factory=dict)
    at: dict[int, Listeners[Asker]] = field(default_factory=dict)
    everywhere: Listeners[Asker] = field(default_factory=Listeners)


class Meter:
    """The measures of one graph."""

    def __init__(self, graph: FlatGraph, vocabulary: Vocabulary, make: Make, saved: Measures | None = None) -> None:
        self._graph, self._vocabulary, self._make = graph, vocabulary, make
        self._hidden = np.array([vocabulary.intern(each) for each in (RDF_TYPE, RDFS_SUBCLASS_OF)], np.int32)
        self._literal: Flags = np.zeros(0, np.bool_)
        self._saved = dict(saved or {})  # for measures that were there, until somebody asks them again
        self.kept: dict[Key, Kept] = {}
        self.broken: dict[Key, Exception] = {}  # measures that failed, and report no more
        self.attentive: dict[Any, None] = {}  # queries that look at every step, whatever measures report
        self.vertices: Vertices | None = None
        self._rangers = 0

    @property
    def is_wanted(self) -> bool:
        return bool(self.kept or self._rangers)

    # --- which queries ask --------------------------------------------------------------------------------------

    def ask(self, key: Key) -> None:
        """Somebody asks a measure; it begins with the graph as it is."""
        if key not in self.kept:
            page = self._all()
            measure = self._make(key, self._order)
            saved = self._saved.pop(key, {})
            try:
                measure.restore(self._log(key.properties, page), saved)
            except Exception as error:
                if saved:  # then it is the save's fault, and no subscription's
                    raise StorageError("HG-810", f"what {key.name} kept cannot be read: {error}") from error
                raise
            if key.counts_vertices:
                existing = np.full(1, self.range().count, np.int64)
                cast(CountingMeasure, measure).follow(self._log((), page.take(slice(0, 0))), existing)
            self.kept[key] = Kept(measure)
        self.kept[key].askers += 1

    def saved(self) -> Measures:
        """What measures keep that cannot be worked out again from the edges, of those that keep any."""
        known = {key: kept.measure.saved() for key, kept in self.kept.items() if key not in self.broken}
        return self._saved | {key: arrays for key, arrays in known.items() if arrays}

    def leave(self, key: Key) -> None:
        kept = self.kept[key]
        kept.askers -= 1
        if not kept.askers:
            del self.kept[key]
            if key.counts_vertices:
                self.cease()

    def range(self) -> Vertices:
        """Somebody looks at all vertices."""
        self._rangers += 1
        if self.vertices is None:
            self.vertices = Vertices()
            self.vertices.follow(self._all().ends())
        return self.vertices

    def cease(self) -> None:
        """Somebody that did no longer does."""
        self._rangers -= 1
        if not self._rangers:
            self.vertices = None

    def every_vertex(self) -> list[int]:
        """All vertices there are, found anew if nobody follows which come and go."""
        known = self.range()
        self.cease()
        vertices: list[int] = known.all.tolist()
        return vertices

    @property
    def is_asked_everywhere(self) -> bool:
        """Whether somebody asks for every vertex there is."""
        return self.vertices is not None or any(kept.everywhere for kept in self.kept.values())

    def listen(self, asker: Asker, key: Key, vertices: tuple[int, ...], attention: Attention) -> int:
        """A query wants to hear of an instance; its number."""
        kept = self.kept[key]
        instance = kept.measure.watch(vertices, attention.heard)
        kept.at.setdefault(instance, Listeners()).add(asker, attention.heeded)
        kept.values[instance] = kept.measure.value(instance)
        return instance

    def ignore(self, asker: Asker, key: Key, instance: int, attention: Attention) -> None:
        kept = self.kept[key]
        kept.measure.unwatch(instance, attention.heard)
        kept.at[instance].remove(asker, attention.heeded)
        if not kept.at[instance]:
            del kept.at[instance]
            if not kept.everywhere:
                del kept.values[instance]

    def listen_everywhere(self, asker: Asker, key: Key, attention: Attention) -> None:
        self.kept[key].measure.watch_all(attention.heard)
        self.kept[key].everywhere.add(asker, attention.heeded)

    def ignore_everywhere(self, asker: Asker, key: Key, attention: Attention) -> None:
        kept = self.kept[key]
        kept.measure.unwatch_all(attention.heard)
        kept.everywhere.remove(asker, attention.heeded)

    def vertices_in(self, rows: Iterable[tuple[int, ...]]) -> list[int]:
        """The vertices that solutions bind, each as often as they do; no literals."""
        ids = np.array([id for row in rows for id in set(row) if id != NO_TERM], np.int32)
        vertices: list[int] = ids[~self._literals(ids)].tolist()
        return vertices

    def is_vertex(self, term: int) -> bool:
        """Whether a term is a vertex now; somebody looks at all of them."""
        return self.vertices is not None and term in self.vertices

    def select(self, key: Key, instance: int, added: Sequence[int], removed: Sequence[int]) -> tuple[float, float]:
        """Solutions bind vertices and no longer bind others; the value before and after."""
        kept = self.kept[key]
        before = kept.values[instance]
        kept.measure.select(instance, added, removed)  # type: ignore[attr-defined]
        return before, self.refresh(key, instance)

    # --- values -------------------------------------------------------------------------------------------------

    def refresh(self, key: Key, instance: int) -> float:
        """The value as it is now, which is remembered."""
        kept = self.kept[key]
        value = kept.values[instance] = kept.measure.value(instance)
        return value

    def value(self, key: Key, instance: int) -> float:
        """The value that was last reported."""
        known = self.kept[key].values.get(instance)
        return self.refresh(key, instance) if known is None else known

    def look_up(self, key: Key, vertices: tuple[int, ...]) -> float:
        """The value for some vertices, whether anybody watches them or not."""
        measure = self.kept[key].measure
        if key.is_of_one_vertex:
            return measure.value(vertices[0])
        instance = measure.watch(vertices, ())
        value = measure.value(instance)
        measure.unwatch(instance, ())
        return value

    def evidence(self, key: Key, vertices: tuple[int, ...], value: float) -> Mapping[str, Any]:
        """What is shown beside a value for some vertices, whether anybody watches them or not."""
        measure = self.kept[key].measure
        if key.is_of_one_vertex:
            return measure.evidence(vertices[0], value)
        if not vertices:
            return {}
        instance = measure.watch(vertices, ())
        shown = measure.evidence(instance, value)
        measure.unwatch(instance, ())
        return shown

    def take(self, change: ValueChange) -> Iterator[Asker]:
        """Takes a value over; the queries that must check again."""
        kept = self.kept[change.key]
        before = kept.values.get(change.instance)
        kept.values[change.instance] = change.value
        if change.instance in kept.at:
            yield from kept.at[change.instance].between(before, change.value)
        yield from kept.everywhere.between(before, change.value)

    def only_everywhere(self, key: Key) -> Sequence[Asker]:
        """Those that listen to a measure at every vertex; none where one listens otherwise."""
        return () if self.kept[key].at else tuple(self.kept[key].everywhere)

    def take_all(self, changes: ValueChanges) -> None:
        """Takes values over."""
        self.kept[changes.key].values.update(zip(changes.instance.tolist(), changes.value.tolist(), strict=True))

    # --- the journal --------------------------------------------------------------------------------------------

    def page(self, rows: Int32s, weights: Floats) -> Page:
        """The journal of a run."""
        step = 2 * rows[:, J_UPDATE].astype(np.int64) + rows[:, J_PHASE]
        triples = rows[:, [J_SUBJECT, J_PREDICATE, J_OBJECT]]
        return Page(step, rows[:, J_CHANGE].astype(np.uint8), triples, weights, self._literals(triples[:, 2]))

    def follow(self, page: Page) -> tuple[list[ValueChanges], VertexChanges | None]:
        """Lets all measures take changes over: what they report, and which vertices came and went, if anybody looks at
        them."""
        steps, places = _numbered(page.step)
        before = 0 if self.vertices is None else self.vertices.count
        turnout = None if self.vertices is None else self.vertices.follow(page.ends())
        numbered = page._replace(step=places)
        found = []
        logs = {properties: self._log(properties, numbered) for properties in {key.properties for key in self.kept}}
        for key, kept in self.kept.items():
            if key in self.broken:
                continue
            log = logs[key.properties]
            try:
                if key.counts_vertices and turnout is not None:
                    reported = cast(CountingMeasure, kept.measure).follow(log, _existing(steps, before, turnout))
                else:
                    reported = kept.measure.follow(log)
            except Exception as error:
                self.broken[key] = error
                continue
            if len(reported.step):
                found.append(ValueChanges(key, steps[reported.step], reported.instance, reported.value))
        return found, turnout

    def _log(self, properties: tuple[int, ...], page: Page) -> Log:
        """What metrics see of these properties, or of those that they see if none are named."""
        subject, predicate, object = page.triples.T
        if properties:
            seen = ~page.literal & np.isin(predicate, np.array(properties, np.int32))
        else:
            seen = ~page.literal & (predicate != self._hidden[0]) & (predicate != self._hidden[1])
        columns = (page.step.astype(np.int32), page.change, subject, predicate, object, page.weight)
        return Log(*(np.ascontiguousarray(column[seen]) for column in columns))

    def _all(self) -> Page:
        """The graph as it is, as edges that all came in one step."""
        numbers = self._graph.edge_numbers()
        edges = self._graph.arrays.edges[numbers]
        triples = edges[:, [SUBJECT, PREDICATE, OBJECT]]
        triples_kept = ~self._graph.is_virtual(triples[:, 1])
        numbers, triples = numbers[triples_kept], triples[triples_kept]
        weights = self._graph.arrays.weights
        weight = weights[numbers] if len(weights) else np.full(len(numbers), np.nan)
        change = np.full(len(numbers), CAME, np.uint8)
        return Page(np.zeros(len(numbers), np.int64), change, triples, weight, self._literals(triples[:, 2]))

    def _order(self, id: int) -> Any:
        """What terms are sorted by."""
        return sort_key(self._vocabulary.term(id))

    def _literals(self, ids: Int32s) -> Flags:
        size = len(self._vocabulary)
        if size > len(self._literal):
            fresh = np.arange(len(self._literal), size, dtype=np.int32)
            kinds = self._vocabulary.typed(fresh).category == TermKind.LITERAL
            self._literal = np.concatenate((self._literal, kinds))
        return self._literal[ids]


def _numbered(step: Int64s) -> tuple[Int64s, Int64s]:
    """The steps there are, and the place of each row's among them; many pages have but one."""
    if len(step) and step[0] == step[-1]:
        return step[:1], np.zeros(len(step), np.int64)
    steps, places = np.unique(step, return_inverse=True)
    return steps, places.astype(np.int64)


def _existing(steps: Int64s, before: int, turnout: VertexChanges) -> Int64s:
    """How many vertices there are at the end of each step."""
    delta = np.zeros(len(steps), np.int64)
    np.add.at(delta, np.searchsorted(steps, turnout.step), np.where(turnout.came, 1, -1))
    return before + np.cumsum(delta)


# --- metrics of a single solution, looked up in the measures that are kept -------------------------------------------

Selected: TypeAlias = Callable[[Query], frozenset[Term]]


class MetricAnswers:
    """Answers `hg:` functions that some query asks; see `naive.Plainly`."""

    def __init__(self, meter: Meter, vocabulary: Vocabulary, selected: Selected) -> None:
        self._meter, self._vocabulary, self._selected = meter, vocabulary, selected

    @property
    def vertices(self) -> Collection[Term]:
        if not self._meter.is_asked_everywhere:
            return ()
        return [self._vocabulary.term(id) for id in self._meter.every_vertex()]

    def selected(self, query: Query) -> frozenset[Term]:
        """The vertices that solutions of a query bind, if it asks for them."""
        return self._selected(query)

    def term(self, metric: Metric, bindings: Solution, selected: frozenset[Term]) -> Term | None:
        """The value of a function; None of one that nobody asks, or where an argument is unbound."""
        call = self._call(metric, bindings)
        if call is None:
            return None
        vertices = tuple(map(self._vocabulary.intern, selected)) if call.key.is_selected else call.vertices
        return metric_term(call.key, self._meter.look_up(call.key, vertices))

    def shown(self, metric: Metric, bindings: Solution) -> Mapping[str, Any]:
        """What a function of vertices shows beside its value, edges as texts."""
        call = self._call(metric, bindings)
        if call is None or call.key.is_selected:
            return {}
        shown = self._meter.evidence(call.key, call.vertices, self._meter.look_up(call.key, call.vertices))
        if "edges" not in shown:
            return shown
        return {**shown, "edges": [spelled_edge(map(self._vocabulary.term, edge)) for edge in shown["edges"]]}

    def _call(self, metric: Metric, bindings: Solution) -> MetricCall | None:
        """A function with its vertices, each of them known."""
        names = tuple(bindings)
        asked = [each for each in metric.arguments if isinstance(each, Variable)]
        if any(each not in bindings for each in asked):
            return None
        intern = self._vocabulary.intern
        call = call_of(metric, {name: place for place, name in enumerate(names)}, intern)
        if call.key not in self._meter.kept:
            return None
        return call._replace(vertices=call.of(tuple(intern(bindings[name]) for name in names)))
