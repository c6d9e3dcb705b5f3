"""A plan: the front, the shards, and where each subscription stands; changed while publications are matched."""

from __future__ import annotations

import logging
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast

from heliograph.errors import UsageError
from heliograph.filter.interests import Interests, interests_of_batch, interests_singly
from heliograph.filter.segment import Segment, Segments, SegmentsVersion
from heliograph.sparql.query import Query
from heliograph.subscriptions import MOST_SUBSCRIPTIONS, Subscription, by_origin
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from heliograph.partition.merging import Merging
    from heliograph.sparql.normalize import NormalForm


# --- arrangements -----------------------------------------------------------------------------------------------
# How subscriptions are arranged so that those matched together are evaluated apart: the narrow waist of partitioning.
#
# An arrangement keeps distinct patterns as *nodes*, each with the numbers of the subscriptions that ask it. Nodes
# form trees. The laws: whatever matches a node matches its root, so only roots need be looked up at the front; a root
# is a pattern of a subscription, or a synthetic merger that no subscription asks and that is never reported; every
# change returns exactly what became different, so plans are maintained, not rebuilt.


class PlanChange(NamedTuple):
    """What a change did to the nodes. A node is in `entered` or `placed` whenever its root is another than before."""

    entered: tuple[int, ...] = ()  # nodes that are roots now
    left: tuple[int, ...] = ()  # nodes that are roots no longer, though they still stand
    placed: tuple[tuple[int, int], ...] = ()  # nodes below a root, and that root
    gone: tuple[int, ...] = ()  # nodes that are no more


class Arrangement(ABC):
    """Patterns in trees. Nodes have numbers that are never used again."""

    def __init__(self) -> None:
        self._trees = Trees()
        self._forms: dict[int, NormalForm] = {}
        self._known: dict[NormalForm, int] = {}  # the nodes of patterns that are asked
        self._subscribers: dict[int, dict[int, None]] = {}  # of each such node, in order
        self._nodes: dict[int, int] = {}  # by subscription

    @abstractmethod
    def insert(self, subscriptions: Sequence[tuple[int, Query]]) -> PlanChange:
        """Takes subscriptions by number, above all earlier ones."""

    @abstractmethod
    def remove(self, numbers: Iterable[int]) -> PlanChange:
        """Forgets subscriptions that are there."""

    def node_of(self, number: int) -> int:
        """The node of a subscription."""
        return self._nodes[number]

    def root_of(self, node: int) -> int:
        """The root above a node, or the node itself."""
        return self._trees.root_of(node)

    def parent_of(self, node: int) -> int | None:
        return self._trees.parent_of(node)

    def children_of(self, node: int) -> tuple[int, ...]:
        """What stands directly below a node; below a merger, what it was made of, as far as it still stands."""
        return self._trees.children_of(node)

    def query_of(self, node: int) -> Query:
        """The pattern of a node."""
        from heliograph.sparql.normalize import query_of

        return query_of(self._forms[node])

    def subscribers_of(self, node: int) -> Sequence[int]:
        """The subscriptions that ask a node, in order; none of a synthetic merger."""
        return tuple(self._subscribers.get(node, ()))

    def is_synthetic(self, node: int) -> bool:
        return False

    def roots(self) -> Iterable[int]:
        return tuple(self._trees.roots)

    def _subscribe(self, number: int, node: int) -> None:
        self._subscribers.setdefault(node, {})[number] = None
        self._nodes[number] = node

    def _unsubscribe(self, number: int) -> int | None:
        """Forgets a subscription; its node, if nobody else asks it."""
        node = self._nodes.pop(number)
        del self._subscribers[node][number]
        if self._subscribers[node]:
            return None
        del self._subscribers[node], self._known[self._forms[node]]
        return node


# --- trees ------------------------------------------------------------------------------------------------------


