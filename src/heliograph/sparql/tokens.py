"""From the text of a query to tokens and terms: the lexical grammar, constants, IRIs, what is refused by name, and
the places of errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple, cast

from heliograph.errors import Place, SparqlError, underline
from heliograph.sparql.query import Node
from heliograph.terms import HG, PREFIXES, RDF_LANG_STRING, Term, TermKind, Variable, literal
from heliograph.values import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER, XSD_STRING

# --- metric functions -------------------------------------------------------------------------------------------
# The `hg:` functions by name, and how each is written: the contract's table of metrics.

SIGNATURES = {
    "degree": "hg:degree(?x) or hg:degree(?x, :property)",
    "indegree": "hg:indegree(?x) or hg:indegree(?x, :property)",
    "outdegree": "hg:outdegree(?x) or hg:outdegree(?x, :property)",
    "clustering": "hg:clustering(?x)",
    "transitivity": "hg:transitivity()",
    "averageClustering": "hg:averageClustering()",
    "distance": 'hg:distance(?a, ?b[, "undirected"][, "weight"][, :property…])',
    "cliques": "hg:cliques(k) with k from 1 to 5",
    "betweenness": "hg:betweenness(?x)",
    "density": "hg:density() or hg:density(?x, hops) with hops 0, 1, 2, …",
    "dense": "hg:dense(?x)",
    "steiner": "hg:steiner(?a, ?b, …[, hg:via(:property)…])",
    "steinerPoint": "hg:steinerPoint(?x, ?a, ?b, …)",
    "via": "hg:via(:property) among the arguments of hg:steiner",
}
_BY_LOWER = {name.lower(): name for name in SIGNATURES}


def bare_metric(word: str) -> str | None:
    """The function that a name without `hg:`, or with another prefix, most likely means."""
    return _BY_LOWER.get(word.rpartition(":")[2].lower())


def near_metric(name: str) -> str | None:
    """The function that a misspelt name comes close to."""
    close = get_close_matches(name.lower(), _BY_LOWER, n=1, cutoff=0.5)
    return _BY_LOWER[close[0]] if close else None


# --- regular expressions ----------------------------------------------------------------------------------------
# Regular expressions of interests: RE2, which matches in linear time, with `i` as the only flag.
#
# RE2 has no backreferences and no look-around; both are named when a pattern uses them. Its time is linear in the
# text, but a step costs up to as much as the pattern is large once its automaton no longer fits its memory, hence the
# limits.

FLAGS = ("", "i")

# Instructions of the compiled pattern: about 1,000 words as alternatives. A pattern of this size takes 2 s on a text of
# 1 MB at worst; `[ab].?(a.?b?){600}b{40}`, of 7,254, took 228 s with the 8 MB of memory that are RE2's default.
MAX_PROGRAM = 10_000
_LARGE = 1_000  # instructions from which on RE2 may have more memory than its default of 8 MB
_MEMORY = 64 << 20  # bytes, of which a pattern takes what the texts that it meets make it take

_BEYOND = {
    "lookahead": re.compile(r"\(\?[=!]"),
    "lookbehind": re.compile(r"\(\?<[=!]"),
    "atomic group": re.compile(r"\(\?>"),
    "backreference": re.compile(r"(?<!\\)(?:\\\\)*\\(?:[1-9]|k[<{'])"),
}


def compile_regex(pattern: str, flags: str = "") -> Any:
    """The compiled pattern; raises `re2.error`. Use `.search`, as SPARQL's REGEX matches anywhere in the text."""
    found = _compile(pattern, flags)
    return found if found.programsize <= _LARGE else _compile_large(pattern, flags)


@lru_cache(maxsize=4096)
def _compile(pattern: str, flags: str, memory: int | None = None) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = "i" not in flags
    options.never_capture = True  # nobody asks for groups, and 20,000 of them took 4.8 GB
    if memory is not None:
        options.max_mem = memory
    return re2.compile(pattern, options)


@lru_cache(maxsize=512)  # so that they take no more memory than 4,096 of the others may; to compile one takes ms
def _compile_large(pattern: str, flags: str) -> Any:
    return _compile.__wrapped__(pattern, flags, _MEMORY)


class RegexProblem(NamedTuple):
    message: str
    fix: str


@lru_cache(maxsize=65536)
def regex_problem(pattern: str, flags: str = "") -> RegexProblem | None:
    """What is wrong with a pattern, partly in RE2's words, or None when it may be used."""
    import re2

    try:
        size = _compile(pattern, flags).programsize
    except re2.error as error:
        words = error.args[0] if error.args else ""
        said = words.decode(errors="replace") if isinstance(words, bytes) else str(words)
        fix = "patterns follow the syntax of RE2, which matches in linear time"
        return RegexProblem(f"not a regular expression: {_beyond(pattern)}{said}", fix)
    if size > MAX_PROGRAM:
        message = f"a regular expression of {size:,} steps, written out; at most {MAX_PROGRAM:,} are taken"
        return RegexProblem(message, "shorten it, lower its repetitions {n}, or use several conditions")
    return None


