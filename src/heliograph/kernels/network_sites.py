"""Whom a changed edge concerns: the sites under the seven keys that an edge can be asked by.

For a core edge the whole core is joined from the changed edge, for a driving constant from the vertex at the other end.
Both look at the graph with the edge in it and at messages as they were before: so they come first when an edge was
added, and when one is removed they come while it is still there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_layout import OBJECT, PREDICATE, SUBJECT
from heliograph.kernels.network_join import join_from_driver, join_from_edge
from heliograph.kernels.network_layout import (
    H_FIRST,
    H_KEY,
    H_VERTEX,
    P_HEAD,
    P_SITE,
    S_KIND,
    S_NEXT,
    S_PLACE,
    S_REF,
    SITE_CORE,
    SITE_DRIVER,
    SITE_MESSAGE,
)
from heliograph.kernels.network_values import pair_key, pair_slot
from heliograph.kernels.network_work import seed
from heliograph.kernels.network_world import (
    edges,
    site_heads,
    site_slots,
    sites,
)

HEADS = 7
_1 = np.uint64(1)


@kernel(inline=True)
def site_slot(vertex: Any, key: Any) -> Any:
    """A hash of the key of a head; both may be negative. As sites(world)."""
    return pair_slot(pair_key(np.int64(vertex) + 1, np.int64(key) + 4))


@kernel()
def first_site(world: Any, vertex: Any, key: Any) -> Any:
    """The first site under a key, or -1."""
    mask = np.uint64(len(site_slots(world)) - 1)
    slot = site_slot(vertex, key) & mask
    while site_slots(world)[slot] != 0:
        head = site_slots(world)[slot] - 1
        if site_heads(world)[head, H_VERTEX] == vertex and site_heads(world)[head, H_KEY] == key:
            return np.int64(site_heads(world)[head, H_FIRST])
        slot = (slot + _1) & mask
    return np.int64(-1)


@kernel()
def _head(world: Any, head: Any, row: Any) -> Any:
    """The first site under the n-th key that an edge is asked by."""
    key = 2 * np.int64(row[PREDICATE])
    if head == 0:
        return first_site(world, np.int64(-1), key)
    if head == 1:
        return first_site(world, np.int64(-1), key + 1)
    if head == 2:
        return first_site(world, np.int64(row[SUBJECT]), key)
    if head == 3:
        return first_site(world, np.int64(row[OBJECT]), key + 1)
    if head == 4:
        return first_site(world, np.int64(row[SUBJECT]), np.int64(-2))
    if head == 5:
        return first_site(world, np.int64(row[OBJECT]), np.int64(-3))
    return first_site(world, np.int64(-1), np.int64(-1))


@kernel()
def _visit(world: Any, site: Any, edge: Any, far: Any, sign: Any) -> Any:
    """Joins from one site; `far` is the end of the edge that a constant is not. False if there was no room: the next
    call goes on from there."""
    kind, ref = sites(world)[site, S_KIND], np.int64(sites(world)[site, S_REF])
    if kind == SITE_DRIVER:
        join_from_driver(world, ref, far, edge, sign)
    elif kind == SITE_CORE:
        return join_from_edge(world, ref, np.int64(sites(world)[site, S_PLACE]), edge, sign)
    return True


@kernel()
def visit_sites(world: Any, progress: Any, edge: Any, sign: Any) -> Any:
    """Joins from every core edge and driving constant that an edge stands for; False where room was lacking: the next
    call goes on from there."""
    row = edges(world)[edge]
    while progress[P_HEAD] < HEADS:
        head = progress[P_HEAD]
        site = _head(world, head, row) if progress[P_SITE] == -2 else progress[P_SITE]
        far = np.int64(row[OBJECT] if head == 2 else row[SUBJECT])
        while site >= 0 and sites(world)[site, S_KIND] != SITE_MESSAGE:  # joins stand before messages
            progress[P_SITE] = site
            if not _visit(world, site, edge, far, sign):
                return False
            site = np.int64(sites(world)[site, S_NEXT])
        progress[P_HEAD], progress[P_SITE] = head + 1, -2
    return True


@kernel()
def seed_messages(world: Any, edge: Any, sign: Any) -> None:
    """Work for every message that an edge carries, either way."""
    row = edges(world)[edge]
    subject, object = np.int64(row[SUBJECT]), np.int64(row[OBJECT])
    key = 2 * np.int64(row[PREDICATE])
    anywhere = np.int64(-1)
    seed(world, first_site(world, anywhere, key), subject, object, sign)
    seed(world, first_site(world, anywhere, key + 1), object, subject, sign)
    seed(world, first_site(world, subject, key), object, subject, sign)
    seed(world, first_site(world, object, key + 1), subject, object, sign)
