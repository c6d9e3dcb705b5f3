"""A feed as a reading: one publication per item."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from heliograph.errors import DocumentError
from heliograph.feeds.assembly import Reading
from heliograph.feeds.channel import XML_BASE, channel_of, read_surroundings, surroundings
from heliograph.feeds.dialects import Dialect, Kind
from heliograph.feeds.entries import Entries
from heliograph.feeds.feed import Feed, open_feed, read_items
from heliograph.feeds.interning import Interner
from heliograph.feeds.mapping import Mapper
from heliograph.feeds.opening import Document
from heliograph.feeds.prolog import Root
from heliograph.feeds.rss1 import Rss1, Triple, duplicate
from heliograph.model import Rejected

MAX_AUTHORS = 100  # of a feed: each entry without authors has all of them


def read_feed(document: Document, root: Root, dialect: Dialect, interner: Interner) -> Reading:
    """The items of a feed, with what was refused in it."""
    interner.begin()
    feed = open_feed(document, root, dialect)
    return _as_rdf(feed, interner) if dialect.kind is Kind.RSS1 else _mapped(feed, interner)


def _mapped(feed: Feed, interner: Interner) -> Reading:
    collected = Entries(interner.vocabulary)
    head = feed.head
    base = "" if head is None else head.get(XML_BASE) or channel_of(feed, head).link
    mapper = Mapper(feed.dialect, base, collected)
    authors = [] if head is None or feed.dialect.kind is not Kind.ATOM else mapper.authors(head)
    if len(authors) > MAX_AUTHORS:
        fix = f"the limit is {MAX_AUTHORS}; name them in the entries, which were read without"
        feed.refuse(DocumentError("HG-315", f"a feed of {len(authors):,} authors", fix=fix), None, feed.root.start)
        authors = []
    known: set[str] = set()
    for run in read_items(feed):
        for good in run:
            entry = mapper.entry(good.element, feed.name_of(good.number), authors)
            if entry.id in known:
                feed.refuse(duplicate(entry.id), entry.id, good.span.start)
            else:
                known.add(entry.id)
                collected.add(entry)
        collected.flush()
    tree = read_surroundings(feed, surroundings(feed))
    return Reading(*collected.rows(channel_of(feed, tree)), feed.rejected)


def _as_rdf(feed: Feed, interner: Interner) -> Reading:
    rss1 = Rss1(feed, interner)
    for run in read_items(feed):
        rss1.take(run)
    around = surroundings(feed)
    refused = len(feed.rejected)
    read_surroundings(feed, around)
    is_whole = around.is_whole and refused == len(feed.rejected)
    return _reading(rss1.publications(around, is_whole), feed.rejected)


def _reading(publications: Iterable[tuple[str, list[Triple]]], rejected: list[Rejected]) -> Reading:
    ids: list[str] = []
    counts: list[int] = []
    rows: list[Triple] = []
    for id, triples in publications:
        ids.append(id)
        counts.append(len(triples))
        rows += triples
    numbers = np.repeat(np.arange(len(ids)), counts)
    return Reading(ids, numbers, np.array(rows, np.int32).reshape(-1, 3), rejected)
