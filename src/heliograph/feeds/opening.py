"""A source's bytes as UTF-8 text, whatever encoding it came in.

The law: undecodable bytes are never guessed at. Those of a file in UTF-8 stay as they are, for the reader to refuse
where they stand; those of another encoding become U+FFFF, a code point that no XML may hold, to the same effect.
"""

from __future__ import annotations

import codecs
import mmap
import os
import re
import stat
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from heliograph.errors import DocumentError, Place
from heliograph.tables.sources import Source

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


class Document(NamedTuple):
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


def open_text(source: Source) -> Document:
    """An RDF document that is not XML: UTF-8, or what its byte order mark says."""
    data = _read(source)
    mark, encoding = _mark(data)
    if not mark:
        return Document(source, data)
    try:
        return Document(source, _transcoded(source, data[len(mark) :], encoding, "strict"))
    except UnicodeDecodeError as error:
        raise DocumentError(
            "HG-303", f"not {encoding}, though its mark says so", place=Place(source.name), fix="save it as UTF-8"
        ) from error


def open_xml(source: Source) -> Document:
    """XML, in the encoding that its mark, its first bytes or its declaration tell, in this order."""
    data = _read(source)
    mark, encoding = _mark(data)
    body = data[len(mark) :] if mark else data
    encoding = encoding or next((name for start, name in _XML_STARTS if data[: len(start)] == start), "")
    if encoding not in ("", "utf-8"):
        return Document(source, _undeclared(_transcoded(source, body, encoding)))
    declared = _declared(body)
    if declared.lower() in ("", "utf-8"):
        return Document(source, body)
    known = "utf-8" if mark else _codec(declared)
    if known is None:
        return Document(source, _undeclared(body), declared)
    return Document(source, _undeclared(_transcoded(source, body, known)))


def _read(source: Source) -> Bytes:
    if source.data is not None:
        return source.data
    if source.path is None:
        raise DocumentError(
            "HG-301", "a document on standard input", place=Place(source.name), fix="give a file or a folder"
        )
    try:
        with open(source.path, "rb", buffering=0) as handle:  # of a small file, a buffer is a third of the time
            return _map(handle)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DocumentError(
            "HG-301", f"cannot be read: {reason}", place=Place(source.name), fix="check the path and its permissions"
        ) from error


def _map(handle: FileIO) -> Bytes:
    status = os.fstat(handle.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_size > IN_MEMORY:
        return mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    return handle.readall()


def _mark(data: Bytes) -> tuple[bytes, str]:
    return next(((mark, name) for mark, name in _BOMS if data[: len(mark)] == mark), (b"", ""))


def _declared(data: Bytes) -> str:
    match = _DECLARATION.match(data)
    return match[1].decode("latin-1") if match else ""


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
    """The declaration made blank: it no longer tells the truth. Lines stay where they were."""
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
        raise DocumentError(
            "HG-303",
            f"{len(data) >> 20} MiB in {encoding}",
            place=Place(source.name),
            fix=f"save it as UTF-8; other encodings are read up to {MAX_TRANSCODED >> 20} MiB",
        )
    return bytes(data).decode(encoding, errors).encode()
