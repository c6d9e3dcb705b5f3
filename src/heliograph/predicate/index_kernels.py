"""The kernels of the predicate index: under which literals an expression is found, the candidates of one board, their
truth, and what each event matched.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int32, int64

from heliograph.compiled.arrays import count_bits, first_bit, rows
from heliograph.compiled.compile import kernel
from heliograph.predicate import layout as at
from heliograph.predicate.kernels import (
    BOARD,
    INT32S,
    JOB,
    NEW_FLOATS,
    NEW_INT32S,
    NEW_INT64S,
    PROGRAMS,
    accepted,
    numba_type,
)
from heliograph.predicate.layout import (
    Axes,
    Board,
    Bytes,
    Chances,
    ChoiceRoom,
    Evaluation,
    Floats,
    Int32s,
    Int64s,
    Job,
    Masks,
    PredicateRows,
    PredicateSegment,
    Programs,
    SearchRoom,
)

_NEW_ROWS = rows(int32, writable=True)
_SEARCH_ROOM = numba_type(SearchRoom, True)
_ONE, _NONE = np.uint64(1), np.uint64(0)
_6, _63 = np.uint64(6), np.uint64(63)
_OP, _KIND = np.int32(0x7F), np.uint8(0x7F)

# --- what an expression that is true must have true: the few literals under which the index finds it ------------------
#
# The law: an expression that is true has one of its chosen literals true. Of an AND one member's literals do, and the
# least likely are taken; of an OR those of every member are needed. The tree stays the tree it is, so this is linear
# in its size, however many conjunctions it stands for.

_WORDS = -2  # the axis of a literal on words
_WORDS_FOR_ONE = 64  # a list of words this long takes so much room that it counts as always true


@kernel((PROGRAMS, INT32S, NEW_INT32S, NEW_FLOATS))
def collect(programs: Programs, expressions: Int32s, axes: Int32s, values: Floats) -> Any:
    """The ends of the intervals of these expressions, each with its axis: as many as there is room for; how many."""
    count = 0
    for expression in expressions:
        for place in range(programs.starts[expression], programs.starts[expression + 1], 2):
            word, operand = programs.code[place], programs.code[place + 1]
            if word & _OP <= at.OR:
                continue
            axis = axis_of(word)
            if axis < 0 or axis % at.AXES == at.PRESENCE_AXIS:
                continue
            for number in range(_parts(programs, word, operand)):
                low, high = _interval(programs, word, operand, number)
                for value in (low, np.nextafter(high, np.inf)):
                    if -np.inf < value < np.inf:
                        if count < len(axes):
                            axes[count], values[count] = axis, value
                        count += 1
    return count


@kernel((PROGRAMS, INT32S, numba_type(Axes), numba_type(Chances), numba_type(ChoiceRoom, True), _NEW_ROWS))
def choose(programs: Programs, expressions: Int32s, axes: Axes, chances: Chances, room: ChoiceRoom, out: Int32s) -> Any:
    """The literals under which each expression is indexed: as many as there is room for; how many."""
    count, costs, stack = 0, room.costs, room.stack
    for group in range(len(expressions)):
        start, finish = programs.starts[expressions[group]], programs.starts[expressions[group] + 1]
        for place in range(finish - 2, start - 2, -2):
            costs[(place - start) >> 1] = _cost(programs, axes, chances, place, start, costs)
        picked = _cheapest(programs, costs, start, start, finish)
        if picked < 0 or costs[(picked - start) >> 1] == np.inf:
            count = _emit(out, count, at.NOTHING, at.OPEN, 0, group)
            continue
        stack[0], depth = picked, 1
        while depth > 0:
            depth -= 1
            place = stack[depth]
            word, operand = programs.code[place], programs.code[place + 1]
            if word & _OP == at.AND:
                stack[depth] = _cheapest(programs, costs, start, place + 2, place + 2 + operand)
                depth += 1
            elif word & _OP == at.OR:
                member = place + 2
                while member < place + 2 + operand:
                    stack[depth] = member
                    depth += 1
                    member = _next(programs, member, place + 2 + operand)
            else:
                count = _literal(programs, axes, word, operand, group, out, count)
    return count


@kernel()
def _cost(programs: Programs, axes: Axes, chances: Chances, place: Any, start: Any, costs: Floats) -> Any:
    """How likely a member is true, as far as an index can tell; infinite where it cannot."""
    word, operand = programs.code[place], programs.code[place + 1]
    if word & _OP == at.AND:
        picked = _cheapest(programs, costs, start, place + 2, place + 2 + operand)
        return np.inf if picked < 0 else costs[(picked - start) >> 1]
    if word & _OP == at.OR:
        total, member = 0.0, place + 2
        while member < place + 2 + operand:
            total += costs[(member - start) >> 1]
            member = _next(programs, member, place + 2 + operand)
        return total
    axis = axis_of(word)
    if axis == at.NOTHING:
        return np.inf
    attribute = word >> np.int32(at.ATTRIBUTE_SHIFT)
    if axis == _WORDS:
        words = _parts(programs, word, operand)
        return chances.present[attribute] * chances.word[attribute] * words + words / _WORDS_FOR_ONE
    if axis % at.AXES == at.PRESENCE_AXIS:
        return chances.present[attribute] * (0.5 if word & (_OP | np.int32(at.NEGATIVE)) == at.TRUTH else 1.0)
    total = 0.0
    for number in range(_parts(programs, word, operand)):
        low, high = _interval(programs, word, operand, number)
        begin, end = axes.offsets[axis], axes.offsets[axis + 1]
        width = bucket(axes.edges, begin, end, high) - bucket(axes.edges, begin, end, low) + 1
        total += max(0, width) / (end - begin + 1)
    return chances.present[attribute] * total


@kernel()
def _cheapest(programs: Programs, costs: Floats, start: Any, place: Any, finish: Any) -> Any:
    """The least likely of the members from `place` to `finish`, or -1 if there are none."""
    best, least = np.int64(-1), np.inf
    while place < finish:
        if best < 0 or costs[(place - start) >> 1] < least:
            best, least = place, costs[(place - start) >> 1]
        place = _next(programs, place, finish)
    return best


@kernel()
def _next(programs: Programs, place: Any, end: Any) -> Any:
    """The member after the one at `place`, if that is before the end."""
    if place == end:
        return end
    return place + 2 + (programs.code[place + 1] if programs.code[place] & _OP <= at.OR else 0)


@kernel()
def _literal(programs: Programs, axes: Axes, word: Any, operand: Any, group: Any, out: Int32s, count: Any) -> Any:
    axis = axis_of(word)
    if axis == _WORDS:
        if word & _OP == at.WORD_EQ:
            return _emit(out, count, operand, at.WORD, 0, group)
        for place in range(operand + 1, operand + 1 + programs.sets[operand]):
            count = _emit(out, count, programs.sets[place], at.WORD, 0, group)
        return count
    begin, end = axes.offsets[axis], axes.offsets[axis + 1]
    for number in range(_parts(programs, word, operand)):
        low, high = _interval(programs, word, operand, number)
        lowest, highest = bucket(axes.edges, begin, end, low), bucket(axes.edges, begin, end, high)
        count = _emit(out, count, axis, lowest, highest, group)
    return count


@kernel()
def _emit(out: Int32s, count: Any, key: Any, low: Any, high: Any, group: Any) -> Any:
    if count < len(out):
        out[count, at.KEY], out[count, at.LOW], out[count, at.HIGH], out[count, at.GROUP] = key, low, high, group
    return count + 1


@kernel()
def axis_of(word: Any) -> Any:
    """The axis on which a cell has to lie for the literal to hold. A literal that is no interval needs some cell.

    NOT (a < b) holds between a list and nothing, so it needs no cell of one certain attribute.
    """
    op, negative = word & _OP, word & np.int32(at.NEGATIVE) != 0
    first = np.int64(word >> np.int32(at.ATTRIBUTE_SHIFT)) * at.AXES
    if op == at.SLOW or (op == at.IS_NULL and not negative) or (op >= at.PAIR_EQ and negative):
        return np.int64(at.NOTHING)
    if negative:
        return first + at.PRESENCE_AXIS
    if op == at.WORD_EQ or op == at.WORD_IN:
        return np.int64(_WORDS)
    if op <= at.NUMBER_IN:
        return first + at.NUMBER_AXIS
    return first + (at.TEXT_AXIS if at.TEXT_GE <= op <= at.TEXT_LIKE else at.PRESENCE_AXIS)


@kernel()
def _parts(programs: Programs, word: Any, operand: Any) -> Any:
    """How many words or intervals a literal stands for."""
    if word & np.int32(at.NEGATIVE) == 0:
        if word & _OP == at.NUMBER_IN:
            return np.int64(programs.numbers[operand])
        if word & _OP == at.WORD_IN:
            return np.int64(programs.sets[operand])
    return np.int64(1)


@kernel()
def _interval(programs: Programs, word: Any, operand: Any, number: Any) -> Any:
    """The smallest and the largest value, on its axis, with which a literal can hold."""
    op = word & _OP
    if word & np.int32(at.NEGATIVE) != 0 or op == at.NUMBER_NE or op > at.TRUTH:
        return -np.inf, np.inf
    if op == at.WORD_NE or op == at.WORDS_WITHIN:
        return -np.inf, np.inf
    if op == at.TRUTH:
        return (1.0, 1.0) if operand == 1 else (2.0, 2.0)
    if op >= at.TEXT_GE:
        return _text_interval(programs, op, operand)
    if op == at.NUMBER_BETWEEN:
        return programs.numbers[operand], programs.numbers[operand + 1]
    bound = programs.numbers[operand + 1 + number if op == at.NUMBER_IN else operand]
    return -np.inf if op == at.NUMBER_LE else bound, np.inf if op == at.NUMBER_GE else bound


@kernel()
def _text_interval(programs: Programs, op: Any, operand: Any) -> Any:
    begin, end = programs.text_offsets[operand], programs.text_offsets[operand + 1]
    if op == at.TEXT_LIKE:
        stop = begin
        while stop < end and programs.texts[stop] < at.ANY_CHARACTER:
            stop += 1
        return text_key(programs.texts, begin, stop, 0x00), text_key(programs.texts, begin, stop, 0xFF)
    key = text_key(programs.texts, begin, end, 0x00)
    return (key, np.inf) if op == at.TEXT_GE or op == at.TEXT_GT else (-np.inf, key)


@kernel()
def text_key(text: Bytes, begin: Any, end: Any, padding: Any) -> Any:
    """The number that the first 8 bytes spell. A float holds it roughly, but keeps the order of texts."""
    key = np.uint64(0)
    for place in range(begin, begin + 8):
        byte = text[place] if place < end else np.uint8(padding)
        key = (key << np.uint64(8)) | np.uint64(byte)
    return float64(key)


@kernel()
def bucket(edges: Floats, begin: Any, end: Any, value: Any) -> Any:
    """How many of the edges from `begin` to `end` are not above the value."""
    first = begin
    while begin < end:
        middle = (begin + end) >> 1
        if edges[middle] <= value:
            begin = middle + 1
        else:
            end = middle
    return begin - first


# --- which attributes an event must have for an expression to be true, and which lanes of a board have them -----------
#
# The law: an expression that is true has all attributes of one of its alternatives, that is of one member of the OR
# at its top, or of itself. Where events define few of many attributes this rules most expressions out at the cost of
# a few loads from a small table. All alternatives have the same form, because a loop over varying numbers of
# attributes takes ten times as long: a processor cannot tell when it ends.

_SPARSE = 2  # events that define less than one in so many attributes are worth looking at what is required


@kernel((PROGRAMS, INT32S, _NEW_ROWS))
def require(programs: Programs, expressions: Int32s, out: Int32s) -> Any:
    """The alternatives of each expression: up to four attributes plus one, and the group; as many as there is room for.

    Zero stands for an attribute that every event has. Returns how many there are.
    """
    count = np.int64(0)
    for group in range(len(expressions)):
        place, end = programs.starts[expressions[group]], programs.starts[expressions[group] + 1]
        if _next(programs, place, end) < end or place == end or programs.code[place] & _OP != at.OR:
            count = _alternative(programs, place, end, group, out, count)
            continue
        place += 2
        while place < end:
            after = _next(programs, place, end)
            count = _alternative(programs, place, after, group, out, count)
            place = after
    return count


@kernel()
def _alternative(programs: Programs, begin: Any, end: Any, group: Any, out: Int32s, count: Any) -> Any:
    """The attributes that the members of an AND require, or a literal alone; a group among them is looked past."""
    if count >= len(out):
        return count + 1
    out[count, :] = 0
    out[count, at.ALTERNATIVE] = group
    opened = begin < end and programs.code[begin] & _OP == at.AND and _next(programs, begin, end) == end
    known, place = 0, begin + 2 if opened else begin
    while place < end and known < at.ALTERNATIVE:
        word = programs.code[place]
        attribute = word >> np.int32(at.ATTRIBUTE_SHIFT)
        if word & _OP <= at.OR:
            place += programs.code[place + 1]
        elif axis_of(word) != at.NOTHING and attribute < at.LARGEST_REQUIRED:
            out[count, known] = attribute + 1
            known += 1
        place += 2
    return count + 1


@kernel(inline=True)
def is_sparse(board: Board, segment: PredicateSegment) -> Any:
    """Whether the events have so few of the segment's attributes that it pays to look at what is required."""
    attributes = (len(segment.run_offsets) - 1) // at.AXES
    total = np.int64(0)
    for row in range(board.head[at.ROWS]):
        total += count_bits(board.kinds[row, at.ANY])
    return len(segment.required_groups) > 0 and total * _SPARSE < attributes * board.head[at.SIZE]


