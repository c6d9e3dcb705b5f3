"""Predicates to code words in negation normal form.

The law: code holds for an event where the predicate is true, and not where it is false or unknown. NOT is pushed down
to the tests, where it asks for falsehood: in Kleene's logic NOT (p AND q) is true just where p or q is false. So NULL
holds in neither polarity, and with constants folded AND and OR are all that is left. The tree stays a tree: nothing is
multiplied out.

Groups are canonical: opened into groups of their own kind, each member once, the cheapest first, and those of one price
in the order of their bytes. So equal sets of members have equal code. Code is held in bytes, which are hashed and
compared fast; the first byte of an instruction tells its kind, since whatever Numba compiles for is little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator

from heliograph.errors import PredicateError
from heliograph.kernels import targeting_layout as layout
from heliograph.syntax.predicate_form import And, Atom, Constant, Not, Or, Predicate

Code = bytes
CodeOf = Callable[[Atom, bool], Code]  # the code that holds where an atom is true, or, negated, where it is false

_WORDS = struct.Struct("<ii")
_SIZE = _WORDS.size  # bytes of an instruction
_WORD = _SIZE // 2

# An instruction is two int32; a higher attribute, or place of a constant, is refused.
MOST_ATTRIBUTES, MOST_OPERANDS = 1 << 31 - layout.ATTRIBUTE_SHIFT, 1 << 31

HOLDS: Code = b""
FAILS: Code = _WORDS.pack(layout.OR, 0)

# What a test costs, roughly: a mask that is there, a search, several, a walk over cells, over bytes of text.
_COSTS = {layout.TRUTH: 0, layout.IS_NULL: 0, layout.WORD_EQ: 1, layout.NUMBER_EQ: 2, layout.NUMBER_BETWEEN: 4}
_COSTS |= dict.fromkeys((layout.NUMBER_GE, layout.NUMBER_LE, layout.NUMBER_NE), 3)
_COSTS |= dict.fromkeys((layout.WORD_IN, layout.NUMBER_IN), 5) | {layout.SLOW: 6}
_COSTS |= dict.fromkeys((layout.WORD_NE, layout.WORDS_WITHIN), 7)
_COSTS |= dict.fromkeys(range(layout.TEXT_GE, layout.TEXT_LIKE), 8)
_COSTS |= dict.fromkeys(range(layout.PAIR_EQ, layout.SLOW), 9) | {layout.TEXT_LIKE: 10}
_COSTS |= dict.fromkeys((layout.AND, layout.OR), 100)
_BY_BYTE = [_COSTS.get(byte & ~layout.NEGATIVE, 0) for byte in range(256)]


def normal(form: Predicate, code_of: CodeOf, negative: bool = False) -> Code:
    """The code that holds where the form is true; `negative`: where it is false."""
    if isinstance(form, Constant):
        return HOLDS if form.value is (not negative) else FAILS
    if isinstance(form, Not):
        return normal(form.operand, code_of, not negative)
    if isinstance(form, And | Or):
        parts = [normal(operand, code_of, negative) for operand in form.operands]
        return join(group_kind(form, negative), parts)
    return code_of(form, negative)


def group_kind(form: And | Or, negative: bool) -> int:
    """AND or OR; the negation of one is the other of negations."""
    return layout.AND if isinstance(form, And) is not negative else layout.OR


def instruction(op: int, attribute: int, operand: int, negative: bool = False) -> Code:
    """One test."""
    sign = layout.NEGATIVE if negative else 0
    try:
        return _WORDS.pack(op | sign | attribute << layout.ATTRIBUTE_SHIFT, operand)
    except struct.error:
        message = (
            f"the targeting of this engine has more than {MOST_ATTRIBUTES:,} attributes, or {MOST_OPERANDS:,} constants"
        )
        raise PredicateError("HG-490", message, fix="use fewer attributes, or several engines") from None


def join(kind: int, parts: Iterable[Code]) -> Code:
    """The AND or OR of codes, as the canonical group; a single member stands for itself."""
    members: set[Code] = set()
    deciding = FAILS if kind == layout.AND else HOLDS
    for part in parts:
        if part == deciding:
            return part
        if part and part[0] == kind:
            members.update(_members(part))
        elif part:
            members.add(part)
    if len(members) > 1:
        ordered = sorted(members)
        ordered.sort(key=_price)
        body = b"".join(ordered)
        return _WORDS.pack(kind, len(body) // _WORD) + body
    return members.pop() if members else (HOLDS if kind == layout.AND else FAILS)


def _price(code: Code) -> int:
    return _BY_BYTE[code[0]] + len(code)


def _members(group: Code) -> Iterator[Code]:
    place = _SIZE
    while place < len(group):
        end = place + _SIZE
        if group[place] in (layout.AND, layout.OR):
            end += _WORD * _WORDS.unpack_from(group, place)[1]
        yield group[place:end]
        place = end
