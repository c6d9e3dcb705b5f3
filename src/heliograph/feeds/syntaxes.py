"""Every RDF syntax as N-Triples or N-Quads lines, through pyoxigraph.

What cannot be read:
  N-Triples, N-Quads   a broken line is refused, the other lines are read;
  other syntaxes       the document is refused as a whole, since a publication of which a part is missing would match
                       something else than what was published.
Relative IRIs are resolved against `file:///` and the document's name, which is never opened. Nothing is ever fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote

from pyoxigraph import Quad, RdfFormat, parse, serialize

from heliograph.errors import DocumentError, Place
from heliograph.feeds import guards
from heliograph.feeds.contexts import check_json_ld
from heliograph.feeds.lines import is_plain
from heliograph.feeds.opening import Bytes, Document
from heliograph.feeds.places import shortened
from heliograph.model import Brief, Rejected

BLOCK = 1 << 19  # bytes of lines that are looked at together; like the next one, what a cache holds
MAX_LINE = 64 << 20  # a longer line is refused
MAX_LINES = 64 << 20, 160  # bytes of lines a document may come to, and so many for each byte: lists come to 134
_QUADS = 1 << 12  # quads that are written at a time: a fifteenth less time than 32,768 of them

_POSITION = re.compile(r"Parser error (?:at line \d+ (?:column \d+|between columns \d+ and \d+)|between line .*?): ")
_TRAILER = re.compile(r" \(line \d+\)\Z")
_REMOTE = re.compile(r"LoadDocumentCallback|remote context", re.IGNORECASE)


class Syntax(NamedTuple):
    """How the documents with a suffix are read; `check` refuses what would be dangerous to parse."""

    format: RdfFormat
    check: Callable[[Bytes], None] = guards.check_triple_terms
    quads: bool = False
    by_line: bool = False


SYNTAXES = {
    ".nt": Syntax(RdfFormat.N_TRIPLES, by_line=True),
    ".nq": Syntax(RdfFormat.N_QUADS, quads=True, by_line=True),
    ".ttl": Syntax(RdfFormat.TURTLE, guards.check_turtle),
    ".trig": Syntax(RdfFormat.TRIG, guards.check_turtle, quads=True),
    ".jsonld": Syntax(RdfFormat.JSON_LD, check_json_ld, quads=True),
    ".rdf": Syntax(RdfFormat.RDF_XML, guards.check_xml),
}


def as_lines(document: Document, syntax: Syntax, rejected: list[Rejected]) -> Iterator[bytes]:
    """The lines of a document in blocks. What is refused alone goes to `rejected`; else a `DocumentError` is raised."""
    if syntax.by_line:
        return _good_lines(document, syntax, rejected)
    base: str | None = base_of(document.name)
    if syntax.check is guards.check_turtle and _is_straight(document.data):
        base = None  # resolving what needs no resolving takes a twentieth of the time
    else:
        syntax.check(document.data)
    return _all_lines(document, syntax, base)


def base_of(name: str) -> str:
    """The IRI that a document's relative ones are resolved against."""
    return "file:///" + quote(name.lstrip("/"), safe="/", errors="replace")


def written(quads: Iterable[Quad], with_graphs: bool = False) -> Iterator[bytes]:
    """Quads as lines, in blocks. Where the parser's buffer cannot hold a token, it is refused."""
    remaining = iter(quads)
    form = RdfFormat.N_QUADS if with_graphs else RdfFormat.N_TRIPLES
    try:
        while lines := serialize(islice(remaining, _QUADS), format=form):
            yield lines
    except MemoryError as error:
        raise _unbuffered(error) from error


def _unbuffered(error: MemoryError) -> DocumentError:
    """pyoxigraph reads a token, and of N-Triples a line, into a buffer of 16 MiB."""
    fix = "shorten its literals"
    return DocumentError("HG-307", f"a literal or line that is too long: {shortened(str(error))}", fix=fix)


