"""Why an event reaches a node, or what stops it.

Where it does not, what stops it is the *cut*: of every edge that leads out of what was reached, to a node from which
the one asked about could be reached if everything accepted, the refusals, that of the edge and that of the node. The
laws, for changes of targeting: while every member of the cut refuses, the node stays unreached, whatever else accepts;
once all members accept, more is reached than before, and among it something from which the node could be reached, or
the node itself. An empty cut says that no path leads there.

The member nearest to the node is named as what failed, with the valid path up to it as what held. Where two are as
near, the one that refuses alone comes first; where an edge and the node behind it both refuse, both are named, because
to open one of them changes nothing. Only nodes from which the node asked about could be reached are walked over, since
no others lie on a path to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from heliograph.model import Explanation
from heliograph.predicate.evaluate import blame
from heliograph.route.exchange import Version, visible
from heliograph.route.layout import TARGET
from heliograph.route.numbering import rows_by
from heliograph.route.read import Event
from heliograph.route.strategy import Arrival, PlainWalk

_SHOWN = 100  # members of a cut that are spelled out
_NAMED = 5  # of them, in the summary, beside the nearest


class Block(NamedTuple):
    """An edge that leads nowhere, the valid path up to it, and how many edges remain to the node asked about."""

    remaining: int
    before: Arrival
    edge: int
    node: int
    by_node: bool  # whether the node refuses
    by_edge: bool  # whether the edge does; one of the two does

    @property
    def refusing(self) -> list[bool]:
        """What refuses, the node (True) before the edge (False)."""
        return [True] * self.by_node + [False] * self.by_edge


def explain_route(version: Version, event: Event, node_id: str) -> Explanation:
    """Why `event`, whose publisher is known, reaches `node_id`, or why not."""
    goal = version.number(node_id)
    if goal < 0:
        summary = f"{node_id} is neither a node nor an end of an edge"
        return Explanation("route", node_id, event.id, False, summary, None, failed=summary)
    walk, left = PlainWalk(version, event), _distances(version, goal)
    start = version.number(event.publisher)
    arrivals = walk.cheapest(start, within=left)
    if goal in arrivals:
        arrival = arrivals[goal]
        path = arrival.path(version)
        summary = f"{node_id} is reached by {event.id} over {' → '.join(path)} at cost {arrival.cost:g}"
        evidence = {"path": path, "cost": arrival.cost}
        return Explanation("route", node_id, event.id, True, summary, evidence, held=_steps(version, arrival))
    blocks = sorted(
        _blocks(walk, start, arrivals, left), key=lambda block: (block.remaining, block.by_node and block.by_edge)
    )
    if not blocks:
        summary = f"no path of the exchange leads from {event.publisher} to {node_id}"
        start_only = (event.publisher,)
        return Explanation("route", node_id, event.id, False, summary, {"cut": []}, failed=summary, held=start_only)
    nearest = blocks[0]
    reasons = [
        f"{_name(version, nearest, each)}: {_reason(version, event, nearest, each)}" for each in nearest.refusing
    ]
    summary = f"{node_id} is not reached by {event.id}: {', and '.join(reasons)}"
    if others := _names(version, blocks)[1:]:
        shown = ", ".join(others[:_NAMED]) + (f" and {len(others) - _NAMED} more" if len(others) > _NAMED else "")
        summary += f"; every other way is stopped by {shown}"
    held, evidence = _steps(version, nearest.before), _cut(version, event, blocks)
    return Explanation("route", node_id, event.id, False, summary, evidence, failed=reasons[0], held=held)


def _steps(version: Version, arrival: Arrival) -> tuple[str, ...]:
    """The nodes of a valid path in order, with what each accepted."""
    start, *entered = (version.node(number) for number in arrival.numbers())
    accepted = (node.id + (f": {node.text.strip()}" if node.text else "") for node in entered)
    return (f"{start.id} (the publisher)", *accepted)


# --- the cut ----------------------------------------------------------------------------------------------------------


def _blocks(walk: PlainWalk, start: int, arrivals: dict[int, Arrival], left: dict[int, int]) -> Iterator[Block]:
    """Every edge that leaves the reached part, is refused, and lies on some path to the goal."""
    known = set(arrivals) | ({start} if start != next(iter(left)) else set())  # coming back to it leads no further
    reached = [Arrival(start, None, 0.0, 0), *sorted(arrivals.values(), key=lambda arrival: arrival.hops)]
    for here in reached:
        for edge, target, _, _ in walk.links(here.node):
            if target in left and target not in known:
                yield Block(left[target], here, edge, target, not walk.node(target), not walk.edge(edge))


def _distances(version: Version, goal: int) -> dict[int, int]:
    """How many edges lie between each node and the goal, whatever they accept; the goal comes first."""
    graph, edges = version.graph, visible(version.graph)
    offsets, sources = rows_by(graph.edges[edges, TARGET], graph.sources[edges], graph.node_count)
    found = {goal: 0}
    frontier = deque([goal])
    while frontier:
        here = frontier.popleft()
        for source in sources[offsets[here] : offsets[here + 1]].tolist():
            if source not in found:
                found[source] = found[here] + 1
                frontier.append(source)
    return found


def _cut(version: Version, event: Event, blocks: list[Block]) -> dict[str, Any]:
    """The members of the cut, the nearest first, each with the shortest way up to it."""
    members: dict[tuple[bool, int], Block] = {}
    for block in blocks:
        for is_node in block.refusing:
            members.setdefault((is_node, block.node if is_node else block.edge), block)
    shown: list[dict[str, Any]] = []
    for (is_node, _), block in list(members.items())[:_SHOWN]:
        edge = version.edge(block.edge)
        named = {"node": version.name(block.node)} if is_node else {"edge": [edge.source, edge.target, edge.id]}
        failed, after = _reason(version, event, block, is_node), block.before.path(version)
        shown.append({**named, "failed": failed, "after": after})
    return {"cut": shown} if len(shown) == len(members) else {"cut": shown, "more": len(members) - len(shown)}


def _names(version: Version, blocks: list[Block]) -> list[str]:
    """What has to open on each way: a node, an edge, or both. A node that an open edge leads to needs no other."""
    alone = {block.node for block in blocks if block.by_node and not block.by_edge}
    needed = (block for block in blocks if not (block.by_edge and block.node in alone))
    spelled = (" and ".join(_name(version, block, each) for each in block.refusing) for block in needed)
    return list(dict.fromkeys(spelled))


def _name(version: Version, block: Block, is_node: bool) -> str:
    return f"node {version.name(block.node)}" if is_node else f"edge {version.edge(block.edge)}"


def _reason(version: Version, event: Event, block: Block, is_node: bool) -> str:
    if not is_node:
        return blame(version.edge(block.edge).targeting, event.attributes)
    node = version.node(block.node)
    if node.refused:
        return f"its row was rejected ({node.refused}), so it accepts nothing"
    if version.match:
        mine, other = ("{" + ", ".join(sorted(labels)) + "}" for labels in (node.labels, event.labels))
        return f"its labels {mine} against the event's {other} fail {version.match}"
    return blame(node.targeting, event.attributes)
