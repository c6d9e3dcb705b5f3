"""Messages: what a vertex hears through one edge, each kept once for all who listen, and gone when nobody does.

A message of masks has a tag for each choice of constants below it; `uses` counts by tag how many nodes and components
rely on it. Constants next to a variable stand in anchor sets, up to 64 in each, under the key of their message; a
further one opens another set, and so another message.

The law: a node or group hears no message twice. Where it needs the same thing at two places, the second is a twin of
the first, with states of its own: for a change is told to one part after the other, and each must find the others as
they were or as they are, not half of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from heliograph.kernels.network_layout import (
    AMONG_NODE,
    IS_NODE,
    M_LEVEL,
    M_NEXT,
    M_NODE,
    M_REF,
    M_USERS,
    MASK,
    MESSAGE_COLUMNS,
    N_MESSAGES,
    NODE_COLUMNS,
    NONE,
    PART_HEARS,
    SITE_MESSAGE,
    U_NEXT,
    USER_COLUMNS,
)
from heliograph.network.sites import ANYWHERE, Sites
from heliograph.network.tables import Pairs, Rows

NO_TAG = -1
TAGS = 64
WHOLE = 1  # the mask of a message without tags


class Part(NamedTuple):
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


class _Open(NamedTuple):
    """The anchor set of a family that has room: its message and its next tag."""

    message: int
    tag: int


class Messages:
    """All messages, with the anchors of constants and the chains of those who hear them."""

    def __init__(self, sites: Sites) -> None:
        self.rows = Rows(MESSAGE_COLUMNS)
        self.nodes = Rows(NODE_COLUMNS)  # filled by `nodes.Nodes`; here for the chains of their messages
        self.users = Rows(USER_COLUMNS)
        self.anchors = Pairs()
        self.fresh: dict[int, int] = {}  # by message: the bits to be populated
        self.dead: list[int] = []
        self._sites = sites
        self._numbers: dict[MessageKey, int] = {}
        self._keys: list[MessageKey | None] = []  # None is dead
        self._site: list[int] = []
        self._uses: dict[tuple[int, int], int] = {}  # by message and tag
        self._tags: list[int] = []  # by message: how many tags are in use
        self._open: dict[tuple[int, int], _Open] = {}  # by key and twin
        self._among: dict[tuple[int, int, int], tuple[int, int]] = {}  # by key, twin and constant: message and tag
        self._constants: dict[tuple[int, int], tuple[int, int, int]] = {}  # the other way
        self._anchor_site: dict[tuple[int, int], int] = {}  # by message and tag
        self._previous = Rows(0)  # by user
        self._sets = 0

    # --- finding ------------------------------------------------------------------------------------------------

    def find(self, key: MessageKey, level: int = 0, bits: int = WHOLE) -> int:
        """The message of a key; `bits` are what a new one says."""
        message = self._numbers.get(key)
        return self._add(key, level, bits) if message is None else message

    def among(self, key: int, constant: int, twin: int) -> Part:
        """The message and the tag by which a constant is heard."""
        found = self._among.get((key, twin, constant))
        if found is None:
            found = self._anchor(key, constant, twin)
        return Part(PART_HEARS, *found)

    def _anchor(self, key: int, constant: int, twin: int) -> tuple[int, int]:
        message, tag = self._open.get((key, twin), _Open(NONE, TAGS))
        if tag == TAGS or self._keys[message] is None:
            self._sets += 1
            message, tag = self.find(MessageKey(MASK, key, AMONG_NODE, self._sets, twin), bits=0), 0
        self.anchors.put(int(self.rows.array[message, M_REF]), constant, tag)
        self._open[key, twin] = _Open(message, tag + 1)
        self._among[key, twin, constant] = message, tag
        self._constants[message, tag] = key, twin, constant
        self._anchor_site[message, tag] = self._sites.add((SITE_MESSAGE, message, NONE), 0, constant, key ^ 1)
        self.refresh(message, 1 << tag)
        return message, tag

    def level(self, message: int) -> int:
        return int(self.rows.array[message, M_LEVEL])

    def node(self, message: int) -> int:
        return int(self.rows.array[message, M_NODE])

    def refresh(self, message: int, bits: int) -> None:
        """Asks that these bits of a message be populated."""
        self.fresh[message] = self.fresh.get(message, 0) | bits

    def on_node(self, node: int) -> Iterator[int]:
        """The messages that a node speaks by."""
        message = int(self.nodes.array[node, N_MESSAGES])
        while message >= 0:
            yield message
            message = int(self.rows.array[message, M_NEXT])

    # --- coming and going ---------------------------------------------------------------------------------------

    def _add(self, key: MessageKey, level: int, bits: int) -> int:
        kind, edge_key, node, ref, _ = key
        following = int(self.nodes.array[node, N_MESSAGES]) if node >= 0 else NONE
        message = self.rows.append((edge_key, node, ref, level, kind, following, NONE))
        if node >= 0:
            self.nodes.array[node, N_MESSAGES] = message
        self._numbers[key] = message
        self._keys.append(key)
        self._tags.append(0)
        self._site.append(self._add_site(message, key, level))
        self.refresh(message, bits)
        return message

    def _add_site(self, message: int, key: MessageKey, level: int) -> int:
        """Where a message's edges are asked for: those of a constant at the constant; lifted ones have a site each."""
        if key.node == AMONG_NODE:
            return NONE
        site = (SITE_MESSAGE, message, NONE)
        if key.node == IS_NODE:
            return self._sites.add(site, level, key.ref, key.key ^ 1)
        return self._sites.add(site, level, ANYWHERE, key.key)

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
        self._withdraw(message, tag)
        self._tags[message] -= 1
        if not self._tags[message]:
            self._remove(message)
        return True

    def _withdraw(self, message: int, tag: int) -> None:
        """A constant whose tag nobody uses is no anchor any more."""
        if (message, tag) in self._constants:
            among = self._constants.pop((message, tag))
            del self._among[among]
            self.anchors.remove(int(self.rows.array[message, M_REF]), among[2])
            self._sites.remove(self._anchor_site.pop((message, tag)))

    def _remove(self, message: int) -> None:
        key, self._keys[message] = self._keys[message], None
        if key is not None:
            del self._numbers[key]
        if self._site[message] >= 0:
            self._sites.remove(self._site[message])
        node = self.node(message)
        if node >= 0:
            self._unchain(message, node)
        self.fresh.pop(message, None)
        self.dead.append(message)

    def _unchain(self, message: int, node: int) -> None:
        """Takes a message out of the chain of its node, which is as long as there are keys that lead to it."""
        following = int(self.rows.array[message, M_NEXT])
        before = next((each for each in self.on_node(node) if self.rows.array[each, M_NEXT] == message), NONE)
        if before >= 0:
            self.rows.array[before, M_NEXT] = following
        else:
            self.nodes.array[node, N_MESSAGES] = following

    def settled(self) -> None:
        """Everything was populated."""
        self.fresh.clear()

    # --- users --------------------------------------------------------------------------------------------------

    def listen(self, message: int, kind: int, ref: int, part: int) -> int:
        """A part of a node or of a group hears a message from now on."""
        following = int(self.rows.array[message, M_USERS])
        user = self.users.append((kind, ref, part, following))
        self.rows.array[message, M_USERS] = user
        self._previous.append(NONE)
        if following >= 0:
            self._previous.array[following] = user
        return user

    def ignore(self, message: int, user: int) -> None:
        """It does no longer."""
        before, following = int(self._previous.array[user]), int(self.users.array[user, U_NEXT])
        if before >= 0:
            self.users.array[before, U_NEXT] = following
        else:
            self.rows.array[message, M_USERS] = following
        if following >= 0:
            self._previous.array[following] = before

    def __len__(self) -> int:
        return len(self._numbers)
