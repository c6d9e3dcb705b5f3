"""How updates are answered: in plain Python while there is little to do, by the kernels as soon as they pay.

A small job ends in milliseconds and loads no kernel. The law: all strategies give the same notifications in the same
order, and one that goes over to another in mid-stream gives them too, wherever it goes over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Protocol

from heliograph.baselines.watch_naive import Reevaluation
from heliograph.errors import UsageError
from heliograph.kernels.cache import announce, is_warm
from heliograph.kernels.evolution_layout import Int32s
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary
from heliograph.watch.aside import Aside
from heliograph.watch.board import Interest, Watched
from heliograph.watch.encoding import Encoded
from heliograph.watch.plain import Plain
from heliograph.watch.run import Run
from heliograph.watch.snapshots import Snapshot
from heliograph.watch.window import Extent

ALGORITHMS = ("auto", "plain", "indexed")

# How long the plain way may take in an engine's life, the metrics of the next update included, before the kernels are
# loaded, which takes about a second, or compiled, which takes about a minute.
WARM_NS, COLD_NS = 300_000_000, 8_000_000_000

# With more than so many of them, kernels that need no compiling are loaded at once.
SUBSCRIPTIONS, ROWS = 2_000, 20_000

_KERNEL = "network_run.run"


class Strategy(Protocol):
    """A way to answer, made of a vocabulary, a taxonomy and a window's extent.

    What is added or loaded is settled silently before the next update, so a change is always some update's.
    """

    def add(self, interests: Sequence[Interest]) -> None:
        """Takes subscriptions, in order of subscribing."""

    def remove(self, subscriptions: Sequence[Subscription]) -> None:
        """Forgets subscriptions; what held for them is not told as lost."""

    def load(self, updates: Encoded) -> None:
        """Applies updates silently, as background."""

    def settle(self, witness: bool) -> None:
        """Brings everything that stands up to the graph, silently."""

    def publish(self, updates: Encoded, run: Run) -> None:
        """Settles, tells what stood for those who asked, and applies updates in order; all told and counted to `run`,
        except how many were accepted and refused."""

    def snapshot(self) -> Snapshot:
        """Where everything stands."""

    def restore(self, snapshot: Snapshot) -> None:
        """Takes over a graph and its memory, into an empty graph and with the subscriptions that were there."""

    def ids(self) -> Int32s:
        """The ids of the terms of its graph, in no order, as often as they stand there."""

    def rebased(self, vocabulary: Vocabulary, snapshot: Snapshot) -> Strategy:
        """The same over a vocabulary of fewer terms, in whose ids its snapshot is; this one is not used any more."""

    @property
    def aside(self) -> Aside:
        """Subscriptions that failed, which the strategy goes on without."""

    def watched(self, id: str) -> Watched:
        """A subscription with what stands for it now; for explanations, after `settle`."""

    @property
    def answers(self) -> Reevaluation:
        """Answers to any query over the graph as it is now, for explanations."""


def indexed(vocabulary: Vocabulary, taxonomy: Taxonomy, extent: Extent, aside: Aside | None = None) -> Strategy:
    """The strategy of the kernels, which have to be loaded."""
    from heliograph.watch.indexed import Indexed

    announce(_KERNEL)
    return Indexed(vocabulary, taxonomy, extent, aside)


class Auto:
    """Plain, until that has taken, or is about to take, as long as loading the kernels does."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy, extent: Extent) -> None:
        self._ground = vocabulary, taxonomy, extent
        self._plain: Plain | None = Plain(vocabulary, taxonomy, extent)
        self.aside = self._plain.aside
        self._held: Strategy = self._plain
        self._subscriptions = 0
        self._spent_ns = 0

    # --- interests ----------------------------------------------------------------------------------------------

    def add(self, interests: Sequence[Interest]) -> None:
        self._subscriptions += len(interests)
        self._choose(self._subscriptions > SUBSCRIPTIONS).add(interests)

    def remove(self, subscriptions: Sequence[Subscription]) -> None:
        self._subscriptions -= len(subscriptions)
        self._held.remove(subscriptions)

    def watched(self, id: str) -> Watched:
        return self._held.watched(id)

    @property
    def answers(self) -> Reevaluation:
        return self._held.answers

    # --- updates ------------------------------------------------------------------------------------------------

    def load(self, updates: Encoded) -> None:
        strategy, began = self._choose(len(updates) > ROWS, len(updates)), time.perf_counter_ns()
        strategy.load(updates)
        self._spend(began)

    def settle(self, witness: bool) -> None:
        strategy, began = self._choose(), time.perf_counter_ns()
        strategy.settle(witness)
        self._spend(began)

    def publish(self, updates: Encoded, run: Run) -> None:
        self._choose(len(updates) > ROWS)
        done = 0 if self._plain is None else self._apply(self._plain, updates, run)
        if self._plain is None:
            self._held.publish(updates.take(slice(done, None)), run)

    def _apply(self, plain: Plain, updates: Encoded, run: Run) -> int:
        """Applies updates plainly, until they are done or that no longer pays; says how many."""
        began = time.perf_counter_ns()
        plain.begin(run)
        for row, update in enumerate(updates.updates(self._ground[0])):
            began = self._spend(began)
            if self._choose() is not plain:
                return row
            plain.apply(update, run)
        self._spend(began)
        return len(updates)

    # --- handing over -------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        return self._held.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        if snapshot.memory.measures and self._plain is not None:
            self._go_over(self._plain)  # kernels kept them, and only kernels can go on with them
        self._choose(snapshot.edges.size > ROWS, snapshot.edges.size).restore(snapshot)

    def ids(self) -> Int32s:
        return self._held.ids()

    def rebased(self, vocabulary: Vocabulary, snapshot: Snapshot) -> Auto:
        fresh = copy(self)
        fresh._ground = vocabulary, *self._ground[1:]
        held = self._held.rebased(vocabulary, snapshot)
        fresh._held, fresh._plain = held, held if isinstance(held, Plain) else None
        return fresh

    def _choose(self, much: bool = False, coming: int = 0) -> Strategy:
        """Goes over to the kernels if they pay; `much` says that there is plainly much to do, and `coming` how many
        edges there will be more."""
        if self._plain is not None and self._pays(self._spent_ns + self._plain.foreseen_ns(coming), much):
            self._go_over(self._plain)
        return self._held

    def _go_over(self, plain: Plain) -> None:
        held = indexed(*self._ground, self.aside)
        held.add(plain.interests)
        held.restore(plain.snapshot())
        self._held, self._plain = held, None

    def _pays(self, plain_ns: int, much: bool) -> bool:
        if plain_ns < WARM_NS and not much:
            return False
        return plain_ns >= COLD_NS or self._is_warm

    def _spend(self, began: int) -> int:
        now = time.perf_counter_ns()
        self._spent_ns += now - began
        return now

    @cached_property
    def _is_warm(self) -> bool:
        return is_warm(_KERNEL)


def check_algorithm(name: str) -> None:
    if name not in ALGORITHMS:
        raise UsageError("HG-045", f"no algorithm is called {name!r}", fix=f"write one of {', '.join(ALGORITHMS)}")


def strategy(name: str, vocabulary: Vocabulary, taxonomy: Taxonomy, extent: Extent) -> Strategy:
    """A way to answer, by name."""
    check_algorithm(name)
    make: dict[str, Callable[[Vocabulary, Taxonomy, Extent], Strategy]]
    make = {"auto": Auto, "plain": Plain, "indexed": indexed}
    return make[name](vocabulary, taxonomy, extent)
