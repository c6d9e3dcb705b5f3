"""RDF/XML: entities within limits, and the places of errors, which pyoxigraph does not tell."""

from __future__ import annotations

from bisect import bisect_left
from xml.parsers import expat

from pyoxigraph import RdfFormat, parse

from heliograph.errors import Place
from heliograph.feeds.assembly import Reading
from heliograph.feeds.guards import check_entities
from heliograph.feeds.interning import Interner
from heliograph.feeds.opening import Document
from heliograph.feeds.places import Places
from heliograph.feeds.prolog import SEPARATOR, Entity, Prolog
from heliograph.feeds.rdf import read_rdf
from heliograph.feeds.syntaxes import base_of


def read_rdf_xml(document: Document, prolog: Prolog, interner: Interner) -> Reading:
    """The publication of a document in RDF/XML."""
    assert prolog.root is not None
    data = document.data
    if prolog.has_doctype:
        check_entities(data, prolog.entities)
        data = _declared(prolog.entities) + data[prolog.root.start :]
    shift = prolog.root.start - (len(data) - (len(document.data) - prolog.root.start))
    plain = document._replace(data=data)

    def locate() -> Place:
        return Places(document.name, document.data).at(max(0, _broken_at(plain) + shift))

    return read_rdf(plain, ".rdf", interner, locate)


def _declared(entities: tuple[Entity, ...]) -> bytes:
    """A DTD with nothing but these entities."""
    declared = b"".join(
        b'<!ENTITY %b "%b">' % (entity.name, (entity.value or b"").replace(b'"', b"&#34;")) for entity in entities
    )
    return b"<!DOCTYPE rdf [" + declared + b"]>"


def _broken_at(document: Document) -> int:
    """The byte at which the XML breaks, or at which the first element begins that is no RDF; the root if neither."""
    data = bytes(document.data)
    children: list[int] = []
    depth = 0

    def enter(name: str, attributes: object) -> None:
        nonlocal depth
        if depth == 1:
            children.append(parser.CurrentByteIndex)
        depth += 1

    def leave(name: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate(encoding="utf-8", namespace_separator=SEPARATOR)
    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    try:
        parser.Parse(data, True)
    except expat.ExpatError:
        return max(0, parser.ErrorByteIndex)
    return _first_refused(document.name, data, children)


def _first_refused(name: str, data: bytes, children: list[int]) -> int:
    """Halving: pyoxigraph accepts the document up to the child before the one that it refuses."""
    if not children:
        return 0
    closing = data[data.rindex(b"</") :]

    def refused(count: int) -> bool:
        end = children[count] if count < len(children) else data.rindex(b"</")
        try:
            for _ in parse(data[:end] + closing, format=RdfFormat.RDF_XML, base_iri=base_of(name)):
                pass
        except (SyntaxError, MemoryError):
            return True
        return False

    count = bisect_left(range(len(children) + 1), True, key=refused)
    return children[max(0, min(count, len(children)) - 1)]
