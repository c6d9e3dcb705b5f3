"""Subscriptions in shards: the front says where a publication goes, and each shard matches it.

The path of a batch: parts of it → the front of each → for each shard the publications that match a root with something
below it there, in the shard's thread → doubtful matches checked, by the caller → all of a part in order. The laws: the
matches are those of one index with all the subscriptions, in the same order; kernels run without Python's lock, so
shards match side by side. There is a thread for each shard, and they take turns with the front: the next one looks it
up while the others match. A root that is in doubt counts as matched until its own query is checked.

A filter may also be built in parts, by processes of which none has all subscriptions, and a saved one may be opened one
place at a time (`Stage`). A shard is then the save of a plain filter; a front is the save of a plan whose shards are
empty, with routes that name the shards of such parts. The laws: the notifications of the front and of the shards that
it names, together, are those of one filter with all the subscriptions; a stage opens no other place's arrays and makes
no other place's subscriptions, so a process that runs one shard is as large as that shard.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import Place, StorageError
from heliograph.filter import save as saving
from heliograph.filter.encode import encode
from heliograph.filter.engine import check_options
from heliograph.filter.interests import closure_of
from heliograph.filter.layout import FIRST_MEMBER, MEMBERS, NUMBER_BITS, Flags, Int8s, Int32s, Int64s
from heliograph.filter.report import report
from heliograph.filter.search import NUMBER, ExactCheck, Hits, SearchBatch, SearchContext
from heliograph.filter.segment import Segment, Segments, SegmentsVersion
from heliograph.filter.strategy import (
    DEFAULT,
    Aside,
    Failures,
    IndexedMatcher,
    Located,
    Matcher,
    Matches,
    matches_of,
    search_all,
)
from heliograph.io.publications import Publications, Triples, rebase
from heliograph.model import Notifications
from heliograph.partition.merging import Root
from heliograph.partition.plan import (
    FRONT,
    MERGERS,
    Context,
    Plan,
    PlanVersion,
    Scheme,
    ShardRoute,
    compiled,
    merger,
    place_in_words,
)
from heliograph.sparql.query import Query
from heliograph.subscriptions import Subscription, Subscriptions, by_origin, written
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from heliograph.partition.merging import Merging

_LOG = logging.getLogger("heliograph")
_COUNTED = 16  # publications of a part whose answers are counted
_FALSE = 32  # false answers after which mergers are looked at again
_FIRST, _EVERY, _LEARNED = 256, 64, 32  # publications learned from: the first ones, then one of so many; of a part
PART = 256  # publications whose front is looked up at a time: some milliseconds

Tables = Mapping[str, pa.Table]


class ShardedMatcher(Matcher):
    """The subscriptions of a filter in a plan, and a thread for each shard of it."""

    def __init__(self, plan: Plan) -> None:
        vocabulary, taxonomy = plan.context.vocabulary, plan.context.taxonomy
        self.plan = plan
        self.context = SearchContext(vocabulary, taxonomy, closure_of(taxonomy, vocabulary))
        self.reach, self.observer = RootShards(plan.scheme.shards), Observer(plan)
        names = [f"heliograph-shard-{number}" for number in range(plan.scheme.shards)]
        self.threads = tuple(ThreadPoolExecutor(1, thread_name_prefix=name) for name in names)

    def insert(self, subscriptions: Sequence[Subscription]) -> bool:
        if subscriptions:
            self.plan.insert(subscriptions)
        return True

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        removed = tuple(subscriptions)
        if removed:
            self.plan.remove(removed)

    def version(self) -> ShardedVersion:
        return ShardedVersion(self.plan.version, self)

    def planned(self) -> Plan:
        return self.plan

    def locate(self, subscription: Subscription) -> Located | None:
        held = self.plan.segments(self.plan.find(subscription.number)).version
        found = ((segment, segment.find(subscription.number)) for segment in held.segments)
        alive = (each for each in found if each[1] >= 0 and each[0].index.died[each[1]] > held.stamp)
        return Located(*next(alive), (place_in_words(self.plan, subscription.number),))

    def adopt(self, segment: Segment) -> None:
        self.insert(segment.owners)


class _Run(NamedTuple):
    """Matches of one part in one place: keys of publication and number, ascending, and places in the roster."""

    keys: Int64s
    places: Int64s


class _PlaceHits(NamedTuple):
    """What one place found in a part: what is sure, and everything, with publications numbered as in the batch."""

    sure: _Run
    hits: list[Hits]


class _AskedPart(NamedTuple):
    """A part whose front was looked up; its shards are at work."""

    part: SearchBatch
    first: int
    front: _PlaceHits
    shards: list[Future[_PlaceHits]]


@dataclass(frozen=True, slots=True)
class ShardedVersion:
    """A plan at one moment."""

    held: PlanVersion
    matcher: ShardedMatcher

    def __len__(self) -> int:
        return self.held.size

    def match(self, publications: Publications, failures: Failures) -> Matches:
        given = rebase(publications, self.matcher.context.vocabulary)
        batch, check = self.matcher.context.batch(given), ExactCheck(given, self.matcher.context, failures)
        runs: list[_Run] = []
        hits: list[Hits] = []
        for each in self._asked(batch, len(given.ids)):
            found = [each.front, *(shard.result() for shard in each.shards)]
            hits += [every for one in found for every in one.hits]
            runs.append(_joined([*(one.sure for one in found), self._checked(found, check)]))
            self.matcher.observer.observe(each.part, each.first, each.front.hits, runs[-1].keys)
        return self._matches(_joined(runs), hits, check)

    def _asked(self, batch: SearchBatch, count: int) -> Iterator[_AskedPart]:
        """The parts of a batch. Each thread looks up the front of one or two of the next while this one waits."""
        if count <= PART or self.matcher.plan.scheme.partition == "hash":
            yield from [self._ask(batch, first, min(first + PART, count)) for first in range(0, count, PART)]
            return
        threads, ahead = self.matcher.threads, deque[Future[_AskedPart]]()
        for number, first in enumerate(range(0, count, PART)):
            thread = threads[number % len(threads)]
            ahead.append(thread.submit(self._ask, batch, first, min(first + PART, count)))
            if len(ahead) > 2 * len(threads):
                yield ahead.popleft().result()
        yield from (each.result() for each in ahead)

    # --- one stage alone ----------------------------------------------------------------------------------------

    def front(self, publications: Publications, failures: Failures) -> tuple[Matches, tuple[Int64s, ...]]:
        """The first stage: the roots that match, and for each shard the publications that must reach it."""
        given = rebase(publications, self.matcher.context.vocabulary)
        rows = np.arange(len(given.ids), dtype=np.int32)
        found = self._look(self.matcher.context.batch(given), rows, self.matcher.plan.front, self.held.front, 0)
        return self._whole(given, found, failures), tuple(self._wanted(found, 0, len(rows)))

    def shard(self, number: int, publications: Publications, failures: Failures) -> Matches:
        """The second stage, for publications that go to this shard."""
        given = rebase(publications, self.matcher.context.vocabulary)
        batch, rows = self.matcher.context.batch(given), np.arange(len(given.ids), dtype=np.int32)
        segments, own = self.matcher.plan.shards[number], self.held.shards[number]
        start = sum(len(each) for held in (self.held.front, *self.held.shards[:number]) for each in held.segments)
        return self._whole(given, self._look(batch, rows, segments, own, start), failures)

    def _whole(self, given: Publications, found: _PlaceHits, failures: Failures) -> Matches:
        check = ExactCheck(given, self.matcher.context, failures)
        return self._matches(_joined([found.sure, self._checked([found], check)]), found.hits, check)

    # --- parts --------------------------------------------------------------------------------------------------

    def _ask(self, batch: SearchBatch, first: int, last: int) -> _AskedPart:
        """Looks up the front of some publications, and lets the shards begin with theirs."""
        held, part = self.held, batch.some(first, last)
        rows = np.arange(first, last, dtype=np.int32)
        if any(segment.needs.words for each in held.shards for segment in each.segments):
            part.words()  # once, for all shards
        front = self._look(part, rows, self.matcher.plan.front, held.front, 0)
        start, begun = sum(map(len, held.front.segments)), []
        for shard, wanted in enumerate(self._wanted(front, first, last)):
            own = held.shards[shard]
            if len(wanted) and own.size:
                work = part if len(wanted) == last - first else part.chosen(wanted)
                task = (work, rows[wanted], self.matcher.plan.shards[shard], own, start)
                begun.append(self.matcher.threads[shard].submit(self._look, *task))
            start += sum(map(len, own.segments))
        return _AskedPart(part, first, front, begun)

    def _wanted(self, front: _PlaceHits, first: int, last: int) -> Iterator[Int64s]:
        """For each shard the publications that must reach it, counted from the first of the part."""
        if self.matcher.plan.scheme.partition == "hash":
            return iter([np.arange(last - first)] * len(self.held.shards))
        return self.matcher.reach.wanted(self.held, front.hits, first, last)

    def _look(
        self, part: SearchBatch, rows: Int32s, segments: Segments, held: SegmentsVersion, start: int
    ) -> _PlaceHits:
        """Searches one place; `rows` are the numbers of its publications, `start` is where its roster begins."""
        hits = search_all(segments, held, part) if held.size else []
        runs = []
        for each in hits:
            each.publication = rows[each.publication]
            each.doubtful = [one._replace(publication=int(rows[one.publication])) for one in each.doubtful]
            runs.append(_run(each.segment, each.publication, each.number, start))
            start += len(each.segment)
        return _PlaceHits(_joined(runs), hits)

    def _checked(self, found: Sequence[_PlaceHits], check: ExactCheck) -> _Run:
        """The doubtful matches that hold."""
        runs, starts, start = [], {}, 0
        for segment in self._segments():
            starts[id(segment)] = start
            start += len(segment)
        for each in chain.from_iterable(one.hits for one in found):
            doubtful = [one for one in each.doubtful if each.segment.index.numbers[one.member] < MERGERS]
            if doubtful:
                publication, number = check.checked(replace(each, doubtful=doubtful))
                runs.append(_run(each.segment, publication, number, starts[id(each.segment)]))
        return _joined(runs)

    # --- the whole ----------------------------------------------------------------------------------------------

    def _segments(self) -> tuple[Segment, ...]:
        return tuple(chain(self.held.front.segments, *(each.segments for each in self.held.shards)))

    def _matches(self, run: _Run, hits: Sequence[Hits], check: ExactCheck) -> Matches:
        candidates = sum(each.candidates - _mergers(each) for each in hits)
        return matches_of((run.keys >> NUMBER_BITS, run.places), self._segments(), len(self), candidates, hits, check)


def _mergers(hits: Hits) -> int:
    """How many of the candidates are mergers, which are nobody's subscriptions."""
    index = hits.segment.index
    ours = (index.numbers >= MERGERS) & (index.died > hits.stamp)
    if not ours.any():
        return 0
    before = np.concatenate([[0], np.cumsum(ours)])
    first, count = index.structures[hits.searched[0]][:, [FIRST_MEMBER, MEMBERS]].T
    return int((before[first + count] - before[first]).sum())