@kernel(inline=True)
def lay_presence(board: Board, present: Masks) -> None:
    """The lanes that have each attribute, plus one; all lanes have the one that zero stands for."""
    present[:] = _NONE
    present[0] = ~_NONE >> np.uint64(64 - board.head[at.SIZE])
    for row in range(board.head[at.ROWS]):
        attribute = np.int64(board.rows[row, at.ATTRIBUTE]) + 1
        if attribute < len(present):
            present[attribute] = board.kinds[row, at.ANY]


# --- the predicate index at work on one board: candidates from the index, their truth, and what each event matched ----
#
# The laws: a group is a candidate for every lane in which it holds; the order in which segments are examined changes
# nothing. Where more than a share of all groups would be candidates, all of them are asked, in a way that pays only
# then.

# A candidate costs a few times as much as a group among all, and more than a look at what a group requires.
_SHARE, _SPARSE_SHARE = 2, 16


@kernel((JOB, numba_type(PredicateSegment), numba_type(PredicateRows), int64, _SEARCH_ROOM))
def examine(job: Job, segment: PredicateSegment, rows: PredicateRows, version: Any, scratch: SearchRoom) -> None:
    """Adds the places of this segment that match to the results, lane by lane."""
    sparse = is_sparse(job.board, segment)
    if not _seek(job.events, job.board, segment, sparse, scratch):
        _touch_many(job.board, segment, sparse, scratch)
    for word in range((len(segment.expressions) + 63) >> 6):
        bits = scratch.touched[word]
        scratch.touched[word] = _NONE
        while bits != _NONE:
            group = np.int64(word << 6) + first_bit(bits)
            bits &= bits - _ONE
            mask = scratch.masks[group]
            scratch.masks[group] = _NONE
            expression = segment.expressions[group]
            if expression != at.ALWAYS and _lives(segment, rows, version, group):
                scratch.counts[at.CANDIDATES] += count_bits(mask)
                mask = accepted(job, expression, mask)
            if mask != _NONE:
                _take(segment, rows, version, group, mask, scratch)


