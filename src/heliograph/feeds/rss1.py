"""RSS 1.0 as the RDF it is: an item's publication holds the item's triples, what blank nodes reach from it, and its
channel with title and link (and, of the channel's list of items, the part that names this one).

pyoxigraph reads each run of items inside the feed's root. It writes an item's triples one after the other, its type
first, so a run falls apart into its items; where it does not, or cannot be read, items are read one by one. Dates become
`xsd:dateTime`. Triples are kept as the texts that pyoxigraph writes, each with a space behind it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pyoxigraph import Quad, RdfFormat, parse

from heliograph.errors import DocumentError
from heliograph.feeds import guards
from heliograph.feeds.channel import Surroundings
from heliograph.feeds.dates import as_datetime
from heliograph.feeds.dialects import RSS, RSS_AS_RDF
from heliograph.feeds.feed import Feed, Parsed
from heliograph.feeds.fragments import wrap
from heliograph.feeds.mapping import DATES
from heliograph.feeds.syntaxes import base_of, complaint, written
from heliograph.terms import RDF
from heliograph.values import XSD_DATETIME

SPARE = 1_000_000  # triples that items may share through blank nodes, besides eight times those of the feed

_TYPE = f"<{RDF}type> "
_SEQ = f"<{RDF}Seq> "
_MEMBER = f"<{RDF}_"
_ITEM, _CHANNEL, _ITEMS = f"<{RSS}item> ", f"<{RSS}channel> ", f"<{RSS}items> "
_TITLE, _LINK = f"<{RSS}title> ", f"<{RSS}link> "
_DATES = {f"<{name}> " for name in DATES}
_XML = "http://www.w3.org/XML/1998/namespace"

Fact = tuple[str, str]
Triple = tuple[str, str, str]


class Item(NamedTuple):
    """An item: its id, its node, what is said of it, and where it stands."""

    id: str
    node: str
    facts: list[Fact]
    position: int


class Listing(NamedTuple):
    """A channel, and by which member of its list it names an item."""

    channel: str
    list: str = ""
    member: str = ""


class Rss1:
    """Collects the items of one feed, then makes their publications."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        scope = {prefix: RSS if uri in RSS_AS_RDF else uri for prefix, uri in feed.scope.items()}
        kept = {"base": feed.root.attributes.get(f"{_XML} base"), "lang": feed.root.attributes.get(f"{_XML} lang")}
        attributes = {f"xml:{name}": value for name, value in kept.items() if value is not None}
        self._wrapper = wrap(scope | {"heliograph-rdf": RDF}, "", "heliograph-rdf:RDF", attributes)
        self._items: list[Item] = []
        self._known: set[str] = set()
        self._facts: dict[str, list[Fact]] = defaultdict(list)  # of blank nodes, and of all nodes outside of items
        self._count = 0

    # --- items --------------------------------------------------------------------------------------------------

    def take(self, run: Sequence[Parsed]) -> None:
        """Reads a run of items; those that are no RDF, or whose id is known, are refused."""
        parts = self._parts(run)
        for good, triples in zip(run, parts if parts is not None else map(self._alone, run), strict=True):
            if triples:
                self._add(good, triples)

    def _parts(self, run: Sequence[Parsed]) -> list[list[Triple]] | None:
        """The triples of each item of a run; None if it does not fall apart as it should."""
        try:
            triples = self._triples(b"\n".join(map(self._text, run)))
        except (SyntaxError, DocumentError):
            return None
        starts = [row for row, triple in enumerate(triples) if triple[1] == _TYPE and triple[2] == _ITEM]
        if len(starts) != len(run):
            return None
        return [triples[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]

    def _alone(self, good: Parsed) -> list[Triple]:
        name = self._feed.name_of(good.number)
        try:
            return self._triples(self._text(good))
        except SyntaxError as error:
            fix = "mend the item; the others were read"
            self._feed.refuse(DocumentError("HG-316", f"no RDF: {complaint(error)}", fix=fix), name, good.span.start)
        except DocumentError as error:
            self._feed.refuse(error, name, good.span.start)
        return []

    def _text(self, good: Parsed) -> bytes:
        return good.mended or self._feed.document.data[good.span.start : good.span.end]

    def _triples(self, text: bytes) -> list[Triple]:
        document = self._wrapper.opening + text + self._wrapper.closing
        guards.check_xml(document)
        return _split(parse(document, format=RdfFormat.RDF_XML, base_iri=base_of(self._feed.document.name)))

    def _add(self, good: Parsed, triples: list[Triple]) -> None:
        node = triples[0][0]
        facts = [(predicate, value) for subject, predicate, value in triples if subject == node]
        name = self._feed.name_of(good.number)
        id = node[1:-2] if node[0] == "<" else next((_plain(o) for p, o in facts if p == _LINK), "") or name
        if id in self._known:
            self._feed.refuse(duplicate(id), id, good.span.start)
            return
        self._known.add(id)
        self._items.append(Item(id, node, facts, good.span.start))
        self._count += len(triples)
        for subject, predicate, value in triples:
            if subject[0] == "_" and subject != node:
                self._facts[subject].append((predicate, value))

    # --- publications -------------------------------------------------------------------------------------------

    def publications(self, around: Surroundings, is_whole: bool) -> Iterator[tuple[str, list[Triple]]]:
        """Each item's id and triples. `around` is the feed without its items; a break in it has been reported."""
        listings, first = self._channels(self._outside(around, is_whole))
        spare = SPARE + 8 * self._count
        for item in self._items:
            triples = [(item.node, *fact) for fact in item.facts + self._facts.get(item.node, [])]
            reached = self._reached(triples, spare)
            spare -= len(reached)
            if spare < 0:
                fix = "name the node that they share with rdf:about"
                error = DocumentError("HG-313", "an item that reaches too many triples through blank nodes", fix=fix)
                self._feed.refuse(error, item.id, item.position)
                continue
            listing = listings.get(item.node, first)
            channel = [] if listing is None else self._channel(listing, item.node)
            yield item.id, [*map(_dated, triples), *map(_dated, reached), *channel]

    def _outside(self, around: Surroundings, is_whole: bool) -> list[Triple]:
        """What is said outside of the items, up to where it cannot be read."""
        text = around.text
        for namespace in RSS_AS_RDF[1:]:
            text = text.replace(f'"{namespace}"'.encode(), f'"{RSS}"'.encode())
        quads: list[Quad] = []
        try:
            guards.check_xml(text)
            for quad in parse(text, format=RdfFormat.RDF_XML, base_iri=base_of(self._feed.document.name)):
                quads.append(quad)
        except (SyntaxError, DocumentError) as error:
            if is_whole:
                message = complaint(error) if isinstance(error, SyntaxError) else error.message
                fix = "mend it; the items were read, the channel up to this place"
                self._feed.refuse(DocumentError("HG-315", message, fix=fix), None, self._feed.root.start)
        return _split(quads)

    def _channels(self, outside: list[Triple]) -> tuple[dict[str, Listing], Listing | None]:
        """Which channel lists which item, and the channel of those that none lists."""
        for subject, predicate, value in outside:
            self._facts[subject].append((predicate, value))
        self._count += len(outside)
        channels = [subject for subject, predicate, value in outside if (predicate, value) == (_TYPE, _CHANNEL)]
        listings: dict[str, Listing] = {}
        for channel in channels:
            for list_ in (value for predicate, value in self._facts[channel] if predicate == _ITEMS):
                for predicate, value in self._facts.get(list_, []):
                    if predicate.startswith(_MEMBER):
                        listings.setdefault(value, Listing(channel, list_, predicate))
        return listings, Listing(channels[0]) if channels else None

    def _channel(self, listing: Listing, item: str) -> list[Triple]:
        node = listing.channel
        said = [(node, p, o) for p, o in self._facts[node] if p in (_TITLE, _LINK)]
        named = [(node, _ITEMS, listing.list), (listing.list, _TYPE, _SEQ), (listing.list, listing.member, item)]
        return [(node, _TYPE, _CHANNEL), *said, *(named if listing.list else [])]

    def _reached(self, triples: list[Triple], limit: int) -> list[Triple]:
        """What blank nodes reach from these triples, at most a little more than `limit`."""
        reached: list[Triple] = []
        seen = {triples[0][0]}
        stack = [value for _, _, value in triples if value[0] == "_"]
        while stack and len(reached) <= limit:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                reached += [(node, *fact) for fact in self._facts.get(node, [])]
                stack += [value for _, value in self._facts.get(node, []) if value[0] == "_"]
        return reached


def duplicate(id: str) -> DocumentError:
    return DocumentError(
        "HG-312", f"a second item with the id {id[:200]}", fix="give each item of a feed an id of its own"
    )


def _split(quads: Sequence[Quad] | Iterator[Quad]) -> list[Triple]:
    lines = b"".join(written(quads)).decode().split("\n")[:-1]
    parts = (line.split(" ", 2) for line in lines)
    return [(f"{subject} ", f"{predicate} ", rest[:-1]) for subject, predicate, rest in parts]


def _plain(text: str) -> str:
    """The value of a plain literal without escapes, else nothing."""
    return text[1:-2] if text[0] == text[-2] == '"' and "\\" not in text else ""


def _dated(triple: Triple) -> Triple:
    if triple[1] not in _DATES:
        return triple
    written_date = as_datetime(_plain(triple[2]))
    return triple if written_date is None else (triple[0], triple[1], f'"{written_date}"^^<{XSD_DATETIME}> ')
