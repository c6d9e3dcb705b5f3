"""From token to term: what a constant of SPARQL text stands for, and in which roles it may stand.

A `Scope` is the prologue in force (prefixes and base). Its tables remember every text once read, one table per role,
so that a bulk load reads each distinct constant once; a text that may not stand in a role is never remembered there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import cast

from heliograph.syntax.iris import is_absolute, resolve
from heliograph.syntax.query import Node
from heliograph.syntax.regex import regex_problem
from heliograph.syntax.signatures import SIGNATURES
from heliograph.terms import HG, PREFIXES, RDF_LANG_STRING, Term, TermKind, Variable, literal
from heliograph.values import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER, XSD_STRING

_make = cast(Callable[[type[Term], tuple[object, ...]], Term], tuple.__new__)
_VARIABLE, _NAME, _LITERAL, _BLANK = "variable", "IRI", "literal", "blank node"


class Role(Enum):
    """Where a node stands: what it is called in a message, and what may stand there."""

    SUBJECT = ("the subject of a triple", (_VARIABLE, _NAME, _BLANK))
    PREDICATE = ("the property of a triple", (_VARIABLE, _NAME))
    OBJECT = ("the object of a triple", (_VARIABLE, _NAME, _LITERAL, _BLANK))
    CLASS = ("an end of an is-a form", (_VARIABLE, _NAME, _BLANK))
    OPERAND = ("part of an expression", (_VARIABLE, _NAME, _LITERAL))
    CALLED = ("a function", (_VARIABLE, _NAME, _LITERAL, _BLANK))
    VARIABLE = ("a variable", (_VARIABLE,))
    NUMBER = ("a number", (_LITERAL,))
    CONSTANT = ("a constant", (_NAME, _LITERAL))
    VERTEX = ("a vertex", (_VARIABLE, _NAME))
    PROPERTY = ("a property", (_NAME,))
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
        self._tables: dict[Role, Table] = {}

    def table(self, role: Role) -> Table:
        """What texts stand for in a role, remembered."""
        if role not in self._tables:
            self._tables[role] = Table(self, role)
        return self._tables[role]

    def read(self, role: Role, text: str) -> Node:
        """The node that a token stands for in a role; raises `Problem`."""
        kind, reader = _BY_FIRST.get(text[0], _PREFIXED)
        if kind not in role.kinds:
            raise Problem("HG-403", f"the {kind} {text} as {role.title}", f"write {role.wanted} there")
        node = reader(self, text)
        if role.checked and kind is not _VARIABLE:
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


class Table(dict[str, Node]):
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
    elif _NUMBER.fullmatch(text) is None:
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
    "?": (_VARIABLE, _variable),
    "$": (_VARIABLE, _variable),
    "_": (_BLANK, _blank),
    "<": (_NAME, _bracketed),
    '"': (_LITERAL, _string),
    "'": (_LITERAL, _string),
    **dict.fromkeys("0123456789.+-", (_LITERAL, _number)),
}
_PREFIXED: tuple[str, Callable[[Scope, str], Node]] = (_NAME, _prefixed)

_NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?")
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