def _beyond(pattern: str) -> str:
    names = [name for name, sign in _BEYOND.items() if sign.search(pattern)]
    return f"RE2 has no {' and no '.join(names)}: " if names else ""


# --- relative IRIs ----------------------------------------------------------------------------------------------
# Relative IRIs: resolved against a base as RFC 3986, section 5.2, says.

_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


class _Iri(NamedTuple):
    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None


def is_absolute(iri: str) -> bool:
    return _SCHEME.match(iri) is not None


def resolve(base: str, reference: str) -> str:
    """The absolute IRI that `reference` means where `base` is in force."""
    if is_absolute(reference):
        return reference
    whole, part = _split(base), _split(reference)
    if part.authority is not None:
        target = _Iri(whole.scheme, part.authority, _without_dots(part.path), part.query, part.fragment)
    elif part.path:
        target = _Iri(whole.scheme, whole.authority, _without_dots(_merge(whole, part.path)), part.query, part.fragment)
    else:
        query = whole.query if part.query is None else part.query
        target = _Iri(whole.scheme, whole.authority, whole.path, query, part.fragment)
    return _join(target)


def _split(iri: str) -> _Iri:
    match = _PARTS.fullmatch(iri)
    assert match is not None  # the expression matches every text
    scheme, authority, path, query, fragment = match.groups()
    return _Iri(scheme, authority, path, query, fragment)


def _merge(base: _Iri, path: str) -> str:
    if path.startswith("/"):
        return path
    if base.authority is not None and not base.path:
        return "/" + path
    return base.path[: base.path.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    segments: list[str] = []
    parts = path.split("/")
    for part in parts:
        if part == "..":
            del segments[max(1 if path.startswith("/") else 0, len(segments) - 1) :]
        elif part != ".":
            segments.append(part)
    if parts[-1] in (".", ".."):
        segments.append("")
    return "/".join(segments)


def _join(iri: _Iri) -> str:
    authority = "" if iri.authority is None else f"//{iri.authority}"
    query = "" if iri.query is None else f"?{iri.query}"
    fragment = "" if iri.fragment is None else f"#{iri.fragment}"
    return f"{iri.scheme}:{authority}{iri.path}{query}{fragment}"


# --- the lexical grammar ----------------------------------------------------------------------------------------
# The lexical grammar of SPARQL: one compiled expression for tokens, and one that lifts the constants out of a text.
#
# The law that makes sharing by shape sound: `LIFT` is the first half of `LEXER`, so where `LIFT.split` finds a
# constant the lexer finds the same token, and what lies between constants consists of whole tokens. A word is a
# prefix of a prefixed name and a number never starts behind a word, hence no token between constants can grow into
# the next one. White space around constants is lifted with them, as it says nothing; only behind a sign it does
# (`-5`, `- 5`).

_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = _BASE + "_0-9\u00b7\u0300-\u036f\u203f-\u2040"
_CHARS = _NAME + r"\-"
_UCHAR = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
# `?x<5&&?y>3` compares: behind a name or a bracket, < opens an IRI only if a scheme follows.
_OPEN = rf"<(?:(?<![{_NAME})]<)|(?=[A-Za-z][A-Za-z0-9+.\-]*+:))"
_IRI = rf'{_OPEN}(?:[^<>"{{}}|^`\\\x00-\x20]++|{_UCHAR})*+>'
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_PART = rf"(?:[{_CHARS}:]++|{_ESCAPED})++"
_LOCAL = rf"(?=[{_BASE}_0-9:%\\]){_PART}(?:\.++{_PART})*+"
# A prefix ends at 256 characters: without a bound, text such as `p-p-p-…` is looked through again from each letter.
_PNAME = rf"(?:[{_BASE}](?:[{_CHARS}.]{{0,255}}+(?<!\.))?)?:(?:{_LOCAL})?"
_BLANK = rf"_:[{_BASE}_0-9][{_CHARS}]*+(?:\.++[{_CHARS}]++)*+"
_VARIABLE = rf"[?$][{_BASE}_0-9][{_NAME}]*+"
_SUFFIX = rf"(?:@[A-Za-z]++(?:-[A-Za-z0-9]++)*+|\^\^(?:{_IRI}|{_PNAME}))?"
_STRING = (
    r'(?:"""(?:[^"\\]++|\\[\s\S]|"(?!""))*+"""'
    r"|'''(?:[^'\\]++|\\[\s\S]|'(?!''))*+'''"
    r'|"(?:[^"\\\n\r]++|\\.)*+"'
    rf"|'(?:[^'\\\n\r]++|\\.)*+'){_SUFFIX}"
)
_EXPONENT = r"[eE][+-]?[0-9]++"
_NUMBER = rf"(?<![{_NAME}])(?:[0-9]++(?:\.[0-9]*+{_EXPONENT}|\.[0-9]++|{_EXPONENT})?|\.[0-9]++(?:{_EXPONENT})?)"

LIFTED = {
    "var": _VARIABLE,
    "pname": _PNAME,
    "iri": _IRI,
    "string": _STRING,
    "number": _NUMBER,
    "blank": _BLANK,
    "lang": r"@[A-Za-z]++(?:-[A-Za-z0-9]++)*+",
    "comment": r"#[^\n\r]*+",
    # A quote that opens no string, or a backslash outside of one, takes the rest of the text: nothing behind it can be
    # read, and looking for the end of a string from each further quote takes time with the square of the length.
    "unclosed": r"[\"'\\][\s\S]*+",
}
_FIXED = {
    "space": r"[ \t\r\n]++",
    "word": r"[A-Za-z][A-Za-z0-9_]*+",
    "op": r"\^\^|&&|\|\||!=|<=|>=|[{}()\[\].;,*/+\-=<>!?|^]",
    "bad": r"[\s\S]",
}

LIFT = re.compile(
    r"(?:(?<![ \t\r\n+\-])[ \t\r\n]++)?+(" + "|".join(LIFTED.values()) + r")[ \t\r\n]*+",
)
LEXER = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in (LIFTED | _FIXED).items()))