@cache
def _odd() -> Any:
    """A `<` that does not begin an absolute IRI, or begins a long one."""
    import re2

    long = rb"[^<>]{%d}" % (guards.MAX_BASE // 2)
    return re2.compile(rb"<(?:[^A-Za-z]|[A-Za-z][A-Za-z0-9+.\-]*[^A-Za-z0-9+.\-:]|%b)" % long)


def _is_straight(data: Bytes) -> bool:
    """Whether a document of the Turtle family holds neither triple terms nor relative or long IRIs, as can be told."""
    return isinstance(data, bytes) and _odd().search(data) is None


def _all_lines(document: Document, syntax: Syntax, base: str | None) -> Iterator[bytes]:
    data = document.data if isinstance(document.data, bytes) else None
    try:
        quads = parse(data, path=document.path, format=syntax.format, base_iri=base)
        yield from _bounded(written(quads, syntax.quads), len(document.data))
    except SyntaxError as error:
        raise _whole_error(error, document.name) from error
    except OSError as error:
        raise DocumentError("HG-301", f"cannot be read: {error}", fix="check the file and its permissions") from error


def _bounded(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The blocks of a document of `size` bytes; raises where its IRIs, written in full, pass the limit."""
    spare = MAX_LINES[0] + MAX_LINES[1] * size
    for block in blocks:
        spare -= len(block)
        if spare < 0:
            fix = "shorten its base, its prefixes and its vocabulary"
            raise DocumentError(
                "HG-321", f"more than {MAX_LINES[0] + MAX_LINES[1] * size:,} bytes of IRIs, written in full", fix=fix
            )
        yield block


def _whole_error(error: SyntaxError, name: str) -> DocumentError:
    if _REMOTE.search(str(error)):
        fix = "put the context itself into the document; nothing is ever fetched"
        return DocumentError("HG-306", "a context that lies elsewhere", place=Place(name), fix=fix)
    place = Place(name, None, error.lineno, error.offset if error.lineno else None)
    return DocumentError("HG-302", complaint(error), place=place, fix="mend it; nothing of the document was read")


def complaint(error: SyntaxError | MemoryError) -> str:
    """What pyoxigraph says is wrong, without saying where."""
    return shortened(_TRAILER.sub("", _POSITION.sub("", str(error))))


# --- line by line -----------------------------------------------------------------------------------------------


def _good_lines(document: Document, syntax: Syntax, rejected: list[Rejected]) -> Iterator[bytes]:
    number = 1
    brief = Brief()
    for start, end in _cuts(document.data):
        if end - start > MAX_LINE:
            rejected.append(_refused(_too_long(end - start), document.name, number))
            number += 1
            continue
        block = document.data[start:end]
        block = block if block.endswith(b"\n") else block + b"\n"
        try:
            yield from _block(block, syntax)
        except (SyntaxError, DocumentError):
            lines = enumerate(block.splitlines(keepends=True), number)
            yield b"".join(_one(line, syntax, document.name, row, rejected, brief) for row, line in lines)
        if end < len(document.data):
            number += block.count(b"\n")


def _cuts(data: Bytes) -> Iterator[tuple[int, int]]:
    """Where blocks of whole lines lie."""
    start = 0
    while start < len(data):
        end = min(start + BLOCK, len(data))
        if end < len(data):
            end = data.rfind(b"\n", start, end) + 1 or data.find(b"\n", end) + 1 or len(data)
        yield start, end
        start = end


def _block(block: bytes, syntax: Syntax) -> list[bytes]:
    if is_plain(block, syntax.quads):
        return [block]
    syntax.check(block)
    return list(written(parse(block, format=syntax.format), syntax.quads))


def _one(line: bytes, syntax: Syntax, name: str, number: int, rejected: list[Rejected], brief: Brief) -> bytes:
    try:
        return b"".join(_block(line, syntax))
    except SyntaxError as error:
        if not brief.wants("HG-302"):
            rejected.append(Rejected(name, str(number), "HG-302", ""))
            return b""
        place = Place(name, None, number, error.offset)
        fix = "mend or drop the line; the others were read"
        rejected.append(_refused(DocumentError("HG-302", complaint(error), place=place, fix=fix), name, number))
    except DocumentError as error:
        rejected.append(_refused(error, name, number))
    return b""


def _too_long(size: int) -> DocumentError:
    return DocumentError("HG-307", f"a line of {size:,} bytes", fix=f"the limit is {MAX_LINE:,}; shorten its literal")


def _refused(error: DocumentError, name: str, number: int) -> Rejected:
    if error.place.line is None:
        error.place = Place(name, None, number)
    return Rejected.of(error, name, str(number))
