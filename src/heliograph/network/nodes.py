"""Nodes: slots that were folded away, each with the parts that it asks, kept once for all who hear of it.

Below a node there may be several choices of constants and thresholds: one for each tuple of the tags of its parts. Each
tuple that is used has a tag of the node. Where only one part has tags, they are the node's own; else tags are given in
order of appearance and a map of 64 bytes for each part tells which of its tags one of the node stands for. When all 64
are given, another node of the same parts takes the next: a *bank*.

The law: every message of a node is kept for all tags in `ones`. A tag that nobody uses any more leaves `ones` and is
never given again in that node, because states may still hold its bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.kernels.network_layout import (
    FLAT,
    N_FIRST,
    NONE,
    P_MAP,
    PART_COLUMNS,
    PART_HEARS,
    SAME,
    USER_NODE,
)
from heliograph.network.messages import NO_TAG, TAGS, WHOLE, MessageKey, Messages, Part
from heliograph.network.tables import Rows

_Parts = tuple[tuple[int, int], ...]  # kind and ref of each


class _Bank(NamedTuple):
    """The node of some parts that has room, and how many tags it gave."""

    node: int
    tags: int


class Place(NamedTuple):
    """A node and one of its tags."""

    node: int
    tag: int


class Nodes:
    """All nodes, and who of them uses which messages."""

    def __init__(self, messages: Messages) -> None:
        self.rows = messages.nodes
        self.ones = Rows(0, np.uint64)
        self.parts = Rows(PART_COLUMNS)
        self.maps = Rows(0, np.uint8, room=TAGS)
        self._messages = messages
        self._open: dict[tuple[int, _Parts], _Bank] = {}  # by kind and parts
        self._places: dict[tuple[int, tuple[Part, ...]], Place] = {}
        self._asked: dict[Place, tuple[int, tuple[Part, ...]]] = {}  # the other way
        self._uses: dict[Place, int] = {}
        self._users: dict[int, list[tuple[int, int]]] = {}  # by node: messages and their users
        self._levels: dict[int, int] = {}
        self._retired: set[tuple[int, int]] = set()  # nodes and tags that they must not give again

    def __len__(self) -> int:
        return len(self._users)

    def find(self, kind: int, parts: tuple[Part, ...]) -> Place:
        """The node that asks these parts, which are in order, and the tag for their tags."""
        place = self._places.get((kind, parts))
        return self._give(kind, parts) if place is None else place

    def hear(self, kind: int, key: int, place: Place, twin: int) -> Part:
        """What is heard from a node through an edge."""
        message_key = MessageKey(kind, key, place.node, NONE, twin)
        bits = int(self.ones.array[place.node])
        message = self._messages.find(message_key, self._levels[place.node], bits)
        return Part(PART_HEARS, message, place.tag)

    # --- tags ---------------------------------------------------------------------------------------------------

    def _give(self, kind: int, parts: tuple[Part, ...]) -> Place:
        tagged = [part.tag for part in parts if part.tag != NO_TAG]
        bare = tuple((part.kind, part.ref) for part in parts)
        bank = self._open.get((kind, bare))
        if bank is None or bank.node not in self._users or not self._has_room(bank, tagged):
            bank = _Bank(self._add(parts, len(tagged)), 0)
        self._open[kind, bare] = bank._replace(tags=bank.tags + 1)
        place = Place(bank.node, _own_tag(bank, tagged))
        self._places[kind, parts], self._asked[place] = place, (kind, parts)
        self._translate(place, parts)
        self._begin(place)
        return place

    def _has_room(self, bank: _Bank, tagged: list[int]) -> bool:
        """Whether a node may give the tag that it must."""
        return bank.tags < TAGS if len(tagged) > 1 else (bank.node, _own_tag(bank, tagged)) not in self._retired

    def _begin(self, place: Place) -> None:
        """A tag is in use from now on, in every message of the node."""
        bit = _bit(place.tag)
        self.ones.array[place.node] |= np.uint64(bit)
        for message in self._messages.on_node(place.node):
            self._messages.refresh(message, bit)

    def _translate(self, place: Place, parts: tuple[Part, ...]) -> None:
        """Writes which tags of the parts a tag of the node stands for."""
        first = int(self.rows.array[place.node, N_FIRST])
        for number, part in enumerate(parts):
            begin = int(self.parts.array[first + number, P_MAP])
            if begin >= 0:
                self.maps.array[begin + place.tag] = part.tag

    def _add(self, parts: tuple[Part, ...], tagged: int) -> int:
        first = self.parts.extend([(part.kind, part.ref, self._map(part, tagged), NONE) for part in parts])
        node = self.rows.append((first, len(parts), NONE))
        self.ones.append(0)
        heard = [(number, part.ref) for number, part in enumerate(parts, first) if part.kind == PART_HEARS]
        self._users[node] = [
            (message, self._messages.listen(message, USER_NODE, node, number)) for number, message in heard
        ]
        self._levels[node] = 1 + max((self._messages.level(message) for _, message in heard), default=-1)
        return node

    def _map(self, part: Part, tagged: int) -> int:
        if part.tag == NO_TAG:
            return FLAT
        return SAME if tagged == 1 else self.maps.extend(np.zeros(TAGS, np.uint8))

    # --- coming and going ---------------------------------------------------------------------------------------

    def use(self, part: Part) -> None:
        """One more relies on a part; what is below it is in use as well."""
        if part.kind != PART_HEARS or not self._messages.use(part.ref, part.tag):
            return
        node = self._messages.node(part.ref)
        if node >= 0:
            place = Place(node, part.tag)
            self._uses[place] = self._uses.get(place, 0) + 1
            if self._uses[place] == 1:
                for each in self._asked[place][1]:
                    self.use(each)

    def disuse(self, part: Part) -> None:
        """One less does."""
        if part.kind != PART_HEARS:
            return
        node = self._messages.node(part.ref)
        if self._messages.disuse(part.ref, part.tag) and node >= 0:
            place = Place(node, part.tag)
            self._uses[place] -= 1
            if not self._uses[place]:
                self._end(place)

    def _end(self, place: Place) -> None:
        """Nobody uses a tag of a node any more."""
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


def _own_tag(bank: _Bank, tagged: list[int]) -> int:
    """The tag that a node gives for the tags of its parts."""
    return bank.tags if len(tagged) > 1 else (NO_TAG, *tagged)[-1]


def _bit(tag: int) -> int:
    return WHOLE if tag == NO_TAG else 1 << tag
