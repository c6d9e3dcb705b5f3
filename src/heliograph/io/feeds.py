"""RSS 0.9x, 1.0, 2.0 and Atom: the items of a feed, each on its own, as triples in the vocabulary of RSS 1.0.

A feed is cut into runs of items, and each run is parsed. Where the parser refuses a run, or finds another number of
items in it, its items are cut out carefully and parsed one by one: what is broken in one is refused with its place,
and all others come through. What stands around the items is left for the channel. RSS 2.0 and Atom are mapped to RSS
1.0; RSS 1.0 is read as the RDF it is.

Everything takes time linear in the size of the file, and nothing recurses, however deep the elements nest.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import Enum
from functools import lru_cache
from html.entities import html5
from typing import Any, NamedTuple
from unicodedata import normalize
from urllib.parse import quote, urljoin
from xml.etree.ElementTree import Element, ParseError, XMLParser, XMLPullParser
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from pyoxigraph import Quad, RdfFormat, parse

from heliograph.errors import DocumentError
from heliograph.io import xml as guards
from heliograph.io.rdf import TRIPLES, Codes, DocumentTriples, Interner, base_of, complaint, interned, split, written
from heliograph.io.xml import MAX_BASE, SEPARATOR, Bytes, OpenedDocument, PlaceFinder, XmlRoot, shortened
from heliograph.model import MessageLimit, Rejected
from heliograph.terms import PREFIXES, RDF, RDF_TYPE, Term, TermKind, blank, iri, is_container_member, plain_name
from heliograph.values import XSD_DATETIME, XSD_STRING


def read_feed(document: OpenedDocument, root: XmlRoot, dialect: Dialect, interner: Interner) -> DocumentTriples:
    """The items of a feed as publications, with what was refused in it."""
    interner.begin()
    feed = Feed(document, root, dialect)
    items = (RdfItems if dialect.kind is FeedKind.RSS1 else MappedItems)(feed, interner)
    for run in feed.items():
        items.take(run)
    return items.triples(feed.around())


# --- links and ids as IRIs, which they often nearly are ---

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_IRI = re.compile(_SCHEME.pattern + r"[^\x00-\x20<>\"{}|^`\\]+")
_WEB = re.compile(_SCHEME.pattern + "//")
_FORBIDDEN = re.compile(r"[\x00-\x20<>\"{}|^`\\]")


def as_iri(text: str) -> str | None:
    """The text as an IRI: as it is, or with forbidden characters of a web address escaped; None if it is none."""
    if _IRI.fullmatch(text):
        return text
    if _WEB.match(text):
        return _FORBIDDEN.sub(lambda match: quote(match[0], safe=""), text)
    return None


def resolved(base: str, link: str) -> str:
    """A relative link as an absolute one; against a long base nothing is resolved: all together would take too long."""
    if not base or len(base) > MAX_BASE or _SCHEME.match(link):
        return link
    try:
        return urljoin(base, link)
    except ValueError:  # a base whose host cannot be read
        return link


# --- dates as the lexical form of an `xsd:dateTime` with a zone ---
#
# Read: RFC 822 and its successors (`Sun, 15 Nov 2026 10:00:00 +0100`, two-digit years, no seconds, zone names, any
# weekday), ISO 8601 as in W3CDTF (`2026-11-15T10:00+01:00`, `2026-11-15`, `2026-11`, `2026`), and what `_FORMS` makes
# one of these. What a date leaves out counts as the earliest it may mean, in UTC where it names no zone. What may mean
# two days (`11/10/2026`, `26-11-10`) is not guessed. Anything else is no date: the caller keeps the text. The law:
# `literal(as_datetime(text), XSD_DATETIME).value == as_datetime(text)`.

_MONTHS = {
    name: str(number) for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)
}

_HOURS = {  # zone names in hours east of UTC; those that mean two places (IST, AST) are not guessed
    "ut": 0, "gmt": 0, "utc": 0, "z": 0, "wet": 0,
    "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
    "akst": -9, "akdt": -8, "hst": -10,
    "bst": 1, "west": 1, "cet": 1, "met": 1, "mez": 1, "cest": 2, "mest": 2, "mesz": 2, "eet": 2, "eest": 3, "msk": 3,
    "hkt": 8, "sgt": 8, "awst": 8, "jst": 9, "kst": 9, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13,
}  # fmt: skip

_LONGEST = 64  # no date is longer; what is need not be looked at
_FARTHEST = 840  # minutes: XSD knows no zone beyond 14 hours

_USUAL = re.compile(  # nine dates in ten: the day and the zone are looked up, the clock is copied
    r"(?:[A-Za-z]{3}, )?([0-9]{2} [A-Za-z]{3} [0-9]{4}) ((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]) "
    r"([A-Za-z]{1,5}|[+-][0-9]{4})",
    re.ASCII,
)
_RFC = re.compile(
    r"(?:[A-Za-z]{2,9}\.?,?\s*)?"
    r"([0-9]{1,2})[\s-]+([A-Za-z]{3})[A-Za-z]{0,6}\.?,?[\s-]+([0-9]{4}|[0-9]{2})"
    r"(?:,?\s+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?)?"
    r"\s*(?:Etc/(?=[A-Z]+\Z))?([A-Za-z]{1,4}|(?:GMT|UTC?)?[+-][0-9]{2}:?[0-9]{2})?\s*(?:\([^()]*\))?",
    re.ASCII,
)
_ISO = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,18})[0-9]*)?)?)?"
    r"\s*([A-Za-z]{1,5}|[+-][0-9]{2}(?::?[0-9]{2})?)?)?)?)?",
    re.ASCII,
)

_NUMBERS_OF_MONTHS = {  # by how their names begin, without accents: Greek and Hungarian
    name: number + 1
    for language in (
        "ιαν φεβ μαρ απρ μαι ιουν ιουλ αυγ σεπ οκτ νοε δεκ",
        "jan feb marc apr maj jun jul aug szept okt nov dec",
    )
    for number, name in enumerate(language.split())
}
_DAY_NAME = r"(?:[^\W\d_]{2,9}\.?,?\s+)?"
_CLOCK = r"([0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)"


def _numbered(year: str, month: str, day: str, rest: str | None) -> str:
    """A date in digits, with the hours of its clock in two."""
    clock = re.sub(r"^([0-9])(?=:)", r"0\1", rest or "00:00")
    return f"{year}-{int(month):02d}-{int(day):02d}T{clock}"


def _named(year: str, name: str, day: str, rest: str | None) -> str:
    letters = "".join(letter for letter in normalize("NFD", name.lower()) if letter.isalpha())
    number = next((number for start, number in _NUMBERS_OF_MONTHS.items() if letters.startswith(start)), 0)
    return _numbered(year, str(number), day, rest)


def _dated_by(form: str, day: str, rest: str | None) -> str:
    at = datetime.strptime(day, form)
    if at.strftime(form) != day:
        raise ValueError(day)  # day 366 of a year that has none
    return f"{at.date().isoformat()}T{rest or '00:00'}"


def _colons(digits: str) -> str:
    return ":".join(digits[place : place + 2] for place in range(0, len(digits), 2))


def _korean(year: str, month: str, day: str, half: str | None, hour: str, rest: str) -> str:
    if half:
        hour = str(int(hour) % 12 + (12 if half == "오후" else 0))
    return f"{year}-{int(month):02d}-{int(day):02d}T{int(hour):02d}{rest}+09:00"


_FORMS: tuple[tuple[re.Pattern[str], Callable[..., str]], ...] = tuple(
    (re.compile(form), rewritten)
    for form, rewritten in (
        # Nov 15, 2026 10:00 EST; then as C writes it, Sun Nov 15 10:00:00 2026, or with the zone before the year
        (
            rf"{_DAY_NAME}([A-Za-z]{{3,9}})\.?\s+([0-9]{{1,2}}),?\s+([0-9]{{4}})(?:,?\s+([0-9].*))?",
            lambda month, day, year, rest: f"{day} {month} {year} {rest or ''}",
        ),
        (
            rf"{_DAY_NAME}([A-Za-z]{{3,9}})\.?\s+([0-9]{{1,2}})\s+{_CLOCK}\s+(?:(\S{{1,9}})\s+)?([0-9]{{4}})",
            lambda month, day, clock, zone, year: f"{day} {month} {year} {clock} {zone or ''}",
        ),
        # ISO 8601 without separators, by the day of the year, by weeks
        (
            r"([0-9]{4})([0-9]{2})([0-9]{2})(?:[Tt ]?([0-9]{6})|[Tt ]([0-9]{2}|[0-9]{4}))([.,][0-9]+)?(\D.*)?",
            lambda year, month, day, long, short, fraction, zone: (
                f"{year}-{month}-{day}T{_colons(long or short)}{(long and fraction) or ''}{zone or ''}"
            ),
        ),
        (r"([0-9]{4})([0-9]{2})([0-9]{2})(?:[Tt ]([0-9]{2}:.*))?", _numbered),
        (r"([0-9]{4}-?[0-9]{3})(?:[Tt ]([0-9].*))?", lambda day, rest: _dated_by("%Y%j", day.replace("-", ""), rest)),
        (
            r"([0-9]{4})-?W([0-9]{2})(?:-?([1-7]))?(?:[Tt ]([0-9].*))?",
            lambda year, week, day, rest: _dated_by("%G %V %u", f"{year} {week} {day or 1}", rest),
        ),
        # the year first, then month and day in digits or by name; Korean
        (rf"{_DAY_NAME}([0-9]{{4}})[-/.]([0-9]{{1,2}})[-/.]([0-9]{{1,2}})(?:[Tt ]\s*([0-9].*))?", _numbered),
        (r"([0-9]{4})-([^\W\d_]{3,10})-([0-9]{1,2})(?:[Tt ]([0-9].*))?", _named),
        (
            rf"{_DAY_NAME}([0-9]{{1,2}})\s+([α-ωά-ώΑ-ΩΆ-Ώ]{{3,12}})\s+([0-9]{{4}})(?:,?\s+([0-9].*))?",
            lambda day, month, year, rest: _named(year, month, day, rest),
        ),
        (
            r"([0-9]{4})(?:-|년\s*)([0-9]{1,2})(?:-|월\s*)([0-9]{1,2})일?\s+(?:(오전|오후)\s+)?([0-9]{1,2})(:[0-9]{2}(?::[0-9]{2})?)",
            _korean,
        ),
    )
)


def _rewritten(text: str) -> str | None:
    """A date of another form as RFC 822 or W3CDTF write it; None if it is of none that is known."""
    for form, rewritten in _FORMS:
        if match := form.fullmatch(text):
            with suppress(ValueError):  # no such day of the year, no such week
                return rewritten(*match.groups())
    return None


def as_datetime(text: str) -> str | None:
    """The canonical lexical form of the dateTime that `text` writes, or None if it writes none."""
    usual = _USUAL.fullmatch(text)
    if usual and (date := _usual_day(usual[1])) and (offset := _zone(usual[3])):
        return f"{date}T{usual[2]}{offset}"
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    rfc, iso = _RFC.fullmatch(text), _ISO.fullmatch(text)
    if rfc is None and iso is None:
        text = (_rewritten(text) or "").strip()
        rfc, iso = _RFC.fullmatch(text), _ISO.fullmatch(text)
    if rfc:
        day, name, year, *clock, zone = rfc.groups()
        month, fraction = _MONTHS.get(name.lower(), "0"), ""
        if len(year) == 2:  # RFC 2822: below 50 they are in this century
            year = ("20" if year < "50" else "19") + year
    elif iso:
        year, month, day, *clock, fraction, zone = iso.groups()
    else:
        return None
    hour, minute, second = (int(part or 0) for part in clock)
    offset = _zone(zone)
    if offset is None or second > 60:
        return None
    is_midnight = iso is not None and (hour, minute, second) == (24, 0, 0)  # the end of the day, in ISO 8601
    try:
        at = datetime(int(year), int(month or 1), int(day or 1), 0 if is_midnight else hour, minute)
        at += timedelta(days=is_midnight, seconds=second)  # a leap second is the first of the next minute
    except (ValueError, OverflowError):
        return None
    tail = "" if is_midnight else (fraction or "").rstrip("0")
    return f"{at.isoformat()}{'.' if tail else ''}{tail}{offset}"


@lru_cache(maxsize=4096)
def _usual_day(text: str) -> str | None:
    at = as_datetime(f"{text} 00:00")
    return None if at is None else at.partition("T")[0]


@lru_cache(maxsize=1024)
def _zone(text: str | None) -> str | None:
    """A zone as XSD spells it, UTC where none is named; None for one that is not known."""
    if text is None:
        return "Z"
    if text[-1].isdigit():
        sign = max(text.find("+"), text.find("-"))
        digits = text[sign + 1 :].replace(":", "").ljust(4, "0")
        hours, minutes, is_west = int(digits[:2]), int(digits[2:]), text[sign] == "-"
    elif text.lower() in _HOURS:
        east = _HOURS[text.lower()]
        hours, minutes, is_west = abs(east), 0, east < 0
    else:
        return None
    if minutes > 59 or hours * 60 + minutes > _FARTHEST:
        return None
    return f"{'-' if is_west else '+'}{hours:02d}:{minutes:02d}" if hours or minutes else "Z"


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


# All take an element and the base that holds around it.

Read = Callable[[Element, str], str]

_XML = "http://www.w3.org/XML/1998/namespace"
XML_BASE = f"{{{_XML}}}base"
_RELATION = "http://www.iana.org/assignments/relation/"  # what a link's `rel` may be written in full by
_ADDRESSES = ("url", "href", "src", "uri", "resource", f"{{{RDF}}}resource")
_WORDS = ("term", "text", "value", "label")


def content(element: Element, base: str = "") -> str:
    """All text in an element."""
    if len(element):
        return "".join(element.itertext()).strip()
    value = element.text
    return value.strip() if value else ""


def within(element: Element, base: str) -> str:
    """The base that holds in an element: its own is relative to the one around it."""
    own = element.get(XML_BASE)
    return resolved(base, own.strip()) if own else base


def address(element: Element, base: str = "") -> str:
    """An address that is the text of an element."""
    link = content(element)
    return link if not link or _SCHEME.match(link) else resolved(within(element, base), link)


def pointed(element: Element, base: str = "") -> str:
    """An address in an attribute."""
    link = next((link for name in _ADDRESSES if (link := element.get(name, "").strip())), "")
    return link if not link or _SCHEME.match(link) else resolved(within(element, base), link)


def pointed_or_text(element: Element, base: str = "") -> str:
    return pointed(element, base) or content(element)


def said(element: Element, base: str = "") -> str:
    """What an element of any name says: its own text, else its address, else the text in it, else its word."""
    if not element.attrib or (not len(element) and content(element)):
        return content(element)
    text = pointed(element, base) or content(element)
    return text or next((word for name in _WORDS if (word := element.get(name, "").strip())), "")


def category(element: Element, base: str = "") -> str:
    return element.get("term", "").strip() or content(element)


def linked(link: Element, relation: str, base: str) -> str:
    """The address of a link of Atom, if it is of this relation."""
    named = link.get("rel", "").strip().removeprefix(_RELATION) or "alternate"
    href = link.get("href", "").strip() if named == relation else ""
    return href if not href or _SCHEME.match(href) else resolved(within(link, base), href)


def alternate(link: Element, base: str = "") -> str:
    """The address of Atom's link, if it is the one to the same thing in another form."""
    return linked(link, "alternate", base)


