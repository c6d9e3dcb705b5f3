"""The route engine: the exchange, its live changes, and the walk of each event.

The laws: a publish sees one version of the exchange, whatever is added or removed meanwhile; the order of adding nodes
and edges changes no result; adding and then removing restores every answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

import pyarrow as pa

from heliograph.baselines.exchange import Edge, Event, Exchange
from heliograph.baselines.route_walk import Acceptance, Arrival, cheapest, fewest_hops
from heliograph.errors import HeliographError, Place, PublicationError, SubscriptionError, TableError
from heliograph.model import Explanation, Notification, Notifications, Receipt, Rejected, Rejections, Stats
from heliograph.route.events import Events, read_events
from heliograph.route.explain import explain_route
from heliograph.route.options import Choices, Options, check_match
from heliograph.route.rows import Refusal, read_edges, read_nodes
from heliograph.route.saving import load_graph, save_graph
from heliograph.route.what_if import WhatIf, compare_versions
from heliograph.tables.cells import json_text
from heliograph.tables.items import as_table, is_single


class Route:
    """Routes events through an exchange of nodes and edges.

    `match` compares label sets (superset, subset, intersects) in place of the nodes' targeting.
    """

    def __init__(self, nodes: Any = None, edges: Any = None, *, match: str | None = None) -> None:
        self.match = check_match(match)
        self._graph = Exchange()
        self._lock = threading.Lock()
        self._total = Stats()
        self.rejected = Rejections()
        """What was refused of the nodes and edges given to the constructor."""
        for add, items in ((self.add_nodes, nodes), (self.add_edges, edges)):
            if items is not None:
                self.rejected += add([items] if is_single(items) else items).rejected

    # --- changes ------------------------------------------------------------------------------------------------

    def add_nodes(self, items: Any) -> Receipt:
        """Adds nodes, or replaces those of the same id."""
        started = time.perf_counter_ns()
        read = read_nodes(items)
        with self._changing(started) as graph:
            graph.put_nodes(read.nodes)
            graph.put_nodes(read.broken)
        return _receipt(is_single(items), len(read.nodes), read.unread, read.refusals)

    def add_edges(self, items: Any) -> Receipt:
        """Adds edges, or replaces those of the same edge_id, or of the same ends where they have none."""
        started = time.perf_counter_ns()
        read = read_edges(items)
        with self._changing(started) as graph:
            graph.put_edges(read.edges)
        return _receipt(is_single(items), len(read.edges), read.unread, read.refusals)

    def remove_nodes(self, ids: Any) -> Receipt:
        """Removes nodes by id, one or several, with all their edges."""
        names = _names(ids)
        with self._changing() as graph:
            known = [id for id in dict.fromkeys(names) if id in graph.nodes]
            graph.drop_nodes(known)
        refusals = [_refusal(_no_node(id), id) for id in dict.fromkeys(names) if id not in set(known)]
        return _receipt(isinstance(ids, str), len(known), [], refusals)

    def remove_edges(self, items: Any) -> Receipt:
        """Removes edges by edge_id, or every edge between two nodes where none is given."""
        wanted = _with_ids(items)
        read = as_table("removals", wanted)
        rows = zip(*(read.table.column(name).to_pylist() for name in ("source", "target", "edge_id")), strict=True)
        refusals: list[Refusal] = []
        accepted = 0
        with self._changing() as graph:
            for source, target, id in rows:
                found = _find_edges(graph, source, target, id or None)
                graph.drop_edges(found)
                accepted += len(found)
                if not found:
                    refusals.append(_no_edge(source, target, id or None))
        return _receipt(is_single(wanted), accepted, list(read.rejected), refusals)

    subscribe = add_nodes
    unsubscribe = remove_nodes

    @contextmanager
    def _changing(self, started: int | None = None) -> Iterator[Exchange]:
        """The exchange to change: a copy of it if a publish is using the present version."""
        began = time.perf_counter_ns() if started is None else started
        with self._lock:
            if self._graph.readers:
                self._graph = self._graph.copy()
            yield self._graph
            self._total += Stats(load_ns=time.perf_counter_ns() - began)

    @contextmanager
    def _version(self) -> Iterator[Exchange]:
        """The present version, which no change touches until it is released."""
        with self._lock:
            graph = self._graph
            graph.readers += 1
        try:
            yield graph
        finally:
            with self._lock:
                graph.readers -= 1

    # --- events -------------------------------------------------------------------------------------------------

    def publish(self, events: Any, **options: Unpack[Choices]) -> Notifications:
        """Which nodes each event reaches. Options: paths, rank, limit, subscribers_only, hops."""
        chosen = Options(**options)
        started = time.perf_counter_ns()
        read = read_events(events, self.match is not None)
        parsed = time.perf_counter_ns()
        with self._version() as graph:
            result = _route_all(graph, read, chosen, self.match)
        stats = Stats(
            subscriptions=len(graph.nodes),
            publications=len(read),
            rejected=len(result.rejected),
            parse_ns=parsed - started,
            match_ns=time.perf_counter_ns() - parsed,
        )
        result = Notifications(result.items, result.rejected, result.stats + stats)
        with self._lock:
            self._total += result.stats
        return result

    def route(self, publisher: str, attributes: Any, **options: Unpack[Choices]) -> Notifications:
        """Which nodes one event reaches; its event_id is `event`."""
        return self.publish({"event_id": "event", "publisher": publisher, "attributes": attributes}, **options)

    def explain(self, node_id: str, event: Any) -> Explanation:
        """The path by which an event reaches a node, or what stops it."""
        with self._version() as graph:
            return explain_route(graph, self._one_event(graph, event), node_id, self.match)

    def _one_event(self, graph: Exchange, item: Any) -> Event:
        read = read_events(item, self.match is not None)
        if read.errors:
            raise read.errors[0]
        if not len(read):
            rejected = read.rejected[0] if read.rejected else Rejected(None, None, "HG-640", "no event was given")
            raise TableError(rejected.code, rejected.message)
        _check_publisher(graph, read.event(0))
        return read.event(0)

    def what_if(self, changes: Any, events: Any) -> pa.Table:
        """Deliveries that the changes would add or take away: event_id, node_id, before, after.

        Raises for a bad change or event; `compare` reports them.
        """
        result = self.compare(changes, events)
        if result.errors:
            raise result.errors[0]
        return result.table

    def compare(self, changes: Any, events: Any) -> WhatIf:
        """As `what_if`, with the refused changes and events beside the table."""
        started = time.perf_counter_ns()
        read = read_events(events, self.match is not None)
        parsed = time.perf_counter_ns()
        with self._version() as graph:
            found = compare_versions(graph, changes, read, self.match)
        spent = time.perf_counter_ns() - parsed
        return found._replace(stats=replace(found.stats, parse_ns=parsed - started, match_ns=spent))

    # --- measurements and storage -------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """The sum over all calls so far; `subscriptions` are the nodes now."""
        with self._lock:
            return self._total + Stats(subscriptions=len(self._graph.nodes))

    def save(self, path: str | Path) -> None:
        """Saves the exchange; see `storage`."""
        with self._version() as graph:
            save_graph(path, graph, self.match)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Opens a saved exchange."""
        graph, match = load_graph(path)
        engine = cls(match=match)
        engine._graph = graph
        return engine


