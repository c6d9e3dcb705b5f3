"""The items of a feed, each on its own: what is broken in one is refused with its place, and all others come through.

The feed is cut into runs of items, and each run is parsed. Where the parser refuses a run, or finds another number of
items in it, its items are cut out carefully and parsed one by one. What stands around them is left for the channel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from heliograph.errors import DocumentError
from heliograph.feeds.dialects import Dialect
from heliograph.feeds.fragments import MAX_ITEM, Fault, Good, Wrapper, parse_item, parse_run, too_large, wrap
from heliograph.feeds.items import Items, Span
from heliograph.feeds.mending import mend
from heliograph.feeds.opening import Document
from heliograph.feeds.places import Places
from heliograph.feeds.prolog import Root
from heliograph.model import Brief, Rejected

MAX_CHANNEL = 16 << 20  # bytes around the items
MAX_SCOPE, MAX_SCOPE_SIZE = 100, 8192  # namespaces of the head: each item that is parsed alone declares them anew


class Parsed(NamedTuple):
    """A good item: its number in the file, where it stands, its element, and its text where that had to be mended."""

    number: int
    span: Span
    element: Element
    mended: bytes | None = None


@dataclass
class Feed:
    """A feed while it is read. `scope` and `head` are the namespaces and the tree before the first item."""

    document: Document
    root: Root
    dialect: Dialect
    items: Items
    places: Places
    scope: dict[str, str] = field(default_factory=dict)
    head: Element | None = None
    gaps: list[Span] = field(default_factory=list)  # what stands around the items, and is not space
    rejected: list[Rejected] = field(default_factory=list)
    brief: Brief = field(default_factory=Brief)
    count: int = 0

    def name_of(self, number: int) -> str:
        """What an item without an id is called."""
        return f"{self.document.name}#{number}"

    def refuse(self, error: DocumentError, item: str | None, position: int) -> None:
        if not self.brief.wants(error.code):
            self.rejected.append(Rejected(self.document.name, item, error.code, ""))
            return
        error.place = self.places.at(position, item)
        self.rejected.append(Rejected.of(error, self.document.name, item))


def open_feed(document: Document, root: Root, dialect: Dialect) -> Feed:
    """A feed of which the head has been read, as far as it can be."""
    items = Items(document.data, dialect.names, dialect.parents)
    feed = Feed(document, root, dialect, items, Places(document.name, document.data))
    start = items.next_start(root.end)
    end = min(start if start >= 0 else len(document.data), root.start + MAX_CHANNEL)
    _read_head(feed, mend(document.data[root.start : end]).text)
    size = sum(len(prefix) + len(uri) for prefix, uri in feed.scope.items())
    if len(feed.scope) > MAX_SCOPE or size > MAX_SCOPE_SIZE:
        fix = f"the limits are {MAX_SCOPE} and {MAX_SCOPE_SIZE:,}; declare only those that are used"
        message = f"a head that declares {len(feed.scope):,} namespaces of {size:,} characters"
        raise DocumentError("HG-322", message, place=feed.places.at(root.start), fix=fix)
    return feed


def _read_head(feed: Feed, text: bytes) -> None:
    declared: list[tuple[str, str]] = []
    parser: Any = XMLPullParser(events=("start", "start-ns", "end-ns"))
    try:
        parser.feed(text)
        for event, value in parser.read_events():
            if event == "start-ns":
                declared.append(value)
            elif event == "end-ns":
                declared.pop()
            elif feed.head is None:
                feed.head = value
    except ParseError:  # reported with what stands around the items
        declared = [*feed.root.prefixes.items(), *declared]
    feed.scope = dict(declared)


def read_items(feed: Feed) -> Iterator[list[Parsed]]:
    """The good items, in runs; refusals and gaps are left in the feed."""
    items = feed.items
    wrapper = wrap(feed.scope, feed.dialect.tag(feed.dialect.item))
    position = feed.root.end
    start = items.next_start(position)
    while start >= 0:
        spans = items.run(start)
        parsed = _run(feed, spans, wrapper)
        if parsed is None:
            spans = list(items.careful_run(start, spans[-1].end if spans else start + 1))
            parsed = [good for span in spans if (good := _one(feed, span, wrapper)) is not None]
        yield parsed
        for span in spans:
            _note_gap(feed, position, span.start)
            position = span.end
        start = items.next_start(position)
    _note_gap(feed, position, len(feed.document.data))


def _note_gap(feed: Feed, start: int, end: int) -> None:
    if end - start > MAX_CHANNEL or feed.document.data[start:end].strip():
        feed.gaps.append(Span(start, end))


def _run(feed: Feed, spans: list[Span], wrapper: Wrapper) -> list[Parsed] | None:
    if not spans or spans[-1].end - spans[0].start > MAX_ITEM:
        return None
    elements = parse_run(feed.document.data[spans[0].start : spans[-1].end], len(spans), wrapper)
    if elements is None:
        return None
    first = feed.count + 1
    feed.count += len(spans)
    return [Parsed(first + row, span, element) for row, (span, element) in enumerate(zip(spans, elements, strict=True))]


def _one(feed: Feed, span: Span, wrapper: Wrapper) -> Parsed | None:
    """An item that is parsed alone; None if it was refused."""
    feed.count += 1
    if span.end - span.start > MAX_ITEM:
        outcome: Good | Fault = Fault(too_large(f"{span.end - span.start:,} bytes; the limit is {MAX_ITEM:,}"), 0)
    else:
        outcome = parse_item(feed.document.data[span.start : span.end], wrapper)
    if isinstance(outcome, Fault):
        feed.refuse(outcome.error, feed.name_of(feed.count), span.start + outcome.offset)
        return None
    return Parsed(feed.count, span, outcome.element, outcome.mended)
