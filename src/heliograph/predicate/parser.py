"""SQL WHERE conditions to predicates: tokens, refusals with a rewrite, a recursive-descent parser, and shared parses.

`parse_predicate` reads one text; `compile_predicates` many, of which those that differ in their constants only are
parsed once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from heliograph.errors import Place, PredicateError, underline
from heliograph.predicate import form
from heliograph.predicate.evaluate import Attributes, ends_in_escape, evaluate
from heliograph.predicate.form import (
    ACCEPT,
    FILLED_IN,
    KEYWORDS,
    RESERVED,
    TRAILING,
    Between,
    Comparison,
    Constant,
    In,
    IsNull,
    Like,
    Pair,
    Path,
    Predicate,
    Scalar,
    Truth,
    conjunction,
    disjunction,
    negation,
    spell_path,
    spell_value,
)

# --- SQL predicate text to tokens, in one pass of one regular expression ----------------------------------------------
#
# Every repetition that could be entered twice at one place is atomic, so the time is linear in the text. Errors point
# at a line and a column, both from 1.

NUMBER = r"(?>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?>[eE][+-]?[0-9]+)?(?![\w.])"
STRING = r"'(?>[^']*(?:''[^']*)*)'"

_TOKEN = re.compile(
    r"(?>\s+|--[^\n]*|/\*.*?\*/)*"
    r"(?:(?P<name>[^\W\d][\w$]*)"
    rf"|(?P<number>{NUMBER})"
    rf"|(?P<string>{STRING})"
    r'|(?P<quoted>"(?>[^"]*(?:""[^"]*)*)")'
    r"|(?P<foreign>=[=<>!]|@>|<@|&&|\|\||::|:=|<=>|->>?)"
    r"|(?P<symbol><>|!=|<=|>=|[=<>(),.+-])"
    r"|(?P<end>\Z)"
    r"|(?P<bad>.))",
    re.DOTALL,
)
_KINDS = {number: name for name, number in _TOKEN.groupindex.items()}
_NAME, _SYMBOL = _TOKEN.groupindex["name"], _TOKEN.groupindex["symbol"]
_REFUSED = (_TOKEN.groupindex["foreign"], _TOKEN.groupindex["bad"])
_WORDS = {word: word for word in KEYWORDS | RESERVED | FILLED_IN | TRAILING}


class Token(NamedTuple):
    """`kind` is a keyword in capitals, a symbol's own text, or name, number, string, quoted, end."""

    kind: str
    text: str
    start: int


_new = tuple.__new__  # twice as fast as calling the NamedTuple, and there are a hundred tokens in a predicate


_COMPUTE = "compute the value before publishing and compare the attribute with a constant"
_LIST = "a comparison with a list already asks for one of its elements"
_HOLDS = "write {list} = {element}: on an attribute that is a list it holds if one element does"

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
    "@>": ("the operator @>", _HOLDS.format(list="tags", element="'a'")),
    "<@": ("the operator <@", _HOLDS.format(list="tags", element="'a'")),
    "->": ("a JSON operator", "write a nested attribute as a.b"),
    "->>": ("a JSON operator", "write a nested attribute as a.b"),
    "!": ("the operator !", "write NOT, or <> for unequal"),
    **dict.fromkeys("*/%^", ("arithmetic", _COMPUTE)),
    "|": ("a bitwise operator", "write OR"),
    "&": ("a bitwise operator", "write AND"),
    "~": ("a regular expression match", "write LIKE with % and _"),
    ";": ("a second statement (;)", "give one condition, without a semicolon"),
    **dict.fromkeys("?:$@", ("a parameter", "write the constant itself")),
    "[": ("a subscript or bracketed name", _LIST),
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
                raise _foreign(text, Token(kind, word, match.start(group)), tokens)
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


def _foreign(text: str, token: Token, before: list[Token]) -> PredicateError:
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
    if token.text == "[" and before and before[-1].kind == "IN":
        return unsupported("a list in brackets", text, token, "write the values in parentheses, as in x IN (1, 2)")
    if token.text in _FOREIGN:
        name, fix = _FOREIGN[token.text]
        if token.text in ("@>", "<@"):
            fix = _holds(text, token, before) or fix
        return unsupported(name, text, token, fix)
    fix = "strings stand in single quotes, and names with such characters in double quotes"
    return predicate_error("HG-450", f"{token.text!r} cannot stand in a predicate", text, token, fix)


