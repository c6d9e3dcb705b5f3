"""A growing simple graph in kernels: pairs and arcs as edges come and go, lists of neighbours, and what is reported
of values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64

from heliograph.compiled.compile import kernel
from heliograph.compiled.text import prefetch
from heliograph.compiled.types import (
    FLOATS,
    INT8S,
    INT32S,
    INT64S,
    NEW_FLOATS,
    NEW_INT8S,
    NEW_INT32S,
    NEW_INT64S,
    named,
    rows,
)
from heliograph.watch.metrics.simple_graph import (
    ARCS,
    BACKWARD,
    CAME,
    COLUMN,
    EVERY,
    FORWARD,
    FREE,
    FULL,
    INSTANCE,
    JOINED,
    LENGTH,
    LOOPS,
    NEED,
    NEW_ARC,
    NEW_PAIR,
    NUMBERS,
    PARTS,
    POOL,
    SAID,
    SILENT,
    START,
    STEP,
    TAKEN,
    VERTICES,
    WENT,
    A,
    Asked,
    B,
    Lists,
    Log,
    Simple,
    Telling,
)

# ----------------------------------------------------------------------------------------------------------------------
# Numba's types for logs, for growing simple graphs, and for what is asked and said of instances.
# ----------------------------------------------------------------------------------------------------------------------

INT32_ROWS: Any = rows(int32, writable=True)
INT64_ROWS: Any = rows(int64, writable=True)
LOG: Any = named(Log, INT32S, INT8S, INT32S, INT32S, INT32S, FLOATS)
LISTS: Any = named(Lists, INT32_ROWS, NEW_INT8S, NEW_INT32S, NEW_INT32S, NEW_INT32S, NEW_INT64S)
SIMPLE: Any = named(Simple, NEW_INT64S, NEW_INT32S, INT32_ROWS, NEW_INT32S, LISTS, LISTS, LISTS, NEW_INT64S)
ASKED: Any = named(Asked, FLOATS, INT32S, INT32S, int64)
TELLING: Any = named(Telling, INT32_ROWS, NEW_FLOATS, NEW_INT64S)


# ----------------------------------------------------------------------------------------------------------------------
# Lists of neighbours that grow and shrink, each in a block of a power of two.
#
# Joining a list and leaving it cost the same whatever its length, but for the copy of a list that outgrows its block,
# or fills a quarter of it and moves to one half the size: it has to double or halve between two copies. Blocks that
# were left wait, whole, in a list of free ones of their size; so of each size there are never more than once were in
# use.
# ----------------------------------------------------------------------------------------------------------------------

_ONE = np.int64(1)


@kernel(inline=True)
def list_start(lists: Lists, vertex: Any) -> Any:
    return np.int64(lists.heads[vertex, START])


@kernel(inline=True)
def list_length(lists: Lists, vertex: Any) -> Any:
    return np.int64(lists.heads[vertex, LENGTH])


@kernel()
def join_list(lists: Lists, pairs: Any, vertex: Any, neighbour: Any, pair: Any) -> None:
    """A neighbour stands at the end of a vertex's list; there is room."""
    length = np.int64(lists.heads[vertex, LENGTH])
    if length & (length - 1) == 0:
        _make_room(lists, vertex, length)
    place = lists.heads[vertex, START] + length
    lists.pool[place], lists.owners[place] = neighbour, pair
    lists.heads[vertex, LENGTH] = length + 1
    pairs[pair, place_column(lists, pairs, vertex, pair)] = length


@kernel(inline=True)
def place_column(lists: Lists, pairs: Any, vertex: Any, pair: Any) -> Any:
    """Which column says where in a vertex's list a pair stands."""
    return lists.counters[COLUMN] + (0 if pairs[pair, A] == vertex else 1)


@kernel()
def _make_room(lists: Lists, vertex: Any, length: Any) -> None:
    """A list, of a power of two or empty, gets a block twice the size if its own is full."""
    k = np.int64(lists.room[vertex])
    if k == 0 or length == _ONE << k:
        _move(lists, vertex, length, k + 1)
        lists.counters[NEED] = max(lists.counters[NEED], _ONE << (k + 3))  # two lists, each twice as large again


