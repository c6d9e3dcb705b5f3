"""The lexical grammar of SPARQL: one compiled expression for tokens, and one that lifts the constants out of a text.

The law that makes sharing by shape sound: `LIFT` is the first half of `LEXER`, so where `LIFT.split` finds a constant
the lexer finds the same token, and what lies between constants consists of whole tokens. A word is a prefix of a
prefixed name and a number never starts behind a word, hence no token between constants can grow into the next one.
White space around constants is lifted with them, as it says nothing; only behind a sign it does (`-5`, `- 5`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from heliograph.errors import Place, SparqlError, underline

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
