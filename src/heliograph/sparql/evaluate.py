"""What an expression means: SPARQL 1.1's comparisons, arithmetic and functions over terms; None stands for an error."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from functools import lru_cache
from typing import Any

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
    variables_in,
    walk,
)
from heliograph.terms import RDF_LANG_STRING, Term, TermKind, Variable, iri, literal, value_of
from heliograph.values import ATTO, NUMERIC, XSD_BOOLEAN, XSD_INTEGER, XSD_STRING, Instant, Kind, Value, to_double

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


Pair = tuple[Any, Any]  # two Python values of one kind that Python's own operators compare as SPARQL wants


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
        return pair[0] == pair[1] or bool(tolerance and _close(pair, tolerance))
    if one.kind is not other.kind:
        return None
    if isinstance(one.value, Instant) and isinstance(other.value, Instant):
        # A dateTime without a zone is never known to equal one with a zone, and counts as different from it.
        return (one.value.zone is None) == (other.value.zone is None) and one.value.atto == other.value.atto
    return one.value == other.value


def effective_boolean(term: Term) -> bool | None:
    """SPARQL's effective boolean value: of booleans, numbers and plain strings; anything else is an error."""
    if term.datatype == XSD_STRING:
        return term.value != ""
    value = value_of(term)
    if value is None or isinstance(value.value, Instant):
        return None
    return bool(value.value) and value.value == value.value  # not-a-number is false


def promote(left: Value, right: Value) -> tuple[Kind, Pair]:
    """Two numbers in the wider of their kinds: integer < decimal < float < double."""
    kind = max(left.kind, right.kind)
    convert = _CONVERSIONS[kind]
    return kind, (convert(left.value), convert(right.value))


def _ordered(left: Term, right: Term) -> Pair | None:
    """The two as ordered Python values, or None where `<` is an error."""
    one, other = value_of(left), value_of(right)
    if one is None or other is None:
        texts = left.datatype in _TEXTS and left[2:] == right[2:]
        return (left.value, right.value) if texts else None
    if one.kind in NUMERIC and other.kind in NUMERIC:
        return promote(one, other)[1]
    if one.kind is not other.kind:
        return None
    if isinstance(one.value, Instant) and isinstance(other.value, Instant):
        here, there = one.value, other.value
        unsure = (here.zone is None) != (there.zone is None) and abs(here.atto - there.atto) <= ZONE_DOUBT
        return None if unsure else (here.atto, there.atto)
    return one.value, other.value


def _close(pair: Pair, tolerance: float) -> bool:
    left, right = pair
    floats = isinstance(left, float) and isinstance(right, float)
    return floats and math.isclose(left, right, rel_tol=0.0, abs_tol=tolerance)


_CONVERSIONS: dict[Kind, Callable[[Any], Any]] = {
    Kind.INTEGER: int,
    Kind.DECIMAL: Decimal,
    Kind.FLOAT: lambda number: values.to_float32(to_double(number)),
    Kind.DOUBLE: to_double,
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
        return _divide(kind, *pair)
    apply = _DECIMAL[symbol] if kind is Kind.DECIMAL else _PLAIN[symbol]
    return number(kind, apply(*pair))


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
    return Term(TermKind.LITERAL, values.canonical(Value(kind, result)), values.DATATYPE_OF[kind])


def _divide(kind: Kind, left: Any, right: Any) -> Term | None:
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        if right:
            return number(kind, left / right)
        return number(kind, math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left))
    if not right:
        return None
    upper, lower = left.as_integer_ratio(), right.as_integer_ratio()
    dividend, divisor = upper[0] * lower[1] * 10**_PLACES, upper[1] * lower[0]
    cut = abs(dividend) // abs(divisor)
    return number(Kind.DECIMAL, Decimal(cut if (dividend < 0) == (divisor < 0) else -cut).scaleb(-_PLACES, _EXACT))


# --- regular expressions ----------------------------------------------------------------------------------------
# Regular expressions of interests: RE2, which matches in linear time, with `i` as the only flag.
#
# RE2 has no backreferences and no look-around; both are named when a pattern uses them. Its time is linear in the
# text, but a step costs up to as much as the pattern is large once its automaton no longer fits its memory, hence the
# limits.

FLAGS = ("", "i")

