"""RDF documents as columns of term ids: six syntaxes through pyoxigraph, guarded.

Every syntax becomes N-Triples or N-Quads lines of one shape, whose texts are split in bulk and interned: each distinct
text once. A document becomes a publication for each named graph, with the graph's IRI as id (`name#_:label` for a
blank node), and one for the default graph, with the document's name; one without any triple is one publication without
triples.

What cannot be read: of N-Triples and N-Quads a broken line is refused and the other lines are read; a document of
another syntax is refused as a whole, since a publication of which a part is missing would match something else than
what was published. A triple that holds a term of RDF 1.2 (a triple term, a literal with a base direction) is refused,
the others are read. Relative IRIs are resolved against `file:///` and the document's name, which is never opened.
Nothing is ever fetched.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import quote
from xml.parsers import expat

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyoxigraph import Quad, RdfFormat, parse, serialize

from heliograph.errors import DocumentError, HeliographError, Place, TermError
from heliograph.io import xml as guards
from heliograph.io.xml import SEPARATOR, Bytes, OpenedDocument, PlaceFinder, Prolog, check_entities, shortened
from heliograph.model import MOST_REPORTED, MessageLimit, Rejected
from heliograph.terms import RDF_LANG_STRING, Term, TermKind, blank, is_label, literal, parse_cell
from heliograph.values import XSD_STRING

if TYPE_CHECKING:
    from heliograph.vocabulary import Vocabulary

Numbers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]  # ids of terms
Texts = pa.StringArray

# --- lines of one shape: `subject predicate object [graph] .` with one space between ---
#
# There subjects, predicates and graph names hold no space, and a graph name no quote; so positions of spaces, quotes
# and line ends are enough to cut a whole block at once. A block that is of that shape already (`is_plain`) need not be
# read by pyoxigraph at all. The law on which this rests: pyoxigraph accepts every plain block, and finds the same
# terms in it.

Width = Literal[4, 5]
TRIPLES: Width = 4  # texts a line: subject, predicate, object, and the dot; a term keeps the space behind it
QUADS: Width = 5  # with the graph before the dot, empty where there is none
_NEWLINE, _SPACE, _QUOTE, _LESS, _UNDERSCORE, _BACKSLASH = b'\n "<_\\'

# What both sides surely accept, and nearly all data consists of: IRIs in ASCII, literals in UTF-8.
_ESCAPED = r"%[0-9A-Fa-f]{2}"
_PATH = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|{_ESCAPED})*"
_TAIL = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|{_ESCAPED})*"
_WEB = rf"https?://[A-Za-z0-9.-]+(?:/{_PATH})?(?:\?{_TAIL})?(?:#{_TAIL})?"
_URN = rf"(?:urn|tag):[A-Za-z0-9]{_PATH}"
_IRI = rf"<(?:{_WEB}|{_URN})>"
_BLANK = r"_:[A-Za-z][A-Za-z0-9]*"
_CHARACTER = (
    r"[\x20\x21\x23-\x5b\x5d-\x7e]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]"
    r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    r"|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
_LITERAL = rf'"(?:{_CHARACTER}|\\[tbnrf"\\])*"(?:@[A-Za-z]{{2,3}}(?:-[A-Za-z]{{2}})?|\^\^{_IRI})?'
_TRIPLE = rf"(?:{_IRI}|{_BLANK}) {_IRI} (?:{_IRI}|{_BLANK}|{_LITERAL})"


@cache
def _plain(quads: bool) -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.log_errors = False
    graph = rf"(?: (?:{_IRI}|{_BLANK}))?" if quads else ""
    return re2.compile(rf"(?:{_TRIPLE}{graph} \.\n)*".encode("ascii"), options)


def is_plain(block: bytes, quads: bool) -> bool:
    """Whether a block consists of lines of the one shape, made of terms that are beyond doubt."""
    return _plain(quads).fullmatch(block) is not None


def split(lines: bytes, width: Width) -> Texts:
    """The texts of the lines, `width` for each."""
    data = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(data == _NEWLINE)
    starts = np.concatenate(([0], ends[:-1] + 1))
    spaces = np.flatnonzero(data == _SPACE)
    first = np.searchsorted(spaces, starts)
    offsets = np.empty((len(ends), width), np.int32)
    offsets[:, 0] = starts
    offsets[:, 1] = spaces[first] + 1
    offsets[:, 2] = spaces[first + 1] + 1
    offsets[:, -1] = ends - 1
    if width == QUADS:
        offsets[:, 3] = _graph_starts(data, spaces, first, ends)
    bounds: Any = np.append(offsets, np.int32(len(data)))
    return pa.StringArray.from_buffers(offsets.size, pa.py_buffer(bounds), pa.py_buffer(lines))


def _graph_starts(data: npt.NDArray[np.uint8], spaces: Numbers, first: Numbers, ends: Numbers) -> Numbers:
    """Where the graph name begins, or the dot where there is none.

    The last word before the dot names a graph if it comes fourth or later, begins as an IRI or a blank node, and holds
    no quote: the last word of a literal holds the closing quote.
    """
    dot_space = np.searchsorted(spaces, ends) - 1
    words = spaces[dot_space - 1] + 1
    quotes = np.flatnonzero(data == _QUOTE)
    unquoted = np.searchsorted(quotes, words) == np.searchsorted(quotes, ends)
    begins = (data[words] == _LESS) | (data[words] == _UNDERSCORE)
    return np.where((dot_space - first >= 3) & begins & unquoted, words, ends - 1)


# --- term texts to ids ---
#
# The law: texts of one canonical term have one id. A blank node's label means a node of its own document only. Labels
# that a document gives are kept; nodes without one are named `anon1`, `anon2`, … in the order of their appearance in
# the call, so that a run can be repeated; a document's own `anon…` is renamed likewise, and so is a label that no cell
# can spell, such as the `a.` that RDF/XML allows.

ABSENT = -1  # the graph of a triple in the default graph
REFUSED = -2  # a term that no table, query or notification could spell: of RDF 1.2, or without the language it needs

_IRI_KIND, _LITERAL_KIND = TermKind.IRI, TermKind.LITERAL  # members of an enumeration are slow to look up
_UNLABELLED = re.compile(r"[a-f][0-9a-f]{19,31}|anon[0-9]+")  # pyoxigraph writes 128 random bits in hexadecimal
_MAYBE_UNLABELLED = re.compile(rb"_:(?:[a-f][0-9a-f]{19}|anon[0-9])|(?<!\S)_:\S*+(?<=\.) ")
_new = tuple.__new__  # `Term(…)` by its own constructor takes half as long again


def has_own_blanks(lines: bytes) -> bool:
    """Whether lines may hold a blank node that gets another name in each document; all others keep theirs."""
    return _MAYBE_UNLABELLED.search(lines) is not None


class Interner:
    """Reads term texts into a vocabulary for one call; `begin` starts another document."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.ready: dict[str, Term] = {}
        """Texts whose terms are known, so that they need not be read."""
        self._blanks: dict[str, Term] = {}
        self._named = 0

    def begin(self) -> None:
        """Blank nodes met from now on are none of those met before."""
        self._blanks = {}
        self.ready = {}

    def fresh_blank(self) -> int:
        """A blank node that no document has."""
        return self.vocabulary.intern(self._next_blank())

    def columns(self, blocks: Sequence[Texts], width: int) -> Codes:
        """The ids of texts, `width` in a row."""
        encoded: Any = pa.chunked_array([block.dictionary_encode() for block in blocks]).unify_dictionaries()
        ids = self.ids(encoded.chunk(0).dictionary)
        codes: Codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
        return ids[codes].reshape(-1, width)

    def ids(self, texts: Texts) -> Codes:
        """The id of each text, ABSENT for the dot and the empty text, REFUSED for what we cannot hold.

        Sorted out by their first and last characters (IRIs, strings without escapes, others), nearly all texts become
        terms without a question asked of each. From ASCII they come as slices of one string.
        """
        buffers: Any = texts.buffers()
        data = np.frombuffer(buffers[2], np.uint8)
        bounds = np.frombuffer(buffers[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
        rows = np.flatnonzero(np.diff(bounds) > len(".\n"))
        starts, ends = bounds[rows], bounds[rows + 1]
        escapes = np.flatnonzero(data == _BACKSLASH)
        is_iri = (data[starts] == _LESS) & (data[starts + 1] != _LESS)
        is_plain = (data[starts] == _QUOTE) & (data[ends - 2] == _QUOTE)
        is_plain &= np.searchsorted(escapes, starts) == np.searchsorted(escapes, ends)
        iris, plain, others = rows[is_iri], rows[is_plain], rows[~(is_iri | is_plain)]
        whole = None if (data > 0x7F).any() else bytes(data).decode("ascii")

        def cut(rows: Numbers, left: int, right: int) -> list[str]:
            """The texts of these rows without some characters on each side."""
            if whole is None:
                return [(text or "")[left : len(text or "") - right] for text in texts.take(rows).to_pylist()]
            places = zip((bounds[rows] + left).tolist(), (bounds[rows + 1] - right).tolist(), strict=True)
            return [whole[start:end] for start, end in places]

        terms = [_new(Term, (_IRI_KIND, value, "", "")) for value in cut(iris, 1, 2)]
        terms += [_new(Term, (_LITERAL_KIND, value, XSD_STRING, "")) for value in cut(plain, 1, 2)]
        read = [*map(self._read, cut(others, 0, 0))]
        terms += [term for term in read if term is not None]
        ids = np.full(len(texts), ABSENT, np.int32)
        ids[others] = REFUSED
        readable = others[[term is not None for term in read]]
        ids[np.concatenate((iris, plain, readable))] = self.vocabulary.intern_many(terms)
        return ids

    def _read(self, text: str) -> Term | None:
        """The term that a text with a space behind it spells; None if we cannot hold it."""
        if text[0] == "_":
            label = text[2:-1]
            known = self._blanks.get(label)
            if known is None:
                own = is_label(label) and not _UNLABELLED.fullmatch(label)
                known = blank(label) if own else self._next_blank()
                self._blanks[label] = known
            return known
        if text in self.ready:
            return self.ready[text]
        if text[0] == '"' and "\\" not in text:
            return _literal(text)
        try:
            return parse_cell(text[:-1])
        except TermError:
            return None

    def _next_blank(self) -> Term:
        self._named += 1
        return blank(f"anon{self._named}")


def _literal(text: str) -> Term | None:
    """A literal without escapes, so that its last quote is the one that closes it."""
    close = text.rindex('"')
    if text[close + 1] == "@":
        language = text[close + 2 : -1]
        return None if "--" in language else literal(text[1:close], language=language)
    datatype = text[close + 4 : -2]
    return None if datatype == RDF_LANG_STRING else literal(text[1:close], datatype)


# --- contexts of JSON-LD within limits ---
#
# pyoxigraph defines the terms that a term is made of before the term itself, each call inside of the last until the
# stack ends, and it copies all terms in scope for each context that it meets. So two things are measured first: how
# long the chains of definitions are, and how many terms all copies come to. Contexts are found wherever they stand, in
# a document that is broken further on too: pyoxigraph reads as it goes.

MAX_COPIES = 2_000_000  # terms that are copied for all contexts; takes some second
_TERM = 8  # characters of a term at least: contexts side by side come to one copy of each, and are never too many

_DEFINING = ("@id", "@type", "@reverse", "@index", "@nest")
# The key, of which each character may be written as an escape.
_KEY = re.compile("".join(('"', *(rf"(?:{c}|\\u00{ord(c):x})" for c in "@context"), r'"\s*:\s*')), re.IGNORECASE)

JsonPairs = tuple[tuple[str, Any], ...]  # an object, with all values of a key that stands twice; arrays are lists
_DECODER = json.JSONDecoder(object_pairs_hook=tuple, parse_int=str, parse_float=str, strict=False)


def check_json_ld(data: Bytes) -> None:
    """Refuses nesting, chains of definitions and copies of contexts beyond the limits."""
    guards.check_json(data)
    text = bytes(data).decode("utf-8", "replace")
    found = list(_contexts(text))
    if not found:
        return
    contexts = [context for context, _ in found]
    for context in (context for context, length in found if length > guards.MAX_BASE):  # a short one holds no chain
        if _depth(context) > guards.MAX_DEPTH:
            raise guards.too_deep("terms of a context that are defined by others")
        if _length(context) > guards.MAX_BASE:
            raise guards.too_long("a base, vocabulary or prefix")
    sizes = {name: size for context in contexts for name, size in _scoped(context)}
    uses = len(contexts) + (text.count('"') if sizes else 0)
    most = MAX_COPIES + len(text) // _TERM
    if uses * sum(map(_size, contexts)) > most and _copies(text, sizes, most) > most:
        raise DocumentError(
            "HG-320",
            f"contexts inside of contexts, whose terms come to more than {most:,} in all",
            fix="state one context at the top of the document, without contexts inside",
        )


def _contexts(text: str) -> Iterator[tuple[Any, int]]:
    """The outermost contexts and their lengths; none behind what is no JSON, which the parser does not reach either."""
    end = 0
    for key in _KEY.finditer(text):
        if key.start() >= end:
            try:
                context, end = _DECODER.raw_decode(text, key.end())
            except ValueError:
                return
            yield context, end - key.end()


def _objects(context: Any) -> Iterator[JsonPairs]:
    """The objects of a context, which is one or an array of them."""
    for part in context if isinstance(context, list) else (context,):
        if isinstance(part, tuple):
            yield part


def _size(context: Any) -> int:
    """The terms of a context, with those of the contexts inside of it."""
    size = 0
    stack = [context]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            size += len(value)
            stack += [inner for _, inner in value]
        elif isinstance(value, list):
            stack += value
    return size


def _scoped(context: Any) -> Iterator[tuple[str, int]]:
    """The terms that bring a context of their own, and its size."""
    for part in _objects(context):
        for term, value in part:
            for key, inner in value if isinstance(value, tuple) else ():
                if key == "@context":
                    yield term, _size(inner)
                    yield from _scoped(inner)


def _depth(context: Any) -> int:
    """The longest chain of terms that are defined by one another; what a term's own context needs comes on top."""
    deepest = 0
    for part in _objects(context):
        own: dict[str, int] = dict.fromkeys((term for term, _ in part), 1)
        for term, value in part:
            for key, inner in value if isinstance(value, tuple) else ():
                if key == "@context":
                    own[term] = max(own[term], 1 + _depth(inner))
        deepest = max(deepest, _longest(_needs(part), own))
    return deepest


def _length(context: Any) -> int:
    """The bytes of the longest IRI that others may be resolved against; texts are short of that if none is long."""
    longest = bases = 0
    for part in _objects(context):
        sizes: dict[str, int] = dict.fromkeys((term for term, _ in part), 0)
        for term, value in part:
            sizes[term] = max((len(text) for text in _texts(value)), default=0)
        bases += sum(sizes.get(key, 0) for key in ("@base", "@vocab"))
        if sum(sizes.values()) > guards.MAX_BASE:
            longest = max(longest, _longest(_needs(part), sizes))
    return max(bases, longest)


def _needs(context: JsonPairs) -> dict[str, set[str]]:
    """For each term, the others that must be defined before it."""
    needs: dict[str, set[str]] = {}
    terms = {term for term, _ in context}
    for term, value in context:
        parts = {part for text in (term, *_texts(value)) for part in (text, text.partition(":")[0])}
        needs.setdefault(term, set()).update((parts & terms) - {term})
    return needs


def _texts(value: Any) -> Iterable[str]:
    """What a definition is made of."""
    if isinstance(value, tuple):
        return [text for key, text in value if key in _DEFINING and isinstance(text, str)]
    return [value] if isinstance(value, str) else []


def _longest(needs: dict[str, set[str]], own: dict[str, int]) -> int:
    """The longest path, where `own` is what each term adds. Terms in or before a circle are taken as one path."""
    needed_by: dict[str, list[str]] = defaultdict(list)
    for term, parts in needs.items():
        for part in parts:
            needed_by[part].append(term)
    missing = {term: len(parts) for term, parts in needs.items()}
    depth = {term: own[term] for term, count in missing.items() if not count}
    ready = list(depth)
    for term in ready:
        for other in needed_by[term]:
            missing[other] -= 1
            depth[other] = max(depth.get(other, 0), depth[term] + own[other])
            if not missing[other]:
                ready.append(other)
    circular = [term for term, count in missing.items() if count]
    known = max((depth[term] for term in ready), default=0)
    return known + sum(own[term] for term in circular)


def _copies(text: str, scoped: dict[str, int], most: int) -> int:
    """How many terms are in scope at all contexts of a document, and at all uses of terms that bring one."""
    try:
        root: Any = _DECODER.decode(text)
    except ValueError:
        return most + 1  # how they are nested cannot be known
    copies = 0
    stack = [(root, 0)]
    while stack:
        value, scope = stack.pop()
        if isinstance(value, list):
            stack += [(inner, scope) for inner in value]
            continue
        if not isinstance(value, tuple):
            continue
        contexts = [inner for key, inner in value if key == "@context"]
        names = [name for _, inner in value for name in (inner if isinstance(inner, list) else (inner,))]
        types = [scoped[name] for name in names if isinstance(name, str) and name in scoped] if scoped else []
        for size in (*map(_size, contexts), *types):
            scope += size
            copies += scope
        for key, inner in value:
            size = scoped.get(key, 0)
            copies += scope + size if size else 0
            if key != "@context":
                stack.append((inner, scope + size))
    return copies


# --- every syntax as lines ---

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


def as_lines(document: OpenedDocument, syntax: Syntax, rejected: list[Rejected]) -> Iterator[bytes]:
    """The lines of a document in blocks. What is refused alone goes to `rejected`; else a `DocumentError` is raised."""
    if syntax.by_line:
        return _good_lines(document, syntax, rejected)
    base: str | None = base_of(document.name)
    is_turtle = syntax.check is guards.check_turtle and isinstance(document.data, bytes)
    if is_turtle and _odd().search(document.data) is None:
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
    except MemoryError as error:  # it reads a token, and of N-Triples a line, into a buffer of 16 MiB
        message = f"a literal or line that is too long: {shortened(str(error))}"
        raise DocumentError("HG-307", message, fix="shorten its literals") from error


@cache
def _odd() -> Any:
    """A `<` that does not begin an absolute IRI, or begins a long one; without, Turtle has no triple terms either."""
    import re2

    long = rb"[^<>]{%d}" % (guards.MAX_BASE // 2)
    return re2.compile(rb"<(?:[^A-Za-z]|[A-Za-z][A-Za-z0-9+.\-]*[^A-Za-z0-9+.\-:]|%b)" % long)


def _all_lines(document: OpenedDocument, syntax: Syntax, base: str | None) -> Iterator[bytes]:
    """The lines of a document that is read as a whole; raises where its IRIs, written in full, pass the limit."""
    data = document.data if isinstance(document.data, bytes) else None
    spare = most = MAX_LINES[0] + MAX_LINES[1] * len(document.data)
    try:
        for block in written(parse(data, path=document.path, format=syntax.format, base_iri=base), syntax.quads):
            spare -= len(block)
            if spare < 0:
                fix = "shorten its base, its prefixes and its vocabulary"
                raise DocumentError("HG-321", f"more than {most:,} bytes of IRIs, written in full", fix=fix)
            yield block
    except SyntaxError as error:
        if _REMOTE.search(str(error)):
            fix, place = "put the context itself into the document; nothing is ever fetched", Place(document.name)
            raise DocumentError("HG-306", "a context that lies elsewhere", place=place, fix=fix) from error
        place = Place(document.name, None, error.lineno, error.offset if error.lineno else None)
        fix = "mend it; nothing of the document was read"
        raise DocumentError("HG-302", complaint(error), place=place, fix=fix) from error
    except OSError as error:
        raise DocumentError("HG-301", f"cannot be read: {error}", fix="check the file and its permissions") from error


def complaint(error: SyntaxError | MemoryError) -> str:
    """What pyoxigraph says is wrong, without saying where."""
    return shortened(_TRAILER.sub("", _POSITION.sub("", str(error))))


def _good_lines(document: OpenedDocument, syntax: Syntax, rejected: list[Rejected]) -> Iterator[bytes]:
    data, number, end = document.data, 1, 0
    limit = MessageLimit()
    while end < len(data):
        start, end = end, min(end + BLOCK, len(data))
        if end < len(data):  # a block is of whole lines
            end = data.rfind(b"\n", start, end) + 1 or data.find(b"\n", end) + 1 or len(data)
        if end - start > MAX_LINE:
            fix = f"the limit is {MAX_LINE:,}; shorten its literal"
            error = DocumentError("HG-307", f"a line of {end - start:,} bytes", fix=fix)
            rejected.append(_refused(error, document.name, number))
            number += 1
            continue
        block = data[start:end]
        block = block if block.endswith(b"\n") else block + b"\n"
        try:
            yield from _block(block, syntax)
        except (SyntaxError, DocumentError):
            lines = enumerate(block.splitlines(keepends=True), number)
            yield b"".join(_one(line, syntax, document.name, row, rejected, limit) for row, line in lines)
        number += block.count(b"\n")


def _block(block: bytes, syntax: Syntax) -> list[bytes]:
    if is_plain(block, syntax.quads):
        return [block]
    syntax.check(block)
    return list(written(parse(block, format=syntax.format), syntax.quads))


def _one(line: bytes, syntax: Syntax, name: str, number: int, rejected: list[Rejected], limit: MessageLimit) -> bytes:
    try:
        return b"".join(_block(line, syntax))
    except SyntaxError as error:
        if not limit.allows("HG-302"):
            rejected.append(Rejected(name, str(number), "HG-302", ""))
            return b""
        place = Place(name, None, number, error.offset)
        fix = "mend or drop the line; the others were read"
        rejected.append(_refused(DocumentError("HG-302", complaint(error), place=place, fix=fix), name, number))
    except DocumentError as error:
        rejected.append(_refused(error, name, number))
    return b""


def _refused(error: DocumentError, name: str, number: int) -> Rejected:
    if error.place.line is None:
        error.place = Place(name, None, number)
    return Rejected.of(error, name, str(number))


# --- documents as triples ---

TOGETHER = 64 << 20  # bytes of lines whose distinct texts are read together


class DocumentTriples(NamedTuple):
    """What a document holds: publication ids, triples with the number of their publication, and what was refused."""

    ids: list[str]
    numbers: Numbers
    rows: Codes  # subject, predicate, object
    rejected: list[Rejected]
    are_items: bool = False  # of a feed: never one publication with anything of another file

    @classmethod
    def none(cls, rejected: Sequence[Rejected]) -> DocumentTriples:
        """A document of which nothing could be read."""
        return cls([], np.empty(0, np.int64), np.empty((0, 3), np.int32), list(rejected))


def read_rdf(
    document: OpenedDocument, suffix: str, interner: Interner, locate: Callable[[], Place] | None = None
) -> DocumentTriples:
    """The publications of an RDF document, with what was refused in it.

    `locate` finds the place of an error that comes without one.
    """
    syntax = SYNTAXES[suffix]
    rejected: list[Rejected] = []
    try:
        blocks = as_lines(document, syntax, rejected)
        return read_lines(document.name, blocks, QUADS if syntax.quads else TRIPLES, interner, rejected)
    except HeliographError as error:
        if error.place.line is None:
            is_parsed = error.code == "HG-302"  # else it was refused because parsing it would be dangerous
            error.place = locate() if locate and is_parsed else Place(document.name)
        return DocumentTriples.none([*rejected, Rejected.of(error, document.name)])


def read_lines(
    name: str, blocks: Iterable[bytes], width: Width, interner: Interner, rejected: list[Rejected]
) -> DocumentTriples:
    """The publications of a document that has become lines; what is refused in them adds to `rejected`.

    They are numbered by graph, graphs in the order of their first rows. Without graphs, the fourth text is the dot.
    """
    interner.begin()
    found = [np.empty((0, width), np.int32)]
    waiting: list[Texts] = []
    size = 0
    for block in filter(None, blocks):
        waiting.append(split(block, width))
        size += len(block)
        if size > TOGETHER:
            found.append(interned(waiting, width, interner, name, rejected))
            waiting, size = [], 0
    if waiting:
        found.append(interned(waiting, width, interner, name, rejected))
    codes = np.concatenate(found)
    graphs, first, inverse = np.unique(codes[:, 3], return_index=True, return_inverse=True)
    order = np.argsort(first)
    ids = []
    for graph in graphs[order].tolist():
        term = None if graph == ABSENT else interner.vocabulary.term(graph)
        ids.append(name if term is None else f"{name}#_:{term.value}" if term.kind is TermKind.BLANK else term.value)
    if not ids and not rejected:
        ids = [name]
    return DocumentTriples(ids, np.argsort(order)[inverse].astype(np.int64), codes[:, :3], rejected)


def interned(blocks: Sequence[Texts], width: int, interner: Interner, name: str, rejected: list[Rejected]) -> Codes:
    """The ids of lines of `width` texts each, without those that hold a refused term, which are reported."""
    codes = interner.columns(blocks, width)
    kept = (codes != REFUSED).all(axis=1)
    if not kept.all():
        texts = [text or "" for block in blocks for text in block.to_pylist()]
        starts = (np.flatnonzero(~kept) * width).tolist()
        for start in starts[:MOST_REPORTED]:
            what, fix = "a term of RDF 1.2", "state it without << >> and without a base direction"
            if any(text.endswith(f'"^^<{RDF_LANG_STRING}> ') for text in texts[start : start + width]):
                what, fix = "a text of rdf:langString without a language", 'write "text"@en'
            message = f"{what} in {shortened(''.join(texts[start : start + width]).strip())}"
            fix += "; the other triples were read"
            rejected.append(Rejected.of(DocumentError("HG-308", message, place=Place(name), fix=fix), name))
        rejected += [Rejected(name, None, "HG-308", "")] * len(starts[MOST_REPORTED:])
        codes = codes[kept]
    return codes


# --- RDF/XML: entities within limits, and the places of errors, which pyoxigraph does not report ---


def read_rdf_xml(document: OpenedDocument, prolog: Prolog, interner: Interner) -> DocumentTriples:
    """The publication of a document in RDF/XML."""
    assert prolog.root is not None
    data = document.data
    if prolog.has_doctype:
        check_entities(data, prolog.entities)
        values = ((name, (value or b"").replace(b'"', b"&#34;")) for name, value in prolog.entities)
        declared = b"".join(b'<!ENTITY %b "%b">' % pair for pair in values)
        data = b"<!DOCTYPE rdf [" + declared + b"]>" + data[prolog.root.start :]  # with nothing but these
    shift = prolog.root.start - (len(data) - (len(document.data) - prolog.root.start))
    plain = document._replace(data=data)

    def locate() -> Place:
        return PlaceFinder(document.name, document.data).at(max(0, _broken_at(plain) + shift))

    return read_rdf(plain, ".rdf", interner, locate)


def _broken_at(document: OpenedDocument) -> int:
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