# The kinds that stand for a node of the graph; the parser treats them alike and checks them by role.
NODES = frozenset({"var", "pname", "iri", "string", "number", "blank"})


class Tokens(NamedTuple):
    """The tokens of a text as columns. A kind is the operator itself, the keyword in upper case (`a` stays `a`), the
    lexical class of anything else, or `end`."""

    text: str
    kinds: list[str]
    words: list[str]
    starts: list[int]


def tokenize(text: str) -> Tokens:
    check_characters(text)
    kinds: list[str] = []
    words: list[str] = []
    starts: list[int] = []
    for match in LEXER.finditer(text):
        kind = match.lastgroup
        if kind == "space" or kind == "comment":
            continue
        word = match[0]
        if kind in NODES:
            kinds.append(kind)
        elif kind == "op":
            kinds.append(word)
        elif kind == "word":
            kinds.append(word if word == "a" else word.upper())
        elif kind == "lang":
            kinds.append(kind)
        else:
            raise _unreadable(text, match.start())
        words.append(word)
        starts.append(match.start())
    end = starts[-1] + len(words[-1]) if words else 0
    return Tokens(text, [*kinds, "end"], [*words, ""], [*starts, end])


def check_characters(text: str) -> None:
    """Refuses text with half a surrogate pair, which no file and no table could hold."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"{text[error.start]!a} is no character"
        raise problem(text, error.start, "HG-401", message, fix="write the character itself, not half of it") from None


def problem(text: str, start: int, code: str, message: str, *, fix: str, length: int = 1) -> SparqlError:
    """An error at an offset of the text, with line, column and the underlined line."""
    line, column = position(text, start)
    snippet = underline(text, line, column, length)
    return SparqlError(code, message, place=Place(line=line, column=column), fix=fix, snippet=snippet)


def position(text: str, start: int) -> tuple[int, int]:
    """Line and column, from 1, of an offset."""
    lines = (text[:start] + "^").splitlines()
    return len(lines), len(lines[-1])


_OPENERS = {'"': "a string", "'": "a string", "<": "an IRI"}


def _unreadable(text: str, start: int) -> SparqlError:
    character = text[start]
    if character in _OPENERS:
        start = _long_string(text) or start
        what = f"{_OPENERS[character]} that is not closed"
        return problem(text, start, "HG-401", what, fix=_CLOSE[character], length=len(text) - start)
    if character == "\\":
        return problem(text, start, "HG-401", "a backslash that escapes nothing", fix="see SPARQL's list of escapes")
    if character == "&":
        return problem(text, start, "HG-400", "a single &", fix="write && for and")
    if character == "_":
        return problem(text, start, "HG-400", "a name that begins with _", fix="write _:label for a blank node")
    fix = "names with such characters are written in angle brackets or percent-encoded, text in quotes"
    return problem(text, start, "HG-400", f"the character {character!r} stands for nothing here", fix=fix)


def _long_string(text: str) -> int | None:
    """Where a string in three quotes opens that is never closed: the lexer took its first two for an empty string."""
    empty = (match for match in LEXER.finditer(text) if match[0] in ('""', "''"))
    return next((match.start() for match in empty if text[match.end() : match.end() + 1] == match[0][0]), None)


_CLOSE = {
    '"': 'close it with ", write \\" for a quote inside, or use """ for text of several lines',
    "'": "close it with ', write \\' for a quote inside, or use ''' for text of several lines",
    "<": "close it with >, without spaces inside",
}


# --- terms ------------------------------------------------------------------------------------------------------
# From token to term: what a constant of SPARQL text stands for, and in which roles it may stand.
#
# A `Scope` is the prologue in force (prefixes and base). Its tables remember every text once read, one table per
# role, so that a bulk load reads each distinct constant once; a text that may not stand in a role is never remembered
# there.

