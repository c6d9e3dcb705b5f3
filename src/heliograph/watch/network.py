"""The query network: queries entered, found again and taken out, in arrays that kernels read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.compiled.growing import Pairs, Rows, pair_key, pair_slot
from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import Query
from heliograph.terms import RDF_TYPE, Term
from heliograph.watch.changes import CountLimits
from heliograph.watch.derived import Derived, DerivedRelation
from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import (
    AMONG_NODE,
    COUNT,
    FILLED,
    FLAT,
    IN,
    IS_NODE,
    LINK,
    MASK,
    MOST_LEVELS,
    NONE,
    OUT,
    PART_FILLS,
    PART_HEARS,
    PART_TEST,
    PART_TESTS,
    PREFIX,
    PRESENT,
    Q_COUNT,
    Q_TRUTH,
    ROWS,
    SAME,
    SITE_CORE,
    SITE_DRIVER,
    SITE_MESSAGE,
    USER_GROUP,
    USER_NODE,
)
from heliograph.watch.network_compile import (
    HERE,
    NODE,
    Branch,
    CompiledQuery,
    Customs,
    Edge,
    Hears,
    Intern,
    ListedPattern,
    QueryShape,
    Slots,
    TermTest,
    compiled,
    orders_of,
    question_of,
)
from heliograph.watch.network_kernels import NetworkArrays, Progress

# --- tests -------------------------------------------------------------------------------------------------------

# Tests of terms as kernels read them: intervals end to end, alone or in banks of 64.
#
# A bank holds tests that differ in their ends alone; the place of a test in it is its tag. Both stay for good. A term
# in doubt is checked here, by the expressions that the test came from.

TAGS = 64


def _rows(world: NetworkArrays, name: str, room: int = 16) -> Rows:
    """Rows of an array of the world."""
    return Rows(getattr(world, name), partial(setattr, world, name), room)


def _pairs(world: NetworkArrays, name: str) -> Pairs:
    return Pairs(partial(setattr, world, name))


class Chain:
    """Rows that follow one another: each names the next one in a column, and here the one before it. Of the first row
    `before` is negative, and the owner of the chain says where it begins."""

    def __init__(self, rows: Rows, column: str = "next") -> None:
        self._rows, self._column = rows, column
        self.before = Rows(np.empty(0, np.int32))

    def add(self, row: int, following: int, before: int = NONE) -> None:
        """A row, the latest, that comes first from now on, before another one or none."""
        self.before.append(before)
        if following >= 0:
            self.before.array[following] = row

    def cut(self, row: int) -> tuple[int, int]:
        """Takes a row out; the one before it and the one that follows."""
        before, following = int(self.before.array[row]), self._rows.get(row, self._column)
        if before >= 0:
            self._rows.array[self._column][before] = following
        if following >= 0:
            self.before.array[following] = before
        return before, following


class Tests:
    """All tests, by number."""

    def __init__(self, world: NetworkArrays) -> None:
        self.offsets = _rows(world, "tests")
        self.atoms = _rows(world, "atoms")
        self.banks = _rows(world, "banks")
        self.offsets.append(0)
        self._numbers: dict[TermTest, int] = {}
        self._conditions: list[tuple[Condition, ...]] = []
        self._banked: dict[TermTest, tuple[int, int]] = {}
        self._open: dict[tuple[object, ...], tuple[int, int]] = {}  # by form: the bank with room, and its next place

    def __len__(self) -> int:
        return len(self._conditions)

    def number(self, test: TermTest) -> int:
        """The number of a test."""
        if test not in self._numbers:
            self._numbers[test] = len(self._numbers)
            self.atoms.extend([tuple(atom) for atom in test.atoms])
            self.offsets.append(self.atoms.used)
            self._conditions.append(tuple(Condition.of(each) for each in test.expressions))
        return self._numbers[test]

    def banked(self, test: TermTest) -> tuple[int, int]:
        """The bank of a test and its place there."""
        if test not in self._banked:
            form = tuple((each.domain, each.flags, each.low == -np.inf, each.high == np.inf) for each in test.atoms)
            bank, place = self._open.get(form, (NONE, TAGS))
            if place == TAGS:
                bank, place = self.banks.append([NONE] * TAGS), 0
            self.banks.array[bank, place] = self.number(test)
            self._banked[test] = bank, place
            self._open[form] = bank, place + 1
        return self._banked[test]

    def check(self, number: int, term: Term) -> bool:
        """Whether a term passes a test, by the expressions that it came from."""
        return all(condition.holds({HERE: term}) for condition in self._conditions[number])


# --- sites -------------------------------------------------------------------------------------------------------

# Where in the network a changed edge is asked for: chains of sites under (vertex or -1, key).
#
# The heads of chains stand in a table by open addressing whose slots hold 1 + the number of a head. The hash of
# (vertex, key) is that of the pair (vertex + 1, key + 4), for both may be negative. A chain runs from the highest
# level to the lowest; joins stand before all messages. Under a vertex there are joins only.

ANYWHERE = -1  # in place of a vertex
ANY_KEY, OUT_KEY, IN_KEY = -1, -2, -3  # of edges whose predicate is a variable: no end known, the subject, the object
JOIN_LEVEL = MOST_LEVELS  # of joins from an edge


class Sites:
    """All sites, and the heads of their chains."""

    def __init__(self, world: NetworkArrays) -> None:
        self._world = world
        self.rows = _rows(world, "sites")
        self.heads = _rows(world, "site_heads")
        world.site_slots = np.zeros(1, np.int32)  # a single one: kernels need not even look
        self.dead = 0
        self._firsts: dict[int, dict[int, int]] = {}  # by head of no vertex and by level: the first site

    def add(self, what: tuple[int, int, int], level: int, vertex: int, key: int) -> int:
        """Another site (kind, ref, place) in its place of the chain under (vertex, key)."""
        head = self._head(vertex, key)
        firsts = self._firsts.setdefault(head, {}) if vertex == ANYWHERE else {}
        if firsts:  # it comes before the first that is no higher
            after = firsts[max(lower)] if (lower := [each for each in firsts if each <= level]) else NONE
        else:  # at a vertex there are joins, which come first, and messages of one level, which come last
            after = self.heads.get(head, "first") if level == JOIN_LEVEL else NONE
        before = int(self.rows.array["previous"][after] if after >= 0 else self.heads.array["last"][head])
        site = firsts[level] = self.rows.append((*what, after, before, level, head))
        self._join(head, before, site)
        self._join(head, site, after)
        return site

    def remove(self, site: int) -> None:
        """Takes a site out of its chain."""
        _, _, _, after, before, level, head = self.rows.array[site].tolist()
        self._join(head, before, after)
        self.dead += 1
        firsts = self._firsts.get(head, {})
        if firsts.get(level) == site:
            del firsts[level]
            if after >= 0 and self.rows.array["level"][after] == level:
                firsts[level] = after

    def find(self, vertex: int, key: int) -> int:
        """The head of (vertex, key), or -1."""
        return int(self._world.site_slots[self._slot(vertex, key)]) - 1

    def _join(self, head: int, before: int, after: int) -> None:
        """Lets one site follow another; -1 is the end on either side."""
        if before >= 0:
            self.rows.array["next"][before] = after
        else:
            self.heads.array["first"][head] = after
        if after >= 0:
            self.rows.array["previous"][after] = before
        else:
            self.heads.array["last"][head] = before

    def _head(self, vertex: int, key: int) -> int:
        slots, slot = self._world.site_slots, self._slot(vertex, key)
        if slots[slot]:
            return int(slots[slot]) - 1
        head = self.heads.append((vertex, key, NONE, NONE))
        slots[slot] = head + 1
        if 2 * self.heads.used > len(slots):
            self._world.site_slots = np.zeros(max(16, 2 * len(slots)), np.int32)
            for each, (known, its, *_) in enumerate(self.heads.array[: self.heads.used].tolist()):
                self._world.site_slots[self._slot(known, its)] = each + 1
        return head

    def _slot(self, vertex: int, key: int) -> int:
        slots = self._world.site_slots
        mask = len(slots) - 1
        slot = pair_slot(pair_key(vertex + 1, key + 4)) & mask
        while head := slots[slot]:
            row = self.heads.array[head - 1]
            if row["vertex"] == vertex and row["key"] == key:
                break
            slot = (slot + 1) & mask
        return slot


# --- messages ----------------------------------------------------------------------------------------------------

# Messages: what a vertex hears through one edge, each kept once for all that hear it, and gone when nothing does.
#
# A message of masks has a tag for each choice of constants below it; `uses` counts by tag how many nodes and
# components rely on it. Constants next to a variable stand in anchor sets, up to 64 in each, under the key of their
# message; a further one opens another set, and so another message.
#
# The law: a node or group hears no message twice. Where it needs the same thing at two places, the second is a twin
# of the first, with states of its own: for a change reaches one part after the other, and each must find the
# others as they were or as they are, not half of it.

NO_TAG = -1
WHOLE = 1  # the mask of a message without tags


class NetworkPart(NamedTuple):
    """What a node or a slot of a group asks: a message, a test or a bank, and the tag of it if it has tags."""

    kind: int  # PART_HEARS, PART_TEST or PART_TESTS
    ref: int
    tag: int = NO_TAG


class MessageKey(NamedTuple):
    """What makes two messages one."""

    kind: int
    key: int
    node: int  # a node, or ANY_NODE, IS_NODE, AMONG_NODE, SELF_NODE
    ref: int = NONE
    twin: int = 0


class Messages:
    """All messages, with the anchors of constants and the chains of what hears them."""

    def __init__(self, world: NetworkArrays, sites: Sites) -> None:
        self.rows = _rows(world, "messages")
        self.nodes = _rows(world, "nodes")  # filled by `NetworkNodes`; here for the chains of their messages
        self.users = _rows(world, "users")
        self.anchors = _pairs(world, "anchors")
        self.fresh: dict[int, int] = {}  # by message: the bits to be populated
        self.dead: list[int] = []
        self._sites = sites
        self._numbers: dict[MessageKey, int] = {}
        self._keys: list[MessageKey | None] = []  # None is dead
        self._site: list[int] = []
        self._uses: dict[tuple[int, int], int] = {}  # by message and tag
        self._tags: list[int] = []  # by message: how many tags are in use
        self._open: dict[tuple[int, int], tuple[int, int]] = {}  # by key and twin: the message with room, its next tag
        self._among: dict[tuple[int, int, int], tuple[int, int]] = {}  # by key, twin and constant: message and tag
        self._constants: dict[tuple[int, int], tuple[int, int, int]] = {}  # the other way
        self._anchor_site: dict[tuple[int, int], int] = {}  # by message and tag
        self._listeners = Chain(self.users)
        self._sets = 0

    # --- finding ------------------------------------------------------------------------------------------------

    def find(self, key: MessageKey, level: int = 0, bits: int = WHOLE) -> int:
        """The message of a key; `bits` are what a new one says."""
        message = self._numbers.get(key)
        return self._add(key, level, bits) if message is None else message

    def among(self, key: int, constant: int, twin: int) -> NetworkPart:
        """The message and the tag by which a constant is heard."""
        if (key, twin, constant) not in self._among:
            message, tag = self._open.get((key, twin), (NONE, TAGS))
            if tag == TAGS or self._keys[message] is None:
                self._sets += 1
                message, tag = self.find(MessageKey(MASK, key, AMONG_NODE, self._sets, twin), bits=0), 0
            self.anchors.put(self.rows.get(message, "ref"), constant, tag)
            self._open[key, twin] = message, tag + 1
            self._among[key, twin, constant] = message, tag
            self._constants[message, tag] = key, twin, constant
            self._anchor_site[message, tag] = self._sites.add((SITE_MESSAGE, message, NONE), 0, constant, key ^ 1)
            self.refresh(message, 1 << tag)
        return NetworkPart(PART_HEARS, *self._among[key, twin, constant])

    def level(self, message: int) -> int:
        return self.rows.get(message, "level")

    def node(self, message: int) -> int:
        return self.rows.get(message, "node")

    def refresh(self, message: int, bits: int) -> None:
        """Asks that these bits of a message be populated."""
        self.fresh[message] = self.fresh.get(message, 0) | bits

    def on_node(self, node: int) -> Iterator[int]:
        """The messages that a node speaks by."""
        message = self.nodes.get(node, "messages")
        while message >= 0:
            yield message
            message = self.rows.get(message, "next")

    # --- coming and going ---------------------------------------------------------------------------------------

    def _add(self, key: MessageKey, level: int, bits: int) -> int:
        kind, edge_key, node, ref, _ = key
        following = self.nodes.get(node, "messages") if node >= 0 else NONE
        message = self.rows.append((edge_key, node, ref, level, kind, following, NONE))
        if node >= 0:
            self.nodes.array["messages"][node] = message
        self._numbers[key] = message
        self._keys.append(key)
        self._tags.append(0)
        site = (SITE_MESSAGE, message, NONE)
        if node == AMONG_NODE:  # lifted constants have a site each
            self._site.append(NONE)
        elif node == IS_NODE:  # the edges of a constant are asked for there
            self._site.append(self._sites.add(site, level, ref, edge_key ^ 1))
        else:
            self._site.append(self._sites.add(site, level, ANYWHERE, edge_key))
        self.refresh(message, bits)
        return message

    def use(self, message: int, tag: int) -> bool:
        """One more relies on a tag; True if it is the first."""
        uses = self._uses[message, tag] = self._uses.get((message, tag), 0) + 1
        self._tags[message] += uses == 1
        return uses == 1

    def disuse(self, message: int, tag: int) -> bool:
        """One less relies on a tag; True if it was the last. A message without tags in use goes."""
        self._uses[message, tag] -= 1
        if self._uses[message, tag]:
            return False
        del self._uses[message, tag]
        if (message, tag) in self._constants:  # which is no anchor any more
            among = self._constants.pop((message, tag))
            del self._among[among]
            self.anchors.remove(self.rows.get(message, "ref"), among[2])
            self._sites.remove(self._anchor_site.pop((message, tag)))
        self._tags[message] -= 1
        if not self._tags[message]:
            self._remove(message)
        return True

    def _remove(self, message: int) -> None:
        key, self._keys[message] = self._keys[message], None
        if key is not None:
            del self._numbers[key]
        if self._site[message] >= 0:
            self._sites.remove(self._site[message])
        node, following = self.node(message), self.rows.get(message, "next")
        if node >= 0:  # the chain of a node is as long as there are keys that lead to it
            before = next((each for each in self.on_node(node) if self.rows.get(each, "next") == message), NONE)
            if before >= 0:
                self.rows.array["next"][before] = following
            else:
                self.nodes.array["messages"][node] = following
        self.fresh.pop(message, None)
        self.dead.append(message)

    # --- users --------------------------------------------------------------------------------------------------

    def listen(self, message: int, kind: int, ref: int, part: int) -> int:
        """A part of a node or of a group hears a message from now on."""
        following = self.rows.get(message, "users")
        user = self.users.append((kind, ref, part, following))
        self.rows.array["users"][message] = user
        self._listeners.add(user, following)
        return user

    def ignore(self, message: int, user: int) -> None:
        """It does no longer."""
        before, following = self._listeners.cut(user)
        if before < 0:
            self.rows.array["users"][message] = following

    def __len__(self) -> int:
        return len(self._numbers)


# --- nodes -------------------------------------------------------------------------------------------------------

# NetworkNodes: slots that were folded away, each with the parts that it asks, kept once for all that hear of it.
#
# Below a node there may be several choices of constants and thresholds: one for each tuple of the tags of its parts.
# Each tuple that is used has a tag of the node. Where only one part has tags, they are the node's own; else tags are
# given in order of appearance and a map of 64 bytes for each part says which of its tags one of the node stands for.
# When all 64 are given, another node of the same parts takes the next: a *bank*.
#
# The law: every message of a node is kept for all tags in `ones`. A tag that is not used any more leaves `ones` and
# is never given again in that node, because states may still hold its bit.

_Parts = tuple[tuple[int, int], ...]  # kind and ref of each


class NodePlace(NamedTuple):
    """A node and one of its tags."""

    node: int
    tag: int


class NetworkNodes:
    """All nodes, and which of them uses which messages."""

    def __init__(self, world: NetworkArrays, messages: Messages) -> None:
        self.rows = messages.nodes
        self.ones = _rows(world, "ones")
        self.parts = _rows(world, "parts")
        self.maps = _rows(world, "maps", room=TAGS)
        self._messages = messages
        self._open: dict[tuple[int, _Parts], tuple[int, int]] = {}  # by kind and parts: a node and its next tag
        self._places: dict[tuple[int, tuple[NetworkPart, ...]], NodePlace] = {}
        self._asked: dict[NodePlace, tuple[int, tuple[NetworkPart, ...]]] = {}  # the other way
        self._uses: dict[NodePlace, int] = {}
        self._users: dict[int, list[tuple[int, int]]] = {}  # by node: messages and their users
        self._levels: dict[int, int] = {}
        self._retired: set[tuple[int, int]] = set()  # nodes and tags that they must not give again

    def __len__(self) -> int:
        return len(self._users)

    def find(self, kind: int, parts: tuple[NetworkPart, ...]) -> NodePlace:
        """The node that asks these parts, which are in order, and the tag for their tags."""
        place = self._places.get((kind, parts))
        return self._give(kind, parts) if place is None else place

    def hear(self, kind: int, key: int, place: NodePlace, twin: int) -> NetworkPart:
        """What is heard from a node through an edge."""
        message_key = MessageKey(kind, key, place.node, NONE, twin)
        bits = int(self.ones.array[place.node])
        message = self._messages.find(message_key, self._levels[place.node], bits)
        return NetworkPart(PART_HEARS, message, place.tag)

    # --- tags ---------------------------------------------------------------------------------------------------

    def _give(self, kind: int, parts: tuple[NetworkPart, ...]) -> NodePlace:
        tagged = [part.tag for part in parts if part.tag != NO_TAG]
        bare = tuple((part.kind, part.ref) for part in parts)
        node, tags = self._open.get((kind, bare), (NONE, 0))
        tag = tags if len(tagged) > 1 else (NO_TAG, *tagged)[-1]
        if node not in self._users or tag == TAGS or (node, tag) in self._retired:
            node, tags = self._add(parts, len(tagged)), 0
            tag = 0 if len(tagged) > 1 else tag
        self._open[kind, bare] = node, tags + 1
        place = NodePlace(node, tag)
        self._places[kind, parts], self._asked[place] = place, (kind, parts)
        for number, part in enumerate(parts, self.rows.get(node, "first")):
            begin = self.parts.get(number, "map")
            if begin >= 0:
                self.maps.array[begin + tag] = part.tag
        self.ones.array[node] |= np.uint64(_bit(tag))
        for message in self._messages.on_node(node):
            self._messages.refresh(message, _bit(tag))
        return place

    def _add(self, parts: tuple[NetworkPart, ...], tagged: int) -> int:
        first = self.parts.extend([(part.kind, part.ref, self._map(part, tagged), NONE) for part in parts])
        node = self.rows.append((first, len(parts), NONE))
        self.ones.append(0)
        heard = [(number, part.ref) for number, part in enumerate(parts, first) if part.kind == PART_HEARS]
        self._users[node] = [
            (message, self._messages.listen(message, USER_NODE, node, number)) for number, message in heard
        ]
        self._levels[node] = 1 + max((self._messages.level(message) for _, message in heard), default=-1)
        return node

    def _map(self, part: NetworkPart, tagged: int) -> int:
        if part.tag == NO_TAG:
            return FLAT
        return SAME if tagged == 1 else self.maps.extend(np.zeros(TAGS, np.uint8))

    # --- coming and going ---------------------------------------------------------------------------------------

    def use(self, part: NetworkPart) -> None:
        """One more relies on a part; what is below it is in use as well."""
        if part.kind != PART_HEARS or not self._messages.use(part.ref, part.tag):
            return
        node = self._messages.node(part.ref)
        if node >= 0:
            place = NodePlace(node, part.tag)
            self._uses[place] = self._uses.get(place, 0) + 1
            if self._uses[place] == 1:
                for each in self._asked[place][1]:
                    self.use(each)

    def disuse(self, part: NetworkPart) -> None:
        """One less does."""
        if part.kind != PART_HEARS:
            return
        node = self._messages.node(part.ref)
        if self._messages.disuse(part.ref, part.tag) and node >= 0:
            place = NodePlace(node, part.tag)
            self._uses[place] -= 1
            if not self._uses[place]:
                self._end(place)

    def _end(self, place: NodePlace) -> None:
        """A tag of a node is not used any more."""
        asked = self._asked.pop(place)
        del self._uses[place], self._places[asked]
        self.ones.array[place.node] &= ~np.uint64(_bit(place.tag))
        if not self.ones.array[place.node]:
            for message, user in self._users.pop(place.node):
                self._messages.ignore(message, user)
            self._retired.difference_update((place.node, tag) for tag in range(TAGS))
        else:
            self._retired.add((place.node, place.tag))
        for part in asked[1]:
            self.disuse(part)


def _bit(tag: int) -> int:
    return WHOLE if tag == NO_TAG else 1 << tag


# --- fillings ----------------------------------------------------------------------------------------------------

# What fills the holes of listed patterns: found by all terms of a pattern together, by one hole and one term, and
# beside what fills other holes.
#
# A pattern's terms are looked up one by one in the table of constants (`NetworkArrays.constant_slots`): the group and
# the first term lead to a number, that and the second to another, and the last one to the row that stands for them all.
# Numbers on the way are counted by the rows behind them, as are the fillings of a hole.
#
# Where a join binds one hole after others, it asks what fills it beside them. That is a hole of its own, found by the
# terms of the others: thousands of patterns with two constants each are then followed pair by pair, not in all
# combinations.
#
# The law: a term is a filling of a hole for as long as some row of its group has it there, and beside others for as
# long as some row has it there and them.


class Fillings:
    """All holes, their fillings, and the way to the rows that they name."""

    def __init__(self, world: NetworkArrays, slots: Pairs) -> None:
        self.holes = _rows(world, "holes")
        self.rows = _rows(world, "fillings")
        self._chain = Chain(self.rows)
        self.dead = 0
        self._slots = slots
        self._users: dict[tuple[int, int], int] = {}  # by pair that is not the last: how many rows lie behind it
        self._prefixes = 0

    def add_holes(self, count: int) -> int:
        """So many more holes; the number of the first."""
        return self.holes.extend([(NONE, 0)] * count)

    def find(self, group: int, terms: Sequence[int]) -> int:
        """The row that terms name in a group, or -1."""
        found = group
        for term in terms:
            found = self._slots.find(found, term)
            if found < 0:
                break
        return found

    def put(self, group: int, terms: Sequence[int], row: int) -> None:
        """Lets terms name a row."""
        found = group
        for term in terms[:-1]:
            pair = found, term
            found = self._slots.find(*pair)
            if found < 0:
                found = PREFIX + self._prefixes
                self._prefixes += 1
                self._slots.put(*pair, found)
            self._users[pair] = self._users.get(pair, 0) + 1
        self._slots.put(found, terms[-1], row)

    def remove(self, group: int, terms: Sequence[int]) -> None:
        """They name it no longer."""
        pairs, found = [], group
        for term in terms:
            pairs.append((found, term))
            found = self._slots.find(found, term)
        self._slots.remove(*pairs.pop())
        for pair in pairs:
            self._users[pair] -= 1
            if not self._users[pair]:
                del self._users[pair]
                self._slots.remove(*pair)

    # --- beside others ------------------------------------------------------------------------------------------

    def begin_chains(self) -> int:
        """The number under which the terms of some holes lead to what fills another one beside them."""
        self._prefixes += 1
        return PREFIX + self._prefixes - 1

    def use_beside(self, chains: int, given: Sequence[int], term: int) -> None:
        """One more row has a term beside others."""
        hole = self.find(chains, given)
        if hole < 0:
            hole = self.add_holes(1)
            self.put(chains, given, hole)
        self.use(hole, term)

    def disuse_beside(self, chains: int, given: Sequence[int], term: int) -> None:
        """One row less."""
        hole = self.find(chains, given)
        self.disuse(hole, term)
        if not self.holes.array["count"][hole]:
            self.remove(chains, given)
            self.dead += 1

    # --- by hole ------------------------------------------------------------------------------------------------

    def use(self, hole: int, term: int) -> bool:
        """One more row has a term in a hole; whether it is the first."""
        pair = FILLED + hole, term
        self._users[pair] = self._users.get(pair, 0) + 1
        if self._users[pair] > 1:
            return False
        following = self.holes.get(hole, "first")
        row = self.rows.append((term, following))
        self._chain.add(row, following)
        self.holes.array[hole] = row, self.holes.get(hole, "count") + 1
        self._slots.put(*pair, row)
        return True

    def disuse(self, hole: int, term: int) -> bool:
        """One row less; whether it was the last."""
        pair = FILLED + hole, term
        self._users[pair] -= 1
        if self._users[pair]:
            return False
        del self._users[pair]
        row = self._slots.find(*pair)
        self._slots.remove(*pair)
        before, following = self._chain.cut(row)
        if before < 0:
            self.holes.array["first"][hole] = following
        self.holes.array["count"][hole] -= 1
        self.dead += 1
        return True


# --- groups ------------------------------------------------------------------------------------------------------

# NetworkGroups: components of one structure, found by their driving constant, and the components themselves.
#
# A group is a core: slots with the parts they ask, edges between them and, if there is one, the key by which the
# driver's slot leads to a constant. Its constants are rows, each with a chain of components; a component says which
# tag of each part it needs. A group that lists solutions has a row for each choice of what fills its holes, its last
# slots. A group without driver and holes has one row without a constant.
#
# The law: equal components are one row, which stands for as long as a query waits for it.

NO_BIT = 255  # of a part without tags
_MOST_GIVEN = 0x7FFFFFFF  # bits of 31 holes: a pattern with more constants is followed without chains


class GroupCore(NamedTuple):
    """What makes two groups one; `driver` is (slot, key), or both -1."""

    kind: int
    slots: int
    edges: tuple[Edge, ...]  # nodes are term ids or ~slot
    parts: tuple[tuple[int, int, int], ...]  # slot, kind and ref of each
    driver: tuple[int, int] = (NONE, NONE)
    holes: int = 0  # the last of the slots


class _Beside(NamedTuple):
    """A hole that is bound after others."""

    given: tuple[int, ...]
    hole: int

    def split(self, terms: tuple[int, ...]) -> tuple[list[int], int]:
        """Of what fills all holes, what fills the others and what fills this one."""
        return [terms[hole] for hole in self.given], terms[self.hole]


class _Group(NamedTuple):
    """What must be undone when a group goes."""

    core: GroupCore
    chains: dict[_Beside, int]  # where they begin
    sites: list[int]  # of edges without holes
    users: list[tuple[int, int]]  # messages and their users


class _Member(NamedTuple):
    """A component: the constant's row that it stands under, and the tags of its parts."""

    constant: int
    tags: tuple[int, ...]


