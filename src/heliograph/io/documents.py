"""RDF documents, RSS and Atom feeds as publications.

A document becomes a publication for each named graph and one for the default graph; a feed becomes one for each item.
A suffix, and for XML the root element, decide how a source is read. What cannot be read is rejected with its place,
and takes nothing else with it. Nothing is ever fetched or expanded.

The law: all triples of graphs with one id in one call are one publication, in whatever documents they lie, and
publications come in the order in which they were first met. Documents share no blank nodes: where one publication has
parts in several documents, the blank nodes of the later ones are named anew. Items of feeds are never merged: of those
with one id in several files the later ones become `id#2`, `id#3`, unless they say the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.errors import DocumentError, HeliographError, Place
from heliograph.io.feeds import dialect_of, read_feed
from heliograph.io.publications import Publications, Triples
from heliograph.io.rdf import (
    BLOCK,
    REFUSED,
    SYNTAXES,
    TOGETHER,
    TRIPLES,
    Codes,
    DocumentTriples,
    Interner,
    Numbers,
    as_lines,
    has_own_blanks,
    read_lines,
    read_rdf,
    read_rdf_xml,
    split,
)
from heliograph.io.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, Source, collector_paused
from heliograph.io.xml import OpenedDocument, open_text, open_xml, read_prolog, shortened
from heliograph.model import Rejected, Rejections
from heliograph.terms import RDF, TermKind

if TYPE_CHECKING:
    from heliograph.vocabulary import Vocabulary


Flags = npt.NDArray[np.bool_]
Triple = tuple[int, int, int]


class Documents(NamedTuple):
    """A batch of publications, and what was rejected on the way to it."""

    publications: Publications
    rejected: Rejections


def read_documents(sources: Sequence[Source], vocabulary: Vocabulary, *, batch: int = 1000) -> Iterator[Documents]:
    """The publications of all sources, in batches; rejections come with the first batch.

    All triples with one id are one publication, in whatever files they lie, so everything is read first.
    """
    interner = Interner(vocabulary)
    with collector_paused():
        contents = list(read_sources(sources, interner))
    yield from join_documents(contents, interner, batch)


def read_graph(sources: Sequence[Source], vocabulary: Vocabulary) -> Documents:
    """All triples of the sources, of whatever graphs, as one publication; each source has its own blank nodes."""
    interner = Interner(vocabulary)
    with collector_paused():
        contents = [read_source(source, interner) for source in sources]
    whole = [found._replace(ids=["graph"], numbers=found.numbers * 0, are_items=False) for found in contents]
    return next(join_documents(whole, interner, 1))


# --- one source ---

_EXHAUSTED = (MemoryError, RecursionError)
_XML_SUFFIXES = (".rdf", *FEED_SUFFIXES)
_XML = re.compile(rb"\s*(?:<\?xml\s|<!DOCTYPE|<!--|<(?:[\w.-]+:)?(?:RDF|rss|feed|html)[\s>])", re.IGNORECASE)
_TURTLE = re.compile(rb"\s*(?:@prefix|@base|prefix\s+[\w.-]*:|base\s+<)", re.IGNORECASE)


def read_source(source: Source, interner: Interner) -> DocumentTriples:
    """What a source holds, with what was refused in it; never raises for what it holds."""
    try:
        return _read_document(_open_document(source), interner)
    except (HeliographError, *_EXHAUSTED) as error:
        return _unread(error, source)


def _unread(error: Exception, source: Source) -> DocumentTriples:
    """A source that cannot be read at all; one that needs more than there is takes no other with it."""
    if not isinstance(error, HeliographError):
        fix = "cut it into smaller documents"
        reason = f"cannot be read: {type(error).__name__}: {shortened(str(error))}"
        error = DocumentError("HG-301", reason, place=Place(source.name), fix=fix)
    return DocumentTriples.none([Rejected.of(error, source.name)])


def _open_document(source: Source) -> OpenedDocument:
    """A source as its suffix says; raises where it cannot be opened."""
    if source.suffix in _XML_SUFFIXES:
        return open_xml(source)
    if source.suffix in SYNTAXES:
        return open_text(source)
    fix = f"give a file that ends in {' '.join((*DOCUMENT_SUFFIXES, *FEED_SUFFIXES))}"
    raise DocumentError("HG-309", "neither a document nor a feed", place=Place(source.name), fix=fix)


def _read_document(document: OpenedDocument, interner: Interner) -> DocumentTriples:
    """What a document holds; raises where it is none at all, and at once for what would fail in every line."""
    suffix = document.source.suffix
    if suffix in _XML_SUFFIXES:
        return _read_xml(document, interner)
    if _XML.match(document.data):
        what, right = "begins as XML does", ".rdf, .rss, .atom or .xml"
    elif suffix in (".nt", ".nq", ".jsonld") and _TURTLE.match(document.data):
        what, right = "begins as Turtle does", ".ttl or .trig"
    else:
        return read_rdf(document, suffix, interner)
    fix = f"give the file a suffix that fits: {right}"
    raise DocumentError("HG-309", f"a {suffix} file that {what}", place=Place(document.name), fix=fix)


def _read_xml(document: OpenedDocument, interner: Interner) -> DocumentTriples:
    prolog = read_prolog(document.data)
    root = prolog.root
    if root is None:
        start = bytes(document.data[:64]).lstrip(b"\xef\xbb\xbf \t\r\n")
        what, fix = "no root element that can be read", "give XML whose root is rdf:RDF, rss or feed"
        if not bytes(document.data).strip():
            what = "an empty file"
        elif start[:1] in (b"{", b"["):
            what, fix = (
                "JSON in place of XML",
                "give JSON-LD a name that ends in .jsonld; a JSON Feed is not read: give RSS or Atom",
            )
        raise DocumentError("HG-309", what, place=Place(document.name, None, 1), fix=fix)
    dialect = dialect_of(root, document.data)
    if dialect is not None:
        return read_feed(document, root, dialect, interner)
    if RDF in root.prefixes.values() or document.source.suffix == ".rdf":
        return read_rdf_xml(document, prolog, interner)
    fix = "give RDF/XML, RSS or Atom: their roots are rdf:RDF, rss and feed"
    shown = root.qname.decode("utf-8", "replace")[:60]
    fix = _NO_FEEDS.get(shown.rpartition(":")[2].lower(), fix)
    raise DocumentError("HG-309", f"XML whose root is {shown}", place=Place(document.name), fix=fix)


# By the root of what is often taken for a feed.
_NO_FEEDS = {
    "html": 'this is a web page: give the feed that its <link rel="alternate" type="application/rss+xml"> names',
    "opml": "this is a list of feeds: give the feeds that its outlines name in xmlUrl",
    "urlset": "this is a sitemap: give the site's RSS or Atom feed",
    "sitemapindex": "this is a list of sitemaps: give the site's RSS or Atom feed",
}


# --- many small documents, read together ---
#
# What a document costs by itself is several times what its triples cost. The law: a bundle gives what its documents
# give one by one. So only N-Triples of which every line is good, and of which no blank node is renamed, go into one
# (nor a second document of one name, whose blank nodes are); its documents are told apart by their numbers of lines.
# Whatever does not fit ends the bundle before it, so that the order stays.

SMALL = BLOCK // 8  # bytes; a larger document gains next to nothing in company


def read_sources(sources: Iterable[Source], interner: Interner) -> Iterator[DocumentTriples]:
    """What sources hold, in order; never raises for what they hold. An answer may be of several sources."""
    bundle: dict[str, bytes] = {}
    size, met = 0, set[str]()
    for source in sources:
        try:
            document = _open_document(source)
            lines = None if source.name in met else _good_lines(document)
            if lines is None or size > TOGETHER:
                yield from _together(bundle, interner)
                bundle, size = {}, 0
            if lines is None:
                yield _read_document(document, interner)
            else:
                bundle[source.name] = lines
                size += len(lines)
        except (HeliographError, *_EXHAUSTED) as error:
            yield from _together(bundle, interner)
            bundle, size = {}, 0
            yield _unread(error, source)
        met.add(source.name)
    yield from _together(bundle, interner)


def _good_lines(document: OpenedDocument) -> bytes | None:
    """The lines of a document that can join others; None for any other document."""
    syntax = SYNTAXES.get(document.source.suffix)
    if syntax is None or syntax.quads or not syntax.by_line or len(document.data) > SMALL:
        return None
    rejected: list[Rejected] = []
    lines = b"".join(as_lines(document, syntax, rejected))
    return None if rejected or not lines or has_own_blanks(lines) else lines


def _together(bundle: dict[str, bytes], interner: Interner) -> Iterator[DocumentTriples]:
    """The documents of a bundle as one; one by one where a term must be refused, to say in which."""
    if not bundle:
        return
    interner.begin()
    ends = accumulate(map(len, bundle.values()))
    placed = groupby(zip(ends, bundle.values()), lambda pair: pair[0] // BLOCK)  # into blocks that a cache holds
    blocks = [b"".join(lines for _, lines in some) for _, some in placed]
    codes = interner.columns([split(block, TRIPLES) for block in blocks], TRIPLES)
    if (codes == REFUSED).any():
        for name, lines in bundle.items():
            yield read_lines(name, [lines], TRIPLES, interner, [])
        return
    counts = [lines.count(b"\n") for lines in bundle.values()]
    yield DocumentTriples(list(bundle), np.repeat(np.arange(len(counts)), counts), codes[:, :3], [])


# --- what documents hold, joined to publications ---


def join_documents(contents: Sequence[DocumentTriples], interner: Interner, batch: int) -> Iterator[Documents]:
    """The publications of a call in batches; all rejections come with the first."""
    known: dict[str, int] = {}  # ids of publications, and their numbers
    graphs: dict[str, int] = {}  # those of documents and tables, by the ids that these give
    items: dict[str, dict[frozenset[Triple], int]] = {}  # those of feeds likewise, by what they say
    parts = [np.empty((0, 3), np.int32)]
    owners = [np.empty(0, np.int64)]
    for found in contents:
        rows, numbers = found.rows, found.numbers
        if found.are_items:
            table, is_kept = _items_apart(found, known, items, interner)
            if not is_kept.all():
                rows, numbers = rows[is_kept[numbers]], numbers[is_kept[numbers]]
        else:
            again = [number for number, id in enumerate(found.ids) if id in graphs]
            for id in found.ids:
                if id not in graphs:
                    graphs[id] = _new_number(id, known)
            table = np.array([graphs[id] for id in found.ids], np.int64)
            rows = _apart(found, again, interner) if again else rows
        parts.append(rows)
        owners.append(table[numbers] if len(table) else numbers)
    ids, numbers, rows = list(known), np.concatenate(owners), np.concatenate(parts)
    if not np.all(numbers[1:] >= numbers[:-1]):  # rows of one publication stay in their order
        order = np.argsort(numbers, kind="stable")
        numbers, rows = numbers[order], rows[order]
    rejected = Rejections(refused for found in contents for refused in found.rejected)
    starts = np.searchsorted(numbers, np.arange(len(ids) + 1))
    for first in range(0, len(ids), batch):
        some = tuple(ids[first : first + batch])
        bounds = starts[first : first + len(some) + 1]
        triples = Triples(*(np.ascontiguousarray(column) for column in rows[bounds[0] : bounds[-1]].T))
        yield Documents(Publications(interner.vocabulary, some, bounds - bounds[0], triples), rejected)
        rejected = Rejections()
    if rejected:
        yield Documents(Publications.none(interner.vocabulary), rejected)


def _apart(found: DocumentTriples, again: list[int], interner: Interner) -> Codes:
    """The rows with new blank nodes in the publications that an earlier document has begun."""
    rows = found.rows.copy()
    renamed: dict[int, int] = {}
    for row in np.flatnonzero(np.isin(found.numbers, again)).tolist():
        for column in (0, 2):
            id = int(rows[row, column])
            if interner.vocabulary.term(id).kind is TermKind.BLANK:
                if id not in renamed:
                    renamed[id] = interner.fresh_blank()
                rows[row, column] = renamed[id]
    return rows


def _new_number(id: str, known: dict[str, int]) -> int:
    """The number of a new publication; an id that is taken becomes `id#2`, `id#3`, …"""
    free, times = id, 1
    while free in known:
        times += 1
        free = f"{id}#{times}"
    known[free] = len(known)
    return known[free]


def _items_apart(
    found: DocumentTriples, known: dict[str, int], items: dict[str, dict[frozenset[Triple], int]], interner: Interner
) -> tuple[Numbers, Flags]:
    """The numbers of a feed's items, and which of them are kept: one that says what an item of another file with its id
    says is that item."""
    table, is_kept = np.empty(len(found.ids), np.int64), np.ones(len(found.ids), np.bool_)
    order = np.argsort(found.numbers, kind="stable")
    rows, starts = found.rows[order], np.searchsorted(found.numbers[order], np.arange(len(found.ids) + 1))
    for number, id in enumerate(found.ids):
        met = items.setdefault(id, {})
        says = _says(rows[starts[number] : starts[number + 1]], interner)
        is_kept[number] = says not in met
        table[number] = met.setdefault(says, -1)
        if is_kept[number]:
            table[number] = met[says] = _new_number(id, known)
    return table, is_kept


def _says(rows: Codes, interner: Interner) -> frozenset[Triple]:
    """The triples of an item, its blank nodes numbered in the order in which they are met."""
    blanks: dict[int, int] = {}
    for id in rows[:, [0, 2]].ravel().tolist():
        if id not in blanks and interner.vocabulary.term(id).kind is TermKind.BLANK:
            blanks[id] = -1 - len(blanks)
    return frozenset((blanks.get(s, s), p, blanks.get(o, o)) for s, p, o in rows.tolist())