class Trees:
    """A forest whose nodes are numbers that are never used again, and what became different of it.

    The laws: `root_of` is what it was when `difference` was last called, which reports exactly what changed since the
    time before, however often a node moved in between. It costs the nodes that moved and those below them, each once,
    and no recursion.
    """

    def __init__(self) -> None:
        self.roots: dict[int, None] = {}
        self._next = 0
        self._parent: dict[int, int] = {}
        self._children: dict[int, dict[int, None]] = {}  # of nodes that have any
        self._reported: dict[int, int] = {}  # the root of every node, as last reported
        self._moved: dict[int, None] = {}  # nodes that came or moved since then
        self._gone: dict[int, None] = {}

    def root_of(self, node: int) -> int:
        return self._reported[node]

    def parent_of(self, node: int) -> int | None:
        return self._parent.get(node)

    def children_of(self, node: int) -> tuple[int, ...]:
        return tuple(self._children.get(node, ()))

    def grow(self) -> int:
        """A new root."""
        node = self._next
        self._next += 1
        self.roots[node] = self._moved[node] = None
        return node

    def hang(self, root: int, parent: int) -> None:
        """Puts a root below another node."""
        del self.roots[root]
        self._put(root, parent)

    def _put(self, node: int, parent: int) -> None:
        self._parent[node] = parent
        self._children.setdefault(parent, {})[node] = None
        self._moved[node] = None

    def cut(self, node: int) -> tuple[int, ...]:
        """Takes a node away. Its children go to its parent; where it has none they are roots, and are returned."""
        children = tuple(self._children.pop(node, ()))
        parent = self._parent.pop(node, None)
        self._moved.pop(node, None)
        self._gone[node] = None
        if parent is None:
            del self.roots[node]
            for child in children:
                del self._parent[child]
                self.roots[child] = self._moved[child] = None
            return children
        siblings = self._children[parent]
        del siblings[node]
        if not siblings:
            del self._children[parent]
        for child in children:
            self._put(child, parent)
        return ()

    def difference(self) -> PlanChange:
        """What changed since the last time."""
        gone = tuple(sorted(node for node in self._gone if self._reported.pop(node, None) is not None))
        entered, left, placed = list[int](), list[int](), list[tuple[int, int]]()
        for node, root in sorted(self._roots_of_moved().items()):
            before = self._reported.get(node)
            if root == before:
                continue
            self._reported[node] = root
            if root == node:
                entered.append(node)
            else:
                placed.append((node, root))
                if before == node:
                    left.append(node)
        self._moved, self._gone = {}, {}
        return PlanChange(tuple(entered), tuple(left), tuple(placed), gone)

    def _roots_of_moved(self) -> dict[int, int]:
        """The present root of every node that moved, or that stands below one."""
        known: dict[int, int] = {}  # of the nodes above those
        walked: dict[int, int] = {}
        for top in self._moved:
            path, node = list[int](), top
            while node not in known and node in self._parent:
                path.append(node)
                node = self._parent[node]
            root = known.setdefault(node, node)
            known.update(dict.fromkeys(path, root))
            todo = [top]
            while todo:
                node = todo.pop()
                if node not in walked:
                    walked[node] = root
                    todo.extend(self._children.get(node, ()))
        return walked


# --- hashing ----------------------------------------------------------------------------------------------------
# The arrangement that arranges nothing: every subscription is a pattern of its own, below no root.
#
# The law: nobody is looked up at the front, so every shard gets every publication. Which shard a subscription prefers
# is a hash of its number, the same in every process.

EVERYTHING: Final = -1  # what stands above every subscription: it matches every publication
_MASK = (1 << 64) - 1


def preferred(number: int, shards: int) -> int:
    """The shard that the hash of a number names (the mixing steps of SplitMix64)."""
    mixed = (number + 0x9E3779B97F4A7C15) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return (mixed ^ (mixed >> 31)) % shards


class Hashing(Arrangement):
    """Subscriptions as they come. A node is the number of its one subscription."""

    def __init__(self) -> None:
        super().__init__()
        self._queries: dict[int, Query | None] = {}

    def take(self, numbers: Iterable[int]) -> PlanChange:
        """Takes subscriptions of which nobody will ask for the query."""
        return self._place(dict.fromkeys(numbers))

    def insert(self, subscriptions: Sequence[tuple[int, Query]]) -> PlanChange:
        return self._place(dict(subscriptions))

    def _place(self, taken: dict[int, Query] | dict[int, None]) -> PlanChange:
        self._queries.update(taken)
        return PlanChange(placed=tuple((number, EVERYTHING) for number in taken))

    def remove(self, numbers: Iterable[int]) -> PlanChange:
        gone = tuple(numbers)
        for number in gone:
            del self._queries[number]
        return PlanChange(gone=gone)

    def node_of(self, number: int) -> int:
        return number

    def root_of(self, node: int) -> int:
        return EVERYTHING

    def query_of(self, node: int) -> Query:
        query = self._queries[node]
        assert query is not None
        return query

    def subscribers_of(self, node: int) -> Sequence[int]:
        return (node,)