# The right side of @>: a name or a constant, but no '{a,b}' and '["a"]', which are several.
_SIDE = re.compile(r"""\s*+((?>[^\W\d][\w$.]*|"[^"]+"|'(?![\[{])[^']*'|[0-9.]+))(?!\s*[\[(])""")


def _holds(text: str, token: Token, before: list[Token]) -> str | None:
    """What to write for `tags @> 'x'` and `'x' <@ tags`; None where the sides are more than a name and a constant."""
    right = _SIDE.match(text, token.start + len(token.text))
    first = len(before) - 1
    while first > 1 and before[first - 1].kind == ".":
        first -= 2
    if right is None or first < 0 or before[first].kind not in _NAMES | {"string", "number"}:
        return None
    left = text[before[first].start : token.start].strip()
    whole, part = (left, right[1]) if token.text == "@>" else (right[1], left)
    return None if whole[0] in "'0123456789." else _HOLDS.format(list=whole, element=part)


# --- what SQL knows and predicates do not, each by its name and with a rewrite where there is one ---------------------

_QUOTE = 'write an attribute of that name in double quotes: "{name}"'
_ALONE = "give the condition alone"
_NOW = "give the time with the event, as an attribute of a name of your own such as now"
_SIDES = "write an attribute and a constant around it, as in age > 30"

_FUNCTIONS = {
    "LOWER": "use ILIKE to compare without regard to case",
    "UPPER": "use ILIKE to compare without regard to case",
    "COALESCE": "write x = v OR x IS NULL",
    "IFNULL": "write x = v OR x IS NULL",
    "CONTAINS": "write tags = 'a' to ask for one element of a list, or text LIKE '%a%'",
    "ARRAY_CONTAINS": "write tags = 'a': a comparison with a list asks for one of its elements",
    "STARTS_WITH": "write x LIKE 'a%'",
    "CAST": "compare with a constant of the attribute's own type; nothing is ever cast",
    "TRY_CAST": "compare with a constant of the attribute's own type; nothing is ever cast",
    **dict.fromkeys(("NOW", "GETDATE", "CURDATE", "SYSDATE", "TODAY"), _NOW),
    "DATE": "write the date as a string, 'YYYY-MM-DD': strings of that form compare in order of time",
    "TIMESTAMP": "write the time as a string, 'YYYY-MM-DDThh:mm:ssZ': such strings compare in order of time",
}

# Words after an operand that begin a construct of fuller SQL.
_AFTER = {
    "SIMILAR": ("SIMILAR TO", "write LIKE with % and _, or several joined with OR"),
    "REGEXP": ("a regular expression match", "write LIKE with % and _, or several joined with OR"),
    "RLIKE": ("a regular expression match", "write LIKE with % and _, or several joined with OR"),
    "GLOB": ("GLOB", "write LIKE with % for * and _ for ?"),
    "COLLATE": ("COLLATE", "strings compare by code point; use ILIKE to compare without regard to case"),
    "OVERLAPS": ("OVERLAPS", "write two comparisons joined with AND"),
    "ISNULL": ("ISNULL", "write x IS NULL"),
    "NOTNULL": ("NOTNULL", "write x IS NOT NULL"),
    "GROUP": ("GROUP BY", _ALONE),
    "ORDER": ("ORDER BY", "rank results with --rank cost"),
    "LIMIT": ("LIMIT", "limit results with --limit"),
    "HAVING": ("HAVING", _ALONE),
    "UNION": ("UNION", "join conditions with OR"),
    "INTERSECT": ("INTERSECT", "join conditions with AND"),
    "EXCEPT": ("EXCEPT", "join conditions with AND NOT"),
    "+": ("arithmetic", _COMPUTE),
    "-": ("arithmetic", _COMPUTE),
}