@kernel()
def _move(lists: Lists, vertex: Any, length: Any, k: Any) -> None:
    """Moves a list to a block of 2^k places."""
    block, start = _take(lists, k), np.int64(lists.heads[vertex, START])
    for i in range(length):
        lists.pool[block + i], lists.owners[block + i] = lists.pool[start + i], lists.owners[start + i]
    if lists.room[vertex] != 0:
        _give(lists, start, np.int64(lists.room[vertex]))
    lists.heads[vertex, START], lists.room[vertex] = block, k


@kernel()
def leave_list(lists: Lists, pairs: Any, vertex: Any, pair: Any) -> None:
    """A pair goes out of a vertex's list; the last one takes its place."""
    start, last = lists.heads[vertex, START], np.int64(lists.heads[vertex, LENGTH]) - 1
    place = pairs[pair, place_column(lists, pairs, vertex, pair)]
    if place != last:
        moved = lists.owners[start + last]
        lists.pool[start + place], lists.owners[start + place] = lists.pool[start + last], moved
        pairs[moved, place_column(lists, pairs, vertex, moved)] = place
    lists.heads[vertex, LENGTH] = last
    if last & (last - 1) == 0:
        _yield_room(lists, vertex, last)


@kernel()
def _yield_room(lists: Lists, vertex: Any, length: Any) -> None:
    """A list, of a power of two or empty, gives back what it does not need."""
    k = np.int64(lists.room[vertex])
    if length == 0:
        _give(lists, np.int64(lists.heads[vertex, START]), k)
        lists.room[vertex] = 0
    elif k > 1 and length << 2 <= _ONE << k:
        _move(lists, vertex, length, k - 1)


@kernel()
def _take(lists: Lists, k: Any) -> Any:
    """A block of 2^k places: a free one or a new one."""
    block = np.int64(lists.free[k]) - 1
    if block < 0:
        block = lists.counters[POOL]
        lists.counters[POOL] = block + (_ONE << k)
    else:
        lists.free[k] = lists.pool[block]
    return block


@kernel(inline=True)
def _give(lists: Lists, block: Any, k: Any) -> None:
    lists.pool[block] = lists.free[k]
    lists.free[k] = block + 1


# ----------------------------------------------------------------------------------------------------------------------
# The pairs of a simple graph by their ends: open addressing with linear probing.
#
# The law: between the place where a key belongs and the one where it stands no place is free. A key that goes is
# followed by those that it kept away, so that nothing is left behind and what is absent is found absent at once.
# ----------------------------------------------------------------------------------------------------------------------

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_32, _20 = np.uint64(32), np.uint64(20)


@kernel(inline=True)
def pair_key(one: Any, other: Any) -> Any:
    """What stands for an unordered pair of vertices in a table where 0 is free."""
    low, high = min(one, other), max(one, other)
    return ((np.int64(low) << 32) | np.int64(high)) + 1


@kernel(inline=True)
def key_home(key: Any, mask: Any) -> Any:
    """Where a key belongs, in a table of mask + 1 places."""
    hashed = np.uint64(key) * _ODD
    return np.int64((hashed ^ (hashed >> _32)) * _ODD >> _20) & mask


@kernel(inline=True)
def pair_slot(graph: Simple, key: Any) -> Any:
    """Where a key stands, or the free place where it would."""
    mask = np.int64(len(graph.keys) - 1)
    slot = key_home(key, mask)
    while graph.keys[slot] != 0 and graph.keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel(inline=True)
def find_pair(graph: Simple, one: Any, other: Any) -> Any:
    """The number of a pair that is there (a loop's too), or -1."""
    slot = pair_slot(graph, pair_key(one, other))
    return np.int64(graph.numbers[slot]) if graph.keys[slot] != 0 else np.int64(-1)


@kernel(inline=True)
def are_joined(graph: Simple, one: Any, other: Any) -> Any:
    """Whether an edge leads from one vertex to the other, either way. Touches nothing but the keys."""
    return graph.keys[pair_slot(graph, pair_key(one, other))] != 0


@kernel(inline=True)
def count_edges(graph: Simple, subject: Any, object: Any) -> Any:
    """How many edges lead from one vertex to another."""
    pair = find_pair(graph, subject, object)
    if pair < 0:
        return np.int64(0)
    return np.int64(graph.pairs[pair, FORWARD if subject <= object else BACKWARD])


