"""A log of changes, step by step: the graph changes, balls follow, and each step ends with what groups are worth.

Every change leaves all balls right. Where there is no room for an edge, the run returns before the change; where a ball
lacks room it is broken, and made anew as soon as there is more. So a run goes on from where it stopped, and borders of
batches are nothing but places to stop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution import drop, has_room, put
from heliograph.kernels.evolution_access import find_edge
from heliograph.kernels.evolution_layout import IN, OUT
from heliograph.kernels.evolution_types import GRAPH
from heliograph.kernels.metric_layout import CHANGED, INSTANCE, STEP, WENT
from heliograph.kernels.metric_paths_balls import break_ball, empty_ball, fill, is_open, reach_head
from heliograph.kernels.metric_paths_costs import cost_of, is_weighted, weight_of
from heliograph.kernels.metric_paths_entries import drop_entry, find_entry
from heliograph.kernels.metric_paths_layout import (
    ALERT,
    ALERTED,
    ALERTS,
    BALL,
    BALLS_BROKEN,
    BROKEN,
    CENTRE,
    DONE,
    FIRST_LINK,
    FIRST_PAIR,
    GROUPS_QUEUED,
    LACKS_EDGES,
    LACKS_ENTRIES,
    LACKS_SAID,
    LEFT,
    LINKS,
    NEXT,
    NEXT_BALL,
    QUEUE_FIRST,
    ROW,
    SAID,
    TERMINALS,
    UNDIRECTED,
    VALUE,
    WAY,
)
from heliograph.kernels.metric_paths_losing import unreach_head
from heliograph.kernels.metric_paths_pairs import lose, make_stale, queue_all, queue_group, unqueue_group
from heliograph.kernels.metric_paths_world import (
    REACH,
    SCRATCH,
    TELLING,
    balls_of,
    centred_of,
    counters_of,
    entries_of,
    first_of,
    groups_of,
    limits_of,
    pairs_of,
    queue_of,
    told_of,
    touching_of,
)
from heliograph.kernels.metric_steiner import BEYOND, LACKING, appraise_group, settle_group
from heliograph.kernels.simple_graph_asked import is_told
from heliograph.kernels.simple_graph_types import LOG

# --- one change -------------------------------------------------------------------------------------------------


@kernel()
def _pass_on(graph: Any, reach: Any, ends: Any, weight: Any, came: Any) -> None:
    """Tells the balls that hold an edge's tail, expanded, that it came or went. `ends`: tail, head, direction."""
    tail, head, way = ends
    entry = np.int64(first_of(reach)[tail]) - 1
    while entry >= 0:
        following = np.int64(entries_of(reach)[entry, NEXT]) - 1
        ball = np.int64(entries_of(reach)[entry, BALL])
        fits = counters_of(reach)[UNDIRECTED] != 0 or balls_of(reach)[ball, WAY] == way
        if fits and balls_of(reach)[ball, BROKEN] == 0 and not is_open(reach, ball, cost_of(reach, entry)):
            if came:
                reach_head(graph, reach, entry, head, weight)
            else:
                unreach_head(graph, reach, entry, head, weight)
        entry = following


@kernel()
def _pass_both(graph: Any, reach: Any, subject: Any, object: Any, weight: Any, came: Any) -> None:
    if subject != object:
        _pass_on(graph, reach, (subject, object, OUT), weight, came)
        _pass_on(graph, reach, (object, subject, IN), weight, came)


@kernel()
def _touch(graph: Any, reach: Any, vertex: Any) -> None:
    """One more edge will touch a vertex: with the first one it is there, and the balls around it begin."""
    touching_of(reach)[vertex] += 1
    ball = np.int64(centred_of(reach)[vertex]) - 1
    while ball >= 0 and touching_of(reach)[vertex] == 1:
        fill(graph, reach, ball)
        ball = np.int64(balls_of(reach)[ball, NEXT_BALL]) - 1


@kernel()
def _leave(reach: Any, vertex: Any) -> None:
    """One edge less touches a vertex: with the last one it goes, and what is left of the balls around it."""
    touching_of(reach)[vertex] -= 1
    ball = np.int64(centred_of(reach)[vertex]) - 1
    while ball >= 0 and touching_of(reach)[vertex] == 0:
        entry = find_entry(reach, vertex, ball)
        if entry >= 0 and balls_of(reach)[ball, BROKEN] == 0:
            lose(reach, entry)
            drop_entry(reach, entry)
        ball = np.int64(balls_of(reach)[ball, NEXT_BALL]) - 1


