"""Which solutions of a query's pattern satisfy what its filters ask of metrics.

A variable that no triple binds ranges over all vertices. Where it is alone and asked of metrics of one vertex only, no
solutions are kept for it: what satisfies the filters is found when a value passes a threshold, and a vertex nobody says
anything of is like one that is not there (`is_true_of_nothing`). Otherwise every solution is kept, with the instances
whose values it depends on.

The law: at the end of each step `true` holds exactly the solutions that satisfy the filters then; with a hysteresis,
those too that did and have not gone back further than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.evolution_layout import Int32s
from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import Expression, Metric, children, walk
from heliograph.terms import Term, Variable
from heliograph.watch.encoding import NO_TERM
from heliograph.watch.metrics.calls import Call, call_of
from heliograph.watch.metrics.comparing import comparisons, metric_filters, metric_term, shown_more
from heliograph.watch.metrics.listeners import Attention
from heliograph.watch.metrics.meter import Meter
from heliograph.watch.modes import Solution
from heliograph.watch.solutions import Completion

Row = tuple[int, ...]

_NO_INSTANCE = -1  # of a call whose vertices a solution does not bind: VALUES may leave them out


class Verdict(NamedTuple):
    """A solution that begins or ceases to satisfy the filters, what the metrics say of it, and what they show."""

    step: int
    gained: bool
    row: Row
    values: tuple[float, ...]
    shown: Mapping[str, Any]


class Judged:
    """The solutions of one query, and which of them satisfy its metric filters."""

    def __init__(self, completion: Completion, filters: Sequence[Expression], meter: Meter, hysteresis: float) -> None:
        """`filters` ask metrics, or something else of variables that range over all vertices."""
        self._meter, self.completion = meter, completion
        columns = {variable: column for column, variable in enumerate(completion.variables)}
        asked, others = metric_filters(filters)
        self._conditions = [Condition.of(each) for each in asked]
        self._fixed = [Condition.of(each) for each in others]
        self._names_vertices = any(_is_named_beside_metrics(each) for each in asked)
        self.metrics = metrics_of(asked)
        self.calls: tuple[Call, ...] = tuple(
            call_of(node, columns, completion.vocabulary.intern) for node in self.metrics
        )
        compared = comparisons(asked, hysteresis) or ()
        self._tests = [(self.metrics.index(metric), test) for metric, test in compared]
        self.comparison = self._tests[0][1] if len(self._tests) == 1 else None
        self._attention = [self._attending(place) for place in range(len(self.calls))]
        self._free = completion.free
        self.is_lazy = completion.is_of_no_pattern and len(completion.variables) == 1 == len(self._free)
        self.is_lazy &= all(call.key.is_of_one_vertex and call.vertices == (-1,) for call in self.calls)
        self._bases: dict[Row, None] = {}
        self._rows: dict[Row, tuple[int, ...]] = {}  # with the instance of each call
        self._at: dict[tuple[int, int], dict[Row, None]] = {}  # by call and instance
        self._selections: dict[int, int] = {}  # by call: its instance, if that is what solutions bind
        self._binding: Counter[int] = Counter()  # how many solutions bind a term, where that is asked for
        self._selected: set[int] = set()  # those of them that are vertices
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}  # instances, by call and vertices
        self._parting: dict[Row, tuple[float, ...]] = {}  # what was said last of solutions that went
        self.true: set[Row] = set()
        self._ask()

    def _attending(self, place: int) -> Attention:
        """What a call must tell: every change where there are others, or filters are more than comparisons."""
        points = {point for each, test in self._tests if each == place for point in test.points}
        heeded = tuple(sorted(points)) if self._tests else None
        return Attention(heeded if len(self.calls) == 1 else None, heeded)

    def _ask(self) -> None:
        for place, call in enumerate(self.calls):
            self._meter.ask(call.key)
            if call.key.is_selected:
                self._selections[place] = self._meter.listen((self, place), call.key, (), self._attention[place])
        if self.minds_vertices:
            self._meter.range()
        if self.minds_vertices or self.needs_every_step:
            self._meter.attentive[self] = None
        if self.is_lazy:
            for place, call in enumerate(self.calls):
                self._meter.listen_everywhere((self, place), call.key, self._attention[place])

    def leave(self) -> None:
        """Nobody asks any more."""
        for row in list(self._rows):
            self._drop(row)
        if self.is_lazy:
            for place, call in enumerate(self.calls):
                self._meter.ignore_everywhere((self, place), call.key, self._attention[place])
        if self.minds_vertices:
            self._meter.cease()
        self._meter.attentive.pop(self, None)
        for place, call in enumerate(self.calls):
            if call.key.is_selected:
                self._meter.ignore((self, place), call.key, self._selections[place], self._attention[place])
            self._meter.leave(call.key)

    @property
    def needs_every_step(self) -> bool:
        """Whether values between those that are said must be looked up at once, or whether they are estimates. Metrics
        that may be cost far more than it does to stop at every step."""
        return (self.is_lazy and self.comparison is None) or any(call.key.is_estimated for call in self.calls)

    @property
    def minds_vertices(self) -> bool:
        """Whether it matters who comes and goes among the vertices."""
        return self.ranges or self.binds_others

    @cached_property
    def binds_others(self) -> bool:
        """Whether the vertices that solutions bind are asked for, and they may bind what is none."""
        return bool(self._selections) and bool(self.completion.doubtful)

    @property
    def ranges(self) -> bool:
        """Whether variables range over vertices, who come and go."""
        return bool(self._free) and not (self.is_lazy and not self.is_true_of_nothing)

    @property
    def is_of_values(self) -> bool:
        """Whether what is said of a vertex decides of it, whatever was said before."""
        immediate = self.comparison is not None and not self.comparison.slack and not self._fixed
        return self.is_lazy and immediate and not self.ranges and bool(self._bases)

    @cached_property
    def is_true_of_nothing(self) -> bool:
        """Whether a vertex of which nothing is said may satisfy the filters, or still may if it did before."""
        absent = tuple(call.key.absent for call in self.calls)
        return self._names_vertices or self._is_measured(absent, {}, held=True)

    # --- solutions ----------------------------------------------------------------------------------------------

    def come(self, base: Row) -> Iterator[Row]:
        """A solution of the pattern is gained; those that it stands for."""
        self._bases[base] = None
        if self.is_lazy:
            return
        for row in self._extended(base, None):
            self._keep(row)
            yield row

    def go(self, base: Row) -> Iterator[Row]:
        """A solution of the pattern is lost; those that it stood for."""
        del self._bases[base]
        if self.is_lazy:
            yield from list(self.true)
            return
        for row in list(self._extended(base, None)):
            if row in self._rows:
                self._drop(row)
                yield row

    def select(self, came: Sequence[Row], gone: Sequence[Row]) -> Iterable[Row]:
        """Solutions of the pattern bind other vertices now; all that depends on that, if it may matter."""
        if not self._selections:
            return ()
        added, removed = (self._meter.vertices_in(each) for each in (came, gone))
        self._binding.update(added)
        self._binding.subtract(removed)
        return self._select({*added, *removed})

    def select_again(self, vertex: int) -> Iterable[Row]:
        """A vertex came or went: it counts while it is one, if solutions bind it."""
        return self._select({vertex}) if vertex in self._binding else ()

    def _select(self, terms: Iterable[int]) -> Iterable[Row]:
        wanted = {term: self._is_wanted(term) for term in terms}
        added = [term for term, is_wanted in wanted.items() if is_wanted and term not in self._selected]
        removed = [term for term, is_wanted in wanted.items() if not is_wanted and term in self._selected]
        self._selected.update(added)
        self._selected.difference_update(removed)
        changed = False
        for place, instance in self._selections.items():
            before, after = self._meter.select(self.calls[place].key, instance, added, removed)
            changed |= before != after
        return tuple(self._rows) if changed else ()

    @property
    def selected(self) -> Iterable[int]:
        """The vertices that solutions of the pattern bind, where that is asked for."""
        return self._selected

    def _is_wanted(self, term: int) -> bool:
        if not self._binding[term]:
            del self._binding[term]
            return False
        return not self.binds_others or self._meter.is_vertex(term)

    def vertex_comes(self, vertex: int) -> Iterator[Row]:
        if self.is_lazy:
            yield (vertex,)
            return
        for base in self._bases:
            for row in self._extended(base, vertex):
                if row not in self._rows:
                    self._keep(row)
                    yield row

    def vertex_goes(self, vertex: int) -> Iterator[Row]:
        if self.is_lazy:
            yield (vertex,)
            return
        for row in [row for row in self._rows if any(row[column] == vertex for column in self._free)]:
            self._drop(row)
            yield row

    def _extended(self, base: Row, vertex: int | None) -> Iterator[Row]:
        """A solution with all vertices for variables that range, or with those choices that hold this vertex."""
        if not self._free:
            yield base
            return
        assert self._meter.vertices is not None
        for chosen in product(self._meter.vertices.all.tolist(), repeat=len(self._free)):
            if vertex is None or vertex in chosen:
                row = list(base)
                for column, each in zip(self._free, chosen, strict=True):
                    row[column] = each
                yield tuple(row)

    def _keep(self, row: Row) -> None:
        self._parting.pop(row, None)
        instances = tuple(self._number(place, call, row) for place, call in enumerate(self.calls))
        for at in enumerate(instances):
            self._at.setdefault(at, {})[row] = None
        self._rows[row] = instances

    def _number(self, place: int, call: Call, row: Row) -> int:
        """The instance that a call has for a solution; it is listened to once, whoever depends on it."""
        vertices = call.of(row)
        if NO_TERM in vertices:
            return _NO_INSTANCE
        if call.key.is_selected:
            return self._selections[place]
        if (place, vertices) not in self._numbers:
            instance = self._meter.listen((self, place), call.key, vertices, self._attention[place])
            self._numbers[place, vertices] = instance
        return self._numbers[place, vertices]

    def _drop(self, row: Row) -> None:
        if row in self.true:
            self._parting[row] = self.values(row, now=True)
        for place, (call, instance) in enumerate(zip(self.calls, self._rows.pop(row), strict=True)):
            del self._at[place, instance][row]
            if not self._at[place, instance] and instance != _NO_INSTANCE and not call.key.is_selected:
                del self._at[place, instance], self._numbers[place, call.of(row)]
                self._meter.ignore((self, place), call.key, instance, self._attention[place])

    def concerned(self, place: int, instance: int) -> Iterable[Row]:
        """The solutions that depend on an instance of a call."""
        return ((instance,),) if self.is_lazy else tuple(self._at.get((place, instance), ()))

    # --- as a whole ---------------------------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        return len(self.completion.variables)

    def start(self, bases: Int32s, held: Iterable[tuple[Term | None, ...]]) -> Int32s:
        """Begins with these solutions of the pattern; `held` satisfied the filters before, where that matters."""
        intern = self.completion.vocabulary.intern
        self.true = {tuple(NO_TERM if term is None else intern(term) for term in key) for key in held}
        for base in map(tuple, bases.tolist()):
            for _ in self.come(base):
                pass
        self.select(list(self._bases), ())
        for row in [*self._every_row(), *self.true]:
            self.judge(row, self.values(row, now=True))
        return np.array(sorted(self.true), np.int32).reshape(len(self.true), self.columns)

    def _every_row(self) -> Iterable[Row]:
        if not self.is_lazy:
            return list(self._rows)
        return [(vertex,) for vertex in self._meter.every_vertex()]

    def standing(self, witness: bool) -> list[Verdict]:
        """The solutions that satisfy the filters, as if they had just begun to."""
        found = ((row, self.values(row, now=True)) for row in sorted(self.true))
        return [Verdict(1, True, row, values, self.shown(row, values, witness)) for row, values in found]

    def keys(self) -> tuple[tuple[Term | None, ...], ...]:
        """The same as terms."""
        term = self.completion.vocabulary.term
        return tuple(tuple(None if id == NO_TERM else term(id) for id in row) for row in sorted(self.true))

    # --- judging ------------------------------------------------------------------------------------------------

    def exists(self, row: Row) -> bool:
        if not self.is_lazy:
            return row in self._rows
        if not self._bases or not self.ranges:
            return bool(self._bases)  # of a vertex that is not there nothing is said that satisfies the filters
        assert self._meter.vertices is not None
        return row[0] in self._meter.vertices

    def instances(self, row: Row) -> tuple[int, ...]:
        return (row[0],) * len(self.calls) if self.is_lazy else self._rows[row]

    def values(self, row: Row, now: bool) -> tuple[float, ...]:
        """What the metrics say of a solution: as they are now, or as was last said."""
        if row in self._parting:
            said = enumerate(self._parting.pop(row))
            selected = {
                place: self._meter.value(self.calls[place].key, each) for place, each in self._selections.items()
            }
            return tuple(selected.get(place, value) for place, value in said)
        if not self.exists(row) and not self.is_lazy:
            return tuple(call.key.absent for call in self.calls)
        ask = self._meter.refresh if now else self._meter.value
        instances = zip(self.calls, self.instances(row), strict=True)
        return tuple(nan if each == _NO_INSTANCE else ask(call.key, each) for call, each in instances)

    def shown(self, row: Row, values: tuple[float, ...], witness: bool) -> Mapping[str, Any]:
        """What metrics show beside their values: intervals, and for a witness the edges of paths and trees as they are
        now, whether the solution is there or not."""
        called = zip(self.calls, values, strict=True)
        return shown_more([self._evidence(call, row, value, witness) for call, value in called])

    def _evidence(self, call: Call, row: Row, value: float, witness: bool) -> Mapping[str, Any]:
        if isnan(value) or not (witness or call.key.has_interval):
            return {}
        return self._meter.evidence(call.key, call.of(row), value)

    def judge(self, row: Row, values: tuple[float, ...]) -> bool | None:
        """Whether a solution begins to satisfy the filters, or ceases to; None where nothing changes."""
        held = row in self.true
        holds = self.exists(row) and self._satisfies(row, values, held)
        if holds == held:
            return None
        (self.true.add if holds else self.true.discard)(row)
        return holds

    def _satisfies(self, row: Row, values: tuple[float, ...], held: bool) -> bool:
        if self._tests and not self._fixed:
            return self._passes(values, held)
        bindings = self.completion.solution(row)
        return self._is_measured(values, bindings, held) and all(each.holds(bindings) for each in self._fixed)

    def _passes(self, values: tuple[float, ...], held: bool) -> bool:
        return all(test.holds(values[place], held) for place, test in self._tests)

    def _is_measured(self, values: tuple[float, ...], bindings: Solution, held: bool) -> bool:
        """Whether values satisfy what is asked of metrics; of those that are not known (NaN) nothing does."""
        if self._tests:
            return self._passes(values, held)
        known = {
            node: None if isnan(value) else metric_term(call.key, value)
            for node, call, value in zip(self.metrics, self.calls, values, strict=True)
        }
        return all(condition.holds(bindings, lambda node, _: known[node]) for condition in self._conditions)


def metrics_of(filters: Iterable[Expression]) -> tuple[Metric, ...]:
    """The functions that filters ask, each once."""
    found = (node for each in filters for node in walk(each) if isinstance(node, Metric))
    return tuple(dict.fromkeys(node for node in found if node.name != "via"))


def _is_named_beside_metrics(expression: Expression) -> bool:
    """Whether something else than metrics is asked of a variable."""
    if isinstance(expression, (Metric, Variable)):
        return isinstance(expression, Variable)
    return any(map(_is_named_beside_metrics, children(expression)))
