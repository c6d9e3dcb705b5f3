"""From token to term: what a constant of SPARQL text stands for, and in which roles it may stand.

A `Scope` is the prologue in force (prefixes and base). Its tables remember every text once read, one table per role,
so that a bulk load reads each distinct constant once; a text that may not stand in a role is never remembered there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from heliograph.syntax.iris import is_absolute, resolve
from heliograph.syntax.query import Node
from heliograph.syntax.regex import regex_problem
from heliograph.terms import PREFIXES, RDF_LANG_STRING, Term, TermKind, Variable, literal
from heliograph.values import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER, XSD_STRING

_VARIABLE, _NAME, _LITERAL, _BLANK = "variable", "IRI", "literal", "blank node"


class Role(Enum):
    """Where a node stands: what it is called in a message, and what may stand there."""

    SUBJECT = ("the subject of a triple", (_VARIABLE, _NAME, _BLANK))
    PREDICATE = ("the property of a triple", (_VARIABLE, _NAME))
    OBJECT = ("the object of a triple", (_VARIABLE, _NAME, _LITERAL, _BLANK))
    CLASS = ("an end of an is-a form", (_VARIABLE, _NAME, _BLANK))
    OPERAND = ("an expression", (_VARIABLE, _NAME, _LITERAL))
    VARIABLE = ("this place", (_VARIABLE,))
    NUMBER = ("this place", (_LITERAL,))
    CONSTANT = ("VALUES", (_NAME, _LITERAL))
    VERTEX = ("a vertex argument", (_VARIABLE, _NAME))
    PROPERTY = ("a property argument", (_NAME,))
    REGEX = ("the pattern of REGEX", (_LITERAL,))
    REGEX_I = ("the pattern of REGEX with the flag i", (_LITERAL,))

    def __init__(self, title: str, kinds: tuple[str, ...]) -> None:
        self.title = title
        self.kinds = kinds

    @property
    def wanted(self) -> str:
        *others, last = self.kinds
        return f"{', '.join(others)} or {last}" if others else last


class Problem(Exception):
    """A text that stands for no node, or not in its role; the parser turns it into an error with a place."""

    def __init__(self, code: str, message: str, fix: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix


class Scope:
    """The prologue in force, and the nodes read under it."""

    def __init__(self, prefixes: Mapping[str, str] = PREFIXES, base: str | None = None) -> None:
        self.prefixes = prefixes
        self.base = base
        self._tables: dict[Role, Table] = {}

    def table(self, role: Role) -> Table:
        return self._tables.get(role) or self._tables.setdefault(role, Table(self, role))

    def node(self, text: str) -> Node:
        """The node that a token stands for; raises `Problem`."""
        first = text[0]
        if first in "?$":
            return Variable(text[1:])
        if first == "<":
            return Term(TermKind.IRI, self.iri(text))
        if first in "\"'":
            return self._literal(text)
        if first in "0123456789.+-":
            return _number(text)
        if first == "_":
            return Variable(text)
        return Term(TermKind.IRI, self.name(text))

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

    def _literal(self, text: str) -> Term:
        body, language, datatype = split_literal(text)
        lexical = _unescape(body) if "\\" in body else body
        if datatype:
            return self.typed(lexical, datatype)
        return literal(lexical, language=language)

    def typed(self, lexical: str, datatype: str) -> Term:
        name = self.iri(datatype) if datatype[0] == "<" else self.name(datatype)
        if name == RDF_LANG_STRING:
            raise Problem("HG-401", "a text with datatype rdf:langString has no language", 'write "text"@en')
        return literal(lexical, name)


class Table(dict[str, Node]):
    """The nodes that texts stand for in one role; reads a text when it is first asked for."""

    def __init__(self, scope: Scope, role: Role) -> None:
        super().__init__()
        self._scope = scope
        self._role = role

    def __missing__(self, text: str) -> Node:
        node = self._scope.node(text)
        check(self._role, node, text)
        self[text] = node
        return node


class _Ignored(dict[str, Node]):
    """The table of constants that are compared as part of the shape, and so need not be read again."""

    def __missing__(self, text: str) -> Node:
        return _NOTHING


class _Comments(dict[str, Node]):
    """The table of places where a comment stands: any comment may stand there, and nothing else."""

    def __missing__(self, text: str) -> Node:
        if text[0] != "#":
            raise Problem("HG-400", "not a comment")
        return _NOTHING


_NOTHING = Variable("")
IGNORED = _Ignored()
COMMENTS = _Comments()


def check(role: Role, node: Node, text: str) -> None:
    """Refuses a node that may not stand in its role."""
    kind = kind_of(node)
    if kind not in role.kinds:
        raise Problem("HG-403", f"the {kind} {text} as {role.title}", f"write a {role.wanted} there")
    if role is Role.REGEX or role is Role.REGEX_I:
        assert isinstance(node, Term)
        _check_regex(node, "i" if role is Role.REGEX_I else "")
    elif role is Role.NUMBER and _NUMBER.fullmatch(text) is None:
        raise Problem("HG-403", f"{text} where a number is wanted")


def kind_of(node: Node) -> str:
    if isinstance(node, Variable):
        return _BLANK if node.hidden else _VARIABLE
    return _LITERAL if node.kind is TermKind.LITERAL else _NAME


def _check_regex(node: Term, flags: str) -> None:
    if node.datatype != XSD_STRING:
        raise Problem("HG-404", "a pattern of REGEX that is no plain string", 'write it as "…" without tag or type')
    problem = regex_problem(node.value, flags)
    if problem is not None:
        fix = "patterns follow the syntax of RE2, which matches in linear time"
        raise Problem("HG-404", f"not a regular expression: {problem}", fix)


def split_literal(text: str) -> tuple[str, str, str]:
    """The parts of a string token: what stands between the quotes, the language and the datatype, empty if absent."""
    quote = text[:3] if text[:3] in _BODIES and len(text) > 5 else text[0]
    match = _BODIES[quote].match(text)
    assert match is not None  # the lexer found it
    suffix = text[match.end() :]
    return match[1], suffix[1:] if suffix[:1] == "@" else "", suffix[2:] if suffix[:1] == "^" else ""


_BODIES = {
    '"': re.compile(r'"((?:[^"\\]++|\\.)*+)"'),
    "'": re.compile(r"'((?:[^'\\]++|\\.)*+)'"),
    '"""': re.compile(r'"""((?:[^"\\]++|\\[\s\S]|"(?!""))*+)"""'),
    "'''": re.compile(r"'''((?:[^'\\]++|\\[\s\S]|'(?!''))*+)'''"),
}


def _number(text: str) -> Term:
    if "e" in text or "E" in text:
        return literal(text, XSD_DOUBLE)
    return literal(text, XSD_DECIMAL if "." in text else XSD_INTEGER)


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