@kernel()
def _come(graph: Any, reach: Any, log: Any, row: Any) -> None:
    subject, object = np.int64(log.subject[row]), np.int64(log.object[row])
    _touch(graph, reach, subject)
    _touch(graph, reach, object)
    edge = put(graph, subject, np.int64(log.predicate[row]), object)
    if is_weighted(reach):
        graph.weights[edge] = log.weight[row]
    _pass_both(graph, reach, subject, object, weight_of(is_weighted(reach), graph, edge), True)


@kernel()
def _go(graph: Any, reach: Any, log: Any, row: Any) -> None:
    subject, object = np.int64(log.subject[row]), np.int64(log.object[row])
    edge = find_edge(graph, subject, np.int64(log.predicate[row]), object)
    weight = weight_of(is_weighted(reach), graph, edge)
    drop(graph, edge)
    _pass_both(graph, reach, subject, object, weight, False)
    _leave(reach, subject)
    _leave(reach, object)


@kernel()
def _change(graph: Any, reach: Any, log: Any, row: Any) -> None:
    """One change of the log; another weight is an edge that goes and one that comes."""
    if log.change[row] == CHANGED:
        if is_weighted(reach):
            _go(graph, reach, log, row)
            _come(graph, reach, log, row)
    elif log.change[row] == WENT:
        _go(graph, reach, log, row)
    else:
        _come(graph, reach, log, row)


# --- a run ------------------------------------------------------------------------------------------------------


@kernel((GRAPH, REACH, SCRATCH, LOG, TELLING))
def follow(graph: Any, reach: Any, scratch: Any, log: Any, telling: Any) -> Any:
    """Goes on with a log from ROW; what it stopped for."""
    counters = counters_of(reach)
    while True:
        row = counters[ROW]
        if counters[GROUPS_QUEUED] and (row == len(log.step) or (row and log.step[row] != log.step[row - 1])):
            stop = _settle_queue(graph, reach, scratch, telling, log.step[row - 1])
            if stop != DONE:
                return stop
        if row == len(log.step):
            return DONE
        if not has_room(graph):
            return LACKS_EDGES
        counters[ROW] = row + 1
        _change(graph, reach, log, row)
        if counters[BALLS_BROKEN]:
            return LACKS_ENTRIES


@kernel()
def _settle_queue(graph: Any, reach: Any, scratch: Any, telling: Any, step: Any) -> Any:
    """Tells what queued groups are worth at a step's end; what it stopped for."""
    while counters_of(reach)[GROUPS_QUEUED]:
        if counters_of(reach)[SAID] == len(telling.rows):
            return LACKS_SAID
        group = np.int64(queue_of(reach)[counters_of(reach)[QUEUE_FIRST]])
        known = settle_group(graph, reach, scratch, group)
        if known == LACKING:
            return LACKS_ENTRIES
        unqueue_group(reach)
        value = limits_of(reach)[VALUE]
        if groups_of(reach)[group, ALERT]:
            _say(reach, telling, step, group, value)
            return ALERTED
        if is_told(telling.asked, group, told_of(reach)[group], value):
            told_of(reach)[group] = value
            _say(
                reach, telling, step, group, appraise_group(graph, reach, scratch, group) if known == BEYOND else value
            )
    return DONE


@kernel()
def _say(reach: Any, telling: Any, step: Any, group: Any, value: Any) -> None:
    row = counters_of(reach)[SAID]
    telling.rows[row, STEP], telling.rows[row, INSTANCE] = step, group
    telling.values[row] = value
    counters_of(reach)[SAID] = row + 1


# --- what Python asks -------------------------------------------------------------------------------------------


@kernel((GRAPH, REACH))
def mend(graph: Any, reach: Any) -> None:
    """Makes broken balls anew; those that lack room again stay broken."""
    counters_of(reach)[BALLS_BROKEN] = 0
    for ball in range(len(balls_of(reach))):
        if balls_of(reach)[ball, BROKEN]:
            balls_of(reach)[ball, BROKEN] = 0
            empty_ball(reach, ball)
            if touching_of(reach)[balls_of(reach)[ball, CENTRE]]:
                fill(graph, reach, ball)


@kernel((REACH,))
def queue_groups(reach: Any) -> None:
    """What is known of any group may no longer be enough."""
    for ball in range(len(balls_of(reach))):
        queue_all(reach, ball)