_make = cast(Callable[[type[Term], tuple[object, ...]], Term], tuple.__new__)
_NODES_VARIABLE, _NODES_NAME, _LITERAL, _NODES_BLANK = "variable", "IRI", "literal", "blank node"


class Role(Enum):
    """Where a node stands: what it is called in a message, and what may stand there."""

    SUBJECT = ("the subject of a triple", (_NODES_VARIABLE, _NODES_NAME, _NODES_BLANK))
    PREDICATE = ("the property of a triple", (_NODES_VARIABLE, _NODES_NAME))
    OBJECT = ("the object of a triple", (_NODES_VARIABLE, _NODES_NAME, _LITERAL, _NODES_BLANK))
    CLASS = ("an end of an is-a form", (_NODES_VARIABLE, _NODES_NAME, _NODES_BLANK))
    OPERAND = ("part of an expression", (_NODES_VARIABLE, _NODES_NAME, _LITERAL))
    CALLED = ("a function", (_NODES_VARIABLE, _NODES_NAME, _LITERAL, _NODES_BLANK))
    VARIABLE = ("a variable", (_NODES_VARIABLE,))
    NUMBER = ("a number", (_LITERAL,))
    CONSTANT = ("a constant", (_NODES_NAME, _LITERAL))
    VERTEX = ("a vertex", (_NODES_VARIABLE, _NODES_NAME))
    PROPERTY = ("a property", (_NODES_NAME,))
    REGEX = ("a pattern of REGEX", (_LITERAL,))
    REGEX_I = ("a pattern of REGEX without case", (_LITERAL,))

    def __init__(self, title: str, kinds: tuple[str, ...]) -> None:
        self.title = title
        self.kinds = kinds
        self.checked = title.startswith(("a pattern", "a number", "part", "the property"))

    __hash__ = object.__hash__  # members are single: their identity will do, and is faster than their name

    @property
    def wanted(self) -> str:
        *others, last = self.kinds
        article = "an" if self.kinds[0][0] in "AI" else "a"
        return f"{article} {', '.join(others)} or {last}" if others else f"{article} {last}"


class Problem(Exception):
    """A text that stands for no node, or not in its role; the parser turns it into an error with a place."""

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix


class Scope:
    """The prologue in force: prefixes and base."""

    def __init__(self, prefixes: Mapping[str, str] = PREFIXES, base: str | None = None) -> None:
        self.prefixes = prefixes
        self.base = base
        self._tables: dict[Role, NodeTable] = {}

    def table(self, role: Role) -> NodeTable:
        """What texts stand for in a role, remembered."""
        if role not in self._tables:
            self._tables[role] = NodeTable(self, role)
        return self._tables[role]

    def read(self, role: Role, text: str) -> Node:
        """The node that a token stands for in a role; raises `Problem`."""
        kind, reader = _BY_FIRST.get(text[0], _PREFIXED)
        if kind not in role.kinds:
            raise Problem("HG-403", f"the {kind} {text} as {role.title}", f"write {role.wanted} there")
        node = reader(self, text)
        if role.checked and kind is not _NODES_VARIABLE:
            _check(role, node, text)
        return node

    def iri(self, text: str) -> str:
        """The IRI between angle brackets, resolved against the base."""
        value = text[1:-1] if "\\" not in text else _unescape(text[1:-1])
        if is_absolute(value):
            return value if "\\" not in text else _checked(value, text)
        if self.base is None:
            fix = "write a scheme, as in <http://example.org/a>, declare BASE, or write :name for a plain name"
            raise Problem("HG-401", f"{text} is no absolute IRI", fix)
        return _checked(resolve(self.base, value), text)

    def name(self, text: str) -> str:
        """The IRI of a prefixed name."""
        prefix, _, local = text.partition(":")
        namespace = self.prefixes.get(prefix)
        if namespace is None:
            fix = f"declare it in the query, PREFIX {prefix}: <IRI>, or with --prefix {prefix}=IRI"
            raise Problem("HG-402", f"unknown prefix {prefix}: in {text}", fix)
        return namespace + (local if "\\" not in local else _LOCAL_ESCAPE.sub(r"\1", local))

    def typed(self, lexical: str, datatype: str) -> Term:
        name = self.iri(datatype) if datatype[0] == "<" else self.name(datatype)
        if name == RDF_LANG_STRING:
            raise Problem("HG-401", "a text with datatype rdf:langString has no language", 'write "text"@en')
        return literal(lexical, name)


class NodeTable(dict[str, Node]):
    """The nodes that texts stand for in one role; reads a text when it is first asked for, and only if it may stand
    there."""

    def __init__(self, scope: Scope, role: Role) -> None:
        super().__init__()
        self._read = scope.read
        self._role = role

    def __missing__(self, text: str) -> Node:
        node = self[text] = self._read(self._role, text)
        return node


class _Ignored(dict[str, Node]):
    """The table of constants that are compared as part of the shape, and so need not be read again."""

    def __missing__(self, text: str) -> Node:
        return _NOTHING


