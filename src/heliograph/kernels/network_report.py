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
    Network,
    Reports,
)


@kernel()
def touch(network: Network, reports: Reports, query: Any) -> None:
    """Notes a query that is about to change, once a phase, with whether it holds."""
    if network.queries[query, Q_STAMP] == reports.state[STAMP]:
        return
    network.queries[query, Q_STAMP] = reports.state[STAMP]
    network.queries[query, Q_BEFORE] = network.queries[query, Q_MISSING] == 0
    reports.touched[reports.state[TOUCHED]] = query
    reports.state[TOUCHED] += 1
    reports.state[CANDIDATES] += 1


@kernel()
def tell_queries(network: Network, reports: Reports, link: Any, missing: Any) -> None:
    """Adds to the number of missing components of all queries in a chain of links."""
    while link >= 0:
        query = network.links[link, L_ITEM]
        touch(network, reports, query)
        network.queries[query, Q_MISSING] += missing
        link = network.links[link, L_NEXT]


@kernel()
def hold_more(network: Network, reports: Reports, component: Any, sign: Any) -> None:
    """A component holds in one place more or less."""
    before = network.values[component]
    network.values[component] = before + sign
    if sign > 0 and before == 0:
        tell_queries(network, reports, network.components[component, K_POSTINGS], -1)
    elif sign < 0 and before == 1:
        tell_queries(network, reports, network.components[component, K_POSTINGS], 1)


@kernel()
def count_more(network: Network, reports: Reports, component: Any, count: Any) -> None:
    """A component is counted higher or lower."""
    network.values[component] += np.int64(count)
    tell_queries(network, reports, network.components[component, K_POSTINGS], 0)


# --- at the end of a phase --------------------------------------------------------------------------------------


@kernel()
def counted(network: Network, query: Any) -> Any:
    """The count of a query: the product of its components, if all its concrete edges are there."""
    if network.queries[query, Q_MISSING] > 0:
        return np.int64(0)
    total, link = np.int64(1), network.queries[query, Q_FACTORS]
    while link >= 0:
        total *= network.values[network.links[link, L_ITEM]]
        link = network.links[link, L_NEXT]
    return total


@kernel()
def _write(reports: Reports, update: Any, phase: Any, kind: Any, ref: Any, sign: Any, value: Any) -> None:
    event = reports.events[reports.state[EVENTS]]
    event[W_UPDATE], event[W_PHASE], event[W_KIND] = update, phase, kind
    event[W_REF], event[W_SIGN], event[W_VALUE] = ref, sign, value
    reports.state[EVENTS] += 1


@kernel()
def _tell_count(network: Network, reports: Reports, query: Any, update: Any, phase: Any) -> None:
    limits, count = network.limits[query], counted(network, query)
    if network.queries[query, Q_WATCH]:
        if count != limits[LATEST]:
            _write(reports, update, phase, V_COUNT, query, 0, count)
    else:
        holds = limits[ENTER_LOW] <= count <= limits[ENTER_HIGH]
        holds = holds or (limits[HELD] != 0 and limits[STAY_LOW] <= count <= limits[STAY_HIGH])
        if holds != (limits[HELD] != 0):
            limits[HELD] = holds
            _write(reports, update, phase, V_COUNT, query, 1 if holds else -1, count)
    limits[LATEST] = count


@kernel()
def flush(network: Network, reports: Reports, update: Any, phase: Any) -> Any:
    """Tells what has changed in a phase and begins another; False, with nothing done, if there is no room for it."""
    state = reports.state
    if state[EVENTS] + state[TOUCHED] > len(reports.events):
        return False
    for place in range(state[TOUCHED]):
        query = reports.touched[place]
        if network.queries[query, Q_KIND] == Q_COUNT:
            _tell_count(network, reports, query, update, phase)
        else:
            holds = network.queries[query, Q_MISSING] == 0
            if holds != (network.queries[query, Q_BEFORE] != 0):
                _write(reports, update, phase, V_TRUTH, query, 1 if holds else -1, 0)
    state[TOUCHED] = 0
    state[STAMP] += 1
    return True