@kernel((REACH,))
def forget_balls(reach: Any) -> None:
    """All balls have to be made anew."""
    for ball in range(len(balls_of(reach))):
        if balls_of(reach)[ball, FIRST_LINK]:
            break_ball(reach, ball)


@kernel((GRAPH, REACH, SCRATCH, int64))
def worth(graph: Any, reach: Any, scratch: Any, group: Any) -> Any:
    """The value of a group, from now on that which was last told; NaN if there was no room to find it."""
    known = settle_group(graph, reach, scratch, group)
    if known == LACKING:
        return np.nan
    told_of(reach)[group] = limits_of(reach)[VALUE]
    return appraise_group(graph, reach, scratch, group) if known == BEYOND else limits_of(reach)[VALUE]


@kernel((GRAPH, REACH, SCRATCH))
def settle_silently(graph: Any, reach: Any, scratch: Any) -> Any:
    """Settles queued groups; whether there was room."""
    while counters_of(reach)[GROUPS_QUEUED]:
        if settle_group(graph, reach, scratch, np.int64(queue_of(reach)[counters_of(reach)[QUEUE_FIRST]])) == LACKING:
            return False
        unqueue_group(reach)
    return True


@kernel((GRAPH, REACH, int64, int64))
def begin_ball(graph: Any, reach: Any, ball: Any, centre: Any) -> None:
    """A new ball, which Python has made, takes its place at its centre."""
    balls_of(reach)[ball, NEXT_BALL] = centred_of(reach)[centre]
    centred_of(reach)[centre] = ball + 1
    if touching_of(reach)[centre]:
        fill(graph, reach, ball)


@kernel((REACH, int64))
def end_ball(reach: Any, ball: Any) -> None:
    """Nobody needs a ball any more."""
    empty_ball(reach, ball)
    centre = np.int64(balls_of(reach)[ball, CENTRE])
    if centred_of(reach)[centre] == ball + 1:
        centred_of(reach)[centre] = balls_of(reach)[ball, NEXT_BALL]
    else:
        other = np.int64(centred_of(reach)[centre]) - 1
        while balls_of(reach)[other, NEXT_BALL] != ball + 1:
            other = np.int64(balls_of(reach)[other, NEXT_BALL]) - 1
        balls_of(reach)[other, NEXT_BALL] = balls_of(reach)[ball, NEXT_BALL]


@kernel((REACH, int64))
def begin_group(reach: Any, group: Any) -> None:
    """The pairs of a new group, whose balls Python has named, take their places at their balls."""
    terminals, first = np.int64(groups_of(reach)[group, TERMINALS]), np.int64(groups_of(reach)[group, FIRST_PAIR])
    for pair in range(first, first + terminals * (terminals - 1) // 2):
        for side in range(2):
            ball = np.int64(pairs_of(reach)[pair, LEFT + side])
            pairs_of(reach)[pair, LINKS + side] = balls_of(reach)[ball, FIRST_LINK]
            balls_of(reach)[ball, FIRST_LINK] = 1 + 2 * pair + side
            balls_of(reach)[ball, ALERTS] += groups_of(reach)[group, ALERT]
        make_stale(reach, pair)
    queue_group(reach, group)


@kernel((REACH, int64))
def end_group(reach: Any, group: Any) -> None:
    """Takes the pairs of a group away from their balls."""
    terminals, first = np.int64(groups_of(reach)[group, TERMINALS]), np.int64(groups_of(reach)[group, FIRST_PAIR])
    for pair in range(first, first + terminals * (terminals - 1) // 2):
        for side in range(2):
            _unlink(reach, np.int64(pairs_of(reach)[pair, LEFT + side]), 1 + 2 * pair + side)
            balls_of(reach)[pairs_of(reach)[pair, LEFT + side], ALERTS] -= groups_of(reach)[group, ALERT]


@kernel()
def _unlink(reach: Any, ball: Any, sought: Any) -> None:
    following = pairs_of(reach)[(sought - 1) >> 1, LINKS + ((sought - 1) & 1)]
    link = np.int64(balls_of(reach)[ball, FIRST_LINK])
    if link == sought:
        balls_of(reach)[ball, FIRST_LINK] = following
        return
    while True:
        pair, side = (link - 1) >> 1, (link - 1) & 1
        link = np.int64(pairs_of(reach)[pair, LINKS + side])
        if link == sought:
            pairs_of(reach)[pair, LINKS + side] = following
            return