class NetworkGroups:
    """All groups, their constants and their components."""

    def __init__(self, world: NetworkArrays, sites: Sites, messages: Messages, nodes: NetworkNodes) -> None:
        self.rows = _rows(world, "groups")
        self.edges = _rows(world, "core_edges")
        self.steps = _rows(world, "steps")
        self.starts = _rows(world, "starts")
        self.constants = _rows(world, "constants")
        self.constant_slots = _pairs(world, "constant_slots")
        self.fillings = Fillings(world, self.constant_slots)
        self.components = _rows(world, "components")
        self.bits = _rows(world, "bits")
        self.values = _rows(world, "values")
        self.fresh: dict[int, None] = {}  # components that are still to be populated
        self.dead = 0
        self._sites, self._messages, self._nodes = sites, messages, nodes
        self._numbers: dict[GroupCore, int] = {}
        self._groups: dict[int, _Group] = {}
        self._numbered: dict[_Member, int] = {}
        self._members: list[_Member] = []  # by component, dead ones included
        self._component_chain = Chain(self.components)
        self._constant_chain = Chain(self.constants)
        self._driver_sites: list[int] = []  # by constant
        self._filled: dict[int, tuple[int, ...]] = {}  # by constant: what fills the holes
        self._hole_sites: dict[tuple[int, int], list[int]] = {}  # by hole and what fills it: the sites of its edges

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def alive(self) -> int:
        """How many components there are."""
        return len(self._numbered)

    # --- finding ------------------------------------------------------------------------------------------------

    def enter(self, core: GroupCore, tags: tuple[int, ...], constants: tuple[int, ...] = ()) -> int:
        """The component of a core with these tags under a driving constant, or with holes that these fill."""
        group = self._numbers.get(core)
        if group is None:
            group = self._add_group(core)
        member = _Member(self._constant(group, constants), tags)
        component = self._numbered.get(member)
        return self._add_component(group, member) if component is None else component

    def group_of(self, component: int) -> int:
        return self.constants.get(self._members[component].constant, "group")

    def constant_of(self, component: int) -> int:
        """The row of the constant that a component stands under."""
        return self._members[component].constant

    def filled(self, component: int) -> tuple[int, ...]:
        """What fills the holes of a component."""
        return self._filled.get(self._members[component].constant, ())

    def core(self, group: int) -> GroupCore:
        return self._groups[group].core

    def parts_of(self, component: int) -> Iterator[NetworkPart]:
        """What a component asks."""
        core = self.core(self.group_of(component))
        for (_, kind, ref), tag in zip(core.parts, self._members[component].tags, strict=True):
            yield NetworkPart(kind, ref, tag)

    # --- coming -------------------------------------------------------------------------------------------------

    def _add_group(self, core: GroupCore) -> int:
        group = self.rows.used
        shown, first_hole = core.slots - core.holes, self.fillings.add_holes(core.holes)
        fills = [(PART_FILLS, first_hole + hole, FLAT, shown + hole) for hole in range(core.holes)]
        first_part = self._nodes.parts.extend([*((kind, ref, FLAT, slot) for slot, kind, ref in core.parts), *fills])
        first_edge = self.edges.extend(list(core.edges))
        chains: dict[_Beside, int] = {}
        starts = self._add_starts(core, first_edge, first_hole, chains)
        parts, holes = (first_part, len(core.parts) + core.holes), (core.holes, first_hole)
        self.rows.append(
            (core.kind, core.slots, *parts, first_edge, len(core.edges), starts, *core.driver, 0, NONE, *holes, 0, 0, 0)
        )
        users = [
            (ref, self._messages.listen(ref, USER_GROUP, group, number))
            for number, (_, kind, ref) in enumerate(core.parts, first_part)
            if kind == PART_HEARS
        ]
        sites = [
            self._sites.add((SITE_CORE, group, place), JOIN_LEVEL, *_asked_by(edge))
            for place, edge in enumerate(core.edges)
            if _hole_of(core, edge) is None
        ]
        self._numbers[core], self._groups[group] = group, _Group(core, chains, sites, users)
        return group

    def _add_starts(self, core: GroupCore, first_edge: int, first_hole: int, chains: dict[_Beside, int]) -> int:
        first_start = self.starts.used
        choosy = {slot for slot, _, _ in core.parts}
        for order in orders_of(core.edges, Slots(core.slots, core.holes, frozenset(choosy)), core.kind == ROWS):
            first = self.steps.used
            self.steps.extend(
                [
                    (
                        first_edge + edge,
                        known,
                        _at(first, other),
                        _at(first_hole, hole),
                        *self._beside(given, hole, chains),
                    )
                    for edge, known, other, hole, given in order
                ]
            )
            self.starts.append((first, len(order)))
        return first_start

    def _beside(self, given: int, hole: int, chains: dict[_Beside, int]) -> tuple[int, int]:
        """Which holes are filled before one, as bits, and where the chains of what fills it then begin."""
        if hole < 0 or not given or given > _MOST_GIVEN:
            return 0, NONE
        beside = _Beside(tuple(each for each in range(given.bit_length()) if given >> each & 1), hole)
        if beside not in chains:
            chains[beside] = self.fillings.begin_chains()
        return given, chains[beside]

    def _constant(self, group: int, constants: tuple[int, ...]) -> int:
        """The row of a driving constant in a group, or of what fills its holes."""
        row = self.rows.get(group, "first_constant")
        if constants:
            row = self.fillings.find(group, constants)
        return self._add_constant(group, constants) if row < 0 else row

    def _add_constant(self, group: int, constants: tuple[int, ...]) -> int:
        core, following = self.core(group), self.rows.get(group, "first_constant")
        constant = NONE if core.holes or not constants else constants[0]
        row = self.constants.append((group, constant, NONE, following, 0, 0))
        self.rows.array["first_constant"][group] = row
        self.rows.array["constants"][group] += 1
        self._constant_chain.add(row, following)
        site = NONE
        if constants:
            self.fillings.put(group, constants, row)
        if constant >= 0:
            site = self._sites.add((SITE_DRIVER, row, NONE), JOIN_LEVEL, constant, core.driver[1] ^ 1)
        elif constants:
            self._fill(group, row, constants)
        self._driver_sites.append(site)
        return row

    def _fill(self, group: int, row: int, terms: tuple[int, ...]) -> None:
        """Holes are filled by these terms, at which their edges are asked for from now on."""
        core, first = self.core(group), self.rows.get(group, "first_hole")
        self._filled[row] = terms
        for hole, term in enumerate(terms):
            if self.fillings.use(first + hole, term):
                self._hole_sites[first + hole, term] = [
                    self._sites.add((SITE_CORE, group, place), JOIN_LEVEL, *_asked_by(_with(edge, core, hole, term)))
                    for place, edge in enumerate(core.edges)
                    if _hole_of(core, edge) == hole
                ]
        for beside, chains in self._groups[group].chains.items():
            self.fillings.use_beside(chains, *beside.split(terms))

    def _unfill(self, group: int, row: int) -> None:
        first, terms = self.rows.get(group, "first_hole"), self._filled.pop(row)
        self.fillings.remove(group, terms)
        for hole, term in enumerate(terms):
            if self.fillings.disuse(first + hole, term):
                for site in self._hole_sites.pop((first + hole, term)):
                    self._sites.remove(site)
        for beside, chains in self._groups[group].chains.items():
            self.fillings.disuse_beside(chains, *beside.split(terms))

    def _add_component(self, group: int, member: _Member) -> int:
        following = self.constants.get(member.constant, "first")
        holes = [NO_BIT] * self.core(group).holes
        bits = self.bits.extend([*(NO_BIT if tag == NO_TAG else tag for tag in member.tags), *holes])
        component = self.components.append((following, bits, NONE, 1))
        self.values.append(0)
        self.constants.array["first"][member.constant] = component
        self._component_chain.add(component, following)
        self._numbered[member] = component
        self._members.append(member)
        self.fresh[component] = None
        for part in self.parts_of(component):
            self._nodes.use(part)
        return component

    # --- going --------------------------------------------------------------------------------------------------

    def leave(self, component: int) -> None:
        """No query waits for a component any more."""
        group, parts = self.group_of(component), list(self.parts_of(component))
        member = self._members[component]
        del self._numbered[member]
        before, following = self._component_chain.cut(component)
        if before < 0:
            self.constants.array["first"][member.constant] = following
        self.fresh.pop(component, None)
        self.dead += 1
        if self.constants.array["first"][member.constant] < 0:
            self._remove_constant(group, member.constant)
        if self.rows.array["first_constant"][group] < 0:
            self._remove_group(group)
        for part in parts:
            self._nodes.disuse(part)

    def _remove_constant(self, group: int, row: int) -> None:
        before, following = self._constant_chain.cut(row)
        if before < 0:
            self.rows.array["first_constant"][group] = following
        site = self._driver_sites[row]
        self.rows.array["constants"][group] -= 1
        if site >= 0:
            self._sites.remove(site)
            self.constant_slots.remove(group, self.constants.get(row, "constant"))
        elif row in self._filled:
            self._unfill(group, row)

    def _remove_group(self, group: int) -> None:
        core, _, sites, users = self._groups.pop(group)
        del self._numbers[core]
        for site in sites:
            self._sites.remove(site)
        for message, user in users:
            self._messages.ignore(message, user)

    def populated(self) -> None:
        """Everything was populated."""
        for component in self.fresh:
            self.components.array["fresh"][component] = 0
        self.fresh.clear()