def unpacked(element: Element, base: str = "") -> str:
    """Text, which Atom 0.3 may write in base64; what is no text in UTF-8 then stays as it is written."""
    written = content(element)
    if element.get("mode") == "base64":
        with suppress(ValueError):
            text = b64decode("".join(written.split()), validate=True).decode().strip()
            return written if "\0" in text else text
    return written


def marked_up(element: Element, base: str = "") -> str:
    """Text, or elements as markup."""
    return xhtml(element) if len(element) else unpacked(element)


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


def mend(text: bytes) -> bytes:
    """The text with bare ampersands escaped and HTML's named characters as numbers."""
    return _AMPERSAND.sub(_replacement, text) if b"&" in text else text


def unmended(text: bytes, position: int) -> int:
    """Where the byte at `position` of the mended text stands in `text`; for one in a replacement, where that begins."""
    shift = 0
    for match in _AMPERSAND.finditer(text):
        new = _replacement(match)
        start = match.start() + shift
        if position < start:
            break
        if position < start + len(new) and new != match[0]:
            return match.start()
        shift += len(new) - len(match[0])
    return position - shift


def _replacement(match: re.Match[bytes]) -> bytes:
    name = match[1]
    if match[0] == b"&":
        return b"&amp;"
    if name is None or name in _OF_XML or name.startswith(b"#"):
        return match[0]
    characters = html5.get(name.decode("ascii") + ";")
    return match[0] if characters is None else b"".join(b"&#%d;" % ord(character) for character in characters)


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

    def last_end(self, start: int) -> int:
        """Where the last item ends that begins at `start` or later; -1 if that is not known."""
        found = self._data.rfind(self._close, start)
        return found + len(self._close) if found >= 0 else -1

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


