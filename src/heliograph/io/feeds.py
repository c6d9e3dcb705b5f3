"""RSS 0.9x, 1.0, 2.0 and Atom: the items of a feed, each on its own, as triples in the vocabulary of RSS 1.0.

A feed is cut into runs of items, and each run is parsed. Where the parser refuses a run, or finds another number of
items in it, its items are cut out carefully and parsed one by one: what is broken in one is refused with its place,
and all others come through. What stands around the items is left for the channel. RSS 2.0 and Atom are mapped to RSS
1.0; RSS 1.0 is read as the RDF it is.

Everything takes time linear in the size of the file, and nothing recurses, however deep the elements nest.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from functools import lru_cache
from html.entities import html5
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urljoin
from xml.etree.ElementTree import Element, ParseError, XMLParser, XMLPullParser
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from pyoxigraph import Quad, RdfFormat, parse

from heliograph.errors import DocumentError
from heliograph.io import xml as guards
from heliograph.io.rdf import (
    TRIPLES,
    Codes,
    DocumentTriples,
    Interner,
    Numbers,
    base_of,
    complaint,
    interned,
    split,
    written,
)
from heliograph.io.xml import SEPARATOR, Bytes, OpenedDocument, PlaceFinder, XmlRoot, shortened
from heliograph.model import MessageLimit, Rejected
from heliograph.terms import PREFIXES, RDF, RDF_TYPE, Term, TermKind, blank, iri, is_container_member, plain_name
from heliograph.values import XSD_DATETIME, XSD_STRING

if TYPE_CHECKING:
    from heliograph.vocabulary import Vocabulary

# --- links and ids as IRIs, which they often nearly are ---

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_WEB = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_FORBIDDEN = re.compile(r"[\x00-\x20<>\"{}|^`\\]")


def as_iri(text: str) -> str | None:
    """The text as an IRI: as it is, or with forbidden characters of a web address escaped; None if it is none."""
    if _IRI.fullmatch(text):
        return text
    if _WEB.match(text):
        return _FORBIDDEN.sub(lambda match: quote(match[0], safe=""), text)
    return None


MAX_BASE = 1024  # characters; against a longer one nothing is resolved: all links together would take too long


def resolved(base: str, link: str) -> str:
    """A relative link as an absolute one, where there is something to resolve it against."""
    if not base or len(base) > MAX_BASE or _SCHEME.match(link):
        return link
    try:
        return urljoin(base, link)
    except ValueError:  # a base whose host cannot be read
        return link


def subject_of(id: str, link: str) -> Term:
    """The node that an item is: its id if that is an IRI, else its link, else the name that its id is."""
    address = as_iri(id) or as_iri(link)
    return plain_name(id) if address is None else iri(address)


# --- dates as the lexical form of an `xsd:dateTime` with a zone ---
#
# Read: RFC 822 and its successors (`Sun, 15 Nov 2026 10:00:00 +0100`, two-digit years, no seconds, zone names, any
# weekday) and ISO 8601 as in W3CDTF (`2026-11-15T10:00+01:00`, `2026-11-15`, `2026-11`, `2026`). What a date leaves
# out counts as the earliest it may mean, in UTC where it names no zone. Anything else is no date: the caller keeps
# the text. The law: `literal(as_datetime(text), XSD_DATETIME).value == as_datetime(text)`.

_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}

_HOURS = {  # zone names in hours east of UTC; those that mean two places (IST, AST) are not guessed
    "ut": 0, "gmt": 0, "utc": 0, "z": 0, "wet": 0,
    "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
    "akst": -9, "akdt": -8, "hst": -10,
    "bst": 1, "west": 1, "cet": 1, "mez": 1, "cest": 2, "mesz": 2, "eet": 2, "eest": 3, "msk": 3,
    "hkt": 8, "sgt": 8, "awst": 8, "jst": 9, "kst": 9, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13,
}  # fmt: skip

_LONGEST = 64  # no date is longer; what is need not be looked at
_FARTHEST = 840  # minutes: XSD knows no zone beyond 14 hours

_USUAL = re.compile(  # nine dates in ten: the day and the zone are looked up, the clock is copied
    r"(?:[A-Za-z]{3}, )?([0-9]{2} [A-Za-z]{3} [0-9]{4}) ((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]) (\S{1,5})",
    re.ASCII,
)
_RFC = re.compile(
    r"(?:[A-Za-z]{2,9}\.?,?\s*)?"
    r"([0-9]{1,2})[\s-]+([A-Za-z]{3})[A-Za-z]{0,6}\.?,?[\s-]+([0-9]{4}|[0-9]{2})"
    r"(?:,?\s+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?)?"
    r"\s*([A-Za-z]{1,4}|(?:GMT|UTC?)?[+-][0-9]{2}:?[0-9]{2})?\s*(?:\([^()]*\))?",
    re.ASCII,
)
_ISO = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,18})[0-9]*)?)?"
    r"\s*([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?|UTC|GMT)?)?)?)?",
    re.ASCII,
)


def as_datetime(text: str) -> str | None:
    """The canonical lexical form of the dateTime that `text` writes, or None if it writes none."""
    usual = _USUAL.fullmatch(text)
    if usual and (day := _usual_day(usual[1])) and (zone := _usual_zone(usual[3])):
        return f"{day}T{usual[2]}{zone}"
    return _any_datetime(text)


def _any_datetime(text: str) -> str | None:
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if match := _RFC.fullmatch(text):
        day, month, year, hour, minute, second, zone = match.groups()
        number = _MONTHS.get(month.lower())
        full = int(year)
        if len(year) == 2:  # RFC 2822: below 50 they are in this century
            full += 2000 if full < 50 else 1900
        return None if number is None else _written((full, number, int(day)), (hour, minute, second), "", zone)
    if match := _ISO.fullmatch(text):
        year, month, day, hour, minute, second, fraction, zone = match.groups()
        return _written((int(year), int(month or 1), int(day or 1)), (hour, minute, second), fraction or "", zone)
    return None


@lru_cache(maxsize=4096)
def _usual_day(text: str) -> str | None:
    at = _any_datetime(f"{text} 00:00")
    return None if at is None else at.partition("T")[0]


@lru_cache(maxsize=1024)
def _usual_zone(text: str) -> str | None:
    offset = _minutes(text) if re.fullmatch(r"[A-Za-z]+|[+-][0-9]{4}", text, re.ASCII) else None
    return None if offset is None else _zone(offset)


Clock = tuple[str | None, str | None, str | None]


def _written(day: tuple[int, int, int], clock: Clock, fraction: str, zone: str | None) -> str | None:
    offset = _minutes(zone)
    hour, minute, second = (int(part or 0) for part in clock)
    if offset is None or second > 60:
        return None
    try:
        at = datetime(*day, hour, minute)
        at += timedelta(seconds=second)  # a leap second is the first of the next minute
    except (ValueError, OverflowError):
        return None
    tail = fraction.rstrip("0")
    return f"{at.isoformat()}{'.' if tail else ''}{tail}{_zone(offset)}"


def _minutes(zone: str | None) -> int | None:
    """Minutes east of UTC; None for a zone that is not known."""
    if zone is None:
        return 0
    if zone[-1].isdigit():
        sign = max(zone.find("+"), zone.find("-"))
        digits = zone[sign + 1 :].replace(":", "").ljust(4, "0")
        hours, minutes = int(digits[:2]), int(digits[2:])
        total = hours * 60 + minutes
        return None if minutes > 59 or total > _FARTHEST else (-total if zone[sign] == "-" else total)
    hours_east = _HOURS.get(zone.lower())
    return None if hours_east is None else hours_east * 60


def _zone(offset: int) -> str:
    if not offset:
        return "Z"
    return f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"


# --- the kinds of feeds, known by the root element ---

RSS = PREFIXES["rss"]
ATOM = "http://www.w3.org/2005/Atom"

# Namespaces whose elements mean what those of RSS 1.0 mean.
RSS_AS_RDF = (RSS, "http://my.netscape.com/rdf/simple/0.9/", "http://channel.netscape.com/rdf/simple/0.9/")
_ATOMS = (ATOM, "http://purl.org/atom/ns#", "")


class FeedKind(Enum):
    """How a feed's items are read."""

    RSS1 = "RSS 1.0"
    RSS2 = "RSS 2.0"
    ATOM = "Atom"