# Instructions of the compiled pattern: about 1,000 words as alternatives. A pattern of this size takes 2 s on a text of
# 1 MB at worst; `[ab].?(a.?b?){600}b{40}`, of 7,254, took 228 s with the 8 MB of memory that are RE2's default.
MAX_PROGRAM = 10_000
_LARGE = 1_000  # instructions from which on RE2 may have more memory than its default of 8 MB
_MEMORY = 64 << 20  # bytes, of which a pattern takes what the texts that it meets make it take

_BEYOND = {
    "lookahead": re.compile(r"\(\?[=!]"),
    "lookbehind": re.compile(r"\(\?<[=!]"),
    "atomic group": re.compile(r"\(\?>"),
    "backreference": re.compile(r"(?<!\\)(?:\\\\)*\\(?:[1-9]|k[<{'])"),
}


def compile_regex(pattern: str, flags: str = "") -> Any:
    """The compiled pattern; raises `re2.error`. Use `.search`, as SPARQL's REGEX matches anywhere in the text."""
    found = _compile(pattern, flags)
    return found if found.programsize <= _LARGE else _compile_large(pattern, flags)


@lru_cache(maxsize=4096)
def _compile(pattern: str, flags: str, memory: int | None = None) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = "i" not in flags
    options.never_capture = True  # nobody asks for groups, and 20,000 of them took 4.8 GB
    if memory is not None:
        options.max_mem = memory
    return re2.compile(pattern, options)


@lru_cache(maxsize=512)  # so that they take no more memory than 4,096 of the others may; to compile one takes ms
def _compile_large(pattern: str, flags: str) -> Any:
    return _compile.__wrapped__(pattern, flags, _MEMORY)


@lru_cache(maxsize=65536)
def regex_problem(pattern: str, flags: str = "") -> tuple[str, str] | None:
    """What is wrong with a pattern, partly in RE2's words, and how to mend it; None when it may be used."""
    import re2

    try:
        size = _compile(pattern, flags).programsize
    except re2.error as error:
        words = error.args[0] if error.args else ""
        said = words.decode(errors="replace") if isinstance(words, bytes) else str(words)
        beyond = " and no ".join(name for name, sign in _BEYOND.items() if sign.search(pattern))
        lacking = f"RE2 has no {beyond}: " if beyond else ""
        fix = "patterns follow the syntax of RE2, which matches in linear time"
        return f"not a regular expression: {lacking}{said}", fix
    if size > MAX_PROGRAM:
        message = f"a regular expression of {size:,} steps, written out; at most {MAX_PROGRAM:,} are taken"
        return message, "shorten it, lower its repetitions {n}, or use several conditions"
    return None


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


def _text_test(test: Callable[[str, str], bool]) -> Callable[[Term, Term], Term | None]:
    def call(text: Term, part: Term) -> Term | None:
        compatible = text.datatype in _TEXTS and (
            part.datatype == XSD_STRING or (part.datatype == RDF_LANG_STRING and part.language == text.language)
        )
        return truth(test(text.value, part.value)) if compatible else None

    return call


def _regex(text: Term, pattern: Term, flags: Term | None = None) -> Term | None:
    plain = pattern.datatype == XSD_STRING and (flags is None or flags.datatype == XSD_STRING)
    if not plain or text.datatype not in _TEXTS:
        return None
    flag = flags.value if flags else ""
    if flag not in FLAGS or regex_problem(pattern.value, flag) is not None:
        return None
    return truth(compile_regex(pattern.value, flag).search(text.value) is not None)


_FUNCTIONS: dict[str, Callable[..., Term | None]] = {
    "STR": lambda term: None if term.kind is TermKind.BLANK else literal(term.value),
    "LANG": lambda term: literal(term.language) if term.is_literal else None,
    "DATATYPE": lambda term: iri(term.datatype) if term.is_literal else None,
    "ISIRI": lambda term: truth(term.kind is TermKind.IRI),
    "ISLITERAL": lambda term: truth(term.is_literal),
    "CONTAINS": _text_test(operator.contains),
    "STRSTARTS": _text_test(str.startswith),
    "STRENDS": _text_test(str.endswith),
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
        return cls(expression, frozenset(variables_in(expression)), _postfix(expression))

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
    if len(known) < len(operands):
        return None  # of the others an error in an operand is an error of the whole
    match node:
        case Compare(symbol):
            return truth(compare(symbol, known[0], known[1], tolerance))
        case Arithmetic(symbol):
            return calculate(symbol, known[0], known[1])
        case _:
            assert isinstance(node, Negate)
            return negate(known[0])


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