@kernel()
def vacate(graph: Simple, hole: Any) -> None:
    """Frees a place; keys that stand further on because of it move up."""
    mask = np.int64(len(graph.keys) - 1)
    slot = (hole + 1) & mask
    while graph.keys[slot] != 0:
        away = (slot - key_home(graph.keys[slot], mask)) & mask
        if away >= (slot - hole) & mask:
            graph.keys[hole], graph.numbers[hole] = graph.keys[slot], graph.numbers[slot]
            hole = slot
        slot = (slot + 1) & mask
    graph.keys[hole] = 0


# ----------------------------------------------------------------------------------------------------------------------
# A growing simple graph, kept as edges come and go: which pairs and arcs are new, which are no more.
#
# The law: after any log the graph is that of the edges that are there, whatever came and went before; only the order
# of lists tells of the past. Whoever adds an edge, or takes one away, asks `has_room` first, and returns to its
# caller where there is none: a list that shrinks moves too.
# ----------------------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def has_room(graph: Simple) -> Any:
    """Whether another edge can come or go, whichever it is."""
    counters = graph.counters
    if counters[FREE] == 0 and counters[NUMBERS] >= len(graph.pairs):
        return False
    if PARTS * (counters[TAKEN] + 1) > FULL * len(graph.keys):
        return False
    return _fits(graph.undirected) and _fits(graph.out) and _fits(graph.into)


@kernel(inline=True)
def _fits(lists: Lists) -> Any:
    return lists.counters[POOL] + lists.counters[NEED] <= len(lists.pool)


@kernel()
def add_edge(graph: Simple, subject: Any, object: Any) -> Any:
    """One more edge from a vertex to another; there is room. What is new of NEW_PAIR and NEW_ARC."""
    key = pair_key(subject, object)
    slot, changed = pair_slot(graph, key), 0
    if graph.keys[slot] == 0:
        _enter_pair(graph, slot, key)
        changed = NEW_PAIR
    pair, column = np.int64(graph.numbers[slot]), FORWARD if subject <= object else BACKWARD
    graph.pairs[pair, column] += 1
    if subject == object:
        return 0
    if graph.pairs[pair, column] == 1:
        _enter_arc(graph, pair, subject, object)
        changed |= NEW_ARC
    return changed


@kernel()
def _enter_pair(graph: Simple, slot: Any, key: Any) -> None:
    """A pair that no edge joined so far takes a number, and its place in lists."""
    pair, one, other = _take_number(graph), (key - 1) >> 32, (key - 1) & 0x7FFFFFFF
    graph.keys[slot], graph.numbers[slot] = key, pair
    graph.pairs[pair, A], graph.pairs[pair, B] = one, other
    graph.pairs[pair, FORWARD] = graph.pairs[pair, BACKWARD] = 0
    graph.counters[TAKEN] += 1
    _touch(graph, one)
    if one == other:
        graph.counters[LOOPS] += 1
        return
    _touch(graph, other)
    graph.counters[JOINED] += 1
    if len(graph.undirected.heads):
        join_list(graph.undirected, graph.pairs, one, other, pair)
        join_list(graph.undirected, graph.pairs, other, one, pair)


@kernel(inline=True)
def _take_number(graph: Simple) -> Any:
    pair = graph.counters[FREE] - 1
    if pair < 0:
        pair = graph.counters[NUMBERS]
        graph.counters[NUMBERS] = pair + 1
    else:
        graph.counters[FREE] = graph.pairs[pair, A]
    return pair


@kernel(inline=True)
def _touch(graph: Simple, vertex: Any) -> None:
    graph.touching[vertex] += 1
    if graph.touching[vertex] == 1:
        graph.counters[VERTICES] += 1


@kernel()
def _enter_arc(graph: Simple, pair: Any, subject: Any, object: Any) -> None:
    graph.counters[ARCS] += 1
    if len(graph.out.heads):
        join_list(graph.out, graph.pairs, subject, object, pair)
        join_list(graph.into, graph.pairs, object, subject, pair)


@kernel()
def drop_edge(graph: Simple, subject: Any, object: Any) -> Any:
    """One edge less from a vertex to another, if there is one. What is no more of NEW_PAIR and NEW_ARC."""
    slot, changed = pair_slot(graph, pair_key(subject, object)), 0
    if graph.keys[slot] == 0:
        return 0
    pair, column = np.int64(graph.numbers[slot]), FORWARD if subject <= object else BACKWARD
    if graph.pairs[pair, column] == 0:
        return 0
    graph.pairs[pair, column] -= 1
    if subject != object and graph.pairs[pair, column] == 0:
        _leave_arc(graph, pair, subject, object)
        changed = NEW_ARC
    if graph.pairs[pair, FORWARD] == 0 and graph.pairs[pair, BACKWARD] == 0:
        _leave_pair(graph, pair)
        vacate(graph, slot)
        changed |= NEW_PAIR if subject != object else 0
    return changed


