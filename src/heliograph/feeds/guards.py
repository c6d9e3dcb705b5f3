"""Limits that keep a hostile document from exhausting the parser: depth of nesting, and expansion of entities.

pyoxigraph recurses into JSON-LD and into triple terms until the stack ends, takes time quadratic in the depth of
RDF/XML, and expands every entity that a DTD declares. So these are measured first, and what is beyond the limits is
refused.
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
_STEP = 1 << 20
_LESS, _GREATER, _SLASH, _QUOTE = b'<>/"'

_REFERENCE = re.compile(rb"&([^\s;&<>]{1,200});")
_JSON_STEPS = np.zeros(256, np.int64)
_JSON_STEPS[list(b'[{"')] = 1
_JSON_STEPS[list(b"]}")] = -1

_TRIPLE_TOKENS = re.compile(
    rb'#[^\r\n]*+|<[^\x00-\x20<>"{}|^`\\]*+>'
    rb'|"""(?:[^"\\]++|\\.|"(?!""))*+"""|' + rb"'''(?:[^'\\]++|\\.|'(?!''))*+'''"
    rb'|"(?:[^"\\\r\n]++|\\.)*+"|' + rb"'(?:[^'\\\r\n]++|\\.)*+'" + rb"|(<<\()|(\)>>)",
    re.DOTALL,
)


def too_deep(what: str) -> DocumentError:
    return DocumentError(
        "HG-304", f"{what} nested deeper than {MAX_DEPTH}", fix="flatten it: name the inner nodes and state them apart"
    )


def check_triple_terms(data: Bytes) -> None:
    """Refuses deeply nested `<<( … )>>` in any syntax of the Turtle family."""
    if data.find(b"<<(") < 0:
        return
    depth = 0
    for token in _TRIPLE_TOKENS.finditer(data):
        depth += (token[1] is not None) - (token[2] is not None)
        if depth > MAX_DEPTH:
            raise too_deep("triple terms")


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
    """Refuses deeply nested elements; what is not well-formed is left to the parser."""
    if xml_depth(data) > MAX_DEPTH:
        raise too_deep("elements")


def xml_depth(data: Bytes) -> int:
    """The depth of the elements, as far as the XML is well-formed.

    Where each `<` has its one `>` and nothing is a comment, a section or an instruction, tags can be counted in bulk;
    this takes a fourteenth of the time of the parser.
    """
    if not isinstance(data, bytes) or data.find(b"<!") >= 0 or data.find(b"<?", 2) >= 0:
        return _parsed_depth(data)
    symbols = np.frombuffer(data, np.uint8)
    opening, closing = np.flatnonzero(symbols == _LESS), np.flatnonzero(symbols == _GREATER)
    if len(opening) != len(closing) or not len(opening) or opening[-1] + 1 >= len(symbols):
        return _parsed_depth(data)
    empty = symbols[closing - 1] == _SLASH
    step = np.where(symbols[opening + 1] == _SLASH, -1, 1) - empty
    return max(0, int((np.cumsum(step) + empty).max()))


def _parsed_depth(data: Bytes) -> int:
    depth = deepest = 0

    def enter(name: str, attributes: object) -> None:
        nonlocal depth, deepest
        depth += 1
        deepest = max(deepest, depth)

    def leave(name: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate(encoding="utf-8")
    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    with suppress(expat.ExpatError):
        for start in range(0, len(data), _STEP):
            parser.Parse(data[start : start + _STEP], False)
            if deepest > MAX_DEPTH:
                return deepest
        parser.Parse(b"", True)  # a parser may hold back the last token until then
    return deepest


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