# Words after an operand that other languages compare with.
_COMPARING = {
    **dict.fromkeys(("CONTAINS", "HAS", "INCLUDES"), _FUNCTIONS["CONTAINS"]),
    **dict.fromkeys(("STARTSWITH", "STARTS_WITH", "STARTS", "BEGINS"), _FUNCTIONS["STARTS_WITH"]),
    **dict.fromkeys(("ENDSWITH", "ENDS_WITH", "ENDS"), "write x LIKE '%a'"),
    **dict.fromkeys(("MATCHES", "MATCH"), "write LIKE with % and _, or several joined with OR"),
    **dict.fromkeys(("EQ", "EQUALS"), "write = for equality"),
    **dict.fromkeys(("NE", "NEQ"), "write <> for unequal"),
    "LT": "write <",
    "LE": "write <=",
    "LTE": "write <=",
    "GT": "write >",
    "GE": "write >=",
    "GTE": "write >=",
}

# Words and signs of the language itself in the place of an operand.
_MISPLACED = {
    "AND": "write a condition on each side of AND",
    "OR": "write a condition on each side of OR",
    "NOT": "NOT stands before a whole condition: NOT (x = y)",
    "IN": "write an attribute before it, as in x IN (1, 2)",
    "BETWEEN": "write an attribute before it, as in x BETWEEN 1 AND 5",
    "LIKE": "write an attribute before it, as in x LIKE 'a%'",
    "ILIKE": "write an attribute before it, as in x ILIKE 'a%'",
    "IS": "write an attribute before it, as in x IS NULL",
    "end": "complete the condition, as in age > 30 AND topic = 'Sports'",
    ")": "write a condition or a constant before it",
    ",": "write a constant on each side of the comma",
    ".": "write a nested attribute as a.b",
}

# Words in the place of an operand.
_INSTEAD = {
    "SELECT": ("a sub-query (SELECT)", "list the values: x IN ('a', 'b')"),
    "WITH": ("a sub-query (WITH)", "list the values: x IN ('a', 'b')"),
    "VALUES": ("VALUES", "list the values: x IN ('a', 'b')"),
    "EXISTS": ("a sub-query (EXISTS)", _LIST),
    "CASE": ("CASE", "write the cases as (a AND b) OR (NOT a AND c)"),
    "INTERVAL": ("INTERVAL", _COMPUTE),
    "DISTINCT": ("DISTINCT", _ALONE),
    "ANY": ("ANY", f"{_LIST}; join several with OR"),
    "SOME": ("SOME", f"{_LIST}; join several with OR"),
    "ALL": ("ALL", "write NOT (x <> v): no element differs"),
}

_IS = {
    ("TRUE", False): "write x = TRUE",
    ("FALSE", False): "write x = FALSE",
    ("TRUE", True): "write x = FALSE OR x IS NULL",
    ("FALSE", True): "write x = TRUE OR x IS NULL",
    ("DISTINCT", False): "write x <> v OR x IS NULL",
    ("DISTINCT", True): "write x = v",
    ("UNKNOWN", False): "write x IS NULL",
    ("UNKNOWN", True): "write x IS NOT NULL",
}


def refuse_after_operand(text: str, token: Token, before: Token) -> PredicateError:
    """The token stands where AND, OR or the end was expected, behind the token `before`."""
    if token.kind in _AFTER:
        name, fix = _AFTER[token.kind]
        return unsupported(name, text, token, fix)
    fix = "close every parenthesis once" if token.kind == ")" else "join conditions with AND or OR"
    message = f"expected AND, OR or the end, got {_shown(token)}"
    if token.kind == "name" and before.kind in _NAMES:
        fix = _COMPARING.get(token.text.upper()) or (
            f"{fix}; a text of several words stands in single quotes: '{_shown(before)} {_shown(token)}'"
        )
    return predicate_error("HG-451", message, text, token, fix)


def refuse_operand(text: str, token: Token) -> PredicateError:
    """The token stands where an attribute or a constant was expected."""
    if token.kind in _INSTEAD:
        name, fix = _INSTEAD[token.kind]
        return unsupported(name, text, token, f"{fix}; or {_QUOTE.format(name=token.text)}")
    if token.kind in FILLED_IN:
        return refuse_filled_in(text, token)
    message = f"expected an attribute or a constant, got {_shown(token)}"
    if token.kind == "end":
        message = "the text ends where an attribute or a constant is expected"
    elsewhere = _QUOTE.format(name=token.text) if token.text.isalpha() else _SIDES
    fix = _MISPLACED.get(token.kind, elsewhere)
    if token.kind in KEYWORDS and fix is not elsewhere:
        fix = f"{fix}; or {elsewhere}"
    return predicate_error("HG-451", message, text, token, fix)


