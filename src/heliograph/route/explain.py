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
from heliograph.route.layout import TARGET
from heliograph.route.read import Event
from heliograph.route.strategy import Acceptance, Arrival, Arrivals, cheapest, ground_of, links_of
from heliograph.route.version import Version, rows_by, visible

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


class _Asked(NamedTuple):
    version: Version
    event: Event
    match: str | None
    acceptance: Acceptance


def explain_route(version: Version, event: Event, node_id: str, match: str | None) -> Explanation:
    """Why `event`, whose publisher is known, reaches `node_id`, or why not."""
    goal = version.number(node_id)
    if goal < 0:
        return _answer(event, node_id, f"{node_id} is neither a node nor an end of an edge")
    asked = _Asked(version, event, match, Acceptance(version, event, match))
    start, left = version.number(event.publisher), _distances(version, goal)
    arrivals = cheapest(version, start, asked.acceptance, within=left)
    if goal in arrivals:
        return _delivered(version, event, arrivals[goal])
    blocks = sorted(_blocks(asked, start, arrivals, left), key=lambda block: (block.remaining, _refuse_both(block)))
    if not blocks:
        summary = f"no path of the exchange leads from {event.publisher} to {node_id}"
        return _answer(event, node_id, summary, {"cut": []}, held=(event.publisher,))
    return _blocked(asked, node_id, blocks)


def _delivered(version: Version, event: Event, arrival: Arrival) -> Explanation:
    path = arrival.path(version)
    summary = f"{path[-1]} is reached by {event.id} over {' → '.join(path)} at cost {arrival.cost:g}"
    evidence = {"path": path, "cost": arrival.cost}
    return Explanation("route", path[-1], event.id, True, summary, evidence, held=_steps(version, arrival))


def _blocked(asked: _Asked, node_id: str, blocks: list[Block]) -> Explanation:
    nearest = [_told(asked, blocks[0], is_node) for is_node in _refusing(blocks[0])]
    failed = nearest[0]
    summary = f"{node_id} is not reached by {asked.event.id}: {', and '.join(nearest)}"
    if others := _names(asked.version, blocks)[1:]:
        shown = ", ".join(others[:_NAMED]) + (f" and {len(others) - _NAMED} more" if len(others) > _NAMED else "")
        summary += f"; every other way is stopped by {shown}"
    held = _steps(asked.version, blocks[0].before)
    return _answer(asked.event, node_id, summary, _cut(asked, blocks), failed=failed, held=held)


def _answer(
    event: Event,
    node_id: str,
    summary: str,
    evidence: Any = None,
    *,
    failed: str | None = None,
    held: tuple[str, ...] = (),
) -> Explanation:
    return Explanation("route", node_id, event.id, False, summary, evidence, failed=failed or summary, held=held)


def _steps(version: Version, arrival: Arrival) -> tuple[str, ...]:
    """The nodes of a valid path in order, with what each accepted."""
    start, *entered = (version.node(number) for number in arrival.numbers())
    told = (node.id + (f": {node.text.strip()}" if node.text else "") for node in entered)
    return (f"{start.id} (the publisher)", *told)


# --- the cut ----------------------------------------------------------------------------------------------------------


def _blocks(asked: _Asked, start: int, arrivals: Arrivals, left: dict[int, int]) -> Iterator[Block]:
    """Every edge that leaves the reached part, is refused, and lies on some path to the goal."""
    ground, goal = ground_of(asked.version), next(iter(left))
    known = set(arrivals) | ({start} if start != goal else set())  # to come back to the start leads no further
    reached = [Arrival(start, None, 0.0, 0), *sorted(arrivals.values(), key=lambda arrival: arrival.hops)]
    for here in reached:
        for link in links_of(asked.version, ground, here.node):
            if link.target in left and link.target not in known:
                by_node, by_edge = not asked.acceptance.node(link.target), not asked.acceptance.edge(link.edge)
                yield Block(left[link.target], here, link.edge, link.target, by_node, by_edge)


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


def _cut(asked: _Asked, blocks: list[Block]) -> dict[str, Any]:
    """The members of the cut, the nearest first, each with the shortest way up to it."""
    members: dict[tuple[bool, int], Block] = {}
    for block in blocks:
        for is_node in _refusing(block):
            members.setdefault((is_node, block.node if is_node else block.edge), block)
    shown = [_member(asked, block, is_node) for (is_node, _), block in list(members.items())[:_SHOWN]]
    return {"cut": shown} if len(shown) == len(members) else {"cut": shown, "more": len(members) - len(shown)}


def _member(asked: _Asked, block: Block, is_node: bool) -> dict[str, Any]:
    reason, after = _reason(asked, block, is_node), block.before.path(asked.version)
    if is_node:
        return {"node": asked.version.node(block.node).id, "failed": reason, "after": after}
    edge = asked.version.edge(block.edge)
    return {"edge": [edge.source, edge.target, edge.id], "failed": reason, "after": after}


def _refuse_both(block: Block) -> bool:
    return block.by_node and block.by_edge


def _refusing(block: Block) -> list[bool]:
    """Who refuses, the node (True) before the edge (False)."""
    return [True] * block.by_node + [False] * block.by_edge


def _names(version: Version, blocks: list[Block]) -> list[str]:
    """What has to open on each way: a node, an edge, or both. Who can be entered by an open edge needs no other."""
    alone = {block.node for block in blocks if block.by_node and not block.by_edge}
    needed = (block for block in blocks if not (block.by_edge and block.node in alone))
    return list(
        dict.fromkeys(" and ".join(_name(version, block, each) for each in _refusing(block)) for block in needed)
    )


def _name(version: Version, block: Block, is_node: bool) -> str:
    return f"node {version.node(block.node).id}" if is_node else f"edge {version.edge(block.edge)}"


def _told(asked: _Asked, block: Block, is_node: bool) -> str:
    return f"{_name(asked.version, block, is_node)}: {_reason(asked, block, is_node)}"


def _reason(asked: _Asked, block: Block, is_node: bool) -> str:
    return _node_reason(asked, block) if is_node else _edge_reason(asked, block)


def _edge_reason(asked: _Asked, block: Block) -> str:
    return blame(asked.version.edge(block.edge).targeting, asked.event.attributes)


def _node_reason(asked: _Asked, block: Block) -> str:
    node = asked.version.node(block.node)
    if node.refused:
        return f"its row was rejected ({node.refused}), so it accepts nothing"
    if asked.match:
        labels = _shown(node.labels), _shown(asked.event.labels)
        return f"its labels {labels[0]} against the event's {labels[1]} fail {asked.match}"
    return blame(node.targeting, asked.event.attributes)


def _shown(labels: frozenset[str]) -> str:
    return "{" + ", ".join(sorted(labels)) + "}"
