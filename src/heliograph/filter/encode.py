"""Encode: whatever was published becomes one batch of interned publications; and what strategies and matches are."""

from __future__ import annotations

import json
import logging
import sys
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.compiled.growing import ragged
from heliograph.errors import HeliographError, PublicationError, SubscriptionError, UsageError, own_failure
from heliograph.filter import layout as filter_layout
from heliograph.filter.segment import Segment
from heliograph.io.publications import Publications, RowGroups, Triples, group_rows, rebase
from heliograph.io.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, find_sources
from heliograph.io.tables import TableRows, as_table, numbered
from heliograph.model import Explanation, MessageLimit, Rejected, Rejections, SubscriptionCost
from heliograph.partition.plan import Plan
from heliograph.sparql.solve import Graph, World, world
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Position
from heliograph.vocabulary import CellIds, Vocabulary

# ----------------------------------------------------------------------------------------------------------------------
# The options column, as far as a filter is concerned: JSON whose keys are those of the contract.
#
# They tell a watch when to notify; a filter notifies of each match once, so it checks them and otherwise lets them
# be.
# ----------------------------------------------------------------------------------------------------------------------

KEYS = ("mode", "hysteresis", "max_matches_per_update", "initial", "top_k_of")


def check_options(subscription: Subscription) -> None:
    """Raises where the options are no JSON object, or name something unknown."""
    if not subscription.options:
        return
    try:
        given = json.loads(subscription.options)
    except (ValueError, RecursionError) as error:
        raise _no_object(f"options that are not JSON: {error}") from error
    if not isinstance(given, dict):
        raise _no_object(f"options that are no JSON object: {subscription.options[:60]}")
    unknown = sorted(set(given) - set(KEYS))
    if unknown:
        names = ", ".join(repr(name[:60]) for name in unknown)
        raise SubscriptionError("HG-521", f"unknown option {names}", fix=f"the options are {', '.join(KEYS)}")


def _no_object(message: str) -> SubscriptionError:
    return SubscriptionError("HG-520", message, fix='write an object such as {"mode": "change"}')


# ----------------------------------------------------------------------------------------------------------------------
# The subscriptions of matches: a plain list of them, or those that stand in the segments of an index.
# ----------------------------------------------------------------------------------------------------------------------

_FEW = 8  # of so many subscriptions fewer than one matches: then only those that do are looked at


class Named(NamedTuple):
    """Ids and subscribers of some subscriptions, and for each match which of them it is."""

    numbers: npt.NDArray[np.int64]
    ids: pa.Array[Any]
    subscribers: pa.Array[Any]

    @classmethod
    def of(cls, numbers: npt.NDArray[np.int64], entries: list[Subscription]) -> Self:
        ids, subscribers = ([getattr(entry, name) for entry in entries] for name in ("id", "subscriber"))
        return cls(numbers, pa.array(ids, pa.string()), pa.array(subscribers, pa.string()))