class Dialect(NamedTuple):
    """A feed's kind, the namespace of its elements, and the names of its items as they are written."""

    kind: FeedKind
    namespace: str
    names: tuple[bytes, ...]
    parents: tuple[bytes, ...]

    @property
    def item(self) -> str:
        return "entry" if self.kind is FeedKind.ATOM else "item"

    def tag(self, local: str) -> str:
        """An element's name as the tree builder writes it."""
        return f"{{{self.namespace}}}{local}" if self.namespace else local


def is_rdf(root: XmlRoot) -> bool:
    return (root.namespace, root.local) == (RDF, "RDF") or RDF in root.prefixes.values()


def dialect_of(root: XmlRoot, data: Bytes) -> Dialect | None:
    """The dialect of a feed; None if the root is not a feed's, or RDF without items."""
    if root.local == "rss":
        prefix, colon, _ = root.qname.rpartition(b":")
        parents = (prefix + colon + b"channel", root.qname)
        return Dialect(FeedKind.RSS2, root.namespace, _names(root, root.namespace, b"item", data), parents)
    if root.local == "feed" and root.namespace in _ATOMS:
        return Dialect(FeedKind.ATOM, root.namespace, _names(root, root.namespace, b"entry", data), (root.qname,))
    if (root.namespace, root.local) == (RDF, "RDF"):
        for namespace in RSS_AS_RDF:
            names = _names(root, namespace, b"item", data)
            if names and _occurs(names[0], data):
                return Dialect(FeedKind.RSS1, namespace, names, (root.qname,))
    return None


