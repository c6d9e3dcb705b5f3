"""What lint reports, and what it looks at: subscriptions as they were given, compiled where that is possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from heliograph.errors import HeliographError, Place, SubscriptionError
from heliograph.io.schemas import TABLES
from heliograph.io.sources import collector_paused
from heliograph.io.tables import as_table
from heliograph.model import Rejected
from heliograph.sparql.query import Query
from heliograph.sparql.tables import compile_patterns
from heliograph.sparql.templates import compile_sparql
from heliograph.watch.options import Options, check_options, read_options

# ----------------------------------------------------------------------------------------------------------------------
# What lint tells: a subscription, what is odd about it, and the other one that this has to do with.
# ----------------------------------------------------------------------------------------------------------------------

TWICE = "HG-501"
SAME, NEVER, COVERED, APART = "HG-711", "HG-712", "HG-713", "HG-714"
PREDICTED, MEASURED = "HG-715", "HG-716"
UNSEEN_PROPERTY, UNSEEN_CLASS, UNBOUND = "HG-717", "HG-718", "HG-719"


class Finding(NamedTuple):
    """One row of the lint table."""

    subject_id: str
    code: str
    message: str
    related_id: str | None = None


def table_of(findings: Iterable[Finding]) -> pa.Table:
    """The findings as a table, in their order."""
    rows, schema = list(findings), TABLES["lint"].arrow
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


# ----------------------------------------------------------------------------------------------------------------------
# What is linted: subscriptions as they were given, compiled where that is possible.
#
# The laws: every subscription that was given is a subject, in the order of giving, also one that an engine would
# refuse. Watch reads all that filter reads, and more, so queries are read as a watch reads them. Options and `hg:`
# functions are for a watch alone, so what has them is checked as a watch checks it. Of those with one id the first
# that is not refused stands.
# ----------------------------------------------------------------------------------------------------------------------

_COLUMNS = ("subscription_id", "subscriber", "query", "options")
_DEFAULTS = Options()


class Subject(NamedTuple):
    """A subscription that was given, or what is wrong with it."""

    id: str
    subscriber: str | None
    query: Query | HeliographError
    options: str | None = None
    refusal: HeliographError | None = None  # why a watch would refuse what can be read


class Sound(NamedTuple):
    """A subscription that can be read, and its place among all that were given."""

    place: int
    id: str
    subscriber: str | None
    query: Query
    options: str | None
    stands: bool  # no engine refuses it


@dataclass(slots=True)
class Subjects:
    """The subscriptions of one or more calls."""

    prefixes: Mapping[str, str]
    given: list[Subject] = field(default_factory=list)

    def take(self, items: Any, patterns: Any, constraints: Any) -> list[Rejected]:
        """Adds what is given, as an engine would subscribe to it; the rows that could not be read at all."""
        refused: list[Rejected] = []
        with collector_paused():
            if items is not None:
                self.given += self._texts(items, refused)
            if patterns is not None:
                self.given += self._patterns(patterns, constraints, refused)
        return refused

    def sound(self) -> list[Sound]:
        """Those with an id and a query."""
        standing = self.standing()
        return [
            Sound(place, id, subscriber, query, options, place in standing)
            for place, (id, subscriber, query, options, _) in enumerate(self.given)
            if isinstance(query, Query)
        ]

    def standing(self) -> set[int]:
        """The places of those that an engine takes: of those with one id, the first."""
        taken: dict[str, int] = {}
        for place, each in enumerate(self.given):
            if each.refusal is None and isinstance(each.query, Query):
                taken.setdefault(each.id, place)
        return set(taken.values())

    def _texts(self, items: Any, refused: list[Rejected]) -> Iterator[Subject]:
        read = as_table("subscriptions", items)
        refused += read.rejected
        ids, subscribers, texts, options = (read.table[name].to_pylist() for name in _COLUMNS)
        queries = compile_sparql([text or "" for text in texts], verb="watch", prefixes=self.prefixes)
        for row, (id, subscriber, query, asked) in enumerate(zip(ids, subscribers, queries, options, strict=True)):
            if id:
                yield _subject(id, subscriber, query, asked)
            else:
                yield Subject("", subscriber, _nameless(read.place(row)), asked)

    def _patterns(self, patterns: Any, constraints: Any, refused: list[Rejected]) -> Iterator[Subject]:
        """A subscription of which a row was refused is left out, as an engine leaves it out."""
        read = as_table("patterns", patterns)
        limits = None if constraints is None else as_table("constraints", constraints)
        bad = [*read.rejected, *(() if limits is None else limits.rejected)]
        refused += bad
        spoilt = {row.item for row in bad}
        compiled = compile_patterns(read.table, None if limits is None else limits.table, self.prefixes)
        return (Subject(id, None, query) for id, query in compiled.items() if id not in spoilt)


def _subject(id: str, subscriber: str | None, query: Query | HeliographError, options: str | None) -> Subject:
    """The subscription, with what is wrong with its query or its options."""
    if isinstance(query, HeliographError) or not (options or query.metrics):
        return Subject(id, subscriber, query, options)
    try:
        asked = read_options(options, _DEFAULTS)
    except HeliographError as error:
        return Subject(id, subscriber, error, options)
    return Subject(id, subscriber, query, options, _refusal(asked, query))


def _refusal(options: Options, query: Query) -> HeliographError | None:
    try:
        check_options(options, query)
    except HeliographError as error:
        return error
    return None


def _nameless(place: Place) -> HeliographError:
    return SubscriptionError("HG-503", "a subscription without an id", place=place, fix="write one in subscription_id")
