"""Which solutions of a query's pattern satisfy what its filters ask of metrics, update by update.

A variable that no triple binds ranges over all vertices. Where it is alone and asked of metrics of one vertex only, no
solutions are kept for it: what satisfies the filters is found when a value passes a threshold, and a vertex that
nothing is reported of is like one that is not there (`is_true_of_nothing`). Otherwise every solution is kept, with the
instances whose values it depends on.

The laws.

- At the end of each step `true` holds exactly the solutions that satisfy the filters then; with a hysteresis, those too
  that did and have not gone back further than that.
- A block of updates is followed by step: solutions that come and go, values that pass thresholds. Measures follow the
  journal as far as the next step at which something else happens: a solution of a pattern, or a vertex, comes or goes.
  There values are looked up; in between only queries that heard of a value check again. Verdicts are those of checking
  every solution anew at the end of every step.
- A query that compares one metric with a number, at every vertex and without a hysteresis, takes a whole block of
  values at once: a verdict depends on the value alone, so a vertex turns where two of its values that follow one
  another lie on different sides of the limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import groupby, product
from math import isnan, nan
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import Expression, Metric, children, walk
from heliograph.terms import Term, Variable
from heliograph.watch.changes import Changes, Match, MatchDelta, PhaseDelta, Solution, SolutionBuilder
from heliograph.watch.layout import Int32s, Int64s
from heliograph.watch.metrics.calls import (
    MetricCall,
    call_of,
    comparisons,
    metric_filters,
    metric_term,
    shown_more,
    shown_value,
    spelled_edge,
)
from heliograph.watch.metrics.meter import Meter, Page, ValueChange, ValueChanges, VertexChanges
from heliograph.watch.metrics.thresholds import Attention
from heliograph.watch.updates import NO_TERM, Flags

# --- one query -------------------------------------------------------------------------------------------------------

Row = tuple[int, ...]

_NO_INSTANCE = -1  # of a call whose vertices a solution does not bind: VALUES may leave them out


class Verdict(NamedTuple):
    """A solution that begins or ceases to satisfy the filters, what the metrics say of it, and what they show."""

    step: int
    gained: bool
    row: Row
    values: tuple[float, ...]
    shown: Mapping[str, Any]


class MetricQuery:
    """The solutions of one query, and which of them satisfy its metric filters."""

    def __init__(
        self, builder: SolutionBuilder, filters: Sequence[Expression], meter: Meter, hysteresis: float
    ) -> None:
        """`filters` ask metrics, or something else of variables that range over all vertices."""
        self._meter, self.builder = meter, builder
        columns = {variable: column for column, variable in enumerate(builder.variables)}
        asked, others = metric_filters(filters)
        self._conditions = [Condition.of(each) for each in asked]
        self._fixed = [Condition.of(each) for each in others]
        self._names_vertices = any(_is_named_beside_metrics(each) for each in asked)
        self.metrics = metrics_of(asked)
        self.calls: tuple[MetricCall, ...] = tuple(
            call_of(node, columns, builder.vocabulary.intern) for node in self.metrics
        )
        compared = comparisons(asked, hysteresis) or ()
        self._tests = [(self.metrics.index(metric), test) for metric, test in compared]
        self.comparison = self._tests[0][1] if len(self._tests) == 1 else None
        self._attention = [self._attending(place) for place in range(len(self.calls))]
        self._free = builder.free
        self.is_lazy = builder.is_of_no_pattern and len(builder.variables) == 1 == len(self._free)
        self.is_lazy &= all(call.key.is_of_one_vertex and call.vertices == (-1,) for call in self.calls)
        self._bases: dict[Row, None] = {}
        self._rows: dict[Row, tuple[int, ...]] = {}  # with the instance of each call
        self._at: dict[tuple[int, int], dict[Row, None]] = {}  # by call and instance
        self._selections: dict[int, int] = {}  # by call: its instance, if that is what solutions bind
        self._binding: Counter[int] = Counter()  # how many solutions bind a term, where that is asked for
        self.selected: set[int] = set()  # those of them that are vertices
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}  # instances, by call and vertices
        self._parting: dict[Row, tuple[float, ...]] = {}  # the last values of solutions that went
        self.true: set[Row] = set()
        for place, call in enumerate(self.calls):
            meter.ask(call.key)
            if call.key.is_selected:
                self._selections[place] = meter.listen((self, place), call.key, (), self._attention[place])
            if self.is_lazy:
                meter.listen_everywhere((self, place), call.key, self._attention[place])
        if self.minds_vertices:
            meter.range()
        if self.minds_vertices or self.needs_every_step:
            meter.attentive[self] = None

    def _attending(self, place: int) -> Attention:
        """What is heard of a call: every change where there are others, or filters are more than comparisons."""
        points = {point for each, test in self._tests if each == place for point in test.points}
        heeded = tuple(sorted(points)) if self._tests else None
        return Attention(heeded if len(self.calls) == 1 else None, heeded)

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
        """Whether values between those that are reported must be looked up at once, or are estimates. Metrics
        that may be cost far more than it does to stop at every step."""
        return (self.is_lazy and self.comparison is None) or any(call.key.is_estimated for call in self.calls)

    @property
    def minds_vertices(self) -> bool:
        """Whether it matters which vertices come and go."""
        return self.ranges or self.binds_others

    @cached_property
    def binds_others(self) -> bool:
        """Whether the vertices that solutions bind are asked for, and they may bind what is none."""
        return bool(self._selections) and bool(self.builder.doubtful)

    @property
    def ranges(self) -> bool:
        """Whether variables range over vertices, which come and go."""
        return bool(self._free) and not (self.is_lazy and not self.is_true_of_nothing)

    @property
    def is_of_values(self) -> bool:
        """Whether what is reported of a vertex decides of it, whatever was before."""
        immediate = self.comparison is not None and not self.comparison.slack and not self._fixed
        return self.is_lazy and immediate and not self.ranges and bool(self._bases)

    @cached_property
    def is_true_of_nothing(self) -> bool:
        """Whether a vertex of which nothing is reported may satisfy the filters, or still may if it did before."""
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

    def _select(self, terms: Collection[int]) -> Iterable[Row]:
        wanted = {
            each for each in terms if self._binding[each] and (not self.binds_others or self._meter.is_vertex(each))
        }
        added, removed = sorted(wanted - self.selected), sorted(self.selected.intersection(terms) - wanted)
        for term in terms:
            if not self._binding[term]:
                del self._binding[term]
        self.selected.update(added)
        self.selected.difference_update(removed)
        changed = False
        for place, instance in self._selections.items():
            before, after = self._meter.select(self.calls[place].key, instance, added, removed)
            changed |= before != after
        return tuple(self._rows) if changed else ()

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

    def _number(self, place: int, call: MetricCall, row: Row) -> int:
        """The instance that a call has for a solution; it is listened to once, whatever depends on it."""
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
        return len(self.builder.variables)

    def start(self, bases: Int32s, held: Iterable[tuple[Term | None, ...]]) -> Int32s:
        """Begins with these solutions of the pattern; `held` satisfied the filters before, where that matters."""
        intern = self.builder.vocabulary.intern
        self.true = {tuple(NO_TERM if term is None else intern(term) for term in key) for key in held}
        for base in map(tuple, bases.tolist()):
            for _ in self.come(base):
                pass
        self.select(list(self._bases), ())
        rows = [(vertex,) for vertex in self._meter.every_vertex()] if self.is_lazy else list(self._rows)
        for row in [*rows, *self.true]:
            self.check(row, self.values(row, now=True))
        return np.array(sorted(self.true), np.int32).reshape(len(self.true), self.columns)

    def standing(self, witness: bool) -> list[Verdict]:
        """The solutions that satisfy the filters, as if they had just begun to."""
        found = ((row, self.values(row, now=True)) for row in sorted(self.true))
        return [Verdict(1, True, row, values, self.shown(row, values, witness)) for row, values in found]

    def keys(self) -> tuple[tuple[Term | None, ...], ...]:
        """The same as terms."""
        term = self.builder.vocabulary.term
        return tuple(tuple(None if id == NO_TERM else term(id) for id in row) for row in sorted(self.true))

    # --- checking -----------------------------------------------------------------------------------------------

    def exists(self, row: Row) -> bool:
        if not self.is_lazy:
            return row in self._rows
        if not self._bases or not self.ranges:
            return bool(self._bases)  # of a vertex that is not there nothing is reported that satisfies the filters
        assert self._meter.vertices is not None
        return row[0] in self._meter.vertices

    def instances(self, row: Row) -> tuple[int, ...]:
        return (row[0],) * len(self.calls) if self.is_lazy else self._rows[row]

    def values(self, row: Row, now: bool) -> tuple[float, ...]:
        """What the metrics say of a solution: as they are now, or as they were last reported."""
        if row in self._parting:
            last = enumerate(self._parting.pop(row))
            selected = {
                place: self._meter.value(self.calls[place].key, each) for place, each in self._selections.items()
            }
            return tuple(selected.get(place, value) for place, value in last)
        if not self.exists(row) and not self.is_lazy:
            return tuple(call.key.absent for call in self.calls)
        ask = self._meter.refresh if now else self._meter.value
        instances = zip(self.calls, self.instances(row), strict=True)
        return tuple(nan if each == _NO_INSTANCE else ask(call.key, each) for call, each in instances)

    def shown(self, row: Row, values: tuple[float, ...], witness: bool) -> Mapping[str, Any]:
        """What metrics show beside their values: intervals, and for a witness the edges of paths and trees as they are
        now, whether the solution is there or not."""
        found: list[Mapping[str, Any]] = []
        for call, value in zip(self.calls, values, strict=True):
            is_shown = not isnan(value) and (witness or call.key.has_interval)
            found.append(self._meter.evidence(call.key, call.of(row), value) if is_shown else {})
        return shown_more(found)

    def check(self, row: Row, values: tuple[float, ...]) -> bool | None:
        """Whether a solution begins to satisfy the filters, or ceases to; None where nothing changes."""
        held = row in self.true
        holds = self.exists(row)
        if holds and self._tests and not self._fixed:
            holds = self._passes(values, held)
        elif holds:
            bindings = self.builder.solution(row)
            holds = self._is_measured(values, bindings, held) and all(each.holds(bindings) for each in self._fixed)
        if holds == held:
            return None
        (self.true.add if holds else self.true.discard)(row)
        return holds

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


# --- a whole block of values of one metric ---------------------------------------------------------------------------


def crossings(query: MetricQuery, changes: ValueChanges) -> list[Verdict]:
    """The verdicts of a query of which `is_of_values`, which takes them over."""
    assert query.comparison is not None
    holds = query.comparison.holding(changes.value)
    turned = _turned(changes.instance, holds, query)
    gained, instances = holds[turned].tolist(), [(instance,) for instance in changes.instance[turned].tolist()]
    for comes, row in zip(gained, instances, strict=True):
        (query.true.add if comes else query.true.discard)(row)
    values = [(value,) for value in changes.value[turned].tolist()]
    shown = map(partial(query.shown, witness=False), instances, values)
    return list(map(Verdict, changes.step[turned].tolist(), gained, instances, values, shown))


def _turned(instance: Int32s, holds: Flags, query: MetricQuery) -> Sequence[int]:
    """Which values find a vertex on the other side than the one before."""
    order = np.argsort(instance, kind="stable")
    vertex, after = instance[order], holds[order]
    firsts = np.diff(vertex, prepend=-1) != 0
    before = np.append(False, after[:-1])
    before[firsts] = [(each,) in query.true for each in vertex[firsts].tolist()]
    turned: Sequence[int] = np.sort(order[before != after])  # type: ignore[assignment]
    return turned


# --- one block of updates --------------------------------------------------------------------------------------------

Affected = dict[tuple[MetricQuery, Row], None]  # solutions that must be checked again
Fail = Callable[[MetricQuery, Exception], None]  # hears which query failed, and how

_END = 1 << 40  # after every step
_FEW = 16  # values that are sooner checked one by one


class MetricBlock:
    """Follows one block."""

    def __init__(self, meter: Meter, page: Page, witness: bool, measured: Collection[MetricQuery], fail: Fail) -> None:
        self._meter, self._page, self._witness = meter, page, witness
        self._measured, self._hear_failure = measured, fail
        self._failed: set[MetricQuery] = set()
        self._attentive: tuple[MetricQuery, ...] = tuple(meter.attentive)
        self._done = 0  # rows of the page
        self._verdicts: dict[MetricQuery, list[Verdict]] = {}

    def follow(self, changes: Mapping[MetricQuery, Changes]) -> dict[MetricQuery, list[Verdict]]:
        """What the changes of solutions and of edges lead to, for each in order of steps."""
        coming = {query: _by_step(each) for query, each in changes.items()}
        for step in self._asked(coming):
            changed, turnout = self._follow(step)
            affected = self._affected(changed)
            for query, by_step in coming.items():
                self._add(affected, query, partial(self._shifted, query, by_step.get(step, ((), ()))))
            self._turn(turnout, affected)
            self._settle(step, affected, now=True)
        self._follow(_END)
        return {query: verdicts for query, verdicts in self._verdicts.items() if query not in self._failed}

    def _fail(self, query: MetricQuery, error: Exception) -> None:
        self._failed.add(query)
        self._hear_failure(query, error)

    def _add(self, affected: Affected, query: MetricQuery, rows: Callable[[], Iterable[Row]]) -> None:
        """Adds solutions that must be checked again, unless finding them fails."""
        if query in self._failed:
            return
        try:
            affected |= {(query, row): None for row in rows()}
        except Exception as error:
            self._fail(query, error)

    def _asked(self, coming: Mapping[MetricQuery, Mapping[int, object]]) -> list[int]:
        """The steps at which more may happen than that a value passes a threshold; with a witness all of them, for
        paths are shown as they are then."""
        steps = {step for by_step in coming.values() for step in by_step}
        if self._witness or self._attentive:
            steps.update(self._page.step.tolist())
        return sorted(steps)

    def _follow(self, step: int) -> tuple[list[ValueChange], VertexChanges | None]:
        """Lets measures go on to the end of a step. What is reported before it is checked at once; what is reported
        there, and which vertices came and went, is returned."""
        last = int(np.searchsorted(self._page.step, step, side="right"))
        part = self._page.take(slice(self._done, last))
        self._done = last
        changes, turnout = self._meter.follow(part)
        for key, error in self._meter.broken.items():
            for query in self._measured:
                if query not in self._failed and any(call.key == key for call in query.calls):
                    self._fail(query, error)
        found = in_order([each for each in changes if not self._check_at_once(each, step)])
        earlier = (change for change in found if change.step < step)
        for each, some in groupby(earlier, key=lambda change: change.step):
            self._settle(each, self._affected(some), now=False)
        return [change for change in found if change.step == step], turnout

    def _check_at_once(self, changes: ValueChanges, step: int) -> bool:
        """Checks all that a measure reported before a step, if all that listen look at values alone."""
        askers = self._meter.only_everywhere(changes.key) if len(changes.step) > _FEW else ()
        if not askers or changes.step[-1] >= step or not all(query.is_of_values for query, _ in askers):
            return False
        self._meter.take_all(changes)
        for query, _ in askers:
            try:
                if verdicts := crossings(query, changes):
                    self._verdicts.setdefault(query, []).extend(verdicts)
            except Exception as error:
                self._fail(query, error)
        return True

    def _affected(self, changes: Iterable[ValueChange]) -> Affected:
        """The solutions that must be checked again."""
        affected: Affected = {}
        for change in changes:
            for query, place in self._meter.take(change):
                self._add(affected, query, partial(query.concerned, place, change.instance))
        return affected

    def _shifted(self, query: MetricQuery, rows: tuple[Sequence[Row], Sequence[Row]]) -> Iterator[Row]:
        gone, came = rows
        for base in gone:
            yield from query.go(base)
        for base in came:
            yield from query.come(base)
        yield from query.select(came, gone)

    def _turn(self, turnout: VertexChanges | None, affected: Affected) -> None:
        if turnout is None:
            return
        for vertex, came in zip(turnout.vertex.tolist(), turnout.came.tolist(), strict=True):
            for query in self._attentive:
                if query.ranges:
                    self._add(affected, query, partial(query.vertex_comes if came else query.vertex_goes, vertex))
                if query.binds_others:
                    self._add(affected, query, partial(query.select_again, vertex))

    def _settle(self, step: int, affected: Iterable[tuple[MetricQuery, Row]], now: bool) -> None:
        for query, row in affected:
            if query in self._failed:
                continue
            try:
                values = query.values(row, now)
                verdict = query.check(row, values)
                if verdict is not None:
                    shown = query.shown(row, values, self._witness)
                    self._verdicts.setdefault(query, []).append(Verdict(step, verdict, row, values, shown))
            except Exception as error:
                self._fail(query, error)


def in_order(changes: Sequence[ValueChanges]) -> list[ValueChange]:
    """Everything that was reported, in order of steps."""
    found = [change for each in changes for change in each.one_by_one()]
    return sorted(found, key=lambda change: change.step) if len(changes) > 1 else found


def _by_step(changes: Changes) -> dict[int, tuple[list[Row], list[Row]]]:
    """Solutions lost and gained, by step."""
    found: dict[int, tuple[list[Row], list[Row]]] = {}
    steps: Int64s = 2 * changes.update + changes.phase
    for step, gained, row in zip(steps.tolist(), changes.gained.tolist(), changes.terms.tolist(), strict=True):
        found.setdefault(step, ([], []))[gained].append(tuple(row))
    return found


def changes_of(verdicts: Sequence[Verdict], columns: int) -> Changes:
    """Verdicts as solutions lost and gained."""
    step = np.array([each.step for each in verdicts], np.int64)
    gained = np.array([each.gained for each in verdicts], np.bool_)
    terms = np.array([each.row for each in verdicts], np.int32).reshape(len(verdicts), columns)
    return Changes.sorted(step >> 1, step & 1, gained, terms)


# --- values beside matches -------------------------------------------------------------------------------------------

Shown: TypeAlias = "int | float | str | None"


class MetricValues:
    """The values behind some verdicts of one query."""

    def __init__(self, query: MetricQuery, verdicts: Iterable[Verdict]) -> None:
        self._query = query
        self._verdicts = {(each.step, each.row): each for each in verdicts}

    def valued(self, changed: PhaseDelta) -> PhaseDelta:
        """What is reported, with values."""
        step = 2 * changed.update + changed.phase
        lost, gained = (tuple(self._valued(step, match) for match in matches) for matches in changed.delta)
        return changed._replace(delta=MatchDelta(lost, gained))

    def _valued(self, step: int, match: Match) -> Match:
        row = self._row(match)
        verdict = None if row is None else self._verdicts.get((step, row))
        if match.value is not None or verdict is None or not verdict.values:  # of VALUES alone there are none
            return match
        return match._replace(value=shown_values(verdict.values), more=self._spelled(verdict.shown))

    def _row(self, match: Match) -> Row | None:
        """The solution behind a match; what is lost in mode `change` has none, unless there is but one."""
        variables = self._query.builder.variables
        if match.witness is None:
            return None if variables else ()
        intern = self._query.builder.vocabulary.intern
        return tuple(intern(match.witness[each]) if each in match.witness else NO_TERM for each in variables)

    def _spelled(self, shown: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What metrics show, its edges as texts."""
        if "edges" not in shown:
            return shown or None
        term = self._query.builder.vocabulary.term
        return {**shown, "edges": [spelled_edge(map(term, edge)) for edge in shown["edges"]]}


def shown_values(values: Sequence[float]) -> Shown | list[Shown]:
    """The values of a solution's calls as evidence shows them."""
    shown = [shown_value(value) for value in values]
    return shown[0] if len(shown) == 1 else shown


def are_plain(verdicts: Iterable[Verdict]) -> bool:
    """Whether values are all that is shown beside bindings, and no update has verdicts of two phases."""
    return all(each.step & 1 and not each.shown for each in verdicts)