def _names(root: XmlRoot, namespace: str, local: bytes, data: Bytes) -> tuple[bytes, ...]:
    """How elements of a namespace may be written: those names first that do occur."""
    prefixes = [prefix.encode() for prefix, uri in root.prefixes.items() if uri == namespace]
    if namespace == root.namespace:
        prefixes = [root.qname.rpartition(b":")[0], *prefixes]
    if not prefixes:  # declared further in
        declaration = rb"""xmlns(?::([A-Za-z_][\w.\-]*))?\s*=\s*["']%b["']""" % re.escape(namespace.encode())
        prefixes = list({match[1] or b"": None for match in re.finditer(declaration, data)})
    names = [prefix + b":" + local if prefix else local for prefix in prefixes]
    return tuple(dict.fromkeys([name for name in names if _occurs(name, data)] or names[:1]))


def _occurs(name: bytes, data: Bytes) -> bool:
    return re.search(rb"<%b[\s/>]" % re.escape(name), data) is not None


# --- what the elements of a feed say, as text ---


def content(element: Element) -> str:
    """All text in an element."""
    if len(element):
        return "".join(element.itertext()).strip()
    value = element.text
    return value.strip() if value else ""


def url(element: Element) -> str:
    """An address in an attribute, or else the text."""
    return element.get("url", "").strip() or content(element)


def category(element: Element) -> str:
    return element.get("term", "").strip() or content(element)


def alternate(link: Element) -> str:
    """The address of Atom's link, if it is the one to the same thing in another form."""
    return link.get("href", "").strip() if link.get("rel", "alternate") == "alternate" else ""


def marked_up(element: Element) -> str:
    """Text, or XHTML as markup."""
    return xhtml(element) if element.get("type") == "xhtml" else content(element)


def xhtml(element: Element) -> str:
    """What stands inside XHTML's outer div, as markup without namespaces."""
    outer = element[0] if len(element) == 1 and local_name(element[0]) == "div" else element
    written = [escape(outer.text or "")]
    stack: list[Element | str] = list(reversed(outer))
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            written.append(part)
            continue
        name = local_name(part)
        attributes = "".join(f" {key.rpartition('}')[2]}={quoteattr(value)}" for key, value in part.items())
        written.append(f"<{name}{attributes}>{escape(part.text or '')}")
        stack += [f"</{name}>{escape(part.tail or '')}", *reversed(part)]
    return "".join(written).strip()


def local_name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


# --- small mends that make a feed's text well-formed without changing what it says ---
#
# HTML's named characters (`&nbsp;`) and bare ampersands (`Tom & Jerry`) are what feeds most often get wrong. Both
# become what their author meant; sections and comments are left alone. Nothing else is guessed.

_AMPERSAND = re.compile(  # what is never closed goes on to the end: looking for its end again and again takes long
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|&(?:(#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{0,40});)?",
    re.DOTALL,
)
_OF_XML = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))


class Edit(NamedTuple):
    """A replacement: where it lies in the mended text, and where in the text as it came."""

    start: int
    end: int
    original_start: int
    original_end: int


class Mended(NamedTuple):
    """A mended text, and what was replaced in it."""

    text: bytes
    edits: list[Edit]

    def original(self, position: int) -> int:
        """Where the byte at `position` of the mended text stood; for one in a replacement, where that begins."""
        number = bisect_right(self.edits, position, key=lambda edit: edit.start)
        if number == 0:
            return position
        edit = self.edits[number - 1]
        return edit.original_start if position < edit.end else position - edit.end + edit.original_end


def mend(text: bytes) -> Mended:
    """The text with bare ampersands escaped and HTML's named characters as numbers."""
    edits: list[Edit] = []

    def replace(match: re.Match[bytes]) -> bytes:
        new = _replacement(match)
        if new != match[0]:
            start = match.start() + (edits[-1].end - edits[-1].original_end if edits else 0)
            edits.append(Edit(start, start + len(new), match.start(), match.end()))
        return new

    return Mended(_AMPERSAND.sub(replace, text) if b"&" in text else text, edits)


def _replacement(match: re.Match[bytes]) -> bytes:
    name = match[1]
    if match[0] == b"&":
        return b"&amp;"
    if name is None or name in _OF_XML or name.startswith(b"#"):
        return match[0]
    characters = html5.get(name.decode("ascii") + ";")
    return match[0] if characters is None else b"".join(b"&#%d;" % ord(character) for character in characters)