def refuse_filled_in(text: str, token: Token) -> PredicateError:
    """A word for which a database puts in the time, the user or a default; an event brings all values itself."""
    word = token.text.upper()
    given = "today" if "DATE" in word else "now" if "TIME" in word else "me"
    fix = f"give the value with the event, as an attribute of a name of your own such as {given}"
    if word == "DEFAULT":
        fix = "write the constant itself"
    return unsupported(f"the word {word}", text, token, f"{_QUOTE.format(name=token.text)}; or {fix}")


def refuse_call(text: str, name: Token, following: Token) -> PredicateError:
    """A name before a parenthesis is a function, before a string it is a typed constant."""
    fix = _FUNCTIONS.get(name.text.upper())
    if following.kind == "string":
        return unsupported(f"a typed constant ({name.text} {_shown(following)})", text, name, fix or "write the string")
    if name.text.upper() in ("CAST", "TRY_CAST"):
        return unsupported(f"a cast ({name.text.upper()})", text, name, fix or _COMPUTE)
    return unsupported(f"the function {name.text}(…)", text, name, fix or _COMPUTE)


def refuse_is(text: str, token: Token, negated: bool) -> PredicateError:
    """IS without NULL."""
    fix = _IS.get((token.text.upper(), negated))
    if fix is None:
        message = f"expected NULL after IS, got {_shown(token)}"
        return predicate_error("HG-451", message, text, token, "write x IS NULL, x IS NOT NULL or x = v")
    return unsupported(f"IS {'NOT ' if negated else ''}{token.text.upper()}", text, token, fix)


# --- SQL WHERE conditions to predicates: a recursive-descent parser over the tokens of one condition ------------------
#
#     condition  = conjunct {OR conjunct}        conjunct = factor {AND factor}        factor = {NOT} test
#     test       = operand [comparison operand | [NOT] IN (constants) | [NOT] BETWEEN constant AND constant
#                           | [NOT] LIKE|ILIKE string [ESCAPE string] | IS [NOT] NULL]
#     operand    = attribute | constant | ( condition )
#
# An attribute alone is a condition on a boolean attribute. Null or blank text accepts everything. What SQL knows
# beyond this is refused by its name, with a rewrite where there is one.

MAX_DEPTH = 64  # nested parentheses; the form is walked recursively, so its depth must have a bound
MAX_NAMES = 64  # names in one nested attribute

_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARISONS = {"!=": "<>"} | {name: name for name in _MIRRORED}
_NAMES = TRAILING | {"name", "quoted"}
_CONTINUES = frozenset((".", "(", "string"))  # what makes more of a name than an attribute
_CONSTANT = ("constant",)  # stands for the attribute while a test on a constant is folded


class Attribute(NamedTuple):
    path: Path
    token: Token


class Literal(NamedTuple):
    value: Scalar | bool
    token: Token


Item = Attribute | Literal | Predicate


def parse_predicate(text: str | None) -> Predicate:
    """The compiled form of one SQL condition. Raises PredicateError."""
    if text is None or not text.strip():
        return ACCEPT
    return Parser(text, tokenize(text)).parse()


def quoted_sides(text: str) -> list[str]:
    """The names in double quotes that a condition compares something with: `web-1` in `service = "web-1"`."""
    tokens = tokenize(text)
    sides = [
        token.text[1:-1].replace('""', '"')
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if token.kind == "quoted" and before.kind in _COMPARISONS and after.kind != "."
    ]
    return list(dict.fromkeys(sides))


def compile_predicates(texts: Sequence[str | None]) -> list[Predicate | PredicateError]:
    """The compiled form, or the error, of each text. Texts that differ in their constants only are parsed once."""
    shapes = PredicateShapes()
    return [shapes.compile(text) for text in texts]


