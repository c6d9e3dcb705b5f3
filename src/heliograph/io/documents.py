"""Documents and feeds as publications: a suffix, and for XML the root element, decide how a source is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from heliograph.errors import DocumentError, HeliographError, Place
from heliograph.io.feeds import dialect_of, is_rdf, read_feed
from heliograph.io.rdf import (
    BLOCK,
    REFUSED,
    SYNTAXES,
    TOGETHER,
    TRIPLES,
    Documents,
    Interner,
    Lines,
    Reading,
    as_lines,
    has_own_blanks,
    nothing,
    publish,
    read_lines,
    read_rdf,
    read_rdf_xml,
    split,
)
from heliograph.io.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, Source, collector_paused
from heliograph.io.xml import Document, open_text, open_xml, read_prolog, shortened
from heliograph.model import Rejected

if TYPE_CHECKING:
    from heliograph.vocabulary import Vocabulary


# ----------------------------------------------------------------------------------------------------------------------
# One source as a reading: its suffix, and for XML its root element, decide how it is read.
# ----------------------------------------------------------------------------------------------------------------------

EXHAUSTED = (MemoryError, RecursionError)
_XML_SUFFIXES = (".rdf", *FEED_SUFFIXES)
_XML = re.compile(rb"\s*(?:<\?xml\s|<!DOCTYPE|<!--|<(?:[\w.-]+:)?(?:RDF|rss|feed|html)[\s>])", re.IGNORECASE)
_TURTLE = re.compile(rb"\s*(?:@prefix|@base|prefix\s+[\w.-]*:|base\s+<)", re.IGNORECASE)


def read_source(source: Source, interner: Interner) -> Reading:
    """The publications of a source, with what was refused in it; never raises for what it holds."""
    try:
        return read_document(open_document(source), interner)
    except (HeliographError, *EXHAUSTED) as error:
        return unread(error, source)


def unread(error: Exception, source: Source) -> Reading:
    """A source that cannot be read at all; one that needs more than there is takes no other with it."""
    if not isinstance(error, HeliographError):
        fix = "cut it into smaller documents"
        reason = f"cannot be read: {type(error).__name__}: {shortened(str(error))}"
        error = DocumentError("HG-301", reason, place=Place(source.name), fix=fix)
    return nothing([Rejected.of(error, source.name)])


def open_document(source: Source) -> Document:
    """A source as its suffix says; raises where it cannot be opened."""
    if source.suffix in _XML_SUFFIXES:
        return open_xml(source)
    if source.suffix in SYNTAXES:
        return open_text(source)
    fix = f"give a file that ends in {' '.join((*DOCUMENT_SUFFIXES, *FEED_SUFFIXES))}"
    raise DocumentError("HG-309", "neither a document nor a feed", place=Place(source.name), fix=fix)


def read_document(document: Document, interner: Interner) -> Reading:
    """The publications of a document; raises where it is none at all."""
    suffix = document.source.suffix
    if suffix in _XML_SUFFIXES:
        return _read_xml(document, interner)
    _check_start(document)
    return read_rdf(document, suffix, interner)


def _check_start(document: Document) -> None:
    """Refuses at once what would fail in every line."""
    suffix = document.source.suffix
    if _XML.match(document.data):
        _wrong(document, "begins as XML does", ".rdf, .rss, .atom or .xml")
    if suffix in (".nt", ".nq", ".jsonld") and _TURTLE.match(document.data):
        _wrong(document, "begins as Turtle does", ".ttl or .trig")


def _wrong(document: Document, what: str, right: str) -> None:
    fix = f"give the file a suffix that fits: {right}"
    raise DocumentError("HG-309", f"a {document.source.suffix} file that {what}", place=Place(document.name), fix=fix)


def _read_xml(document: Document, interner: Interner) -> Reading:
    prolog = read_prolog(document.data)
    root = prolog.root
    if root is None:
        fix = "give XML whose root is rdf:RDF, rss or feed"
        raise DocumentError("HG-309", "no root element that can be read", place=Place(document.name, None, 1), fix=fix)
    dialect = dialect_of(root, document.data)
    if dialect is not None:
        return read_feed(document, root, dialect, interner)
    if is_rdf(root) or document.source.suffix == ".rdf":
        return read_rdf_xml(document, prolog, interner)
    fix = "give RDF/XML, RSS or Atom: their roots are rdf:RDF, rss and feed"
    shown = root.qname.decode("utf-8", "replace")[:60]
    raise DocumentError("HG-309", f"XML whose root is {shown}", place=Place(document.name), fix=fix)


# ----------------------------------------------------------------------------------------------------------------------
# Many small documents, read together: what a document costs by itself is several times what its triples cost.
#
# The law: a bundle gives what its documents give one by one. So only N-Triples of which every line is good, and of
# which no blank node is renamed, go into one (nor a second document of one name, whose blank nodes are); its
# documents are told apart by their numbers of lines. Whatever does not fit ends the bundle before it, so that the
# order stays.
# ----------------------------------------------------------------------------------------------------------------------

SMALL = BLOCK // 8  # bytes; a larger document gains next to nothing in company


def read_sources(sources: Iterable[Source], interner: Interner) -> Iterator[Reading]:
    """The publications of sources in order; never raises for what they hold. A reading may be of several sources."""
    bundle: dict[str, bytes] = {}
    size, met = 0, set[str]()
    for source in sources:
        try:
            document = open_document(source)
            lines = None if source.name in met else _good_lines(document)
            if lines is None or size > TOGETHER:
                yield from _together(bundle, interner)
                bundle, size = {}, 0
            if lines is None:
                yield read_document(document, interner)
            else:
                bundle[source.name] = lines
                size += len(lines)
        except (HeliographError, *EXHAUSTED) as error:
            yield from _together(bundle, interner)
            bundle, size = {}, 0
            yield unread(error, source)
        met.add(source.name)
    yield from _together(bundle, interner)


def _good_lines(document: Document) -> bytes | None:
    """The lines of a document that can join others; None for any other document."""
    syntax = SYNTAXES.get(document.source.suffix)
    if syntax is None or syntax.quads or not syntax.by_line or len(document.data) > SMALL:
        return None
    rejected: list[Rejected] = []
    lines = b"".join(as_lines(document, syntax, rejected))
    return None if rejected or not lines or has_own_blanks(lines) else lines


def _together(bundle: dict[str, bytes], interner: Interner) -> Iterator[Reading]:
    """The documents of a bundle as one reading; one by one where a term must be refused, to say in which."""
    if not bundle:
        return
    interner.begin()
    codes = interner.columns([split(block, TRIPLES) for block in _blocks(bundle.values())], TRIPLES)
    if (codes == REFUSED).any():
        for name, lines in bundle.items():
            yield read_lines(Lines(name, [lines], TRIPLES), interner, [])
        return
    counts = [lines.count(b"\n") for lines in bundle.values()]
    yield Reading(list(bundle), np.repeat(np.arange(len(counts)), counts), codes[:, :3], [])


def _blocks(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks that a cache holds."""
    block: list[bytes] = []
    size = 0
    for part in parts:
        block.append(part)
        size += len(part)
        if size >= BLOCK:
            yield b"".join(block)
            block, size = [], 0
    if block:
        yield b"".join(block)


# ----------------------------------------------------------------------------------------------------------------------
# RDF documents, RSS and Atom feeds as publications.
#
# A document becomes a publication for each named graph and one for the default graph; a feed becomes one for each
# item. What cannot be read is rejected with its place, and takes nothing else with it. Nothing is ever fetched or
# expanded.
# ----------------------------------------------------------------------------------------------------------------------

__all__ = ["Documents", "read_documents", "read_triples"]


def read_documents(sources: Sequence[Source], vocabulary: Vocabulary, *, batch: int = 1000) -> Iterator[Documents]:
    """The publications of all sources, in batches; rejections come with the first batch.

    All triples with one id are one publication, in whatever files they lie, so everything is read first.
    """
    interner = Interner(vocabulary)
    with collector_paused():
        readings = list(read_sources(sources, interner))
    yield from publish(readings, interner, batch)


def read_triples(source: Source, vocabulary: Vocabulary) -> Documents:
    """All triples of one source, of whatever graphs, as one publication with the source's name."""
    interner = Interner(vocabulary)
    with collector_paused():
        reading = read_source(source, interner)
    numbers = reading.numbers * 0
    return next(publish([reading._replace(ids=[source.name], numbers=numbers)], interner, 1))