# --- pieces of a feed, parsed inside an element that declares the namespaces of the feed's head ---
#
# Nothing but the piece and that element is given to the parser, so no entity can be declared, expanded or fetched.

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


def parse_item(text: bytes, wrapper: Wrapper) -> tuple[Element, bytes | None] | Fault:
    """One item, and its text where that had to be mended."""
    if text.count(b"<") > MAX_ELEMENTS and _count(text, wrapper) > MAX_ELEMENTS:
        return Fault(too_large(f"more than {MAX_ELEMENTS:,} elements"), 0)
    mended: Mended | None = None
    try:
        try:
            elements = _elements(text, wrapper)
        except ParseError:
            mended = mend(text)
            elements = _elements(mended.text, wrapper)
    except ParseError as error:
        assert mended is not None
        offset = broken_at(wrapper.opening + mended.text + wrapper.closing) - len(wrapper.opening)
        offset = min(max(0, offset), len(mended.text))
        return Fault(_complaint(error, mended.text[offset:]), mended.original(offset))
    if len(elements) == 1 and elements[0].tag == wrapper.tag:
        return elements[0], mended and mended.text
    found = shortened(", ".join(element.tag for element in elements[:3]))
    fix = "declare the feed's namespace in its root element only"
    return Fault(DocumentError("HG-311", f"{found} where an item was expected", fix=fix), 0)


def too_large(what: str) -> DocumentError:
    return DocumentError("HG-313", f"an item of {what}", fix="shorten the item; the others were read")


def _elements(text: bytes, wrapper: Wrapper) -> list[Element]:
    parser = XMLParser(encoding="utf-8")
    for part in (wrapper.opening, text, wrapper.closing):
        parser.feed(part)
    return list(parser.close())


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


# --- where the items of a feed lie in its bytes, however broken it is ---
#
# Items that follow each other with nothing but space between are a run. `run` finds one at the speed of a substring
# search and may be fooled by sections and comments that hold tags; the parser then finds another number of items.
# `careful_run` is not fooled, and it ends an item that was never closed where the next one begins: so one broken item
# takes no other with it. A section, comment or instruction that holds an item's start tag and then opens once more
# was never closed. Searches for what closes something are remembered, so both take linear time.

RUN_ITEMS = 32  # items that are parsed together; at this number their elements still lie in the processor's cache
RUN_BYTES = 1 << 18

_SECTIONS = {b"<![CDATA[": b"]]>", b"<!--": b"-->", b"<?": b"?>"}
_SPACE = re.compile(rb"[ \t\r\n]*")


class Span(NamedTuple):
    """The bytes of one item."""

    start: int
    end: int


class ItemFinder:
    """Finds the items of a feed by the names of their elements; `parents` are those that items stand in."""

    def __init__(self, data: Bytes, names: Sequence[bytes], parents: Sequence[bytes]) -> None:
        self._data = data
        self._close = b"</" + names[0] + b">"
        item = b"(?:%b)" % b"|".join(map(re.escape, names))
        parent = b"(?:%b)" % b"|".join(map(re.escape, parents))
        self._start = re.compile(rb"<%b(?=[\s/>])" % item)
        self._start_tag = re.compile(rb"""<%b(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+>""" % item)
        self._token = re.compile(  # a pattern that begins with one character is searched for at memory's speed
            rb"<(?:(?P<section>!\[CDATA\[|!--|\?)|(?P<start>%b)(?=[\s/>])|(?P<end>/%b\s*>)|(?P<leave>/%b\s*>))"
            % (item, item, parent)
        )
        self._found: dict[bytes, tuple[int, int]] = {}

    def next_start(self, position: int) -> int:
        """Where the next item begins at or after `position`, which is in no item; -1 if there is none."""
        match = self._start.search(self._data, position)
        if match is None:
            return -1
        for hiding in (b"<!", b"<?"):
            if self._data.find(hiding, position, match.start()) >= 0:
                return next((token.start() for token in self._tokens(position) if token["start"]), -1)
        return match.start()

    def run(self, start: int) -> list[Span]:
        """A run of items from `start` on, found by their end tags alone."""
        spans: list[Span] = []
        position = start
        while len(spans) < RUN_ITEMS and position - start < RUN_BYTES:
            end = self._next(self._close, position)
            if end < 0:
                break
            end += len(self._close)
            spans.append(Span(position, end))
            space = _SPACE.match(self._data, end)
            position = space.end() if space else end
            if self._start.match(self._data, position) is None:
                break
        return spans

    def _next(self, needle: bytes, position: int) -> int:
        """Where a text, or an item if it is empty, is found next; remembered, for it may be far and asked for often."""
        since, found = self._found.get(needle, (len(self._data) + 1, -1))
        if position < since or 0 <= found < position:
            if needle:
                found = self._data.find(needle, position)
            else:
                match = self._start.search(self._data, position)
                found = match.start() if match else -1
            self._found[needle] = position, found
        return found

    def careful_run(self, start: int, until: int) -> Iterator[Span]:
        """The items from the one at `start` on, as far as those that begin before `until`."""
        while 0 <= start < until:
            span = Span(start, self._end(start))
            yield span
            start = self.next_start(span.end)

    def _end(self, start: int) -> int:
        tag = self._start_tag.match(self._data, start)
        if tag is not None and tag[0].endswith(b"/>"):
            return tag.end()
        for token in self._tokens(tag.end() if tag else start + 1):
            return token.end() if token["end"] else token.start()
        return len(self._data)

    def _tokens(self, position: int) -> Iterator[re.Match[bytes]]:
        """Start and end tags of items, and end tags of what they stand in, outside of closed sections."""
        while token := self._token.search(self._data, position):
            position = token.end()
            if token["section"]:
                position = self._after_section(token[0], position)
            else:
                yield token

    def _after_section(self, opening: bytes, position: int) -> int:
        """Behind a section that begins before `position`; `position` itself if it was never closed."""
        closing = _SECTIONS[opening]
        end = self._next(closing, position)
        if end < 0:
            return position
        start = self._next(b"", position)
        if 0 <= start < end and 0 <= self._next(opening, start) < end:
            return position
        return end + len(closing)


