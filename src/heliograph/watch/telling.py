"""Events of the kernels made into lines, in the order of the contract.

Within an update: first what expired, then the update itself; both are told as one (`modes.after`). What needs nothing
but its event is told as columns: truth without a witness, counts that crossed their limits, each row of `each`. The
rest goes through turns, one subscription after the other: they do not depend on each other, but for top-k sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter

import numpy as np
import pyarrow as pa

from heliograph.kernels.evolution_layout import Int64s
from heliograph.kernels.network_layout import V_COUNT, V_ROW, W_KIND, W_PHASE, W_REF, W_SIGN, W_UPDATE, W_VALUE
from heliograph.terms import Term, Variable
from heliograph.vocabulary import Vocabulary
from heliograph.watch.deltas import Changes, Every, Tally
from heliograph.watch.encoding import Encoded
from heliograph.watch.enrolment import Enrolment, id_ranked
from heliograph.watch.entries import Entry, count_turn, truth_turn
from heliograph.watch.evidence import Book, Texts, binding_texts, value_texts, with_values
from heliograph.watch.guarding import Guard, Listed
from heliograph.watch.lines import Lines, Part
from heliograph.watch.machine import Events
from heliograph.watch.metrics.judged import Judged, Verdict
from heliograph.watch.metrics.judging import Judging, changes_of
from heliograph.watch.metrics.meter import Page
from heliograph.watch.metrics.valuing import Values, are_plain, shown_values
from heliograph.watch.modes import Turn, after
from heliograph.watch.ordering import in_order, net, sort_events, spans
from heliograph.watch.ranking import RankChange
from heliograph.watch.run import Run
from heliograph.watch.sequence import Flags

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
