"""`heliograph filter`: which graph-pattern subscriptions does each document match?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli.options import INTERESTS, Interests, Output, read_prefixes, takes

if TYPE_CHECKING:
    from heliograph.cli.run import Run
    from heliograph.filter import Filter

PublicationsOption = Annotated[
    str,
    typer.Option(
        "--publications",
        "-p",
        metavar="P",
        help="Tables (publication_id, subject, property, object), RDF documents or feeds: a file, a folder, "
        "a quoted glob; - reads NDJSON.",
    ),
]
AlgorithmOption = Annotated[
    str,
    typer.Option(
        "--algorithm",
        metavar="A",
        help="How to match, with the same answer: auto, indexed, naive, ops, gtopss or rss.",
        rich_help_panel=INTERESTS,
    ),
]


@dataclass(frozen=True, slots=True)
class FilterOptions:
    publications: PublicationsOption
    interests: Interests
    output: Output
    bindings: Annotated[
        int, typer.Option("--bindings", metavar="K", min=0, help="Show up to K bindings of each match as evidence.")
    ] = 0
    algorithm: AlgorithmOption = "auto"


@takes(FilterOptions)
def filter_command(options: FilterOptions) -> int:
    """Which graph-pattern subscriptions does each document match?

    One notification for each subscription and publication that match. Without --out they are NDJSON on stdout.
    """
    from heliograph.cli.interests import once
    from heliograph.cli.publications import read_publications
    from heliograph.cli.run import Run

    interests = options.interests
    once(interests, options.publications)
    with Run(options.output) as run:
        engine = load_filter(interests, options.algorithm, run)
        prefixes = read_prefixes(interests.prefix)
        batches = read_publications(options.publications, engine.vocabulary, prefixes, run)
        run.publish_all("publications", batches, lambda items: engine.publish(items, bindings=options.bindings))
    return run.exit_code


def load_filter(interests: Interests, algorithm: str, run: Run) -> Filter:
    """An engine with all subscriptions that the options name."""
    from heliograph.cli.interests import read_context, subscribe
    from heliograph.filter import Filter

    with run.loading():
        context = read_context(interests, run)
        engine = Filter(context.taxonomy, prefixes=context.prefixes, algorithm=algorithm)
        subscribe(engine, interests, run)
        run.subscribed(engine.stats().subscriptions)
    return engine
