"""Watch: which continuous queries over an evolving graph did this update make true, or false?

The law: one update at a time, any batch size and any interleaving with save and load give the same notifications, each
with the seq of the update that caused it, because a batch is nothing but its rows in order. Behind it works a strategy
(`strategy`).

Memory: terms are interned for good, so a stream that brings ever new names leaves some that nothing refers to. When
these are more than the others, the engine goes over to a vocabulary of the others alone: the strategy is made anew from
its snapshot, as by saving and loading. So the law is that of saving: no notification changes.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import numpy as np

from heliograph.errors import PublicationError
from heliograph.io.tables import as_table, check_objects
from heliograph.model import (
    Explanation,
    Notifications,
    Receipt,
    Rejections,
    Spelling,
    Stats,
    counted,
    rejection_report,
    warn_if_nothing,
)
from heliograph.storage import Saved, read_folder, write_folder
from heliograph.subscriptions import Subscription, Subscriptions
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary
from heliograph.watch import save as saving
from heliograph.watch.explain import explain
from heliograph.watch.layout import Int32s
from heliograph.watch.options import Options, Subscribed, check_mode, check_options, read_options
from heliograph.watch.report import PublishRun
from heliograph.watch.strategy import WatchSnapshot, check_algorithm, strategy
from heliograph.watch.updates import SeqStream, UpdateReader, Updates, background, extent, read_updates

_LOG = logging.getLogger("heliograph")

LEAST = 1 << 16  # terms that nothing refers to, before they are given back
EACH = 4  # so many for each subscription, as all of them are entered again then
LETTERS = 8  # of a query's text for each of its terms, about


class Watch:
    """Continuous queries over an evolving graph.

    `mode` is the default of subscriptions that do not say: `each` match, or `change` of truth. `initial` reports what
    holds already when a subscription is made, first in the next `publish`. `window` ("7d", seconds, a timedelta) and
    `window_updates` let edges expire. `witness` adds the edges of a match to its evidence. `taxonomy` is what `Filter`
    takes. `algorithm` is one of `strategy.ALGORITHMS`; by default small jobs are done in plain Python and large ones by
    the kernels.
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
        if not (taxonomy is None or isinstance(taxonomy, Taxonomy)):
            taxonomy = Taxonomy.read(taxonomy, self._subscriptions.prefixes)
        self._taxonomy: Taxonomy = Taxonomy() if taxonomy is None else taxonomy
        self._extent = extent(window, window_updates)
        self._strategy = strategy(algorithm, self._vocabulary, self._taxonomy, self._extent)
        self._spelling = Spelling("terms", self._subscriptions.prefixes)
        self._sequence = SeqStream()
        self._reader = self._new_reader()
        self._measuring: set[str] = set()  # the ids of subscriptions that ask metrics
        self._total = Stats()
        self._torn: str | None = None  # why the graph may hold a part of a batch
        self._brought = 0  # terms that came with updates, or with subscriptions that went
        self._due = LEAST  # of them, before those that are still referred to are counted
        self._encoded: weakref.WeakSet[Updates] = weakref.WeakSet()
        self._fixed = False  # whether ids were handed out

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

    # --- subscriptions ----------------------------------------------------------------------------------------------

    def subscribe(
        self, items: Any = None, query: str | None = None, *, patterns: Any = None, constraints: Any = None
    ) -> Receipt:
        """Takes SPARQL subscriptions (with options), or the tables `patterns` and `constraints`.

        Items: `subscribe(id, query)`, `(id, query)`, `{id: query, …}`, dicts or tuples with the columns of the
        subscriptions table, an Arrow table, a pandas or Polars frame, or paths of tables and `.rq` files.
        """
        started = time.perf_counter_ns()
        with self._lock:
            taken, receipt = self._subscriptions.subscribe(
                items, query, patterns=patterns, constraints=constraints, accept=self._check
            )
            self._add(taken)
            failed = self._strategy.aside.report(each.id for each in taken)
            receipt = Receipt(receipt.accepted - len(failed), receipt.rejected + failed)
            self._count(Stats(rejected=receipt.rejected.total, parse_ns=time.perf_counter_ns() - started))
        warn_if_nothing(receipt.accepted, receipt.rejected, "subscriptions")
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
        self._strategy.add([Subscribed(each, self._options(each)) for each in taken])

    def _options(self, subscription: Subscription) -> Options:
        return read_options(subscription.options, self._defaults)

    def _check(self, subscription: Subscription) -> None:
        check_options(self._options(subscription), subscription.query, subscription.text)

    # --- the graph ----------------------------------------------------------------------------------------------

    def load_graph(self, items: Any, *, format: str | None = None, objects: str = "names") -> Receipt:
        """Adds triples without notifications.

        Items: tuples (s, p, o), publications, a table of triples, publications or updates, a frame, a graph of rdflib,
        the paths of tables and RDF documents, or a document in memory with its `format`.
        """
        started = time.perf_counter_ns()
        with self._lock:
            self._check_whole()
            known = len(self._vocabulary)
            texts = check_objects(objects)
            encoded, rejected = background(items, self._vocabulary, self._subscriptions.prefixes, format, texts)
            self._brought += len(self._vocabulary) - known
            try:
                self._strategy.load(encoded)
            except BaseException as error:
                self._tear("load_graph", error)
                raise
            self._count(Stats(rejected=len(rejected), load_ns=time.perf_counter_ns() - started))
        warn_if_nothing(len(encoded), rejected, "triples")
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

    def publish(
        self,
        items: Any,
        *,
        witness: bool | None = None,
        format: str | None = None,
        objects: str = "names",
        evidence: str = "terms",
    ) -> Notifications:
        """Applies updates in the order of their rows; what each of them changed is reported with its seq.

        Items: dicts or tuples with the columns of the updates table, an Arrow table, a pandas or Polars frame, or paths
        of tables; RDF documents, graphs of rdflib and documents in memory with their `format` add all their triples.
        With `objects="texts"` a bare word in the object column is a string; by default it is a name.
        """
        with self._lock:
            self._check_whole()
            self._give_back()
            run, known = PublishRun(self.witness if witness is None else witness), len(self._vocabulary)
            texts = objects != "names" and check_objects(objects)
            encoded, rejected = self._reader.read(items, format, texts)
            self._brought += len(self._vocabulary) - known
            run.loaded()
            run.rejected = rejected
            run.accepted = len(encoded)
            try:
                self._strategy.publish(encoded, run)
            except BaseException as error:
                if run.begun:
                    self._tear("publish", error)
                raise
            run.rejected += self._strategy.aside.report()
            outcome = run.outcome(len(self._subscriptions))
            self._count(outcome.stats)
        if rejected:
            warn_if_nothing(len(encoded), rejected, "updates")
        if not outcome.stats.notifications:
            return outcome
        prefixes = self._subscriptions.prefixes
        return outcome.spelled(self._spelling if evidence == "terms" else Spelling.of(evidence, prefixes))

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
        self._strategy.refresh(self.witness)
        own, vocabulary, snapshot = self._vocabulary, self._vocabulary.only(kept), self._strategy.snapshot()
        strategy = self._strategy.rebased(vocabulary, snapshot.renumbered(own, kept, vocabulary))
        self._strategy, self._vocabulary, self._brought = strategy, vocabulary, len(kept)
        self._reader = self._new_reader()

    def _tear(self, call: str, error: BaseException) -> None:
        """A call failed, or was interrupted, in the midst of its updates: no call goes on with a part of them."""
        self._torn = f"{call} failed in the midst of its updates: {type(error).__name__}, {error}"

    def _check_whole(self) -> None:
        if self._torn is not None:
            raise PublicationError(
                "HG-658",
                f"{self._torn}; the graph holds a part of them, and what they changed was not reported",
                fix="load the last save, or make a new engine, and publish from there on",
            )

    def _new_reader(self) -> UpdateReader:
        timed = self._extent.span is not None
        return UpdateReader(self._vocabulary, self._subscriptions.prefixes, self._sequence, timed)

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
            self._strategy.refresh(witness=True)
            if id in self._strategy.aside:
                return self._strategy.aside.explanation(id, self._sequence.reached(publication))
            found = explain(self._strategy.watched(id), self._strategy.answers, self._sequence.reached(publication))
            return found.spelled(self._subscriptions.prefixes)

    def __len__(self) -> int:
        return len(self._subscriptions)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, id: object) -> bool:
        return id in self._subscriptions

    def __repr__(self) -> str:
        seq = "no update yet" if self.seq is None else f"after update {self.seq}"
        return f"Watch({counted(len(self), 'subscription')}, {seq})"

    def subscriptions(self) -> dict[str, str | None]:
        """The query of each subscription, by id; None for one that came as rows of patterns."""
        with self._lock:
            return {each.id: each.text for each in self._subscriptions}

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
            self._strategy.refresh(self.witness)
            snapshot = self._strategy.snapshot()
            tables = self._subscriptions.tables()
            tables["graph"] = saving.graph_table(snapshot.edges, self._vocabulary)
            tables["taxonomy"] = self._taxonomy.table()
            meta = {
                "settings": {"mode": self._defaults.mode, "initial": self._defaults.initial, "witness": self.witness},
                "prefixes": dict(self._subscriptions.prefixes),
                "window": {"extent": self._extent, "clock": snapshot.clock, "number": snapshot.number},
                "sequence": self._sequence.meta(),
                "board": saving.memory_meta(snapshot.memory),
                "aside": self._strategy.aside.meta(),
            }
            version, arrays = saving.VERSION, saving.Arrays()
            if self._measuring:  # it is saved in a version of its own
                meta["metrics"] = saving.metrics_meta(snapshot.memory, self._vocabulary)
                version, arrays = saving.MEASURED, saving.metric_arrays(snapshot.memory)
            write_folder(path, saving.KIND, version, arrays=arrays, tables=tables, meta=meta)

    @classmethod
    def load(cls, path: str | Path, *, algorithm: str = "auto") -> Self:
        """An engine that goes on where the saved one stood, by any algorithm."""
        check_algorithm(algorithm)
        saved = read_folder(path, saving.KIND, saving.READ)
        with saving.damaged(path):
            settings = {**saved.meta["settings"], **saving.window_settings(saved.meta["window"]["extent"])}
            taxonomy = Taxonomy.of_table(saved.tables["taxonomy"])
            engine = cls(taxonomy=taxonomy, prefixes=saved.meta["prefixes"], algorithm=algorithm, **settings)
            engine._restore(saved)
        return engine

    def _restore(self, saved: Saved) -> None:
        self._sequence = SeqStream.restored(saved.meta["sequence"])
        self._reader = self._new_reader()
        self._strategy.aside.restore(saved.meta["aside"])
        taken = self._subscriptions.restore(saved.tables, accept=self._check)
        self._add([each for each in taken if each.id not in self._strategy.aside])
        self._strategy.aside.proven.update(each.id for each in taken)  # what is saved has been entered once
        edges, window = saving.read_edges(saved.tables["graph"], self._vocabulary), saved.meta["window"]
        memory = saving.restore_memory(saved, self._vocabulary)
        self._strategy.restore(WatchSnapshot(edges, window["clock"], window["number"], memory))
