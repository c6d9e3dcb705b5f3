"""lint: everything that looks wrong with subscriptions, in their order.

The laws: "the same", "covered" and "can never match" are true of every publication; "expensive", "never seen" and
"nothing in common" are what a shape, a sample and a taxonomy suggest, and are told as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from heliograph.errors import HeliographError
from heliograph.filter.encoding import encode
from heliograph.lint import findings as codes
from heliograph.lint.covering import covered
from heliograph.lint.expense import expenses
from heliograph.lint.findings import Finding, table_of
from heliograph.lint.impossible import why_never
from heliograph.lint.kinds import Kinds
from heliograph.lint.measuring import SUSPECTS, Trial, is_small, many_ways
from heliograph.lint.names import Names
from heliograph.lint.repeating import repeated
from heliograph.lint.sample import Sample
from heliograph.lint.subjects import Sound, Subjects
from heliograph.lint.variables import never_bound
from heliograph.model import Receipt, Rejections
from heliograph.publications import Publications
from heliograph.syntax.bulk import collector_paused
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES
from heliograph.vocabulary import Vocabulary

Placed = tuple[int, Finding]

_TWICE = "the id comes twice: the first subscription stands, this one is refused; choose another id"


def lint_subscriptions(
    items: Any = None,
    *,
    patterns: Any = None,
    constraints: Any = None,
    taxonomy: Any = None,
    sample: Any = None,
    prefixes: Mapping[str, str] | None = None,
) -> pa.Table:
    """The findings on subscriptions: subject_id, code, message, related_id.

    `items`, or `patterns` and `constraints`, are what `Filter.subscribe` takes; `sample` is what `publish` takes.
    What could not be read is among the findings.
    """
    known = {**PREFIXES, **(prefixes or {})}
    given = taxonomy if isinstance(taxonomy, Taxonomy) else Taxonomy.read(taxonomy or [], known)
    linter = Linter(given, known)
    refused = [*given.rejected, *linter.subscribe(items, patterns=patterns, constraints=constraints).rejected]
    if sample is not None:
        batch = encode(sample, linter.vocabulary, known)
        linter.learn(batch.publications)
        refused += batch.rejected
    return table_of([*linter.findings(), *(Finding(each.item or "", each.code, each.message) for each in refused)])


class Linter:
    """Takes subscriptions as an engine does, and a sample of what will be published; then tells."""

    def __init__(self, taxonomy: Taxonomy, prefixes: Mapping[str, str]) -> None:
        self.vocabulary = Vocabulary()
        self._taxonomy = taxonomy
        self._subjects = Subjects(prefixes)
        self._sample = Sample(taxonomy)
        self._batches: list[Publications] = []

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        before = len(self._subjects.given)
        refused = self._subjects.take(items, patterns, constraints)
        return Receipt(len(self._subjects.given) - before, Rejections(refused))

    def learn(self, publications: Publications) -> None:
        """Adds publications to the sample."""
        self._sample.learn(publications)
        self._batches.append(publications)

    def findings(self) -> list[Finding]:
        """All findings, by subscription."""
        with collector_paused():
            found = self._found(self._subjects.sound())
        return [finding for _, finding in sorted(found, key=lambda placed: placed[0])]

    def _found(self, sound: list[Sound]) -> list[Placed]:
        never = {each.place: why for each in sound if (why := why_never(each.query)) is not None}
        possible = [each for each in sound if each.place not in never]
        repeats = list(repeated([each for each in sound if each.stands]))
        told = {each.place for each, first in repeats if each.subscriber == first.subscriber}
        return [
            *self._unread(),
            *((repeat.each.place, repeat.finding) for repeat in repeats),
            *((each.place, Finding(each.id, codes.NEVER, never[each.place])) for each in sound if each.place in never),
            *covered([each for each in possible if each.stands and each.place not in told], self._taxonomy),
            *self._apart(possible),
            *self._expensive(possible),
            *self._unseen(sound),
            *((each.place, Finding(each.id, codes.UNBOUND, why)) for each in sound for why in never_bound(each.query)),
        ]

    def _unread(self) -> Iterator[Placed]:
        """What an engine refuses, by its own codes."""
        standing = self._subjects.standing()
        for place, (id, _, query, _, refusal) in enumerate(self._subjects.given):
            if isinstance(query, HeliographError):
                yield place, Finding(id, query.code, query.describe())
            elif refusal is not None:
                yield place, Finding(id, refusal.code, f"watch would refuse it: {refusal.describe()}")
            elif place not in standing:
                yield place, Finding(id, codes.TWICE, _TWICE, id)

    def _apart(self, sound: list[Sound]) -> Iterator[Placed]:
        kinds = Kinds(self._taxonomy, self._sample)
        for each in sound:
            yield from ((each.place, Finding(each.id, codes.APART, why)) for why in kinds.apart(each.query))

    def _expensive(self, sound: list[Sound]) -> Iterator[Placed]:
        foretold = {each.place: [*expenses(each.query, self._taxonomy)] for each in sound}
        for each in sound:
            yield from ((each.place, Finding(each.id, codes.PREDICTED, why)) for why in foretold[each.place])
        if self._sample.size:
            yield from self._measured(sound, [each for each in sound if foretold[each.place]])

    def _measured(self, sound: list[Sound], foretold: list[Sound]) -> Iterator[Placed]:
        queries = {each.place: each for each in sound if not each.query.metrics}
        asked = queries
        if not is_small(len(queries), self._sample):
            trial = Trial([(each.place, each.query) for each in queries.values()], self.vocabulary, self._taxonomy)
            for publications in self._batches:
                trial.publish(publications)
            costs = list(trial.costs(self._sample.size))
            yield from ((cost.place, Finding(queries[cost.place].id, codes.MEASURED, cost.message)) for cost in costs)
            places = [*(cost.place for cost in costs), *(each.place for each in foretold if each.place in queries)]
            asked = {place: queries[place] for place in places[:SUSPECTS]}
        for cost in many_ways([(place, each.query) for place, each in asked.items()], self._sample):
            yield cost.place, Finding(queries[cost.place].id, codes.MEASURED, cost.message)

    def _unseen(self, sound: list[Sound]) -> Iterator[Placed]:
        names = Names(self._taxonomy, self._sample)
        for each in sound:
            for code, message, nearest in names.unseen(each.query):
                yield each.place, Finding(each.id, code, message, nearest)
