"""What an expression means: SPARQL 1.1's comparisons, arithmetic and functions over terms; None stands for an error."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, NamedTuple

from heliograph import values
from heliograph.sparql.query import (
    And,
    Arithmetic,
    Call,
    Compare,
    Count,
    Expression,
    In,
    Metric,
    Negate,
    Not,
    Or,
    children,
    walk,
)
from heliograph.sparql.tokens import FLAGS, compile_regex, regex_problem
from heliograph.terms import RDF_LANG_STRING, Term, TermKind, Variable, iri, literal, value_of
from heliograph.values import ATTO, NUMERIC, XSD_BOOLEAN, XSD_INTEGER, XSD_STRING, Instant, Kind, Value

# --- comparisons ------------------------------------------------------------------------------------------------
# Comparing terms by value, as SPARQL 1.1 does; None stands for SPARQL's type error everywhere.
#
# The laws: `compare("!=", a, b)` is the negation of `compare("=", a, b)`, an error staying an error; `<` and `>` are
# mirrors of each other; two identical terms are equal unless they are not-a-number.
#
# Literals of different families (numbers, texts, booleans, dateTimes, dates) are incomparable: both `=` and `!=` are
# errors, as are those of ill-typed or unknown literals unless they are the same term. An IRI or a blank node is
# simply different from any other term, and is ordered only against itself: any term is `<=` itself. Texts are ordered
# by code point within one language.

ZONE_DOUBT = 14 * 3600 * ATTO  # a zone lies within 14 hours of UTC, so an unknown one shifts no further than that
_TEXTS = (XSD_STRING, RDF_LANG_STRING)

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class OperandPair(NamedTuple):
    """Two Python values of one kind that Python's own operators compare as SPARQL wants."""

    left: Any
    right: Any


def compare(symbol: str, left: Term, right: Term, tolerance: float = 0.0) -> bool | None:
    """`left symbol right`; numbers that are floats and differ by no more than `tolerance` count as equal."""
    if symbol == "=":
        return equal(left, right, tolerance)
    if symbol == "!=":
        same = equal(left, right, tolerance)
        return None if same is None else not same
    pair = _ordered(left, right)
    if pair is None:
        return symbol in ("<=", ">=") if left == right else None
    if tolerance and _close(pair, tolerance):
        return symbol in ("<=", ">=")
    return _OPERATORS[symbol](*pair)


def equal(left: Term, right: Term, tolerance: float = 0.0) -> bool | None:
    """Equality of values; None where the two are incomparable."""
    if left.kind is not TermKind.LITERAL or right.kind is not TermKind.LITERAL:
        return left == right
    if left.datatype in _TEXTS and right.datatype in _TEXTS:
        return left == right
    one, other = value_of(left), value_of(right)
    if one is None or other is None:
        return True if left == right else None
    if one.kind in NUMERIC and other.kind in NUMERIC:
        pair = promote(one, other)[1]
        return pair.left == pair.right or bool(tolerance and _close(pair, tolerance))
    if one.kind is not other.kind:
        return None
    return _same_instant(one.value, other.value) if isinstance(one.value, Instant) else one.value == other.value


def effective_boolean(term: Term) -> bool | None:
    """SPARQL's effective boolean value: of booleans, numbers and plain strings; anything else is an error."""
    if term.datatype == XSD_STRING:
        return term.value != ""
    value = value_of(term)
    if value is None or isinstance(value.value, Instant):
        return None
    return bool(value.value) and value.value == value.value  # not-a-number is false


def promote(left: Value, right: Value) -> tuple[Kind, OperandPair]:
    """Two numbers in the wider of their kinds: integer < decimal < float < double."""
    kind = max(left.kind, right.kind)
    convert = _CONVERSIONS[kind]
    return kind, OperandPair(convert(left.value), convert(right.value))


def _ordered(left: Term, right: Term) -> OperandPair | None:
    """The two as ordered Python values, or None where `<` is an error."""
    one, other = value_of(left), value_of(right)
    if one is None or other is None:
        texts = left.datatype in _TEXTS and left[2:] == right[2:]
        return OperandPair(left.value, right.value) if texts else None
    if one.kind in NUMERIC and other.kind in NUMERIC:
        return promote(one, other)[1]
    if one.kind is not other.kind:
        return None
    if isinstance(one.value, Instant) and isinstance(other.value, Instant):
        return _ordered_instants(one.value, other.value)
    return OperandPair(one.value, other.value)


def _ordered_instants(left: Instant, right: Instant) -> OperandPair | None:
    if (left.zone is None) != (right.zone is None) and abs(left.atto - right.atto) <= ZONE_DOUBT:
        return None
    return OperandPair(left.atto, right.atto)