@kernel(inline=True)
def _touch_many(board: Board, segment: PredicateSegment, sparse: Any, scratch: SearchRoom) -> None:
    """All groups, or those whose attributes some lane has."""
    groups = len(segment.expressions)
    if not sparse:
        scratch.masks[:groups] = _everything(board)
        scratch.touched[: groups >> 6] = ~_NONE
        if groups & 63:
            scratch.touched[groups >> 6] = ~_NONE >> np.uint64(64 - (groups & 63))
        return
    scratch.masks[:groups] = _NONE
    scratch.touched[: (groups + 63) >> 6] = _NONE
    lay_presence(board, scratch.present)
    present, required = scratch.present, segment.required
    for number in range(len(segment.required_groups)):
        mask = present[required[number, 0]] & present[required[number, 1]]
        mask &= present[required[number, 2]] & present[required[number, 3]]
        if mask != _NONE:
            _touch(scratch, segment.required_groups[number], mask)


@kernel(inline=True)
def _everything(board: Board) -> Any:
    return ~_NONE >> np.uint64(64 - board.head[at.SIZE])


@kernel(inline=True)
def _seek(events: Evaluation, board: Board, segment: PredicateSegment, sparse: Any, scratch: SearchRoom) -> Any:
    """Finds the candidates; False where they are so many that asking all groups by facts code costs less.

    Facts code says nothing of lists and odd integers: with these the candidates are looked at however many they are.
    """
    limit = np.int64(len(segment.expressions) // (_SPARSE_SHARE if sparse else _SHARE))
    if board.head[at.ALL_PLAIN] == 0:
        limit = np.int64(1) << 62
    scratch.counts[at.FOUND] = len(segment.open)
    _seek_words(events, board, segment, limit, scratch)
    for row in range(board.head[at.ROWS]):
        if scratch.counts[at.FOUND] > limit:
            return False
        _seek_intervals(events, board, segment, row, scratch)
    for group in segment.open:
        _touch(scratch, group, _everything(board))
    return scratch.counts[at.FOUND] <= limit


@kernel(inline=True)
def _lives(segment: PredicateSegment, rows: PredicateRows, version: Any, group: Any) -> Any:
    """Whether a row of the group is there in this version."""
    for member in range(segment.offsets[group], segment.offsets[group + 1]):
        if rows.died[segment.members[member]] > version:
            return True
    return False


@kernel(inline=True)
def _take(
    segment: PredicateSegment, rows: PredicateRows, version: Any, group: Any, mask: Any, scratch: SearchRoom
) -> None:
    for member in range(segment.offsets[group], segment.offsets[group + 1]):
        row = segment.members[member]
        if rows.died[row] > version:
            place = np.uint64(rows.place[row])
            scratch.results[place] = mask
            scratch.reported[place >> _6] |= _ONE << (place & _63)


@kernel(inline=True)
def _touch(scratch: SearchRoom, group: Any, mask: Any) -> None:
    scratch.masks[group] |= mask
    number = np.uint64(group)
    scratch.touched[number >> _6] |= _ONE << (number & _63)


@kernel(inline=True)
def _seek_words(events: Evaluation, board: Board, segment: PredicateSegment, limit: Any, scratch: SearchRoom) -> None:
    """Each word on the board once, with all lanes that hold it, until there are too many candidates."""
    if len(segment.words) == 0:
        return
    cells = events.cells
    scratch.counts[at.LOOKED_UP] += 1
    for lane in range(board.head[at.SIZE]):
        event = board.events[lane]
        for cell in range(cells.offsets[event], cells.offsets[event + 1]):
            word = cells.word[cell]
            if cells.kind[cell] & _KIND != at.STRING or word < 0 or word >= len(scratch.stamps):
                continue
            if scratch.stamps[word] == scratch.counts[at.LOOKED_UP]:
                continue
            scratch.stamps[word] = scratch.counts[at.LOOKED_UP]
            place = _find(segment.words, word)
            if place < 0:
                continue
            if scratch.counts[at.FOUND] > limit:
                return
            mask = board.words[word]
            scratch.counts[at.FOUND] += segment.word_offsets[place + 1] - segment.word_offsets[place]
            for entry in range(segment.word_offsets[place], segment.word_offsets[place + 1]):
                _touch(scratch, segment.word_groups[entry], mask)


@kernel()
def _find(words: Int32s, word: Any) -> Any:
    """The place of a word among ascending ones, or -1."""
    begin, end = 0, len(words)
    while begin < end:
        middle = (begin + end) >> 1
        if words[middle] < word:
            begin = middle + 1
        else:
            end = middle
    return begin if begin < len(words) and words[begin] == word else -1


@kernel(inline=True)
def _seek_intervals(events: Evaluation, board: Board, segment: PredicateSegment, row: Any, scratch: SearchRoom) -> None:
    """The intervals on the axes of a board's row in which some lane has a value."""
    first = np.int64(board.rows[row, at.ATTRIBUTE]) * at.AXES
    if first + at.AXES >= len(segment.run_offsets):
        return
    for axis in range(first, first + at.AXES):
        if segment.run_offsets[axis] == segment.run_offsets[axis + 1]:
            continue
        if not _spread(events, board, segment, row, axis, scratch):
            continue
        for run in range(segment.run_offsets[axis], segment.run_offsets[axis + 1]):
            low, high = segment.runs[run, at.LOWEST], segment.runs[run, at.HIGHEST]
            if scratch.up_to[high] & scratch.since[low] == _NONE:
                continue
            scratch.counts[at.FOUND] += segment.runs[run, at.END] - segment.runs[run, at.BEGIN]
            for entry in range(segment.runs[run, at.BEGIN], segment.runs[run, at.END]):
                mask = scratch.up_to[segment.highs[entry]] & scratch.since[segment.lows[entry]]
                if mask != _NONE:
                    _touch(scratch, segment.interval_groups[entry], mask)


@kernel(inline=True)
def _spread(
    events: Evaluation, board: Board, segment: PredicateSegment, row: Any, axis: Any, scratch: SearchRoom
) -> Any:
    """Lays a row's values out over the buckets of an axis: whether there are any.

    A lane has a value within buckets low to high only if it has one up to high and one since low; where it has one
    value only, that is the same thing.
    """
    begin, end = segment.axes.offsets[axis], segment.axes.offsets[axis + 1]
    buckets = end - begin + 1
    scratch.up_to[:buckets] = _NONE
    found = False
    for place in range(board.rows[row, at.CELLS], board.rows[row, at.CELLS_END]):
        cell = board.cells[place]
        kind = events.cells.kind[cell] & _KIND
        if axis % at.AXES == at.NUMBER_AXIS:
            if kind != at.NUMBER and kind != at.ODD:
                continue
            value = events.cells.number[cell]
        elif axis % at.AXES == at.TEXT_AXIS:
            if kind != at.STRING:
                continue
            text = events.cells.begin[cell]
            value = text_key(events.cells.text, text, text + events.cells.size[cell], 0)
        else:
            value = 1.0 if kind == at.TRUE else (2.0 if kind == at.FALSE else 0.0)
        found = True
        scratch.up_to[bucket(segment.axes.edges, begin, end, value)] |= _ONE << np.uint64(board.lanes[place])
    if found:
        _accumulate(scratch, buckets)
    return found


@kernel(inline=True)
def _accumulate(scratch: SearchRoom, buckets: Any) -> None:
    lanes = _NONE
    for number in range(buckets - 1, -1, -1):
        lanes |= scratch.up_to[number]
        scratch.since[number] = lanes
    lanes = _NONE
    for number in range(buckets):
        lanes |= scratch.up_to[number]
        scratch.up_to[number] = lanes


# --- from the lanes that each place matches to the places that each lane matches --------------------------------------
#
# The law: each lane gets its places in ascending order, and the room is left empty. Where there are many, 64 places
# are turned at once, like the rows and columns of a matrix.

_LOW_HALF = np.uint64(0xFFFFFFFF)
_MANY = 128  # results among 64 places from which on turning them is faster than looking at each by itself


@kernel((BOARD, _SEARCH_ROOM, NEW_INT64S, NEW_INT32S))
def report(board: Board, scratch: SearchRoom, offsets: Int64s, numbers: Int32s) -> Any:
    """Writes each lane's places from offsets[0] on, and where they end behind it.

    Returns the place after the last; where `numbers` lacks the room for it, nothing else has happened.
    """
    total, used = _total(scratch)
    end = offsets[0] + total
    if end > len(numbers):
        return end
    turning = total > _MANY * used
    scratch.lanes[:] = 0
    for word in range(len(scratch.reported)):
        if scratch.reported[word] != _NONE:
            if turning:
                _turn_and_count(scratch, word)
            else:
                _count(scratch, word)
    _lay_out(board, scratch, offsets)
    for word in range(len(scratch.reported)):
        if scratch.reported[word] != _NONE:
            if turning:
                _write_turned(scratch, word, numbers)
            else:
                _write(scratch, word, numbers)
            scratch.reported[word] = _NONE
    return end


@kernel()
def _total(scratch: SearchRoom) -> Any:
    """How many results there are, and among how many words of 64 places."""
    total = used = 0
    for word in range(len(scratch.reported)):
        bits = scratch.reported[word]
        used += bits != _NONE
        while bits != _NONE:
            total += count_bits(scratch.results[np.int64(word << 6) + first_bit(bits)])
            bits &= bits - _ONE
    return total, used


@kernel()
def _lay_out(board: Board, scratch: SearchRoom, offsets: Int64s) -> None:
    """The lanes' counts to where their places begin."""
    begin = offsets[0]
    for lane in range(board.head[at.SIZE]):
        count = scratch.lanes[lane]
        scratch.lanes[lane] = begin
        begin += count
        offsets[lane + 1] = begin


@kernel()
def _count(scratch: SearchRoom, word: Any) -> None:
    bits = scratch.reported[word]
    while bits != _NONE:
        mask = scratch.results[np.int64(word << 6) + first_bit(bits)]
        bits &= bits - _ONE
        while mask != _NONE:
            scratch.lanes[first_bit(mask)] += 1
            mask &= mask - _ONE


@kernel()
def _write(scratch: SearchRoom, word: Any, numbers: Int32s) -> None:
    bits = scratch.reported[word]
    while bits != _NONE:
        place = np.int64(word << 6) + first_bit(bits)
        bits &= bits - _ONE
        mask = scratch.results[place]
        scratch.results[place] = _NONE
        while mask != _NONE:
            lane = first_bit(mask)
            mask &= mask - _ONE
            numbers[scratch.lanes[lane]] = place
            scratch.lanes[lane] += 1


@kernel()
def _turn_and_count(scratch: SearchRoom, word: Any) -> None:
    first = np.int64(word) << 6
    turn(scratch.results, first)
    for lane in range(64):
        scratch.lanes[lane] += count_bits(scratch.results[first + lane])


@kernel()
def _write_turned(scratch: SearchRoom, word: Any, numbers: Int32s) -> None:
    first = np.int64(word) << 6
    for lane in range(64):
        bits = scratch.results[first + lane]
        scratch.results[first + lane] = _NONE
        to = scratch.lanes[lane]
        while bits != _NONE:
            numbers[to] = first + first_bit(bits)
            to += 1
            bits &= bits - _ONE
        scratch.lanes[lane] = to


@kernel()
def turn(masks: Masks, first: Any) -> None:
    """64 masks from `first` on as the rows of a matrix of bits, to its columns: quarters change places, then theirs."""
    width, chosen = 32, _LOW_HALF
    while width > 0:
        shift = np.uint64(width)
        row = 0
        while row < 64:
            one, other = masks[first + row], masks[first + row + width]
            change = ((one >> shift) ^ other) & chosen
            masks[first + row] = one ^ (change << shift)
            masks[first + row + width] = other ^ change
            row = (row + width + 1) & ~width
        width >>= 1
        chosen ^= chosen << np.uint64(width)
