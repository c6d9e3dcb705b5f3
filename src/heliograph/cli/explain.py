"""`heliograph explain filter|watch|route`: why a subscription matched a publication, or why not."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer

from heliograph.cli.filter import PublicationsOption
from heliograph.cli.inputs import Subscriber, once, read_context, read_events, read_publications, subscribe
from heliograph.cli.options import InterestOptions, OutputOptions, option, takes
from heliograph.cli.route import EventsOption, ExchangeOptions, load_route, read_exchange
from heliograph.cli.run import CommandRun, InputBatch
from heliograph.cli.watch import Evolution, load_watch, read_updates
from heliograph.errors import UsageError
from heliograph.io.publications import Publications
from heliograph.io.tables import TableRows
from heliograph.model import Explanation, Notification, Receipt
from heliograph.watch import Watch

# --- one subscription and one publication among many; where one is missing, names that come near ---

_LOOKED_AT = 20_000  # names that are compared with a missing one


class AskedSubscription:
    """Stands before an engine and remembers the ids it is given; with `alone`, passes on only the one asked about."""

    def __init__(self, wanted: str, *, alone: bool) -> None:
        self._wanted, self._alone = wanted, alone
        self._ids: dict[str | None, None] = {}

    def before(self, engine: Subscriber) -> Self:
        self._engine = engine
        return self

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        if patterns is not None:
            return self._engine.subscribe(
                patterns=self._chosen(patterns), constraints=constraints and self._chosen(constraints)
            )
        if isinstance(items, TableRows):
            return self._engine.subscribe(self._chosen(items))
        self._ids.update((id, None) for id, _ in items)
        return self._engine.subscribe([item for item in items if not self._alone or item[0] == self._wanted])

    def _chosen(self, read: TableRows) -> TableRows:
        ids = read.table["subscription_id"].to_pylist()
        self._ids.update(dict.fromkeys(ids))
        if not self._alone:
            return read
        return _rows(read, np.array([row for row, id in enumerate(ids) if id == self._wanted], np.int64))

    def check(self, run: CommandRun) -> None:
        """Raises unless the subscription asked about is there."""
        refused = run.refused.get(self._wanted)
        if refused is not None:
            raise UsageError(
                "HG-034", f"the subscription {self._wanted!r} was rejected: {refused.code}: {refused.message}"
            )
        if self._wanted not in self._ids:
            raise missing("subscription", self._wanted, self._ids)


def missing(what: str, wanted: str, names: Iterable[str | None]) -> UsageError:
    """The error for a name that is not there, with those that come near."""
    known = [name for name in names if name][:_LOOKED_AT]
    near = difflib.get_close_matches(wanted, known, 3, 0.5)
    fix = f"there are {', '.join(map(repr, known[:5]))}{' …' if known[5:] else ''}" if known else "there is none at all"
    if near:
        fix = f"did you mean {' or '.join(map(repr, near))}?"
    return UsageError("HG-034", f"there is no {what} {wanted!r}", fix=fix)


def find_publication(batches: Iterable[InputBatch], wanted: str, what: str) -> Publications | TableRows:
    """The publication or event with this id."""
    names: list[str | None] = []
    for batch in batches:
        items: Publications | TableRows = batch.items
        ids = items.ids if isinstance(items, Publications) else items.table.column(0).to_pylist()
        names += dict.fromkeys(ids)
        if wanted not in ids:
            continue
        if isinstance(items, Publications):
            number = items.ids.index(wanted)
            return items.some(number, number + 1)
        return _rows(items, np.array([row for row, id in enumerate(ids) if id == wanted], np.int64))
    raise missing(what, wanted, names)


def _rows(read: TableRows, rows: np.ndarray[Any, np.dtype[np.int64]]) -> TableRows:
    return read._replace(table=read.table.take(pa.array(rows)), rows=read.rows[rows])


# --- watch ---


def replay(engine: Watch, batches: Iterable[InputBatch], seq: str | None, run: CommandRun) -> list[Notification]:
    """Brings the graph to where it stood after an update; what that update reported."""
    try:
        wanted = None if seq is None else int(seq)
    except ValueError as error:
        raise UsageError("HG-034", f"--publication {seq} is no seq", fix="give the number of an update") from error
    last: list[Notification] = []
    for items in _pieces(engine, batches, wanted):
        outcome = engine.publish(items, witness=True)
        run.reject(outcome.rejected)
        last = list(outcome) or last
        if wanted is not None and (engine.seq or 0) >= wanted:
            break
    if wanted is not None and engine.seq != wanted:
        stands = "there is no update" if engine.seq is None else f"the updates around it end at {engine.seq}"
        fix = f"{stands}; give the seq of one that was accepted"
        raise UsageError("HG-034", f"there is no update {wanted}", fix=fix)
    return [notification for notification in last if notification.publication_id == str(engine.seq)]


def _pieces(engine: Watch, batches: Iterable[InputBatch], wanted: int | None) -> Iterator[Any]:
    """The batches as long as they stay before the wanted update, then row by row."""
    met = 0
    for batch in batches:
        met += batch.size
        if wanted is None or not isinstance(batch.items, TableRows) or _highest(engine, batch.items, met) < wanted:
            yield batch.items
            continue
        yield from (_rows(batch.items, np.array([row])) for row in range(batch.size))


def _highest(engine: Watch, read: TableRows, met: int) -> int:
    """A bound on the seqs of these rows: those given, their positions, or the numbers after the last."""
    given = pc.max(read.table["seq"]).as_py() or 0
    return max(given, met + len(read.rejected), int(read.rows.max(initial=0)), (engine.seq or 0) + read.table.num_rows)


# --- the commands ---

explain_app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Why a subscription matched a publication, or why not."
)


@dataclass(frozen=True, slots=True)
class ExplainedPair:
    """The two that are asked about."""

    subscription: Annotated[str, option("--subscription ID", "The subscription's id; for route, the node's.")]
    publication: Annotated[str, option("--publication ID", "The publication's id; for route, the event's.")]
    as_json: Annotated[bool, option("--json", "Print JSON in place of text.")] = False


@dataclass(frozen=True, slots=True)
class ExplainFilter:
    publications: PublicationsOption
    pair: ExplainedPair
    interests: InterestOptions


@dataclass(frozen=True, slots=True)
class ExplainWatch:
    evolution: Evolution
    interests: InterestOptions
    subscription: Annotated[str, option("--subscription ID", "The subscription's id.")]
    publication: Annotated[
        str | None,
        option("--publication SEQ", "The state after this update; none means after the last."),
    ] = None
    as_json: Annotated[bool, option("--json", "Print JSON in place of text.")] = False


@dataclass(frozen=True, slots=True)
class ExplainRoute:
    exchange: ExchangeOptions
    events: EventsOption
    pair: ExplainedPair


@explain_app.command("filter")
@takes(ExplainFilter)
def explain_filter(options: ExplainFilter) -> None:
    """Which edge or constraint of a subscription failed on a document, or what it was bound to."""
    from heliograph.filter import Filter

    pair = options.pair
    once(options.interests, options.publications)
    with CommandRun(OutputOptions()) as run:
        prefixes, taxonomy = read_context(options.interests, run)
        engine = Filter(taxonomy, prefixes=prefixes, algorithm="indexed")
        asked = AskedSubscription(pair.subscription, alone=True)
        subscribe(asked.before(engine), options.interests, run)
        asked.check(run)
        batches = read_publications(options.publications, engine.vocabulary, prefixes, run)
        publication = find_publication(batches, pair.publication, "publication")
    _print(engine.explain(pair.subscription, publication), pair.as_json)


@explain_app.command("watch")
@takes(ExplainWatch)
def explain_watch(options: ExplainWatch) -> None:
    """How much of a query holds after an update, what is missing, and which update would complete it."""
    once(options.interests, options.evolution.graph, options.evolution.updates)
    with CommandRun(OutputOptions()) as run:
        asked = AskedSubscription(options.subscription, alone=False)  # a top-k set is known only as a whole
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
    pair = options.pair
    once(options.exchange.nodes, options.exchange.edges, options.events)
    with CommandRun(OutputOptions()) as run:
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