# --- schemes ----------------------------------------------------------------------------------------------------
# How a filter is to be divided: into how many shards, and by which arrangement.

PARTITIONS = ("hash", "containment", "merging")
MOST_SHARDS = 1024


@dataclass(frozen=True, slots=True)
class Scheme:
    """A partitioning by name, the number of its shards, and the options of merging."""

    partition: str
    shards: int
    merging: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, shards: Any = None, partition: Any = None, merging: Mapping[str, Any] | None = None) -> Self | None:
        """What was asked for, None if nothing was. Shards alone are filled by a hash; a partitioning alone gets a shard
        for each processor."""
        if merging and partition != "merging":
            raise UsageError("HG-032", "options of merging without it", fix='ask for the partition "merging" as well')
        if shards is None and partition is None:
            return None
        if partition is not None and partition not in PARTITIONS:
            raise UsageError(
                "HG-050", f"no partitioning {partition!r}", fix=f"use {' or '.join(map(repr, PARTITIONS))}"
            )
        count = (os.cpu_count() or 1) if shards is None else shards
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_SHARDS:
            raise UsageError("HG-051", f"shards is {shards!r}", fix=f"give how many, from 1 to {MOST_SHARDS}")
        return cls(partition or "hash", count, dict(merging or {}))

    def arrangement(self, taxonomy: Taxonomy) -> Arrangement:
        """An arrangement of nothing yet."""
        if self.partition == "hash":
            return Hashing()
        if self.partition == "containment":
            from heliograph.partition.containment import Forest

            return Forest(taxonomy)
        from heliograph.partition.merging import Merging

        return Merging(taxonomy, **self.merging)

    def meta(self) -> dict[str, Any]:
        """As plain data, for a save."""
        return {"partition": self.partition, "shards": self.shards, "merging": dict(self.merging)}


# --- routes -----------------------------------------------------------------------------------------------------
# The shards of each root: where a publication goes that matches it.
#
# The law: for a version of the plan a route names at least the shards that hold something below the root in that
# version, and exactly those if nothing has left them since. So a publication is never kept from a shard that it must
# reach, however old its publisher's version is; one shard too many costs a look-up.

_SPARE = 64  # routes that nobody uses any more, beyond as many as are used, before they are dropped


class _State(NamedTuple):
    since: int  # the version from which on `exact` is enough
    exact: int  # a bit for each shard
    wide: int  # a bit for each shard that was ever named


class ShardRoute:
    """The shards of one root. One writer at a time; readers see one state or the next."""

    __slots__ = ("_state",)
    _state: _State

    def __init__(self, shards: int = 0, since: int = 0, older: ShardRoute | None = None) -> None:
        """From the version `since` on the shards are these; older versions may know another under the same number."""
        self._state = _State(since, shards, shards if older is None else shards | older._state.wide)

    def shards(self, version: int) -> int:
        """The shards to be asked for a version, as bits."""
        since, exact, wide = self._state
        return exact if version >= since else wide

    def become(self, shards: int, version: int) -> None:
        """From this version on, the shards are these."""
        since, exact, wide = self._state
        self._state = _State(version if exact & ~shards else since, shards, wide | shards)


# --- sharding ---------------------------------------------------------------------------------------------------
# Sharding: subscriptions below one root go to different shards, so that whatever matches them is matched in parallel.
#
# The laws: below one root no shard holds many more than another, and of all subscriptions the fullest shard holds at
# most a tenth of the mean more than the emptiest (or one more, of a few). The second law is the stronger one: where
# roots empty unevenly, subscriptions are moved until it holds again, about one for every two that left.

