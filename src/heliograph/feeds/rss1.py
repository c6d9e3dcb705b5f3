"""RSS 1.0 as the RDF it is: an item's publication holds the item's triples, what blank nodes reach from it, and its
channel with title and link (and, of the channel's list of items, the part that names this one).

pyoxigraph reads runs of items inside the feed's root. It writes an item's triples one after the other, its type first,
so a run falls apart into its items; where it does not, or cannot be read, items are read one by one. Dates become
`xsd:dateTime`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pyoxigraph import Quad, RdfFormat, parse

from heliograph.errors import DocumentError
from heliograph.feeds import entries, guards
from heliograph.feeds.channel import Surroundings
from heliograph.feeds.dialects import RSS, RSS_AS_RDF
from heliograph.feeds.feed import Feed, Parsed
from heliograph.feeds.fragments import wrap
from heliograph.feeds.interning import Interner
from heliograph.feeds.lines import TRIPLES, split
from heliograph.feeds.mapping import DATES
from heliograph.feeds.places import shortened
from heliograph.feeds.prolog import SEPARATOR
from heliograph.feeds.rdf import interned
from heliograph.feeds.syntaxes import base_of, complaint, written
from heliograph.terms import RDF, RDF_TYPE, Term, TermKind, is_container_member
from heliograph.values import XSD_DATETIME

SPARE = 200_000  # triples that items may share through blank nodes, besides eight times those of the feed
_CHANNEL = 16  # triples of its channel that every item may hold; the others count as shared
_TOGETHER = 512  # items that pyoxigraph reads together

_DATE = re.compile(rb'(<(?:%b)>) "([^"\\]{4,64})" \.\n' % b"|".join(re.escape(name.encode()) for name in sorted(DATES)))
_SHORT = 1 << 14  # bytes of an item that holds nothing dangerous
_XML = "http://www.w3.org/XML/1998/namespace"

Fact = tuple[int, int]
Triple = tuple[int, int, int]


class Item(NamedTuple):
    """An item: its id, its node, what is said of it, and where it stands."""

    id: str
    node: int
    facts: list[Fact]
    position: int


class Listing(NamedTuple):
    """A channel, and by which member of its list it names an item."""

    channel: int
    list: int = -1
    member: int = -1


class Words(NamedTuple):
    """The ids of the terms that mean something here."""

    type: int
    item: int
    channel: int
    items: int
    seq: int
    title: int
    link: int


class Rss1:
    """Collects the items of one feed, then makes their publications."""

    def __init__(self, feed: Feed, interner: Interner) -> None:
        self._feed = feed
        self._interner = interner
        self._base = base_of(feed.document.name)
        scope = {prefix: RSS if uri in RSS_AS_RDF else uri for prefix, uri in feed.scope.items()}
        kept = {
            "base": feed.root.attributes.get(f"{_XML}{SEPARATOR}base"),
            "lang": feed.root.attributes.get(f"{_XML}{SEPARATOR}lang"),
        }
        attributes = {f"xml:{name}": value for name, value in kept.items() if value is not None}
        self._wrapper = wrap(scope | {"heliograph-rdf": RDF}, "", "heliograph-rdf:RDF", attributes)
        own = (entries.ITEM, entries.CHANNEL, entries.ITEMS, entries.SEQ, entries.TITLE, entries.LINK)
        self._words = Words(*interner.vocabulary.intern_many((RDF_TYPE, *own)))
        self._waiting: list[Parsed] = []
        self._items: list[Item] = []
        self._known: set[str] = set()
        self._facts: dict[int, list[Fact]] = defaultdict(list)  # of blank nodes, and of all nodes outside of items
        self._count = 0

    # --- items --------------------------------------------------------------------------------------------------

    def take(self, run: Sequence[Parsed]) -> None:
        """Takes a run of items; those that are no RDF, or whose id is known, are refused."""
        self._waiting += run
        if len(self._waiting) >= _TOGETHER:
            self._read_waiting()

    def _read_waiting(self) -> None:
        run, self._waiting = self._waiting, []
        for good, triples in zip(run, self._read(run), strict=True):
            if triples:
                self._add(good, triples)

    def _read(self, run: Sequence[Parsed]) -> list[list[Triple]]:
        """The triples of each item of a run. One that does not fall apart is halved: so a bad item costs little."""
        parts = self._parts(run) if len(run) != 1 else None
        if parts is not None:
            return parts
        middle = len(run) // 2
        return [*self._read(run[:middle]), *self._read(run[middle:])] if middle else [self._alone(run[0])]

    def _parts(self, run: Sequence[Parsed]) -> list[list[Triple]] | None:
        """The triples of each item of a run; None if it does not fall apart as it should."""
        if not run:
            return []
        texts = [self._text(good) for good in run]
        try:
            for text in filter(_may_be_deep, texts):
                guards.check_xml(text)
            triples = self._triples(b"\n".join(texts))
        except (SyntaxError, DocumentError):
            return None
        start = (self._words.type, self._words.item)
        starts = [row for row, triple in enumerate(triples) if triple[1:] == start]
        if len(starts) != len(run):
            return None
        return [triples[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]

    def _alone(self, good: Parsed) -> list[Triple]:
        name = self._feed.name_of(good.number)
        text = self._text(good)
        try:
            if _may_be_deep(text):
                guards.check_xml(text)
            return self._triples(text)
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
        return self._interned(parse(document, format=RdfFormat.RDF_XML, base_iri=self._base))

    def _interned(self, quads: Iterable[Quad]) -> list[Triple]:
        lines = _DATE.sub(self._dated, b"".join(written(quads)))
        if not lines:
            return []
        feed = self._feed
        codes = interned([split(lines, TRIPLES)], TRIPLES, self._interner, feed.document.name, feed.rejected).codes
        return list(map(tuple, codes[:, :3].tolist()))

    def _dated(self, match: re.Match[bytes]) -> bytes:
        """A date as a dateTime, which needs no reading any more."""
        term = entries.date(match[2].decode())
        if term.datatype != XSD_DATETIME:
            return match[0]
        text = f'"{term.value}"^^<{XSD_DATETIME}> '
        self._interner.ready[text] = term
        return match[1] + b" " + text.encode() + b".\n"

    def _add(self, good: Parsed, triples: list[Triple]) -> None:
        node = triples[0][0]
        facts = [triple[1:] for triple in triples if triple[0] == node]
        id = self._id(self._term(node), facts) or self._feed.name_of(good.number)
        if id in self._known:
            self._feed.refuse(duplicate(id), id, good.span.start)
            return
        self._known.add(id)
        self._items.append(Item(id, node, facts, good.span.start))
        self._count += len(triples)
        if len(facts) < len(triples):
            for subject, *fact in triples:
                if subject != node and self._is_blank(subject):
                    self._facts[subject].append((fact[0], fact[1]))

    def _term(self, id: int) -> Term:
        return self._interner.vocabulary.term(id)

    def _is_blank(self, id: int) -> bool:
        return self._term(id).kind is TermKind.BLANK

    def _id(self, node: Term, facts: list[Fact]) -> str:
        if node.kind is TermKind.IRI:
            return node.value
        return next((self._term(value).value for predicate, value in facts if predicate == self._words.link), "")

    # --- publications -------------------------------------------------------------------------------------------

    def publications(self, around: Surroundings, is_whole: bool) -> Iterator[tuple[str, list[Triple]]]:
        """Each item's id and triples. `around` is the feed without its items; a break in it has been reported."""
        self._read_waiting()
        listings, first = self._channels(self._outside(around, is_whole))
        spare = SPARE + 8 * self._count
        for item in self._items:
            triples = [(item.node, *fact) for fact in (*item.facts, *self._facts.get(item.node, ()))]
            reached = self._reached(item.node, triples, spare)
            listing = listings.get(item.node, first)
            channel = self._channel(listing, item.node) if listing and spare >= 0 else []
            spare -= len(reached) + max(0, len(channel) - _CHANNEL)
            if spare < 0:
                fix = "name the node that they share with rdf:about"
                error = DocumentError(
                    "HG-313", "an item that reaches too many triples through blank nodes or its channel", fix=fix
                )
                self._feed.refuse(error, item.id, item.position)
                continue
            yield item.id, [*triples, *reached, *channel]

    def _outside(self, around: Surroundings, is_whole: bool) -> list[Triple]:
        """What is said outside of the items, up to where it cannot be read."""
        text = around.text
        for namespace in RSS_AS_RDF[1:]:
            text = text.replace(f'"{namespace}"'.encode(), f'"{RSS}"'.encode())
        quads: list[Quad] = []
        try:
            guards.check_xml(text)
            quads.extend(parse(text, format=RdfFormat.RDF_XML, base_iri=self._base))
        except (SyntaxError, DocumentError, MemoryError) as error:
            if is_whole:
                message = error.message if isinstance(error, DocumentError) else complaint(error)
                fix = "mend it; the items were read, the channel up to this place"
                self._feed.refuse(DocumentError("HG-315", message, fix=fix), None, self._feed.root.start)
        return self._interned(quads)

    def _channels(self, outside: list[Triple]) -> tuple[dict[int, Listing], Listing | None]:
        """Which channel lists which item, and the channel of those that none lists."""
        words = self._words
        for subject, predicate, value in outside:
            self._facts[subject].append((predicate, value))
        self._count += len(outside)
        channels = [subject for subject, *fact in outside if fact == [words.type, words.channel]]
        listings: dict[int, Listing] = {}
        for channel in channels:
            for list_ in (value for predicate, value in self._facts[channel] if predicate == words.items):
                for predicate, value in self._facts.get(list_, ()):
                    if is_container_member(self._term(predicate)):
                        listings.setdefault(value, Listing(channel, list_, predicate))
        return listings, Listing(channels[0]) if channels else None

    def _channel(self, listing: Listing, item: int) -> list[Triple]:
        node, words = listing.channel, self._words
        said = [
            (node, predicate, value) for predicate, value in self._facts[node] if predicate in (words.title, words.link)
        ]
        if listing.list >= 0:
            said += [(node, words.items, listing.list), (listing.list, words.type, words.seq)]
            said += [(listing.list, listing.member, item)]
        return [(node, words.type, words.channel), *said]

    def _reached(self, node: int, triples: list[Triple], limit: int) -> list[Triple]:
        """What blank nodes reach from these triples, at most a little more than `limit`."""
        known = self._facts
        stack = [value for _, _, value in triples if value in known]
        reached: list[Triple] = []
        seen = {node}
        while stack and len(reached) <= limit:
            found = stack.pop()
            if found not in seen and self._is_blank(found):
                seen.add(found)
                reached += [(found, *fact) for fact in known[found]]
                stack += [value for _, value in known[found] if value in known]
        return reached


def duplicate(id: str) -> DocumentError:
    fix = "give each item of a feed an id of its own"
    return DocumentError("HG-312", f"a second item with the id {shortened(id)}", fix=fix)


def _may_be_deep(text: bytes) -> bool:
    """Elements cannot nest deeper than there are tags, nor have many attributes in few bytes."""
    return text.count(b"<") > 2 * guards.MAX_DEPTH or len(text) > _SHORT
