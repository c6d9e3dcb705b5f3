"""What stands around the items of a feed: the channel, with its title and link, as far as it can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers import expat

from heliograph.errors import DocumentError
from heliograph.feeds.dialects import Kind
from heliograph.feeds.feed import MAX_CHANNEL, Feed
from heliograph.feeds.fragments import broken_at
from heliograph.feeds.iris import as_iri, resolved
from heliograph.feeds.items import Span
from heliograph.feeds.markup import alternate, content
from heliograph.feeds.mending import Mended, mend
from heliograph.terms import Term, blank, iri

XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"


class Channel(NamedTuple):
    """The channel of a feed; what is not known is empty."""

    node: Term
    title: str
    link: str


class Surroundings(NamedTuple):
    """A feed without its items: the mended pieces, and where they stood."""

    pieces: list[Mended]
    spans: list[Span]
    is_whole: bool  # nothing was left out

    @property
    def text(self) -> bytes:
        return b"".join(piece.text for piece in self.pieces)

    def position(self, offset: int) -> int:
        """Where the byte at `offset` of the text stands in the file."""
        for piece, span in zip(self.pieces, self.spans, strict=True):
            if offset <= len(piece.text):
                return span.start + piece.original(offset)
            offset -= len(piece.text)
        return self.spans[-1].end


def surroundings(feed: Feed) -> Surroundings:
    """The root's start tag and the gaps, without those that are too large to be any channel's."""
    spans = [Span(feed.root.start, feed.root.end)]
    size = 0
    for gap in feed.gaps:
        size += gap.end - gap.start
        if size > MAX_CHANNEL:
            fix = f"the limit around all items is {MAX_CHANNEL:,}; the items were read"
            error = DocumentError("HG-315", f"{gap.end - gap.start:,} bytes that belong to no item", fix=fix)
            feed.refuse(error, None, gap.start)
            size -= gap.end - gap.start
        else:
            spans.append(gap)
    pieces = [mend(feed.document.data[span.start : span.end]) for span in spans]
    return Surroundings(pieces, spans, len(spans) == len(feed.gaps) + 1)


def read_surroundings(feed: Feed, around: Surroundings) -> Element | None:
    """The tree around the items, up to where it breaks; the break is reported."""
    parser: Any = XMLPullParser(events=("start",))
    text = around.text
    root: Element | None = None
    try:
        parser.feed(text)
        for _, element in parser.read_events():
            root = element if root is None else root
        parser.close()
    except ParseError as error:
        if around.is_whole:
            _report(feed, around, text, error)
    return root


def _report(feed: Feed, around: Surroundings, text: bytes, error: ParseError) -> None:
    offset = broken_at(text)
    if offset >= len(text) and feed.rejected:
        return  # the file ends inside an item, which has been reported
    fix = "mend it there; the items were read, the channel up to this place"
    message = f"broken XML around the items: {expat.ErrorString(error.code) or 'not well-formed'}"
    feed.refuse(DocumentError("HG-315", message, fix=fix), None, around.position(offset))


def channel_of(feed: Feed, tree: Element | None) -> Channel:
    """The channel that the tree describes."""
    if tree is None:
        return Channel(blank("channel"), "", "")
    tag = feed.dialect.tag
    found = tree.find(tag("channel")) if feed.dialect.kind is Kind.RSS2 else None
    place = tree if found is None else found
    id = _first(place, tag("id"), content) if feed.dialect.kind is Kind.ATOM else ""
    link = resolved(
        place.get(XML_BASE, ""), _first(place, tag("link"), content) or _first(place, tag("link"), alternate)
    )
    address = as_iri(id) or as_iri(link)
    node = blank("channel") if address is None else iri(address)
    return Channel(node, _first(place, tag("title"), content), link)


def _first(place: Element, tag: str, read: Callable[[Element], str]) -> str:
    return next((value for child in place.findall(tag) if (value := read(child))), "")