def _same_instant(left: Any, right: Any) -> bool:
    """A dateTime without a zone is never known to equal one with a zone, and counts as different from it."""
    return (left.zone is None) == (right.zone is None) and left.atto == right.atto


def _close(pair: OperandPair, tolerance: float) -> bool:
    floats = isinstance(pair.left, float) and isinstance(pair.right, float)
    return floats and math.isclose(pair.left, pair.right, rel_tol=0.0, abs_tol=tolerance)


def _to_double(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _to_float(number: Any) -> float:
    return values.to_float32(_to_double(number))


_CONVERSIONS: dict[Kind, Callable[[Any], Any]] = {
    Kind.INTEGER: int,
    Kind.DECIMAL: Decimal,
    Kind.FLOAT: _to_float,
    Kind.DOUBLE: _to_double,
}


# --- arithmetic -------------------------------------------------------------------------------------------------
# Arithmetic on terms: numbers in, numbers out; None stands for SPARQL's type error.
#
# Integers and decimals are exact, except that a division keeps 18 decimal places (cut, not rounded, as oxigraph
# does); dividing them by zero is an error, and so is arithmetic on a decimal of more than 20,000 characters. Floats
# and doubles follow IEEE 754 without a minus zero.

_PLACES = 18  # decimal places that a division keeps
_LONGEST = 20_000  # characters of an operand: dividing takes time quadratic in them, 13 s for half a million
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)  # never used to divide
_DATATYPES = {
    Kind.INTEGER: values.XSD_INTEGER,
    Kind.DECIMAL: values.XSD_DECIMAL,
    Kind.FLOAT: values.XSD_FLOAT,
    Kind.DOUBLE: values.XSD_DOUBLE,
}
_PLAIN: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_DECIMAL: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _EXACT.add,
    "-": _EXACT.subtract,
    "*": _EXACT.multiply,
}


def calculate(symbol: str, left: Term, right: Term) -> Term | None:
    """`left symbol right` for + - * /."""
    one, other = value_of(left), value_of(right)
    if one is None or other is None or one.kind not in NUMERIC or other.kind not in NUMERIC:
        return None
    if len(left.value) > _LONGEST or len(right.value) > _LONGEST:
        return None
    kind, pair = promote(one, other)
    if symbol == "/":
        return _divide(kind, pair.left, pair.right)
    apply = _DECIMAL[symbol] if kind is Kind.DECIMAL else _PLAIN[symbol]
    return number(kind, apply(pair.left, pair.right))


def negate(operand: Term) -> Term | None:
    value = value_of(operand)
    if value is None or value.kind not in NUMERIC:
        return None
    negated = value.value.copy_negate() if isinstance(value.value, Decimal) else -value.value  # type: ignore[operator]
    return number(value.kind, negated)


def number(kind: Kind, result: int | Decimal | float) -> Term:
    """The canonical literal of a number."""
    if isinstance(result, float):
        result = (values.to_float32(result) if kind is Kind.FLOAT else result) + 0.0  # no minus zero
    return Term(TermKind.LITERAL, values.canonical(Value(kind, result)), _DATATYPES[kind])


def _divide(kind: Kind, left: Any, right: Any) -> Term | None:
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        return number(kind, left / right if right else _by_zero(left))
    if not right:
        return None
    return number(Kind.DECIMAL, _quotient(left, right))


def _by_zero(dividend: float) -> float:
    return math.nan if dividend == 0 or math.isnan(dividend) else math.copysign(math.inf, dividend)


def _quotient(left: int | Decimal, right: int | Decimal) -> Decimal:
    upper, lower = left.as_integer_ratio(), right.as_integer_ratio()
    dividend, divisor = upper[0] * lower[1] * 10**_PLACES, upper[1] * lower[0]
    cut = abs(dividend) // abs(divisor)
    return Decimal(cut if (dividend < 0) == (divisor < 0) else -cut).scaleb(-_PLACES, _EXACT)


# --- functions --------------------------------------------------------------------------------------------------
# SPARQL's built-in functions over terms, by upper-case name; None stands for SPARQL's type error.
#
# A text function takes strings and language-tagged strings; its second argument is a plain string or has the first
# one's language. REGEX runs on RE2, so its time is linear in the text whatever the pattern.

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


# --- expressions ------------------------------------------------------------------------------------------------
# Evaluating an expression over bindings, by SPARQL 1.1's rules; None stands for an error.
#
# The laws: an expression is a function of its variables' bindings alone, so a condition may be tested as soon as they
# are all bound; errors follow the truth tables (`error || true` is true, `error && false` is false); an unbound
# variable is an error everywhere except under BOUND.
#
# An expression is flattened once into postfix order and run on a stack, so that depth costs no recursion.