class Parser:
    """One pass over the tokens of one condition."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._place = 0
        self._depth = 0
        self._token = tokens[0]

    def parse(self) -> Predicate:
        if self._token.kind == "WHERE":
            raise unsupported("the word WHERE", self._text, self._token, "give the condition alone")
        if self._token.kind == "end":  # nothing but comments
            return ACCEPT
        item = self._condition()
        if self._token.kind != "end":
            self._refuse_next()
        return self._as_condition(item)

    def _advance(self) -> Token:
        token = self._token
        self._place += 1
        self._token = self._tokens[self._place]
        return token

    def _fail(self, code: str, message: str, token: Token, fix: str) -> NoReturn:
        raise predicate_error(code, message, self._text, token, fix)

    def _expect(self, kind: str, where: str, fix: str) -> Token:
        if self._token.kind != kind:
            self._fail("HG-451", f"expected {kind} {where}, got {_shown(self._token)}", self._token, fix)
        return self._advance()

    def _refuse_next(self) -> NoReturn:
        raise refuse_after_operand(self._text, self._token, self._tokens[self._place - 1])

    def _condition(self) -> Item:
        item = self._conjunct()
        if self._token.kind != "OR":
            return item
        operands = [self._as_condition(item)]
        while self._token.kind == "OR":
            self._advance()
            operands.append(self._as_condition(self._conjunct()))
        return disjunction(operands)

    def _conjunct(self) -> Item:
        item = self._factor()
        if self._token.kind != "AND":
            return item
        operands = [self._as_condition(item)]
        while self._token.kind == "AND":
            self._advance()
            operands.append(self._as_condition(self._factor()))
        return conjunction(operands)

    def _factor(self) -> Item:
        if self._token.kind != "NOT":
            return self._test()
        negated = False
        while self._token.kind == "NOT":
            self._advance()
            negated = not negated
        condition = self._as_condition(self._test())
        return negation(condition) if negated else condition

    def _as_condition(self, item: Item) -> Predicate:
        if isinstance(item, Attribute):
            return Truth(item.path, True)
        if not isinstance(item, Literal):
            return item
        if item.value is None or isinstance(item.value, bool):
            return Constant(item.value)
        fix = "compare it with an attribute, as in age > 30"
        self._fail("HG-453", f"{_shown(item.token)} alone is no condition", item.token, fix)

    def _test(self) -> Item:
        start = self._token
        subject = self._operand()
        kind = self._token.kind
        if kind in _COMPARISONS:
            return self._comparison(self._compared(subject, start))
        negated = kind == "NOT"
        if negated:
            self._advance()
            kind = self._token.kind
        if kind == "IS" and not negated:
            return self._is_null(self._compared(subject, start))
        rule = _TESTS.get(kind)
        if rule is None:
            if negated:
                message = f"expected IN, BETWEEN, LIKE or ILIKE after NOT, got {_shown(self._token)}"
                fix = "write x IS NOT NULL" if kind == "NULL" else "write x <> v, or NOT before the whole condition"
                self._fail("HG-451", message, self._token, fix)
            return subject
        test = rule(self, self._compared(subject, start))
        return negation(test) if negated else test

    def _compared(self, item: Item, token: Token) -> Attribute | Literal:
        if isinstance(item, Attribute | Literal):
            return item
        fix = "join conditions with AND, OR and NOT"
        self._fail("HG-453", "a condition cannot be compared; only an attribute or a constant can", token, fix)

    def _comparison(self, left: Attribute | Literal) -> Predicate:
        token = self._advance()
        start = self._token
        right = self._compared(self._operand(), start)
        sign = _COMPARISONS[token.kind]
        if self._token.kind in _COMPARISONS:
            fix = "write x > 1 AND x < 5, or x BETWEEN 1 AND 5"
            raise unsupported("a chain of comparisons", self._text, self._token, fix)
        if isinstance(left, Attribute):
            if isinstance(right, Attribute):
                return Pair(left.path, sign, right.path)
            return self._against(left.path, sign, right)
        if isinstance(right, Attribute):
            return self._against(right.path, _MIRRORED[sign], left)
        return self._fold(self._against(_CONSTANT, sign, right), left)

    def _against(self, path: Path, sign: str, literal: Literal) -> Predicate:
        value = literal.value
        if not isinstance(value, bool):
            return Comparison(path, sign, value)
        if sign not in ("=", "<>"):
            fix = "TRUE and FALSE have no order: use = or <>"
            self._fail("HG-454", f"{sign} cannot compare with {_shown(literal.token)}", literal.token, fix)
        return Truth(path, value is (sign == "="))

    def _fold(self, test: Predicate, literal: Literal) -> Predicate:
        """A test on a constant is a constant."""
        return Constant(evaluate(test, Attributes({_CONSTANT[0]: literal.value})))

    def _on(self, subject: Attribute | Literal, test: Callable[[Path], Predicate]) -> Predicate:
        """A test on an attribute, or the constant that it is on a constant."""
        return test(subject.path) if isinstance(subject, Attribute) else self._fold(test(_CONSTANT), subject)

    def _is_null(self, subject: Attribute | Literal) -> Predicate:
        self._advance()
        negated = self._token.kind == "NOT"
        if negated:
            self._advance()
        if self._token.kind != "NULL":
            raise refuse_is(self._text, self._token, negated)
        self._advance()
        test = self._on(subject, IsNull)
        return negation(test) if negated else test

    def _in(self, subject: Attribute | Literal) -> Predicate:
        negated = self._tokens[self._place - 1].kind == "NOT"
        start = self._advance()
        if self._token.kind in _NAMES:
            whole = spell_path(self._attribute().path)
            part = spell_path(subject.path) if isinstance(subject, Attribute) else _shown(subject.token)
            fix = _HOLDS.format(list=f"NOT {whole}" if negated else whole, element=part)
            raise unsupported(f"IN with the attribute {whole} in place of constants", self._text, start, fix)
        self._expect("(", "after IN", "write the values as in x IN (1, 2)")
        if self._token.kind == ")":
            self._fail("HG-451", "IN needs at least one value", self._token, "write FALSE for a test that never holds")
        values = [self._constant("in the list of IN")]
        while self._token.kind == ",":
            self._advance()
            values.append(self._constant("in the list of IN"))
        self._expect(")", "after the list of IN", "separate the values with commas, as in x IN (1, 2)")
        return self._on(subject, lambda path: _membership(path, values))

    def _between(self, subject: Attribute | Literal) -> Predicate:
        self._advance()
        bounds: list[Scalar] = []
        for where in ("after BETWEEN", "after AND"):
            if bounds:
                self._expect("AND", "after the lower bound of BETWEEN", "write x BETWEEN 1 AND 5")
            bound = self._constant(where)
            if isinstance(bound.value, bool):
                fix = "TRUE and FALSE have no order: use = or IN"
                self._fail("HG-454", f"{_shown(bound.token)} cannot bound a range", bound.token, fix)
            bounds.append(bound.value)
        return self._on(subject, lambda path: Between(path, *bounds))

    def _like(self, subject: Attribute | Literal) -> Predicate:
        fold = self._advance().kind == "ILIKE"
        pattern = self._constant(f"after {'ILIKE' if fold else 'LIKE'}")
        text = pattern.value
        if not isinstance(text, str | None):
            fix = "write the pattern in single quotes: LIKE 'a%'"
            self._fail("HG-454", f"LIKE needs a string, got {_shown(pattern.token)}", pattern.token, fix)
        escape = self._escape(pattern) if self._token.kind == "ESCAPE" else None
        return self._on(subject, lambda path: Like(path, text, escape, fold))

    def _escape(self, pattern: Literal) -> str | None:
        self._advance()
        mark = self._constant("after ESCAPE")
        if not isinstance(mark.value, str) or len(mark.value) > 1:
            fix = "write it in single quotes: ESCAPE '!'"
            self._fail("HG-454", f"ESCAPE needs one character, got {_shown(mark.token)}", mark.token, fix)
        if mark.value and isinstance(pattern.value, str) and ends_in_escape(pattern.value, mark.value):
            fix = f"write {mark.value}{mark.value} for the character itself"
            self._fail("HG-454", "the pattern ends in its escape character", pattern.token, fix)
        return mark.value or None

    def _constant(self, where: str) -> Literal:
        start = self._token
        item = self._operand()
        if isinstance(item, Literal):
            if self._token.kind in ("+", "-"):
                self._refuse_next()
            return item
        fix = "write a number, a string in single quotes, TRUE, FALSE or NULL"
        if isinstance(item, Attribute):
            fix = "write one comparison of two attributes for each, joined with AND or OR"
            if start.kind == "quoted":
                fix = f"double quotes name an attribute; a text stands in single quotes: {_as_text(item)}"
        self._fail("HG-451", f"expected a constant {where}, got {_shown(start)}", start, fix)

    def _operand(self) -> Item:
        token = self._token
        kind = token.kind
        if kind == "name" and self._tokens[self._place + 1].kind not in _CONTINUES:
            self._advance()
            return Attribute((token.text,), token)
        if kind in _NAMES or (kind in FILLED_IN and self._tokens[self._place + 1].kind == "."):
            return self._attribute()
        if kind in ("number", "string"):
            self._advance()
            return Literal(self._number(token, 1) if kind == "number" else self._string(token), token)
        if kind in ("TRUE", "FALSE", "NULL"):
            self._advance()
            return Literal(None if kind == "NULL" else kind == "TRUE", token)
        if kind in ("+", "-"):
            return self._signed()
        if kind == "(":
            return self._parenthesis()
        raise refuse_operand(self._text, token)

    def _number(self, token: Token, sign: int) -> int | float:
        try:
            value = int(token.text) if token.text.isdigit() else float(token.text)
        except ValueError:  # Python bounds the digits it turns into an integer
            value = math.inf
        if value == math.inf:
            self._fail("HG-454", "the number is too large", token, "write at most 4,000 digits and 1.7e308")
        return sign * value

    def _string(self, token: Token) -> str:
        return token.text[1:-1].replace("''", "'")

    def _signed(self) -> Literal:
        sign = self._advance()
        if self._token.kind != "number":
            raise unsupported("arithmetic", self._text, sign, _COMPUTE)
        token = self._advance()
        return Literal(self._number(token, -1 if sign.kind == "-" else 1), token)

    def _attribute(self) -> Attribute:
        token = self._token
        names = [self._name()]
        while self._token.kind == ".":
            self._advance()
            if self._token.kind not in _NAMES and not self._token.text.isidentifier():
                fix = 'write a nested attribute as a.b, and other names in double quotes: a."b c"'
                self._fail("HG-451", f"expected a name after the dot, got {_shown(self._token)}", self._token, fix)
            names.append(self._name())
        if len(names) > MAX_NAMES:
            self._fail("HG-455", f"an attribute of {len(names)} names", token, f"nest at most {MAX_NAMES} names")
        if self._token.kind == "(" or (self._token.kind == "string" and len(names) == 1):
            raise refuse_call(self._text, token, self._token)
        return Attribute(tuple(names), token)

    def _name(self) -> str:
        token = self._advance()
        if token.kind != "quoted":
            return token.text
        name = token.text[1:-1].replace('""', '"')
        if not name:
            self._fail("HG-451", "a name in double quotes is empty", token, "a string stands in single quotes: ''")
        return name

    def _parenthesis(self) -> Item:
        opening = self._advance()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            fix = f"nest at most {MAX_DEPTH} parentheses; a AND b AND c needs none"
            self._fail("HG-455", "the condition is nested too deeply", opening, fix)
        item = self._condition()
        if self._token.kind == ",":
            raise unsupported("a row of values", self._text, opening, "compare one attribute at a time")
        if self._token.kind == "end":
            self._fail("HG-451", "a parenthesis is opened here and never closed", opening, "close it with )")
        if self._token.kind != ")":
            self._refuse_next()
        self._advance()
        self._depth -= 1
        return item


_TESTS: dict[str, Callable[[Parser, Attribute | Literal], Predicate]] = {
    "IN": Parser._in,
    "BETWEEN": Parser._between,
    "LIKE": Parser._like,
    "ILIKE": Parser._like,
}


def _membership(path: Path, values: list[Literal]) -> Predicate:
    """x IN (1, TRUE) is x IN (1) OR x = TRUE, on a list of values too, since one element has to satisfy either."""
    plain = tuple(literal.value for literal in values if not isinstance(literal.value, bool))
    tests: list[Predicate] = [In(path, plain)] if plain else []
    tests += [Truth(path, wanted) for wanted in (True, False) if any(literal.value is wanted for literal in values)]
    return disjunction(tests)


def _as_text(attribute: Attribute) -> str:
    """A name that was meant as a text."""
    return spell_value(_shown(attribute.token._replace(text=".".join(attribute.path))))


def _shown(token: Token) -> str:
    if token.kind == "end":
        return "the end of the text"
    return token.text if len(token.text) <= 40 else token.text[:37] + "..."


# --- bulk compilation: texts that differ in their constants only share one parse --------------------------------------
#
# The constants are lifted out of each text; what is left, with the kind of each constant, is its shape. A shape is
# parsed once into a template with numbered slots, and every further text of it only fills the slots. The law:
# Shapes().compile(text) gives what parse_predicate(text) gives, errors included; a text that cannot be shared safely
# (quoted names, comments, ESCAPE, tests on constants, any error) is parsed by itself. A template costs about three
# parses, so it is made when a shape comes for the second time.

# A string, or a number that does not continue a name. It begins with a set of characters because such a pattern skips
# to its first candidate at once, which halves the time of finding the constants.
_LITERAL = re.compile(
    r"(['0-9.](?:(?<=')(?>[^']*(?:''[^']*)*)'"
    r"|(?<=[0-9.])(?<![\w.$][0-9.])(?:(?<=[0-9])(?>[0-9]*(?:\.[0-9]*)?)|(?<=\.)(?>[0-9]+))"
    r"(?>[eE][+-]?[0-9]+)?(?![\w.])))"
)
_UNSHARED = ('"', "`", "--", "/*")  # constants inside quoted names and comments are not constants

Fill = Callable[[list[Any]], Any]


def _unbuilt(_: list[Any]) -> Any:
    """Marks a shape met once."""


class PredicateShapes:
    """The templates met so far."""

    def __init__(self) -> None:
        self._templates: dict[tuple[tuple[str, ...], str], Fill | None] = {}

    def compile(self, text: str | None) -> Predicate | PredicateError:
        """The compiled form of a text, or its error."""
        if text is None or not text.strip():
            return ACCEPT
        try:
            return self._shared(text) or parse_predicate(text)
        except PredicateError as error:
            return error

    def _shared(self, text: str) -> Predicate | None:
        if any(mark in text for mark in _UNSHARED):
            return None
        parts = _LITERAL.split(text)
        literals = parts[1::2]
        shape = tuple(parts[::2]), "".join([literal[0] if literal[0] == "'" else "0" for literal in literals])
        if shape not in self._templates:
            self._templates[shape] = _unbuilt
            return None
        fill = self._templates[shape]
        if fill is _unbuilt:
            fill = self._templates[shape] = _template(text, literals)
        values = None if fill is None else _values(literals)
        if fill is None or values is None:
            return None
        filled: Predicate = fill(values)
        return filled


class _Text(str):
    """A slot for a string: the number of the constant, written as what fills it."""

    def __repr__(self) -> str:
        return f"values[{self}]"


class _Number(int):
    """A slot for a number, likewise, with the sign before it."""

    sign: int

    def __repr__(self) -> str:
        return f"{'-' if self.sign < 0 else ''}values[{int(self)}]"


class _Unshareable(Exception):
    """The form depends on a constant's value."""