# --- a feed while it is read: its items, each on its own, and what stands around them ---
#
# Pieces are parsed inside an element that declares the namespaces of the feed's head. Nothing but the piece and that
# element is given to the parser, so no entity can be declared, expanded or fetched.

MAX_ITEM = 16 << 20  # bytes of an item
MAX_ELEMENTS = 50_000  # elements in an item
MAX_CHANNEL = 16 << 20  # bytes around the items
MAX_SCOPE, MAX_SCOPE_SIZE = 100, 8192  # namespaces of the head: each item that is parsed alone declares them anew

_UNDEFINED_ENTITY = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]
_UNBOUND_PREFIX = expat.errors.codes[expat.errors.XML_ERROR_UNBOUND_PREFIX]
_INVALID_TOKEN = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]


class Parsed(NamedTuple):
    """A good item: its number in the file, where it stands, its element, and its text where that had to be mended."""

    number: int
    span: Span
    element: Element
    mended: bytes | None = None


class Surroundings(NamedTuple):
    """A feed without its items: the mended text, and its tree up to where it breaks."""

    text: bytes
    tree: Element | None
    is_whole: bool  # nothing was left out or refused


class Channel(NamedTuple):
    """The channel of a feed; what is not known is empty."""

    node: Term
    title: str
    link: str
    base: str  # that addresses in items are relative to


