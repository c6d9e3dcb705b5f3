"""RDF terms: what they are, and the one rule by which they are spelled, both ways.

The law: `parse_cell(spell(term)) == term` for every term, and in the property column
`parse_cell(spell(term, PROPERTY), PROPERTY) == term`.

Terms are canonical when made: numbers, booleans, dates and dateTimes have one lexical form per value, language tags
are lower case, so equality of terms is equality of constants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from heliograph import values
from heliograph.errors import TermError
from heliograph.values import XSD, XSD_STRING, Value

PLAIN = "urn:heliograph:"
HG = "urn:heliograph:fn:"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
RDF_LANG_STRING = RDF + "langString"

PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "": PLAIN,
        "hg": HG,
        "rdf": RDF,
        "rdfs": RDFS,
        "xsd": XSD,
        "rss": "http://purl.org/rss/1.0/",
        "dc": "http://purl.org/dc/elements/1.1/",
        "content": "http://purl.org/rss/1.0/modules/content/",
    }
)


class TermKind(IntEnum):
    """The order is SPARQL's: blank nodes before IRIs before literals."""

    BLANK = 0
    IRI = 1
    LITERAL = 2


class Position(IntEnum):
    """The column a cell stands in; what may be written there differs."""

    SUBJECT = 0
    PROPERTY = 1
    OBJECT = 2


class Term(NamedTuple):
    """An IRI, a blank node (its label) or a literal. Make one with `iri`, `blank` or `literal`, never by hand."""

    kind: TermKind
    value: str
    datatype: str = ""
    language: str = ""

    def __str__(self) -> str:
        return spell(self)

    @property
    def is_literal(self) -> bool:
        return self.kind is TermKind.LITERAL


class Variable(NamedTuple):
    """A variable of a pattern, by its name without the question mark. Blank nodes of a pattern are `_:label`."""

    name: str

    def __str__(self) -> str:
        return self.name if self.hidden else f"?{self.name}"

    @property
    def hidden(self) -> bool:
        """True for the blank nodes of a query, which no projection and no evidence shows."""
        return self.name.startswith("_:")


def iri(value: str) -> Term:
    return Term(TermKind.IRI, value)


def blank(label: str) -> Term:
    return Term(TermKind.BLANK, label)


def literal(lexical: str, datatype: str = XSD_STRING, language: str = "") -> Term:
    """A literal in canonical form. An ill-typed one keeps its lexical form and has no value."""
    if language:
        return Term(TermKind.LITERAL, lexical, RDF_LANG_STRING, language.lower())
    if datatype == XSD_STRING:
        return Term(TermKind.LITERAL, lexical, XSD_STRING)
    typed = values.parse(datatype, lexical)
    if typed is None:
        return Term(TermKind.LITERAL, lexical, datatype)
    return Term(TermKind.LITERAL, values.canonical(typed), values.COUNTS_AS.get(datatype, datatype))


def plain_name(name: str) -> Term:
    """The IRI that a bare name stands for."""
    return Term(TermKind.IRI, PLAIN + _NAME_UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", name))


def value_of(term: Term) -> Value | None:
    """The typed value of a literal; None for strings, ill-typed literals, IRIs and blank nodes."""
    if term.datatype not in values.DATATYPES:
        return None
    known = _typed_value if len(term.value) <= _SHORT else values.parse
    return known(term.datatype, term.value)


_SHORT = 256  # longer literals seldom come again, and 65,536 of them could take any memory
_typed_value = lru_cache(maxsize=65536)(values.parse)


_IRI_KIND = TermKind.IRI  # looking it up in the enumeration costs as much as making a term
_new = tuple.__new__  # of a term that is canonical already

RDF_TYPE = iri(RDF + "type")
RDFS_SUBCLASS_OF = iri(RDFS + "subClassOf")
RDFS_MEMBER = iri(RDFS + "member")
_CONTAINER_MEMBER = re.compile(re.escape(RDF) + r"_[1-9][0-9]*\Z")


def is_container_member(predicate: Term) -> bool:
    """Whether a property is one of rdf:_1, rdf:_2, …, which `rdfs:member` matches."""
    return _CONTAINER_MEMBER.match(predicate.value) is not None


# Turtle's and SPARQL's letters, and the marks that may stand among them, as parts of a set of characters.
NAME_START = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
NAME_MARKS = "\u00b7\u0300-\u036f\u203f-\u2040"

# --- reading a cell ---------------------------------------------------------------------------------------------

# Nearly every cell of a table is such a name: it needs no escape, and has a character that is in no number.
_SIMPLE_NAME = re.compile(r"(?!(?:true|false)\Z)[0-9eE.~-]*[A-DF-Za-df-z_][A-Za-z0-9_.~-]*")
_NAME_UNSAFE = re.compile(r"[\x00-\x7f](?<![A-Za-z0-9_.~-])")
# A bare token is a number or a boolean when the whole cell is one; `5G`, `2001-01-01` and `NaN` are names.
_BARE = re.compile(
    r"(?P<integer>[+-]?[0-9]+)|(?P<decimal>[+-]?[0-9]*\.[0-9]+)"
    r"|(?P<double>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+)|(?P<boolean>true|false)"
)
_LITERAL = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^(.+))?', re.DOTALL)
# As in N-Triples, where a label may hold colons; any letter or digit that Python knows may stand in it too.
_BLANK = re.compile(rf"_:([\w:{NAME_START}](?:[\w.:\-{NAME_START}{NAME_MARKS}]*(?<!\.))?)")
_VARIABLE = re.compile(r"\?(\w+)")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\]*")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ECHAR = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


