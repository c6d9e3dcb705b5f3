"""A version of an exchange with events that are ready to be routed in it by the kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.compiled.growing import fixed
from heliograph.predicate.compile import Room
from heliograph.predicate.kernels import gather
from heliograph.predicate.layout import Int32s, Job
from heliograph.route import layout as at
from heliograph.route.events import read_events
from heliograph.route.exchange import Version
from heliograph.route.layout import Trail, make_trail
from tests.route.worlds import World


class Ready(NamedTuple):
    """`version` is the latest of an exchange that nobody changes."""

    version: Version
    job: Job
    starts: Int32s


def make_ready(world: World, events: list[dict[str, Any]]) -> Ready:
    version = world.engine()._exchange.current
    read = read_events(events, False)
    targeting = version.targeting
    slow = targeting.slow_truth([read.tree(row) for row in range(len(read))])
    job = Room().job(targeting, targeting.compiled(version.programs), read.encode(targeting.names), slow)
    return Ready(version, job, version.numbers(read.publishers))


def set_out(ready: Ready, hops: int = at.NO_LIMIT) -> Trail:
    """The trail of the first event before it leaves its start."""
    trail = make_trail(ready.version.graph.node_count)
    gather(ready.job.events.cells, fixed(np.zeros(1, np.int64)), ready.job.board)
    trail.head[at.MARK], trail.head[at.TAIL], trail.head[at.BLOCK], trail.head[at.MOST_HOPS] = at.MARKS, 1, -1, hops
    trail.queue[0], trail.before[0], trail.by_edge[0], trail.hops[0] = ready.starts[0], -1, -1, 0
    return trail


def publishers(world: World) -> list[dict[str, Any]]:
    """An event of each publisher with each set of attributes, as far as one board goes."""
    rows = world.batch(64, seed=len(world.edges))
    return [row for row in rows if row["publisher"] in world.names] or [{**rows[0], "publisher": world.names[0]}]