def _at(first: int, place: int) -> int:
    return first + place if place >= 0 else NONE


def _hole_of(core: GroupCore, edge: Edge) -> int | None:
    """The hole by which an edge is asked for: that at its subject, or at its object; None if there is neither."""
    first = core.slots - core.holes
    return next((~node - first for node in (edge[0], edge[2]) if ~node >= first), None)


def _with(edge: Edge, core: GroupCore, hole: int, term: int) -> Edge:
    """An edge with a term in place of a hole."""
    subject, predicate, object = (term if ~node == core.slots - core.holes + hole else node for node in edge)
    return subject, predicate, object


def _asked_by(edge: Edge) -> tuple[int, int]:
    """The vertex and the key under which a core edge is found."""
    subject, predicate, object = edge
    if subject >= 0:
        return subject, 2 * predicate + OUT if predicate >= 0 else OUT_KEY
    if object >= 0:
        return object, 2 * predicate + IN if predicate >= 0 else IN_KEY
    return ANYWHERE, 2 * predicate + OUT if predicate >= 0 else ANY_KEY


# --- shapes ------------------------------------------------------------------------------------------------------

# Shapes with their constants, entered: branch by branch into nodes and messages, and the core into a group.
#
# In masks constants are looked up among the anchors of their key and tests in banks, so the tags stand for them; in
# counts they are part of the structure. What a slot hears twice over is heard once in masks, and by twins in counts.