def parse_cell(text: str | None, position: Position = Position.OBJECT, prefixes: Mapping[str, str] = PREFIXES) -> Term:
    """The term that a table's cell spells; raises `TermError` with the fix where it spells none."""
    if text and _SIMPLE_NAME.fullmatch(text) and (text != "a" or position is not Position.PROPERTY):
        return _new(Term, (_IRI_KIND, PLAIN + text, "", ""))
    term = parse_node(text, position, prefixes)
    if isinstance(term, Variable):
        raise TermError("HG-106", f"a variable {text} in data", fix="variables stand only in patterns; write a term")
    return term


def parse_node(
    text: str | None, position: Position = Position.OBJECT, prefixes: Mapping[str, str] = PREFIXES
) -> Term | Variable:
    """As `parse_cell`, for the cells of a pattern, where `?x` is a variable."""
    if text is None or text == "":
        raise TermError(
            "HG-101", f"an empty {position.name.lower()}", fix="write a term in every cell, or drop the row"
        )
    if position is Position.PROPERTY and text == "a":
        return RDF_TYPE
    if not text.isascii():
        check_unicode(text)
    term = _read(text, prefixes)
    if position is Position.OBJECT or isinstance(term, Variable):
        return term
    if term.kind is TermKind.LITERAL:
        fix = "only an object may be a literal"
        if _BARE.fullmatch(text):
            fix = f"for a name made of digits write :{text}" if text.isdigit() else f"for a name write <{PLAIN}{text}>"
        raise TermError("HG-102", f"the literal {_short(text)} as {position.name.lower()}", fix=fix)
    if term.kind is TermKind.BLANK and position is Position.PROPERTY:
        raise TermError(
            "HG-102", f"the blank node {_short(text)} as property", fix="a property must be an IRI or a name"
        )
    return term


_LOCAL = re.compile(r"[\w%][\w.\-%·]*")


def text_cell(cell: str, prefixes: Mapping[str, str] = PREFIXES) -> str:
    """An object cell where bare words are texts: one that is no number, boolean, IRI, prefixed name, blank node or
    quoted term is spelled as the string that it is."""
    if not cell or _BARE.fullmatch(cell) or _BLANK.fullmatch(cell) or _LITERAL.fullmatch(cell):
        return cell
    if cell[0] == "<" and cell[-1] == ">" and _IRI.fullmatch(cell[1:-1]):
        return cell
    prefix, colon, local = cell.partition(":")
    if colon and prefix in prefixes and _LOCAL.fullmatch(local):
        return cell
    return f'"{cell.translate(_ESCAPED)}"'


