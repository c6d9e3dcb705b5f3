"""Merging ([R] 4.3, imprecise indexing): patterns that are matched together stand behind one merger at the front.

A merger is a pattern that nobody subscribed to and that whatever matches one of its members matches. So the front may
say yes where no member matches, a false positive, but never no where one does. Mergers of mergers make merging trees.

Merging begins when the front has `upper` patterns, and ends at `lower`, or as soon as the share `percentage` of the
patterns is off the front. Where that share ends it, the distance between the two thresholds is kept as a ratio: the
front must have grown by it before merging begins again. A merger is decomposed, its members back where it stood, when
half of them have gone, because it was made wide for those, and when too many of its answers were false.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, NamedTuple

from heliograph.errors import UsageError
from heliograph.partition.arrangement import Change
from heliograph.partition.forms import Form, form_of, query_of
from heliograph.partition.judging import Frequencies
from heliograph.partition.meeting import Candidate, Names
from heliograph.partition.mergers import Access, Knowledge, Proposal, propose
from heliograph.partition.summaries import Sample, Summaries, Triple, graphs_of
from heliograph.partition.trees import Trees
from heliograph.publications import Publications
from heliograph.syntax.bulk import collector_paused
from heliograph.syntax.query import Query
from heliograph.taxonomy import Taxonomy

_EVIDENCE = 4  # false answers of a merger before it is judged by them
_BATCH = 1024  # publications of a call that are learned from


@dataclass(frozen=True, slots=True)
class MergingOptions:
    """When merging begins and ends, how alike publications of one summary are, and which share of answers may be false.

    `sample` is how many publications, and how many summaries, are kept.
    """

    upper: int = 128
    lower: int = 96
    percentage: float = 0.9
    similarity: float = 0.5
    max_false_positives: float = 0.05
    sample: int = 256

    def __post_init__(self) -> None:
        for fine, name, fix in (
            (1 <= self.lower <= self.upper, "lower", "give a threshold from 1 to the upper one"),
            (0 <= self.percentage <= 1, "percentage", "give a share from 0 to 1"),
            (0 <= self.similarity <= 1, "similarity", "give a share from 0 to 1"),
            (0 <= self.max_false_positives <= 1, "max_false_positives", "give a share from 0 to 1"),
            (self.sample >= 1, "sample", "give how many publications to keep, 1 or more"),
        ):
            if not fine:
                raise UsageError("HG-031", f"{name} is {getattr(self, name)!r}", fix=fix)

    @classmethod
    def of(cls, given: dict[str, Any]) -> MergingOptions:
        names = [entry.name for entry in fields(cls)]
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise UsageError("HG-031", f"no option {unknown[0]!r} of merging", fix=f"use {', '.join(names)}")
        return cls(**given)


class Observed(NamedTuple):
    """How often the front said yes to a merger, and how often no member matched."""

    answers: int = 0
    false: int = 0

    @property
    def share(self) -> float:
        return self.false / self.answers if self.answers else 0.0

    def more(self, other: Observed) -> Observed:
        return Observed(self.answers + other.answers, self.false + other.false)


class Merger(NamedTuple):
    """What would be merged: nodes, or mergers of earlier ones in the same list, and the pattern of the merger."""

    number: int
    members: tuple[int, ...]
    query: Query


class Merging:
    """Patterns behind mergers. One writer at a time; `observe` may be called by anybody at any time."""

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        """The options are the fields of `MergingOptions`."""
        self.options = MergingOptions.of(options)
        self._taxonomy = taxonomy
        self._names = Names(taxonomy)
        self._frequencies = Frequencies(self._names)
        self._summaries = Summaries(self.options.similarity, self.options.sample)
        self._sample = Sample(self.options.sample)
        self._trees = Trees()
        self._forms: dict[int, Form] = {}
        self._nodes: dict[Form, int] = {}  # of the patterns that somebody asks
        self._subscribers: dict[int, dict[int, None]] = {}
        self._of: dict[int, int] = {}  # the nodes of subscriptions
        self._made: dict[int, int] = {}  # how many members a merger was made of
        self._apart: set[int] = set()  # what was decomposed for its false positives, and stays so
        self._candidates: dict[int, Candidate | None] = {}  # of roots
        self._rest = 0  # the size of the front when it was last merged
        self._lock = threading.Lock()
        self._observed: dict[int, Observed] = {}
        self._past = Observed()

    # --- asking -------------------------------------------------------------------------------------------------

    def node_of(self, number: int) -> int:
        return self._of[number]

    def root_of(self, node: int) -> int:
        return self._trees.root_of(node)

    def query_of(self, node: int) -> Query:
        return query_of(self._forms[node])

    def subscribers_of(self, node: int) -> Sequence[int]:
        return tuple(self._subscribers.get(node, ()))

    def is_synthetic(self, node: int) -> bool:
        return node in self._made

    def roots(self) -> Iterable[int]:
        return self._trees.roots()

    def members_of(self, node: int) -> tuple[int, ...]:
        """What a merger was made of, as far as it still stands: patterns and mergers."""
        return self._trees.children_of(node)

    def observed(self, node: int | None = None) -> Observed:
        """The answers of one merger, or of all that ever were."""
        with self._lock:
            if node is not None:
                return self._observed.get(node, Observed())
            return reduce(Observed.more, self._observed.values(), self._past)

    # --- subscriptions ------------------------------------------------------------------------------------------

    def insert(self, subscriptions: Sequence[tuple[int, Query]]) -> Change:
        for number, query in subscriptions:
            form = form_of(query)
            node = self._nodes.get(form)
            if node is None:
                node = self._nodes[form] = self._trees.grow()
                self._forms[node] = form
            self._subscribers.setdefault(node, {})[number] = None
            self._of[number] = node
        self._review()
        if self._trees.width >= self._trigger():
            self._merge()
        return self._settle()

    def remove(self, numbers: Iterable[int]) -> Change:
        for number in numbers:
            node = self._of.pop(number)
            subscribers = self._subscribers[node]
            del subscribers[number]
            if not subscribers:
                del self._subscribers[node], self._nodes[self._forms[node]]
                self._take_away(node)
        self._review()
        self._rest = min(self._rest, self._trees.width)
        return self._settle()

    def _take_away(self, node: int) -> None:
        """A node goes, and with it each merger above that has lost half of its members."""
        above = self._trees.parent_of(node)
        self._cut(node)
        while above is not None and 2 * len(self._trees.children_of(above)) <= self._made[above]:
            node, above = above, self._trees.parent_of(above)
            self._cut(node)

    def _cut(self, node: int) -> None:
        """Takes a node away; what it was made of stands where it stood."""
        self._trees.cut(node)
        del self._forms[node]
        self._apart.discard(node)
        self._candidates.pop(node, None)
        with self._lock:
            self._made.pop(node, None)
            self._past = self._past.more(self._observed.pop(node, Observed()))

    def _settle(self) -> Change:
        change = self._trees.settle()
        for node, _ in change.placed:  # new ones that were merged at once, too
            self._candidates.pop(node, None)
        return change

    # --- merging ------------------------------------------------------------------------------------------------

    def merge(self) -> Change:
        """Merges now, however small the front is."""
        self._merge()
        return self._settle()

    def would_merge(self) -> list[Merger]:
        """What `merge` would do, without doing it."""
        return [Merger(number, members, query_of(form)) for number, members, form in self._proposals()]

    def _goal(self) -> int:
        left = round(len(self._nodes) * (1 - self.options.percentage))
        return max(self.options.lower, left)

    def _trigger(self) -> int:
        ratio = self.options.upper / self.options.lower
        return max(self.options.upper, round(self._rest * ratio))

    def _proposals(self) -> list[Proposal]:
        pool = {root: candidate for root, candidate in self._pool().items() if root not in self._apart}
        fixed = self._trees.width - len(pool)
        return propose(pool, self._goal() - fixed, self._knowledge())

    def _knowledge(self) -> Knowledge:
        return Knowledge(
            self._taxonomy,
            self._names,
            self._frequencies,
            self._summaries.ranked(),
            self._sample,
            self.options.max_false_positives,
        )

    def _pool(self) -> dict[int, Candidate]:
        """The roots of which anything is known."""
        found = {root: self._candidate(root) for root in self._trees.roots()}
        return {root: candidate for root, candidate in found.items() if candidate is not None}

    def _candidate(self, root: int) -> Candidate | None:
        if root not in self._candidates:
            self._candidates[root] = candidate = self._names.candidate(self._forms[root])
            if candidate is not None and root not in self._made:
                self._frequencies.count(candidate.shape)
        return self._candidates[root]

    def _merge(self) -> None:
        nodes: dict[int, int] = {}
        with collector_paused():
            for number, members, form in self._proposals():
                nodes[number] = self._join([nodes.get(member, member) for member in members], form)
        self._rest = self._trees.width

    def _join(self, members: Sequence[int], form: Form) -> int:
        """A merger of nodes. A single merger among them is widened: its members become members of the new one."""
        node = self._trees.join(members)
        self._forms[node] = form
        self._made[node] = len(members)
        mergers = [member for member in members if member in self._made]
        if len(mergers) == 1:
            self._cut(mergers[0])
        self._made[node] = len(self._trees.children_of(node))
        return node

    # --- the stream ---------------------------------------------------------------------------------------------

    def learn(
        self, publications: Publications | Sequence[Iterable[Triple]], matched: Sequence[int] | None = None
    ) -> None:
        """Learns from publications and from how many subscriptions each matched; else, from how many roots it might."""
        graphs = list(graphs_of(publications, _BATCH))
        if matched is None:
            access = Access(self._pool(), self._names)
            matches = [len(access.picked(graph)) for _, graph in graphs]
        else:
            matches = [matched[place] for place, _ in graphs]
        for (_, graph), count in zip(graphs, matches, strict=True):
            self._sample.add(graph)
            self._summaries.collect(graph, count)

    def observe(self, node: int, hit: bool, times: int = 1) -> None:
        """The front said yes to a merger so many times; `hit` is whether a member matched."""
        seen = Observed(times, 0 if hit else times)
        with self._lock:
            if node in self._made:
                self._observed[node] = self._observed.get(node, Observed()).more(seen)

    def review(self) -> Change:
        """Decomposes the mergers too many of whose answers were false. `insert` and `remove` do it as well."""
        self._review()
        return self._settle()

    def _review(self) -> None:
        with self._lock:
            seen = list(self._observed.items())
        for node, observed in seen:
            if observed.false >= _EVIDENCE and observed.share > self.options.max_false_positives:
                self._apart.update(self._trees.children_of(node))
                self._cut(node)