def _route_all(graph: Exchange, read: Events, options: Options, match: str | None) -> Notifications:
    """Each event's notifications, one event after the other."""
    items: list[Notification] = []
    rejected = list(read.rejected)
    counts = Stats()
    for event in read:
        try:
            _check_publisher(graph, event)
        except PublicationError as error:
            rejected.append(Rejected.of(error, read.source, event.id))
            continue
        acceptance = Acceptance(event, match)
        found = _found(graph, event, acceptance, options)
        kept = found[: options.limit] if options.limit is not None else found
        items += [_notification(event, arrival, options) for arrival in kept]
        counts += _counts(acceptance, len(kept), len(found) - len(kept))
    return Notifications(tuple(items), Rejections(rejected), counts)


def _found(graph: Exchange, event: Event, acceptance: Acceptance, options: Options) -> list[Arrival]:
    """The results of one event in the order in which they are reported."""
    walk = cheapest if options.rank else fewest_hops
    arrivals = walk(graph, event.publisher, acceptance, options.hops).values()
    wanted = [arrival for arrival in arrivals if not (options.subscribers_only and arrival.node.id in graph.out)]
    if options.rank:
        return sorted(wanted, key=lambda arrival: (arrival.cost, arrival.node.id))
    return sorted(wanted, key=lambda arrival: graph.rank(arrival.node))