class Feed:
    """`scope` and `head` are the namespaces and the tree before the first item, as far as they can be read."""

    def __init__(self, document: OpenedDocument, root: XmlRoot, dialect: Dialect) -> None:
        self.document, self.root, self.dialect = document, root, dialect
        self.rejected: list[Rejected] = []
        self._places = PlaceFinder(document.name, document.data)
        self._limit = MessageLimit()
        self._found = ItemFinder(document.data, dialect.names, dialect.parents)
        self._gaps: list[Span] = []  # what stands around the items, and is not space
        self._count = 0
        self._ids: set[str] = set()
        self.head: Element | None = None
        self.scope = self._read_head()
        size = sum(len(prefix) + len(uri) for prefix, uri in self.scope.items())
        if len(self.scope) > MAX_SCOPE or size > MAX_SCOPE_SIZE:
            fix = f"the limits are {MAX_SCOPE} and {MAX_SCOPE_SIZE:,}; declare only those that are used"
            message = f"a head that declares {len(self.scope):,} namespaces of {size:,} characters"
            raise DocumentError("HG-322", message, place=self._places.at(root.start), fix=fix)
        self._opening, self._closing = wrap(self.scope)
        self._tag = dialect.tag(dialect.item)

    def _read_head(self) -> dict[str, str]:
        start = self._found.next_start(self.root.end)
        end = min(start if start >= 0 else len(self.document.data), self.root.start + MAX_CHANNEL)
        declared: list[tuple[str, str]] = []
        parser: Any = XMLPullParser(events=("start", "start-ns", "end-ns"))
        try:
            parser.feed(mend(self.document.data[self.root.start : end]))
            for event, value in parser.read_events():
                if event == "start-ns":
                    declared.append(value)
                elif event == "end-ns":
                    declared.pop()
                elif self.head is None:
                    self.head = value
        except ParseError:  # reported with what stands around the items
            return dict([*self.root.prefixes.items(), *declared])
        tail = self._found.last_end(start) if start >= 0 else -1
        if tail >= 0 and len(self.document.data) - tail <= MAX_CHANNEL:
            parser.feed(mend(self.document.data[tail:]))  # a channel may name its link and its authors last
        return dict(declared)

    def name_of(self, number: int) -> str:
        """What an item without an id is called."""
        return f"{self.document.name}#{number}"

    def refuse(self, error: DocumentError, item: str | None, position: int) -> None:
        if not self._limit.allows(error.code):
            self.rejected.append(Rejected(self.document.name, item, error.code, ""))
            return
        error.place = self._places.at(position, item)
        self.rejected.append(Rejected.of(error, self.document.name, item))

    def is_new(self, id: str, position: int) -> bool:
        """Whether no item had this id before; one that is not new is refused."""
        if id in self._ids:
            fix = "give each item of a feed an id of its own"
            self.refuse(DocumentError("HG-312", f"a second item with the id {shortened(id)}", fix=fix), id, position)
            return False
        self._ids.add(id)
        return True

    def items(self) -> Iterator[list[Parsed]]:
        """The good items, in runs; the others are refused."""
        position = self.root.end
        start = self._found.next_start(position)
        while start >= 0:
            spans = self._found.run(start)
            parsed = self._run(spans)
            if parsed is None:
                spans = list(self._found.careful_run(start, spans[-1].end if spans else start + 1))
                parsed = [good for span in spans if (good := self._alone(span)) is not None]
            yield parsed
            for span in spans:
                self._note_gap(position, span.start)
                position = span.end
            start = self._found.next_start(position)
        self._note_gap(position, len(self.document.data))

    def _note_gap(self, start: int, end: int) -> None:
        if end - start > MAX_CHANNEL or self.document.data[start:end].strip():
            self._gaps.append(Span(start, end))

    def _run(self, spans: list[Span]) -> list[Parsed] | None:
        """The items of a run, parsed together; None if anything about it is odd."""
        if not spans or spans[-1].end - spans[0].start > MAX_ITEM:
            return None
        text = self.document.data[spans[0].start : spans[-1].end]
        if text.count(b"<") > MAX_ELEMENTS:
            return None
        try:
            elements = self._elements(text)
        except ParseError:
            return None
        if len(elements) != len(spans) or any(element.tag != self._tag for element in elements):
            return None
        first = self._count + 1
        self._count += len(spans)
        return [Parsed(first + row, *found) for row, found in enumerate(zip(spans, elements, strict=True))]

    def _elements(self, text: bytes) -> list[Element]:
        parser = XMLParser(encoding="utf-8")
        for part in (self._opening, text, self._closing):
            parser.feed(part)
        return list(parser.close())

    def _alone(self, span: Span) -> Parsed | None:
        """An item that is parsed alone; None if it is refused."""
        self._count += 1
        offset = 0
        size = span.end - span.start
        text = self.document.data[span.start : span.end] if size <= MAX_ITEM else b""
        mended: bytes | None = None
        try:
            if size > MAX_ITEM:
                error = _too_large(f"{size:,} bytes; the limit is {MAX_ITEM:,}")
            elif text.count(b"<") > MAX_ELEMENTS and self._element_count(text) > MAX_ELEMENTS:
                error = _too_large(f"more than {MAX_ELEMENTS:,} elements")
            else:
                try:
                    elements = self._elements(text)
                except ParseError:
                    mended = mend(text)
                    elements = self._elements(mended)
                if [element.tag for element in elements] == [self._tag]:
                    return Parsed(self._count, span, elements[0], mended)
                found = shortened(", ".join(element.tag for element in elements[:3]))
                fix = "declare the feed's namespace in its root element only"
                error = DocumentError("HG-311", f"{found} where an item was expected", fix=fix)
        except ParseError as problem:
            assert mended is not None
            broken = broken_at(self._opening + mended + self._closing) - len(self._opening)
            broken = min(max(0, broken), len(mended))
            error, offset = _complaint(problem, mended[broken:]), unmended(text, broken)
        self.refuse(error, self.name_of(self._count), span.start + offset)
        return None

    def _element_count(self, text: bytes) -> int:
        """The number of elements, as far as the text is well-formed."""
        count = -1  # without the one around them

        def enter(name: str, attributes: object) -> None:
            nonlocal count
            count += 1

        parser = expat.ParserCreate(encoding="utf-8")
        parser.StartElementHandler = enter
        with suppress(expat.ExpatError):
            parser.Parse(self._opening + text + self._closing, True)
        return count

    def around(self) -> Surroundings:
        """What stands around the items that were read, without what is too large to be any channel's."""
        spans = [Span(self.root.start, self.root.end)]
        size = 0
        for gap in self._gaps:
            if size + gap.end - gap.start > MAX_CHANNEL:
                fix = f"the limit around all items is {MAX_CHANNEL:,}; the items were read"
                error = DocumentError("HG-315", f"{gap.end - gap.start:,} bytes that belong to no item", fix=fix)
                self.refuse(error, None, gap.start)
            else:
                size += gap.end - gap.start
                spans.append(gap)
        is_whole = len(spans) == len(self._gaps) + 1
        text = b"".join(mend(self.document.data[start:end]) for start, end in spans)
        tree: Element | None = None
        parser: Any = XMLPullParser(events=("start",))
        try:
            parser.feed(text)
            for _, element in parser.read_events():
                tree = element if tree is None else tree
            parser.close()
        except ParseError as problem:
            offset = broken_at(text)
            is_reported = offset >= len(text) and self.rejected  # the file ends inside an item that was refused
            if is_whole and not is_reported:
                is_whole = False
                fix = "mend it there; the items were read, the channel up to this place"
                message = f"broken XML around the items: {expat.ErrorString(problem.code) or 'not well-formed'}"
                self.refuse(DocumentError("HG-315", message, fix=fix), None, self._position(spans, offset))
        return Surroundings(text, tree, is_whole)

    def _position(self, spans: list[Span], offset: int) -> int:
        """Where the byte at `offset` of the mended text of these spans stands in the file."""
        for start, end in spans:
            piece = self.document.data[start:end]
            length = len(mend(piece))
            if offset <= length:
                return start + unmended(piece, offset)
            offset -= length
        return spans[-1].end

    def channel(self, tree: Element | None) -> Channel:
        """The channel that the tree around the items describes."""
        if tree is None:
            return Channel(blank("channel"), "", "", "")
        tag = self.dialect.tag
        found = tree.find(tag("channel")) if self.dialect.kind is FeedKind.RSS2 else None
        place = tree if found is None else found

        def first(name: str, read: Read, base: str) -> str:
            return next((value for child in place.findall(tag(name)) if (value := read(child, base))), "")

        is_atom = self.dialect.kind is FeedKind.ATOM
        declared = within(place, within(tree, "")) if place is not tree else within(tree, "")
        links = (linked(link, "self", declared) for link in place.iterfind("{*}link"))
        own = next(filter(None, links), "")
        own = own if _SCHEME.match(own) else ""  # where the feed itself is; relative addresses begin there
        around = resolved(own, declared) if declared else own
        id = first("id", content, "") if is_atom else ""
        link = first("link", address, around) or first("link", alternate, around)
        known = as_iri(id) or as_iri(link)
        node = blank("channel") if known is None else iri(known)
        base = resolved(link if _SCHEME.match(link) else own, declared) if declared else link or own
        return Channel(node, first("title", unpacked, ""), link, base)