class _TemplateParser(Parser):
    """Parses a text with slots in place of its constants."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        super().__init__(text, tokens)
        places = [token.start for token in tokens if token.kind in ("number", "string")]
        self._slots = {start: number for number, start in enumerate(places)}

    def _number(self, token: Token, sign: int) -> int | float:
        slot = _Number(self._slots[token.start])
        slot.sign = sign
        return slot

    def _string(self, token: Token) -> str:
        return _Text(self._slots[token.start])

    def _fold(self, test: Predicate, literal: Literal) -> Predicate:
        raise _Unshareable

    def _escape(self, pattern: Literal) -> str | None:
        raise _Unshareable


def _template(text: str, literals: list[str]) -> Fill | None:
    """A function from constants to the form; None where the shape cannot be shared.

    It is the form with slots as Python writes it: made of our own classes and of literals, whatever the text was.
    """
    try:
        tokens = tokenize(text)
        if [token.text for token in tokens if token.kind in ("number", "string")] != literals:
            return None
        written = repr(_TemplateParser(text, tokens).parse())
        fill: Fill = eval(f"lambda values: {written}", vars(form))
    except (PredicateError, _Unshareable, SyntaxError, RecursionError):  # nested deeper than Python reads
        return None
    return fill


def _values(literals: list[str]) -> list[str | int | float] | None:
    """The constants' values; None where one is too large to be a number."""
    try:
        values = [
            literal[1:-1].replace("''", "'")
            if literal[0] == "'"
            else (int(literal) if literal.isdigit() else float(literal))
            for literal in literals
        ]
    except ValueError:
        return None
    return None if math.inf in values else values