def _run(segment: Segment, publication: Int32s | Int64s, number: Int64s, start: int) -> _Run:
    """Matches of a segment in order; mergers, whose numbers are the largest, are none."""
    real = number < MERGERS
    if not real.all():
        publication, number = publication[real], number[real]
    keys = np.sort((publication.astype(np.int64) << NUMBER_BITS) | number)
    return _Run(keys, segment.places(keys & NUMBER) + start)


def _joined(runs: Sequence[_Run]) -> _Run:
    """Several as one, in order. Sorting what consists of a few ascending runs takes as long as merging them."""
    some = [run for run in runs if len(run.keys)]
    if len(some) <= 1:
        return some[0] if some else _Run(np.zeros(0, np.int64), np.zeros(0, np.int64))
    keys, places = (np.concatenate(column) for column in zip(*some, strict=True))
    if all(left.keys[-1] < right.keys[0] for left, right in pairwise(some)):
        return _Run(keys, places)
    order = np.argsort(keys, kind="stable")
    return _Run(keys[order], places[order])


# --- which publications go to which shards ----------------------------------------------------------------------------
# Those that match a root with something below it there. The law: the answer holds for the version that is asked. What
# was found out about a root is kept until the plan changes, since a root that matches one publication often matches
# many.


class RootShards:
    """The shards of the roots that were met in the present version of a plan."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._bytes = (shards + 7) // 8
        # A version and, by segment, what is known of its roots by place: whether anything, and a bit for each shard.
        self._known: tuple[int, dict[Segment, tuple[Flags, Int8s]]] = (-1, {})

    def wanted(self, version: PlanVersion, hits: Sequence[Hits], first: int, last: int) -> Iterator[Int64s]:
        """For each shard the publications between `first` and `last` that must reach it, counted from the first."""
        reached = np.zeros((self._shards, last - first), np.bool_)
        known = self._known
        if known[0] != version.stamp:  # of other versions it is forgotten
            known = self._known = (version.stamp, {})
        for each in hits:
            rows, numbers = met(each)
            if len(rows):
                shards = self._of(known[1], version, each.segment, each.segment.places(numbers))
                for shard in range(self._shards):
                    goes = shards[:, shard >> 3] & (1 << (shard & 7)) != 0
                    reached[shard, rows[goes] - first] = True
        return (np.flatnonzero(row) for row in reached)

    def _of(
        self, table: dict[Segment, tuple[Flags, Int8s]], version: PlanVersion, segment: Segment, places: Int64s
    ) -> Int8s:
        if segment not in table:
            size = len(segment)
            table[segment] = np.zeros(size, np.bool_), np.zeros((size, self._bytes), np.uint8)
        asked, shards = table[segment]
        new = np.zeros(len(segment), np.bool_)
        new[places] = True
        unknown = np.flatnonzero(new & ~asked)
        if len(unknown):
            numbers = segment.index.numbers[segment.by_number[unknown]].tolist()
            bits = [version.routes[number].shards(version.stamp).to_bytes(self._bytes, "little") for number in numbers]
            shards[unknown] = np.frombuffer(b"".join(bits), np.uint8).reshape(-1, self._bytes)
            asked[unknown] = True  # last, since other publishers look as well
        return shards[places]


def met(hits: Hits) -> tuple[Int32s, Int64s]:
    """The publications and numbers that were found, in doubt or not."""
    if not hits.doubtful:
        return hits.publication, hits.number
    rows = np.array([each.publication for each in hits.doubtful], np.int32)
    members = np.array([each.member for each in hits.doubtful], np.int64)
    return np.concatenate([hits.publication, rows]), np.concatenate([hits.number, hits.segment.index.numbers[members]])


# --- what publications teach a plan -----------------------------------------------------------------------------------
# Which mergers said yes although none of their members matched, and what is published. The laws: an answer of a merger
# is counted as false exactly if no subscription below it is among the matches; of a large part some publications stand
# for all, since asking for the root of every match would take as long as matching. Nothing here changes a notification:
# a merger that errs too often is decomposed between two versions.


class Observer:
    """Counts for the mergers of one plan, and learns for them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lock = threading.Lock()
        self._false = self._seen = 0
        self._failed = False

    def observe(self, part: SearchBatch, first: int, front: Sequence[Hits], keys: Int64s) -> None:
        """A part whose first publication has this number, what its front found, and the keys of all its matches."""
        arrangement = None if self._failed else self._plan.merging()
        if arrangement is None:
            return
        try:
            false = self._count(arrangement, front, keys)
            with self._lock:
                self._false += false
            self._learn(arrangement, part.publications, first, keys)
            if self._false >= _FALSE:
                self._review(arrangement)
        except MemoryError:
            raise
        except Exception as error:  # it changes no notification, so neither does its failure
            self._failed = True
            _LOG.warning("mergers are not reviewed any more: %s, %s", type(error).__name__, error, exc_info=error)

    def _count(self, arrangement: Merging, front: Sequence[Hits], keys: Int64s) -> int:
        """Tells each merger how often it was right, and how often not; returns how often not."""
        seen: Counter[tuple[int, bool]] = Counter()
        answers = _answers(front)
        rows = np.unique(answers >> NUMBER_BITS)
        for row in rows[:: max(1, -(-len(rows) // _COUNTED))].tolist():  # at most so many, evenly
            roots = self._plan.roots_of(_numbers(keys, row))
            seen.update((node, node in roots) for node in _numbers(answers, row))
        for (node, hit), times in seen.items():
            arrangement.observe(node, hit, times)
        return sum(times for (_, hit), times in seen.items() if not hit)

    def _learn(self, arrangement: Merging, publications: Publications, first: int, keys: Int64s) -> None:
        """Shows the arrangement some of the publications, unless others write."""
        count = len(publications.ids)
        with self._lock:
            begin, self._seen = self._seen, self._seen + count
        wanted = min(count, _LEARNED) if begin < _FIRST else count // _EVERY
        if not wanted:
            return
        matched = np.bincount((keys >> NUMBER_BITS) - first, minlength=count)[:wanted].tolist()
        last = int(publications.offsets[wanted])
        triples = Triples(*(column[:last] for column in publications.triples))
        some = publications._replace(
            ids=publications.ids[:wanted], offsets=publications.offsets[: wanted + 1], triples=triples
        )
        with self._plan.arranging() as follow:
            if follow is not None:
                arrangement.learn(some, matched)

    def _review(self, arrangement: Merging) -> None:
        with self._plan.arranging() as follow:
            if follow is not None:
                with self._lock:
                    self._false = 0
                follow(arrangement.review())


def _answers(front: Sequence[Hits]) -> Int64s:
    """Keys of the publications and the mergers that the front found, each once."""
    keys = [np.zeros(0, np.int64)]
    for each in front:
        rows, numbers = met(each)
        mergers = numbers >= MERGERS
        keys.append((rows[mergers].astype(np.int64) << NUMBER_BITS) | (numbers[mergers] - MERGERS))
    return np.unique(np.concatenate(keys))


def _numbers(keys: Int64s, row: int) -> list[int]:
    """The numbers of one publication among ascending keys."""
    first, last = np.searchsorted(keys, [row << NUMBER_BITS, (row + 1) << NUMBER_BITS])
    numbers: list[int] = (keys[first:last] & NUMBER).tolist()
    return numbers


# --- a filter that is built in parts ----------------------------------------------------------------------------------


class ShardGround(NamedTuple):
    """What all parts of a filter have in common, as it travels to other processes."""

    taxonomy: pa.Table
    prefixes: Mapping[str, str]

    @classmethod
    def of(cls, taxonomy: Taxonomy, prefixes: Mapping[str, str]) -> Self:
        return cls(taxonomy.table(), dict(prefixes))

    def registry(self) -> Subscriptions:
        """Nobody's subscriptions yet."""
        return Subscriptions("filter", self.prefixes)

    def classes(self) -> Taxonomy:
        return Taxonomy.of_table(self.taxonomy)


def restored(registry: Subscriptions, tables: Tables) -> tuple[Subscription, ...]:
    """Subscribes to what was accepted before."""
    return registry.restore(tables, check_options)


def save_shard(path: str | Path, registry: Subscriptions, ground: ShardGround) -> None:
    """Saves everybody of a registry as a shard, indexed."""
    vocabulary, taxonomy = Vocabulary(), ground.classes()
    matcher = IndexedMatcher(vocabulary, taxonomy)
    batches, plain = by_origin(registry)
    for batch in batches:
        matcher.insert(batch.subscriptions)
    if plain:
        matcher.insert(plain)
    saving.packed(registry, taxonomy, DEFAULT, vocabulary, matcher)(path)


def save_front(path: str | Path, roots: Iterable[Root], scheme: Scheme, ground: ShardGround) -> None:
    """Saves roots, subscriptions and mergers, as the front of shards that others build."""
    own: dict[Subscription, int] = {}
    mergers: list[tuple[Query, int]] = []
    for head, shards in roots:
        if isinstance(head, Subscription):
            own[head] = shards
        else:
            mergers.append((head, shards))
    registry = ground.registry()
    owners = [*restored(registry, written(list(own)))]
    owners += [merger(MERGERS + number, query) for number, (query, _) in enumerate(mergers)]
    plan = Plan(scheme, Context(Vocabulary(), ground.classes(), registry.prefixes))
    segments = Segments()
    for interests, several in compiled(owners, plan.context):
        segments.add(interests, several)
    front = segments.whole()
    bits = [*own.values(), *(shards for _, shards in mergers)]
    routes = {each.number: ShardRoute(its) for each, its in zip(owners, bits, strict=True)}
    plan.adopt({} if front is None else {FRONT: front}, routes, partial=True)
    context, matcher = plan.context, ShardedMatcher(plan)
    saving.packed(registry, context.taxonomy, DEFAULT, context.vocabulary, matcher)(path)


# --- one stage of a saved filter --------------------------------------------------------------------------------------


class Fronted(NamedTuple):
    """What the front found: its notifications, the ids that were published, and by shard which of them go there."""

    notifications: Notifications
    ids: tuple[str, ...]
    wanted: tuple[Int64s, ...]


class Stage:
    """The front of a saved filter, or one of its shards."""

    def __init__(self, plan: Plan, place: int) -> None:
        self.place = place
        self.shards = plan.scheme.shards
        self._context = plan.context
        self._matcher = ShardedMatcher(plan)
        self._aside: Aside = {}

    @classmethod
    def open(cls, path: str | Path, place: int = FRONT) -> Self:
        """Opens one place: -1 is the front, any other a shard."""
        saved = saving.read(path)
        if saved.plan is None or saved.scheme is None or not FRONT <= place < saved.scheme.shards:
            message = f"a saved filter without a place {place}"
            raise StorageError("HG-810", message, place=Place(str(path)), fix="save one that is divided into shards")
        subscriptions = Subscriptions("filter", saved.prefixes)
        plan = Plan(saved.scheme, Context(saved.vocabulary, saved.taxonomy, subscriptions.prefixes))
        owners = _Some(subscriptions, saved.tables, saving.rows_of(saved.plan, place))
        saving.unpack_plan(plan, saved.plan, owners, [place])
        return cls(plan, place)

    def front(self, items: Any, bindings: int = 0) -> Fronted:
        """The first stage: what the front itself notifies, and where the publications go from there."""
        started, failures = time.perf_counter_ns(), Failures(self._aside)
        arrivals = encode(items, self._context.vocabulary, self._context.prefixes)
        times = started, time.perf_counter_ns()
        matches, wanted = self._matcher.version().front(arrivals.publications, failures)
        reported = report(matches, arrivals, failures, self._context.taxonomy, bindings, times)
        return Fronted(reported, arrivals.publications.ids, wanted)

    def match(self, items: Any, bindings: int = 0) -> Notifications:
        """The second stage: what this shard notifies of publications that the front sent here."""
        started, failures = time.perf_counter_ns(), Failures(self._aside)
        arrivals = encode(items, self._context.vocabulary, self._context.prefixes)
        times = started, time.perf_counter_ns()
        matches = self._matcher.version().shard(self.place, arrivals.publications, failures)
        return report(matches, arrivals._replace(rejected=()), failures, self._context.taxonomy, bindings, times)


class _Some(Sequence[Subscription]):
    """The subscriptions of a save by their rows, of which only some were made."""

    def __init__(self, registry: Subscriptions, tables: Tables, rows: Int64s) -> None:
        self._size = tables["subscriptions"].num_rows
        subscriptions = tables["subscriptions"].take(rows)
        ids: Any = subscriptions["subscription_id"].combine_chunks()
        own = {"subscriptions": subscriptions}
        for name in ("patterns", "constraints"):
            own[name] = tables[name].filter(pc.is_in(tables[name]["subscription_id"], value_set=ids))
        self._made = dict(zip(rows.tolist(), registry.reopen(own, check_options), strict=True))

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, row: Any) -> Any:
        return self._made[row]
