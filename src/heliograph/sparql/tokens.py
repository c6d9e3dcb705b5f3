"""From the text of a query to tokens and terms: the lexical grammar, constants, IRIs, and the places of errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple, cast

from heliograph.errors import Place, SparqlError, underline
from heliograph.sparql.evaluate import regex_problem
from heliograph.sparql.query import SIGNATURES, Node
from heliograph.sparql.refusals import Refusal, near
from heliograph.terms import HG, NAME_MARKS, NAME_START, PREFIXES, RDF_LANG_STRING, Term, TermKind, Variable, literal
from heliograph.values import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER, XSD_STRING

# --- the lexical grammar ----------------------------------------------------------------------------------------
# The lexical grammar of SPARQL: one compiled expression for tokens, and one that lifts the constants out of a text.
#
# The law that makes sharing by shape sound: `LIFT` is the first half of `LEXER`, so where `LIFT.split` finds a
# constant the lexer finds the same token, and what lies between constants consists of whole tokens. A word is a
# prefix of a prefixed name and a number never starts behind a word, hence no token between constants can grow into
# the next one. White space around constants is lifted with them, as it says nothing; only behind a sign it does
# (`-5`, `- 5`).

_BASE = NAME_START
_NAME = _BASE + "_0-9" + NAME_MARKS
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
_VAR, _IRI_NODE, _LITERAL, _BLANK_NODE = "variable", "IRI", "literal", "blank node"


class Role(Enum):
    """Where a node stands: what it is called in a message, and what may stand there."""

    SUBJECT = ("the subject of a triple", (_VAR, _IRI_NODE, _BLANK_NODE))
    PREDICATE = ("the property of a triple", (_VAR, _IRI_NODE))
    OBJECT = ("the object of a triple", (_VAR, _IRI_NODE, _LITERAL, _BLANK_NODE))
    CLASS = ("an end of an is-a form", (_VAR, _IRI_NODE, _BLANK_NODE))
    OPERAND = ("part of an expression", (_VAR, _IRI_NODE, _LITERAL))
    CALLED = ("a function", (_VAR, _IRI_NODE, _LITERAL, _BLANK_NODE))
    VARIABLE = ("a variable", (_VAR,))
    NUMBER = ("a number", (_LITERAL,))
    CONSTANT = ("a constant", (_IRI_NODE, _LITERAL))
    VERTEX = ("a vertex", (_VAR, _IRI_NODE))
    PROPERTY = ("a property", (_IRI_NODE,))
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
        if role.checked and kind is not _VAR:
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
    """What a role asks of a constant beyond its kind."""
    assert isinstance(node, Term)
    if role is Role.PREDICATE or role is Role.OPERAND:
        # A metric is called; by its bare name it would be an IRI that nothing is ever equal to.
        if node.value.startswith(HG) and (name := node.value[len(HG) :]) in SIGNATURES:
            fix = f"call it in a FILTER of a watch interest: {SIGNATURES[name]}"
            raise Problem("HG-431", f"the metric {text} as {role.title} is not supported", fix)
    elif role is Role.NUMBER:
        if _WHOLE_NUMBER.fullmatch(text) is None:
            raise Problem("HG-403", f"{text} where a number is wanted", "write a number such as 5")
    elif node.datatype != XSD_STRING:
        raise Problem("HG-404", "a pattern of REGEX that is no plain string", 'write it as "…" without tag or type')
    elif (wrong := regex_problem(node.value, "i" if role is Role.REGEX_I else "")) is not None:
        raise Problem("HG-404", *wrong)


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
    "?": (_VAR, lambda _, text: Variable(text[1:])),
    "$": (_VAR, lambda _, text: Variable(text[1:])),
    "_": (_BLANK_NODE, lambda _, text: Variable(text)),
    "<": (_IRI_NODE, lambda scope, text: Term(TermKind.IRI, scope.iri(text))),
    '"': (_LITERAL, _string),
    "'": (_LITERAL, _string),
    **dict.fromkeys("0123456789.+-", (_LITERAL, _number)),
}
_PREFIXED: tuple[str, Callable[[Scope, str], Node]] = (_IRI_NODE, _prefixed)

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?")
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


# --- relative IRIs ----------------------------------------------------------------------------------------------
# Resolved against a base as RFC 3986, section 5.2, says.

_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(//[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def is_absolute(iri: str) -> bool:
    return _SCHEME.match(iri) is not None


def resolve(base: str, reference: str) -> str:
    """The absolute IRI that `reference`, which has no scheme, means where `base` is in force."""
    scheme, authority, path, query, _ = _split(base)
    _, own_authority, own_path, own_query, fragment = _split(reference)
    if own_authority is not None:
        authority, path, query = own_authority, _without_dots(own_path or ""), own_query
    elif own_path:
        if not own_path.startswith("/"):
            above = "/" if authority is not None and not path else (path or "")[: (path or "").rfind("/") + 1]
            own_path = above + own_path
        path, query = _without_dots(own_path), own_query
    elif own_query is not None:
        query = own_query
    return f"{scheme}:{authority or ''}{path}{query or ''}{fragment or ''}"


def _split(iri: str) -> tuple[str | None, ...]:
    """Scheme, authority, path, query and fragment, with the signs before all but the first."""
    match = _PARTS.fullmatch(iri)
    assert match is not None  # the expression matches every text
    return match.groups()


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
