"""Pieces of a feed parsed on their own, inside an element that declares the namespaces of the feed's head.

Nothing but the piece and that element is given to the parser, so no entity can be declared, expanded or fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError, XMLParser
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from heliograph.errors import DocumentError
from heliograph.feeds.mending import mend
from heliograph.feeds.places import shortened
from heliograph.feeds.prolog import SEPARATOR

MAX_ITEM = 16 << 20  # bytes of an item
MAX_ELEMENTS = 50_000  # elements in an item

_UNDEFINED_ENTITY = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]
_UNBOUND_PREFIX = expat.errors.codes[expat.errors.XML_ERROR_UNBOUND_PREFIX]
_INVALID_TOKEN = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]


class Wrapper(NamedTuple):
    """The tags around a piece, and what its items must be called."""

    opening: bytes
    closing: bytes
    tag: str


class Fault(NamedTuple):
    """Why a piece was refused, and at which of its bytes."""

    error: DocumentError
    offset: int


class Good(NamedTuple):
    """An item's element, and its text where that had to be mended."""

    element: Element
    mended: bytes | None = None


def wrap(
    scope: Mapping[str, str], tag: str, name: str = "heliograph-feed", attributes: Mapping[str, str] | None = None
) -> Wrapper:
    """An element that declares the namespaces in scope, its start tag on a line of its own."""
    declared = {f"xmlns:{prefix}" if prefix else "xmlns": uri for prefix, uri in scope.items() if prefix != "xml"}
    escapes = {"\n": "&#10;", "\r": "&#13;"}
    pairs = (*declared.items(), *(attributes or {}).items())
    written = "".join(f" {key}={quoteattr(value, escapes)}" for key, value in pairs)
    return Wrapper(f"<{name}{written}>\n".encode(), f"</{name}>".encode(), tag)


def parse_run(text: bytes, count: int, wrapper: Wrapper) -> list[Element] | None:
    """The elements of a run of items; None if anything about it is odd."""
    if len(text) > MAX_ITEM or text.count(b"<") > MAX_ELEMENTS:
        return None
    try:
        elements = _elements(text, wrapper)
    except ParseError:
        return None
    if len(elements) != count or any(element.tag != wrapper.tag for element in elements):
        return None
    return elements


def parse_item(text: bytes, wrapper: Wrapper) -> Good | Fault:
    """One item, mended if need be."""
    if text.count(b"<") > MAX_ELEMENTS and _count(text, wrapper) > MAX_ELEMENTS:
        return Fault(too_large(f"more than {MAX_ELEMENTS:,} elements"), 0)
    try:
        return _only(_elements(text, wrapper), wrapper)
    except ParseError:
        mended = mend(text)
    try:
        good = _only(_elements(mended.text, wrapper), wrapper)
        return good._replace(mended=mended.text) if isinstance(good, Good) else good
    except ParseError as error:
        offset = broken_at(wrapper.opening + mended.text + wrapper.closing) - len(wrapper.opening)
        offset = min(max(0, offset), len(mended.text))
        return Fault(_complaint(error, mended.text[offset:]), mended.original(offset))


def too_large(what: str) -> DocumentError:
    return DocumentError("HG-313", f"an item of {what}", fix="shorten the item; the others were read")


def _elements(text: bytes, wrapper: Wrapper) -> list[Element]:
    parser = XMLParser(encoding="utf-8")
    for part in (wrapper.opening, text, wrapper.closing):
        parser.feed(part)
    return list(parser.close())


def _only(elements: list[Element], wrapper: Wrapper) -> Good | Fault:
    if len(elements) == 1 and elements[0].tag == wrapper.tag:
        return Good(elements[0])
    found = shortened(", ".join(element.tag for element in elements[:3]))
    fix = "declare the feed's namespace in its root element only"
    return Fault(DocumentError("HG-311", f"{found} where an item was expected", fix=fix), 0)


def _count(text: bytes, wrapper: Wrapper) -> int:
    """The number of elements, as far as the text is well-formed."""
    count = 0

    def enter(name: str, attributes: object) -> None:
        nonlocal count
        count += 1

    parser = expat.ParserCreate(encoding="utf-8")
    parser.StartElementHandler = enter
    with suppress(expat.ExpatError):
        parser.Parse(wrapper.opening + text + wrapper.closing, True)
    return count - 1


def broken_at(text: bytes) -> int:
    """The byte at which the parser gives up."""
    parser = expat.ParserCreate(encoding="utf-8", namespace_separator=SEPARATOR)
    with suppress(expat.ExpatError):
        parser.Parse(text, True)
    return max(0, parser.ErrorByteIndex)


def _complaint(error: ParseError, rest: bytes) -> DocumentError:
    reason = expat.ErrorString(error.code) or "not well-formed"
    if error.code == _UNDEFINED_ENTITY:
        shown = rest[1:60].partition(b";")[0].decode("utf-8", "replace")
        fix = "write the character itself; entities of a DTD are never expanded"
        return DocumentError("HG-314", f"the entity &{shown};", fix=fix)
    fix = "mend the XML there; the other items were read"
    if error.code == _UNBOUND_PREFIX:
        fix = "declare the prefix in the root element, as in xmlns:dc"
    elif error.code == _INVALID_TOKEN and rest[:1] > b"\x7f":
        fix = "save the feed in the encoding that it declares"
    return DocumentError("HG-311", f"broken XML: {reason}", fix=fix)
