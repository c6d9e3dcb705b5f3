"""What kernels of the evolving graph and of the query network share with their callers: kinds, columns, rows. No Numba
here: the structures that hold such rows are declared beside their kernels (`graph_kernels.GraphArrays`,
`network_kernels.NetworkArrays`).

*The graph.* An edge has a number for as long as it is there, or watched: a concrete edge that some query waits for
stands in the table from the beginning, marked as absent, so that one look-up says both whether an update changes
anything and which queries it concerns.

A *run* lists the edges of one vertex with one property in one direction; its key is `2 * property + direction`. A run
of one edge needs no place in the pool. Places in the pool are taken in blocks of a power of two; a block that was left
stands in a list of free ones of its size (see `graph_kernels`). The neighbours of a vertex are in no order.

*The network.* A query's pattern falls apart into *components*, connected by variables: constants do not connect,
because what is known about one side of a constant says nothing of the other. The variables of a component are slots.
Where its edges form trees, each tree hangs from the rest by one edge and is folded into *messages*: what vertex x hears
through that edge from the vertices y at its other end, namely whether (or how often) the tree can be completed there.
What remains is the *core*, one slot if the component is a tree, and is joined from the changed edge.

Many queries share everything but constants. So the constants next to a variable are lifted out: equal structures are
one *group*, a message says for up to 64 choices of constants (tags) at once which of them can be completed, as a mask,
and each choice that is asked for is a component row of the group. Counts, modulo 2^64, have no tags: there the
constants belong to the structure.

Where solutions are listed, all constants of a pattern are lifted out: they are slots too, *holes*, the last ones of the
core. A component says what fills them, so a join from a changed edge meets the solutions of all components at once: a
hole is bound like any slot, to nothing that does not fill it somewhere, and in the end the fillings name the component.

The laws. A mask message is the OR over y of the AND of what y hears in turn; a count is the sum of products. Every
message is stored, so one change after the other is applied to it, and each is seen by the messages above with
everything else as it stands at that moment: then what is gained and lost adds up to the difference between before and
after.

Limits. Rows of all kinds are numbered in 32 bits: memory ends long before. A bank or an anchor set has 64 tags, one bit
each, and the next one begins another. Holes that are filled before a step are 31 bits: see `NetworkGroups`. Messages
have MOST_LEVELS levels: see `network_compile.MOST_ROUNDS`. Stamps of phases, and rounds, begin again after LAST_STAMP.
Counts have 64 bits, and TOO_MANY says where one passed them. An update's place in its run, which the journal has in 32
bits, is below a block of updates: see `indexed`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Int8s: TypeAlias = npt.NDArray[np.uint8]
Int32s: TypeAlias = npt.NDArray[np.int32]
Int64s: TypeAlias = npt.NDArray[np.int64]
Masks: TypeAlias = npt.NDArray[np.uint64]
Floats: TypeAlias = npt.NDArray[np.float64]

# --- the evolving graph -----------------------------------------------------------------------------------------

ADD_EDGE, REMOVE_EDGE, SET_EDGE, REMOVE_VERTEX = range(4)  # what an update does

OUT, IN = 0, 1  # directions: a run of OUT holds edges that leave its vertex

SUBJECT, PREDICATE, OBJECT, LINK = range(4)  # of edges
PRESENT = 1  # in LINK, below 2 * (1 + the first posting of the queries that wait for the edge)
EDGE_COLUMNS = 4

VERTEX, KEY, START, LENGTH, NEXT_RUN = range(5)  # of runs; START is the edge itself if LENGTH is 1
RUN_COLUMNS = 5
NEIGHBOUR, EDGE = range(2)  # of the pool
AT, SEQ, NUMBER = range(3)  # of times

VIRTUALS = 4  # virtual properties have neighbouring ids; no variable stands for one of them
FULL, PARTS = 5, 8  # of either open addressing at most 5 entries in 8 are taken: 4 probes on average for what is absent
SIZES = 32  # classes of blocks

# Edges, runs and places in the pool are numbered in 32 bits, with 1 added where 0 is none: `graph.check` refuses
# more. A run's key is twice a property's id, so ids of properties are below 2^30. Times, seqs, counters have 64 bits.
MOST_ROWS = 2**31 - 2

NO_TIME = np.iinfo(np.int64).min


class Stamp(NamedTuple):
    """What an update says of the edge it adds: NaN and NO_TIME where it says nothing. See `plain.EdgeFacts`."""

    weight: float
    at: int
    seq: int
    number: int


class EdgeColumns(NamedTuple):
    """Edges as columns, in the order of their being added: terms by their ids, NaN for no weight, NO_TIME where `at`,
    `seq` or `number` is none."""

    subject: Int32s
    predicate: Int32s
    object: Int32s
    weight: Floats
    at: Int64s
    seq: Int64s
    number: Int64s

    @property
    def size(self) -> int:
        return len(self.subject)

    @classmethod
    def none(cls) -> EdgeColumns:
        ids, numbers = np.empty(0, np.int32), np.empty(0, np.int64)
        return cls(ids, ids, ids, np.empty(0, np.float64), numbers, numbers, numbers)


# --- the query network ------------------------------------------------------------------------------------------

NONE = -1
FILLED, PREFIX = 1 << 29, 1 << 30  # where other numbers than groups begin in `NetworkArrays.constant_slots`

MASK, COUNT, ROWS = range(3)  # of messages and groups; ROWS lists solutions
ANY_NODE, IS_NODE, AMONG_NODE, SELF_NODE = -1, -2, -3, -4  # at the lower end of a message, in place of a node: any
# vertex; the constant `ref`; one of the lifted constants of anchor set `ref`; the same vertex again
PART_HEARS, PART_TEST, PART_TESTS, PART_FILLS = range(4)  # of parts: a message, one test, a bank of tests with a tag
# each, and whether something fills the hole `ref`
SAME, FLAT = -1, -2  # in place of a part's map: its tags are those of the node; it has no tags
SITE_MESSAGE, SITE_CORE, SITE_DRIVER = range(3)  # of sites
USER_NODE, USER_GROUP = range(2)  # of users
Q_TRUTH, Q_COUNT, Q_ROWS = range(3)  # of queries
V_TRUTH, V_COUNT, V_ROW = range(3)  # of events; a row's `ref` is its component and `value` where it begins

MOST_LEVELS = 128  # of messages
LAST_STAMP = 2**31 - 1  # what the stamp of a query can hold; after it stamps begin again, and no query has one; so do
# rounds
GIVEN = -1  # in place of a round: a group, or a row of it, was given up
NO_LIMIT = -1  # of combinations that a join may try
EACH_EDGE = 64  # combinations that a join may try for each edge of the graph, beside the limit

J_UPDATE, J_PHASE, J_CHANGE, J_SUBJECT, J_PREDICATE, J_OBJECT = range(6)  # of the journal

# Why a run returned; NEED_ROOM: `NetworkArrays` says what is wanted; NEED_DERIVED: an edge was changed that others are
# derived from; PAUSED: there is much to report.
DONE, NEED_ROOM, NEED_GRAPH, NEED_STATES, NEED_EVENTS, NEED_ADJACENCY, NEED_DERIVED, PAUSED = range(8)


def _rows(names: str, kind: type[np.generic] = np.int32) -> np.dtype[np.void]:
    """Rows of whole numbers with these names; -1 ends a chain of rows."""
    return np.dtype([(name, kind) for name in names.split()])


# `key` is that of the run of x in which y stands; `next` is the next message on the same node
MESSAGE = _rows("key node ref level kind next users")
NODE = _rows("first parts messages")
PART = _rows("kind ref map slot")  # `map`: SAME, FLAT or where its map begins
USER = _rows("kind ref part next")
SITE = _rows("kind ref place next previous level head")  # `place`: the core edge
SITE_HEAD = _rows("vertex key first last")  # by (vertex or -1, key or -1)

# `starts`: its row of `starts` for slot 0, then slots, then core edges, then from nothing but holes; `constants`: how
# many constant rows; `driver_key`: of the run of the driver slot's vertex, or -1; `round`, `tried`, `shared`: the round
# in which its joins last tried anything, how much, and what of it no row pays for
GROUP = _rows(
    "kind slots first_part parts first_edge edges starts driver_slot driver_key constants first_constant holes "
    "first_hole round tried shared"
)
CORE_EDGE = _rows("subject predicate object")  # a term id, or ~slot

# the core edge, which parts are known (1 subject, 2 predicate, 4 object), a later step that could bind the same slot
# instead, or -1, the hole that it binds, or -1, which holes are filled before it, as bits, and the number under which
# its chains begin, or -1
STEP = _rows("edge known other hole given chains")
JOIN_START = _rows("steps count")
CONSTANT = _rows("group constant first next round tried")  # `round`, `tried`: when it last paid for joins, and how much
HOLE = _rows("first count")  # the first filling, and how many there are
FILLING = _rows("term next")
COMPONENT = _rows("next bits postings fresh")  # `bits`: where its bits, one a part, begin
QUERY = _rows("missing kind stamp before factors watch")  # `watch`: 1 where every change of a count is an event
LINK_ROW = _rows("item next")  # postings (queries) and factors (components)

# a count holds from `enter_low` to `enter_high`, and if it `held` from `stay_low` to `stay_high`
LIMITS = _rows("enter_low enter_high stay_low stay_high held latest", np.int64)
EVENT = _rows("update phase kind ref sign value", np.int64)
ITEM = _rows("message vertex next")  # of work

FILLINGS = -2  # in place of a cursor's run
# the run, -1 where edges are scanned, or FILLINGS; the place in it; whether another step is walked through in its stead
CURSOR = _rows("run place other", np.int64)