class _Comments(dict[str, Node]):
    """The table of places where a comment stands: any comment may stand there, and nothing else."""

    def __missing__(self, text: str) -> Node:
        if text[0] != "#":
            raise Problem("HG-400", "not a comment", "write # before a comment")
        return _NOTHING


_NOTHING = Variable("")
IGNORED = _Ignored()
COMMENTS = _Comments()


def _check(role: Role, node: Node, text: str) -> None:
    assert isinstance(node, Term)
    if role is Role.PREDICATE or role is Role.OPERAND:
        if node.value.startswith(HG):
            _check_metric(node.value[len(HG) :], text, role)
    elif role is not Role.NUMBER:
        _check_regex(node, "i" if role is Role.REGEX_I else "")
    elif _NODES_NUMBER.fullmatch(text) is None:
        raise Problem("HG-403", f"{text} where a number is wanted", "write a number such as 5")


def _check_metric(name: str, text: str, role: Role) -> None:
    """A metric is called; by its bare name it would be an IRI that nothing is ever equal to."""
    if name in SIGNATURES:
        fix = f"call it in a FILTER of a watch interest: {SIGNATURES[name]}"
        raise Problem("HG-431", f"the metric {text} as {role.title} is not supported", fix)


def _check_regex(node: Term, flags: str) -> None:
    if node.datatype != XSD_STRING:
        raise Problem("HG-404", "a pattern of REGEX that is no plain string", 'write it as "…" without tag or type')
    problem = regex_problem(node.value, flags)
    if problem is not None:
        raise Problem("HG-404", problem.message, problem.fix)


def split_literal(text: str) -> tuple[str, str, str]:
    """The parts of a string token: what stands between the quotes, the language and the datatype, empty if absent."""
    quote = text[:3] if text[:3] in _BODIES and len(text) > 5 else text[0]
    match = _BODIES[quote].match(text)
    if match is None:  # the rest of a text with an open quote, where another text of the shape has a string
        raise Problem("HG-401", "a string that is not closed", "close it with the quote that opened it")
    suffix = text[match.end() :]
    return match[1], suffix[1:] if suffix[:1] == "@" else "", suffix[2:] if suffix[:1] == "^" else ""


_BODIES = {
    '"': re.compile(r'"((?:[^"\\]++|\\.)*+)"'),
    "'": re.compile(r"'((?:[^'\\]++|\\.)*+)'"),
    '"""': re.compile(r'"""((?:[^"\\]++|\\[\s\S]|"(?!""))*+)"""'),
    "'''": re.compile(r"'''((?:[^'\\]++|\\[\s\S]|'(?!''))*+)'''"),
}


def _variable(scope: Scope, text: str) -> Node:
    return Variable(text[1:])


def _blank(scope: Scope, text: str) -> Node:
    return Variable(text)


def _bracketed(scope: Scope, text: str) -> Node:
    return Term(TermKind.IRI, scope.iri(text))


def _prefixed(scope: Scope, text: str) -> Node:
    return _make(Term, (TermKind.IRI, scope.name(text), "", ""))  # as `iri` does, in half of its time


def _string(scope: Scope, text: str) -> Node:
    body, language, datatype = split_literal(text)
    lexical = _unescape(body) if "\\" in body else body
    return scope.typed(lexical, datatype) if datatype else literal(lexical, language=language)


def _number(scope: Scope, text: str) -> Node:
    if "e" in text or "E" in text:
        return literal(text, XSD_DOUBLE)
    return literal(text, XSD_DECIMAL if "." in text else XSD_INTEGER)


# What a token is and how it is read can be told from its first character.
_BY_FIRST: dict[str, tuple[str, Callable[[Scope, str], Node]]] = {
    "?": (_NODES_VARIABLE, _variable),
    "$": (_NODES_VARIABLE, _variable),
    "_": (_NODES_BLANK, _blank),
    "<": (_NODES_NAME, _bracketed),
    '"': (_LITERAL, _string),
    "'": (_LITERAL, _string),
    **dict.fromkeys("0123456789.+-", (_LITERAL, _number)),
}
_PREFIXED: tuple[str, Callable[[Scope, str], Node]] = (_NODES_NAME, _prefixed)

_NODES_NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?")
_LOCAL_ESCAPE = re.compile(r"\\(.)")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([\s\S]))")
_ECHAR = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_NO_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')