class Given(NamedTuple):
    """What a query gives to its shapes: constants by number, tests by variable, and whether it counts."""

    kind: int
    constants: tuple[int, ...]
    tests: Mapping[int, TermTest]


class _Sound(NamedTuple):
    """Something to be heard, in an order that depends on nothing but what it is."""

    key: int
    kind: int
    constant: int
    place: NodePlace


_NOWHERE = NodePlace(NONE, NO_TAG)


class Inserter:
    """Enters components into the network."""

    def __init__(self, messages: Messages, nodes: NetworkNodes, groups: NetworkGroups, tests: Tests) -> None:
        self._messages, self._nodes, self._groups, self._tests = messages, nodes, groups, tests

    def component(self, shape: QueryShape, given: Given) -> int:
        """The component of a shape with the constants of a query."""
        twins: Counter[tuple[int, ...]] = Counter()
        parts = [(slot, part) for slot, branch in enumerate(shape.core) for part in self._parts(branch, given, twins)]
        bare = tuple((slot, part.kind, part.ref) for slot, part in parts)
        edges = tuple((~s, p, ~o) for s, p, o in shape.edges)
        driver: tuple[int, int] = (NONE, NONE)
        constants: tuple[int, ...] = ()
        if shape.driver is not None:
            driver, constants = (shape.driver.slot, shape.driver.key), (given.constants[shape.driver.constant],)
        core = GroupCore(given.kind, len(shape.core), edges, bare, driver)
        return self._groups.enter(core, tuple(part.tag for _, part in parts), constants)

    def listing(self, listed: ListedPattern) -> int:
        """The component of a pattern whose solutions are listed."""
        banked = [(slot, *self._tests.banked(test)) for slot, test in listed.tests]
        parts = tuple((slot, PART_TESTS, bank) for slot, bank, _ in banked)
        core = GroupCore(ROWS, listed.slots, listed.edges, parts, holes=len(listed.fillings))
        return self._groups.enter(core, tuple(tag for _, _, tag in banked), listed.fillings)

    def _parts(self, branch: Branch, given: Given, twins: Counter[tuple[int, ...]]) -> list[NetworkPart]:
        """The parts of a slot, in order."""
        sounds = sorted(self._sound(each, given) for each in branch.hears)
        if given.kind == MASK:
            sounds = list(dict.fromkeys(sounds))
        parts = [self._heard(sound, given, twins) for sound in sounds]
        if branch.tested:
            parts.append(self._tested(given.tests[branch.variable], given))
        return sorted(parts)

    def _sound(self, each: Hears, given: Given) -> _Sound:
        if each.kind == NODE and each.branch is not None:
            parts = tuple(self._parts(each.branch, given, Counter()))
            return _Sound(each.key, NODE, NONE, self._nodes.find(given.kind, parts))
        constant = given.constants[each.constant] if each.kind == IS_NODE else NONE
        return _Sound(each.key, each.kind, constant, _NOWHERE)

    def _heard(self, sound: _Sound, given: Given, twins: Counter[tuple[int, ...]]) -> NetworkPart:
        """A sound as a message that this node or group does not hear yet."""
        anchored = sound.kind == IS_NODE and given.kind == MASK
        below = sound.place.node if sound.kind == NODE else AMONG_NODE if anchored else sound.kind
        family = (sound.key, below, NONE if anchored else sound.constant)
        twin = twins[family]
        twins[family] += 1
        if anchored:
            return self._messages.among(sound.key, sound.constant, twin)
        if sound.kind == NODE:
            return self._nodes.hear(given.kind, sound.key, sound.place, twin)
        key = MessageKey(given.kind, sound.key, sound.kind, sound.constant, twin)
        return NetworkPart(PART_HEARS, self._messages.find(key))

    def _tested(self, test: TermTest, given: Given) -> NetworkPart:
        if given.kind == COUNT:
            return NetworkPart(PART_TEST, self._tests.number(test))
        return NetworkPart(PART_TESTS, *self._tests.banked(test))


