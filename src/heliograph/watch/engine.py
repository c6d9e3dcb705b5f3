"""Watch: which continuous queries over an evolving graph did this update make true, or false?"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from heliograph.compiled.compile import announce, is_warm
from heliograph.errors import PublicationError, UsageError
from heliograph.io.tables import as_table
from heliograph.model import Explanation, Notifications, Receipt, Rejections, Stats, rejection_report
from heliograph.storage import Saved, read_folder
from heliograph.subscriptions import Subscription, Subscriptions
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary
from heliograph.watch import save as saving
from heliograph.watch.explain import explain
from heliograph.watch.layout import Int32s
from heliograph.watch.options import Options, check_mode, check_options, read_options
from heliograph.watch.plain import Plain
from heliograph.watch.report import Run
from heliograph.watch.state import Aside, Interest, Reevaluation, Snapshot, Watched
from heliograph.watch.updates import Encoded, Extent, Intake, Updates, as_encoded, background, extent, read_updates
from heliograph.watch.updates import Sequence as UpdatesSequence

# ----------------------------------------------------------------------------------------------------------------------
# How updates are answered: in plain Python while there is little to do, by the kernels as soon as they pay.
#
# A small job ends in milliseconds and loads no kernel. The law: all strategies give the same notifications in the
# same order, and one that goes over to another in mid-stream gives them too, wherever it goes over.
# ----------------------------------------------------------------------------------------------------------------------

ALGORITHMS = ("auto", "plain", "indexed")

# How long the plain way may take in an engine's life, the metrics of the next update included, before the kernels are
# loaded, which takes about a second, or compiled, which takes about a minute.
WARM_NS, COLD_NS = 300_000_000, 8_000_000_000

# With more than so many of them, kernels that need no compiling are loaded at once.
SUBSCRIPTIONS, ROWS = 2_000, 20_000

_KERNEL = "watch.network_kernels.run"


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


# ----------------------------------------------------------------------------------------------------------------------
# Watch: which continuous queries over an evolving graph did this update make true, or false?
#
# The law: one update at a time, any batch size and any interleaving with save and load give the same notifications,
# each with the seq of the update that caused it, because a batch is nothing but its rows in order.
#
# Behind it stands a strategy: see `watch.strategies`.
#
# Memory: terms are interned for good, so a stream that brings ever new names leaves some that nothing refers to. When
# these are more than the others, the engine goes over to a vocabulary of the others alone: the strategy is made anew
# from its snapshot, as by saving and loading. So the law is that of saving: no notification changes.
# ----------------------------------------------------------------------------------------------------------------------

_LOG = logging.getLogger("heliograph")

LEAST = 1 << 16  # terms that nothing refers to, before they are given back
EACH = 4  # so many for each subscription, as all of them are entered again then
LETTERS = 8  # of a query's text for each of its terms, about


class Watch:
    """Continuous queries over an evolving graph.

    `mode` is the default of subscriptions that do not say: `each` match, or `change` of truth. `initial` reports what
    holds already when a subscription is made, first in the next `publish`. `window` ("7d", seconds, a timedelta) and
    `window_updates` let edges expire. `witness` adds the edges of a match to its evidence. `algorithm` is one of
    `strategies.ALGORITHMS`; by default small jobs are done in plain Python and large ones by the kernels.
    """

    def __init__(
        self,
        mode: str = "each",
        *,
        taxonomy: Any = None,
        prefixes: Mapping[str, str] | None = None,
        initial: bool = False,
        window: str | float | timedelta | None = None,
        window_updates: int | None = None,
        witness: bool = False,
        algorithm: str = "auto",
    ) -> None:
        self._vocabulary = Vocabulary()
        self.witness = bool(witness)
        self._lock = threading.RLock()
        self._defaults = Options(mode=check_mode(mode), initial=bool(initial))
        self._subscriptions = Subscriptions("watch", prefixes)
        self._taxonomy = _read_taxonomy(taxonomy, self._subscriptions.prefixes)
        self._extent = extent(window, window_updates)
        self._strategy = strategy(algorithm, self._vocabulary, self._taxonomy, self._extent)
        self._sequence = UpdatesSequence()
        self._measuring: set[str] = set()  # the ids of those who ask metrics
        self._total = Stats()
        self._torn: str | None = None  # why the graph may hold a part of a batch
        self._brought = 0  # terms that came with updates, or with subscriptions that went
        self._due = LEAST  # of them, before those that are still referred to are counted
        self._encoded: weakref.WeakSet[Updates] = weakref.WeakSet()
        self._fixed = False  # whether somebody may have ids

    @property
    def vocabulary(self) -> Vocabulary:
        """The engine's terms by their ids. Once it was asked for, ids stay as they are, and no term is given back."""
        with self._lock:
            self._fixed = True
            return self._vocabulary

    @property
    def rejected(self) -> Rejections:
        """What was wrong with the taxonomy: rows that spell no terms, and cycles by name."""
        return rejection_report(self._taxonomy.rejected)

    # --- interests ----------------------------------------------------------------------------------------------

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        """Takes SPARQL subscriptions (with options), or the tables `patterns` and `constraints`."""
        started = time.perf_counter_ns()
        with self._lock:
            taken, receipt = self._subscriptions.subscribe(
                items, patterns=patterns, constraints=constraints, accept=self._check
            )
            self._add(taken)
            failed = self._strategy.aside.report(each.id for each in taken)
            receipt = Receipt(receipt.accepted - len(failed), receipt.rejected + failed)
            self._count(Stats(rejected=receipt.rejected.total, parse_ns=time.perf_counter_ns() - started))
        return receipt

    def unsubscribe(self, ids: Any) -> Receipt:
        """Removes subscriptions by id. What held for them is not reported as lost."""
        with self._lock:
            removed, receipt = self._subscriptions.unsubscribe(ids)
            aside = self._strategy.aside
            self._strategy.remove([each for each in removed if not aside.drop(each.id)])
            self._measuring.difference_update(each.id for each in removed)
            self._count(Stats(rejected=receipt.rejected.total))
            self._brought += sum(EACH + len(each.text or "") // LETTERS for each in removed)
            self._give_back()
        return receipt

    def _add(self, taken: Collection[Subscription]) -> None:
        self._measuring.update(each.id for each in taken if each.query.metrics)
        self._strategy.add([Interest(each, self._options(each)) for each in taken])

    def _options(self, subscription: Subscription) -> Options:
        return read_options(subscription.options, self._defaults)

    def _check(self, subscription: Subscription) -> None:
        check_options(self._options(subscription), subscription.query, subscription.text)

    # --- the graph ----------------------------------------------------------------------------------------------

    def load_graph(self, items: Any) -> Receipt:
        """Adds triples silently: a triples, publications or updates table, documents' publications, or tuples."""
        started = time.perf_counter_ns()
        with self._lock:
            self._check_whole()
            known = len(self._vocabulary)
            encoded, rejected = background(items, self._vocabulary, self._subscriptions.prefixes)
            self._brought += len(self._vocabulary) - known
            try:
                self._strategy.load(encoded)
            except BaseException as error:
                self._tear("load_graph", error)
                raise
            self._count(Stats(rejected=len(rejected), load_ns=time.perf_counter_ns() - started))
        return Receipt(len(encoded), Rejections(rejected))

    def encode(self, items: Any) -> Updates:
        """Reads updates without applying them: a batch of ids, to be published as often as wanted."""
        started = time.perf_counter_ns()
        with self._lock:
            known = len(self._vocabulary)
            updates = read_updates(as_table("updates", items), self._vocabulary, self._subscriptions.prefixes)
            self._brought += len(self._vocabulary) - known
            self._encoded.add(updates)
            rejected = len(updates.unread) + len(updates.problems)
            self._count(Stats(rejected=rejected, load_ns=time.perf_counter_ns() - started))
        return updates

    def publish(self, items: Any, *, witness: bool | None = None) -> Notifications:
        """Applies updates in the order of their rows; what each of them changed is reported with its seq."""
        with self._lock:
            self._check_whole()
            self._give_back()
            run, known = Run(self.witness if witness is None else witness), len(self._vocabulary)
            encoded, rejected = as_encoded(items, self._intake())
            self._brought += len(self._vocabulary) - known
            run.loaded()
            run.rejected.extend(rejected)
            run.accepted = len(encoded)
            try:
                self._strategy.publish(encoded, run)
            except BaseException as error:
                if run.begun:
                    self._tear("publish", error)
                raise
            run.rejected.extend(self._strategy.aside.report())
            outcome = run.outcome(len(self._subscriptions))
            self._count(outcome.stats)
        return outcome

    def _give_back(self) -> None:
        """Goes over to a vocabulary without the terms that nothing refers to, if these are more than the others."""
        if self._brought < self._due or self._fixed:
            return
        self._brought = min(self._brought, len(self._vocabulary))  # subscriptions that went may have shared theirs
        kept = self._referred()
        enough = max(LEAST, len(kept), EACH * len(self._subscriptions))
        if self._brought - len(kept) >= enough:
            try:
                self._renew(kept)
            except Exception as error:  # it can do without
                _LOG.warning("terms were not given back: %s, %s", type(error).__name__, error, exc_info=error)
        self._due = max(len(kept) + enough, self._brought + enough // 2)

    def _referred(self) -> Int32s:
        """The ids of the terms that the graph and encoded batches refer to, ascending."""
        own, referred = self._vocabulary, np.zeros(len(self._vocabulary) + 1, np.bool_)  # NO_TERM is the last entry
        referred[self._strategy.ids()] = True
        for batch in (each.encoded for each in self._encoded if each.vocabulary is own):
            referred[batch.subject] = referred[batch.predicate] = referred[batch.object] = True
        return np.flatnonzero(referred[:-1]).astype(np.int32)

    def _renew(self, kept: Int32s) -> None:
        """Goes over to a vocabulary of these terms and those of subscriptions; an interrupt leaves all as it was."""
        self._strategy.settle(self.witness)
        own, vocabulary, snapshot = self._vocabulary, self._vocabulary.only(kept), self._strategy.snapshot()
        strategy = self._strategy.rebased(vocabulary, snapshot.renumbered(own, kept, vocabulary))
        self._strategy, self._vocabulary, self._brought = strategy, vocabulary, len(kept)

    def _tear(self, call: str, error: BaseException) -> None:
        """A call failed, or was interrupted, in the midst of its updates: nobody goes on with a part of them."""
        self._torn = f"{call} failed in the midst of its updates: {type(error).__name__}, {error}"

    def _check_whole(self) -> None:
        if self._torn is not None:
            raise PublicationError(
                "HG-658",
                f"{self._torn}; the graph holds a part of them, and what they changed was not told",
                fix="load the last save, or make a new engine, and publish from there on",
            )

    def _intake(self) -> Intake:
        timed = self._extent.span is not None
        return Intake(self._vocabulary, self._subscriptions.prefixes, self._sequence, timed)

    @property
    def seq(self) -> int | None:
        """The seq of the latest update: where the graph stands."""
        return self._sequence.last

    # --- questions ----------------------------------------------------------------------------------------------

    def explain(self, subscription: str, publication: int | str | None = None) -> Explanation:
        """Why a query holds now; or how much of it does, what is missing, and which update would complete it.

        `publication` is the seq after which the graph is meant. The engine knows only the graph as it is now, so a seq
        before the last is refused; replay the updates up to it.
        """
        with self._lock:
            self._check_whole()
            id = self._subscriptions[subscription].id
            self._strategy.settle(witness=True)
            if id in self._strategy.aside:
                return self._strategy.aside.explanation(id, self._sequence.reached(publication))
            return explain(self._strategy.watched(id), self._strategy.answers, self._sequence.reached(publication))

    def stats(self) -> Stats:
        """The sum of everything so far."""
        with self._lock:
            return self._total + Stats(subscriptions=len(self._subscriptions))

    def _count(self, stats: Stats) -> None:
        self._total = self._total + stats

    # --- saving -------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Saves graph, subscriptions and stream position; the loaded engine goes on as this one would."""
        with self._lock:
            self._check_whole()
            self._strategy.settle(self.witness)
            snapshot = self._strategy.snapshot()
            tables = self._subscriptions.tables()
            tables["graph"] = saving.graph_table(snapshot.edges, self._vocabulary)
            tables["taxonomy"] = saving.taxonomy_table(self._taxonomy)
            metrics = saving.pack_metrics(snapshot.memory, self._vocabulary) if self._measuring else None
            saving.write(path, tables, self._meta(snapshot), metrics)

    def _meta(self, snapshot: Snapshot) -> dict[str, Any]:
        return {
            "settings": {"mode": self._defaults.mode, "initial": self._defaults.initial, "witness": self.witness},
            "prefixes": dict(self._subscriptions.prefixes),
            "window": {"extent": self._extent, "clock": snapshot.clock, "number": snapshot.number},
            "sequence": self._sequence.meta(),
            "board": saving.memory_meta(snapshot.memory),
            "aside": self._strategy.aside.meta(),
        }

    @classmethod
    def load(cls, path: str | Path, *, algorithm: str = "auto") -> Self:
        """An engine that goes on where the saved one stood, by any algorithm."""
        check_algorithm(algorithm)
        saved = read_folder(path, saving.KIND, saving.READ)
        with saving.damaged(path):
            settings = {**saved.meta["settings"], **saving.window_settings(saved.meta["window"]["extent"])}
            taxonomy = saving.restore_taxonomy(saved.tables["taxonomy"])
            engine = cls(taxonomy=taxonomy, prefixes=saved.meta["prefixes"], algorithm=algorithm, **settings)
            engine._restore(saved)
        return engine

    def _restore(self, saved: Saved) -> None:
        self._sequence = UpdatesSequence.restored(saved.meta["sequence"])
        if "aside" in saved.meta:  # older saves say nothing of it
            self._strategy.aside.restore(saved.meta["aside"])
        taken = self._subscriptions.restore(saved.tables, accept=self._check)
        self._add([each for each in taken if each.id not in self._strategy.aside])
        edges, window = saving.read_edges(saved.tables["graph"], self._vocabulary), saved.meta["window"]
        memory = saving.restore_metrics(saving.restore_memory(saved.meta["board"]), saved, self._vocabulary)
        self._strategy.restore(Snapshot(edges, window["clock"], window["number"], memory))


def _read_taxonomy(taxonomy: Any, prefixes: Mapping[str, str]) -> Taxonomy:
    if isinstance(taxonomy, Taxonomy):
        return taxonomy
    return Taxonomy() if taxonomy is None else Taxonomy.read(taxonomy, prefixes)