@kernel()
def _leave_arc(graph: Simple, pair: Any, subject: Any, object: Any) -> None:
    graph.counters[ARCS] -= 1
    if len(graph.out.heads):
        leave_list(graph.out, graph.pairs, subject, pair)
        leave_list(graph.into, graph.pairs, object, pair)


@kernel()
def _leave_pair(graph: Simple, pair: Any) -> None:
    """A pair that no edge joins any more leaves the lists; its number is free."""
    one, other = graph.pairs[pair, A], graph.pairs[pair, B]
    graph.counters[TAKEN] -= 1
    _untouch(graph, one)
    if one == other:
        graph.counters[LOOPS] -= 1
    else:
        _untouch(graph, other)
        graph.counters[JOINED] -= 1
        if len(graph.undirected.heads):
            leave_list(graph.undirected, graph.pairs, one, pair)
            leave_list(graph.undirected, graph.pairs, other, pair)
    graph.pairs[pair, A] = graph.counters[FREE]
    graph.counters[FREE] = pair + 1


@kernel(inline=True)
def _untouch(graph: Simple, vertex: Any) -> None:
    graph.touching[vertex] -= 1
    if graph.touching[vertex] == 0:
        graph.counters[VERTICES] -= 1


@kernel((SIMPLE, LOG, int64))
def take_over(graph: Simple, log: Log, row: Any) -> Any:
    """Applies the changes from a row on; the first that there was no room for, or the number of rows."""
    while row < len(log.step) and has_room(graph):
        if log.change[row] == CAME:
            add_edge(graph, log.subject[row], log.object[row])
        elif log.change[row] == WENT:
            drop_edge(graph, log.subject[row], log.object[row])
        row += 1
    return row


@kernel((INT64S, INT32S, NEW_INT64S, NEW_INT32S))
def rehash(keys: Any, numbers: Any, larger_keys: Any, larger_numbers: Any) -> None:
    """Takes all pairs over into a larger table without any."""
    mask = np.int64(len(larger_keys) - 1)
    for old in range(len(keys)):
        if keys[old] != 0:
            slot = key_home(keys[old], mask)
            while larger_keys[slot] != 0:
                slot = (slot + 1) & mask
            larger_keys[slot], larger_numbers[slot] = keys[old], numbers[old]


# ----------------------------------------------------------------------------------------------------------------------
# Asking for what the next changes of a log need of a simple graph, before they need it.
#
# An edge's ends lie anywhere, so a change is a dozen misses of the cache: rows of vertices, the place of the pair,
# then lists, then those who stand last in them. Rows are asked for some changes ahead; when they are there, nearer to
# the change, what they lead to. Nothing is decided by it: what is asked for in vain costs a line of the cache.
# ----------------------------------------------------------------------------------------------------------------------

_FAR, _NEAR = 24, 10  # changes ahead


@kernel(inline=True)
def ask_for_rows(graph: Simple, vertices: Any, log: Log, row: Any) -> None:
    """The rows of a change's vertices, also in another array of two columns, and the place of its pair."""
    row += _FAR
    if row < len(log.step):
        subject, object = np.int64(log.subject[row]), np.int64(log.object[row])
        _ask_for_vertex(graph, vertices, subject)
        _ask_for_vertex(graph, vertices, object)
        home = key_home(pair_key(subject, object), np.int64(len(graph.keys) - 1))
        prefetch(graph.keys, home)
        prefetch(graph.numbers, home)


@kernel(inline=True)
def _ask_for_vertex(graph: Simple, vertices: Any, vertex: Any) -> None:
    prefetch(graph.undirected.heads, 2 * vertex)
    prefetch(graph.touching, vertex)
    prefetch(graph.undirected.room, vertex)
    prefetch(vertices, 2 * vertex)