# --- queries -----------------------------------------------------------------------------------------------------

# Queries, and the links between them and what they wait for: edges of the graph, and components.
#
# What an edge concerns stands in a chain of links that begins in the edge's LINK; what a component concerns, in
# one that begins in its `postings`. A query lists its components in a chain of its own. All links of a query lie one
# behind the other: first those of its edges, then those in the chains of its components, then its own list.
#
# The law: `missing` is the number of edges that a query waits for and that are absent, and for truth also of
# components that hold nowhere. It is 1 for ever where nothing can satisfy the query.

Ints: TypeAlias = "npt.NDArray[Any]"


class Queries:
    """All queries, by row."""

    def __init__(self, world: NetworkArrays, graph: FlatGraph, groups: NetworkGroups) -> None:
        self.rows = _rows(world, "queries")
        self.limits = _rows(world, "limits")
        self.links = _rows(world, "links")
        self.dead_links = 0
        self._graph, self._groups = graph, groups
        self._chain = Chain(self.links)  # where a chain begins, ~edge or ~component comes before
        self._spans = Rows(np.empty((0, 3), np.int32))  # the first link of a query, its edges, its components

    # --- coming -------------------------------------------------------------------------------------------------

    def add(self, kind: int, edges: Sequence[tuple[int, int, int]], components: Sequence[int]) -> int:
        """One query that waits for edges and for components; its row."""
        row = self.rows.used
        waited = self._graph.enter_edges(*np.array(edges, np.int32).T).tolist() if edges else []
        missing = sum(1 for edge in waited if not self._graph.arrays.edges[edge, LINK] & PRESENT)
        if kind == Q_TRUTH:
            missing += sum(1 for component in components if not self._groups.values.array[component])
        self._spans.append((self.links.used, len(waited), len(components)))
        for edge in waited:
            known = self._graph.arrays.edges[edge]
            following = (int(known[LINK]) >> 1) - 1
            link = self.links.append((row, following))
            self._chain.add(link, following, ~edge)
            known[LINK] = int(known[LINK]) & PRESENT | (link + 1) << 1
        for component in components:
            following = self._groups.components.get(component, "postings")
            link = self.links.append((row, following))
            self._chain.add(link, following, ~component)
            self._groups.components.array["postings"][component] = link
        first = self.links.used  # of the chain of the query's components
        for place, component in enumerate(components, 1):
            self.links.append((component, first + place if place < len(components) else NONE))
            self._chain.before.append(NONE)
        self.rows.append((missing, kind, 0, 0, first if components else NONE, 0))
        self.limits.append(0)
        return row

    def add_many(self, count: int, kind: int, edges: Ints, owner: Ints) -> int:
        """Queries that wait for edges alone; the row of the first. `owner` says by place whose edge a row of `edges`
        is, ascending."""
        numbered, owner = self._entered(edges, owner)
        waited = np.bincount(owner, minlength=count)
        absent = (self._graph.arrays.edges[numbered, LINK] & PRESENT) == 0
        rows, first = np.zeros(count, self.rows.array.dtype), self.rows.used
        rows["missing"] = np.bincount(owner[absent], minlength=count)
        rows["kind"], rows["factors"] = kind, NONE
        self.rows.extend(rows)
        self.limits.extend(np.zeros(count, self.limits.array.dtype))
        before = self.links.used + np.concatenate(([0], np.cumsum(waited)[:-1]))
        self._spans.extend(np.column_stack((before, waited, np.zeros(count, np.int32))))
        self._wait(numbered, first + owner)
        return first

    def _entered(self, edges: Ints, owner: Ints) -> tuple[Ints, Ints]:
        """The numbers of edges, each once for each owner."""
        if not len(edges):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        numbered = np.asarray(self._graph.enter_edges(*edges.T), np.int64)
        pairs = np.sort(np.asarray(owner, np.int64) << 32 | numbered)  # np.unique would hash: slower by far
        pairs = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))]
        return pairs & 0xFFFFFFFF, pairs >> 32

    def _wait(self, edges: Ints, rows: Ints) -> None:
        """Puts a link for each edge, in order, before those of queries that wait for it already."""
        links = np.zeros(len(rows), self.links.array.dtype)
        links["item"], links["next"] = rows, NONE
        first = self.links.extend(links)
        self._chain.before.extend(np.zeros(len(rows), np.int32))
        if not len(edges):
            return
        order = np.argsort(edges, kind="stable")
        sorted_edges, links = edges[order], first + order
        begins = np.concatenate(([True], sorted_edges[1:] != sorted_edges[:-1]))
        ends = np.concatenate((begins[1:], [True]))
        following, before = np.roll(links, -1), np.roll(links, 1)
        waiting = self._graph.arrays.edges
        following[ends] = (waiting[sorted_edges[ends], LINK] >> 1) - 1
        before[begins] = ~sorted_edges[begins]
        self.links.array["next"][links], self._chain.before.array[links] = following, before
        known = following[ends] >= 0
        self._chain.before.array[following[ends][known]] = links[ends][known]
        waiting[sorted_edges[begins], LINK] = waiting[sorted_edges[begins], LINK] & PRESENT | (links[begins] + 1) << 1

    # --- going --------------------------------------------------------------------------------------------------

    def remove(self, row: int) -> None:
        """Takes a query out of all chains; components that no query waits for any more leave the network."""
        first, edges, components = (int(each) for each in self._spans.array[row])
        left = [edge for edge in map(self._unwait, range(first, first + edges)) if edge >= 0]
        if left:
            self._graph.leave_edges(np.array(left, np.int64))
        for link in range(first + edges, first + edges + components):
            component = self.links.get(link + components, "item")
            before, following = self._chain.cut(link)
            if before < 0:
                self._groups.components.array["postings"][component] = following
            if self._groups.components.array["postings"][component] < 0:
                self._groups.leave(component)
        self.dead_links += edges + 2 * components
        self._spans.array[row] = 0

    def _unwait(self, link: int) -> int:
        """Takes a link out of the chain of its edge; the edge, if none is left there, or -1."""
        before, following = self._chain.cut(link)
        if before >= 0:
            return NONE
        row = self._graph.arrays.edges[~before]
        row[LINK] = row[LINK] & PRESENT | (following + 1) << 1
        return ~before if following < 0 else NONE

    # --- asking -------------------------------------------------------------------------------------------------

    def components(self, row: int) -> list[int]:
        """The components that a query waits for."""
        first, edges, components = (int(each) for each in self._spans.array[row])
        begin = first + edges + components
        listed: list[int] = self.links.array["item"][begin : begin + components].tolist()
        return listed

    def set_limits(self, row: int, limits: CountLimits | None) -> None:
        """When a count holds; None makes every change of it an event."""
        self.rows.array["watch"][row] = limits is None
        if limits is not None:
            self.limits.array[row] = (*limits, *self.limits.array[row].tolist()[4:])


