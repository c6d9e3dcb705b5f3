"""SQL predicate text to tokens, in one pass of one regular expression.

Every repetition that could be entered twice at one place is atomic, so the time is linear in the text. Errors point at
a line and a column, both from 1.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from heliograph.errors import Place, PredicateError, underline
from heliograph.syntax.predicate_form import KEYWORDS, RESERVED, TRAILING

NUMBER = r"(?>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?>[eE][+-]?[0-9]+)?(?![\w.])"
STRING = r"'(?>[^']*(?:''[^']*)*)'"

_TOKEN = re.compile(
    r"(?>\s+|--[^\n]*|/\*.*?\*/)*"
    r"(?:(?P<name>[^\W\d][\w$]*)"
    rf"|(?P<number>{NUMBER})"
    rf"|(?P<string>{STRING})"
    r'|(?P<quoted>"(?>[^"]*(?:""[^"]*)*)")'
    r"|(?P<foreign>=[=<>!]|&&|\|\||::|:=|<=>|->>?)"
    r"|(?P<symbol><>|!=|<=|>=|[=<>(),.+-])"
    r"|(?P<end>\Z)"
    r"|(?P<bad>.))",
    re.DOTALL,
)
_KINDS = {number: name for name, number in _TOKEN.groupindex.items()}
_NAME, _SYMBOL = _TOKEN.groupindex["name"], _TOKEN.groupindex["symbol"]
_REFUSED = (_TOKEN.groupindex["foreign"], _TOKEN.groupindex["bad"])
_WORDS = {word: word for word in KEYWORDS | RESERVED | TRAILING}


class Token(NamedTuple):
    """`kind` is a keyword in capitals, a symbol's own text, or name, number, string, quoted, end."""

    kind: str
    text: str
    start: int


_new = tuple.__new__  # twice as fast as calling the NamedTuple, and there are a hundred tokens in a predicate


# Characters and operators of other dialects and of fuller SQL: what each is called, and what to write instead.
_FOREIGN = {
    "==": ("the operator ==", "write = for equality"),
    "=>": ("the operator =>", "write >="),
    "=<": ("the operator =<", "write <="),
    "=!": ("the operator =!", "write <> for unequal"),
    "&&": ("the operator &&", "write AND"),
    "||": ("string concatenation (||)", "write OR for a disjunction, or compare with the whole string"),
    "::": ("a cast (::)", "compare with a constant of the attribute's own type; nothing is ever cast"),
    ":=": ("an assignment", "write = for equality"),
    "<=>": ("the operator <=>", "write x = v OR x IS NULL"),
    "->": ("a JSON operator", "write a nested attribute as a.b"),
    "->>": ("a JSON operator", "write a nested attribute as a.b"),
    "!": ("the operator !", "write NOT"),
    "*": ("arithmetic", "compute the value before publishing and compare the attribute with a constant"),
    "/": ("arithmetic", "compute the value before publishing and compare the attribute with a constant"),
    "%": ("arithmetic", "compute the value before publishing and compare the attribute with a constant"),
    "^": ("arithmetic", "compute the value before publishing and compare the attribute with a constant"),
    "|": ("a bitwise operator", "write OR"),
    "&": ("a bitwise operator", "write AND"),
    "~": ("a regular expression match", "write LIKE with % and _"),
    ";": ("a second statement (;)", "give one condition, without a semicolon"),
    "?": ("a parameter", "write the constant itself"),
    ":": ("a parameter", "write the constant itself"),
    "$": ("a parameter", "write the constant itself"),
    "@": ("a parameter", "write the constant itself"),
    "[": ("a subscript or bracketed name", "a comparison with a list already asks for one of its elements"),
    "{": ("a template or struct", "write the constant itself"),
    "`": ("a name in backticks", 'write names with blanks in double quotes: "a b"'),
}


def tokenize(text: str) -> list[Token]:
    """The tokens of a predicate, the last of kind `end`. Raises PredicateError at the first foreign character."""
    tokens: list[Token] = []
    append = tokens.append
    for match in _TOKEN.finditer(text):
        group = match.lastindex or 0
        word = match[group]
        if group == _NAME:
            kind = _WORDS.get(word.upper(), "name")
        elif group == _SYMBOL:
            kind = word
        else:
            kind = _KINDS[group]
            if group in _REFUSED:
                if tokens and tokens[0].kind in RESERVED:  # SELECT * FROM t: the parser names its first word
                    return [*tokens, Token("end", "", match.start(group))]
                raise _foreign(text, Token(kind, word, match.start(group)))
        append(_new(Token, (kind, word, match.start(group))))
    return tokens


def predicate_error(code: str, message: str, text: str, token: Token, fix: str) -> PredicateError:
    """An error about `token` of `text`, with its line, column and underlined snippet."""
    lines = (text[: token.start] + "x").splitlines()
    line, column = len(lines), len(lines[-1])
    snippet = underline(text, line, column, len(token.text))
    return PredicateError(code, message, place=Place(line=line, column=column), fix=fix, snippet=snippet)


def unsupported(name: str, text: str, token: Token, fix: str) -> PredicateError:
    """A construct of SQL that predicates leave out, by its name."""
    return predicate_error("HG-452", f"{name} is not supported in a predicate", text, token, fix)


def _foreign(text: str, token: Token) -> PredicateError:
    if token.text in ("'", '"'):
        what, mark = ("string", "single") if token.text == "'" else ("quoted name", "double")
        fix = f"close it with a {mark} quote, and double a {mark} quote inside it"
        return predicate_error("HG-450", f"a {what} is opened here and never closed", text, token, fix)
    if text.startswith("/*", token.start):
        return predicate_error("HG-450", "a comment is opened here and never closed", text, token, "close it with */")
    if token.text.isdigit() or token.text == ".":
        word = re.compile(r"[\w.]*").match(text, token.start)
        shown = word[0] if word and word[0] else token.text
        fix = "write numbers as 5, -2.5 or 1e6, and strings in single quotes"
        return predicate_error("HG-450", f"{shown[:40]!r} is not a number", text, token._replace(text=shown), fix)
    if token.text in _FOREIGN:
        name, fix = _FOREIGN[token.text]
        return unsupported(name, text, token, fix)
    fix = "strings stand in single quotes, and names with such characters in double quotes"
    return predicate_error("HG-450", f"{token.text!r} cannot stand in a predicate", text, token, fix)
