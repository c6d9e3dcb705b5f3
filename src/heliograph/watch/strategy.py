"""Strategies: in plain Python while there is little to do, by the kernels as soon as they pay.

A small job ends in milliseconds and loads no kernel. The laws: all strategies give the same notifications in the same
order; a strategy with the same subscriptions, restored from the `WatchSnapshot` of another, goes on as the other would
have. So one may go over to another in mid-stream, wherever it does.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from heliograph.compiled.background import ready
from heliograph.errors import FAILED, SubscriptionError, UsageError, own_failure
from heliograph.model import Explanation, Rejected
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary
from heliograph.watch.changes import Key, Match
from heliograph.watch.evidence import Reevaluation
from heliograph.watch.layout import EdgeColumns, Int32s
from heliograph.watch.metrics import calls
from heliograph.watch.options import Options, Subscribed
from heliograph.watch.report import PublishRun
from heliograph.watch.updates import UpdateColumns, WindowExtent

if TYPE_CHECKING:
    from heliograph.watch.plain import PlainStrategy

ALGORITHMS = ("auto", "plain", "indexed")

# How long the plain way may take in an engine's life, the metrics of the next update included, before the kernels are
# loaded, which takes about a second. Where they have to be compiled, which takes about a minute, another process does
# that meanwhile; only if it cannot, or if the metrics of one update would take so long, they are compiled here.
WARM_NS, COLD_NS = 300_000_000, 8_000_000_000

# With more than so many of them, kernels are loaded at once.
SUBSCRIPTIONS, ROWS = 2_000, 20_000

_LOG = logging.getLogger("heliograph")


# --- what all strategies share ----------------------------------------------------------------------------------


class FailedSubscriptions:
    """The subscriptions that failed, by id, and why. Each is reported as its own error and put aside; the others go on.

    The law: whatever a single subscription does inside a call (its exact check, its evidence, its metric), no other one
    is notified more or less for it. What fails for all of them, as the graph itself, is no failure of a subscription,
    and raises. Lack of memory inside a subscription counts as its own failure: to raise it in the midst of updates
    would end the watch.
    """

    def __init__(self) -> None:
        self._errors: dict[str, SubscriptionError] = {}
        self._fresh: list[str] = []
        self.proven: set[str] = set()  # what was entered over the graph within its budget, and may be entered again

    def __contains__(self, id: object) -> bool:
        return id in self._errors

    def __iter__(self) -> Iterator[str]:
        return iter(self._errors)

    def __len__(self) -> int:
        return len(self._errors)

    def put(self, id: str, error: Exception) -> bool:
        """A subscription failed; whether that is new."""
        if id in self._errors:
            return False
        failure = self._errors[id] = own_failure(f"subscription {id!r}", error)
        self._fresh.append(id)
        _LOG.warning("%s", failure.describe(), exc_info=error)
        return True

    def drop(self, id: str) -> bool:
        """A subscription leaves; whether it was put aside."""
        self.proven.discard(id)
        if id in self._fresh:
            self._fresh.remove(id)
        return self._errors.pop(id, None) is not None

    def report(self, among: Iterable[str] | None = None) -> list[Rejected]:
        """The subscriptions (or those `among` some) that were put aside and not reported yet."""
        if not self._fresh:
            return []
        asked = set(self._fresh if among is None else among)
        fresh = [id for id in self._fresh if id in asked]
        self._fresh = [id for id in self._fresh if id not in asked]
        return [Rejected.of(self._errors[id], "subscriptions", id) for id in fresh]

    def meta(self) -> dict[str, Any]:
        """What is put aside and why, and what of it is still to be reported, as plain values."""
        return {"errors": {id: [error.message, error.fix] for id, error in self._errors.items()}, "fresh": self._fresh}

    def restore(self, meta: Mapping[str, Any]) -> None:
        errors = meta["errors"].items()
        self._errors = {id: SubscriptionError(FAILED, message, fix=fix) for id, (message, fix) in errors}
        self._fresh = list(meta["fresh"])

    def explanation(self, id: str, publication_id: str | None) -> Explanation:
        message = self._errors[id].describe()
        return Explanation("watch", id, publication_id, False, f"{id} was put aside: {message}", failed=message)


class WatchMemory(NamedTuple):
    """What the graph does not say: the subscriptions whose initial matches are still to be reported, the top-k sets to
    be ranked again, the keys that hold where that depends on the past, the members of sets that have no place yet, the
    solutions that a hysteresis may hold beyond a threshold on a metric, and what measures keep beside the edges."""

    initial_pending: tuple[str, ...] = ()
    rank_dirty: frozenset[str] = frozenset()
    held: Mapping[str, tuple[Key, ...]] = {}
    rank_unknown: frozenset[str] = frozenset()
    satisfied: Mapping[str, tuple[Key, ...]] = {}
    measures: Mapping[calls.Key, Mapping[str, npt.NDArray[Any]]] = {}  # see Measure.saved

    def without(self, ids: Container[str]) -> WatchMemory:
        """The same for all but these."""
        return self._replace(
            initial_pending=tuple(id for id in self.initial_pending if id not in ids),
            held={id: keys for id, keys in self.held.items() if id not in ids},
            rank_unknown=frozenset(id for id in self.rank_unknown if id not in ids),
            satisfied={id: keys for id, keys in self.satisfied.items() if id not in ids},
        )


class WatchSnapshot(NamedTuple):
    """A graph, the clocks of its window (the time in microseconds, and the updates accepted so far), and memory."""

    edges: EdgeColumns
    clock: int | None
    number: int
    memory: WatchMemory

    def renumbered(self, own: Vocabulary, kept: Int32s, other: Vocabulary) -> WatchSnapshot:
        """The same in ids of a vocabulary that was made of the terms `kept`, which are those of the edges at least."""
        places = np.full(len(own), -1, np.int32)
        places[kept] = np.arange(len(kept), dtype=np.int32)
        subject, predicate, object = (places[column] for column in self.edges[:3])
        edges = self.edges._replace(subject=subject, predicate=predicate, object=object)
        measures = {
            key._replace(properties=tuple(sorted(other.intern(own.term(id)) for id in key.properties))): arrays
            for key, arrays in self.memory.measures.items()
        }
        return self._replace(edges=edges, memory=self.memory._replace(measures=measures))


@dataclass(frozen=True, slots=True)
class Watched:
    """A subscription, how it is notified, and what holds for it in the order of its bindings; of a member of a top-k
    set how many matches it has, too."""

    subscription: Subscription
    options: Options
    matches: tuple[Match, ...]
    count: int = 0


class WatchStrategy(Protocol):
    """A way to answer, made of a vocabulary, a taxonomy and a window's extent.

    What is added or loaded is refreshed silently before the next update, so a change is always some update's.
    """

    def add(self, subscribed: Sequence[Subscribed]) -> None:
        """Takes subscriptions, in order of subscribing."""

    def remove(self, subscriptions: Sequence[Subscription]) -> None:
        """Forgets subscriptions; what held for them is not reported as lost."""

    def load(self, updates: UpdateColumns) -> None:
        """Applies updates silently, as background."""

    def refresh(self, witness: bool) -> None:
        """Brings what holds up to the graph, silently."""

    def publish(self, updates: UpdateColumns, run: PublishRun) -> None:
        """Refreshes, reports initial matches that were asked for, and applies updates in order; all is reported and
        counted to `run`, except how many were accepted and refused."""

    def snapshot(self) -> WatchSnapshot:
        """The graph, its clocks, and what the graph does not say."""

    def restore(self, snapshot: WatchSnapshot) -> None:
        """Takes over a graph and its memory, into an empty graph and with the subscriptions that were there."""

    def ids(self) -> Int32s:
        """The ids of the terms of its graph, in no order, as often as they stand there."""

    def rebased(self, vocabulary: Vocabulary, snapshot: WatchSnapshot) -> WatchStrategy:
        """The same over a vocabulary of fewer terms, in whose ids its snapshot is; this one is not used any more."""

    @property
    def aside(self) -> FailedSubscriptions:
        """Subscriptions that failed, which the strategy goes on without."""

    def watched(self, id: str) -> Watched:
        """A subscription with what holds for it now; for explanations, after `refresh`."""

    @property
    def answers(self) -> Reevaluation:
        """Answers to any query over the graph as it is now, for explanations."""


# --- going over -------------------------------------------------------------------------------------------------


def indexed(
    vocabulary: Vocabulary, taxonomy: Taxonomy, extent: WindowExtent, aside: FailedSubscriptions | None = None
) -> WatchStrategy:
    """The strategy of the kernels, which have to be loaded."""
    from heliograph.watch.indexed import IndexedStrategy

    return IndexedStrategy(vocabulary, taxonomy, extent, aside)


class AutoStrategy:
    """Plain, until that has taken, or is about to take, as long as loading the kernels does."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy, extent: WindowExtent) -> None:
        self._ground = vocabulary, taxonomy, extent
        from heliograph.watch.plain import PlainStrategy

        self._plain: PlainStrategy | None = PlainStrategy(vocabulary, taxonomy, extent)
        self.aside = self._plain.aside
        self._held: WatchStrategy = self._plain
        self._subscriptions = 0
        self._spent_ns = 0

    # --- subscriptions ----------------------------------------------------------------------------------------------

    def add(self, subscribed: Sequence[Subscribed]) -> None:
        self._subscriptions += len(subscribed)
        self._choose(self._subscriptions > SUBSCRIPTIONS).add(subscribed)

    def remove(self, subscriptions: Sequence[Subscription]) -> None:
        self._subscriptions -= len(subscriptions)
        self._held.remove(subscriptions)

    def watched(self, id: str) -> Watched:
        return self._held.watched(id)

    @property
    def answers(self) -> Reevaluation:
        return self._held.answers

    # --- updates ------------------------------------------------------------------------------------------------

    def load(self, updates: UpdateColumns) -> None:
        strategy, began = self._choose(len(updates) > ROWS, len(updates)), time.perf_counter_ns()
        strategy.load(updates)
        self._spend(began)

    def refresh(self, witness: bool) -> None:
        strategy, began = self._choose(), time.perf_counter_ns()
        strategy.refresh(witness)
        self._spend(began)

    def publish(self, updates: UpdateColumns, run: PublishRun) -> None:
        self._choose(len(updates) > ROWS)
        done = 0 if self._plain is None else self._apply(self._plain, updates, run)
        if self._plain is None:
            self._held.publish(updates.take(slice(done, None)), run)

    def _apply(self, plain: PlainStrategy, updates: UpdateColumns, run: PublishRun) -> int:
        """Applies updates plainly, until they are done or that no longer pays; says how many."""
        began = time.perf_counter_ns()
        plain.begin(run)
        for row, update in enumerate(updates.updates(self._ground[0])):
            began = self._spend(began)
            if self._choose() is not plain:
                return row
            plain.apply(update, updates, row, run)
        self._spend(began)
        return len(updates)

    # --- handing over -------------------------------------------------------------------------------------------

    def snapshot(self) -> WatchSnapshot:
        return self._held.snapshot()

    def restore(self, snapshot: WatchSnapshot) -> None:
        if snapshot.memory.measures and self._plain is not None:
            self._go_over(self._plain)  # kernels kept them, and only kernels can go on with them
        self._choose(snapshot.edges.size > ROWS, snapshot.edges.size).restore(snapshot)

    def ids(self) -> Int32s:
        return self._held.ids()

    def rebased(self, vocabulary: Vocabulary, snapshot: WatchSnapshot) -> AutoStrategy:
        fresh = copy(self)
        fresh._ground = vocabulary, *self._ground[1:]
        fresh._held = self._held.rebased(vocabulary, snapshot)
        fresh._plain = None if self._plain is None else fresh._held  # type: ignore[assignment]
        return fresh

    def _choose(self, much: bool = False, coming: int = 0) -> WatchStrategy:
        """Goes over to the kernels if they pay; `much` says that there is plainly much to do, and `coming` how many
        edges there will be more."""
        plain = self._plain
        if plain is not None and self._pays(plain.foreseen_ns(coming), plain.measures, much):
            self._go_over(plain)
        return self._held

    def _go_over(self, plain: PlainStrategy) -> None:
        held = indexed(*self._ground, self.aside)
        held.add(plain.subscribed)
        held.restore(plain.snapshot())
        self._held, self._plain = held, None

    def _pays(self, foreseen_ns: int, measures: bool, much: bool) -> bool:
        plain_ns = self._spent_ns + foreseen_ns
        if plain_ns < WARM_NS and not much:
            return False
        if foreseen_ns >= COLD_NS:
            return True
        overdue = plain_ns >= COLD_NS
        return ready("watch", overdue) and (not measures or ready("metrics", overdue))

    def _spend(self, began: int) -> int:
        now = time.perf_counter_ns()
        self._spent_ns += now - began
        return now


def check_algorithm(name: str) -> None:
    if name not in ALGORITHMS:
        raise UsageError("HG-045", f"no algorithm is called {name!r}", fix=f"write one of {', '.join(ALGORITHMS)}")


def strategy(name: str, vocabulary: Vocabulary, taxonomy: Taxonomy, extent: WindowExtent) -> WatchStrategy:
    """A way to answer, by name."""
    from heliograph.watch.plain import PlainStrategy

    check_algorithm(name)
    make: dict[str, Callable[[Vocabulary, Taxonomy, WindowExtent], WatchStrategy]]
    make = {"auto": AutoStrategy, "plain": PlainStrategy, "indexed": indexed}
    return make[name](vocabulary, taxonomy, extent)
