"""The arrays of the evolving graph and of the query network, as kernels and their callers share them. No Numba here.

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

from functools import cache
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

Int8s: TypeAlias = npt.NDArray[np.uint8]
Int32s: TypeAlias = npt.NDArray[np.int32]
Int64s: TypeAlias = npt.NDArray[np.int64]
Masks: TypeAlias = npt.NDArray[np.uint64]
Floats: TypeAlias = npt.NDArray[np.float64]

# --- structures of arrays ---------------------------------------------------------------------------------------

# A structure is a NamedTuple of arrays, declared once: an annotation says what an array holds, and `Annotated` how many
# columns its rows have. From that follow the types that kernels see, where they find each array, and new arrays.

_STRUCTURE = TypeVar("_STRUCTURE", bound=tuple[Any, ...])


class ArrayField(NamedTuple):
    """One array of a structure; without columns it holds single numbers."""

    name: str
    dtype: np.dtype[Any]
    columns: int

    def zeros(self, rows: int) -> npt.NDArray[Any]:
        return np.zeros((rows, self.columns) if self.columns else rows, self.dtype)


@cache
def fields_of(structure: type[tuple[Any, ...]]) -> tuple[ArrayField, ...]:
    """The arrays of a structure, in order."""
    found = []
    for name, hint in get_type_hints(structure, include_extras=True).items():
        kind, columns = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, 0)
        found.append(ArrayField(name, np.dtype(get_args(get_args(kind)[1])[0]), columns))
    return tuple(found)


def zeros(structure: type[_STRUCTURE], **rows: int) -> _STRUCTURE:
    """A structure of zeros, with so many rows each; an array that is not named is empty."""
    return structure(*(field.zeros(rows.get(field.name, 0)) for field in fields_of(structure)))


def enlarge(structure: _STRUCTURE, **rows: int) -> _STRUCTURE:
    """The same with more rows in some arrays, what was there first."""
    larger: dict[str, npt.NDArray[Any]] = {}
    for field in fields_of(type(structure)):
        if field.name in rows:
            old = getattr(structure, field.name)
            larger[field.name] = field.zeros(rows[field.name])
            larger[field.name][: len(old)] = old
    return structure._replace(**larger)  # type: ignore[attr-defined, no-any-return]


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

# of counters
EDGES, FREE_EDGE, LIVE, TAKEN, RUNS, POOL, CLASSES, NEED, VIRTUAL, RUN_BITS, IDLE, VACANT = range(12)
COUNTERS = 12
VIRTUALS = 4  # virtual properties have neighbouring ids, from VIRTUAL on; no variable stands for one of them
FULL, PARTS = 5, 8  # of either open addressing at most 5 entries in 8 are taken: 4 probes on average for what is absent
SIZES = 32  # classes of blocks

# Edges, runs and places in the pool are numbered in 32 bits, with 1 added where 0 is none: `graph.check` refuses
# more. A run's key is twice a property's id, so ids of properties are below 2^30. Times, seqs, counters have 64 bits.
MOST_ROWS = 2**31 - 2

NO_TIME = np.iinfo(np.int64).min


class GraphArrays(NamedTuple):
    """Arrays with room to grow; `counters` say how much of each is in use. Everything changes.

    Without adjacency, `places`, `heads`, `runs`, `first` and `pool` are empty: where only whole edges are asked for,
    none is needed. Without a window, or without weights, `times` and `weights` are empty.
    """

    slots: Int64s  # open addressing: the upper half of an edge's hash (31 bits) and 1 + its number; 0 is free
    edges: Annotated[Int32s, EDGE_COLUMNS]  # rows
    places: Annotated[Int32s, 2]  # rows: where an edge stands in its run of OUT and in its run of IN
    heads: Int32s  # open addressing over (vertex, key): some bits of a run's hash and 1 + its number; 0 is free
    runs: Annotated[Int32s, RUN_COLUMNS]  # rows
    first: Int32s  # by vertex: 1 + its first run
    pool: Annotated[Int32s, 2]  # rows
    free: Int64s  # by the logarithm of the size: 1 + the first place of the first free block
    weights: Floats  # by edge; NaN is none
    times: Annotated[Int64s, 3]  # rows by edge; NO_TIME is none
    counters: Int64s  # EDGES: numbers given out; FREE_EDGE: 1 + the first free number, SUBJECT of it the next;
    # LIVE: edges present; TAKEN: slots; RUNS; POOL: places given out; CLASSES: a bit for each size of which there are
    # free blocks; NEED: places that the next edge might need; RUN_BITS: of a run's number in `heads`; IDLE:
    # runs without edges; VACANT: free places below POOL


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


SPAN, LAST, CLOCK, ACCEPTED, HEAP, QUEUE_FIRST, QUEUE = range(7)  # of clocks
CLOCKS = 8


class WindowArrays(NamedTuple):
    """Which edges go when. Promises (when, edge) that a later renewal made void are noticed when they come up.

    `clocks`: SPAN and LAST are the window's extent (0: none by that measure), CLOCK the time, ACCEPTED the updates so
    far, HEAP and QUEUE the number of promises, QUEUE_FIRST where the queue begins in its ring.
    """

    heap: Annotated[Int64s, 3]  # rows (at, seq, edge), a binary heap by (at, seq)
    queue: Annotated[Int64s, 2]  # rows (number, edge), a ring of a power of two
    clocks: Int64s


# --- the query network ------------------------------------------------------------------------------------------

NONE = -1
FILLED, PREFIX = 1 << 29, 1 << 30  # where other numbers than groups begin in `constant_slots`

# --- kinds ------------------------------------------------------------------------------------------------------

MASK, COUNT, ROWS = range(3)  # of messages and groups; ROWS lists solutions
ANY_NODE, IS_NODE, AMONG_NODE, SELF_NODE = -1, -2, -3, -4  # at the lower end of a message, in place of a node: any
# vertex; the constant REF; one of the lifted constants of anchor set REF; the same vertex again
PART_HEARS, PART_TEST, PART_TESTS, PART_FILLS = range(4)  # of parts: a message, one test, a bank of tests with a tag
# each, and whether something fills the hole REF
SITE_MESSAGE, SITE_CORE, SITE_DRIVER = range(3)  # of sites
USER_NODE, USER_GROUP = range(2)  # of users

# --- columns ----------------------------------------------------------------------------------------------------

# of messages: KEY is that of the run of x in which y stands; NEXT is the next message on the same node
M_KEY, M_NODE, M_REF, M_LEVEL, M_KIND, M_NEXT, M_USERS = range(7)
N_FIRST, N_PARTS, N_MESSAGES = range(3)  # of nodes
P_KIND, P_REF, P_MAP, P_SLOT = range(4)  # of parts; P_MAP: SAME, FLAT or where its map begins
SAME, FLAT = -1, -2  # tags of the part are those of the node; the part has no tags
U_KIND, U_REF, U_PART, U_NEXT = range(4)  # of users
S_KIND, S_REF, S_PLACE, S_NEXT, S_PREVIOUS, S_LEVEL, S_HEAD = range(7)  # of sites; S_PLACE: the core edge
H_VERTEX, H_KEY, H_FIRST, H_LAST = range(4)  # of heads of sites, by (vertex or -1, key or -1)
G_KIND, G_SLOTS, G_FIRST_PART, G_PARTS, G_FIRST_EDGE, G_EDGES, G_STARTS, G_DRIVER_SLOT, G_DRIVER_KEY = range(9)
G_CONSTANTS, G_FIRST_CONSTANT, G_HOLES, G_FIRST_HOLE, G_ROUND, G_TRIED, G_SHARED = range(9, 16)
# of groups; G_STARTS: its row of `starts` for slot 0, then slots, then core edges, then from
# nothing but holes; G_CONSTANTS: how many constant rows; G_DRIVER_KEY: of the run of the driver slot's vertex, or -1;
# G_ROUND, G_TRIED, G_SHARED: the round in which its joins last tried anything, how much, and what of it no row pays for
E_SUBJECT, E_PREDICATE, E_OBJECT = range(3)  # of core edges: a term id, or ~slot
T_EDGE, T_KNOWN, T_OTHER, T_HOLE, T_GIVEN, T_CHAINS = range(6)  # of steps: the core edge, which parts are known (1
# subject, 2 predicate, 4 object), a later step that could bind the same slot instead, or -1, the hole that it binds, or
# -1, which holes are filled before it, as bits, and the number under which its chains begin, or -1
B_STEPS, B_COUNT = range(2)  # of starts
C_GROUP, C_CONSTANT, C_FIRST, C_NEXT, C_ROUND, C_TRIED = range(6)  # of constant rows; C_NEXT: the next of the group;
# C_ROUND, C_TRIED: the round in which it last paid for what joins tried, and how much
O_FIRST, O_COUNT = range(2)  # of holes: the first filling, and how many there are
F_TERM, F_NEXT, F_PREVIOUS = range(3)  # of fillings
K_NEXT, K_BITS, K_POSTINGS, K_FRESH = range(4)  # of components; K_BITS: where its bits, one a part, begin
Q_MISSING, Q_KIND, Q_STAMP, Q_BEFORE, Q_FACTORS, Q_WATCH = range(6)  # of queries
LAST_STAMP = 2**31 - 1  # what Q_STAMP can hold; after it stamps begin again, and no query has one; so do rounds
GIVEN = -1  # in place of a round: a group, or a row of it, was given up
NO_LIMIT = -1  # in place of MOST_TRIED
EACH_EDGE = 64  # combinations that a join may try for each edge of the graph, beside MOST_TRIED
Q_TRUTH, Q_COUNT, Q_ROWS = range(3)  # kinds of queries; Q_WATCH: 1 where every change of a count is an event
L_ITEM, L_NEXT = range(2)  # of links: postings (queries) and factors (components)
ENTER_LOW, ENTER_HIGH, STAY_LOW, STAY_HIGH, HELD, LATEST = range(6)  # of limits, one row a query
W_UPDATE, W_PHASE, W_KIND, W_REF, W_SIGN, W_VALUE = range(6)  # of events
V_TRUTH, V_COUNT, V_ROW = range(3)  # kinds of events; a row's W_REF is its component and W_VALUE where it begins


class NetworkArrays(NamedTuple):
    """Rows of every kind, each with room to grow; all lists are chains of rows, so that subscribing costs what it
    adds. -1 ends a chain."""

    messages: Annotated[Int32s, 7]
    nodes: Annotated[Int32s, 3]
    ones: Masks  # by node: the tags in use
    parts: Annotated[Int32s, 4]
    maps: Int8s  # of a part, for each tag of its node the tag of the part
    users: Annotated[Int32s, 4]
    sites: Annotated[Int32s, 7]
    site_slots: Int32s  # open addressing over (vertex, key): 1 + the number of a head; 0 is free
    site_heads: Annotated[Int32s, 4]
    anchors: Annotated[Int64s, 2]  # open addressing over (set, constant): rows (1 + (set << 32 | constant), bit)
    groups: Annotated[Int32s, 16]
    edges: Annotated[Int32s, 3]
    steps: Annotated[Int32s, 6]
    starts: Annotated[Int32s, 2]
    constants: Annotated[Int32s, 6]
    # open addressing over (group, constant): rows (1 + (group << 32 | constant), row); and over
    # (FILLED + hole, term): its filling. Several fillings are found one by one: (group, first) leads to a number from
    # PREFIX on, that with the second to another, and with the last one to the row. So are chains, from T_CHAINS on by
    # what fills T_GIVEN: the last one leads to a hole of its own, which is filled by what stands beside those in a row.
    constant_slots: Annotated[Int64s, 2]
    holes: Annotated[Int32s, 2]
    fillings: Annotated[Int32s, 3]
    components: Annotated[Int32s, 4]
    bits: Int8s
    values: Int64s  # by component: in how many places it holds, or its count
    queries: Annotated[Int32s, 6]
    links: Annotated[Int32s, 2]
    # by query: a count holds from ENTER_LOW to ENTER_HIGH, and if it HELD from STAY_LOW to STAY_HIGH
    limits: Annotated[Int64s, 6]
    tests: Int32s  # where the atoms of a test begin; the last entry is the end
    atoms: Annotated[Floats, 4]  # rows (domain, low, high, flags) of tests; see `filter.layout`
    banks: Annotated[Int32s, 64]  # rows of 64 tests, -1 where there is none
    domains: Annotated[Floats, 2]  # by term: rows (coordinate, domain code)
    # open addressing over (test, term) for terms in doubt: rows (1 + (test << 32 | term), verdict)
    verdicts: Annotated[Int64s, 2]


class StateArrays(NamedTuple):
    """Messages by (message, vertex) in open addressing; a message that is not there is 0.

    Most messages say nothing at most vertices. So each vertex has a mark for every 64th message that was ever said
    there: without it there is no need to look.
    """

    entries: Annotated[Masks, 2]  # rows: 1 + (message << 32 | vertex), and the value; 0 is free
    marks: Masks  # by vertex
    counts: Int64s  # [0]: slots taken


class WorkArrays(NamedTuple):
    """What is still to be done for one change: messages that a vertex may hear anew, by level, lowest first."""

    items: Annotated[Int32s, 3]  # rows (message, vertex, next)
    payloads: Masks  # bits to gain, bits in danger, or a count to add
    levels: Int32s  # by level: the first item, or -1
    plans: Annotated[Int64s, 2]  # rows (message, run): where the item under way will be carried on to
    sayings: Masks  # and what
    state: Int64s  # see below


# of WorkArrays.state
USED, FREE_ITEM, LOWEST = range(3)
MOST_LEVELS = 128
IDLE_LEVEL = 1 << 20  # LOWEST when there is no work


class EventArrays(NamedTuple):
    """What the updates of a batch changed, in order."""

    events: Annotated[Int64s, 6]  # rows
    rows: Int32s  # solutions of ROWS groups: the terms of their slots, but for holes
    touched: Int32s  # queries touched in this phase
    state: Int64s  # see below


# of EventArrays.state
EVENTS, VALUES, TOUCHED, STAMP, CANDIDATES, NEEDED, UPDATE, PHASE, ONLY_FRESH, TOO_MANY, DEPTH, MOST_EVENTS = range(12)
ROUND, TRIED, CHECK, CHECK_BITS, MOST_TRIED, GIVEN_UP = range(12, 18)
EVENT_STATE = 18
# TOO_MANY: somewhere a count passed 2^63, so counts may be wrong; DEPTH: of the step at which a join lacked room for a
# solution, or -1; MOST_EVENTS: after how many of them a run stops, once its update is done. Of the budget of joins (see
# `network_kernels`): ROUND: the round; TRIED: what the group under way tried in it; CHECK: after how much it is looked
# what pays, every 2^CHECK_BITS; MOST_TRIED: beside EACH_EDGE for each edge, or NO_LIMIT; GIVEN_UP: how often it was too
# much


class JoinArrays(NamedTuple):
    """Room for one join: the terms of the slots, what the parts of the group hear there, and where each step stands."""

    path: Int32s
    masks: Masks
    cursors: Annotated[Int64s, 3]  # rows


# of JoinArrays.cursors: the run, -1 where edges are scanned, or FILLINGS; the place in it; whether T_OTHER is walked
# through in its stead
FILLINGS = -2
CURSOR_RUN, CURSOR_PLACE, CURSOR_OTHER = range(3)


class UpdateArrays(NamedTuple):
    """Updates, accepted and in order; see `updates.UpdateColumns`.

    Others are derived from edges with a predicate in `deriving`.
    """

    seq: Int64s
    op: Int8s
    subject: Int32s
    predicate: Int32s
    object: Int32s
    weight: Floats
    at: Int64s
    deriving: Int32s


class RunArrays(NamedTuple):
    """Where a run stands, and the edges that an update removes."""

    progress: Int64s  # see below
    changes: Int32s


class JournalArrays(NamedTuple):
    """What became of edges, in order; for metrics."""

    rows: Annotated[Int32s, 6]
    weights: Floats
    state: Int64s  # KEPT: whether anything is written down; JOURNALLED: how many rows are


J_UPDATE, J_PHASE, J_CHANGE, J_SUBJECT, J_PREDICATE, J_OBJECT = range(6)
KEPT, JOURNALLED = range(2)


# Where a run stands, in `progress`: the update, its stage, the changes that it makes and the one that is under way,
# the stage of that, where a chain of sites was left, and the edge that was taken up and is not done, or -1: a run that
# stops must not take up another in its place.
P_UPDATE, P_STAGE, P_CHANGES, P_CHANGE, P_REACTION, P_HEAD, P_SITE, P_EDGE = range(8)
P_SUBJECT, P_PREDICATE, P_OBJECT, P_SIGN = range(8, 12)  # the edge that was changed, from which others may be derived
PROGRESS = 12

# Why a run returned; NEED_DERIVED: an edge was changed that others are derived from; PAUSED: there is much to report.
DONE, NEED_GRAPH, NEED_STATES, NEED_WORK, NEED_REPORTS, NEED_CHANGES, NEED_ADJACENCY, NEED_DERIVED, PAUSED = range(9)
NEED_JOURNAL = 9


# --- everything -------------------------------------------------------------------------------------------------

# The order in which kernels find the arrays by their addresses: of each the address and the length.
STRUCTURES = (
    GraphArrays,
    WindowArrays,
    NetworkArrays,
    StateArrays,
    WorkArrays,
    EventArrays,
    JoinArrays,
    UpdateArrays,
    RunArrays,
    JournalArrays,
)