# --- the items of a feed, each on its own ---

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

    document: OpenedDocument
    root: XmlRoot
    dialect: Dialect
    items: ItemFinder
    places: PlaceFinder
    scope: dict[str, str] = field(default_factory=dict)
    head: Element | None = None
    gaps: list[Span] = field(default_factory=list)  # what stands around the items, and is not space
    rejected: list[Rejected] = field(default_factory=list)
    limit: MessageLimit = field(default_factory=MessageLimit)
    count: int = 0

    def name_of(self, number: int) -> str:
        """What an item without an id is called."""
        return f"{self.document.name}#{number}"

    def refuse(self, error: DocumentError, item: str | None, position: int) -> None:
        if not self.limit.allows(error.code):
            self.rejected.append(Rejected(self.document.name, item, error.code, ""))
            return
        error.place = self.places.at(position, item)
        self.rejected.append(Rejected.of(error, self.document.name, item))


def open_feed(document: OpenedDocument, root: XmlRoot, dialect: Dialect) -> Feed:
    """A feed of which the head has been read, as far as it can be."""
    items = ItemFinder(document.data, dialect.names, dialect.parents)
    feed = Feed(document, root, dialect, items, PlaceFinder(document.name, document.data))
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
        outcome: tuple[Element, bytes | None] | Fault = Fault(
            too_large(f"{span.end - span.start:,} bytes; the limit is {MAX_ITEM:,}"), 0
        )
    else:
        outcome = parse_item(feed.document.data[span.start : span.end], wrapper)
    if isinstance(outcome, Fault):
        feed.refuse(outcome.error, feed.name_of(feed.count), span.start + outcome.offset)
        return None
    return Parsed(feed.count, span, *outcome)


# --- the channel, as far as it can be read ---

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
        offset = broken_at(text)
        is_reported = offset >= len(text) and feed.rejected  # the file ends inside an item that was refused
        if around.is_whole and not is_reported:
            fix = "mend it there; the items were read, the channel up to this place"
            message = f"broken XML around the items: {expat.ErrorString(error.code) or 'not well-formed'}"
            feed.refuse(DocumentError("HG-315", message, fix=fix), None, around.position(offset))
    return root


def channel_of(feed: Feed, tree: Element | None) -> Channel:
    """The channel that the tree describes."""
    if tree is None:
        return Channel(blank("channel"), "", "")
    tag = feed.dialect.tag
    found = tree.find(tag("channel")) if feed.dialect.kind is FeedKind.RSS2 else None
    place = tree if found is None else found
    id = _first(place, tag("id"), content) if feed.dialect.kind is FeedKind.ATOM else ""
    link = resolved(
        place.get(XML_BASE, ""), _first(place, tag("link"), content) or _first(place, tag("link"), alternate)
    )
    address = as_iri(id) or as_iri(link)
    node = blank("channel") if address is None else iri(address)
    return Channel(node, _first(place, tag("title"), content), link)


def _first(place: Element, tag: str, read: Callable[[Element], str]) -> str:
    return next((value for child in place.findall(tag) if (value := read(child))), "")


# --- items as rows of ids ---
#
# An item is
#     <item> rdf:type rss:item ; rss:title … ; rss:link … ; rss:description … ; dc:date … ; dc:creator … ;
#            dc:subject … ; dc:identifier … ; content:encoded … .
# and its channel, as RSS 1.0 writes it,
#     <channel> rdf:type rss:channel ; rss:title … ; rss:link … ; rss:items _:items .
#     _:items   rdf:type rdf:Seq ; rdf:_1 <item> .
# All values are plain strings, links too, as they are in RSS 1.0; dates are xsd:dateTime where they can be read so.

