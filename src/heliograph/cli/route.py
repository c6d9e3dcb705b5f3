"""`heliograph route`: which subscribers can each event reach along a valid path?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from heliograph.cli.options import SPARK, OutputOptions, SparkOptions, check_cluster, option, takes
from heliograph.errors import UsageError

if TYPE_CHECKING:
    from heliograph.cli.run import CommandRun
    from heliograph.io.tables import TableRows
    from heliograph.route import Route


RESULTS = "Results"
AlgorithmOption = Annotated[
    str,
    option(
        "--algorithm A",
        "How to route, with the same answer: auto, lanes, walk, or one of the paper's dag, dag-skip, general, "
        "scc-skip, index-bfs, bfs.",
    ),
]


@dataclass(frozen=True, slots=True)
class ExchangeOptions:
    """The graph of publishers, intermediaries and subscribers."""

    nodes: Annotated[
        str,
        option("--nodes -n N", "Table (node_id; optional targeting, cost, labels); - reads NDJSON."),
    ]
    edges: Annotated[
        str,
        option("--edges -e E", "Table (source, target; optional edge_id, targeting, cost); - reads NDJSON."),
    ]
    match: Annotated[
        Literal["superset", "subset", "intersects"] | None,
        option(
            "--match superset|subset|intersects",
            "Compare the nodes' labels with the event's attribute `labels`, in place of targeting.",
        ),
    ] = None


EventsOption = Annotated[
    str,
    option(
        "--events -v V", "Table (event_id, publisher, attributes): a file, a folder, a quoted glob; - reads NDJSON."
    ),
]


@dataclass(frozen=True, slots=True)
class Results:
    """Which results are wanted, and how they are shown."""

    subscribers_only: Annotated[
        bool,
        option("--subscribers-only", "Only nodes without outgoing edges.", RESULTS),
    ] = False
    rank: Annotated[
        Literal["cost"] | None,
        option("--rank cost", "Cheapest path first; implies --paths.", RESULTS),
    ] = None
    limit: Annotated[
        int | None,
        option("--limit K", "At most K results per event.", RESULTS, min=0),
    ] = None
    paths: Annotated[bool, option("--paths", "Show a valid path as evidence.", RESULTS)] = False
    hops: Annotated[
        int | None,
        option("--hops H", "Paths of at most H edges.", RESULTS, min=0),
    ] = None


@dataclass(frozen=True, slots=True)
class RouteCommand:
    exchange: ExchangeOptions
    events: EventsOption
    results: Results
    output: OutputOptions
    cluster: SparkOptions
    what_if: Annotated[
        str | None,
        option(
            "--what-if CHANGES",
            "Table (kind node|edge, op +|-|=, node_id | source, target, targeting, cost; optional edge_id, "
            "labels): write the deliveries that these changes would add or take away (event_id, node_id, before, "
            "after).",
            RESULTS,
        ),
    ] = None
    algorithm: AlgorithmOption = "auto"
    shards: Annotated[
        int | None,
        option("--shards N", "Divide the nodes without outgoing edges among N.", SPARK, min=1, max=1024),
    ] = None


@takes(RouteCommand)
def route_command(options: RouteCommand) -> int:
    """Which subscribers can each event reach along a valid path?

    One notification for each node reached through nodes and edges that all accept the event.
    """
    from heliograph.cli.inputs import once, read_events
    from heliograph.cli.run import CommandRun

    once(options.exchange.nodes, options.exchange.edges, options.events, options.what_if)
    if check_cluster(options.cluster, options.output, ["--shards"] if options.shards else []):
        from heliograph.cli.spark import route_on_spark

        return route_on_spark(options)
    if options.what_if is not None:
        return _what_if(options, options.what_if)
    wanted: dict[str, Any] = asdict(options.results)
    with CommandRun(options.output) as run:
        engine = load_route(options.exchange, read_exchange(options.exchange, run), run, options.algorithm)
        batches = read_events(options.events, run)
        run.publish_all("events", batches, lambda items: engine.publish(items, **wanted))
    return run.exit_code


class ExchangeTables(NamedTuple):
    """The exchange as it was read."""

    nodes: TableRows
    edges: TableRows

    def names(self) -> list[str | None]:
        columns = (self.nodes.table["node_id"], self.edges.table["source"], self.edges.table["target"])
        return list(dict.fromkeys(name for column in columns for name in column.to_pylist()))


def read_exchange(exchange: ExchangeOptions, run: CommandRun) -> ExchangeTables:
    with run.loading():
        nodes = run.whole("--nodes", "nodes", exchange.nodes)
        return ExchangeTables(nodes, run.whole("--edges", "edges", exchange.edges))


def load_route(exchange: ExchangeOptions, tables: ExchangeTables, run: CommandRun, algorithm: str = "auto") -> Route:
    """An engine over the exchange."""
    from heliograph.route import Route

    with run.loading():
        engine = Route(match=exchange.match, algorithm=algorithm)
        run.reject(engine.add_nodes(tables.nodes).rejected, tables.nodes.source)
        run.reject(engine.add_edges(tables.edges).rejected, tables.edges.source)
        run.subscribed(engine.stats().subscriptions)
    return engine


def _what_if(options: RouteCommand, changes: str) -> int:
    from heliograph.cli.run import CommandRun

    chosen = options.results
    given = {"rank": chosen.rank, "limit": chosen.limit, "hops": chosen.hops, "paths": chosen.paths or None}
    refused = ", ".join(f"--{name}" for name, value in given.items() if value is not None)
    if refused:  # a comparison shows neither order nor paths, and no answer that is cut
        message = f"--what-if with {refused}: it compares whole answers, without order and paths"
        raise UsageError("HG-037", message, fix=f"leave out {refused}; --subscribers-only may stay")
    with CommandRun(options.output, "what_if") as run:
        engine = load_route(options.exchange, read_exchange(options.exchange, run), run, options.algorithm)
        proposed = run.whole("--what-if", "changes", changes)
        events = run.whole("--events", "events", options.events)
        found = engine.compare(proposed, events, subscribers_only=options.results.subscribers_only)
        run.stats += found.stats
        run.reject(found.rejected)
        run.write(found.table)
    return run.exit_code
