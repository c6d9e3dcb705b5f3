"""Queries that a change touches, and what is told of them once the change is done.

A query is touched when one of its components begins or ceases to hold, or when a count in it changes. What it was
before is remembered at the first touch of a phase, so that what comes and goes within the phase is never told.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.network_layout import (
    CANDIDATES,
    ENTER_HIGH,
    ENTER_LOW,
    EVENTS,
    HELD,
    K_POSTINGS,
    L_ITEM,
    L_NEXT,
    LAST_STAMP,
    LATEST,
    Q_BEFORE,
    Q_COUNT,
    Q_FACTORS,
    Q_KIND,
    Q_MISSING,
    Q_STAMP,
    Q_WATCH,
    STAMP,
    STAY_HIGH,
    STAY_LOW,
    TOUCHED,
    V_COUNT,
    V_TRUTH,
    W_KIND,
    W_PHASE,
    W_REF,
    W_SIGN,
    W_UPDATE,
    W_VALUE,
)
from heliograph.kernels.network_values import note_size
from heliograph.kernels.network_world import (
    components,
    events,
    limits,
    links,
    queries,
    report_state,
    touched,
    values,
)


@kernel()
def touch(world: Any, query: Any) -> None:
    """Notes a query that is about to change, once a phase, with whether it holds."""
    if queries(world)[query, Q_STAMP] == report_state(world)[STAMP]:
        return
    queries(world)[query, Q_STAMP] = report_state(world)[STAMP]
    queries(world)[query, Q_BEFORE] = queries(world)[query, Q_MISSING] == 0
    touched(world)[report_state(world)[TOUCHED]] = query
    report_state(world)[TOUCHED] += 1
    report_state(world)[CANDIDATES] += 1


@kernel()
def tell_queries(world: Any, link: Any, missing: Any) -> None:
    """Adds to the number of missing components of all queries in a chain of links."""
    while link >= 0:
        query = np.int64(links(world)[link, L_ITEM])
        touch(world, query)
        queries(world)[query, Q_MISSING] += missing
        link = np.int64(links(world)[link, L_NEXT])


@kernel()
def hold_more(world: Any, component: Any, sign: Any) -> None:
    """A component holds in one place more or less."""
    before = values(world)[component]
    values(world)[component] = before + sign
    if sign > 0 and before == 0:
        tell_queries(world, np.int64(components(world)[component, K_POSTINGS]), np.int64(-1))
    elif sign < 0 and before == 1:
        tell_queries(world, np.int64(components(world)[component, K_POSTINGS]), np.int64(1))


@kernel()
def count_more(world: Any, component: Any, count: Any) -> None:
    """A component is counted higher or lower."""
    values(world)[component] += np.int64(count)
    note_size(world, np.float64(values(world)[component]))
    tell_queries(world, np.int64(components(world)[component, K_POSTINGS]), np.int64(0))


# --- at the end of a phase --------------------------------------------------------------------------------------


@kernel()
def counted(world: Any, query: Any) -> Any:
    """The count of a query: the product of its components, if all its concrete edges are there."""
    if queries(world)[query, Q_MISSING] > 0:
        return np.int64(0)
    total, size, link = np.int64(1), 1.0, queries(world)[query, Q_FACTORS]
    while link >= 0:
        total *= values(world)[links(world)[link, L_ITEM]]
        size *= np.float64(values(world)[links(world)[link, L_ITEM]])
        link = links(world)[link, L_NEXT]
    note_size(world, size)
    return total


@kernel()
def _write(world: Any, update: Any, phase: Any, kind: Any, ref: Any, sign: Any, value: Any) -> None:
    event = events(world)[report_state(world)[EVENTS]]
    event[W_UPDATE], event[W_PHASE], event[W_KIND] = update, phase, kind
    event[W_REF], event[W_SIGN], event[W_VALUE] = ref, sign, value
    report_state(world)[EVENTS] += 1


@kernel()
def _tell_count(world: Any, query: Any, update: Any, phase: Any) -> None:
    known, count = limits(world)[query], counted(world, query)
    if queries(world)[query, Q_WATCH]:
        if count != known[LATEST]:
            _write(world, update, phase, V_COUNT, query, 0, count)
    else:
        holds = known[ENTER_LOW] <= count <= known[ENTER_HIGH]
        holds = holds or (known[HELD] != 0 and known[STAY_LOW] <= count <= known[STAY_HIGH])
        if holds != (known[HELD] != 0):
            known[HELD] = holds
            _write(world, update, phase, V_COUNT, query, 1 if holds else -1, count)
    known[LATEST] = count


@kernel()
def flush(world: Any, update: Any, phase: Any) -> Any:
    """Tells what has changed in a phase and begins another; False, with nothing done, if there is no room for it."""
    state = report_state(world)
    if state[EVENTS] + state[TOUCHED] > len(events(world)):
        return False
    for place in range(state[TOUCHED]):
        query = np.int64(touched(world)[place])
        if queries(world)[query, Q_KIND] == Q_COUNT:
            _tell_count(world, query, update, phase)
        else:
            holds = queries(world)[query, Q_MISSING] == 0
            if holds != (queries(world)[query, Q_BEFORE] != 0):
                _write(world, update, phase, V_TRUTH, query, 1 if holds else -1, 0)
    state[TOUCHED] = 0
    _begin_phase(world)
    return True


@kernel()
def _begin_phase(world: Any) -> None:
    """No query has the next stamp; as `Machine.forget`."""
    state = report_state(world)
    state[STAMP] += 1
    if state[STAMP] > LAST_STAMP:
        for query in range(len(queries(world))):
            queries(world)[query, Q_STAMP] = 0
        state[STAMP] = 1
