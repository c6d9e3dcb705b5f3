"""A plan: the front-end index, the shards, and who stands where; maintained while publications are matched.

The laws: a version of the plan is one version of the front and one of every shard, taken together, and never changes; a
subscription that moves leaves one place and comes to another between two versions, so in each it stands in exactly one.
Whatever matches in a shard matches a root at the front whose route names that shard, in every version.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from heliograph.errors import UsageError
from heliograph.index import tiers
from heliograph.index.bulk import interests_of_batch, interests_singly
from heliograph.index.interests import Interests
from heliograph.index.segment import Segment
from heliograph.index.tiers import Tiers
from heliograph.partition.arrangement import Arrangement, Change
from heliograph.partition.placement import FRONT, MERGERS, Moves, Placement
from heliograph.partition.routes import Route
from heliograph.partition.scheme import Scheme
from heliograph.subscriptions import Subscription, by_origin
from heliograph.syntax.query import Query
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from heliograph.partition.merging import Merging

_LOG = logging.getLogger("heliograph")
_LARGE = 256  # subscriptions that come at once; publishers who waited for them would notice


class Version(NamedTuple):
    """The plan at one moment."""

    stamp: int
    size: int  # subscriptions
    front: tiers.Version
    shards: tuple[tiers.Version, ...]
    routes: Mapping[int, Route]  # by number at the front


class Context(NamedTuple):
    """What the subscriptions of a plan have in common."""

    vocabulary: Vocabulary
    taxonomy: Taxonomy
    prefixes: Mapping[str, str] = PREFIXES  # of their texts


class _Lot(NamedTuple):
    """Subscriptions made ready for an index."""

    place: int
    interests: Interests
    owners: Sequence[Subscription]


class Plan:
    """One writer at a time; any number of readers, who take a version."""

    def __init__(self, scheme: Scheme, context: Context) -> None:
        self.scheme = scheme
        self.context = context
        self.front = Tiers()
        self.shards = tuple(Tiers() for _ in range(scheme.shards))
        self.members: dict[int, Subscription] = {}  # by number
        self._placement: Placement | None = Placement(scheme.arrangement(context.taxonomy), scheme.shards)
        self._opened: Mapping[int, Route] = {}  # the routes of a plan that was opened, until it changes
        self.writing, self._lock = threading.RLock(), threading.Lock()
        self._stamp, self._stale, self._partial = 0, False, False
        self._held = self._taken()

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def version(self) -> Version:
        """The plan as it is now. While a writer is at work it is the one before, which holds until he is done."""
        if self._lock.acquire(blocking=self._stale):
            try:
                self._held, self._stale = self._taken(), False
            finally:
                self._lock.release()
        return self._held

    def _taken(self) -> Version:
        front, shards = self.front.version, tuple(each.version for each in self.shards)
        return Version(self._stamp, len(self.members), front, shards, self.routes)

    @property
    def arrangement(self) -> Arrangement | None:
        """How the patterns are arranged; not known of a plan that was opened and has not changed."""
        return None if self._placement is None else self._placement.arrangement

    def merging(self) -> Merging | None:
        """The arrangement, if it merges and is known."""
        return cast("Merging | None", self.arrangement) if self.scheme.partition == "merging" else None

    def roots_of(self, numbers: Iterable[int]) -> set[int]:
        """The roots that these subscriptions are below now; of those that have gone none."""
        return set() if self._placement is None else self._placement.roots_of(numbers)

    @property
    def routes(self) -> Mapping[int, Route]:
        return self._opened if self._placement is None else self._placement.routes.table

    def tier(self, place: int) -> Tiers:
        return self.front if place == FRONT else self.shards[place]

    def find(self, number: int) -> int:
        """The place of a subscription: the front is -1, any other a shard."""
        if self._placement is not None:
            return self._placement.place_of(number)
        return next(place for place in range(FRONT, len(self.shards)) if _holds(self.tier(place), number))

    # --- writing ------------------------------------------------------------------------------------------------

    def insert(self, subscriptions: Sequence[Subscription]) -> None:
        """Takes subscriptions, whose numbers are above all earlier ones; they appear at once."""
        with self.writing:
            placement = self.placement()
            try:
                moves = placement.insert(subscriptions, self._stamp + 1)
                self._apply(moves, placement, {each.number: each for each in subscriptions}, ())
            except Exception:
                self._anew(each.number for each in subscriptions)
                raise

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        """Removes subscriptions, all at once."""
        with self.writing:
            placement, numbers = self.placement(), [each.number for each in subscriptions]
            try:
                self._apply(placement.remove(numbers, self._stamp + 1), placement, {}, numbers)
            except Exception as error:
                _LOG.warning("arranging all subscriptions anew: %s, %s", type(error).__name__, error, exc_info=error)
                self._anew(numbers)

    def _anew(self, gone: Iterable[int]) -> None:
        """Arranges and indexes everybody anew, but these: a change that failed may be half done."""
        for number in gone:
            self.members.pop(number, None)
        people = [self.members[number] for number in sorted(self.members)]
        placement = Placement(self.scheme.arrangement(self.context.taxonomy), self.scheme.shards)
        moves = placement.insert(people, self._stamp + 1)
        front, shards = Tiers(), tuple(Tiers() for _ in self.shards)
        for lot in self._lots(moves, placement, {}):
            (front if lot.place == FRONT else shards[lot.place]).add(lot.interests, lot.owners)
        with self._lock:  # readers keep the versions that they have
            self.front, self.shards, self._placement = front, shards, placement
            self._stamp, self._stale = self._stamp + 1, True

    @contextmanager
    def arranging(self) -> Iterator[Callable[[Change], None] | None]:
        """For whoever changes the arrangement by itself: what does the same to the plan; None while others write."""
        if not self.writing.acquire(blocking=False):
            yield None
            return
        try:
            placement = self.placement()
            try:
                yield lambda change: self._apply(placement.follow(change, self._stamp + 1), placement, {}, ())
            except Exception:
                self._anew(())
                raise
        finally:
            self.writing.release()

    def _apply(
        self, moves: Moves, placement: Placement, added: Mapping[int, Subscription], removed: Iterable[int]
    ) -> None:
        """The next version: whoever left a place is gone from it, whoever came is there."""
        lots = list(self._lots(moves, placement, added))
        with self._lock:
            if self._stale and sum(len(lot.owners) for lot in lots) > _LARGE:
                self._held, self._stale = self._taken(), False  # so that nobody waits for these
            for place, numbers in moves.left.items():
                self.tier(place).remove(numbers)
            for lot in lots:
                self.tier(lot.place).add(lot.interests, lot.owners)
            self.members.update(added)
            for number in removed:
                del self.members[number]
            self._placement = placement
            placement.routes.tidy()
            self._stamp, self._stale = self._stamp + 1, True

    def _lots(self, moves: Moves, placement: Placement, added: Mapping[int, Subscription]) -> Iterator[_Lot]:
        for place, numbers in moves.came.items():
            people = [added.get(number) or self.members[number] for number in numbers if number < MERGERS]
            queries = {number: placement.arrangement.query_of(number - MERGERS) for number in numbers[len(people) :]}
            owners = [*people, *(merger(number, query) for number, query in queries.items())]
            yield from (_Lot(place, *ready) for ready in compiled(owners, self.context))

    # --- files --------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Saves the plan with all that is needed to run it elsewhere, replacing an older save in one step."""
        from heliograph.partition import plan_saving

        plan_saving.save(self, folder)

    @staticmethod
    def load(folder: str | Path, places: Collection[int] | None = None) -> Plan:
        """Opens a saved plan, or some places of it: -1 is the front, any other a shard. Only a whole one can change."""
        from heliograph.partition import plan_saving

        return plan_saving.load(folder, places)

    # --- opening ------------------------------------------------------------------------------------------------

    def adopt(self, segments: Mapping[int, Segment], routes: Mapping[int, Route], partial: bool = False) -> None:
        """Takes over the segments of a saved plan, by place. Nothing is arranged before the first change."""
        with self._lock:
            self._placement, self._opened, self._partial = None, routes, partial
            for place, segment in segments.items():
                self.tier(place).adopt(segment)
                owners = (each for each in segment.owners if each.number < MERGERS)
                self.members.update((each.number, each) for each in owners)
            self._stamp, self._stale = self._stamp + 1, True

    def placement(self) -> Placement:
        """Who stands where. A plan that was opened is arranged now; nobody leaves his shard for that without need."""
        if self._placement is not None:
            return self._placement
        if self._partial:
            raise UsageError("HG-053", "a plan of which only a part was opened cannot change", fix="open all of it")
        people = [self.members[number] for number in sorted(self.members)]
        placement = Placement(self.scheme.arrangement(self.context.taxonomy), self.scheme.shards, self._places())
        moves = placement.insert(people, self._stamp + 1)
        self._apply(moves, placement, {}, ())
        for each in people:
            each.release()
        return placement

    def _places(self) -> dict[int, int]:
        """Where everybody stands, mergers too, as the indexes have it."""
        version, places = self.version, {}
        for place, held in ((FRONT, version.front), *enumerate(version.shards)):
            for segment in held.segments:
                numbers = segment.index.numbers[segment.index.died > held.stamp]
                places.update(dict.fromkeys(numbers.tolist(), place))
        return places


def merger(number: int, query: Query) -> Subscription:
    """A synthetic merger as the front holds it: nobody's, and never reported."""
    return Subscription(f"merger {number - MERGERS}", None, query, number)


def compiled(
    subscriptions: Sequence[Subscription], context: Context
) -> Iterator[tuple[Interests, Sequence[Subscription]]]:
    """Subscriptions as interests: those of one pattern set together, and those of texts."""
    vocabulary, taxonomy = context.vocabulary, context.taxonomy
    batches, plain = by_origin(subscriptions)
    for batch in batches:
        yield interests_of_batch(batch, vocabulary, taxonomy), batch.subscriptions
    if plain:
        yield interests_singly(plain, vocabulary, taxonomy), plain


def _holds(tier: Tiers, number: int) -> bool:
    version = tier.version
    found = ((segment, segment.find(number)) for segment in version.segments)
    return any(member >= 0 and segment.index.died[member] > version.stamp for segment, member in found)
