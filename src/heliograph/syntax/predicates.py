"""SQL WHERE conditions to predicates: a recursive-descent parser over the tokens of one condition.

    condition  = conjunct {OR conjunct}        conjunct = factor {AND factor}        factor = {NOT} test
    test       = operand [comparison operand | [NOT] IN (constants) | [NOT] BETWEEN constant AND constant
                          | [NOT] LIKE|ILIKE string [ESCAPE string] | IS [NOT] NULL]
    operand    = attribute | constant | ( condition )

An attribute alone is a condition on a boolean attribute. Null or blank text accepts everything. What SQL knows beyond
this is refused by its name, with a rewrite where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from heliograph.errors import PredicateError
from heliograph.syntax.predicate_form import (
    ACCEPT,
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
)
from heliograph.syntax.predicate_lexer import Token, predicate_error, tokenize, unsupported
from heliograph.syntax.predicate_like import ends_in_escape
from heliograph.syntax.predicate_refusals import refuse_after_operand, refuse_call, refuse_is, refuse_operand
from heliograph.syntax.predicate_truth import Attributes, evaluate

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


def compile_predicates(texts: Sequence[str | None]) -> list[Predicate | PredicateError]:
    """The compiled form, or the error, of each text. Texts that differ in their constants only are parsed once."""
    from heliograph.syntax.predicate_shapes import Shapes  # it needs the parser above

    shapes = Shapes()
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
        raise refuse_after_operand(self._text, self._token)

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

    def _tested(self, subject: Attribute | Literal) -> Path:
        return subject.path if isinstance(subject, Attribute) else _CONSTANT

    def _folded(self, subject: Attribute | Literal, test: Predicate) -> Predicate:
        return test if isinstance(subject, Attribute) else self._fold(test, subject)

    def _is_null(self, subject: Attribute | Literal) -> Predicate:
        self._advance()
        negated = self._token.kind == "NOT"
        if negated:
            self._advance()
        if self._token.kind != "NULL":
            raise refuse_is(self._text, self._token, negated)
        self._advance()
        test = self._folded(subject, IsNull(self._tested(subject)))
        return negation(test) if negated else test

    def _in(self, subject: Attribute | Literal) -> Predicate:
        self._advance()
        self._expect("(", "after IN", "write the values as in x IN (1, 2)")
        if self._token.kind == ")":
            self._fail("HG-451", "IN needs at least one value", self._token, "write FALSE for a test that never holds")
        values = [self._constant("in the list of IN")]
        while self._token.kind == ",":
            self._advance()
            values.append(self._constant("in the list of IN"))
        self._expect(")", "after the list of IN", "separate the values with commas, as in x IN (1, 2)")
        return self._folded(subject, _membership(self._tested(subject), values))

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
        return self._folded(subject, Between(self._tested(subject), *bounds))

    def _like(self, subject: Attribute | Literal) -> Predicate:
        fold = self._advance().kind == "ILIKE"
        pattern = self._constant(f"after {'ILIKE' if fold else 'LIKE'}")
        if not isinstance(pattern.value, str | None):
            fix = "write the pattern in single quotes: LIKE 'a%'"
            self._fail("HG-454", f"LIKE needs a string, got {_shown(pattern.token)}", pattern.token, fix)
        escape = self._escape(pattern) if self._token.kind == "ESCAPE" else None
        return self._folded(subject, Like(self._tested(subject), pattern.value, escape, fold))

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
        self._fail("HG-451", f"expected a constant {where}, got {_shown(start)}", start, fix)

    def _operand(self) -> Item:
        token = self._token
        kind = token.kind
        if kind == "name" and self._tokens[self._place + 1].kind not in _CONTINUES:
            self._advance()
            return Attribute((token.text,), token)
        if kind in _NAMES:
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
            fix = "compute the value before publishing and compare the attribute with a constant"
            raise unsupported("arithmetic", self._text, sign, fix)
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


def _shown(token: Token) -> str:
    if token.kind == "end":
        return "the end of the text"
    return token.text if len(token.text) <= 40 else token.text[:37] + "..."
