"""The indexed strategy: an update is followed once through what queries share; docs/watching.md names the limits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.io.sources import collector_paused
from heliograph.sparql.solve import Plan
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term, Variable
from heliograph.vocabulary import Vocabulary
from heliograph.watch.derived import Derived, Relation
from heliograph.watch.evidence import Book, Texts, binding_texts, value_texts, with_values
from heliograph.watch.graph import FlatGraph, Triples
from heliograph.watch.layout import (
    LIVE,
    OBJECT,
    PREDICATE,
    SUBJECT,
    V_COUNT,
    V_ROW,
    W_KIND,
    W_PHASE,
    W_REF,
    W_SIGN,
    W_UPDATE,
    W_VALUE,
    Int32s,
    Int64s,
    Rows,
)
from heliograph.watch.metrics.meter import Metered, Page
from heliograph.watch.metrics.queries import Judged, Judging, Values, Verdict, are_plain, changes_of, shown_values
from heliograph.watch.modes import RankChange, Solution, Turn, after, order
from heliograph.watch.queries import Enrolment, Entry, count_turn, id_ranked, truth_turn
from heliograph.watch.report import Lines, Part, Run, in_order, issue, net, places, sort_events, spans
from heliograph.watch.runner import Events
from heliograph.watch.solutions import Changes, Every, Tally
from heliograph.watch.state import Aside, Edges, Interest, Memory, Reevaluation, Snapshot, Watched, afresh
from heliograph.watch.updates import ENCODING_ADD, Encoded, Extent, Flags

# ----------------------------------------------------------------------------------------------------------------------
# The guard on what one update lists: a query that explodes costs what it may tell, not what it matches.
#
# While a kernel lists solutions, whatever lies beyond a subscription's limit for its update is dropped as soon as
# there is much of it. The law: what is kept holds everything that would be told, the first matches in order, and what
# was dropped is counted. It holds as long as no solution is both lost and gained in one phase of an update.
#
# Only matches told one by one are bounded like this. Groups and distinct ones need all solutions to be known.
# ----------------------------------------------------------------------------------------------------------------------


class Listed(NamedTuple):
    """Events of one component, and the solutions of its pattern that they list."""

    events: Int64s
    terms: Int32s


class Guard:
    """Drops what nobody will be told; `cut` says how much of it there was."""

    def __init__(self, enrolment: Enrolment, book: Book) -> None:
        self._enrolment, self._book = enrolment, book
        self._cut = 0

    def cut(self) -> int:
        """How many matches were dropped since this was last asked."""
        cut, self._cut = self._cut, 0
        return cut

    def trim(self, events: Events, update: int) -> Events:
        """What is left of the events of a run that lacks room in the midst of an update."""
        listed = (events.events[:, W_KIND] == V_ROW) & (events.events[:, W_UPDATE] == update)
        ordered = events._replace(events=sort_events(events.events[listed], (W_PHASE, W_REF)))
        before = int(ordered.events[:, W_VALUE].min(initial=len(events.rows)))  # rows of earlier updates come first
        kept, rows, used = [events.events[~listed]], [events.rows[:before]], before
        for span in spans(ordered.events, (W_REF,)):
            told = self._trimmed(ordered, span)
            told.events[:, W_VALUE] = used + told.terms.shape[1] * np.arange(len(told.events))
            used += told.terms.size
            kept.append(told.events)
            rows.append(told.terms.ravel())
        return events._replace(events=np.concatenate(kept), rows=np.concatenate(rows))

    def _trimmed(self, events: Events, span: slice) -> Listed:
        """What one component may tell."""
        component, only = int(events.events[span.start, W_REF]), self._enrolment.listing
        entries: Collection[Entry] = self._enrolment.by_component[component].values()
        listed = Listed(events.events[span], events.listed(span, next(iter(entries)).slots))
        if only is not None:
            if component != self._enrolment.network.component(only.row):
                return Listed(listed.events[:0], listed.terms[:0])
            entries = (only,)
        most = max(entry.interest.options.limit for entry in entries)
        if len(listed.events) <= most or not all(isinstance(entry.deltas, Every) for entry in entries):
            return listed
        wanted = np.zeros(len(listed.events), np.bool_)
        for entry in entries:
            try:
                wanted |= self._told(entry, listed)
            except Exception as error:
                self._enrolment.aside.put(entry.id, error)
        self._count([entry for entry in entries if entry.id not in self._enrolment.aside], listed.terms[~wanted])
        return Listed(listed.events[wanted], listed.terms[wanted])

    def _told(self, entry: Entry, listed: Listed) -> Flags:
        """Which solutions are among the first of those lost, or of those gained."""
        assert entry.completion is not None
        origins, terms = entry.completion(listed.terms)
        events = listed.events[origins]
        changes = Changes(events[:, W_UPDATE], events[:, W_PHASE], events[:, W_SIGN] > 0, terms)
        order = in_order(changes, len(entry.shown), self._book)
        told = np.zeros(len(listed.events), np.bool_)
        told[origins[order[places(changes.gained[order].astype(np.int64)) < entry.interest.options.limit]]] = True
        return told

    def _count(self, entries: Collection[Entry], terms: Int32s) -> None:
        for entry in entries:
            assert entry.completion is not None
            self._cut += len(entry.completion(terms).origins)


# ----------------------------------------------------------------------------------------------------------------------
# Events of the kernels made into lines, in the order of the contract.
#
# Within an update: first what expired, then the update itself; both are told as one (`modes.after`). What needs
# nothing but its event is told as columns: truth without a witness, counts that crossed their limits, each row of
# `each`. The rest goes through turns, one subscription after the other: they do not depend on each other, but for
# top-k sets.
# ----------------------------------------------------------------------------------------------------------------------

Proof = Callable[[str], Mapping[Variable, Term]]


NOTHING_BOUND = '{"bindings":{}}'  # the evidence of a match without variables


class Teller:
    """Tells what a batch of updates changed."""

    def __init__(self, enrolment: Enrolment, vocabulary: Vocabulary) -> None:
        self._enrolment, self._book = enrolment, Book(vocabulary)
        self.guard = Guard(enrolment, self._book)

    def tell(self, events: Events, updates: Encoded, run: Run, proof: Proof | None) -> None:
        """Adds what some updates changed to a run; `proof` gives a witness of what has just become true."""
        page = self._enrolment.page()
        if not len(events.events) and not len(page.step) and not self._enrolment.ranking.stirred:
            return
        telling = _Telling(self._enrolment, self._book, proof)
        listed = events.events[:, W_KIND] == V_ROW
        telling.cross(events.events[~listed])
        telling.list(events._replace(events=sort_events(events.events[listed], (W_PHASE, W_UPDATE, W_REF))))
        telling.judge(page)
        telling.rank(len(updates))
        if not telling.lines.is_empty:
            run.tell(telling.lines.told(updates))


class _Telling:
    """One batch."""

    def __init__(self, enrolment: Enrolment, book: Book, proof: Proof | None) -> None:
        self.lines = Lines()
        self._enrolment, self._book, self._proof = enrolment, book, proof
        self._ranked: list[RankChange] = []
        self._coming: dict[Judged, Changes] = {}  # solutions of those who ask metrics besides

    def _try(self, entry: Entry, tell: Callable[[], None]) -> None:
        """Tells something of one subscription; if that fails, it alone is told nothing more."""
        if entry.id in self._enrolment.aside:
            return
        try:
            tell()
        except Exception as error:
            self._enrolment.aside.put(entry.id, error)

    # --- truth and counts ---------------------------------------------------------------------------------------

    def cross(self, events: Int64s) -> None:
        """Tells what became true or false, and counts that changed."""
        rows, inverse = np.unique(events[:, W_REF], return_inverse=True)
        entries = [self._enrolment.by_row[row] for row in rows.tolist()]
        quick = np.array([self._is_quick(entry) for entry in entries], np.bool_)[inverse]
        self._cross_quickly(events[quick], {entry.row: entry for entry in entries})
        self._cross_slowly(events[~quick])

    def _is_quick(self, entry: Entry) -> bool:
        """Whether an event tells everything."""
        return self._proof is None and not id_ranked(entry) and entry.rule is None

    def _cross_quickly(self, events: Int64s, entries: Mapping[int, Entry]) -> None:
        kept = events[~_passing(events)]
        for is_count in (False, True):
            some = kept[(kept[:, W_KIND] == V_COUNT) == is_count]
            if not len(some):
                continue
            rows, inverse = np.unique(some[:, W_REF], return_inverse=True)
            told = [entries[row] for row in rows.tolist()]
            numbers = np.array([entry.number for entry in told], np.int64)[inverse]
            texts = [None if is_count or entry.is_change else NOTHING_BOUND for entry in told]
            evidence = value_texts(some[:, W_VALUE]) if is_count else pa.array(texts, pa.string()).take(inverse)
            part = Part(some[:, W_UPDATE], some[:, W_SIGN] > 0, numbers, evidence)
            self.lines.add(part, (entry.interest for entry in told))

    def _cross_slowly(self, events: Int64s) -> None:
        ordered = sort_events(events, (W_PHASE, W_UPDATE, W_REF))
        for span in spans(ordered, (W_REF,)):
            entry = self._enrolment.by_row[int(ordered[span.start, W_REF])]
            if id_ranked(entry):
                changes = ordered[span][:, [W_UPDATE, W_PHASE, W_VALUE]].tolist()
                self._ranked += [RankChange(update, phase, entry.id, count) for update, phase, count in changes]
            else:
                crossed = ((row[W_UPDATE], self._crossed(entry, row)) for row in ordered[span].tolist())
                self._try(entry, partial(self._turns, entry, crossed))

    def _crossed(self, entry: Entry, event: list[int]) -> Turn:
        if event[W_KIND] == V_COUNT:
            return count_turn(entry, event[W_SIGN], event[W_VALUE])
        turn = truth_turn(entry, event[W_SIGN])
        if self._proof is None or not turn.gained:
            return turn
        return Turn((), (turn.gained[0]._replace(witness=self._proof(entry.id)),))

    # --- rows ---------------------------------------------------------------------------------------------------

    def list(self, listed: Events) -> None:
        """Tells solutions gained and lost."""
        for span in spans(listed.events, (W_REF,)):
            told = listed.events[span]
            for entry in self._enrolment.by_component[int(told[0, W_REF])].values():
                self._try(entry, partial(self._list, entry, Listed(told, listed.listed(span, entry.slots))))

    def _list(self, entry: Entry, listed: Listed) -> None:
        changes = self._changes(entry, listed)
        if entry.judged is not None:
            self._coming[entry.judged] = changes
        elif isinstance(entry.deltas, Every) and self._proof is None:
            self._list_quickly(entry, changes)
        else:
            self._list_slowly(entry, changes)

    def _changes(self, entry: Entry, listed: Listed) -> Changes:
        assert entry.completion is not None
        events, terms = net(*listed)
        origins, completed = entry.completion(terms)
        kept = events[origins]
        return Changes.sorted(kept[:, W_UPDATE], kept[:, W_PHASE], kept[:, W_SIGN] > 0, completed)

    def _list_quickly(self, entry: Entry, changes: Changes) -> None:
        shown, book = len(entry.shown), self._book
        order = in_order(changes, shown, book)
        names, terms = [variable.name for variable in entry.shown], changes.terms[order][:, :shown]
        numbers = np.full(len(order), entry.number)
        part = Part(changes.update[order], changes.gained[order], numbers, lambda: binding_texts(names, terms, book))
        self.lines.add(part, (entry.interest,))

    def _list_slowly(self, entry: Entry, changes: Changes) -> None:
        assert entry.deltas is not None
        turns = entry.deltas.follow(changes, self._proof is not None)
        if isinstance(entry.deltas, Tally):
            self._ranked += [RankChange(each.update, each.phase, entry.id, entry.deltas.count) for each in turns]
        else:
            self._turns(entry, ((each.update, each.turn) for each in turns))

    # --- metrics ------------------------------------------------------------------------------------------------

    def judge(self, page: Page) -> None:
        """Tells whose solutions begin or cease to satisfy what they ask of metrics."""
        measured = self._enrolment.measured
        if not measured:
            return
        judging = Judging(self._enrolment.meter, page, self._proof is not None, measured.keys(), self._fail)
        verdicts = judging.follow(self._coming)
        for judged in sorted(verdicts, key=lambda each: measured[each].number):
            self._try(measured[judged], partial(self._tell_verdicts, measured[judged], judged, verdicts[judged]))

    def _fail(self, judged: Judged, error: Exception) -> None:
        self._enrolment.aside.put(self._enrolment.measured[judged].id, error)

    def _tell_verdicts(self, entry: Entry, judged: Judged, verdicts: Sequence[Verdict]) -> None:
        assert entry.deltas is not None
        if isinstance(entry.deltas, Every) and self._proof is None and are_plain(verdicts):
            self._tell_quickly(entry, judged, verdicts)
            return
        turns = entry.deltas.follow(changes_of(verdicts, judged.columns), witness=True)
        if isinstance(entry.deltas, Tally):
            self._ranked += [RankChange(each.update, each.phase, entry.id, entry.deltas.count) for each in turns]
            return
        values = Values(judged, verdicts)
        self._turns(entry, ((each.update, values.valued(each).turn) for each in turns))

    def _tell_quickly(self, entry: Entry, judged: Judged, verdicts: Sequence[Verdict]) -> None:
        """As columns."""
        ordered = sorted(verdicts, key=itemgetter(0, 1))
        changes, book, shown = changes_of(ordered, judged.columns), self._book, len(entry.shown)
        order = in_order(changes, shown, book)
        names, terms = [variable.name for variable in entry.shown], changes.terms[order][:, :shown]
        values = [ordered[place].values for place in order.tolist()]

        def texts() -> Texts:
            return with_values(binding_texts(names, terms, book), map(shown_values, values))

        part = Part(changes.update[order], changes.gained[order], np.full(len(order), entry.number), texts)
        self.lines.add(part, (entry.interest,))

    # --- turns --------------------------------------------------------------------------------------------------

    def _turns(self, entry: Entry, turns: Iterator[tuple[int, Turn]]) -> None:
        """Tells turns of one subscription in order; those of the same update as one."""
        joined: dict[int, Turn] = {}
        for update, turn in turns:
            before = joined.get(update)
            joined[update] = turn if before is None else after(before, turn, entry.shown)
        for update, turn in joined.items():
            self.lines.add_turn(update, entry.interest, turn, self._proof is not None)

    def rank(self, updates: int) -> None:
        """Tells who entered and left the top of their sets; after everything else, in order of updates and phases."""
        changes = sorted(self._ranked, key=lambda change: change[:2])
        for (update, id), turn in self._enrolment.ranking.tell(changes, updates).items():
            entry = self._enrolment.entries[id]
            self._try(entry, partial(self.lines.add_turn, update, entry.interest, turn, witness=False))


def _passing(events: Int64s) -> Flags:
    """What expiry gained and the update itself lost, which is told neither way."""
    came: Flags = (events[:, W_PHASE] == 0) & (events[:, W_SIGN] > 0)
    if not came.any():
        return came
    went: Flags = (events[:, W_PHASE] == 1) & (events[:, W_SIGN] < 0)
    key = events[:, W_UPDATE] << 32 | events[:, W_REF]
    passing: Flags = (came & np.isin(key, key[went])) | (went & np.isin(key, key[came]))
    return passing


# ----------------------------------------------------------------------------------------------------------------------
# The indexed strategy: an update is followed once through what queries share; docs/watching.md names the limits.
#
# Queries are compiled into a network over the evolving graph (`network`), kernels carry each update through it
# (`machine`), and what they tell is made into reports here. See `docs/watching.md`.
#
# The law: it tells what `Plain` tells, in the same order. Subscriptions to an empty graph wait until there is
# something to be entered over, so that a graph may be loaded or restored first; in every other case they are entered
# at once.
# ----------------------------------------------------------------------------------------------------------------------

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
        if (updates.op == ENCODING_ADD).all():
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
        self._enrolment.machine.reserve(int((updates.op == ENCODING_ADD).sum()))
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
