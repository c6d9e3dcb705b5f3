"""One source as a reading: its suffix, and for XML its root element, decide how it is read."""

from __future__ import annotations

import re

from heliograph.errors import DocumentError, HeliographError, Place
from heliograph.feeds.assembly import Reading, nothing
from heliograph.feeds.dialects import dialect_of, is_rdf
from heliograph.feeds.interning import Interner
from heliograph.feeds.opening import Document, open_text, open_xml
from heliograph.feeds.places import shortened
from heliograph.feeds.prolog import read_prolog
from heliograph.feeds.publishing import read_feed
from heliograph.feeds.rdf import read_rdf
from heliograph.feeds.rdfxml import read_rdf_xml
from heliograph.feeds.syntaxes import SYNTAXES
from heliograph.model import Rejected
from heliograph.tables.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, Source

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
