"""Limits that keep a hostile document from exhausting the parser: depth of nesting, and expansion of entities and IRIs.

pyoxigraph recurses into JSON-LD and into triple terms until the stack ends, takes time quadratic in the depth of
RDF/XML, in the attributes of an element and in the namespaces in scope, writes out the base or the prefix of every IRI,
and expands every entity that a DTD declares. So these are measured first, and what is beyond the limits is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from xml.parsers import expat

import numpy as np

from heliograph.errors import DocumentError
from heliograph.feeds.opening import Bytes
from heliograph.feeds.prolog import Entity

MAX_DEPTH = 256
MAX_EXPANSION = 16 << 20  # bytes that all uses of a document's entities may come to
MAX_BASE = 1024  # bytes of an IRI that others are resolved against, or abbreviated by
MAX_ATTRIBUTES = 1000  # of an element
MAX_NAMESPACES = 256  # in scope of an element
_STEP = 1 << 20
_LESS, _GREATER, _SLASH, _QUOTE = b'<>/"'

_COMMENTS = rb"\s*+(?:#[^\r\n]{0,100}+\s++){0,16}+"  # so many that a search takes linear time
_BASE = re.compile(rb"\bbase" + _COMMENTS + rb"<([^<>]*)>", re.IGNORECASE)
_PREFIX = re.compile(rb"\bprefix\s" + _COMMENTS + rb"[^\s<>:#]*+:" + _COMMENTS + rb"<([^<>]*)>", re.IGNORECASE)
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9+.\-]*:")
_LONG_IRI = re.compile(rb"<[^<>]{%d}" % MAX_BASE)
_REFERENCE = re.compile(rb"&([^\s;&<>]{1,200});")
_JSON_STEPS = np.zeros(256, np.int64)
_JSON_STEPS[list(b'[{"')] = 1
_JSON_STEPS[list(b"]}")] = -1

_TEXT = (  # a comment, an IRI, a literal, or an escaped character outside of them
    rb'#[^\r\n]*+|<[^\x00-\x20<>"{}|^`\\]*+>'
    rb'|"""(?:[^"\\]++|\\.|"(?!""))*+"""|' + rb"'''(?:[^'\\]++|\\.|'(?!''))*+'''"
    rb'|"(?:[^"\\\r\n]++|\\.)*+"|' + rb"'(?:[^'\\\r\n]++|\\.)*+'" + rb"|\\."
)
_TEXTS = re.compile(_TEXT, re.DOTALL)
_TRIPLE_TOKENS = re.compile(_TEXT + rb"|(<<\()|(\)>>)", re.DOTALL)


def too_deep(what: str) -> DocumentError:
    return DocumentError(
        "HG-304", f"{what} nested deeper than {MAX_DEPTH}", fix="flatten it: name the inner nodes and state them apart"
    )


def too_long(what: str) -> DocumentError:
    fix = f"the limit is {MAX_BASE:,} bytes, together with what it is relative to; shorten it"
    return DocumentError("HG-321", f"{what} of more than {MAX_BASE:,} bytes", fix=fix)


def check_triple_terms(data: Bytes) -> None:
    """Refuses deeply nested `<<( … )>>` in any syntax of the Turtle family."""
    if data.find(b"<<(") < 0:
        return
    depth = 0
    for token in _TRIPLE_TOKENS.finditer(data):
        depth += (token[1] is not None) - (token[2] is not None)
        if depth > MAX_DEPTH:
            raise too_deep("triple terms")


def check_turtle(data: Bytes) -> None:
    """Refuses what is dangerous in Turtle and TriG: deep triple terms, and bases and prefixes of any length."""
    check_triple_terms(data)
    if (what := _long_declaration(data)) is None:
        return
    stated = _TEXTS.sub(lambda text: b"" if text[0][:1] in b"#\"'" else text[0], bytes(data))
    if (what := _long_declaration(stated)) is not None:  # not only in a comment or a literal
        raise too_long(what)


def _long_declaration(data: Bytes) -> str | None:
    """Which kind of declaration is too long, if one is; texts that only look like one count too."""
    length = 0
    for base in _BASE.finditer(data):
        length = len(base[1]) + (0 if _SCHEME.match(base[1]) else length)
        if length > MAX_BASE:
            return "a base"
    if _LONG_IRI.search(data) and any(len(prefix[1]) > MAX_BASE for prefix in _PREFIX.finditer(data)):
        return "a prefix"
    return None


def check_json(data: Bytes) -> None:
    """Refuses deeply nested JSON. With escapes taken out, every quote opens or closes a string."""
    text = bytes(data).replace(b"\\\\", b"").replace(b'\\"', b"")
    symbols = np.frombuffer(text, np.uint8)
    symbols = symbols[_JSON_STEPS[symbols] != 0]
    outside = (np.cumsum(symbols == _QUOTE) & 1) == 0
    depth = np.cumsum(_JSON_STEPS[symbols] * ((symbols != _QUOTE) & outside))
    if len(depth) and depth.max() > MAX_DEPTH:
        raise too_deep("objects and arrays")


def check_xml(data: Bytes) -> None:
    """Refuses what is dangerous in RDF/XML; what is not well-formed is left to the parser."""
    depth = _counted_depth(data)
    if depth is None:
        depth = _Measured(data).deepest
    if depth > MAX_DEPTH:
        raise too_deep("elements")


def xml_depth(data: Bytes) -> int:
    """The depth of the elements, as far as the XML is well-formed and within the other limits."""
    depth = _counted_depth(data)
    return _Measured(data).deepest if depth is None else depth


def _counted_depth(data: Bytes) -> int | None:
    """The depth where tags can be counted in bulk, which takes a fourteenth of the time of the parser; else None.

    Each `<` has its one `>`, nothing is a comment, a section or an instruction, and no tag is so long, nor are there so
    many namespaces and bases, that a limit could be reached.
    """
    if not isinstance(data, bytes) or data.find(b"<!") >= 0 or data.find(b"<?", 2) >= 0:
        return None
    if data.count(b"xmlns") > MAX_NAMESPACES or data.count(b"xml:base") > 1:
        return None
    symbols = np.frombuffer(data, np.uint8)
    opening, closing = np.flatnonzero(symbols == _LESS), np.flatnonzero(symbols == _GREATER)
    if len(opening) != len(closing) or not len(opening) or opening[-1] + 1 >= len(symbols):
        return None
    if (closing - opening).max() > MAX_BASE:
        return None
    empty = symbols[closing - 1] == _SLASH
    step = np.where(symbols[opening + 1] == _SLASH, -1, 1) - empty
    return max(0, int((np.cumsum(step) + empty).max()))


class _Measured:
    """What the XML parser finds, as far as it is well-formed. It raises where a limit other than depth is passed."""

    def __init__(self, data: Bytes) -> None:
        self.deepest = 0
        self._open = [(0, 0)]  # of each open element the length of its base, and the namespaces in scope
        self._error: DocumentError | None = None
        parser = expat.ParserCreate(encoding="utf-8")
        parser.StartElementHandler, parser.EndElementHandler = self._enter, self._leave
        with suppress(expat.ExpatError):
            for start in range(0, len(data), _STEP):
                parser.Parse(data[start : start + _STEP], False)
                if self.deepest > MAX_DEPTH or self._error is not None:
                    break
            else:
                parser.Parse(b"", True)  # a parser may hold back the last token until then
        if self._error is not None:
            raise self._error

    def _enter(self, name: str, attributes: dict[str, str]) -> None:
        length, scope = self._open[-1]
        for key, value in attributes.items():
            if key.startswith("xmlns"):
                scope += 1
                if len(value) > MAX_BASE:
                    self._error = too_long("a namespace")
            elif key == "xml:base":
                length = len(value) + (0 if _SCHEME.match(value.encode("utf-8", "replace")) else length)
        self._open.append((length, scope))
        self.deepest = max(self.deepest, len(self._open) - 1)
        if length > MAX_BASE:
            self._error = too_long("a base")
        if len(attributes) > MAX_ATTRIBUTES or scope > MAX_NAMESPACES:
            self._error = DocumentError(
                "HG-322",
                f"an element of {len(attributes):,} attributes, with {scope:,} namespaces in scope",
                fix=f"the limits are {MAX_ATTRIBUTES:,} and {MAX_NAMESPACES}; state properties as elements",
            )

    def _leave(self, name: str) -> None:
        self._open.pop()


def check_entities(data: Bytes, entities: Sequence[Entity]) -> None:
    """Refuses entities that lie outside, or whose declarations and uses come to more than the limit."""
    sizes: dict[bytes, int] = {}
    total = 0
    for name, value in entities:
        if value is None:
            shown = name.decode("utf-8", "replace")
            raise DocumentError("HG-305", f"the external or parameter entity {shown}", fix="write what it stands for")
        sizes[name] = len(value) + sum(sizes.get(inner, 0) for inner in _REFERENCE.findall(value))
        total += sizes[name]
    if sizes:
        total += sum(sizes.get(name, 0) * times for name, times in Counter(_REFERENCE.findall(data)).items())
    if total > MAX_EXPANSION:
        raise DocumentError(
            "HG-305", f"entities that expand to {total:,} bytes", fix=f"the limit is {MAX_EXPANSION:,}; write them out"
        )