# --- the network -------------------------------------------------------------------------------------------------

# The network: queries compiled, entered, found again and taken out, in arrays that kernels read.
#
# Everything that several queries ask is kept once, so a query costs what it adds. What a query adds to a network over
# a graph that is not empty must be populated before the next update: `fresh` says what, `populated` that it was done.
# What no query asks any more leaves every chain at once; its rows stay behind as garbage until the network is made
# anew.

_CLASSES = (DerivedRelation.TYPE, DerivedRelation.IS_A, DerivedRelation.SUBCLASS_OF)


class Fresh(NamedTuple):
    """What was added since it was last `populated`: messages with the bits to be populated, lowest level first, and
    components."""

    messages: tuple[tuple[int, int], ...]
    components: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.messages or self.components)


class QueryNetwork:
    """All queries over one graph."""

    def __init__(self, intern: Intern, derived: Derived | None, graph: FlatGraph) -> None:
        self._intern, self._derived = intern, derived
        self.world = world = NetworkArrays({"graph": graph.arrays, "progress": Progress()})
        self.sites = Sites(world)
        self.messages = Messages(world, self.sites)
        self.nodes = NetworkNodes(world, self.messages)
        self.groups = NetworkGroups(world, self.sites, self.messages, self.nodes)
        self.tests = Tests(world)
        self.queries = Queries(world, graph, self.groups)
        self.verdicts = _pairs(world, "verdicts")
        self.version = 0  # of what kernels read: it changes with every change of the network
        self._inserter = Inserter(self.messages, self.nodes, self.groups, self.tests)
        properties = [intern(RDF_TYPE), *(derived.virtual(each) for each in _CLASSES if derived is not None)]
        self._customs = Customs(frozenset(2 * each for each in properties), Counter())

    # --- queries ------------------------------------------------------------------------------------------------

    def compile(self, query: Query, kind: int) -> CompiledQuery:
        """What a query needs to be answered by truth, count or rows; `kind` is Q_ROWS where nothing else will do."""
        return compiled(query, question_of(query, self._intern, self._derived), kind, self._customs)

    def subscribe(self, wanted: CompiledQuery) -> int:
        """Enters a query; its row. What it adds is `fresh`."""
        self.version += 1
        components = [] if wanted.never else self._components(wanted)
        row = self.queries.add(wanted.kind, () if wanted.never else wanted.concrete, components)
        if wanted.never:
            self.queries.rows.array["missing"][row] = 1
        return row

    def add_concrete(self, count: int, edges: Ints, owner: Ints) -> int:
        """Many queries that have edges between constants only, at once; the row of the first, the others follow.

        `edges` has rows (subject, predicate, object); `owner` says by place which query an edge is of, ascending.
        """
        self.version += 1
        return self.queries.add_many(count, Q_TRUTH, edges, owner)

    def unsubscribe(self, row: int) -> None:
        """Takes a query out, with everything that no other one needs."""
        self.version += 1
        self.queries.remove(row)

    def component(self, row: int) -> int:
        """The component whose rows are those of a listing query; -1 if it never has any."""
        return next(iter(self.queries.components(row)), NONE)

    def _components(self, wanted: CompiledQuery) -> list[int]:
        if wanted.listed is not None:
            return [self._inserter.listing(wanted.listed)]
        given = Given(COUNT if wanted.kind == Q_COUNT else MASK, wanted.constants, wanted.tests)
        found = [self._inserter.component(shape, given) for shape in wanted.shapes]
        return found if given.kind == COUNT else list(dict.fromkeys(found))  # the same twice is squared in counts

    # --- what is new, and what is left --------------------------------------------------------------------------

    @property
    def fresh(self) -> Fresh:
        """What is to be populated."""
        messages = sorted(self.messages.fresh.items(), key=lambda item: self.messages.level(item[0]))
        return Fresh(tuple(messages), tuple(self.groups.fresh))

    def populated(self) -> None:
        """Everything that was fresh is populated."""
        self.messages.fresh.clear()
        self.groups.populated()
        self.version += 1

    @property
    def widest(self) -> int:
        """As many slots, parts or core edges as a group may have."""
        rows = self.groups.rows.array[: self.groups.rows.used]
        return max(int(rows[column].max(initial=0)) for column in ("slots", "parts", "edges"))

    @property
    def garbage(self) -> int:
        """How many rows of links, components, fillings, messages and sites are not needed."""
        groups = self.groups.dead + self.groups.fillings.dead
        return self.queries.dead_links + groups + len(self.messages.dead) + self.sites.dead
