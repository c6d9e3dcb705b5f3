"""Watch: which continuous queries over an evolving graph did this update make true, or false?

The law: one update at a time, any batch size and any interleaving with save and load give the same notifications, each
with the seq of the update that caused it, because a batch is nothing but its rows in order.

Behind it stands the plain engine of `baselines.watch_naive`: what an update could concern is answered again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from heliograph.baselines.watch_naive import Reevaluation
from heliograph.errors import HeliographError, PublicationError
from heliograph.model import Explanation, Notifications, Receipt, Rejected, Rejections, Stats
from heliograph.storage import Saved, read_folder, write_folder
from heliograph.subscriptions import Subscription, Subscriptions
from heliograph.tables.items import as_table
from heliograph.tables.reads import Read
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary
from heliograph.watch import saving
from heliograph.watch.background import background
from heliograph.watch.board import Board, joined
from heliograph.watch.evolving import EvolvingGraph
from heliograph.watch.explain import explain
from heliograph.watch.options import Options, check_mode, check_options, read_options
from heliograph.watch.reading import Row, Sequence, read_rows
from heliograph.watch.reports import issue
from heliograph.watch.run import Run
from heliograph.watch.updates import Update
from heliograph.watch.window import Extent, extent


class Watch:
    """Continuous queries over an evolving graph.

    `mode` is the default of subscriptions that do not say: `each` match, or `change` of truth. `initial` reports what
    holds already when a subscription is made, first in the next `publish`. `window` ("7d", seconds, a timedelta) and
    `window_updates` let edges expire. `witness` adds the edges of a match to its evidence.
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
    ) -> None:
        self.vocabulary = Vocabulary()
        self.witness = bool(witness)
        self._lock = threading.RLock()
        self._defaults = Options(mode=check_mode(mode), initial=bool(initial))
        self._subscriptions = Subscriptions("watch", prefixes)
        self._taxonomy = _read_taxonomy(taxonomy, self._subscriptions.prefixes)
        self._graph = EvolvingGraph(extent(window, window_updates))
        self._answers = Reevaluation(self._graph.triples, self._taxonomy)
        self._board = Board(self._answers)
        self._sequence = Sequence()
        self._total = Stats()

    @property
    def rejected(self) -> Rejections:
        """What was wrong with the taxonomy: rows that spell no terms, and cycles by name."""
        return self._taxonomy.rejected

    # --- interests ----------------------------------------------------------------------------------------------

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        """Takes SPARQL subscriptions (with options), or the tables `patterns` and `constraints`."""
        started = time.perf_counter_ns()
        with self._lock:
            taken, receipt = self._subscriptions.subscribe(
                items, patterns=patterns, constraints=constraints, accept=self._check
            )
            for subscription in taken:
                self._board.add(subscription, self._options(subscription))
            self._count(Stats(rejected=len(receipt.rejected), parse_ns=time.perf_counter_ns() - started))
        return receipt

    def unsubscribe(self, ids: Any) -> Receipt:
        """Removes subscriptions by id. What held for them is not reported as lost."""
        with self._lock:
            removed, receipt = self._subscriptions.unsubscribe(ids)
            for subscription in removed:
                self._board.remove(subscription)
            self._count(Stats(rejected=len(receipt.rejected)))
        return receipt

    def _options(self, subscription: Subscription) -> Options:
        return read_options(subscription.options, self._defaults)

    def _check(self, subscription: Subscription) -> None:
        check_options(self._options(subscription), subscription.query)

    # --- the graph ----------------------------------------------------------------------------------------------

    def load_graph(self, items: Any) -> Receipt:
        """Adds triples silently: a triples, publications or updates table, documents' publications, or tuples."""
        started = time.perf_counter_ns()
        with self._lock:
            updates, rejected = background(items, self.vocabulary, self._subscriptions.prefixes)
            self._graph.load(updates)
            self._board.unsettle()
            self._count(Stats(rejected=len(rejected), load_ns=time.perf_counter_ns() - started))
        return Receipt(len(updates), Rejections(rejected))

    def publish(self, items: Any, *, witness: bool | None = None) -> Notifications:
        """Applies updates in the order of their rows; what each of them changed is reported with its seq."""
        with self._lock:
            run = Run(self.witness if witness is None else witness)
            read = as_table("updates", items)
            rows = read_rows(read, self.vocabulary, self._subscriptions.prefixes)
            run.rejected.extend(read.rejected)
            run.loaded()
            self._board.settle(run.witness)
            run.take(issue(self._board.greet(), None, run.witness))
            self._sequence.begin(read, piece=isinstance(items, Read))
            for row in rows:
                self._apply(row, run)
            self._sequence.end()
            outcome = run.outcome(len(self._subscriptions))
            self._count(outcome.stats)
        return outcome

    def _apply(self, row: Row, run: Run) -> None:
        self._sequence.see(row)
        try:
            update = self._admit(row)
        except HeliographError as error:
            run.rejected.append(Rejected.of(error))
            return
        reaction = joined([self._board.react(effect, run.witness) for effect in self._graph.apply(update)])
        run.accepted += 1
        run.candidates += reaction.candidates
        run.verified += len(reaction.reports)
        run.take(issue(reaction.reports, update, run.witness))

    def _admit(self, row: Row) -> Update:
        """The row's update with its seq, if nothing speaks against it."""
        if isinstance(row.outcome, HeliographError):
            raise row.outcome
        if self._graph.window.extent.span is not None and row.outcome.at is None:
            raise PublicationError(
                "HG-625", "an update without a time in a time window", place=row.place, fix="fill the column 'at'"
            )
        return row.outcome._replace(seq=self._sequence.take(row))

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
            watched = self._board[self._subscriptions[subscription].id]
            self._board.settle(witness=True)
            return explain(watched, self._answers, self._sequence.reached(publication))

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
            self._board.settle(self.witness)
            tables = self._subscriptions.tables()
            tables["graph"] = saving.graph_table(self._graph)
            tables["taxonomy"] = saving.taxonomy_table(self._taxonomy)
            write_folder(path, saving.KIND, saving.VERSION, tables=tables, meta=self._meta())

    def _meta(self) -> dict[str, Any]:
        window = self._graph.window
        return {
            "settings": {"mode": self._defaults.mode, "initial": self._defaults.initial, "witness": self.witness},
            "prefixes": dict(self._subscriptions.prefixes),
            "window": {"extent": window.extent, "clock": window.clock, "number": window.number},
            "sequence": self._sequence.meta(),
            "board": saving.memory_meta(self._board.memory()),
        }

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """An engine that goes on where the saved one stood."""
        saved = read_folder(path, saving.KIND, {saving.VERSION})
        with saving.damaged(path):
            taxonomy = saving.restore_taxonomy(saved.tables["taxonomy"])
            engine = cls(taxonomy=taxonomy, prefixes=saved.meta["prefixes"], **saved.meta["settings"])
            engine._restore(saved)
        return engine

    def _restore(self, saved: Saved) -> None:
        window = self._graph.window
        window.extent = Extent(*saved.meta["window"]["extent"])
        window.clock, window.number = saved.meta["window"]["clock"], saved.meta["window"]["number"]
        saving.restore_graph(self._graph, saved.tables["graph"])
        self._sequence = Sequence.restored(saved.meta["sequence"])
        for subscription in self._subscriptions.restore(saved.tables, accept=self._check):
            self._board.add(subscription, self._options(subscription))
        self._board.restore(saving.restore_memory(saved.meta["board"]), self.witness)


def _read_taxonomy(taxonomy: Any, prefixes: Mapping[str, str]) -> Taxonomy:
    if isinstance(taxonomy, Taxonomy):
        return taxonomy
    return Taxonomy() if taxonomy is None else Taxonomy.read(taxonomy, prefixes)