class Roster(ABC):
    """Subscriptions by their places."""

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def subscriptions(self, places: npt.NDArray[np.int64]) -> list[Subscription]: ...

    @abstractmethod
    def numbers(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The numbers of those at these places, in the order of subscribing."""
        ...

    @abstractmethod
    def everybody(self) -> list[Subscription]: ...

    def named(self, places: npt.NDArray[np.int64]) -> Named:
        """Those at these places by name; what few matches cost does not grow with the subscriptions."""
        if len(places) * _FEW >= len(self):
            return Named.of(places, self.everybody())
        own, numbers = np.unique(places, return_inverse=True)
        return Named.of(numbers, self.subscriptions(own))


@dataclass(frozen=True, slots=True)
class Listed(Roster):
    """Subscriptions one by one; the place of each is its number in the list."""

    entries: list[Subscription]

    def subscriptions(self, places: npt.NDArray[np.int64]) -> list[Subscription]:
        return [self.entries[place] for place in places.tolist()]

    def numbers(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.array([self.entries[place].number for place in places.tolist()], np.int64)

    def __len__(self) -> int:
        return len(self.entries)

    def everybody(self) -> list[Subscription]:
        return self.entries


@dataclass(frozen=True, slots=True)
class Segmented(Roster):
    """Subscriptions of segments end to end, each in order of subscribing."""

    segments: tuple[Segment, ...]

    def subscriptions(self, places: npt.NDArray[np.int64]) -> list[Subscription]:
        which, inside = self._inside(places)
        pairs = zip(which.tolist(), inside.tolist(), strict=True)
        return [self.segments[number].owners[place] for number, place in pairs]

    def _inside(self, places: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The segment of each place, and its place there."""
        ends = np.cumsum([len(segment) for segment in self.segments])
        which = np.searchsorted(ends, places, side="right")
        return which, places - np.append(0, ends)[which]

    def numbers(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        which, inside = self._inside(places)
        numbers = np.zeros(len(places), np.int64)
        for number, segment in enumerate(self.segments):
            rows = np.flatnonzero(which == number)
            numbers[rows] = segment.index.numbers[segment.by_number[inside[rows]]]
        return numbers

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    def everybody(self) -> list[Subscription]:
        return list(chain.from_iterable(segment.owners for segment in self.segments))


# ----------------------------------------------------------------------------------------------------------------------
# The strategy behind a filter: which subscriptions could a publication match, and which of those do.
#
# The law that every strategy keeps: a version's matches are exactly the subscriptions that match, whatever the
# strategy; only the number of candidates differs. A strategy either takes whole batches (`Version`) or looks at one
# subscription and one publication at a time (`Pairwise`), which `filter.pairwise` turns into the former.
# ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Publication:
    """A document graph that was published, ready to be asked."""

    id: str
    world: World


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches by publication, then in order of subscribing."""

    publication: npt.NDArray[np.int64]  # its number in the batch
    place: npt.NDArray[np.int64]  # of the subscription in the roster
    roster: Roster
    subscriptions: int = 0  # that were subscribed
    counted: bool = False  # whether a count is among them, which is always shown
    candidates: int = 0
    lookup_ns: int = 0
    verify_ns: int = 0
    slow: Callable[[], Iterable[SubscriptionCost]] = field(default=tuple)


class Version(Protocol):
    """The subscriptions as they were at one moment; later changes do not touch it."""

    def __len__(self) -> int: ...

    def match(self, publications: Publications, failures: Failures) -> Matches:
        """The matches; a subscription that fails is added to `failures`, one that is among them is not asked."""
        ...


class Pairwise(Protocol):
    """A version of a strategy that looks at pairs."""

    def __len__(self) -> int: ...

    def candidates(self, publication: Publication) -> Iterator[Subscription]:
        """The subscriptions that could match, in order of subscribing."""
        ...

    def verify(self, subscription: Subscription, publication: Publication) -> bool:
        """Whether a candidate does match."""
        ...


class Located(NamedTuple):
    """A subscription in an index: its segment, which member of that it is, and what is to be said about that."""

    segment: Segment
    member: int
    notes: tuple[str, ...] = ()


class Matcher(Protocol):
    """Keeps subscriptions so that candidates are found fast. One writer at a time; any number of versions."""

    def insert(self, subscriptions: Sequence[Subscription]) -> bool:
        """Adds subscriptions; whether it now has what it needs of their queries."""
        ...

    def remove(self, subscriptions: Iterable[Subscription]) -> None: ...

    def version(self) -> Version: ...

    def whole(self) -> Segment | None:
        """What is alive as one segment, if there is an index of anything; to be asked while nobody writes."""
        ...

    def planned(self) -> Plan | None:
        """The plan that it runs, if it does."""
        ...

    def locate(self, subscription: Subscription) -> Located | None:
        """Where a subscription stands in the index, if there is one."""
        ...

    def adopt(self, segment: Segment) -> None:
        """Takes over the subscriptions of a segment, before any other."""
        ...


class PairMatcher(Protocol):
    """The same for a strategy that looks at pairs."""

    def insert(self, subscriptions: Sequence[Subscription]) -> None: ...

    def remove(self, subscriptions: Iterable[Subscription]) -> None: ...

    def version(self) -> Pairwise: ...


# ----------------------------------------------------------------------------------------------------------------------
# Subscriptions that fail inside a publish: each is reported as an error of its own and put aside, the others go on.
#
# The laws: what one subscription does changes no notification of another. One that failed has no notification of that
# call nor of a later one, until it is unsubscribed, or the filter is loaded anew. What is no subscription's
# own failure, such as a lack of memory, is raised.
# ----------------------------------------------------------------------------------------------------------------------

_LOG = logging.getLogger("heliograph")

Aside = dict[int, Rejected]  # by number, what was said when it failed; publishers add, the writer takes out


class Failures:
    """Those of one call, and through `aside` those of all calls of an engine."""

    def __init__(self, aside: Aside | None = None) -> None:
        self._aside: Aside = {} if aside is None else aside
        self.rejected: list[Rejected] = []

    def __contains__(self, number: int) -> bool:
        """Whether a subscription is put aside."""
        return number in self._aside

    def add(self, subscription: Subscription, error: Exception) -> None:
        """Puts a subscription aside. To be called where it alone was at work; a lack of memory is raised again."""
        if isinstance(error, MemoryError):
            raise error
        told = Rejected.of(own_failure(f"subscription {subscription.id!r}", error), "subscriptions", subscription.id)
        self.rejected.append(told)
        if self._aside.setdefault(subscription.number, told) is told:
            _LOG.warning("%s: %s", told.code, told.message, exc_info=error)

    def kept(self, matches: Matches) -> npt.NDArray[np.bool_] | None:
        """Which matches are of subscriptions that are not put aside; None where all are."""
        if not self._aside or not len(matches.place):
            return None
        numbers = matches.roster.numbers(matches.place)
        kept: npt.NDArray[np.bool_] = ~np.isin(numbers, np.array(list(self._aside), np.int64))
        return None if kept.all() else kept


def explain_aside(subscription: Subscription, publication_id: str, told: Rejected) -> Explanation:
    """Why a subscription that is put aside matches nothing."""
    return Explanation(
        verb="filter",
        subscription_id=subscription.id,
        publication_id=publication_id,
        matched=False,
        summary=f"{publication_id} does not match {subscription.id}: {told.message}",
        failed=told.message,
    )


# ----------------------------------------------------------------------------------------------------------------------
# Encode: whatever was published becomes one batch of interned publications, and what is wrong is set aside.
#
# The law: each row becomes a triple of its publication or a rejection, by itself. All rows with one id in one call
# are one publication, wherever they lie; publications come in the order of their first row, and one of which nothing
# is left is not published.
# ----------------------------------------------------------------------------------------------------------------------

_DOCUMENTS = DOCUMENT_SUFFIXES + FEED_SUFFIXES
_COLUMNS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}
_NAMES = ["publication_id", *_COLUMNS]


class Batch(NamedTuple):
    """Publications in order of arrival, and what was refused of them."""

    publications: Publications
    rejected: tuple[Rejected, ...] = ()


def encode(items: Any, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Batch:
    """Items, a table or already interned publications as one batch; the vocabulary does not grow."""
    return _within_limits(_encode(items, vocabulary, prefixes))


def _encode(items: Any, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Batch:
    if isinstance(items, Publications):
        return Batch(rebase(items, vocabulary))
    if isinstance(items, (str, Path)) and str(items).endswith(_DOCUMENTS):
        return _encode_documents(str(items), vocabulary)
    if isinstance(items, TableRows):
        return _encode_rows(items, vocabulary, prefixes)
    return _encode_rows(_texts(items) or as_table("publications", items), vocabulary, prefixes)


def _within_limits(batch: Batch) -> Batch:
    """The batch without publications that are larger than a search can hold; too many of them are refused together."""
    publications = batch.publications
    if len(publications.ids) > filter_layout.MOST_PUBLICATIONS:
        raise UsageError(
            "HG-646",
            f"{len(publications.ids)} publications in one call",
            fix=f"publish at most {filter_layout.MOST_PUBLICATIONS} at a time",
        )
    if publications.offsets[-1] <= filter_layout.MOST_EDGES:
        return batch
    sizes = np.diff(publications.offsets)
    fits = sizes <= filter_layout.MOST_EDGES
    kept = np.flatnonzero(fits)
    rows, offsets = ragged(publications.offsets, kept)
    triples = Triples(*(column[rows] for column in publications.triples))
    rejected = (_too_large(publications.ids[row], int(sizes[row])) for row in np.flatnonzero(~fits).tolist())
    ids = tuple(publications.ids[row] for row in kept.tolist())
    return Batch(publications._replace(ids=ids, offsets=offsets, triples=triples), (*batch.rejected, *rejected))


def _too_large(id: str, size: int) -> Rejected:
    fix = f"publish at most {filter_layout.MOST_EDGES} triples under one id"
    return Rejected.of(PublicationError("HG-645", f"a publication of {size} triples", fix=fix), "publications", id)


def _texts(items: Any) -> TableRows | None:
    """An Arrow table whose columns are texts, plain or encoded: only their distinct cells need a look."""
    table = pa.Table.from_batches([items]) if isinstance(items, pa.RecordBatch) else items
    if not isinstance(table, pa.Table) or any(table.column_names.count(name) != 1 for name in _NAMES):
        return None
    ids, *terms = (table[name] for name in _NAMES)
    if not all(_is_text(column.type) for column in (ids, *terms)):
        return None
    columns = [ids, *(column.dictionary_encode() for column in terms)]
    try:
        for column in columns:
            column.validate(full=True)
    except pa.ArrowInvalid:  # which rows to reject for that is `as_table`'s to say
        return None
    return TableRows(None, pa.table(columns, names=_NAMES), Rejections(), numbered(1, table.num_rows))


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _encode_rows(read: TableRows, vocabulary: Vocabulary, prefixes: Mapping[str, str]) -> Batch:
    overlay = vocabulary.overlay()
    cells = {name: overlay.intern_cells(read.table[name], at, prefixes) for name, at in _COLUMNS.items()}
    groups = group_rows(read.table, "publication_id")
    problems = _problems(groups, cells)
    limits: dict[str | None, MessageLimit] = defaultdict(MessageLimit)
    rejected = (_reject(read, index, *problems[index], limits) for index in sorted(problems))
    columns = Triples(*(cells[name].ids for name in _COLUMNS))
    return Batch(_publications(groups, columns, overlay, list(problems)), (*read.rejected, *rejected))


def _encode_documents(spec: str, vocabulary: Vocabulary) -> Batch:
    """The publications of RDF documents or feeds, by path or glob."""
    from heliograph.io.documents import read_documents

    overlay = vocabulary.overlay()
    batches = list(read_documents(find_sources(spec, _DOCUMENTS), overlay, batch=sys.maxsize))
    publications = batches[0].publications if batches else Publications.none(overlay)
    return Batch(publications, tuple(batches[0].rejected) if batches else ())


def decode(publications: Publications, taxonomy: Taxonomy) -> Iterator[Publication]:
    """Each publication as a graph of terms, its triples in their order."""
    term = publications.vocabulary.term
    rows = zip(*(column.tolist() for column in publications.triples), strict=True)
    triples = [(term(s), term(p), term(o)) for s, p, o in rows]
    bounds = publications.offsets.tolist()
    for number, publication_id in enumerate(publications.ids):
        graph = Graph(triples[bounds[number] : bounds[number + 1]])
        yield Publication(publication_id, world(graph, taxonomy))


def _problems(groups: RowGroups, cells: Mapping[str, CellIds]) -> dict[int, tuple[str, HeliographError]]:
    """The first thing wrong with each bad row: the column, and the error."""
    unnamed = PublicationError("HG-601", "no publication_id", fix="name the publication that the triple is of")
    problems: dict[int, tuple[str, HeliographError]] = {}
    for number in [number for number, id in enumerate(groups.ids) if not id]:
        rows = groups.permutation[groups.offsets[number] : groups.offsets[number + 1]]
        problems |= dict.fromkeys(rows.tolist(), ("publication_id", unnamed))
    for name, column in cells.items():
        for index, refused in column.errors:
            problems.setdefault(index, (name, refused))
    return problems


def _reject(
    read: TableRows, index: int, column: str, error: HeliographError, limits: Mapping[str | None, MessageLimit]
) -> Rejected:
    place, id = read.place(index), read.table["publication_id"][index].as_py()
    if not limits[place.source].allows(error.code):
        return Rejected(place.source or "publications", id or place.item, error.code, "")
    placed = type(error)(error.code, f"{error.message} in row {place.item}, column {column}", fix=error.fix)
    return Rejected.of(placed, place.source or "publications", id or place.item)


def _publications(groups: RowGroups, columns: Triples, vocabulary: Vocabulary, bad: list[int]) -> Publications:
    """The rows by publication without the bad ones; a publication of which nothing is left is none."""
    good = np.ones(len(groups.permutation), np.bool_)
    good[bad] = False
    kept = good[groups.permutation]
    sizes = np.diff(np.concatenate(([0], np.cumsum(kept)))[groups.offsets])
    ids = tuple(str(id) for id, size in zip(groups.ids, sizes.tolist(), strict=True) if size)
    offsets = np.concatenate(([0], np.cumsum(sizes[sizes > 0]))).astype(np.int64)
    rows = groups.permutation[kept]
    return Publications(vocabulary, ids, offsets, Triples(*(column[rows] for column in columns)))