def wrap(
    scope: Mapping[str, str], name: str = "heliograph-feed", attributes: Mapping[str, str] | None = None
) -> tuple[bytes, bytes]:
    """The tags of an element that declares the namespaces in scope, its start tag on a line of its own."""
    declared = {f"xmlns:{prefix}" if prefix else "xmlns": uri for prefix, uri in scope.items() if prefix != "xml"}
    escapes = {"\n": "&#10;", "\r": "&#13;"}
    pairs = (*declared.items(), *(attributes or {}).items())
    written = "".join(f" {key}={quoteattr(value, escapes)}" for key, value in pairs)
    return f"<{name}{written}>\n".encode(), f"</{name}>".encode()


def broken_at(text: bytes) -> int:
    """The byte at which the parser gives up."""
    parser = expat.ParserCreate(encoding="utf-8", namespace_separator=SEPARATOR)
    with suppress(expat.ExpatError):
        parser.Parse(text, True)
    return max(0, parser.ErrorByteIndex)


def _too_large(what: str) -> DocumentError:
    return DocumentError("HG-313", f"an item of {what}", fix="shorten the item; the others were read")


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


# --- RSS 2.0 (and 0.91 to 0.94) and Atom, mapped to RSS 1.0 ---
#
# An item is
#     <item> rdf:type rss:item ; rss:title … ; rss:link … ; rss:description … ; dc:date … ; dc:creator … ;
#            dc:subject … ; dc:identifier … ; content:encoded … .
# and its channel, as RSS 1.0 writes it,
#     <channel> rdf:type rss:channel ; rss:title … ; rss:link … ; rss:items _:items .
#     _:items   rdf:type rdf:Seq ; rdf:_1 <item> .
# All values are plain strings, links too, as they are in RSS 1.0; dates are xsd:dateTime where they can be read so.
#
# RSS 2.0   title, link and description keep their names, `pubDate` is dc:date, `author` dc:creator, `category`
#           dc:subject, `guid` dc:identifier (and rss:link if it is a link and there is no other), `source` dc:source;
#           other elements keep their names in the namespace of RSS 1.0, and those of Atom are read as in Atom.
# Atom      `title` is rss:title, the alternate link rss:link, an enclosure rss:enclosure, `summary` rss:description,
#           `content` content:encoded, `published` and `updated` are both dc:date, an author's name is dc:creator (the
#           feed's own where an entry has none), a category's term dc:subject, `id` dc:identifier, `rights` dc:rights.
#           Elements in a summary or content, XHTML mostly, are kept as markup; base64 of Atom 0.3 is decoded.
# Elements of other namespaces keep their names; `said` is what they say, and what stands in a group of Media RSS counts
# as if it stood in the item. Other attributes are left. Addresses are resolved against xml:base, each relative to the
# one around it, and against the channel's link where there is none.

