"""SPARQL's built-in functions over terms, by upper-case name; None stands for SPARQL's type error.

A text function takes strings and language-tagged strings; its second argument is a plain string or has the first
one's language. REGEX runs on RE2, so its time is linear in the text whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Callable

from heliograph.syntax.regex import FLAGS, compile_regex, regex_problem
from heliograph.terms import RDF_LANG_STRING, Term, TermKind, iri, literal
from heliograph.values import XSD_BOOLEAN, XSD_STRING

TRUE = literal("true", XSD_BOOLEAN)
FALSE = literal("false", XSD_BOOLEAN)


def call(name: str, arguments: list[Term | None]) -> Term | None:
    """The value of a built-in; an argument that is None was an error or an unbound variable."""
    if name == "BOUND":
        return truth(arguments[0] is not None)
    known = [argument for argument in arguments if argument is not None]
    return _FUNCTIONS[name](*known) if len(known) == len(arguments) else None


def truth(value: bool | None) -> Term | None:
    if value is None:
        return None
    return TRUE if value else FALSE


def _str(term: Term) -> Term | None:
    return None if term.kind is TermKind.BLANK else literal(term.value)


def _lang(term: Term) -> Term | None:
    return literal(term.language) if term.is_literal else None


def _datatype(term: Term) -> Term | None:
    return iri(term.datatype) if term.is_literal else None


def _is_iri(term: Term) -> Term | None:
    return truth(term.kind is TermKind.IRI)


def _is_literal(term: Term) -> Term | None:
    return truth(term.is_literal)


def _contains(text: Term, part: Term) -> Term | None:
    return truth(part.value in text.value) if _compatible(text, part) else None


def _starts(text: Term, part: Term) -> Term | None:
    return truth(text.value.startswith(part.value)) if _compatible(text, part) else None


def _ends(text: Term, part: Term) -> Term | None:
    return truth(text.value.endswith(part.value)) if _compatible(text, part) else None


def _regex(text: Term, pattern: Term, flags: Term | None = None) -> Term | None:
    plain = pattern.datatype == XSD_STRING and (flags is None or flags.datatype == XSD_STRING)
    if not plain or text.datatype not in (XSD_STRING, RDF_LANG_STRING):
        return None
    flag = flags.value if flags else ""
    if flag not in FLAGS or regex_problem(pattern.value, flag) is not None:
        return None
    return truth(compile_regex(pattern.value, flag).search(text.value) is not None)


def _compatible(text: Term, part: Term) -> bool:
    if text.datatype not in (XSD_STRING, RDF_LANG_STRING):
        return False
    return part.datatype == XSD_STRING or (part.datatype == RDF_LANG_STRING and part.language == text.language)


_FUNCTIONS: dict[str, Callable[..., Term | None]] = {
    "STR": _str,
    "LANG": _lang,
    "DATATYPE": _datatype,
    "ISIRI": _is_iri,
    "ISLITERAL": _is_literal,
    "CONTAINS": _contains,
    "STRSTARTS": _starts,
    "STRENDS": _ends,
    "REGEX": _regex,
}