_DC = PREFIXES["dc"]
_LITERAL = TermKind.LITERAL
_new = tuple.__new__

_RSS_TERMS = [iri(RSS + name) for name in ("item", "title", "link", "description", "channel", "items")]
ITEM, TITLE, LINK, DESCRIPTION, CHANNEL, ITEMS = _RSS_TERMS
_DC_TERMS = [iri(_DC + name) for name in "date creator contributor subject identifier rights source".split()]
DATE, CREATOR, CONTRIBUTOR, SUBJECT, IDENTIFIER, RIGHTS, SOURCE = _DC_TERMS
ENCODED = iri(PREFIXES["content"] + "encoded")
SEQ = iri(RDF + "Seq")
_FIRST = iri(RDF + "_1")


def text(value: str) -> Term:
    """A plain string."""
    return _new(Term, (_LITERAL, value, XSD_STRING, ""))


def date(value: str) -> Term:
    """A dateTime, or the text where it is none."""
    written = as_datetime(value)
    return text(value) if written is None else _new(Term, (_LITERAL, written, XSD_DATETIME, ""))


class FeedEntry(NamedTuple):
    """A mapped item: its id, its node, and what is said of it; predicates are codes that `FeedRows` gave."""

    id: str
    subject: Term
    predicates: list[int]
    objects: list[Term]


class FeedRows:
    """Mapped items, collected for one reading. Terms are interned a few items at a time, while still in the cache."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._ids: list[str] = []
        self._counts: list[int] = []
        self._predicates: list[int] = []
        self._codes: dict[Term, int] = {}
        self._terms: list[Term] = []  # not yet interned: of each item its node, then the objects
        self._interned: list[int] = []

    def code(self, predicate: Term) -> int:
        """The code of a predicate."""
        return self._codes.setdefault(predicate, len(self._codes))

    def add(self, entry: FeedEntry) -> None:
        self._ids.append(entry.id)
        self._counts.append(len(entry.objects))
        self._predicates += entry.predicates
        self._terms.append(entry.subject)
        self._terms += entry.objects

    def flush(self) -> None:
        """Interns what was added."""
        self._interned += self._vocabulary.intern_many(self._terms)
        self._terms = []

    def rows(self, channel: Channel) -> tuple[list[str], Numbers, Codes]:
        """All rows, each with the number of its item; the channel's come last."""
        self.flush()
        counts = np.array(self._counts, np.int64)
        terms = np.array(self._interned, np.int32)
        nodes = np.cumsum(counts + 1) - counts - 1
        subjects = terms[nodes]
        own = np.empty((len(self._predicates), 3), np.int32)
        own[:, 0] = np.repeat(subjects, counts)
        own[:, 1] = np.array(self._vocabulary.intern_many(list(self._codes)), np.int32)[self._predicates]
        own[:, 2] = np.delete(terms, nodes)
        shared = self._channel(channel)
        width = len(shared)
        shared = np.tile(shared, (len(subjects), 1))
        shared[width - 1 :: width, 2] = subjects
        items = np.arange(len(subjects))
        numbers = np.concatenate((np.repeat(items, counts), np.repeat(items, width)))
        return self._ids, numbers, np.concatenate((own, shared))

    def _channel(self, channel: Channel) -> Codes:
        """What every item says of its channel; the last object stands for the item."""
        node, items = channel.node, blank("items")
        facts = [(node, RDF_TYPE, CHANNEL)]
        facts += [(node, TITLE, text(channel.title))] if channel.title else []
        facts += [(node, LINK, text(channel.link))] if channel.link else []
        facts += [(node, ITEMS, items), (items, RDF_TYPE, SEQ), (items, _FIRST, items)]
        terms = [term for fact in facts for term in fact]
        return np.array(self._vocabulary.intern_many(terms), np.int32).reshape(-1, 3)


# --- RSS 2.0 (and 0.91 to 0.94) and Atom, mapped to RSS 1.0 ---
#
# RSS 2.0   title, link and description keep their names, `pubDate` is dc:date, `author` dc:creator, `category`
#           dc:subject, `guid` dc:identifier (and rss:link if it is a link and there is no other), `source` dc:source;
#           other elements keep their names in the namespace of RSS 1.0.
# Atom      `title` is rss:title, the alternate link rss:link, `summary` rss:description, `content` content:encoded,
#           `published` and `updated` are both dc:date, an author's name is dc:creator (the feed's own where an entry
#           has none), a category's term dc:subject, `id` dc:identifier, `rights` dc:rights. XHTML is kept as markup.
# Elements of other namespaces that hold text keep their names. What holds no text says nothing.