def check_unicode(text: str) -> None:
    """Refuses lone surrogates: Python strings may hold them, but they are no Unicode text and cannot be saved."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TermError(
            "HG-108",
            f"text that is not Unicode: {_short(text)!a}",
            fix="drop the lone surrogates, or mend the encoding",
        ) from error


def _read(text: str, prefixes: Mapping[str, str]) -> Term | Variable:
    first = text[0]
    if first == '"':
        return _read_literal(text, prefixes)
    if first == "<" and text[-1] == ">":
        return _read_iri(text)
    if first == "?" and (variable := _VARIABLE.fullmatch(text)):
        return Variable(variable[1])
    if bare := _BARE.fullmatch(text):
        return literal(text, XSD + str(bare.lastgroup))
    if ":" in text:
        return _read_prefixed(text, prefixes)
    return plain_name(text)


def _read_literal(text: str, prefixes: Mapping[str, str]) -> Term:
    match = _LITERAL.fullmatch(text)
    if match is None:
        raise TermError(
            "HG-103",
            f"a literal that is not closed or has something behind it: {_short(text)}",
            fix='write "text", "text"@en or "text"^^xsd:date, with \\" for a quote inside',
        )
    body, language, datatype = match.groups()
    lexical = _unescape(body) if "\\" in body else body
    if datatype is None:
        return literal(lexical, language=language or "")
    return literal(lexical, _datatype(datatype, prefixes, text))


def _datatype(text: str, prefixes: Mapping[str, str], cell: str) -> str:
    term = _read_iri(text) if text[0] == "<" and text[-1] == ">" else None
    if term is None and ":" in text and text[0] != "_":
        term = _read_prefixed(text, prefixes)
    if term is not None and term.value == RDF_LANG_STRING:
        raise TermError("HG-103", f"a text of rdf:langString without a language: {_short(cell)}", fix='write "text"@en')
    if term is None or term.kind is not TermKind.IRI:
        raise TermError("HG-103", f"no datatype in {_short(cell)}", fix="write ^^xsd:date or ^^<iri> behind the quote")
    return term.value


def _read_iri(text: str) -> Term:
    inner = _unescape(text[1:-1]) if "\\" in text else text[1:-1]
    if _IRI.fullmatch(inner) is None:
        raise TermError(
            "HG-105",
            f"not an absolute IRI: {_short(text)}",
            fix='write a scheme and percent-encode spaces and <>"{}|^`\\, as in <http://example.org/a%20b>',
        )
    return Term(TermKind.IRI, inner)


def _read_prefixed(text: str, prefixes: Mapping[str, str]) -> Term:
    if text.startswith("_:"):
        match = _BLANK.fullmatch(text)
        if match is None:
            raise TermError(
                "HG-107",
                f"not a blank node label: {_short(text)}",
                fix="write _: and letters, digits, _ - : or, inside, a dot",
            )
        return Term(TermKind.BLANK, match[1])
    prefix, _, local = text.partition(":")
    namespace = prefixes.get(prefix)
    if namespace is None:
        raise TermError(
            "HG-104", f"unknown prefix {prefix + ':'!r} in {_short(text)}", fix=_prefix_fix(text, prefix, local)
        )
    if _IRI.fullmatch(namespace + local) is None:
        raise TermError("HG-105", f"{_short(text)} is no IRI", fix='percent-encode spaces and <>"{}|^`\\ in it')
    return Term(TermKind.IRI, namespace + local)


def _prefix_fix(text: str, prefix: str, local: str) -> str:
    if text.startswith("<"):
        return f"close it with >: {_short(text)}>"
    if local.startswith("//") or prefix in ("urn", "mailto", "tag", "data"):
        return f"write the IRI in angle brackets: <{_short(text)}>"
    if re.fullmatch(r"[A-Za-z_][\w.\-]*", prefix):
        return f'declare it with --prefix {prefix}=IRI, or write the text as a literal: "…"'
    return 'write the text as a literal, "…", or the name with %3A for the colon, <urn:heliograph:…>'


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_escaped_character, text)


def _escaped_character(match: re.Match[str]) -> str:
    short, long, single = match.groups()
    if single is not None:
        if single not in _ECHAR:
            raise TermError(
                "HG-103", f"unknown escape \\{single}", fix=r"use \t \b \n \r \f \" \\ \uXXXX or \UXXXXXXXX"
            )
        return _ECHAR[single]
    code = int(short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise TermError("HG-103", f"{match[0]} is no character", fix="use a Unicode scalar value")
    return chr(code)


def is_label(text: str) -> bool:
    """Whether a blank node of this label can be written in a cell."""
    return _BLANK.fullmatch("_:" + text) is not None


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


# --- writing a cell ---------------------------------------------------------------------------------------------

_BARE_DATATYPES = frozenset({values.XSD_INTEGER, values.XSD_DECIMAL, values.XSD_DOUBLE, values.XSD_BOOLEAN})
_ESCAPED = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
_ESCAPED |= {code: f"\\u{code:04X}" for code in range(0x20) if code not in (9, 10, 13)} | {0x7F: "\\u007F"}
_XSD_NAME = re.compile(re.escape(XSD) + r"([A-Za-z][A-Za-z0-9]*)\Z")


def spell(term: Term, position: Position = Position.OBJECT) -> str:
    """The one text that stands for a term in a cell."""
    if term.kind is TermKind.IRI:
        name = _plain_text(term.value[len(PLAIN) :]) if term.value.startswith(PLAIN) else None
        return f"<{term.value}>" if name is None or (position is Position.PROPERTY and name == "a") else name
    if term.kind is TermKind.BLANK:
        return "_:" + term.value
    if term.datatype in _BARE_DATATYPES:
        bare = _BARE.fullmatch(term.value)
        if bare is not None and term.datatype == XSD + str(bare.lastgroup):
            return term.value
    text = f'"{term.value.translate(_ESCAPED)}"'
    if term.language:
        return f"{text}@{term.language}"
    if term.datatype == XSD_STRING:
        return text
    short = _XSD_NAME.match(term.datatype)
    return f"{text}^^xsd:{short[1]}" if short else f"{text}^^<{term.datatype}>"


def _plain_text(local: str) -> str | None:
    """The bare name that reads back as this local part, or None if there is none."""
    if _SIMPLE_NAME.fullmatch(local):
        return local
    try:
        name = unquote_to_bytes(local).decode("utf-8") if "%" in local else local
    except UnicodeDecodeError:
        return None
    reads_as_other = (
        not name
        or name[0] == '"'
        or ":" in name
        or (name[0] == "<" and name[-1] == ">")
        or _BARE.fullmatch(name)
        or _VARIABLE.fullmatch(name)
    )
    return None if reads_as_other or plain_name(name).value != PLAIN + local else name


_ANGLED = re.compile(r"<([A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\]*)>")


def shorten(text: str, prefixes: Mapping[str, str] = PREFIXES) -> str:
    """A text with the IRIs in angle brackets written with a prefix, where there is one and it reads back as the IRI."""
    return _ANGLED.sub(lambda match: _prefixed(match[1], prefixes) or match[0], text) if "<" in text else text


def _prefixed(iri: str, prefixes: Mapping[str, str]) -> str | None:
    fitting = [name for name, start in prefixes.items() if start and iri.startswith(start)]
    for name in sorted(fitting, key=lambda name: -len(prefixes[name])):
        local = iri[len(prefixes[name]) :]
        if _LOCAL.fullmatch(local) and not local.endswith("."):
            return f"{name}:{local}"
    return None


# --- terms as other values ---------------------------------------------------------------------------------------


def python_value(term: Term) -> Any:
    """A term as Python has it: a number, a boolean, a date, a datetime, else text. A plain name is its name, any other
    IRI its address; a date that Python cannot hold stays text."""
    if term.kind is TermKind.BLANK:
        return f"_:{term.value}"
    if term.kind is TermKind.IRI:
        name = _plain_text(term.value[len(PLAIN) :]) if term.value.startswith(PLAIN) else None
        return term.value if name is None else name
    typed = value_of(term)
    if typed is None:
        return term.value
    if not isinstance(typed.value, values.Instant):
        return typed.value
    try:
        if typed.kind is values.Kind.DATE:
            return date.fromisoformat(term.value[:10])
        return datetime.fromisoformat(term.value)
    except ValueError:
        return term.value


def sparql_value(term: Term) -> dict[str, str]:
    """A term as in the W3C's JSON form of SPARQL results."""
    if term.kind is not TermKind.LITERAL:
        return {"type": "uri" if term.kind is TermKind.IRI else "bnode", "value": term.value}
    shown = {"type": "literal", "value": term.value}
    if term.language:
        shown["xml:lang"] = term.language
    elif term.datatype != XSD_STRING:
        shown["datatype"] = term.datatype
    return shown


# --- the order of terms -----------------------------------------------------------------------------------------


def sort_key(term: Term) -> tuple[int, int, float, str, str, str]:
    """Term order: blank nodes, IRIs, then literals: numbers and instants by value, the rest by text."""
    typed, group, number = value_of(term), 2, 0.0
    if typed is not None and typed.value == typed.value:
        if isinstance(typed.value, values.Instant):
            group, number = 1, typed.value.atto / values.ATTO
        else:
            group, number = 0, values.to_double(typed.value)
    return (int(term.kind), group, number, term.value, term.datatype, term.language)
