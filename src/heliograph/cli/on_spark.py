"""The three verbs with `--engine spark`: interests are read here, inputs by the workers, on files and folders."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from heliograph.cli.cluster import check_input, connected, read_input
from heliograph.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from heliograph.cli.filter import FilterOptions
    from heliograph.cli.options import Cluster, Output
    from heliograph.cli.route import RouteOptions
    from heliograph.cli.run import Run
    from heliograph.cli.watch import WatchOptions


def filter_on_spark(options: FilterOptions) -> int:
    check_input("--publications", "publications", options.publications, options.cluster)
    if options.algorithm != "auto":
        raise UsageError("HG-037", "--algorithm with --engine spark", fix="leave it out; the answer is the same")
    with _run(options.output, options.cluster) as run, connected(options.cluster) as spark:
        from heliograph.spark import filter

        plans = _plans(options, run)
        rows = read_input(spark, "publications", options.publications, options.cluster)
        _deliver(filter(rows, plans, bindings=options.bindings), run, options.output, options.cluster)
    return run.exit_code


def _plans(options: FilterOptions, run: Run) -> Any:
    from heliograph.cli.interests import read_context, subscribe
    from heliograph.model import Rejections
    from heliograph.spark import Plans
    from heliograph.spark.scratch import own_folder

    with run.loading():
        context = read_context(options.interests, run)
        setting: Any = {**options.division.arguments(), "taxonomy": context.taxonomy, "prefixes": context.prefixes}
        plans = Plans(own_folder(options.cluster.folder, "filter"), **setting)
        with plans.together():
            subscribe(plans, options.interests, run)
        run.subscribed(plans.size)
        outline = plans.outline()
        if outline is not None:
            run.details["plan"] = asdict(outline)
        plans.rejected = Rejections()  # told with the names of their files already
    return plans


def watch_on_spark(options: WatchOptions) -> int:
    check_input("--updates", "updates", options.evolution.updates, options.cluster)
    with _run(options.output, options.cluster) as run, connected(options.cluster) as spark:
        from heliograph.spark import watch

        watchers = _watchers(options, run)
        rows = read_input(spark, "updates", options.evolution.updates, options.cluster)
        _deliver(watch(rows, watchers), run, options.output, options.cluster)
    return run.exit_code


def _watchers(options: WatchOptions, run: Run) -> Any:
    from heliograph.cli.interests import subscribe
    from heliograph.model import Rejections
    from heliograph.spark import Watchers
    from heliograph.spark.scratch import storage_folder

    with run.loading():
        setting = _setting(options, run)
        folder = storage_folder(options.cluster.folder, "watch")
        watchers = Watchers(folder, fixed=True, shards=options.shards, **setting)
        with watchers.together():
            subscribe(watchers, options.interests, run)
            told = len(watchers.rejected)
        run.reject(watchers.rejected[told:], options.evolution.graph)  # of which only writing a version tells
        run.subscribed(watchers.size)
        watchers.rejected = Rejections()  # told already
    return watchers


def _setting(options: WatchOptions, run: Run) -> dict[str, Any]:
    from heliograph.cli.interests import read_context

    evolution = options.evolution
    context = read_context(options.interests, run)
    return {
        "mode": evolution.mode,
        "initial": evolution.initial,
        "window": evolution.window,
        "window_updates": evolution.window_updates,
        "taxonomy": context.taxonomy,
        "prefixes": context.prefixes,
        "witness": options.witness,
        "graph": None if evolution.graph is None else _graph(evolution.graph, run),
    }


def _graph(spec: str, run: Run) -> pa.Table:
    """What a graph holds at the start, as one table."""
    import pyarrow as pa

    from heliograph.cli.graphs import read_graph
    from heliograph.publications import Publications
    from heliograph.tables.schemas import table_schema
    from heliograph.terms import Position
    from heliograph.vocabulary import Vocabulary

    vocabulary, tables = Vocabulary(), [table_schema("graph").empty()]
    for items, _, rejected in read_graph(spec, vocabulary):
        run.reject(rejected)
        if isinstance(items, Publications):
            places = (Position.SUBJECT, Position.PROPERTY, Position.OBJECT)
            cells = [vocabulary.spell(*column) for column in zip(items.triples, places, strict=True)]
            tables.append(pa.Table.from_arrays(cells, ["subject", "property", "object"]))
        else:
            tables.append(items.table)
    return pa.concat_tables(tables, promote_options="default")


def route_on_spark(options: RouteOptions) -> int:
    check_input("--events", "events", options.events, options.cluster)
    if options.what_if is not None or options.algorithm != "auto":
        given = "--algorithm" if options.what_if is None else "--what-if"
        raise UsageError("HG-037", f"{given} with --engine spark", fix="leave it out, or use --engine embedded")
    with _run(options.output, options.cluster) as run, connected(options.cluster) as spark:
        from heliograph.spark import Exchanges, route
        from heliograph.spark.scratch import own_folder

        exchanges = _exchanges(options, run, Exchanges, own_folder(options.cluster.folder, "route"))
        rows = read_input(spark, "events", options.events, options.cluster)
        _deliver(route(rows, exchanges, **asdict(options.results)), run, options.output, options.cluster)
    return run.exit_code


def _exchanges(options: RouteOptions, run: Run, make: Any, folder: str) -> Any:
    from heliograph.cli.route import read_exchange
    from heliograph.model import Rejections

    tables = read_exchange(options.exchange, run)
    with run.loading():
        exchanges = make(folder, tables.nodes, tables.edges, match=options.exchange.match, shards=options.shards)
        run.reject(exchanges.rejected)
        run.subscribed(exchanges.size)
        exchanges.rejected = Rejections()  # told already
    return exchanges


def _run(output: Output, cluster: Cluster) -> Run:
    from heliograph.cli.delivering import check_going_on, is_folder, without_files
    from heliograph.cli.run import Run

    check_going_on(output, cluster)
    return Run(without_files(output) if is_folder(output) else output)


def _deliver(found: DataFrame, run: Run, output: Output, cluster: Cluster) -> None:
    from heliograph.cli.delivering import deliver

    deliver(found, run, output, cluster)
