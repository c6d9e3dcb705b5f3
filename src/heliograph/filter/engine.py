"""Filter: which graph-pattern subscriptions does this document graph match?

The path of a publication: encode → candidates → verify → report. The laws: a notification is a function of one
subscription, one publication and the taxonomy, so neither the order of subscribing nor what else is subscribed or
published changes it; one batch is as good as many.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from heliograph.baselines.filter_naive import NaiveMatcher
from heliograph.baselines.solve import Plan
from heliograph.errors import UsageError
from heliograph.filter import saving
from heliograph.filter.encoding import Batch, decode, encode
from heliograph.filter.evidence import evidence
from heliograph.filter.explain import explain, only_publication
from heliograph.filter.matcher import Matcher, Publication, Version
from heliograph.filter.options import check_options
from heliograph.model import Explanation, Notification, Notifications, Receipt, Rejections, Stats
from heliograph.subscriptions import Subscription, Subscriptions
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

ALGORITHMS: Mapping[str, type[Matcher]] = {"naive": NaiveMatcher}


class _Match(NamedTuple):
    subscription: Subscription
    publication: Publication


class _Tally:
    """What one call counted."""

    def __init__(self) -> None:
        self.publications = self.candidates = self.truncated = 0


class Filter:
    """Matches published document graphs against graph-pattern subscriptions.

    `taxonomy` is a table or items (child, parent); its cycles and bad rows are in `rejected`. `prefixes` adds to the
    built-in ones. `algorithm` chooses the strategy; all of them give the same notifications.
    """

    def __init__(
        self, taxonomy: Any = None, *, prefixes: Mapping[str, str] | None = None, algorithm: str = "naive"
    ) -> None:
        if algorithm not in ALGORITHMS:
            raise UsageError("HG-045", f"no algorithm {algorithm!r}", fix=f"use {' or '.join(map(repr, ALGORITHMS))}")
        self.vocabulary = Vocabulary()
        self.algorithm = algorithm
        self._subscriptions = Subscriptions("filter", prefixes)
        self._taxonomy = _taxonomy(taxonomy, self._subscriptions.prefixes)
        self._matcher = ALGORITHMS[algorithm]()
        self._writing, self._counting = threading.RLock(), threading.Lock()
        self._total = Stats()

    @property
    def rejected(self) -> Rejections:
        """What was wrong with the taxonomy: rows that spell no terms, and cycles by name."""
        return self._taxonomy.rejected

    # --- interests ----------------------------------------------------------------------------------------------

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        """Takes SPARQL subscriptions, or the tables `patterns` and `constraints`."""
        started = time.perf_counter_ns()
        with self._writing:
            taken, receipt = self._subscriptions.subscribe(
                items, patterns=patterns, constraints=constraints, accept=check_options
            )
            self._matcher.insert(taken)
        self._count(Stats(rejected=len(receipt.rejected), parse_ns=time.perf_counter_ns() - started))
        return receipt

    def unsubscribe(self, ids: Any) -> Receipt:
        """Removes subscriptions by id: one, or several."""
        with self._writing:
            removed, receipt = self._subscriptions.unsubscribe(ids)
            self._matcher.remove(removed)
        self._count(Stats(rejected=len(receipt.rejected)))
        return receipt

    # --- publications -------------------------------------------------------------------------------------------

    def publish(self, items: Any, *, bindings: int = 0) -> Notifications:
        """The notifications of these publications; `bindings` asks for so many rows of evidence each."""
        limit = _limit(bindings)
        version, tally, started = self._matcher.version(), _Tally(), time.perf_counter_ns()
        batch = encode(items, self.vocabulary, self._subscriptions.prefixes)
        encoded = time.perf_counter_ns()
        reported = tuple(_report(self._matches(version, batch, tally), limit, tally))
        stats = Stats(
            subscriptions=len(version),
            publications=tally.publications,
            notifications=len(reported),
            candidates=tally.candidates,
            verified=tally.candidates,
            rejected=len(batch.rejected),
            complete=not tally.truncated,
            truncated=tally.truncated,
            parse_ns=encoded - started,
            match_ns=time.perf_counter_ns() - encoded,
        )
        self._count(stats)
        return Notifications(reported, Rejections(batch.rejected), stats)

    def _matches(self, version: Version, batch: Batch, tally: _Tally) -> Iterator[_Match]:
        for publication in decode(batch, self._taxonomy):
            tally.publications += 1
            for candidate in version.candidates(publication):
                tally.candidates += 1
                if version.verify(candidate, publication):
                    yield _Match(candidate, publication)

    def explain(self, subscription: str, publication: Any) -> Explanation:
        """Why a subscription matches a publication, or why not."""
        with self._writing:
            wanted = self._subscriptions[subscription]
        batch = encode(publication, self.vocabulary, self._subscriptions.prefixes)
        return explain(wanted, only_publication(batch, self._taxonomy))

    # --- state --------------------------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """The sums over all calls so far."""
        return self._total + Stats(subscriptions=len(self._subscriptions))

    def _count(self, stats: Stats) -> None:
        with self._counting:
            self._total = self._total + stats

    def save(self, path: str | Path) -> None:
        """Saves subscriptions, taxonomy and prefixes; an older save at this path is replaced in one step."""
        with self._writing:
            saved = saving.Saving(self._subscriptions, self._taxonomy, self.algorithm)
        saved.write(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A filter as it was saved."""
        saved = saving.read(path)
        loaded = cls(saved.taxonomy, prefixes=saved.prefixes, algorithm=saved.algorithm)
        loaded._matcher.insert(saving.restore(path, loaded._subscriptions, saved))
        return loaded


def _report(matches: Iterator[_Match], limit: int, tally: _Tally) -> Iterator[Notification]:
    for subscription, publication in matches:
        shown = None
        if limit or subscription.query.counted:
            shown = evidence(Plan.of(subscription.query), publication.world, limit)
            tally.truncated += shown.cut
        yield Notification(
            subscription_id=subscription.id,
            subscriber=subscription.subscriber,
            publication_id=publication.id,
            verb="filter",
            change="+",
            evidence=None if shown is None else shown.text,
        )


def _limit(bindings: Any) -> int:
    if isinstance(bindings, bool) or not isinstance(bindings, int) or bindings < 0:
        raise UsageError("HG-046", f"bindings is {bindings!r}", fix="give how many rows to show, 0 or more")
    return bindings


def _taxonomy(given: Any, prefixes: Mapping[str, str]) -> Taxonomy:
    if given is None:
        return Taxonomy()
    return given if isinstance(given, Taxonomy) else Taxonomy.read(given, prefixes)
