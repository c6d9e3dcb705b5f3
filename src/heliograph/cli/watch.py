"""`heliograph watch`: which queries over an evolving graph does each update make true or false?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from heliograph.cli.options import SPARK, InterestOptions, OutputOptions, SparkOptions, check_cluster, option, takes

if TYPE_CHECKING:
    from heliograph.cli.inputs import Subscriber
    from heliograph.cli.run import CommandRun, InputBatch
    from heliograph.watch import Watch


GRAPH = "The graph"


@dataclass(frozen=True, slots=True)
class Evolution:
    """The graph and how it changes."""

    updates: Annotated[
        str,
        option(
            "--updates -u U",
            "Table (op, subject, property, object; optional seq, weight, at): file, folder, glob; - reads NDJSON.",
        ),
    ]
    graph: Annotated[
        str | None,
        option(
            "--graph -g G",
            "What is there at the start, not reported: tables with subject, property, object, or RDF documents.",
            GRAPH,
        ),
    ] = None
    window: Annotated[
        str | None,
        option("--window 7d", "Forget edges older than this: 45s 30m 12h 7d 2w.", GRAPH),
    ] = None
    window_updates: Annotated[
        int | None,
        option("--window-updates N", "Forget edges older than N updates.", GRAPH, min=1),
    ] = None
    mode: Annotated[
        Literal["each", "change"],
        option("--mode each|change", "Report each match, or only when a query becomes true or false."),
    ] = "each"
    initial: Annotated[bool, option("--initial", "Report first what holds already.")] = False


@dataclass(frozen=True, slots=True)
class WatchCommand:
    evolution: Evolution
    interests: InterestOptions
    output: OutputOptions
    cluster: SparkOptions
    witness: Annotated[bool, option("--witness", "Show the edges of each match as evidence.")] = False
    shards: Annotated[
        int | None,
        option("--shards N", "Divide the queries among N.", SPARK, min=1, max=1024),
    ] = None


@takes(WatchCommand)
def watch_command(options: WatchCommand) -> int:
    """Which queries over an evolving graph does each update make true or false?

    One notification for each match gained (+) or lost (-), with the number of the update that caused it.
    """
    from heliograph.cli.inputs import once
    from heliograph.cli.run import CommandRun

    interests, evolution = options.interests, options.evolution
    once(interests, evolution.graph, evolution.updates)
    if check_cluster(options.cluster, options.output, ["--shards"] if options.shards else [], interests.objects):
        from heliograph.cli.spark import watch_on_spark

        return watch_on_spark(options)
    with CommandRun(options.output) as run:
        engine = load_watch(interests, evolution, run)
        run.publish_all(
            "updates",
            read_updates(evolution, run),
            lambda items: engine.publish(
                items, witness=options.witness, objects=interests.objects, evidence=options.output.evidence
            ),
        )
    return run.exit_code


def load_watch(
    interests: InterestOptions,
    evolution: Evolution,
    run: CommandRun,
    before: Callable[[Subscriber], Subscriber] | None = None,
) -> Watch:
    """An engine over the graph at the start, with all subscriptions that the options name.

    `before` may put something between the options and the engine.
    """
    from heliograph.cli.inputs import read_context, read_graph, subscribe
    from heliograph.watch import Watch

    with run.loading():
        prefixes, taxonomy = read_context(interests, run)
        engine = Watch(
            evolution.mode,
            taxonomy=taxonomy,
            prefixes=prefixes,
            initial=evolution.initial,
            window=evolution.window,
            window_updates=evolution.window_updates,
        )
        for items, _, rejected in read_graph(evolution.graph) if evolution.graph is not None else ():
            run.reject(rejected)
            run.reject(engine.load_graph(items, objects=interests.objects).rejected, evolution.graph)
        subscribe(before(engine) if before else engine, interests, run)
        run.subscribed(engine.stats().subscriptions)
    return engine


def read_updates(evolution: Evolution, run: CommandRun) -> Iterator[InputBatch]:
    """The updates in batches; an empty one comes first, for what holds at the start."""
    from heliograph.cli.inputs import read_rows
    from heliograph.cli.run import MOST_UPDATES, InputBatch, cut
    from heliograph.io.sources import DOCUMENT_SUFFIXES, TABLE_SUFFIXES, find_sources
    from heliograph.watch.updates import read_sources

    run.pace.most = MOST_UPDATES
    yield InputBatch([], 0)
    sources = find_sources(evolution.updates, TABLE_SUFFIXES + DOCUMENT_SUFFIXES)
    if all(source.suffix not in DOCUMENT_SUFFIXES for source in sources):
        yield from read_rows("--updates", "updates", evolution.updates, run)
        return
    for read in run.checked("--updates", iter([read_sources(sources)])):  # RDF documents add all their triples
        yield from cut(read, [0] if read.rejected else range(read.table.num_rows), run.pace)
