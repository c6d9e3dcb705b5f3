"""The route engine: the exchange, its live changes, and the path of each event.

The laws: a publish sees one version of the exchange, whatever is added or removed meanwhile; the order of adding nodes
and edges changes no result; adding and then removing restores every answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar, Unpack
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.errors import (
    FAILED,
    HeliographError,
    Place,
    PublicationError,
    SubscriptionError,
    TableError,
    UsageError,
    own_failure,
)
from heliograph.io.coerce import Array
from heliograph.io.tables import as_table, is_single
from heliograph.model import (
    NOTIFICATIONS_SCHEMA,
    Explanation,
    Notification,
    Notifications,
    Receipt,
    Rejected,
    Rejections,
    Stats,
    counted,
)
from heliograph.predicate.compile import TargetingFailed
from heliograph.predicate.layout import Int32s
from heliograph.route.exchange import Exchange, Version
from heliograph.route.explain import explain_route
from heliograph.route.numbering import strings
from heliograph.route.read import (
    EDGE_COST,
    UNKNOWN_PUBLISHER,
    EdgeRows,
    Event,
    Events,
    RowRefusal,
    read_edges,
    read_events,
    read_nodes,
    unknown_publisher,
)
from heliograph.route.save import load_exchange, save_exchange
from heliograph.route.strategy import Choices, Reached, RouteOptions, Strategy, check_match, reach_alone, strategy
from heliograph.route.what_if import WhatIf, compare_versions

Answer = TypeVar("Answer")
_PLAIN, _NOTHING = RouteOptions(), Rejections()
_AT_ONCE = 16  # notifications of one event that are made at once, without columns
pc: Any = pyarrow.compute


class Route:
    """Routes events through an exchange of nodes and edges.

    `match` compares label sets (superset, subset, intersects) in place of the nodes' targeting. `algorithm` is one of
    `strategy.ALGORITHMS`; by default small jobs are walked in plain Python and large ones by the kernels.
    """

    def __init__(
        self, nodes: Any = None, edges: Any = None, *, match: str | None = None, algorithm: str = "auto"
    ) -> None:
        self.match = check_match(match)
        self._strategy: Strategy = strategy(algorithm)
        self._exchange = Exchange(self.match)
        self._lock = threading.Lock()  # of the total
        self._total = Stats()
        self.rejected = Rejections()
        """What was refused of the nodes and edges given to the constructor."""
        for add, items in ((self.add_nodes, nodes), (self.add_edges, edges)):
            if items is not None:
                self.rejected += add([items] if is_single(items) else items).rejected

    # --- changes ------------------------------------------------------------------------------------------------

    def add_nodes(self, items: Any) -> Receipt:
        """Adds nodes, or replaces those of the same id."""
        with self._changing() as exchange:
            read = read_nodes(items, exchange.targeting, self.match)
            exchange.put_nodes(read.rows)
            exchange.put_nodes(read.broken)
        return _receipt(is_single(items), len(read.rows), read.unread, read.refusals)

    def add_edges(self, items: Any) -> Receipt:
        """Adds edges, or replaces those of the same edge_id, or of the same ends where they have none."""
        with self._changing() as exchange:
            read = read_edges(items, exchange.targeting)
            exchange.put_edges(read.rows)
        return _receipt(is_single(items), len(read.rows), read.unread, read.refusals)

    def remove_nodes(self, ids: Any) -> Receipt:
        """Removes nodes by id, one or several, with all their edges."""
        names = list(dict.fromkeys(_names(ids)))
        with self._changing() as exchange:
            known = [id for id in names if exchange.current.number(id) >= 0]
            exchange.drop_nodes(known)
        refusals = [_refusal(_no_node(id), id) for id in names if id not in set(known)]
        return _receipt(isinstance(ids, str), len(known), [], refusals)

    def remove_edges(self, items: Any) -> Receipt:
        """Removes edges by edge_id, or every edge between two nodes where none is given."""
        wanted = _with_ids(items)
        read = as_table("removals", wanted)
        rows = zip(*(read.table.column(name).to_pylist() for name in ("source", "target", "edge_id")), strict=True)
        refusals: list[RowRefusal] = []
        accepted = 0
        with self._changing() as exchange:
            for source, target, id in rows:
                found = exchange.find_edges(source, target, id or None)
                exchange.drop_edges(found)
                accepted += len(found)
                if not found:
                    refusals.append(_no_edge(source, target, id or None))
        return _receipt(is_single(wanted), accepted, list(read.rejected), refusals)

    subscribe = add_nodes
    unsubscribe = remove_nodes

    @contextmanager
    def _changing(self) -> Iterator[Exchange]:
        """The exchange, for whoever may change it now."""
        began = time.perf_counter_ns()
        with self._exchange.writing:
            yield self._exchange
        with self._lock:
            self._total += Stats(load_ns=time.perf_counter_ns() - began)

    # --- events -------------------------------------------------------------------------------------------------

    def publish(self, events: Any, **options: Unpack[Choices]) -> Notifications:
        """Which nodes each event reaches. Options: paths, rank, limit, subscribers_only, hops.

        The path of events: encode → reach → report. Targeting that raises is put aside and reported, and the events are
        routed again.
        """
        chosen = RouteOptions(**options) if options else _PLAIN
        started = time.perf_counter_ns()
        read = read_events(events, self.match is not None)
        failed: list[Rejected] = []
        while True:
            version = self._exchange.hold()
            try:
                if read.one is None and not chosen.alone and self._strategy.encodes(version):
                    read.cells(version)  # now, in the one pass over their texts that also finds out which are good
                starts = read.starts(version)
                parsed = time.perf_counter_ns()
                if chosen.alone:
                    found = reach_alone(self._strategy, version, read, chosen)
                else:
                    found = self._strategy.reach(version, read, chosen.subscribers_only)
                    if chosen.limit is not None:
                        found = found.limited(chosen.limit)
                break
            except TargetingFailed as failure:
                failed += self._put_aside(version, failure)
            finally:
                self._exchange.release(version)
        rejected = _NOTHING
        if read.one is None or starts[0] < 0 or failed:
            unknown = [read.unknown(row) for row in np.flatnonzero(starts < 0).tolist()]
            rejected = Rejections([*read.rejected, *unknown, *failed])
        size = len(found.nodes)
        stats = Stats(
            subscriptions=version.size,
            publications=len(starts),
            notifications=size,
            candidates=found.candidates,
            verified=found.verified,
            rejected=0 if rejected is _NOTHING else len(rejected),
            complete=found.cut == 0,
            truncated=found.cut,
            parse_ns=parsed - started,
            match_ns=time.perf_counter_ns() - parsed,
        )
        with self._lock:
            self._total += stats
        if read.one is not None and size <= _AT_ONCE and found.evidence is None:
            id, names = read.one[0], version.arrays.names.few(found.nodes)
            return Notifications([Notification(name, None, id, "route", "+") for name in names], rejected, stats)
        return Notifications.of_columns(lambda: _notifications(version, read, found), size, rejected, stats)

    def _put_aside(self, version: Version, failure: TargetingFailed) -> list[Rejected]:
        """Nodes and edges that failed accept nothing from now on. Reports each."""
        nodes, edges = self._exchange.put_aside(version, failure.failures.keys())
        if nodes or edges:
            failure.log()
        names = [(f"node {node.id!r}", node.id, number) for node, number in nodes]
        names += [
            (f"edge {edge.source} → {edge.target}", edge.id or f"{edge.source} → {edge.target}", number)
            for edge, number in edges
        ]
        return [
            Rejected.of(own_failure(what, failure.failures[number], until="replaced or removed"), item=item)
            for what, item, number in names
        ]

    def _retried(self, failed: list[Rejected], work: Callable[[Version], Answer]) -> Answer:
        """What some work makes of the present version. Targeting that raises is put aside, and the work done again.

        What was put aside is added to `failed`.
        """
        before: list[int] | None = None
        while True:
            with self._exchange.reading() as version:
                try:
                    return work(version)
                except TargetingFailed as failure:
                    named, now = self._put_aside(version, failure), sorted(failure.failures)
                    if not named and now == before:  # it belongs to no node or edge here, but to a change of `what_if`
                        raise next(iter(failure.failures.values())) from failure
                    before = now
                    failed += named

    def route(self, publisher: str, attributes: Any, **options: Unpack[Choices]) -> Notifications:
        """Which nodes one event reaches; its event_id is `event`."""
        return self.publish({"event_id": "event", "publisher": publisher, "attributes": attributes}, **options)

    def stream(self, event: Any, *, subscribers_only: bool = False, hops: int | None = None) -> Iterator[Notification]:
        """The nodes that one event reaches, as they are found: the first before the walk has ended.

        Raises for a bad event. The exchange is seen as it is when the first one is taken.
        """
        options = RouteOptions(subscribers_only=subscribers_only, hops=hops)
        read = read_events(event, self.match is not None)
        reported: set[str] = set()
        again = True
        while again:  # once more where targeting was put aside
            again = False
            with self._exchange.reading() as version:
                id = self._one_event(version, read).id
                try:
                    for node in self._strategy.stream(version, read, 0, options):
                        name = version.name(node)
                        if name not in reported:
                            reported.add(name)
                            yield Notification(name, None, id, "route", "+")
                except TargetingFailed as failure:
                    self._put_aside(version, failure)
                    again = True

    def explain(self, node_id: str, event: Any) -> Explanation:
        """The path by which an event reaches a node, or what stops it."""
        read = read_events(event, self.match is not None)
        return self._retried([], lambda version: explain_route(version, self._one_event(version, read), node_id))

    def _one_event(self, version: Version, read: Events) -> Event:
        """The first event; raises what is wrong with it."""
        if read.errors:
            raise read.errors[0]
        if not len(read):
            rejected = read.rejected[0] if read.rejected else Rejected(None, None, "HG-640", "no event was given")
            raise TableError(rejected.code, rejected.message)
        if len(read) > 1:
            message = f"{len(read)} events where one is asked for"
            raise UsageError("HG-067", message, fix="give one, or publish them all")
        event = read.event(0)
        if version.number(event.publisher) < 0:
            raise unknown_publisher(event.id, event.publisher)
        return event

    def what_if(self, changes: Any, events: Any, *, subscribers_only: bool = False) -> pa.Table:
        """Deliveries that the changes would add or take away: event_id, node_id, before, after.

        Raises for a bad change or event; `compare` reports them.
        """
        result = self.compare(changes, events, subscribers_only=subscribers_only)
        if result.errors:
            raise result.errors[0]
        return result.table

    def compare(self, changes: Any, events: Any, *, subscribers_only: bool = False) -> WhatIf:
        """As `what_if`, with the refused changes and events beside the table."""
        started = time.perf_counter_ns()
        read = read_events(events, self.match is not None)
        parsed = time.perf_counter_ns()
        failed: list[Rejected] = []

        def work(version: Version) -> WhatIf:
            if read.one is None and self._strategy.encodes(version):
                read.cells(version)
            return compare_versions(version, changes, read, self._strategy, subscribers_only)

        found = self._retried(failed, work)
        spent, refused = time.perf_counter_ns() - parsed, found.stats.rejected + len(failed)
        stats = replace(found.stats, rejected=refused, parse_ns=parsed - started, match_ns=spent)
        return found._replace(rejected=found.rejected + Rejections(failed), stats=stats)

    # --- measurements and storage -------------------------------------------------------------------------------

    def __len__(self) -> int:
        with self._exchange.reading() as version:
            return len(version)

    def __bool__(self) -> bool:
        return True

    def __contains__(self, id: object) -> bool:
        with self._exchange.reading() as version:
            return isinstance(id, str) and version.number(id) >= 0

    def __repr__(self) -> str:
        return f"Route({counted(len(self), 'node')})"

    def subscriptions(self) -> dict[str, str | None]:
        """The targeting of each node, by id."""
        with self._exchange.reading() as version:
            numbers = version.node_numbers()
            texts = version.arrays.texts.take(version.records_of(numbers))
            return dict(zip(map(str, version.names(numbers).to_pylist()), texts.to_pylist(), strict=True))

    def stats(self) -> Stats:
        """The sum over all calls so far; `subscriptions` are the nodes now."""
        with self._exchange.reading() as version, self._lock:
            return self._total + Stats(subscriptions=len(version))

    def reading(self) -> AbstractContextManager[Version]:
        """The exchange as it is now, which stays so until it is released."""
        return self._exchange.reading()

    def save(self, path: str | Path) -> None:
        """Saves the exchange; see `storage`."""
        with self.reading() as version:
            save_exchange(path, version)

    @classmethod
    def load(cls, path: str | Path, *, algorithm: str = "auto") -> Self:
        """Opens a saved exchange."""
        exchange = load_exchange(path)
        engine = cls(match=exchange.match, algorithm=algorithm)
        engine._exchange = exchange
        return engine


def _notifications(version: Version, events: Events, found: Reached) -> pa.Table:
    """The table of nodes that the events reached: event by event, in the order of reporting or, ranked, by cost and
    then by id."""
    size, text = len(found.nodes), pa.string()
    columns = [
        version.names(found.nodes),
        pa.nulls(size, text),
        events.ids.take(found.events()),
        pa.repeat("route", size),
        pa.repeat("+", size),
        pa.nulls(size, pa.timestamp("us", tz="UTC")),
        pa.nulls(size, text) if found.evidence is None else pa.array(found.evidence, text),
    ]
    return pa.Table.from_arrays(columns, schema=NOTIFICATIONS_SCHEMA)


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


def _no_node(id: str) -> SubscriptionError:
    return SubscriptionError("HG-502", f"there is no node {id!r}", place=Place(item=id), fix="check its node_id")


def _no_edge(source: str | None, target: str | None, id: str | None) -> RowRefusal:
    ends = f"{source} → {target}" if source or target else None
    name = " ".join(part for part in (ends, f"({id})" if id and ends else id) if part) or "without ends and edge_id"
    fix = "check its ends and its edge_id"
    return _refusal(PublicationError("HG-657", f"there is no edge {name}", place=Place(item=name), fix=fix), name)


def _refusal(error: HeliographError, item: str) -> RowRefusal:
    return RowRefusal(error, Rejected.of(error, item=item))


def _receipt(single: bool, accepted: int, unread: list[Rejected], refusals: list[RowRefusal]) -> Receipt:
    """A single item that was refused raises; in a batch it is reported."""
    if single and (unread or refusals):
        raise refusals[0].error if refusals else TableError(unread[0].code, unread[0].message)
    return Receipt(accepted, Rejections([*unread, *(refusal.rejected for refusal in refusals)]))


# --- shares of an exchange, as [B] divides one among machines: all that passes events on, and a part of the ends ------
#
# The law: what the shares report together is what the whole reports, each node once. A node with outgoing edges is in
# every share, since paths to anywhere may lead through it; a node without any, which is where most of an exchange
# lies, is in one share alone, its home, with the edges that lead to it. Every node is reported, and every event of an
# unknown publisher refused, by its home. Only a limit of results cannot be kept by shares that know nothing of one
# another.


def home(id: str | None, shares: int) -> int:
    """The share that reports a node, or an event."""
    return crc32((id or "").encode("utf-8", "surrogatepass")) % shares


def homes(ids: Array, shares: int) -> Int32s:
    """The home of each id."""
    several: list[Any] = ids.to_pylist()
    return np.array([home(id, shares) for id in several], np.int32)


def share_of(version: Version, number: int, shares: int) -> Exchange:
    """An exchange of its own with one share of a version.

    A node that loses its last outgoing edge gets one to itself, which lets nothing pass: it is still no end.
    """
    passing, numbers = _passing(version), version.node_numbers()
    ends = version.names(numbers[~passing[numbers]])
    copy = Exchange.of_version(version)
    copy.drop_nodes(strings(ends.filter(pa.array(homes(ends, shares) != number))))
    copy.wait()
    with copy.reading() as left:
        kept = _passing(left)
        bare = [id for id in strings(version.names(numbers[passing[numbers]])) if not kept[left.number(id)]]
    ids, texts = pa.array(bare, pa.string()), pa.array(["FALSE"] * len(bare), pa.string())
    copy.put_edges(EdgeRows(ids, ids, None, texts, np.full(len(bare), EDGE_COST)))
    return copy


def _passing(version: Version) -> Any:
    """Which nodes have outgoing edges, by number."""
    found = np.zeros(version.graph.node_count, np.bool_)
    found[version.graph.sources[version.edge_numbers()]] = True
    return found


class Share(NamedTuple):
    """One share, opened. `others` are the nodes that are here too but that another share reports."""

    engine: Route
    number: int
    shares: int
    others: Array

    @classmethod
    def of(cls, engine: Route, number: int, shares: int) -> Self:
        with engine.reading() as version:
            names = version.names(np.flatnonzero(_passing(version)).astype(np.int32))
        return cls(engine, number, shares, names.filter(pa.array(homes(names, shares) != number)))

    def publish(self, events: pa.Table, **options: Unpack[Choices]) -> Notifications:
        """What this share reports of some events; the first one counts them."""
        found = self.engine.publish(events, **options)
        rows = found.table.filter(pc.invert(pc.is_in(found.table["subscription_id"], value_set=self.others)))
        rejected = Rejections(entry for entry in found.refused if self._reports(entry, events))
        stats = replace(
            found.stats,
            publications=0 if self.number else found.stats.publications,
            notifications=rows.num_rows,
            rejected=rejected.total,
        )
        return Notifications.of_columns(lambda: rows, rows.num_rows, rejected, stats)

    def _reports(self, entry: Rejected, events: pa.Table) -> bool:
        """Whether this share reports it. Others may lack a publisher that ends nowhere; only its home knows."""
        if entry.code == FAILED:  # by each share that has it: an edge has no home
            return True
        subject = entry.item
        if entry.code == UNKNOWN_PUBLISHER:
            subject = events["publisher"][pc.index(events["event_id"], entry.item).as_py()].as_py()
        return home(subject, self.shares) == self.number
