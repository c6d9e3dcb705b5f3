"""The indexed strategy: an update is followed once through what queries share; docs/watching.md names the limits.

Queries are compiled into a network over the evolving graph (`network`), kernels carry each update through it
(`machine`), and what they tell is made into reports here. See `docs/watching.md`.

The law: it tells what `Plain` tells, in the same order. Subscriptions to an empty graph wait until there is something
to be entered over, so that a graph may be loaded or restored first; in every other case they are entered at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from heliograph.baselines.solve import Plan
from heliograph.baselines.watch_naive import Reevaluation
from heliograph.evolution.derived import Derived, Relation
from heliograph.evolution.graph import FlatGraph
from heliograph.evolution.triples import Triples
from heliograph.kernels.evolution_layout import LIVE, OBJECT, PREDICATE, SUBJECT, Int32s, Rows
from heliograph.subscriptions import Subscription
from heliograph.syntax.bulk import collector_paused
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary
from heliograph.watch.aside import Aside
from heliograph.watch.board import Interest, Watched, afresh
from heliograph.watch.encoding import ADD, Encoded
from heliograph.watch.enrolment import Enrolment
from heliograph.watch.metrics.metered import Metered
from heliograph.watch.modes import Solution, order
from heliograph.watch.reports import issue
from heliograph.watch.run import Run
from heliograph.watch.snapshots import Edges, Memory, Snapshot
from heliograph.watch.telling import Teller
from heliograph.watch.window import Extent

_BLOCK = 1 << 16  # updates after which what they changed is told
_GARBAGE = 10_000  # rows left behind by subscriptions that went, before the network is made anew


class Indexed:
    """Queries in a network over flat arrays."""

    def __init__(self, vocabulary: Vocabulary, taxonomy: Taxonomy, extent: Extent, aside: Aside | None = None) -> None:
        self._vocabulary, self._taxonomy, self._extent = vocabulary, taxonomy, extent
        self.aside = Aside() if aside is None else aside
        self._interests: dict[str, Interest] = {}
        self._begin()

    def _begin(self, memory: Memory | None = None) -> None:
        """An empty graph and an empty network."""
        self._graph = FlatGraph(self._extent.span, self._extent.updates)
        derived = Derived(self._taxonomy, self._vocabulary, self._base)
        self._graph.set_virtual(min(map(derived.virtual, Relation)))
        self._enrolment = Enrolment(self._graph, derived, self._vocabulary, memory or Memory(), self.aside)
        self._teller = Teller(self._enrolment, self._vocabulary)
        self._enrolment.machine.trim = self._teller.guard.trim
        self._pending: dict[str, Interest] = {}
        self._returning: frozenset[str] = frozenset()  # who came earlier, and is only entered again
        triples = Triples(self._graph, self._vocabulary)
        metered = Metered(self._enrolment.meter, self._vocabulary, self._enrolment.selected)
        self.answers = Reevaluation(triples, self._taxonomy, metered)

    def _base(self) -> Int32s:
        """The edges of the graph, for whoever derives others from them."""
        edges = self._graph.arrays.edges[self._graph.edge_numbers()]
        return edges[:, [SUBJECT, PREDICATE, OBJECT]]

    # --- interests ----------------------------------------------------------------------------------------------

    def add(self, interests: Sequence[Interest]) -> None:
        added = {each.subscription.id: each for each in interests}
        waiting = bool(self._pending)  # if so, they are entered together
        self._interests |= added
        self._pending |= added
        if self._graph.arrays.counters[LIVE] and not waiting:
            self._enter()

    def remove(self, subscriptions: Sequence[Subscription]) -> None:
        for subscription in subscriptions:
            interest = self._interests.pop(subscription.id)
            if self._pending.pop(subscription.id, None) is None:
                self._enrolment.leave(subscription.id)
            else:
                self._enrolment.forget(interest)
        self._returning -= {subscription.id for subscription in subscriptions}
        if self._enrolment.garbage > max(_GARBAGE, 8 * len(self._interests)):
            self.restore(self.snapshot())

    def watched(self, id: str) -> Watched:
        self._enter()
        entry = self._enrolment.entries.get(id)
        if entry is not None:
            self._enrolment.settle()
            if entry.interest.options.top is not None:
                return self._enrolment.placed(entry)
            if entry.judged is not None:
                return self._enrolment.standing(entry)
        held = self._enrolment.memory().held.get(id, ())
        return afresh(self._interests[id], self.answers, held, witness=False)

    def _enter(self) -> None:
        while self._pending:
            self._enter_pending()
            self._expel()

    def _expel(self) -> bool:
        """Goes on without those that were put aside, if there are any; whether there were.

        What they left behind in the network cannot be trusted, so all others are to be entered again.
        """
        failed = [id for id in self.aside if id in self._interests]
        for id in failed:
            del self._interests[id]
            self._pending.pop(id, None)
        if failed:
            self.restore(self.snapshot())
        return bool(failed)

    def _enter_pending(self) -> None:
        pending, self._pending = self._pending, {}
        self._graph.cover(len(self._vocabulary))
        try:
            with collector_paused():
                self._enrolment.enter(list(pending.values()), self._returning)
        except BaseException:  # Ctrl-C too: whoever was not reached is still to be entered
            entered = self._enrolment.entries
            self._pending = {id: each for id, each in pending.items() if id not in entered}
            raise

    # --- updates ------------------------------------------------------------------------------------------------

    def load(self, updates: Encoded) -> None:
        if len(self._pending) < len(self._interests):
            self._load_again(updates)
        else:
            ranked = [id for id, each in self._pending.items() if each.options.top is not None]
            self._enrolment.unplace(id for id in ranked if id in self._returning)
            self._load(updates)

    def _load(self, updates: Encoded) -> None:
        """Loads into a graph over which nobody has been entered."""
        if (updates.op == ADD).all():
            self._graph.load(
                updates.subject, updates.predicate, updates.object, updates.weight, updates.at, updates.seq
            )
        else:
            self._load_one_by_one(updates)

    def _load_one_by_one(self, updates: Encoded) -> None:
        """Background that removes: the plain graph knows how, and is seldom large."""
        from heliograph.watch.plain import Plain

        plain = Plain(self._vocabulary, self._taxonomy, self._extent)
        plain.restore(self.snapshot()._replace(memory=Memory()))  # which has no subscriptions
        plain.load(updates)
        edges, clock, number, _ = plain.snapshot()
        pending, returning = self._pending, self._returning
        self._begin(self._enrolment.memory())
        self._pending, self._returning = pending, returning
        self._restore_graph(edges, clock, number)

    def _load_again(self, updates: Encoded) -> None:
        """Loads under queries that are there: they are entered again when it is done."""
        memory = self._enrolment.memory()
        edges, clock, number, _ = self.snapshot()
        new = self._pending.keys()
        self._begin(memory._replace(unplaced=frozenset(memory.unplaced | self._enrolment.ranked)))
        self._return(new)
        self._restore_graph(edges, clock, number)
        self._load(updates)
        self._hand_over(memory)

    def settle(self, witness: bool) -> None:
        self._enter()
        self._enrolment.settle()
        while self._expel():
            self._enter()
            self._enrolment.settle()

    def publish(self, updates: Encoded, run: Run) -> None:
        self.settle(run.witness)
        run.take(issue(self._enrolment.greet(self.answers, run.witness), None, run.witness, self._fail))
        run.truncated += self._teller.guard.cut()
        if self._expel():
            self.settle(run.witness)
        self._enrolment.machine.reserve(int((updates.op == ADD).sum()))
        done = 0
        while done < len(updates):
            block = 1 if run.witness and self._enrolment.needs_single_updates else _BLOCK
            done += self._apply(updates.take(slice(done, done + block)), run)
            if self._expel():
                self.settle(run.witness)
        if self._enrolment.machine.counts_too_many:
            run.truncated += 1  # not silently: what counts tell may be wrong

    def _apply(self, updates: Encoded, run: Run) -> int:
        """Applies updates, or the first of them, and tells what they changed; how many."""
        if not np.isnan(updates.weight).all():
            self._graph.keep_weights()
        run.begun = True
        events = self._enrolment.machine.run(updates)
        run.candidates += events.candidates
        applied = updates.take(slice(0, events.updates))
        self._teller.tell(events, applied, run, self._proof if run.witness else None)
        run.truncated += self._teller.guard.cut()
        return events.updates

    def _fail(self, subscription: Subscription, error: Exception) -> None:
        self.aside.put(subscription.id, error)

    def _proof(self, id: str) -> Solution:
        """The first solution in order of a query that has just become true."""
        plan = Plan.of(self._interests[id].subscription.query)
        return min(self.answers.solutions(plan), key=order, default={})

    # --- handing over -------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        saved = self._graph.saved()
        edges = Edges(*saved)
        asking = [id for id, each in self._pending.items() if each.options.initial]
        waiting = tuple(id for id in asking if id not in self._returning)
        return Snapshot(edges, self._graph.clock, self._graph.accepted, self._enrolment.memory(waiting))

    def restore(self, snapshot: Snapshot) -> None:
        self._begin(snapshot.memory)
        self._return(())
        self._restore_graph(snapshot.edges, snapshot.clock, snapshot.number)
        self._hand_over(snapshot.memory)

    def ids(self) -> Int32s:
        return self._base().ravel()

    def rebased(self, vocabulary: Vocabulary, snapshot: Snapshot) -> Indexed:
        fresh = Indexed(vocabulary, self._taxonomy, self._extent, self.aside)
        fresh.add(list(self._interests.values()))
        fresh.restore(snapshot)
        return fresh

    def _return(self, new: Collection[str]) -> None:
        """Everybody is to be entered again, and the new ones for the first time."""
        self._pending = dict(self._interests)
        self._returning = frozenset(self._interests.keys() - set(new))

    def _hand_over(self, memory: Memory) -> None:
        """Lets measures take over what they kept: whoever asks for one after all have left it gets a new one."""
        if memory.measures:
            self._enter()

    def _restore_graph(self, edges: Edges, clock: int | None, number: int) -> None:
        self._graph.restore(Rows(*edges))
        self._graph.set_clocks(clock, number)