MAX_AUTHORS = 100  # of a feed: each entry without authors has all of them

_DC = PREFIXES["dc"]
_LITERAL = TermKind.LITERAL
_new = tuple.__new__

_RSS_TERMS = [iri(RSS + name) for name in "item title link description channel items enclosure".split()]
ITEM, TITLE, LINK, DESCRIPTION, CHANNEL, ITEMS, ENCLOSURE = _RSS_TERMS
_DC_TERMS = [iri(_DC + name) for name in "date creator contributor subject identifier rights source".split()]
DATE, CREATOR, CONTRIBUTOR, SUBJECT, IDENTIFIER, RIGHTS, SOURCE = _DC_TERMS
ENCODED = iri(PREFIXES["content"] + "encoded")
SEQ = iri(RDF + "Seq")
DCTERMS = "http://purl.org/dc/terms/"
DATES = {DATE.value} | {DCTERMS + name for name in "date created issued modified available".split()}


def text(value: str) -> Term:
    """A plain string."""
    return _new(Term, (_LITERAL, value, XSD_STRING, ""))


def date(value: str) -> Term:
    """A dateTime, or the text where it is none."""
    written = as_datetime(value)
    return text(value) if written is None else _new(Term, (_LITERAL, written, XSD_DATETIME, ""))


_MEDIA = ("http://search.yahoo.com/mrss/", "http://search.yahoo.com/mrss")
_CONTAINERS = {f"{{{namespace}}}{name}" for namespace in _MEDIA for name in ("group", "content")}
"""Elements of Media RSS; what they hold counts as if the item held it."""

Meaning = tuple[Term, Read, Callable[[str], Term]]
"""What is made of an element: the predicate, how its value is read, and the term it becomes."""

_RSS2: Mapping[str, Meaning] = {
    "title": (TITLE, content, text),
    "link": (LINK, address, text),
    "description": (DESCRIPTION, content, text),
    "pubDate": (DATE, content, date),
    "author": (CREATOR, content, text),
    "category": (SUBJECT, content, text),
    "guid": (IDENTIFIER, content, text),
    "source": (SOURCE, pointed_or_text, text),
    "enclosure": (ENCLOSURE, pointed_or_text, text),
}


def _atom(namespace: str) -> dict[str, Meaning]:
    """The elements of Atom 1.0 and 0.3."""
    start = f"{{{namespace}}}" if namespace else ""

    def inner(element: Element, *names: str) -> str:
        found = (element.find(start + name) for name in names)
        return next((text for each in found if each is not None and (text := content(each))), "")

    def person(element: Element, base: str) -> str:
        return inner(element, "name", "email")

    meanings: dict[str, Meaning] = {
        "id": (IDENTIFIER, content, text),
        "title": (TITLE, unpacked, text),
        **dict.fromkeys(("rights", "copyright"), (RIGHTS, unpacked, text)),
        "summary": (DESCRIPTION, marked_up, text),
        "content": (ENCODED, marked_up, text),
        "link": (LINK, alternate, text),
        "category": (SUBJECT, category, text),
        "author": (CREATOR, person, text),
        "contributor": (CONTRIBUTOR, person, text),
        "source": (SOURCE, lambda element, base: inner(element, "id"), text),
        # The last three are those of Atom 0.3.
        **dict.fromkeys(("published", "updated", "issued", "modified", "created"), (DATE, content, date)),
    }
    return {start + local: meaning for local, meaning in meanings.items()}


