"""XML and other text from outside: encodings, places of errors, entities, and the limits that keep a hostile
document from exhausting a parser.

The laws: undecodable bytes are never guessed at. Those of a file in UTF-8 stay as they are, for the reader to refuse
where they stand; those of another encoding become U+FFFF, a code point that no XML may hold, to the same effect. Only
ISO-8859-1 is read as Windows-1252, as browsers do: where they differ, it has nothing but control characters. A DTD is
never given to a parser, so nothing that it declares is ever expanded or fetched. For RDF/XML, which uses
entities as abbreviations, the plain ones are declared anew once `check_entities` has shown that they stay small.
"""

from __future__ import annotations

import codecs
import mmap
import os
import re
import stat
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

import numpy as np

from heliograph.errors import DocumentError, Place
from heliograph.io.sources import Source, opened

# --- a source's bytes as UTF-8, whatever encoding it came in ---

Bytes = bytes | mmap.mmap

IN_MEMORY = 64 << 20  # larger files are mapped, so that memory does not grow with them
MAX_TRANSCODED = 256 << 20  # a file that is not UTF-8 is converted in memory

_BOMS = (  # UTF-32 first: its mark begins like that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_XML_STARTS = (  # how `<` looks in an encoding that needs a mark and has none
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_DECLARATION = re.compile(rb"""<\?xml\s[^<>]{0,500}?encoding\s*=\s*["']([^"'<>]{1,60})["'][^<>]{0,200}?\?>""")
_KNOWN = re.compile(  # character sets, and none of Python's other codecs, such as `idna` or `unicode_escape`
    r"ascii|iso8859-\d+|cp\d+|koi8-[rtu]|mac-(?:roman|cyrillic|greek|latin2|turkish|iceland)|kz1048|ptcp154|tis-620"
    r"|gb2312|gbk|gb18030|big5(?:hkscs)?|shift_jis(?:_2004|x0213)?|euc_(?:jp|kr|jis_2004|jisx0213)|johab|iso2022_jp(?:_\w+)?"
)


_CONTROLS = re.compile(rb"[\x80-\x9f]")
_WINDOWS = {  # what these bytes are in Windows-1252, of which five are nothing
    byte: ord(character) for byte in range(0x80, 0xA0) if (character := bytes([byte]).decode("cp1252", "ignore"))
}


class OpenedDocument(NamedTuple):
    """A source that was opened: its UTF-8 bytes without a byte order mark."""

    source: Source
    data: Bytes
    encoding: str | None = None  # declared, but not known here

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def path(self) -> Path | None:
        """Where the same bytes lie, if they were mapped as they are."""
        return None if isinstance(self.data, bytes) else self.source.path


def open_text(source: Source) -> OpenedDocument:
    """An RDF document that is not XML: UTF-8, or what its byte order mark says."""
    data = _read(source)
    mark, encoding = _mark(data)
    if not mark:
        return OpenedDocument(source, data)
    try:
        return OpenedDocument(source, _transcoded(source, data[len(mark) :], encoding, "strict"))
    except UnicodeDecodeError as error:
        message = f"not {encoding}, though its mark says so"
        raise DocumentError("HG-303", message, place=Place(source.name), fix="save it as UTF-8") from error


def open_xml(source: Source) -> OpenedDocument:
    """XML, in the encoding that its mark, its first bytes or its declaration name, in this order."""
    data = _read(source)
    mark, encoding = _mark(data)
    body = data[len(mark) :] if mark else data
    encoding = encoding or next((name for start, name in _XML_STARTS if data[: len(start)] == start), "")
    if encoding not in ("", "utf-8"):
        return OpenedDocument(source, _undeclared(_transcoded(source, body, encoding)))
    match = _DECLARATION.match(body)
    declared = match[1].decode("latin-1") if match else ""
    if declared.lower() in ("", "utf-8"):
        return OpenedDocument(source, body)
    known = "utf-8" if mark else _codec(declared)
    if known is None:
        return OpenedDocument(source, _undeclared(body), declared)
    return OpenedDocument(source, _undeclared(_transcoded(source, body, known)))


def _read(source: Source) -> Bytes:
    if source.data is not None:
        return source.data
    place = Place(source.name)
    if source.compression is not None:
        return _unpacked(source)
    if source.path is None:
        raise DocumentError("HG-301", "a document on standard input", place=place, fix="give a file or a folder")
    try:
        with open(source.path, "rb", buffering=0) as handle:  # of a small file, a buffer is a third of the time
            status = os.fstat(handle.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size > IN_MEMORY:
                return mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
            return handle.readall()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        fix = "check the path and its permissions"
        raise DocumentError("HG-301", f"cannot be read: {reason}", place=place, fix=fix) from error


def _unpacked(source: Source) -> bytes:
    """A compressed document; a small file may hold a very large one, so there is a limit."""
    try:
        with opened(source) as stream:
            data: bytes = stream.read(MAX_TRANSCODED + 1)
    except OSError as error:
        fix = "pack it again, or give it the suffix of what it is"
        raise DocumentError("HG-301", f"cannot be read: {error.strerror}", place=Place(source.name), fix=fix) from error
    if len(data) > MAX_TRANSCODED:
        message = f"more than {MAX_TRANSCODED >> 20} MiB when it is unpacked"
        raise DocumentError("HG-323", message, place=Place(source.name), fix="give it unpacked, or in smaller parts")
    return data


def _mark(data: Bytes) -> tuple[bytes, str]:
    return next(((mark, name) for mark, name in _BOMS if data[: len(mark)] == mark), (b"", ""))


def _codec(declared: str) -> str | None:
    """Python's name for a declared encoding; None where it is no character set that we know."""
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):
        return None
    if name.startswith("utf-"):
        return "utf-8"  # that it can be read as ASCII shows that it is not UTF-16
    return name if _KNOWN.fullmatch(name) else None


def _undeclared(data: Bytes) -> Bytes:
    """The declaration made blank: it is no longer true. Lines stay where they were."""
    match = _DECLARATION.match(data)
    if match is None:
        return data
    return re.sub(rb"[^\r\n]", b" ", match[0]) + data[match.end() :]


def _refused_bytes(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\uffff", error.end


codecs.register_error("heliograph.refused", _refused_bytes)


def _transcoded(source: Source, data: Bytes, encoding: str, errors: str = "heliograph.refused") -> Bytes:
    if encoding == "utf-8":
        return data
    if len(data) > MAX_TRANSCODED:
        fix = f"save it as UTF-8; other encodings are read up to {MAX_TRANSCODED >> 20} MiB"
        raise DocumentError("HG-303", f"{len(data) >> 20} MiB in {encoding}", place=Place(source.name), fix=fix)
    text = bytes(data).decode(encoding, errors)
    if encoding == "iso8859-1" and _CONTROLS.search(data):
        text = text.translate(_WINDOWS)
    return text.encode()


# --- positions as line and column, both from 1; columns count characters ---

_STEP = 1 << 20
_CONTINUATIONS = bytes(range(0x80, 0xC0))  # in UTF-8 every other byte begins a character


def shortened(text: str, limit: int = 200) -> str:
    """A text that may be of any length, for a message."""
    return text if len(text) <= limit else text[:limit] + "…"


class PlaceFinder:
    """Finds the places of errors; when they come in order, all of them take one pass over the file."""

    def __init__(self, name: str, data: Bytes) -> None:
        self._name = name
        self._data = data
        self._position = 0
        self._line = 1
        self._column = 1

    def at(self, position: int, item: str | None = None) -> Place:
        """The place of a byte."""
        position = min(position, len(self._data))
        if position < self._position:
            self._position, self._line, self._column = 0, 1, 1
        for start in range(self._position, position, _STEP):
            text = self._data[start : min(start + _STEP, position)]
            lines = text.count(b"\n")
            if lines:
                self._line += lines
                self._column = 1
            self._column += len(text[text.rfind(b"\n") + 1 :].translate(None, _CONTINUATIONS))
        self._position = position
        return Place(self._name, item and shortened(item), self._line, self._column)


# --- the head of an XML file: its entities and its root element, read without running its DTD ---

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


class XmlRoot(NamedTuple):
    """The root element: its expanded name, the namespaces it declares by prefix, and where its start tag stands."""

    namespace: str
    local: str
    qname: bytes
    prefixes: Mapping[str, str]
    attributes: Mapping[str, str]
    start: int
    end: int


Entities = list[tuple[bytes, bytes | None]]
"""Names and values, in order; the value is None of one that lies outside, and of a parameter entity."""


class Prolog(NamedTuple):
    """The head of an XML file."""

    root: XmlRoot | None
    entities: Entities
    has_doctype: bool


def read_prolog(data: Bytes) -> Prolog:
    """Skips to the root element; the root is None where there is none that can be read."""
    entities: Entities = []
    has_doctype = False
    position = 0
    while True:
        space = _SPACE.match(data, position)
        position = space.end() if space else position
        if data[position : position + 9] == b"<!DOCTYPE":
            end, subset = _doctype(data, position)
            for percent, name, double, single, outside in _ENTITY.findall(_COMMENT.sub(b"", subset)):
                entities.append((name, None if percent or outside else double or single))
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
    return Prolog(_root(data, position), entities, has_doctype)


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


def _root(data: Bytes, position: int) -> XmlRoot | None:
    """The root's start tag as the XML parser reads it; None where it cannot."""
    if not _NAME_START.match(data, position):  # text before the root, such as a program's warning
        known = _KNOWN_ROOT.search(data, position)
        position = known.start() if known else position
    match = _ROOT.match(data, position, position + MAX_ROOT)
    if match is None:
        return None
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
    return XmlRoot(namespace, local, match[1], prefixes, attributes, match.start(), match.end())


# --- limits: depth of nesting, and expansion of entities and IRIs ---
#
# pyoxigraph recurses into JSON-LD and into triple terms until the stack ends, takes time quadratic in the depth of
# RDF/XML, in the attributes of an element and in the namespaces in scope, writes out the base or the prefix of every
# IRI, and expands every entity that a DTD declares. So these are measured first, and what is beyond the limits is
# refused.

MAX_DEPTH = 256
MAX_EXPANSION = 16 << 20  # bytes that all uses of a document's entities may come to
MAX_BASE = 1024  # bytes of an IRI that others are resolved against, or abbreviated by
MAX_ATTRIBUTES = 1000  # of an element
MAX_NAMESPACES = 256  # in scope of an element
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
    fix = "flatten it: name the inner nodes and state them apart"
    return DocumentError("HG-304", f"{what} nested deeper than {MAX_DEPTH}", fix=fix)


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
    if xml_depth(data) > MAX_DEPTH:
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
            message = f"an element of {len(attributes):,} attributes, with {scope:,} namespaces in scope"
            fix = f"the limits are {MAX_ATTRIBUTES:,} and {MAX_NAMESPACES}; state properties as elements"
            self._error = DocumentError("HG-322", message, fix=fix)

    def _leave(self, name: str) -> None:
        self._open.pop()


def check_entities(data: Bytes, entities: Entities) -> None:
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
        fix = f"the limit is {MAX_EXPANSION:,}; write them out"
        raise DocumentError("HG-305", f"entities that expand to {total:,} bytes", fix=fix)
