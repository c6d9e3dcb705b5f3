"""Filter: which graph-pattern subscriptions does this document graph match?

The path of a publication: encode → candidates → verify → report. The laws: a notification is a function of one
subscription, one publication and the taxonomy, so neither the order of subscribing nor what else is subscribed or
published changes it; one batch is as good as many.

Memory: terms of publications are forgotten with their batch; those of subscriptions are interned for good. When those
that went had more of them than those that stay, the matcher is made anew over a new vocabulary. A publish that runs
meanwhile uses the old one.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from heliograph.errors import HeliographError, SubscriptionError
from heliograph.filter import save as saving
from heliograph.filter.encode import encode
from heliograph.filter.explain import explain, explain_aside, only_publication, trace
from heliograph.filter.report import check_limit, report
from heliograph.filter.strategy import ALGORITHMS, DEFAULT, Aside, Failures, matcher_of, renewed
from heliograph.io.publications import rebase
from heliograph.io.tables import check_objects, is_single
from heliograph.model import (
    Explanation,
    Notifications,
    Receipt,
    Rejected,
    Rejections,
    Spelling,
    Stats,
    counted,
    rejection_report,
    warn_if_nothing,
)
from heliograph.partition.plan import Context, Scheme
from heliograph.subscriptions import Subscription, Subscriptions
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from heliograph.partition.plan import Outline

__all__ = ["ALGORITHMS", "Filter", "check_options"]

_LOG = logging.getLogger("heliograph")

LEAST = 1 << 16  # terms of subscriptions that went, before they are given back
EACH = 8  # so many for each subscription that stays, as all of them are compiled again then
LETTERS = 8  # of a query's text for each of its terms, about
KEPT = 4096  # subscriptions up to which an indexed engine keeps their queries for evidence; of more it keeps the texts
OPTIONS = ("mode", "hysteresis", "max_matches_per_update", "initial", "top_k_of")


class Filter:
    """Matches published document graphs against graph-pattern subscriptions.

    `taxonomy` is a table or items (child, parent), or a path, a folder or a list of paths of tables and RDF documents;
    its cycles and bad rows are in `rejected`. `prefixes` adds to the built-in ones. `algorithm` chooses the strategy;
    `shards` divides the subscriptions among so many threads, by a `partition`: "hash", "containment" or "merging",
    which takes options. All of them give the same notifications.
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        prefixes: Mapping[str, str] | None = None,
        algorithm: str = DEFAULT,
        shards: int | None = None,
        partition: str | None = None,
        merging: Mapping[str, Any] | None = None,
    ) -> None:
        scheme, subscriptions = Scheme.of(shards, partition, merging), Subscriptions("filter", prefixes)
        if taxonomy is None:
            taxonomy = Taxonomy()
        elif not isinstance(taxonomy, Taxonomy):
            taxonomy = Taxonomy.read(taxonomy, subscriptions.prefixes)
        self._set_up(taxonomy, subscriptions, algorithm, scheme, Vocabulary())

    def _set_up(
        self,
        taxonomy: Taxonomy,
        subscriptions: Subscriptions,
        algorithm: str,
        scheme: Scheme | None,
        vocabulary: Vocabulary,
    ) -> None:
        self.vocabulary = vocabulary
        self.algorithm = algorithm
        self._subscriptions = subscriptions
        self._taxonomy = taxonomy
        self._scheme = scheme
        self._matcher = matcher_of(algorithm, scheme, Context(vocabulary, taxonomy, subscriptions.prefixes))
        self._gone = 0  # terms of subscriptions that went, about
        self._writing, self._counting = threading.RLock(), threading.Lock()
        self._total = Stats()
        self._aside: Aside = {}

    @property
    def rejected(self) -> Rejections:
        """What was wrong with the taxonomy: rows that spell no terms, and cycles by name."""
        return rejection_report(self._taxonomy.rejected)

    # --- interests ----------------------------------------------------------------------------------------------

    def subscribe(
        self, items: Any = None, query: str | None = None, *, patterns: Any = None, constraints: Any = None
    ) -> Receipt:
        """Takes SPARQL subscriptions, or the tables `patterns` and `constraints`.

        Items: `subscribe(id, query)`, `(id, query)`, `{id: query, …}`, dicts or tuples with the columns of the
        subscriptions table, an Arrow table, a pandas or Polars frame, or paths of tables and `.rq` files.
        """
        started = time.perf_counter_ns()
        with self._writing:
            taken, receipt = self._subscriptions.subscribe(
                items, query, patterns=patterns, constraints=constraints, accept=check_options
            )
            failed = self._take(taken)
        if failed and patterns is None and (query is not None or is_single(items)):
            raise failed[0].error from failed[0].cause
        if failed:
            refused = (Rejected.of(each.error, "subscriptions", each.subscription.id) for each in failed)
            receipt = Receipt(receipt.accepted - len(failed), receipt.rejected + refused)
        self._count(Stats(rejected=receipt.rejected.total, parse_ns=time.perf_counter_ns() - started))
        warn_if_nothing(receipt.accepted, receipt.rejected, "subscriptions")
        return receipt

    def _take(self, taken: Sequence[Subscription]) -> list[_Failed]:
        """Puts new subscriptions into the index, and takes back from the registry those that fail there."""
        done: list[Subscription] = []
        try:
            failed = self._insert(taken, done)
        except BaseException:  # nobody's own failure: none of them is subscribed
            self._subscriptions.forget(taken)
            self._matcher.remove(done)
            raise
        self._subscriptions.forget(each.subscription for each in failed)
        return failed

    def _insert(self, taken: Sequence[Subscription], done: list[Subscription]) -> list[_Failed]:
        """Those that cannot be inserted: if some cannot, each half is tried by itself. The others are `done`."""
        try:
            if self._matcher.insert(taken) and len(self._subscriptions) > KEPT:
                self._subscriptions.release(taken)
        except MemoryError:
            raise
        except Exception as error:
            if len(taken) == 1:
                return [_Failed.of(taken[0], error)]
            middle = len(taken) // 2
            return self._insert(taken[:middle], done) + self._insert(taken[middle:], done)
        done.extend(taken)
        return []

    def unsubscribe(self, ids: Any) -> Receipt:
        """Removes subscriptions by id: one, or several."""
        with self._writing:
            removed, receipt = self._subscriptions.unsubscribe(ids)
            self._matcher.remove(removed)
            for each in removed:
                self._aside.pop(each.number, None)
            self._gone += sum(EACH // 2 + len(each.text or "") // LETTERS for each in removed)
            self._give_back()
        self._count(Stats(rejected=receipt.rejected.total))
        return receipt

    def _give_back(self) -> None:
        """Makes the matcher anew over a new vocabulary, if many subscriptions went since that was done."""
        if self._gone < max(LEAST, EACH * len(self._subscriptions)) or len(self.vocabulary) < LEAST:
            return
        vocabulary, living = Vocabulary(), list(self._subscriptions)
        context = Context(vocabulary, self._taxonomy, self._subscriptions.prefixes)
        matcher = renewed(self._matcher, self.algorithm, self._scheme, context)
        self._gone = 0
        try:
            if matcher.insert(living) and len(living) > KEPT:
                self._subscriptions.release(living)
        except Exception as error:  # it can do without
            _LOG.warning("terms were not given back: %s, %s", type(error).__name__, error, exc_info=error)
        else:
            self._matcher, self.vocabulary = matcher, vocabulary

    # --- publications -------------------------------------------------------------------------------------------

    def publish(
        self,
        items: Any,
        triples: Any = None,
        *,
        bindings: int = 0,
        format: str | None = None,
        id: str | None = None,
        objects: str = "names",
        evidence: str = "terms",
    ) -> Notifications:
        """The notifications of these publications; `bindings` asks for so many rows of evidence each.

        Items: `publish(id, triples)`, `(id, [(s, p, o), …])` and lists of these, dicts or tuples with the columns of
        the publications table, an Arrow table, a pandas or Polars frame, a graph of rdflib, the paths of tables, RDF
        documents and feeds (a file, a folder, a glob, or a list of them), or a text or bytes in memory with its
        `format` ("turtle", "rss", …) and its `id`. With `objects="texts"` a bare word in the object column of rows is
        a string; by default it is a name. `evidence` writes terms as in tables ("terms"), as plain JSON values
        ("plain") or as in SPARQL's JSON results ("sparql").

        A subscription that fails is in `rejected` and is put aside; all others are notified as if it were not there.
        """
        limit, started = check_limit(bindings), time.perf_counter_ns()
        version, failures = self._matcher.version(), Failures(self._aside)
        if triples is not None:
            items = (items, triples)
        texts = objects != "names" and check_objects(objects)
        arrivals = encode(items, self.vocabulary, self._subscriptions.prefixes, format=format, id=id, texts=texts)
        times = started, time.perf_counter_ns()
        matches = version.match(arrivals.publications, failures)
        found = report(matches, arrivals, failures, self._taxonomy, limit, times)
        self._count(found.stats)
        if arrivals.rejected:
            warn_if_nothing(len(arrivals.publications.ids), arrivals.rejected, "publications")
        if bindings or matches.counted or evidence != "terms":
            return found.spelled(Spelling.of(evidence, self._subscriptions.prefixes))
        return found

    def explain(
        self,
        subscription: str,
        publication: Any,
        *,
        format: str | None = None,
        id: str | None = None,
        objects: str = "names",
        index: bool = False,
    ) -> Explanation:
        """Why a subscription matches a publication, or why not; with `index`, what the index does about them."""
        with self._writing:
            wanted = self._subscriptions[subscription]
            located, aside = self._matcher.locate(wanted), self._aside.get(wanted.number)
            vocabulary = self.vocabulary
        texts = check_objects(objects)
        arrivals = encode(publication, vocabulary, self._subscriptions.prefixes, format=format, id=id, texts=texts)
        only = only_publication(arrivals, self._taxonomy)
        if aside is not None:
            return explain_aside(wanted, only.id, aside)
        prefixes = self._subscriptions.prefixes
        explanation = explain(wanted, only).spelled(prefixes)
        if located is None or not index:
            return explanation
        given = rebase(arrivals.publications, vocabulary)
        traced = trace(located, wanted, given, only.world, self._taxonomy)
        return replace(explanation, index=(*located.notes, *traced)).spelled(prefixes)

    # --- state --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._subscriptions)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, id: object) -> bool:
        return id in self._subscriptions

    def __repr__(self) -> str:
        return f"Filter({counted(len(self), 'subscription')}, algorithm={self.algorithm!r})"

    def subscriptions(self) -> dict[str, str | None]:
        """The query of each subscription, by id; None for one that came as rows of patterns."""
        return {each.id: each.text for each in self._subscriptions}

    def stats(self) -> Stats:
        """The sums over all calls so far."""
        return self._total + Stats(subscriptions=len(self._subscriptions))

    def plan(self) -> Outline | None:
        """How the subscriptions are divided among shards; None if they are not."""
        plan = self._matcher.planned()
        if plan is None:
            return None
        from heliograph.partition.plan import outline_of

        return outline_of(plan)

    def _count(self, stats: Stats) -> None:
        with self._counting:
            self._total = self._total + stats

    def save(self, path: str | Path) -> None:
        """Saves subscriptions, taxonomy, prefixes and the index; an older save there is replaced in one step."""
        with self._writing:
            parts = (self._subscriptions, self._taxonomy, self.algorithm, self.vocabulary, self._matcher)
            write = saving.packed(*parts)
        write(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A filter as it was saved."""
        saved = saving.read(path)
        loaded = cls.__new__(cls)
        subscriptions = Subscriptions("filter", saved.prefixes)
        loaded._set_up(saved.taxonomy, subscriptions, saved.algorithm, saved.scheme, saved.vocabulary)
        saved.fill(subscriptions, loaded._matcher, check_options)
        return loaded


class _Failed(NamedTuple):
    """A subscription that could not be inserted, what is said about it, and why."""

    subscription: Subscription
    error: HeliographError
    cause: Exception

    @classmethod
    def of(cls, subscription: Subscription, error: Exception) -> Self:
        if isinstance(error, HeliographError):
            return cls(subscription, error, error)
        message = f"subscription {subscription.id!r} could not be taken: {type(error).__name__}, {error}"
        fix = "write the query in another way, and report this as a bug"
        return cls(subscription, SubscriptionError("HG-541", message, fix=fix), error)


def check_options(subscription: Subscription) -> None:
    """Raises where the options column is no JSON object, or names something unknown.

    Options say when a watch notifies; a filter notifies of each match once, so it checks them and uses none.
    """
    if not subscription.options:
        return
    fix = 'write an object such as {"mode": "change"}'
    try:
        given = json.loads(subscription.options)
    except (ValueError, RecursionError) as error:
        raise SubscriptionError("HG-520", f"options that are not JSON: {error}", fix=fix) from error
    if not isinstance(given, dict):
        raise SubscriptionError("HG-520", f"options that are no JSON object: {subscription.options[:60]}", fix=fix)
    unknown = sorted(set(given) - set(OPTIONS))
    if unknown:
        names = ", ".join(repr(name[:60]) for name in unknown)
        raise SubscriptionError("HG-521", f"unknown option {names}", fix=f"the options are {', '.join(OPTIONS)}")
