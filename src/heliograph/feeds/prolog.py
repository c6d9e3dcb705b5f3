"""What stands at the head of an XML file: its entities and its root element, read without running its DTD.

A DTD is never given to a parser, so nothing that it declares is ever expanded or fetched. For RDF/XML, which uses
entities as abbreviations, the plain ones are declared anew once `guards.check_entities` has shown that they stay small.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from xml.parsers import expat

from heliograph.feeds.opening import Bytes

MAX_ROOT = 1 << 20  # bytes of a root element's start tag; no honest one is near it
MAX_SUBSET = 1 << 20  # bytes of declarations in a DTD
SEPARATOR = "\x1f"  # between namespace and name; no XML may hold it, so no namespace does

_SPACE = re.compile(rb"\s*")
_NAME_START = re.compile(rb"<[A-Za-z_:\x80-\xff]")
_KNOWN_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.\-]*:)?(?:rss|RDF|feed)[\s/>]")
_ROOT = re.compile(rb"""<([^\s<>/"'=]+)(?:[^<>"']+|"[^"<]*"|'[^'<]*')*+>""")
_SUBSET_TOKEN = re.compile(rb"""<!--|<\?|["']|\]""")
_ENTITY = re.compile(rb"""<!ENTITY\s+(%\s+)?([^\s"'<>%]+)\s+(?:"([^"]*)"|'([^']*)'|([A-Z]+))""")
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_CLOSERS = {b"<!--": b"-->", b"<?": b"?>", b'"': b'"', b"'": b"'"}


class Root(NamedTuple):
    """The root element: its expanded name, the namespaces it declares by prefix, and where its start tag stands."""

    namespace: str
    local: str
    qname: bytes
    prefixes: Mapping[str, str]
    attributes: Mapping[str, str]
    start: int
    end: int


class Entity(NamedTuple):
    """A declared entity; its value is None if it lies outside or is a parameter entity."""

    name: bytes
    value: bytes | None


class Prolog(NamedTuple):
    """The head of an XML file."""

    root: Root | None
    entities: tuple[Entity, ...]
    has_doctype: bool


def read_prolog(data: Bytes) -> Prolog:
    """Skips to the root element; the root is None where there is none that can be read."""
    entities: list[Entity] = []
    has_doctype = False
    position = 0
    while True:
        position = _skip_space(data, position)
        if data[position : position + 9] == b"<!DOCTYPE":
            end, subset = _doctype(data, position)
            entities += _entities(subset)
            has_doctype = True
        elif data[position : position + 4] == b"<!--":
            end = _after(data, b"-->", position + 4)
        elif data[position : position + 2] == b"<?":
            end = _after(data, b"?>", position + 2)
        else:
            break
        if end < 0:
            break
        position = end
    return Prolog(_root(data, position), tuple(entities), has_doctype)


def _skip_space(data: Bytes, position: int) -> int:
    match = _SPACE.match(data, position)
    assert match is not None
    return match.end()


def _after(data: Bytes, closer: bytes, position: int) -> int:
    found = data.find(closer, position)
    return found if found < 0 else found + len(closer)


def _doctype(data: Bytes, position: int) -> tuple[int, bytes]:
    """Where a DOCTYPE ends, -1 if nowhere, and its internal subset."""
    close = data.find(b">", position)
    next_tag = data.find(b"<", position + 1, close)
    opening = data.find(b"[", position, next_tag if next_tag >= 0 else close)
    if opening < 0 and next_tag >= 0:
        return next_tag, b""  # it was never closed
    if close < 0 or opening < 0:
        return (close + 1 if close >= 0 else -1), b""
    end = _subset_end(data, opening + 1)
    return (_after(data, b">", end) if end >= 0 else -1), data[opening + 1 : min(max(end, 0), opening + MAX_SUBSET)]


def _subset_end(data: Bytes, position: int) -> int:
    """Where the bracket closes that is in no comment, instruction or quotes; -1 if nowhere."""
    while token := _SUBSET_TOKEN.search(data, position):
        if token[0] == b"]":
            return token.start()
        position = _after(data, _CLOSERS[token[0]], token.end())
        if position < 0:
            return -1
    return -1


def _entities(subset: bytes) -> list[Entity]:
    declared = _ENTITY.findall(_COMMENT.sub(b"", subset))
    return [
        Entity(name, None if percent or outside else double or single)
        for percent, name, double, single, outside in declared
    ]


def _root(data: Bytes, position: int) -> Root | None:
    if not _NAME_START.match(data, position):  # text before the root, such as a program's warning
        known = _KNOWN_ROOT.search(data, position)
        position = known.start() if known else position
    match = _ROOT.match(data, position, position + MAX_ROOT)
    return None if match is None else _parsed(match)


def _parsed(match: re.Match[bytes]) -> Root | None:
    """The start tag as the XML parser reads it; None where it cannot."""
    prefixes: dict[str, str] = {}
    elements: list[tuple[str, dict[str, str]]] = []
    parser = expat.ParserCreate(encoding="utf-8", namespace_separator=SEPARATOR)
    parser.StartNamespaceDeclHandler = lambda prefix, uri: prefixes.update({prefix or "": uri or ""})
    parser.StartElementHandler = lambda name, attributes: elements.append((name, attributes))
    try:
        parser.Parse(match[0], False)
    except expat.ExpatError:
        return None
    if not elements:
        return None
    name, attributes = elements[0]
    namespace, _, local = name.rpartition(SEPARATOR)
    return Root(namespace, local, match[1], prefixes, attributes, match.start(), match.end())