DCTERMS = "http://purl.org/dc/terms/"
DATES = {DATE.value} | {DCTERMS + name for name in "date created issued modified available".split()}

Meaning = tuple[Term, Callable[[Element], str], Callable[[str], Term]]
"""What is made of an element: the predicate, how its value is read, and the term it becomes."""

_RSS2: Mapping[str, Meaning] = {
    "title": (TITLE, content, text),
    "link": (LINK, content, text),
    "description": (DESCRIPTION, content, text),
    "pubDate": (DATE, content, date),
    "author": (CREATOR, content, text),
    "category": (SUBJECT, content, text),
    "guid": (IDENTIFIER, content, text),
    "source": (SOURCE, url, text),
    "enclosure": (iri(RSS + "enclosure"), url, text),
}


def _atom(dialect: Dialect) -> Mapping[str, Meaning]:
    def person(element: Element) -> str:
        return _inner(element, dialect.tag("name")) or _inner(element, dialect.tag("email"))

    def source(element: Element) -> str:
        return _inner(element, dialect.tag("id"))

    return {
        "id": (IDENTIFIER, content, text),
        "title": (TITLE, content, text),
        "rights": (RIGHTS, content, text),
        "summary": (DESCRIPTION, marked_up, text),
        "content": (ENCODED, marked_up, text),
        "link": (LINK, alternate, text),
        "category": (SUBJECT, category, text),
        "author": (CREATOR, person, text),
        "contributor": (CONTRIBUTOR, person, text),
        "source": (SOURCE, source, text),
        # The last three are those of Atom 0.3.
        **dict.fromkeys(("published", "updated", "issued", "modified", "created"), (DATE, content, date)),
    }


def _inner(element: Element, tag: str) -> str:
    found = element.find(tag)
    return "" if found is None else content(found)


class FeedMapper:
    """Maps the items of one feed; `base` is what its relative links are resolved against."""

    def __init__(self, dialect: Dialect, base: str, collected: FeedRows) -> None:
        meanings = _atom(dialect) if dialect.kind is FeedKind.ATOM else _RSS2
        self._dialect = dialect
        self._base = base
        self._entries = collected
        self._uses = {dialect.tag(local): self._coded(meaning) for local, meaning in meanings.items()}
        self._type, self._link = collected.code(RDF_TYPE), collected.code(LINK)
        self._identifier, self._creator = collected.code(IDENTIFIER), collected.code(CREATOR)

    def _coded(self, meaning: Meaning) -> tuple[int, Callable[[Element], str], Callable[[str], Term]]:
        """The same, with the code of the predicate."""
        predicate, read, make = meaning
        return self._entries.code(predicate), read, make

    def entry(self, element: Element, name: str, authors: Sequence[str] = ()) -> FeedEntry:
        """An item; `name` is its id if it has none of its own, `authors` its creators."""
        predicates, objects = [self._type], [ITEM]
        id = link = ""
        uses = self._uses
        for child in element:
            predicate, read, make = uses.get(child.tag) or self._other(child.tag)
            value = read(child)
            if not value:
                continue
            if predicate == self._link:
                value = resolved(element.get(XML_BASE) or self._base, value)
                link = link or value
            elif predicate == self._identifier:
                id = id or value
            predicates.append(predicate)
            objects.append(make(value))
        if not link and (link := self._permanent(element)):
            predicates.append(self._link)
            objects.append(text(link))
        if authors and self._creator not in predicates:
            predicates += [self._creator] * len(authors)
            objects += map(text, authors)
        id = id or link or name
        return FeedEntry(id, subject_of(id, link), predicates, objects)

    def _other(self, tag: str) -> tuple[int, Callable[[Element], str], Callable[[str], Term]]:
        """An element that has no meaning of its own here."""
        namespace, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
        predicate = as_iri((RSS if namespace == self._dialect.namespace else namespace) + local)
        if predicate is None or (namespace == self._dialect.namespace and self._dialect.kind is FeedKind.ATOM):
            use = self._coded((RDF_TYPE, lambda element: "", text))
        else:
            use = self._coded((iri(predicate), content, date if predicate in DATES else text))
        self._uses[tag] = use
        return use

    def _permanent(self, element: Element) -> str:
        """The guid of an item of RSS 2.0 is its link, unless it says that it is not."""
        guid = element.find(self._dialect.tag("guid"))
        if guid is None or guid.get("isPermaLink", "true").strip().lower() == "false":
            return ""
        return content(guid) if as_iri(content(guid)) else ""

    def authors(self, feed: Element) -> list[str]:
        """The authors of an Atom feed."""
        tag = self._dialect.tag("author")
        read = self._uses[tag][1]
        return [name for author in feed.findall(tag) if (name := read(author))]