@kernel(inline=True)
def ask_for_lists(graph: Simple, log: Log, row: Any) -> None:
    """The lists of a change's vertices, whose rows were asked for before, and the row of its pair."""
    row += _NEAR
    if row < len(log.step):
        subject, object = np.int64(log.subject[row]), np.int64(log.object[row])
        _ask_for_list(graph, subject)
        _ask_for_list(graph, object)
        home = key_home(pair_key(subject, object), np.int64(len(graph.keys) - 1))
        if graph.keys[home] != 0:
            prefetch(graph.pairs, graph.numbers[home] * graph.pairs.shape[1])


@kernel(inline=True)
def _ask_for_list(graph: Simple, vertex: Any) -> None:
    lists = graph.undirected
    start, length = np.int64(lists.heads[vertex, START]), np.int64(lists.heads[vertex, LENGTH])
    if length:
        prefetch(lists.pool, start)
        prefetch(lists.pool, start + length)
        prefetch(lists.owners, start + length)


# ----------------------------------------------------------------------------------------------------------------------
# Whether a value passed a cut.
# ----------------------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def _below(points: Any, first: Any, last: Any, value: Any) -> Any:
    """How many points lie below a value or at it."""
    low, high = np.int64(first), np.int64(last)
    while low < high:
        middle = (low + high) >> 1
        if points[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(inline=True)
def passes_cut(points: Any, firsts: Any, number: Any, before: Any, after: Any) -> Any:
    """Whether a list of cuts has one between two values; `number` is that of the list, SILENT or EVERY."""
    if number == SILENT or before == after:
        return False
    if number == EVERY:
        return True
    first, last = firsts[number], firsts[number + 1]
    return _below(points, first, last, before) != _below(points, first, last, after)


# ----------------------------------------------------------------------------------------------------------------------
# Whether a change of an instance's value is to be told.
# ----------------------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def asked_number(asked: Asked, instance: Any) -> Any:
    """The number of an instance's own list of cuts, SILENT or EVERY."""
    return asked.numbers[instance] if instance < len(asked.numbers) else SILENT


@kernel(inline=True)
def is_asked(asked: Asked, instance: Any) -> Any:
    """Whether anybody might be told of an instance."""
    return asked.everyone != SILENT or asked_number(asked, instance) != SILENT


@kernel()
def is_told(asked: Asked, instance: Any, before: Any, after: Any) -> Any:
    """Whether a value passes a cut of the instance's own, or one of all."""
    if passes_cut(asked.points, asked.firsts, asked.everyone, before, after):
        return True
    return passes_cut(asked.points, asked.firsts, asked_number(asked, instance), before, after)


# ----------------------------------------------------------------------------------------------------------------------
# Whether vertices are neighbours, asked many times of the same vertex.
# ----------------------------------------------------------------------------------------------------------------------

_SHORT = 16  # neighbours: one line of the cache


@kernel(inline=True)
def ask_for_pairs(graph: Simple, start: Any, length: Any, vertex: Any) -> None:
    """Asks for the places where the pairs of a list's neighbours with a vertex would stand, if they are to be asked."""
    if list_length(graph.undirected, vertex) > _SHORT:
        mask = np.int64(len(graph.keys) - 1)
        for i in range(start, start + length):
            prefetch(graph.keys, key_home(pair_key(vertex, np.int64(graph.undirected.pool[i])), mask))


@kernel(inline=True)
def is_neighbour(graph: Simple, vertex: Any, neighbour: Any) -> Any:
    """Whether two different vertices are joined: a short list is read through, else the pair is looked up."""
    lists = graph.undirected
    start, length = list_start(lists, vertex), list_length(lists, vertex)
    if length > _SHORT:
        return are_joined(graph, vertex, neighbour)
    found = False
    for i in range(start, start + length):
        found |= lists.pool[i] == neighbour
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Writing down what is said of instances, and where one step of a log ends.
# ----------------------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def step_end(log: Log, row: Any) -> Any:
    """The row after the last change of a row's step."""
    step = log.step[row]
    while row < len(log.step) and log.step[row] == step:
        row += 1
    return row


@kernel(inline=True)
def can_tell(telling: Telling, sayings: Any) -> Any:
    """Whether there is room for so many more sayings."""
    return telling.counters[SAID] + sayings <= len(telling.values)


@kernel(inline=True)
def tell(telling: Telling, step: Any, instance: Any, value: Any) -> None:
    """Writes one saying down; there is room."""
    row = telling.counters[SAID]
    telling.rows[row, STEP], telling.rows[row, INSTANCE] = step, instance
    telling.values[row] = value
    telling.counters[SAID] = row + 1
