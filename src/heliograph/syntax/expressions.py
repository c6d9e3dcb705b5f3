"""Expressions of FILTER and HAVING, by precedence climbing: `||`, `&&`, comparison and IN, `+ -`, `* /`, unary.

Chains of `||` and `&&` become one node of many operands. Whatever the shape of an expression, its tree is no deeper
than `MAX_DEPTH`, so that those who walk it may recurse.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from heliograph.errors import SparqlError
from heliograph.syntax import refusals
from heliograph.syntax.cursor import Cursor, slot_number
from heliograph.syntax.metrics import parse_metric
from heliograph.syntax.nodes import Problem, Role
from heliograph.syntax.query import (
    And,
    Arithmetic,
    Call,
    Compare,
    Count,
    Expression,
    In,
    Negate,
    Not,
    Or,
    children,
    walk,
)
from heliograph.syntax.regex import FLAGS
from heliograph.syntax.signatures import SIGNATURES, bare_metric
from heliograph.syntax.tokens import NODES
from heliograph.terms import HG, Term, Variable, literal
from heliograph.values import XSD_BOOLEAN, XSD_INTEGER, XSD_STRING

MAX_DEPTH = 100

_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_ARITY = {"BOUND": 1, "STR": 1, "LANG": 1, "DATATYPE": 1, "ISIRI": 1, "ISURI": 1, "ISLITERAL": 1}
_ARITY |= {"CONTAINS": 2, "STRSTARTS": 2, "STRENDS": 2, "REGEX": 3}
_ZERO = literal("0", XSD_INTEGER)


class Clause(StrEnum):
    """Where an expression stands: COUNT(*) is for HAVING, metrics are for FILTER."""

    FILTER = "FILTER"
    HAVING = "HAVING"


def parse_constraint(cursor: Cursor, clause: Clause) -> Expression:
    """What may follow FILTER and HAVING: an expression in parentheses, or a call."""
    at = cursor.at
    if cursor.kind == "(":
        expression = _bracketed(cursor, clause)
    elif cursor.kind in NODES and cursor.ahead() != "(":
        raise cursor.unexpected(f"( behind {clause}")
    elif cursor.kind in NODES or cursor.kind[:1].isalpha():
        expression = _primary(cursor, clause)
    else:
        raise cursor.unexpected(f"( behind {clause}")
    if _depth(expression) > MAX_DEPTH:
        raise cursor.error("HG-405", f"an expression more than {MAX_DEPTH} levels deep", fix="split it", at=at)
    return expression


def _depth(expression: Expression) -> int:
    deepest, level = 0, [expression]
    while level:
        deepest += 1
        level = [child for node in level for child in children(node)]
    return deepest


def _bracketed(cursor: Cursor, clause: Clause) -> Expression:
    opened = cursor.at
    cursor.expect("(", "(")
    cursor.deeper()
    expression = _disjunction(cursor, clause)
    cursor.shallower()
    cursor.close(")", opened)
    return expression


def _disjunction(cursor: Cursor, clause: Clause) -> Expression:
    operands = [_conjunction(cursor, clause)]
    while cursor.accept("||"):
        operands.append(_conjunction(cursor, clause))
    return operands[0] if len(operands) == 1 else Or(tuple(operands))


def _conjunction(cursor: Cursor, clause: Clause) -> Expression:
    operands = [_comparison(cursor, clause)]
    while cursor.accept("&&"):
        operands.append(_comparison(cursor, clause))
    return operands[0] if len(operands) == 1 else And(tuple(operands))


def _comparison(cursor: Cursor, clause: Clause) -> Expression:
    left = _sum(cursor, clause)
    kind = cursor.kind
    if kind in _COMPARISONS:
        cursor.at += 1
        return Compare(kind, left, _sum(cursor, clause))
    if kind == "IN":
        cursor.at += 1
        return In(left, tuple(_arguments(cursor, clause)))
    if kind == "NOT":
        cursor.at += 1
        cursor.expect("IN", "IN behind NOT")
        return In(left, tuple(_arguments(cursor, clause)), negated=True)
    return left


def _sum(cursor: Cursor, clause: Clause) -> Expression:
    left = _product(cursor, clause)
    while cursor.kind in ("+", "-"):
        operator = cursor.word
        cursor.at += 1
        left = Arithmetic(operator, left, _product(cursor, clause))
    return left


def _product(cursor: Cursor, clause: Clause) -> Expression:
    left = _unary(cursor, clause)
    while cursor.kind in ("*", "/"):
        operator = cursor.word
        cursor.at += 1
        left = Arithmetic(operator, left, _unary(cursor, clause))
    return left


def _unary(cursor: Cursor, clause: Clause) -> Expression:
    kind = cursor.kind
    if kind == "!":
        cursor.at += 1
        return Not(_one_deeper(cursor, clause))
    if kind in ("+", "-"):
        return _signed(cursor, clause)
    return _primary(cursor, clause)


def _one_deeper(cursor: Cursor, clause: Clause) -> Expression:
    cursor.deeper()
    operand = _unary(cursor, clause)
    cursor.shallower()
    return operand


def _signed(cursor: Cursor, clause: Clause) -> Expression:
    if cursor.at_signed_number():
        return cursor.signed_number()
    sign = cursor.word
    cursor.at += 1
    if cursor.kind in ("+", "-") and cursor.ahead() != "number":
        raise cursor.unexpected("what the sign is of, in parentheses if that has one too")
    if cursor.kind in NODES and cursor.ahead() != "(":
        operand: Expression = cursor.node(Role.VARIABLE) if cursor.kind == "var" else cursor.fixed(Role.OPERAND)
    else:
        operand = _one_deeper(cursor, clause)
    return Negate(operand) if sign == "-" else Arithmetic("+", _ZERO, operand)


def _primary(cursor: Cursor, clause: Clause) -> Expression:
    kind = cursor.kind
    if kind == "(":
        return _bracketed(cursor, clause)
    if kind in NODES:
        return _operand(cursor, clause)
    if kind in ("TRUE", "FALSE"):
        cursor.at += 1
        return literal(kind.lower(), XSD_BOOLEAN)
    if kind[:1].isalpha() and kind != "end":
        return _builtin(cursor, kind, clause)
    if kind == "<" and cursor.ahead() == "<":
        raise cursor.refused(refusals.QUOTED)
    raise cursor.unexpected("a variable, a constant, a function or (")


def _operand(cursor: Cursor, clause: Clause) -> Expression:
    if cursor.ahead() == "(":
        return _function(cursor, clause)
    if cursor.kind == "string" and cursor.ahead() in ("^^", "lang"):
        return loose_literal(cursor)
    if clause == Clause.HAVING:
        return cursor.fixed(Role.VARIABLE) if cursor.kind == "var" else cursor.node(Role.CONSTANT)
    return cursor.node(Role.OPERAND)


def loose_literal(cursor: Cursor) -> Term:
    """A literal whose tag or type stands behind a space: rare, and always part of the shape."""
    text = cursor.fixed(Role.OBJECT)
    assert isinstance(text, Term)
    if text.datatype != XSD_STRING:
        message = f"found {cursor.word}, a second tag or type of one literal"
        raise cursor.error("HG-400", message, fix="keep one of the two")
    if cursor.kind == "lang":
        language = cursor.word[1:]
        cursor.at += 1
        return literal(text.value, language=language)
    cursor.at += 1
    if cursor.kind not in ("iri", "pname"):
        raise cursor.unexpected("a datatype")
    try:
        term = cursor.scope.typed(text.value, cursor.word)
    except Problem as found:
        raise cursor.trouble(found) from None
    cursor.at += 1
    return term


# --- calls ------------------------------------------------------------------------------------------------------


def _function(cursor: Cursor, clause: Clause) -> Expression:
    """A call by IRI: the metrics, or a refusal."""
    name = cursor.fixed(Role.CALLED)
    cursor.at -= 1
    if not isinstance(name, Term) or name.is_literal:
        cursor.at += 1
        raise cursor.unexpected("an operator")
    if not name.value.startswith(HG):
        raise _meant_metric(cursor, clause) or cursor.refused(refusals.cast(cursor.word))
    if cursor.verb != "watch" or clause != Clause.FILTER:
        place = f"in {clause}" if cursor.verb == "watch" else "of a filter interest"
        fix = "metrics stand in a FILTER of a watch interest"
        raise cursor.error("HG-431", f"the metric {cursor.word} {place} is not supported", fix=fix)
    return parse_metric(cursor)


def _builtin(cursor: Cursor, kind: str, clause: Clause) -> Expression:
    at = cursor.at
    if kind in refusals.AGGREGATES:
        return _count(cursor, clause)
    if kind not in _ARITY:
        raise _unknown(cursor, kind, clause)
    cursor.at += 1
    if kind == "BOUND":
        return _bound(cursor)
    if kind == "REGEX":
        return _regex(cursor, clause)
    arguments = _arguments(cursor, clause)
    if len(arguments) != _ARITY[kind]:
        wanted = f"{_ARITY[kind]} argument{'s' * (_ARITY[kind] > 1)}"
        message = f"{cursor.words[at]} with {len(arguments)} arguments, expected {wanted}"
        raise cursor.error("HG-400", message, fix=f"give it {wanted}", at=at)
    return Call("ISIRI" if kind == "ISURI" else kind, tuple(arguments))


def _meant_metric(cursor: Cursor, clause: Clause) -> SparqlError | None:
    """The error of a metric that is called without its prefix, where it may stand."""
    name = bare_metric(cursor.word)
    if name is None or cursor.verb != "watch" or clause != Clause.FILTER:
        return None
    return cursor.error("HG-425", f"no function {cursor.word}", fix=f"did you mean {SIGNATURES[name]}?")


def _unknown(cursor: Cursor, kind: str, clause: Clause) -> SparqlError:
    if kind == "NOT" and cursor.ahead() == "EXISTS":
        return cursor.refused(refusals.REFUSED["NOT EXISTS"])
    refusal = refusals.REFUSED.get(kind) or refusals.function(kind)
    if refusal is not None:
        return cursor.refused(refusal)
    if cursor.ahead() == "(":
        if (meant := _meant_metric(cursor, clause)) is not None:
            return meant
        close = refusals.near(cursor.word)
        fix = f"did you mean {close}?" if close else f"the functions are {refusals.SUPPORTED}"
        return cursor.error("HG-425", f"no function {cursor.word}", fix=fix)
    return cursor.unexpected("a variable, a constant, a function or (")


def _arguments(cursor: Cursor, clause: Clause) -> list[Expression]:
    """A list of expressions in parentheses, perhaps empty."""
    opened = cursor.at
    cursor.expect("(", "(")
    cursor.deeper()
    arguments: list[Expression] = []
    while cursor.kind != ")":
        if arguments:
            cursor.expect(",", ", or )")
        arguments.append(_disjunction(cursor, clause))
    cursor.shallower()
    cursor.close(")", opened)
    return arguments


def _bound(cursor: Cursor) -> Call:
    opened = cursor.at
    cursor.expect("(", "( behind BOUND")
    variable = cursor.node(Role.VARIABLE)
    cursor.close(")", opened)
    return Call("BOUND", (variable,))


def _regex(cursor: Cursor, clause: Clause) -> Call:
    """REGEX(text, pattern[, flags]): pattern and flags are constants, checked here."""
    opened = cursor.at
    cursor.expect("(", "( behind REGEX")
    cursor.deeper()
    text = _disjunction(cursor, clause)
    cursor.shallower()
    cursor.expect(",", ", and the pattern of REGEX")
    _want_constant(cursor, "the pattern of REGEX")
    pattern_at = cursor.at
    cursor.at += 1
    flags = _flags(cursor) if cursor.accept(",") else ""
    behind, cursor.at = cursor.at, pattern_at
    pattern = cursor.node(Role.REGEX_I if flags else Role.REGEX)
    cursor.at = behind
    cursor.close(")", opened)
    return Call("REGEX", (text, pattern, literal(flags)) if flags else (text, pattern))


def _want_constant(cursor: Cursor, what: str) -> None:
    if cursor.kind != "string" or cursor.ahead() not in (",", ")"):
        fix = 'write it as a string, "…"; only constant patterns can be checked and indexed'
        raise cursor.error("HG-434", f"{what} is not a constant string", fix=fix)


def _flags(cursor: Cursor) -> str:
    _want_constant(cursor, "the flags of REGEX")
    flags = cursor.fixed(Role.CONSTANT)
    assert isinstance(flags, Term)
    if flags.value not in FLAGS or flags.datatype != XSD_STRING:
        fix = 'the only flag is "i", no difference between upper and lower case; (?s) and (?m) go into the pattern'
        raise cursor.error("HG-434", f"the flags {cursor.words[cursor.at - 1]} of REGEX", fix=fix, at=cursor.at - 1)
    return flags.value


def _count(cursor: Cursor, clause: Clause) -> Count:
    at = cursor.at
    check_count(cursor)
    if clause != Clause.HAVING:
        raise cursor.refused(refusals.misplaced_count(), at=at)
    return Count()


def check_count(cursor: Cursor) -> None:
    """Steps over COUNT(*); any other aggregate is refused by its own text."""
    at = cursor.at
    if cursor.kind != "COUNT" or cursor.ahead() != "(" or cursor.ahead(2) != "*":
        raise cursor.refused(refusals.aggregate(cursor.kind, _call_text(cursor)))
    cursor.at += 3
    cursor.close(")", at + 1)


def _call_text(cursor: Cursor) -> str:
    words = cursor.words[cursor.at : cursor.at + 5]
    closed = words.index(")") + 1 if ")" in words else 2
    return cursor.words[cursor.at].upper() + " ".join(words[1:closed]).replace("( ", "(").replace(" )", ")")


def stray_variable(condition: Expression, group_by: Collection[Variable]) -> Variable | None:
    """The first variable of a HAVING condition that is no group variable."""
    named = (node for node in walk(condition) if isinstance(node, Variable) and slot_number(node) is None)
    return next((variable for variable in named if variable not in group_by), None)
