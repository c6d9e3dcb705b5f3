"""`heliograph filter`: which graph-pattern subscriptions does each document match?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from heliograph.cli.options import (
    INTERESTS,
    InterestOptions,
    OutputOptions,
    SparkOptions,
    check_cluster,
    option,
    takes,
)

SHARDS = "Shards"

PublicationsOption = Annotated[
    str,
    option(
        "--publications -p P",
        "Tables (publication_id, subject, property, object), RDF documents or feeds: a file, a folder, "
        "a quoted glob; - reads NDJSON.",
    ),
]
AlgorithmOption = Annotated[
    str,
    option("--algorithm A", "How to match, with the same answer: auto, indexed, naive, ops, gtopss or rss.", INTERESTS),
]


@dataclass(frozen=True, slots=True)
class ShardOptions:
    """Whether and how the subscriptions are divided among threads."""

    shards: Annotated[
        int | None,
        option(
            "--shards N",
            "Divide the subscriptions into N shards, matched side by side in a thread each, with the same answer.",
            SHARDS,
            min=1,
            max=1024,
        ),
    ] = None
    partition: Annotated[
        Literal["hash", "containment", "merging"] | None,
        option(
            "--partition hash|containment|merging",
            "How to divide them: hash (every shard gets every publication), containment or merging (a publication "
            "is looked up at a front of general patterns first). Alone it means a shard for each processor.",
            SHARDS,
        ),
    ] = None
    merge_percentage: Annotated[
        float | None,
        option(
            "--merge-percentage P",
            "With merging: the per cent of all patterns to keep off the front, 90 unless given.",
            SHARDS,
            min=0,
            max=100,
        ),
    ] = None
    max_false_positives: Annotated[
        float | None,
        option(
            "--max-false-positives P",
            "With merging: take a merger apart when more than so many per cent of its answers were in vain.",
            SHARDS,
            min=0,
            max=100,
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """What an engine is made with."""
        given = {"percentage": self.merge_percentage, "max_false_positives": self.max_false_positives}
        merging = {name: percent / 100 for name, percent in given.items() if percent is not None}
        return {"shards": self.shards, "partition": self.partition, "merging": merging}


@dataclass(frozen=True, slots=True)
class FilterCommand:
    publications: PublicationsOption
    interests: InterestOptions
    output: OutputOptions
    division: ShardOptions
    cluster: SparkOptions
    bindings: Annotated[int, option("--bindings K", "Show up to K bindings of each match as evidence.", min=0)] = 0
    algorithm: AlgorithmOption = "auto"


@takes(FilterCommand)
def filter_command(options: FilterCommand) -> int:
    """Which graph-pattern subscriptions does each document match?

    One notification for each subscription and publication that match. Without --out they are NDJSON on stdout.
    """
    from heliograph.cli.inputs import once, read_context, read_publications, subscribe
    from heliograph.cli.run import CommandRun

    once(options.interests, options.publications)
    if check_cluster(options.cluster, options.output, objects=options.interests.objects):
        from heliograph.cli.spark import filter_on_spark

        return filter_on_spark(options)
    from heliograph.filter.engine import Filter

    with CommandRun(options.output) as run:
        with run.loading():
            prefixes, taxonomy = read_context(options.interests, run)
            division = options.division.arguments()
            engine = Filter(taxonomy, prefixes=prefixes, algorithm=options.algorithm, **division)
            subscribe(engine, options.interests, run)
            run.subscribed(engine.stats().subscriptions)
        batches = read_publications(
            options.publications, engine.vocabulary, prefixes, run, texts=options.interests.objects == "texts"
        )
        run.publish_all(
            "publications",
            batches,
            lambda items: engine.publish(
                items, bindings=options.bindings, objects=options.interests.objects, evidence=options.output.evidence
            ),
        )
        plan = engine.plan()
        if plan is not None:
            run.details["plan"] = asdict(plan)
    return run.exit_code
