"""`heliograph explain filter|watch|route`: why a subscription matched a publication, or why not."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli.filter import PublicationsOption
from heliograph.cli.options import Interests, Output, read_prefixes, takes
from heliograph.cli.route import EventsOption, Exchange
from heliograph.cli.watch import Evolution

if TYPE_CHECKING:
    from heliograph.model import Explanation

explain_app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Why a subscription matched a publication, or why not."
)


@dataclass(frozen=True, slots=True)
class Pair:
    """The two that are asked about."""

    subscription: Annotated[
        str, typer.Option("--subscription", metavar="ID", help="The subscription's id; for route, the node's.")
    ]
    publication: Annotated[
        str, typer.Option("--publication", metavar="ID", help="The publication's id; for route, the event's.")
    ]
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of text.")] = False


@dataclass(frozen=True, slots=True)
class ExplainFilter:
    publications: PublicationsOption
    pair: Pair
    interests: Interests


@dataclass(frozen=True, slots=True)
class ExplainWatch:
    evolution: Evolution
    interests: Interests
    subscription: Annotated[str, typer.Option("--subscription", metavar="ID", help="The subscription's id.")]
    publication: Annotated[
        str | None,
        typer.Option("--publication", metavar="SEQ", help="The state after this update; none means after the last."),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of text.")] = False


@dataclass(frozen=True, slots=True)
class ExplainRoute:
    exchange: Exchange
    events: EventsOption
    pair: Pair


@explain_app.command("filter")
@takes(ExplainFilter)
def explain_filter(options: ExplainFilter) -> None:
    """Which edge or constraint of a subscription failed on a document, or what it was bound to."""
    from heliograph.cli.asking import Asked, find_publication
    from heliograph.cli.interests import once, read_context, subscribe
    from heliograph.cli.publications import read_publications
    from heliograph.cli.run import Run
    from heliograph.filter import Filter

    pair = options.pair
    once(options.interests, options.publications)
    with Run(Output()) as run:
        context = read_context(options.interests, run)
        engine = Filter(context.taxonomy, prefixes=context.prefixes, algorithm="indexed")
        asked = Asked(pair.subscription, alone=True)
        subscribe(asked.before(engine), options.interests, run)
        asked.check(run)
        prefixes = read_prefixes(options.interests.prefix)
        batches = read_publications(options.publications, engine.vocabulary, prefixes, run)
        publication = find_publication(batches, pair.publication, "publication")
    _print(engine.explain(pair.subscription, publication), pair.as_json)


@explain_app.command("watch")
@takes(ExplainWatch)
def explain_watch(options: ExplainWatch) -> None:
    """How much of a query holds after an update, what is missing, and which update would complete it."""
    from heliograph.cli.asking import Asked, replay
    from heliograph.cli.interests import once
    from heliograph.cli.run import Run
    from heliograph.cli.watch import load_watch, read_updates

    once(options.interests, options.evolution.graph, options.evolution.updates)
    with Run(Output()) as run:
        asked = Asked(options.subscription, alone=False)  # a top-k set is known only as a whole
        engine = load_watch(options.interests, options.evolution, run, asked.before)
        asked.check(run)
        said = replay(engine, read_updates(options.evolution, run), options.publication, run)
    explanation = engine.explain(options.subscription, options.publication)
    _print(explanation, options.as_json)
    for entry in said:
        if entry.subscription_id == options.subscription and not options.as_json:
            typer.echo(f"  update {entry.publication_id} reported  {entry.change} {entry.evidence or ''}".rstrip())


@explain_app.command("route")
@takes(ExplainRoute)
def explain_route(options: ExplainRoute) -> None:
    """The path by which an event reaches a node, or the node or edge that stops it."""
    from heliograph.cli.asking import find_publication, missing
    from heliograph.cli.interests import once
    from heliograph.cli.route import load_route, read_exchange
    from heliograph.cli.rows import read_events
    from heliograph.cli.run import Run

    pair = options.pair
    once(options.exchange.nodes, options.exchange.edges, options.events)
    with Run(Output()) as run:
        tables = read_exchange(options.exchange, run)
        engine = load_route(options.exchange, tables, run)
        if pair.subscription not in tables.names():
            raise missing("node", pair.subscription, tables.names())
        event = find_publication(read_events(options.events, run), pair.publication, "event")
    _print(engine.explain(pair.subscription, event), pair.as_json)


def _print(explanation: Explanation, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(explanation), ensure_ascii=False))
        return
    typer.echo(f"{'✓' if explanation.matched else '✗'} {explanation}")
    if explanation.evidence:
        typer.echo(f"  evidence  {json.dumps(explanation.evidence, ensure_ascii=False)}")