# --- RSS 1.0 as the RDF it is ---
#
# An item's publication holds the item's triples, what blank nodes reach from it, and its channel with title and link
# (and, of the channel's list of items, the part that names this one). pyoxigraph reads runs of items inside the feed's
# root. It writes an item's triples one after the other, its type first, so a run falls apart into its items; where it
# does not, or cannot be read, items are read one by one. Dates become `xsd:dateTime`.

SPARE = 200_000  # triples that items may share through blank nodes, besides eight times those of the feed
_CHANNEL = 16  # triples of its channel that every item may hold; the others count as shared
_TOGETHER = 512  # items that pyoxigraph reads together

_DATE = re.compile(rb'(<(?:%b)>) "([^"\\]{4,64})" \.\n' % b"|".join(re.escape(name.encode()) for name in sorted(DATES)))
_SHORT = 1 << 14  # bytes of an item that holds nothing dangerous
_XML = "http://www.w3.org/XML/1998/namespace"

Fact = tuple[int, int]
Triple = tuple[int, int, int]


class RssItem(NamedTuple):
    """An item: its id, its node, what is said of it, and where it stands."""

    id: str
    node: int
    facts: list[Fact]
    position: int


class ChannelListing(NamedTuple):
    """A channel, and by which member of its list it names an item."""

    channel: int
    list: int = -1
    member: int = -1


class RssWords(NamedTuple):
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
        own = (ITEM, CHANNEL, ITEMS, SEQ, TITLE, LINK)
        self._words = RssWords(*interner.vocabulary.intern_many((RDF_TYPE, *own)))
        self._waiting: list[Parsed] = []
        self._items: list[RssItem] = []
        self._known: set[str] = set()
        self._facts: dict[int, list[Fact]] = defaultdict(list)  # of blank nodes, and of all nodes outside of items
        self._count = 0

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
        codes = interned([split(lines, TRIPLES)], TRIPLES, self._interner, feed.document.name, feed.rejected)
        return list(map(tuple, codes[:, :3].tolist()))

    def _dated(self, match: re.Match[bytes]) -> bytes:
        """A date as a dateTime, which needs no reading any more."""
        term = date(match[2].decode())
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
        self._items.append(RssItem(id, node, facts, good.span.start))
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

    def _channels(self, outside: list[Triple]) -> tuple[dict[int, ChannelListing], ChannelListing | None]:
        """Which channel lists which item, and the channel of those that none lists."""
        words = self._words
        for subject, predicate, value in outside:
            self._facts[subject].append((predicate, value))
        self._count += len(outside)
        channels = [subject for subject, *fact in outside if fact == [words.type, words.channel]]
        listings: dict[int, ChannelListing] = {}
        for channel in channels:
            for list_ in (value for predicate, value in self._facts[channel] if predicate == words.items):
                for predicate, value in self._facts.get(list_, ()):
                    if is_container_member(self._term(predicate)):
                        listings.setdefault(value, ChannelListing(channel, list_, predicate))
        return listings, ChannelListing(channels[0]) if channels else None

    def _channel(self, listing: ChannelListing, item: int) -> list[Triple]:
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


# --- a feed as publications: one per item ---

MAX_AUTHORS = 100  # of a feed: each entry without authors has all of them


def read_feed(document: OpenedDocument, root: XmlRoot, dialect: Dialect, interner: Interner) -> DocumentTriples:
    """The items of a feed, with what was refused in it."""
    interner.begin()
    feed = open_feed(document, root, dialect)
    return _as_rdf(feed, interner) if dialect.kind is FeedKind.RSS1 else _mapped(feed, interner)


def _mapped(feed: Feed, interner: Interner) -> DocumentTriples:
    collected = FeedRows(interner.vocabulary)
    head = feed.head
    base = "" if head is None else head.get(XML_BASE) or channel_of(feed, head).link
    mapper = FeedMapper(feed.dialect, base, collected)
    authors = [] if head is None or feed.dialect.kind is not FeedKind.ATOM else mapper.authors(head)
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
    return DocumentTriples(*collected.rows(channel_of(feed, tree)), feed.rejected)


def _as_rdf(feed: Feed, interner: Interner) -> DocumentTriples:
    rss1 = Rss1(feed, interner)
    for run in read_items(feed):
        rss1.take(run)
    around = surroundings(feed)
    refused = len(feed.rejected)
    read_surroundings(feed, around)
    is_whole = around.is_whole and refused == len(feed.rejected)
    ids: list[str] = []
    counts: list[int] = []
    rows: list[Triple] = []
    for id, triples in rss1.publications(around, is_whole):
        ids.append(id)
        counts.append(len(triples))
        rows += triples
    numbers = np.repeat(np.arange(len(ids)), counts)
    return DocumentTriples(ids, numbers, np.array(rows, np.int32).reshape(-1, 3), feed.rejected)