_TENTH, _TWENTIETH = 10, 20  # of the mean: beyond the first it is balanced again, until the second
_LOOKED_AT = 32  # subscriptions among which one is chosen to be moved


class Standing(NamedTuple):
    """Where a subscription stands: its shard, and the root that it is below."""

    shard: int
    root: int


class Sharding:
    """Which subscriptions stand in which shard, and how many below each root."""

    def __init__(self, shards: int) -> None:
        self.sizes = [0] * shards
        self._members: list[dict[int, int]] = [{} for _ in range(shards)]  # by shard: numbers, each with its root
        self._shard: dict[int, int] = {}  # by number
        self._below: dict[int, list[int]] = {}  # by root: how many in each shard

    def __contains__(self, number: int) -> bool:
        return number in self._shard

    def find(self, number: int) -> Standing:
        shard = self._shard[number]
        return Standing(shard, self._members[shard][number])

    def root(self, number: int) -> int | None:
        """The root that a subscription is below, if it is there."""
        return self._members[self._shard.get(number, 0)].get(number)

    def counts(self, root: int) -> tuple[int, ...]:
        """How many stand below a root, by shard."""
        return tuple(self._below.get(root, [0] * len(self.sizes)))

    # --- one subscription ---------------------------------------------------------------------------------------

    def assign(self, number: int, root: int, wished: int | None = None) -> int:
        """Gives a subscription to the shard with the fewest below its root; or to the one it wishes for, if that is
        not too full."""
        allowed = min(self.sizes) + max(1, sum(self.sizes) // (_TWENTIETH * len(self.sizes)))
        shard, counts, sizes = wished, self._below.get(root), self.sizes
        if shard is None or sizes[shard] >= allowed:
            free = (shard for shard in range(len(sizes)) if sizes[shard] < allowed)
            key = sizes.__getitem__ if counts is None else lambda shard: (counts[shard], sizes[shard])
            shard = min(free, key=key)
        self.put(number, root, shard)
        return shard

    def put(self, number: int, root: int, shard: int) -> None:
        """Puts a subscription into a shard, whatever stands there."""
        self._shard[number] = shard
        self._members[shard][number] = root
        self.sizes[shard] += 1
        self._below.setdefault(root, [0] * len(self.sizes))[shard] += 1

    def remove(self, number: int) -> Standing:
        """Takes a subscription out; returns where it stood."""
        shard = self._shard.pop(number)
        root = self._members[shard].pop(number)
        self.sizes[shard] -= 1
        counts = self._below[root]
        counts[shard] -= 1
        if not any(counts):
            del self._below[root]
        return Standing(shard, root)

    def move(self, number: int, root: int) -> int:
        """Puts a subscription below another root; it stays in its shard unless that holds more below the root."""
        shard = self.remove(number).shard
        counts = self._below.get(root)
        if counts is None or counts[shard] <= min(counts) + sum(counts) // (_TENTH * len(counts)):
            self.put(number, root, shard)
            return shard
        return self.assign(number, root)

    # --- all of them --------------------------------------------------------------------------------------------

    def balance(self) -> Iterator[tuple[int, Standing]]:
        """Moves subscriptions from the fullest shard to the emptiest until they are balanced; yields each, and where it
        stood."""
        mean = sum(self.sizes) // len(self.sizes)
        if max(self.sizes) - min(self.sizes) <= max(1, mean // _TENTH):
            return
        while max(self.sizes) - min(self.sizes) > max(1, mean // _TWENTIETH):
            full, empty = self.sizes.index(max(self.sizes)), self.sizes.index(min(self.sizes))
            members, below = self._members[full], self._below
            some = list(islice(reversed(members), _LOOKED_AT))  # of the last that came
            apart = (each for each in some if below[members[each]][full] > below[members[each]][empty])
            number = next(apart, some[0])  # if possible, one whose root has fewer in the other shard
            standing = self.remove(number)
            self.put(number, standing.root, empty)
            yield number, standing


# --- placement --------------------------------------------------------------------------------------------------
# Where each subscription stands: at the front as a root, or in a shard below one. Maintained from `PlanChange`s.
#
# The laws: the first subscriber of a root stands at the front, and so does a synthetic merger; every other subscription
# is assigned to a shard, further subscribers of the root's own pattern too. So whatever matches is either at the front
# or behind a root that matches as well. Each change returns exactly what moved, so that indexes are maintained, not
# rebuilt.

FRONT: Final = -1  # the place of what is looked up first; any other place is the number of a shard
NOWHERE: Final = -2
MERGERS: Final = MOST_SUBSCRIPTIONS  # numbers at the front from here on are those of synthetic mergers
_CHUNK = 4096  # subscriptions whose queries are made at a time
_NOBODY: Mapping[int, int] = MappingProxyType({})


class Moves(NamedTuple):
    """By place, the numbers that left it and those that came, ascending."""

    left: dict[int, list[int]]
    came: dict[int, list[int]]


class Placement:
    """Where subscriptions stand, for one arrangement and so many shards."""

    def __init__(self, arrangement: Arrangement, shards: int, known: Mapping[int, int] = _NOBODY) -> None:
        """`known` are the places of those that stand somewhere already, and will be inserted anew."""
        self.arrangement = arrangement
        self.sharding = Sharding(shards)
        # By number at the front. Those of numbers that left stay, for versions in which they are there, until `tidy`.
        self.routes: dict[int, ShardRoute] = {}
        self.front: dict[int, int] = {}  # numbers at the front, each with its node
        self._heads: dict[int, int] = {}  # the number of each such node
        self._known = known
        self._before = dict(known)  # of those that the present change touches, where they stood
        self._rerouted: dict[int, None] = {}  # roots below which the present change moved a subscription

    def place_of(self, number: int) -> int:
        if number in self.front:
            return FRONT
        return self.sharding.find(number).shard if number in self.sharding else NOWHERE

    def root_of(self, number: int) -> int:
        """The root that a subscription is, or is below; `EVERYTHING` if there is none."""
        node = self.front.get(number)
        return self.sharding.find(number).root if node is None else node

    def roots_of(self, numbers: Iterable[int]) -> set[int]:
        """The roots above any of these that are there; any thread may ask, also during a change."""
        front, root_of = self.front, self.sharding.root
        found = (front.get(number, root_of(number)) for number in numbers)
        return {root for root in found if root is not None}

    def head(self, root: int) -> int:
        """The number under which a root stands at the front."""
        return self._heads[root]

    # --- changes ------------------------------------------------------------------------------------------------

    def insert(self, subscriptions: Sequence[Subscription], version: int) -> Moves:
        """Places subscriptions; the plan will then be in this version."""
        for first in range(0, len(subscriptions), _CHUNK):
            chunk = subscriptions[first : first + _CHUNK]
            if isinstance(self.arrangement, Hashing):
                change = self.arrangement.take(each.number for each in chunk)
            else:  # the query of a pattern table is made for this only, and not kept
                queries = (each.query if each.origin is None else each.origin.query(each.row) for each in chunk)
                change = self.arrangement.insert([(each.number, query) for each, query in zip(chunk, queries)])
            self._follow(change, version)
            for each in chunk:
                if self.place_of(each.number) == NOWHERE:  # a pattern that is asked already
                    self._below(each.number, self.arrangement.root_of(self.arrangement.node_of(each.number)))
        return self._moves(version)

    def remove(self, numbers: Sequence[int], version: int) -> Moves:
        """Takes subscriptions out."""
        roots = [self.front[number] for number in numbers if number in self.front]
        change = self.arrangement.remove(numbers)
        for number in numbers:
            self._take_out(number)
        self._follow(change, version)
        for node in set(roots).difference(change.gone, change.left, self._heads):
            self._to_front(self.arrangement.subscribers_of(node)[0], node, version)  # the first went, others are left
        return self._moves(version)

    def follow(self, change: PlanChange, version: int) -> Moves:
        """Does what an arrangement did of its own accord."""
        self._follow(change, version)
        return self._moves(version)

    def _follow(self, change: PlanChange, version: int) -> None:
        for node in (*change.gone, *change.left):
            self._behead(node)
        for node in change.entered:
            if self.arrangement.is_synthetic(node):
                self._to_front(MERGERS + node, node, version)
                continue
            first, *others = self.arrangement.subscribers_of(node)
            self._to_front(first, node, version)
            for number in others:  # those that ask the same stand below it
                self._below(number, node)
        for node, root in change.placed:
            for number in self.arrangement.subscribers_of(node):
                self._below(number, root)

    def _moves(self, version: int) -> Moves:
        """What stands elsewhere than before the change, once the shards are balanced again."""
        for number, standing in self.sharding.balance():
            self._before.setdefault(number, standing.shard)
            self._rerouted[standing.root] = None
        moves = Moves({}, {})
        for number in sorted(self._before):
            before, now = self._before[number], self.place_of(number)
            if before != now and before != NOWHERE:
                moves.left.setdefault(before, []).append(number)
            if before != now and now != NOWHERE:
                moves.came.setdefault(now, []).append(number)
        for root in self._rerouted:
            if root in self._heads:
                bits = sum(1 << shard for shard, count in enumerate(self.sharding.counts(root)) if count)
                self.routes[self._heads[root]].become(bits, version)
        self._before, self._known, self._rerouted = {}, _NOBODY, {}
        return moves

    def tidy(self) -> None:
        """Another table of routes, once too many are of numbers that left; earlier versions keep the old one. To be
        called when no version that is taken from now on holds such a number."""
        if len(self.routes) > 2 * len(self.front) + _SPARE:
            self.routes = {number: self.routes[number] for number in self.front}

    # --- one node, one subscription -----------------------------------------------------------------------------

    def _to_front(self, number: int, node: int, version: int) -> None:
        self._take_out(number)
        self.front[number], self._heads[node] = node, number
        self.routes[number] = ShardRoute(0, version, self.routes.get(number))
        self._rerouted[node] = None

    def _below(self, number: int, root: int) -> None:
        self._touch(number)
        if number in self.front:
            self._behead(self.front[number])
        known = self._known.get(number, FRONT)
        if number not in self.sharding and known != FRONT:  # to where it stood
            self.sharding.put(number, root, known)
        elif number not in self.sharding:  # apart from the others
            wished = preferred(number, len(self.sharding.sizes)) if root == EVERYTHING else None
            self.sharding.assign(number, root, wished)
        elif self.sharding.find(number).root != root:
            self._rerouted[self.sharding.find(number).root] = None
            self.sharding.move(number, root)
        self._rerouted[root] = None

    def _take_out(self, number: int) -> None:
        self._touch(number)
        if number in self.front:
            self._behead(self.front[number])
        elif number in self.sharding:
            self._rerouted[self.sharding.remove(number).root] = None

    def _behead(self, node: int) -> None:
        """Takes a node from the front, if it stands there."""
        number = self._heads.pop(node, None)
        if number is not None:
            self._touch(number)
            del self.front[number]

    def _touch(self, number: int) -> None:
        if number not in self._before:
            self._before[number] = self.place_of(number)


# --- the plan ---------------------------------------------------------------------------------------------------
# A plan: the front-end index, the shards, and what stands where; maintained while publications are matched.
#
# The laws: a version of the plan is one version of the front and one of every shard, taken together, and never
# changes; a subscription that moves leaves one place and comes to another between two versions, so in each it stands
# in exactly one. Whatever matches in a shard matches a root at the front whose route names that shard, in every
# version.

_LOG = logging.getLogger("heliograph")
_LARGE = 256  # subscriptions that come at once; publishers that waited for them would notice


class PlanVersion(NamedTuple):
    """The plan at one moment."""

    stamp: int
    size: int  # subscriptions
    front: SegmentsVersion
    shards: tuple[SegmentsVersion, ...]
    routes: Mapping[int, ShardRoute]  # by number at the front


class Context(NamedTuple):
    """What the subscriptions of a plan have in common."""

    vocabulary: Vocabulary
    taxonomy: Taxonomy
    prefixes: Mapping[str, str] = PREFIXES  # of their texts


_Lot = tuple[int, Interests, Sequence[Subscription]]  # subscriptions made ready for an index, and their place


class Plan:
    """One writer at a time; any number of readers, each with a version."""

    def __init__(self, scheme: Scheme, context: Context) -> None:
        self.scheme = scheme
        self.context = context
        self.front = Segments()
        self.shards = tuple(Segments() for _ in range(scheme.shards))
        self.members: dict[int, Subscription] = {}  # by number
        self._placement: Placement | None = Placement(scheme.arrangement(context.taxonomy), scheme.shards)
        self._opened: Mapping[int, ShardRoute] = {}  # the routes of a plan that was opened, until it changes
        self.writing, self._lock = threading.RLock(), threading.Lock()
        self._stamp, self._stale, self._partial = 0, False, False
        self._held = self._taken()

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def version(self) -> PlanVersion:
        """The plan as it is now. While a writer is at work it is the one before, which holds until it is done."""
        if self._lock.acquire(blocking=self._stale):
            try:
                self._held, self._stale = self._taken(), False
            finally:
                self._lock.release()
        return self._held

    def _taken(self) -> PlanVersion:
        front, shards = self.front.version, tuple(each.version for each in self.shards)
        return PlanVersion(self._stamp, len(self.members), front, shards, self.routes)

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
    def routes(self) -> Mapping[int, ShardRoute]:
        return self._opened if self._placement is None else self._placement.routes

    def segments(self, place: int) -> Segments:
        return self.front if place == FRONT else self.shards[place]

    def find(self, number: int) -> int:
        """The place of a subscription: the front is -1, any other a shard."""
        return self._places()[number] if self._placement is None else self._placement.place_of(number)

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
        """Arranges and indexes all subscriptions anew, but these: a change that failed may be half done."""
        for number in gone:
            self.members.pop(number, None)
        subscribed = [self.members[number] for number in sorted(self.members)]
        placement = Placement(self.scheme.arrangement(self.context.taxonomy), self.scheme.shards)
        moves = placement.insert(subscribed, self._stamp + 1)
        front, shards = Segments(), tuple(Segments() for _ in self.shards)
        for place, interests, owners in self._lots(moves, placement, {}):
            (front if place == FRONT else shards[place]).add(interests, owners)
        with self._lock:  # readers keep the versions that they have
            self.front, self.shards, self._placement = front, shards, placement
            self._stamp, self._stale = self._stamp + 1, True

    @contextmanager
    def arranging(self) -> Iterator[Callable[[PlanChange], None] | None]:
        """For a change of the arrangement by itself: what does the same to the plan; None during another change."""
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
        """The next version: what left a place is gone from it, what came is there."""
        lots = list(self._lots(moves, placement, added))
        with self._lock:
            if self._stale and sum(len(owners) for _, _, owners in lots) > _LARGE:
                self._held, self._stale = self._taken(), False  # so that nobody waits for these
            for place, numbers in moves.left.items():
                self.segments(place).remove(numbers)
            for place, interests, owners in lots:
                self.segments(place).add(interests, owners)
            self.members.update(added)
            for number in removed:
                del self.members[number]
            self._placement = placement
            placement.tidy()
            self._stamp, self._stale = self._stamp + 1, True

    def _lots(self, moves: Moves, placement: Placement, added: Mapping[int, Subscription]) -> Iterator[_Lot]:
        for place, numbers in moves.came.items():
            subscribed = [added.get(number) or self.members[number] for number in numbers if number < MERGERS]
            queries = {
                number: placement.arrangement.query_of(number - MERGERS) for number in numbers[len(subscribed) :]
            }
            owners = [*subscribed, *(merger(number, query) for number, query in queries.items())]
            yield from ((place, *ready) for ready in compiled(owners, self.context))

    # --- opening ------------------------------------------------------------------------------------------------

    def adopt(self, segments: Mapping[int, Segment], routes: Mapping[int, ShardRoute], partial: bool = False) -> None:
        """Takes over the segments of a saved plan, by place. Nothing is arranged before the first change."""
        with self._lock:
            self._placement, self._opened, self._partial = None, routes, partial
            for place, segment in segments.items():
                self.segments(place).adopt(segment)
                owners = (each for each in segment.owners if each.number < MERGERS)
                self.members.update((each.number, each) for each in owners)
            self._stamp, self._stale = self._stamp + 1, True

    def placement(self) -> Placement:
        """Where subscriptions stand. A plan that was opened is arranged now; none leaves its shard without need."""
        if self._placement is not None:
            return self._placement
        if self._partial:
            raise UsageError("HG-053", "a plan of which only a part was opened cannot change", fix="open all of it")
        subscribed = [self.members[number] for number in sorted(self.members)]
        placement = Placement(self.scheme.arrangement(self.context.taxonomy), self.scheme.shards, self._places())
        moves = placement.insert(subscribed, self._stamp + 1)
        self._apply(moves, placement, {}, ())
        for each in subscribed:
            each.release()
        return placement

    def _places(self) -> dict[int, int]:
        """Where all subscriptions stand, mergers too, as the indexes have it."""
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


# --- the plan in numbers and words ------------------------------------------------------------------------------
# A plan in a few numbers, and in words about one subscription: for people, for `--stats` and for `explain`.

_SHOWN = 10  # mergers


class MergerOutline(NamedTuple):
    """A merger at the front: how many subscriptions are below it, how often it said yes, and how often in vain."""

    merger: int
    subscriptions: int
    answers: int
    false_positives: int


@dataclass(frozen=True, slots=True)
class Outline:
    """How a plan divides its subscriptions. `front` counts the roots, with mergers; `shards` how many are in each.

    `answers` of mergers and how many of those were `false_positives` are counted on a sample of the publications, and
    not known of a plan that was opened and has not changed. `worst` are the mergers with the most false ones.
    """

    partition: str
    version: int
    front: int
    mergers: int
    shards: tuple[int, ...]
    answers: int = 0
    false_positives: int = 0
    worst: tuple[MergerOutline, ...] = ()


def outline_of(plan: Plan) -> Outline:
    """A plan as it is now."""
    with plan.writing:
        version, arrangement = plan.version, plan.merging()
        front = version.front.size
        mergers = front + sum(shard.size for shard in version.shards) - version.size
        sizes = tuple(shard.size for shard in version.shards)
        outline = (plan.scheme.partition, version.stamp, front, mergers, sizes)
        if arrangement is None:
            return Outline(*outline)
        seen = arrangement.observed()
        return Outline(*outline, seen.answers, seen.false, _worst(plan.placement(), arrangement))


def _worst(placement: Placement, arrangement: Merging) -> tuple[MergerOutline, ...]:
    nodes = [number - MERGERS for number in placement.front if number >= MERGERS]
    seen = [(node, arrangement.observed(node)) for node in nodes]
    seen.sort(key=lambda each: (-each[1].false, -each[1].answers, each[0]))
    return tuple(
        MergerOutline(node, sum(placement.sharding.counts(node)), observed.answers, observed.false)
        for node, observed in seen[:_SHOWN]
        if observed.answers
    )


def place_in_words(plan: Plan, number: int) -> str:
    """Where a subscription stands, and why there."""
    with plan.writing:
        place, placement = plan.find(number), None if plan.arrangement is None else plan.placement()
        if place == FRONT:
            return f"at the front: {_below(placement, number)}"
        shard = f"in shard {place} of {plan.scheme.shards}"
        return shard if placement is None else f"{shard}: {_above(plan, placement, number)}"


def _below(placement: Placement | None, number: int) -> str:
    if placement is None:
        return "it is a root"
    counts = placement.sharding.counts(placement.root_of(number))
    shards = [str(shard) for shard, count in enumerate(counts) if count]
    return f"a root with {sum(counts)} below it{', in shards ' + ', '.join(shards) if shards else ''}"


def _above(plan: Plan, placement: Placement, number: int) -> str:
    root = placement.root_of(number)
    if root == EVERYTHING:
        return "every publication goes there"
    head = placement.head(root)
    if head < MERGERS:
        return f"whatever matches it matches the root {plan.members[head].id!r}"
    count = sum(placement.sharding.counts(root))
    arrangement = plan.merging()
    assert arrangement is not None  # nobody else makes mergers
    seen = arrangement.observed(root)
    return f"below merger {root} of {count}, which said yes {seen.answers} times, {seen.false} of them in vain"