Bindings = Mapping[Variable, Term]
Metrics = Callable[[Metric, Bindings], Term | None]  # the value of an `hg:` function under bindings

METRIC_TOLERANCE = 1e-9  # how far apart two floats may lie and still be equal, where a metric is compared


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression made ready to be evaluated many times."""

    expression: Expression
    variables: frozenset[Variable]
    _steps: tuple[tuple[Expression, int, float], ...] = field(repr=False)  # node, operands, tolerance; postfix

    @classmethod
    def of(cls, expression: Expression) -> Condition:
        names = frozenset(node for node in walk(expression) if isinstance(node, Variable))
        return cls(expression, names, _postfix(expression))

    def value(self, bindings: Bindings, metrics: Metrics | None = None, count: int | None = None) -> Term | None:
        stack: list[Term | None] = []
        for node, operands, tolerance in self._steps:
            if operands or not isinstance(node, (Term, Variable, Metric, Count)):
                taken = [stack.pop() for _ in range(operands)]
                stack.append(_apply(node, taken, tolerance))
            else:
                stack.append(_leaf(node, bindings, metrics, count))
        return stack[0]

    def holds(self, bindings: Bindings, metrics: Metrics | None = None, count: int | None = None) -> bool:
        """Whether the effective boolean value is true; an error is not."""
        result = self.value(bindings, metrics, count)
        return result is not None and effective_boolean(result) is True


def evaluate(
    expression: Expression, bindings: Bindings, *, metrics: Metrics | None = None, count: int | None = None
) -> Term | None:
    """The value of an expression; `metrics` answers `hg:` functions, `count` is COUNT(*)."""
    return Condition.of(expression).value(bindings, metrics, count)


def holds(
    expression: Expression, bindings: Bindings, *, metrics: Metrics | None = None, count: int | None = None
) -> bool:
    """Whether the expression's effective boolean value is true; an error is not."""
    return Condition.of(expression).holds(bindings, metrics, count)


def _postfix(expression: Expression) -> tuple[tuple[Expression, int, float], ...]:
    """The nodes such that operands stand before their operator and the first operand is taken from the stack first."""
    ordered: list[tuple[Expression, int, float]] = []
    stack = [expression]
    while stack:
        node = stack.pop()
        below = () if isinstance(node, Metric) else children(node)
        ordered.append((node, len(below), _tolerance(node)))
        stack.extend(reversed(below))
    return tuple(reversed(ordered))


def _tolerance(node: Expression) -> float:
    touched = isinstance(node, (Compare, In)) and any(isinstance(below, Metric) for below in walk(node))
    return METRIC_TOLERANCE if touched else 0.0


def _leaf(node: Expression, bindings: Bindings, metrics: Metrics | None, count: int | None) -> Term | None:
    if isinstance(node, Variable):
        return bindings.get(node)
    if isinstance(node, Metric):
        return metrics(node, bindings) if metrics else None
    if isinstance(node, Count):
        return None if count is None else literal(str(count), XSD_INTEGER)
    assert isinstance(node, Term)
    return node


def _apply(node: Expression, operands: list[Term | None], tolerance: float) -> Term | None:
    match node:
        case Call(name):
            return call(name, operands)
        case And():
            return truth(_all(_truths(operands)))
        case Or():
            return truth(_negated(_all(_negated(value) for value in _truths(operands))))
        case In(negated=negated):
            found = _among(operands, tolerance)
            return truth(_negated(found) if negated else found)
        case Not():
            return truth(_negated(next(_truths(operands))))
    known = [operand for operand in operands if operand is not None]
    return _strict(node, known, tolerance) if len(known) == len(operands) else None


def _strict(node: Expression, operands: list[Term], tolerance: float) -> Term | None:
    """Operators for which an error in an operand is an error of the whole."""
    match node:
        case Compare(symbol):
            return truth(compare(symbol, operands[0], operands[1], tolerance))
        case Arithmetic(symbol):
            return calculate(symbol, operands[0], operands[1])
        case _:
            assert isinstance(node, Negate)
            return negate(operands[0])


def _truths(operands: Iterable[Term | None]) -> Iterator[bool | None]:
    return (None if operand is None else effective_boolean(operand) for operand in operands)


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(values: Iterable[bool | None]) -> bool | None:
    """Three-valued AND: false wins over an error."""
    seen = set(values)
    if False in seen:
        return False
    return None if None in seen else True


def _among(operands: list[Term | None], tolerance: float) -> bool | None:
    """`x IN (a, b, …)` is `x = a || x = b || …`; an empty list is false whatever x is, unless x is an error."""
    sought, *choices = operands
    if sought is None:
        return None
    same = (None if choice is None else equal(sought, choice, tolerance) for choice in choices)
    return _negated(_all(_negated(value) for value in same))