def _notification(event: Event, arrival: Arrival, options: Options) -> Notification:
    evidence = json_text({"path": arrival.path(), "cost": arrival.cost}) if options.evidence else None
    return Notification(arrival.node.id, None, event.id, "route", "+", None, evidence)


def _counts(acceptance: Acceptance, kept: int, cut: int) -> Stats:
    return Stats(
        notifications=kept,
        candidates=acceptance.candidates,
        verified=acceptance.verified,
        truncated=cut,
        complete=cut == 0,
    )


def _check_publisher(graph: Exchange, event: Event) -> None:
    if event.publisher not in graph.nodes:
        message = f"the publisher {event.publisher!r} is neither a node nor an end of an edge"
        fix = "add it to the nodes, or check its name"
        raise PublicationError("HG-643", message, place=Place(item=event.id), fix=fix)


def _names(ids: Any) -> list[str]:
    if isinstance(ids, pa.Array | pa.ChunkedArray):
        ids = ids.to_pylist()
    several = ids if isinstance(ids, Iterable) and not isinstance(ids, str) else [ids]
    return [str(id) for id in several]


def _with_ids(items: Any) -> Any:
    """Edges to remove as rows: a bare text is an edge_id."""
    if isinstance(items, pa.Array | pa.ChunkedArray):
        items = items.to_pylist()
    if isinstance(items, list | set | frozenset):
        return [{"edge_id": item} if isinstance(item, str) else item for item in items]
    return {"edge_id": items} if isinstance(items, str) else items


def _find_edges(graph: Exchange, source: str | None, target: str | None, id: str | None) -> list[Edge]:
    """The edges with this id, or with these ends, or with both where both are given."""
    if id is None:
        return graph.between(source or "", target or "")
    known = graph.by_id.get(id)
    return [known] if known and source in (None, known.source) and target in (None, known.target) else []


def _no_node(id: str) -> SubscriptionError:
    return SubscriptionError("HG-502", f"there is no node {id!r}", place=Place(item=id), fix="check its node_id")


def _no_edge(source: str | None, target: str | None, id: str | None) -> Refusal:
    ends = f"{source} → {target}" if source or target else None
    name = " ".join(part for part in (ends, f"({id})" if id and ends else id) if part) or "without ends and edge_id"
    fix = "check its ends and its edge_id"
    return _refusal(PublicationError("HG-657", f"there is no edge {name}", place=Place(item=name), fix=fix), name)


def _refusal(error: HeliographError, item: str) -> Refusal:
    return Refusal(error, Rejected.of(error, item=item))


def _receipt(single: bool, accepted: int, unread: list[Rejected], refusals: list[Refusal]) -> Receipt:
    """A single item that was refused raises; in a batch it is reported."""
    if single and (unread or refusals):
        raise refusals[0].error if refusals else TableError(unread[0].code, unread[0].message)
    return Receipt(accepted, Rejections([*unread, *(refusal.rejected for refusal in refusals)]))