def _checked(iri: str, text: str) -> str:
    if _NO_IRI.search(iri) or not is_absolute(iri):
        raise Problem("HG-401", f"{text} is no IRI", 'percent-encode spaces and <>"{}|^`\\ in it')
    return iri


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    short, long, single = match.groups()
    if single is not None:
        if single not in _ECHAR:
            raise Problem("HG-401", f"unknown escape {match[0]}", r"use \t \b \n \r \f \" \' \\ \uXXXX or \UXXXXXXXX")
        return _ECHAR[single]
    code = int(short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise Problem("HG-401", f"{match[0]} is no character", "use a Unicode scalar value")
    return chr(code)


# --- refusals ---------------------------------------------------------------------------------------------------
# What SPARQL has and an interest may not use: each construct by its name, with its code and a rewrite.
#
# One code for each class of refusal, so that a script can tell them apart; `docs/errors.md` lists them.


class Refusal(NamedTuple):
    """Why a construct is refused and what to write in its place."""

    code: str
    name: str
    fix: str


_ONE_EACH = "subscribe once for each alternative"
_UPDATE = Refusal("HG-420", "an update", "an interest asks; write SELECT or ASK, and send data as publications")
_SLICE = Refusal(
    "HG-418",
    "LIMIT or OFFSET",
    "remove it; bound a filter's evidence with --bindings K, a watch's matches with max_matches_per_update",
)
_QUERY = Refusal("HG-419", "this query form", "write SELECT or ASK; a notification carries bindings, not a graph")

# By the keyword that opens the construct, wherever in the query it may stand.
REFUSED: dict[str, Refusal] = {
    "OPTIONAL": Refusal("HG-410", "OPTIONAL", "remove it, or subscribe a second time with its triples required"),
    "UNION": Refusal("HG-411", "UNION", f"{_ONE_EACH}, or use VALUES or IN where only a constant differs"),
    "MINUS": Refusal("HG-412", "MINUS", "compare with != or NOT IN in a FILTER where that says the same"),
    "EXISTS": Refusal("HG-413", "EXISTS", "write its triples into the pattern itself"),
    "NOT EXISTS": Refusal("HG-413", "NOT EXISTS", "compare with != or NOT IN where that says the same"),
    "GRAPH": Refusal("HG-416", "GRAPH", "remove it; each publication is one graph and is matched on its own"),
    "ORDER": Refusal("HG-417", "ORDER BY", "remove it; notifications have an order of their own"),
    "LIMIT": _SLICE._replace(name="LIMIT"),
    "OFFSET": _SLICE._replace(name="OFFSET", fix="remove it"),
    "CONSTRUCT": _QUERY._replace(name="CONSTRUCT"),
    "DESCRIBE": _QUERY._replace(name="DESCRIBE"),
    "BIND": Refusal("HG-421", "BIND", "write the expression in the FILTER that uses it"),
    "LET": Refusal("HG-421", "LET", "write the expression in the FILTER that uses it"),
    "SERVICE": Refusal("HG-422", "SERVICE", "publish the remote data; an interest sees only what is published"),
    "FROM": Refusal("HG-423", "FROM", "remove it; an interest is about whatever is published"),
    "REDUCED": Refusal("HG-429", "SELECT REDUCED", "write SELECT or SELECT DISTINCT"),
    "SELECT": Refusal("HG-415", "a sub-select", "write its triples into the pattern itself"),
}
REFUSED |= {
    word: _UPDATE._replace(name=word) for word in "INSERT DELETE LOAD CLEAR DROP CREATE ADD MOVE COPY WITH".split()
}

NESTED = Refusal("HG-428", "a group within the group", "remove the inner braces; all triples of an interest are ANDed")
QUOTED = Refusal(
    "HG-427", "a quoted triple <<…>>", "describe the statement with rdf:subject, rdf:predicate, rdf:object"
)
COLLECTED = Refusal(
    "HG-426", "an expression in SELECT", "select the variables and compute outside, or compare in FILTER"
)

GROUPED = Refusal("HG-426", "GROUP BY an expression", "group by variables: GROUP BY ?x")

AGGREGATES = frozenset("COUNT SUM MIN MAX AVG SAMPLE GROUP_CONCAT".split())
_COUNT_ONLY = "COUNT(*) is the only aggregate, in SELECT (COUNT(*) AS ?n) and in HAVING"


def aggregate(name: str, shown: str) -> Refusal:
    fix = f"write COUNT(*) in place of {shown}" if name == "COUNT" else _COUNT_ONLY
    return Refusal("HG-424", f"the aggregate {shown}", fix)


def misplaced_count() -> Refusal:
    return Refusal("HG-424", "COUNT(*) in a FILTER", "move the condition behind the group: HAVING (COUNT(*) >= 2)")


# Functions of SPARQL that an interest may not call, with a rewrite where there is one.
FUNCTIONS: dict[str, str] = {
    "SAMETERM": "compare with =",
    "LANGMATCHES": 'compare the tag itself: LANG(?x) = "en", or REGEX(LANG(?x), "^en(-|$)", "i")',
    "ISBLANK": "write !isIRI(?x) && !isLiteral(?x)",
    "UCASE": 'compare without case: REGEX(?x, "^text$", "i")',
    "LCASE": 'compare without case: REGEX(?x, "^text$", "i")',
    "STRLEN": 'test the length with REGEX(?x, "^.{5,}$")',
    "STRBEFORE": "test the part with STRSTARTS or REGEX",
    "STRAFTER": "test the part with STRENDS or REGEX",
    "SUBSTR": "test the part with STRSTARTS, STRENDS or REGEX",
    "YEAR": 'compare with dates: ?d >= "2026-01-01T00:00:00Z"^^xsd:dateTime',
    "IF": "write (condition && a) || (!condition && b)",
    "COALESCE": "write BOUND(?x) && … where it matters",
    "ISNUMERIC": "compare the value; only numbers compare with numbers",
}
_OTHER_FUNCTIONS = (
    "IRI URI BNODE STRDT STRLANG UUID STRUUID CONCAT ENCODE_FOR_URI REPLACE ABS ROUND CEIL FLOOR RAND NOW MONTH DAY "
    "HOURS MINUTES SECONDS TIMEZONE TZ MD5 SHA1 SHA256 SHA384 SHA512 TRIPLE SUBJECT PREDICATE OBJECT ISTRIPLE"
).split()
SUPPORTED = "BOUND STR LANG DATATYPE isIRI isLiteral CONTAINS STRSTARTS STRENDS REGEX"


def function(name: str) -> Refusal | None:
    """The refusal of a function that SPARQL has and we have not; None for a name that SPARQL does not have either."""
    if name in FUNCTIONS:
        return Refusal("HG-425", f"the function {name}", FUNCTIONS[name])
    if name in _OTHER_FUNCTIONS:
        return Refusal("HG-425", f"the function {name}", f"the functions are {SUPPORTED}")
    return None


def refused_cast(shown: str) -> Refusal:
    fix = "numbers and dates compare by value without a cast" if shown.startswith("xsd:") else f"use {SUPPORTED}"
    return Refusal("HG-425", f"the function {shown}", fix)


# --- property paths ---------------------------------------------------------------------------------------------

_PATHS = {
    "/": ("a sequence path", "name the node between: ?s {0} ?m . ?m {1} ?o"),
    "|": ("an alternative path", "use a variable: ?s ?p ?o . FILTER(?p IN ({0}, {1}))"),
    "^": ("an inverse path", "swap the ends: ?o {1} ?s"),
    "*": ("a zero-or-more path", "only a/rdfs:subClassOf* walks any number of steps"),
    "+": ("a one-or-more path", "only rdfs:subClassOf+ walks any number of steps"),
    "?": ("a zero-or-one path", "subscribe once with the triple and once without it"),
    "!": ("a negated property set", "use a variable: ?s ?p ?o . FILTER(?p NOT IN ({1}))"),
    "(": ("a path in parentheses", "the paths are a/rdfs:subClassOf* and rdfs:subClassOf+, without parentheses"),
    "{": ("a counted path", "write out the steps with variables between them"),
}
PATH_OPERATORS = frozenset("/|^*+?{")
PATH_OPENERS = frozenset("^!(")


def path(operator: str, before: str, after: str) -> Refusal:
    name, fix = _PATHS[operator]
    return Refusal("HG-414", name, fix.format(before or ":p", after or ":q"))


# --- misspelt words ---------------------------------------------------------------------------------------------

_WORDS = (
    "SELECT ASK WHERE DISTINCT FILTER PREFIX BASE VALUES UNDEF GROUP BY HAVING COUNT AS IN NOT true false BOUND "
    "STR LANG DATATYPE isIRI isURI isLiteral CONTAINS STRSTARTS STRENDS REGEX"
).split()
_BY_UPPER = {word.upper(): word for word in _WORDS}


def near(word: str) -> str | None:
    """The keyword that a misspelt word comes close to."""
    close = get_close_matches(word.upper(), _BY_UPPER, n=1, cutoff=0.7)
    return _BY_UPPER[close[0]] if close else None


# --- the cursor -------------------------------------------------------------------------------------------------
# A place in the tokens of a query: what the parsers read from, and where every error gets its line and column.
#
# When a shape is being learnt, the cursor also keeps the record of which constants the parser looked at (they belong
# to the shape) and which it merely passed on (they are slots, to be filled for the next text of that shape).

MAX_NESTING = 64  # of brackets of any kind; Python's own stack holds about four times as many

END = "the end of the query"

_SLOT = "\0"


class Record:
    """What the parser did with each constant of a text: `roles` of the slots, and the `pinned` ones it looked at."""

    def __init__(self, starts: list[int]) -> None:
        self.numbers = {start: number for number, start in enumerate(starts)}
        self.roles: dict[int, Role] = {}
        self.signed: list[tuple[str, int]] = []  # further constants: a sign and the number of the constant behind it

    def slot(self, start: int, role: Role) -> Variable:
        number = self.numbers[start]
        self.roles[number] = role
        return Variable(f"{_SLOT}{number}")

    def signed_slot(self, sign: str, start: int) -> Variable:
        self.signed.append((sign, self.numbers[start]))
        return Variable(f"{_SLOT}{len(self.numbers) + len(self.signed) - 1}")


def slot_number(node: object) -> int | None:
    """The number of the slot that a node of a learnt query stands for; None for a node of its own."""
    return int(node.name[1:]) if isinstance(node, Variable) and node.name[:1] == _SLOT else None


class Cursor:
    """The tokens of one text, the place in them, and the prologue in force."""

    def __init__(self, tokens: Tokens, scope: Scope, verb: str, record: Record | None = None) -> None:
        self.text, self.kinds, self.words, self.starts = tokens
        self.scope = scope
        self.verb = verb
        self.record = record
        self.at = 0
        self.nesting = 0
        self.anonymous = 0

    # --- moving -------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return self.kinds[self.at]

    @property
    def word(self) -> str:
        return self.words[self.at]

    def ahead(self, steps: int = 1) -> str:
        """The kind of a later token; `end` behind the last one."""
        return self.kinds[min(self.at + steps, len(self.kinds) - 1)]

    def accept(self, kind: str) -> bool:
        """Steps over the token if it is of this kind."""
        if self.kinds[self.at] != kind:
            return False
        self.at += 1
        return True

    def expect(self, kind: str, wanted: str) -> None:
        if self.kinds[self.at] != kind:
            raise self.unexpected(wanted)
        self.at += 1

    def close(self, kind: str, opened: int) -> None:
        """Steps over a closing bracket; its absence names the bracket that was `opened`."""
        if self.kinds[self.at] != kind:
            line, column = position(self.text, self.starts[opened])
            raise self.unexpected(f"{kind} to close the {self.words[opened]} of line {line}, column {column}")
        self.at += 1

    def deeper(self) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self.error("HG-405", f"more than {MAX_NESTING} brackets within each other", fix="flatten the query")

    def shallower(self) -> None:
        self.nesting -= 1

    # --- nodes --------------------------------------------------------------------------------------------------

    def node(self, role: Role) -> Node:
        """Reads a node token in a role; a slot when a shape is being learnt."""
        at = self.at
        node = self.fixed(role)
        return node if self.record is None else self.record.slot(self.starts[at], role)

    def fixed(self, role: Role) -> Node:
        """Reads a node token whose value decides how parsing goes on: it belongs to the shape, never a slot."""
        at = self.at
        if self.kinds[at] not in NODES:
            raise self.unexpected(role.wanted)
        try:
            node = self.scope.read(role, self.words[at])
        except Problem as found:
            raise self.trouble(found) from None
        self.at = at + 1
        return node

    def signed_number(self) -> Node:
        """Reads a sign and the number that adjoins it."""
        sign, start = self.word, self.starts[self.at + 1]
        node = self.scope.read(Role.NUMBER, sign + self.words[self.at + 1])
        self.at += 2
        return node if self.record is None else self.record.signed_slot(sign, start)

    def at_signed_number(self, at: int | None = None) -> bool:
        """Whether a sign stands here, with a number that follows it without a space."""
        here = self.at if at is None else at
        if self.kinds[here] not in ("+", "-") or self.kinds[here + 1] != "number":
            return False
        return self.starts[here] + 1 == self.starts[here + 1]

    def fresh(self) -> Variable:
        """A hidden variable for a blank node without a label; no label can be spelt like it."""
        self.anonymous += 1
        return Variable(f"_:[{self.anonymous}]")

    # --- errors -------------------------------------------------------------------------------------------------

    def error(self, code: str, message: str, *, fix: str, at: int | None = None) -> SparqlError:
        index = self.at if at is None else at
        length = max(1, len(self.words[index]))
        return problem(self.text, self.starts[index], code, message, fix=fix, length=length)

    def trouble(self, found: Problem, at: int | None = None) -> SparqlError:
        return self.error(found.code, found.message, fix=found.fix, at=at)

    def unexpected(self, wanted: str) -> SparqlError:
        found = "the text ends" if self.kind == "end" else f"found {_short(self.word)}"
        fix = self._hint() or ("remove it" if wanted == END else f"write {wanted}")
        return self.error("HG-400", f"{found}, expected {wanted}", fix=fix)

    def refused(self, refusal: Refusal, at: int | None = None) -> SparqlError:
        return self.error(refusal.code, f"{refusal.name} is not supported", fix=refusal.fix, at=at)

    def _hint(self) -> str | None:
        """A fix for mistakes that other languages teach."""
        if self.kind in _HINTS:
            return _HINTS[self.kind]
        if self.kind == "=" and self.kinds[self.at - 1] == "=":
            return "equality is a single ="
        if self.word == "<>":
            return "write != for unequal"
        if self.kind == "iri" and not self.word[1:2].isalpha():
            return "write spaces around < and > where they compare"
        word = near(self.word) if self.word.isalpha() else None
        return f"did you mean {word}?" if word and word.upper() != self.kind else None


_HINTS = {
    "AND": "write && for and",
    "OR": "write || for or",
    "INF": 'infinity is written "INF"^^xsd:double',
    ",": "write no commas between variables, and one between arguments",
    "<": "close an IRI with >, and percent-encode the spaces inside",
}


def _short(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[:limit] + "…"