class MappedItems:
    """Collects the items of one feed. Terms are interned a run at a time, while they are still in the cache."""

    def __init__(self, feed: Feed, interner: Interner) -> None:
        self._feed, self._vocabulary = feed, interner.vocabulary
        self._ids: list[str] = []
        self._counts: list[int] = []
        self._predicates: list[int] = []
        self._interned: list[int] = []  # of each item its node, then the objects
        self._scoped: list[tuple[int, bool]] = []  # items whose id means something in this feed only; has it a link?
        self._codes: dict[Term, int] = {}  # of predicates
        is_atom = feed.dialect.kind is FeedKind.ATOM
        meanings = _atom(feed.dialect.namespace if is_atom else ATOM)
        if not is_atom:  # which may use elements of Atom too
            meanings = meanings | {feed.dialect.tag(local): meaning for local, meaning in _RSS2.items()}
        self._uses = {tag: self._coded(*meaning) for tag, meaning in meanings.items()}
        words = (RDF_TYPE, LINK, IDENTIFIER, CREATOR, ENCLOSURE)
        self._type, self._link, self._identifier, self._creator, self._enclosure = map(self._code, words)
        self._link_tag = feed.dialect.tag("link")
        head, author = feed.head, feed.dialect.tag("author")
        self._base = "" if head is None else feed.channel(head).base
        self._authors: list[str] = []
        if head is not None and is_atom:
            read = self._uses[author][1]
            self._authors = [name for element in head.findall(author) if (name := read(element, ""))]
        if len(self._authors) > MAX_AUTHORS:
            fix = f"the limit is {MAX_AUTHORS}; name them in the entries, which were read without"
            error = DocumentError("HG-315", f"a feed of {len(self._authors):,} authors", fix=fix)
            feed.refuse(error, None, feed.root.start)
            self._authors = []

    def _code(self, predicate: Term) -> int:
        return self._codes.setdefault(predicate, len(self._codes))

    def _coded(self, predicate: Term, read: Read, make: Callable[[str], Term]) -> Any:
        return self._code(predicate), read, make

    def take(self, run: Sequence[Parsed]) -> None:
        """Takes a run of items; those whose id is known are refused."""
        terms: list[Term] = []
        for good in run:
            predicates, objects = [self._type], [ITEM]
            id, link = self._read(good.element, predicates, objects)
            id = id or link or self._feed.name_of(good.number)
            if self._feed.is_new(id, good.span.start):
                address = as_iri(id) or as_iri(link)
                if as_iri(id) is None and id != self._feed.name_of(good.number):
                    self._scoped.append((len(self._ids), address is not None))
                self._ids.append(id)
                self._counts.append(len(objects))
                self._predicates += predicates
                terms.append(plain_name(id) if address is None else iri(address))
                terms += objects
        self._interned += self._vocabulary.intern_many(terms)

    def _read(self, element: Element, predicates: list[int], objects: list[Term]) -> tuple[str, str]:
        """Adds what an item says; its own id and its link, where it has them."""
        id = link = other = ""  # the last is a link of Atom in a feed of RSS
        uses, base = self._uses, within(element, self._base)
        children = list(element)
        for child in children:
            tag = child.tag
            predicate, read, make = uses.get(tag) or self._other(tag)
            value = read(child, base)
            if tag in _CONTAINERS and len(child):
                children += child
                value = pointed(child, base)
            if not value:
                if predicate != self._link or not (value := linked(child, "enclosure", base)):
                    continue
                predicate = self._enclosure
            if predicate == self._link:
                link, other = (link or value, other) if tag == self._link_tag else (link, other or value)
            elif predicate == self._identifier:
                id = id or value
            predicates.append(predicate)
            objects.append(make(value))
        if not link and (link := self._permanent(element)):
            predicates.append(self._link)
            objects.append(text(link))
        if self._authors and self._creator not in predicates:
            predicates += [self._creator] * len(self._authors)
            objects += map(text, self._authors)
        return id, link or other

    def _other(self, tag: str) -> Any:
        """An element that has no meaning of its own here."""
        dialect = self._feed.dialect
        namespace, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
        predicate = as_iri((RSS if namespace == dialect.namespace else namespace) + local)
        if predicate is None or (namespace == dialect.namespace and dialect.kind is FeedKind.ATOM):
            use = self._coded(RDF_TYPE, lambda element, base: "", text)
        else:
            use = self._coded(iri(predicate), said, date if predicate in DATES else text)
        self._uses[tag] = use
        return use

    def _permanent(self, element: Element) -> str:
        """The guid of an item of RSS 2.0 is its link, unless it says that it is not."""
        guid = element.find(self._feed.dialect.tag("guid"))
        if guid is None or guid.get("isPermaLink", "true").strip().lower() == "false":
            return ""
        return content(guid) if as_iri(content(guid)) else ""

    def triples(self, around: Surroundings) -> DocumentTriples:
        """All rows, each with the number of its item; the channel's come last."""
        counts = np.array(self._counts, np.int64)
        terms = np.array(self._interned, np.int32)
        nodes = np.cumsum(counts + 1) - counts - 1
        subjects = terms[nodes]
        channel = self._feed.channel(around.tree)
        for item, has_link in self._scoped:
            self._ids[item] = id = f"{channel.link or self._feed.document.name}#{self._ids[item]}"
            if not has_link:
                address = as_iri(id)
                subjects[item] = self._vocabulary.intern(plain_name(id) if address is None else iri(address))
        own = np.empty((len(self._predicates), 3), np.int32)
        own[:, 0] = np.repeat(subjects, counts)
        own[:, 1] = np.array(self._vocabulary.intern_many(list(self._codes)), np.int32)[self._predicates]
        own[:, 2] = np.delete(terms, nodes)
        shared = self._shared(channel)
        width = len(shared)
        shared = np.tile(shared, (len(subjects), 1))
        shared[width - 1 :: width, 2] = subjects
        items = np.arange(len(subjects))
        numbers = np.concatenate((np.repeat(items, counts), np.repeat(items, width)))
        return DocumentTriples(self._ids, numbers, np.concatenate((own, shared)), self._feed.rejected, True)

    def _shared(self, channel: Channel) -> Codes:
        """What every item says of its channel; the last object stands for the item."""
        node, items = channel.node, blank("items")
        facts = [(node, RDF_TYPE, CHANNEL)]
        facts += [(node, TITLE, text(channel.title))] if channel.title else []
        facts += [(node, LINK, text(channel.link))] if channel.link else []
        facts += [(node, ITEMS, items), (items, RDF_TYPE, SEQ), (items, iri(RDF + "_1"), items)]
        terms = [term for fact in facts for term in fact]
        return np.array(self._vocabulary.intern_many(terms), np.int32).reshape(-1, 3)


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

Fact = tuple[int, int]
Triple = tuple[int, int, int]


class RdfItem(NamedTuple):
    """An item: its id and whether that means something in this feed only, its node, what is said of it, and where it
    stands."""

    id: str
    is_scoped: bool
    node: int
    facts: list[Fact]
    position: int


