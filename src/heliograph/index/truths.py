"""Where a single test is true, or false: a comparison, a list, a function of one variable.

Tests of text are asked for by a key of the text (`index.words`), which texts may have that do not pass the test. What
has no variable is known at once. Anything else may be true of whatever the variables are bound to.
"""

from __future__ import annotations

from collections.abc import Callable

from heliograph.index.comparing import EVERYWHERE, LITERALS, MIRRORED, NAMES, NUMBERS, Lines, comparison
from heliograph.index.domains import Domain
from heliograph.index.lines import EXACT, WHOLE, complement, point
from heliograph.index.regions import ALWAYS, ANYTHING, NEVER, Box, Region, all_of, any_of
from heliograph.index.words import Piece, needle_key, regex_key
from heliograph.semantics.comparison import effective_boolean
from heliograph.semantics.expressions import evaluate
from heliograph.syntax.query import Call, Compare, Count, Expression, In, Metric, walk
from heliograph.terms import Term, Variable
from heliograph.values import XSD_STRING

Intern = Callable[[Term], int]

_TEXT: Lines = {Domain.TEXT: WHOLE}
_SPELLED: Lines = {domain: line for domain, line in EVERYWHERE.items() if domain != Domain.BLANK}  # what STR takes
_IRIS: Lines = {Domain.IRI: WHOLE}
_NO_IRIS: Lines = {domain: line for domain, line in EVERYWHERE.items() if domain != Domain.IRI}
_NOTHING: Lines = {}
_KINDS = {"ISIRI": (_NO_IRIS, _IRIS), "ISLITERAL": (NAMES, LITERALS), "BOUND": (_NOTHING, EVERYWHERE)}  # false, true
_PIECES = {"CONTAINS": Piece.ANYWHERE, "STRSTARTS": Piece.START, "STRENDS": Piece.END}

# Effective boolean values, false and true: of text only plain strings have one, and of those one is false.
_TRUTHS: tuple[Lines, Lines] = (
    _TEXT | NUMBERS | {Domain.BOOLEAN: point(0.0, EXACT), Domain.NUMBER: point(0.0, EXACT), Domain.NAN: WHOLE},
    _TEXT | NUMBERS | {Domain.BOOLEAN: point(1.0, EXACT), Domain.NUMBER: complement(point(0.0, EXACT))},
)


def box_of(expression: Expression, wanted: bool, intern: Intern) -> Box:
    """Where a test is true, or with `wanted` false where it is false."""
    match expression:
        case Compare():
            return _compared(expression, wanted, intern)
        case In(operand) if _is_subject(operand):
            return _listed(expression, wanted, intern)
        case Call(name, (Variable() as variable,)) if name in _KINDS:
            return Box({variable: Region(_KINDS[name][wanted])})
        case Call(name, (text, Term() as needle)) if name in _PIECES:
            return _tested(text, needle_key(needle.value, _PIECES[name]), wanted)
        case Call("REGEX", (text, Term() as pattern, *flags)):
            return _tested(text, None if flags else regex_key(pattern.value), wanted)
        case Variable():
            return Box({expression: Region(_TRUTHS[wanted])}, exact=False)
    return _constant(expression, wanted)


# --- comparisons ------------------------------------------------------------------------------------------------


def _compared(test: Compare, wanted: bool, intern: Intern) -> Box:
    symbol, subject, constant = test.operator, test.left, test.right
    if not _is_subject(subject):
        symbol, subject, constant = MIRRORED[symbol], constant, subject
    if not _is_subject(subject):
        return _constant(test, wanted)
    if not isinstance(constant, Term):
        return _computed(symbol, subject, constant, wanted, intern)
    if isinstance(subject, Variable):
        lines, exact = comparison(symbol, constant, wanted, intern)
        return Box({subject: Region(lines)}, exact)
    same = constant.datatype == XSD_STRING and symbol == ("=" if wanted else "!=")
    return _tested(subject, needle_key(constant.value, Piece.WHOLE), True) if same else ANYTHING


def _computed(symbol: str, subject: Expression, other: Expression, wanted: bool, intern: Intern) -> Box:
    """A comparison with what is no constant, but may amount to one."""
    if not _is_constant(other):
        return ANYTHING
    term = evaluate(other, {})
    return NEVER if term is None else _compared(Compare(symbol, subject, term), wanted, intern)


def _listed(test: In, wanted: bool, intern: Intern) -> Box:
    """`x IN (a, b)` is `x = a || x = b`; nothing is in an empty list, but STR may be an error."""
    found = wanted != test.negated
    if not test.choices and not found and not isinstance(test.operand, Variable):
        return ANYTHING
    boxes = [_compared(Compare("=", test.operand, choice), found, intern) for choice in test.choices]
    return any_of(boxes) if found else all_of(boxes)


def _is_subject(expression: Expression) -> bool:
    match expression:
        case Variable() | Call("STR", (Variable(),)):
            return True
    return False


# --- texts and constants ----------------------------------------------------------------------------------------


def _tested(text: Expression, key: int | None, wanted: bool) -> Box:
    """A test that text with this key alone can pass."""
    match text:
        case Variable() as variable:
            able = _TEXT
        case Call("STR", (Variable() as variable,)):
            able = _SPELLED
        case _:
            return ANYTHING
    return Box({variable: Region(able) if key is None or not wanted else Region({}, frozenset((key,)))}, exact=False)


def _constant(expression: Expression, wanted: bool) -> Box:
    """What no variable decides."""
    if not _is_constant(expression):
        return ANYTHING
    term = evaluate(expression, {})
    return ALWAYS if term is not None and effective_boolean(term) is wanted else NEVER


def _is_constant(expression: Expression) -> bool:
    return not any(isinstance(node, (Variable, Metric, Count)) for node in walk(expression))
