"""Why an event reaches a node, or what stops it.

Where it does not, the nodes and edges that refused the event next to what was reached, and from which the node could
still be reached, are the cut: unless one of them changes its mind, nothing gets through. The one nearest to the node is
named as what failed, with the valid path up to it as what held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from heliograph.baselines.exchange import Edge, Event, Exchange, Node
from heliograph.baselines.route_walk import Acceptance, Arrival, Arrivals, cheapest
from heliograph.model import Explanation
from heliograph.syntax.predicate_blame import blame


class Block(NamedTuple):
    """A node or edge that refused, the valid path up to it, and how many edges remain to the node asked about."""

    remaining: int
    before: Arrival
    edge: Edge
    node: Node | None  # None where the edge refused


def explain_route(graph: Exchange, event: Event, node_id: str, match: str | None) -> Explanation:
    """Why `event` reaches `node_id`, or why not."""
    if node_id not in graph.nodes:
        return _answer(event, node_id, f"{node_id} is neither a node nor an end of an edge")
    acceptance = Acceptance(event, match)
    arrivals = cheapest(graph, event.publisher, acceptance)
    if node_id in arrivals:
        return _delivered(event, arrivals[node_id])
    blocks = sorted(_blocks(graph, event, acceptance, arrivals, node_id), key=lambda block: block.remaining)
    if not blocks:
        summary = f"no path of the exchange leads from {event.publisher} to {node_id}"
        return _answer(event, node_id, summary, failed=summary, held=(event.publisher,))
    return _blocked(event, node_id, blocks, match)


def _delivered(event: Event, arrival: Arrival) -> Explanation:
    path = arrival.path()
    summary = f"{arrival.node.id} is reached by {event.id} over {' → '.join(path)} at cost {arrival.cost:g}"
    evidence = {"path": path, "cost": arrival.cost}
    return Explanation("route", arrival.node.id, event.id, True, summary, evidence, held=_steps(arrival))


def _blocked(event: Event, node_id: str, blocks: list[Block], match: str | None) -> Explanation:
    named: dict[str, str] = {}
    for block in blocks:
        named.setdefault(_name(block), f"{_name(block)}: {_reason(block, event, match)}")
    reasons = list(named.values())
    summary = f"{node_id} is not reached by {event.id}: {reasons[0]}"
    if len(reasons) > 1:
        others = list(named)[1:]
        shown = ", ".join(others[:5]) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
        summary += f"; every other way is stopped by {shown}"
    return _answer(event, node_id, summary, failed=reasons[0], held=_steps(blocks[0].before))


def _answer(
    event: Event, node_id: str, summary: str, *, failed: str | None = None, held: tuple[str, ...] = ()
) -> Explanation:
    return Explanation("route", node_id, event.id, False, summary, failed=failed or summary, held=held)


def _steps(arrival: Arrival) -> tuple[str, ...]:
    """The nodes of a valid path in order, with what each accepted."""
    steps: list[str] = []
    here: Arrival | None = arrival
    while here is not None:
        start = here.previous is None
        told = " (the publisher)" if start else f": {here.node.text.strip()}" if here.node.text else ""
        steps.append(here.node.id + told)
        here = here.previous
    return tuple(reversed(steps))


def _blocks(graph: Exchange, event: Event, acceptance: Acceptance, arrivals: Arrivals, goal: str) -> Iterator[Block]:
    """Every refusal that touches the reached part and lies on some path to the goal."""
    left = _distances(graph, goal)
    start = Arrival(graph.nodes[event.publisher], None, 0.0, 0)
    reached = [start, *sorted(arrivals.values(), key=lambda arrival: arrival.hops)]
    for here in reached:
        for edge in graph.out.get(here.node.id, ()):
            node = graph.nodes[edge.target]
            if edge.target not in left or edge.target in arrivals:
                continue
            refused = None if acceptance.node(node) else node
            yield Block(left[edge.target], here, edge, refused)


def _distances(graph: Exchange, goal: str) -> dict[str, int]:
    """How many edges lie between each node and the goal, whatever they accept."""
    found = {goal: 0}
    frontier = deque([goal])
    while frontier:
        here = frontier.popleft()
        for edge in graph.into.get(here, ()):
            if edge.source not in found:
                found[edge.source] = found[here] + 1
                frontier.append(edge.source)
    return found


def _name(block: Block) -> str:
    return f"edge {block.edge}" if block.node is None else f"node {block.node.id}"


def _reason(block: Block, event: Event, match: str | None) -> str:
    if block.node is None:
        return blame(block.edge.targeting, event.attributes)
    if block.node.refused:
        return f"its row was rejected ({block.node.refused}), so it accepts nothing"
    if match:
        return f"its labels {_shown(block.node.labels)} against the event's {_shown(event.labels)} fail {match}"
    return blame(block.node.targeting, event.attributes)


def _shown(labels: frozenset[str]) -> str:
    return "{" + ", ".join(sorted(labels)) + "}"