class RdfItems:
    """Collects the items of one feed, then makes their publications."""

    def __init__(self, feed: Feed, interner: Interner) -> None:
        self._feed = feed
        self._interner = interner
        self._base = base_of(feed.document.name)
        scope = {prefix: RSS if uri in RSS_AS_RDF else uri for prefix, uri in feed.scope.items()}
        kept = {name: feed.root.attributes.get(f"{_XML}{SEPARATOR}{name}") for name in ("base", "lang")}
        attributes = {f"xml:{name}": value for name, value in kept.items() if value is not None}
        self._opening, self._closing = wrap(scope | {"heliograph-rdf": RDF}, "heliograph-rdf:RDF", attributes)
        words = (RDF_TYPE, ITEM, CHANNEL, ITEMS, SEQ, TITLE, LINK)
        found = interner.vocabulary.intern_many(words)
        self._type, self._item, self._channel, self._list, self._seq, self._title, self._link = found
        self._waiting: list[Parsed] = []
        self._items: list[RdfItem] = []
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
        if len(run) == 1:
            return [self._alone(run[0])]
        parts = self._parts(run)
        middle = len(run) // 2
        return [*self._read(run[:middle]), *self._read(run[middle:])] if parts is None else parts

    def _parts(self, run: Sequence[Parsed]) -> list[list[Triple]] | None:
        """The triples of each item of a run; None if it does not fall apart as it should."""
        if not run:
            return []
        try:
            triples = self._triples(run)
        except (SyntaxError, DocumentError):
            return None
        starts = [row for row, triple in enumerate(triples) if triple[1:] == (self._type, self._item)]
        if len(starts) != len(run):
            return None
        return [triples[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]

    def _alone(self, good: Parsed) -> list[Triple]:
        try:
            return self._triples([good])
        except SyntaxError as error:
            fix = "mend the item; the others were read"
            problem = DocumentError("HG-316", f"no RDF: {complaint(error)}", fix=fix)
        except DocumentError as error:
            problem = error
        self._feed.refuse(problem, self._feed.name_of(good.number), good.span.start)
        return []

    def _triples(self, run: Sequence[Parsed]) -> list[Triple]:
        """The triples of items; raises where one is no RDF, or beyond the limits."""
        data = self._feed.document.data
        texts = [good.mended or data[good.span.start : good.span.end] for good in run]
        for text in texts:
            # Elements cannot nest deeper than there are tags, nor have many attributes in few bytes.
            if text.count(b"<") > 2 * guards.MAX_DEPTH or len(text) > _SHORT:
                guards.check_xml(text)
        document = self._opening + b"\n".join(texts) + self._closing
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
        term = self._term(node)
        links = (self._term(value).value for predicate, value in facts if predicate == self._link)
        own = term.value if term.kind is TermKind.IRI else next(links, "")
        id = own or self._feed.name_of(good.number)
        if not self._feed.is_new(id, good.span.start):
            return
        self._items.append(RdfItem(id, bool(own) and as_iri(own) is None, node, facts, good.span.start))
        self._count += len(triples)
        if len(facts) < len(triples):
            for subject, predicate, value in triples:
                if subject != node and self._is_blank(subject):
                    self._facts[subject].append((predicate, value))

    def _term(self, id: int) -> Term:
        return self._interner.vocabulary.term(id)

    def _is_blank(self, id: int) -> bool:
        return self._term(id).kind is TermKind.BLANK

    def triples(self, around: Surroundings) -> DocumentTriples:
        """Each item with what it reaches and its channel, where that does not come to too much."""
        self._read_waiting()
        outside = self._outside(around)
        for subject, predicate, value in outside:
            self._facts[subject].append((predicate, value))
        self._count += len(outside)
        channels = [triple[0] for triple in outside if triple[1:] == (self._type, self._channel)]
        listed: dict[int, Triple] = {}  # the channel that lists an item, its list, and the member that the item is
        for channel in channels:
            for list_ in (value for predicate, value in self._facts[channel] if predicate == self._list):
                for predicate, value in self._facts.get(list_, ()):
                    if is_container_member(self._term(predicate)):
                        listed.setdefault(value, (channel, list_, predicate))
        spare = SPARE + 8 * self._count
        ids: list[str] = []
        counts: list[int] = []
        rows: list[Triple] = []
        for item in self._items:
            own = [(item.node, *fact) for fact in (*item.facts, *self._facts.get(item.node, ()))]
            reached = self._reached(item.node, own, spare)
            listing = listed.get(item.node, (channels[0], -1, -1) if channels else None)
            said = self._said(item.node, *listing) if listing and spare >= 0 else []
            spare -= len(reached) + max(0, len(said) - _CHANNEL)
            if spare < 0:
                fix = "name the node that they share with rdf:about"
                message = "an item that reaches too many triples through blank nodes or its channel"
                self._feed.refuse(DocumentError("HG-313", message, fix=fix), item.id, item.position)
                continue
            ids.append(f"{self._link_of(listing)}#{item.id}" if item.is_scoped else item.id)
            counts.append(len(own) + len(reached) + len(said))
            rows += [*own, *reached, *said]
        numbers = np.repeat(np.arange(len(ids)), counts)
        return DocumentTriples(ids, numbers, np.array(rows, np.int32).reshape(-1, 3), self._feed.rejected, True)

    def _link_of(self, listing: Triple | None) -> str:
        """The link of the channel that lists an item, else the document's name."""
        facts = self._facts[listing[0]] if listing else []
        links = (self._term(value).value for predicate, value in facts if predicate == self._link)
        return next(links, "") or self._feed.document.name

    def _outside(self, around: Surroundings) -> list[Triple]:
        """What is said outside of the items, up to where it cannot be read; a break of the XML has been reported."""
        text = around.text
        for namespace in RSS_AS_RDF[1:]:
            text = text.replace(f'"{namespace}"'.encode(), f'"{RSS}"'.encode())
        quads: list[Quad] = []
        try:
            guards.check_xml(text)
            quads.extend(parse(text, format=RdfFormat.RDF_XML, base_iri=self._base))
        except (SyntaxError, DocumentError, MemoryError) as error:
            if around.is_whole:
                message = error.message if isinstance(error, DocumentError) else complaint(error)
                fix = "mend it; the items were read, the channel up to this place"
                self._feed.refuse(DocumentError("HG-315", message, fix=fix), None, self._feed.root.start)
        return self._interned(quads)

    def _said(self, item: int, channel: int, list_: int, member: int) -> list[Triple]:
        """What an item says of its channel: type, title and link, and where it stands in its list."""
        facts = [fact for fact in self._facts[channel] if fact[0] in (self._title, self._link)]
        said = [(channel, self._type, self._channel), *((channel, *fact) for fact in facts)]
        if list_ >= 0:
            said += [(channel, self._list, list_), (list_, self._type, self._seq), (list_, member, item)]
        return said

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
