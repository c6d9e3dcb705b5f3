"""Predicates to code: negation normal form, instructions, each different code once, and facts code for most of them."""

from __future__ import annotations

import logging
import math
import operator
import re
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from heliograph.compiled.growing import Pool, fixed
from heliograph.errors import PredicateError
from heliograph.predicate import layout
from heliograph.predicate.attributes import LABELS, CellRoom, NameTable, Tree, event_cells, utf8
from heliograph.predicate.evaluate import Attributes, evaluate
from heliograph.predicate.form import (
    And,
    Atom,
    Between,
    Comparison,
    Constant,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Pair,
    Path,
    Predicate,
    Scalar,
    Truth,
)
from heliograph.predicate.layout import (
    Board,
    Cells,
    Evaluation,
    Facts,
    FactsCode,
    FactsOrder,
    Int32s,
    Job,
    Names,
    Programs,
    Translation,
    board_sizes,
    make_board,
    make_facts,
)
from heliograph.predicate.parser import NUMBER, STRING, PredicateShapes, parse_predicate

# --- predicates to code words in negation normal form -----------------------------------------------------------------
#
# The law: code holds for an event where the predicate is true, and not where it is false or unknown. NOT is pushed
# down to the tests, where it asks for falsehood: in Kleene's logic NOT (p AND q) is true just where p or q is false.
# So NULL holds in neither polarity, and with constants folded AND and OR are all that is left. The tree stays a tree:
# nothing is multiplied out.
#
# Groups are canonical: opened into groups of their own kind, each member once, the cheapest first, and those of one
# price in the order of their bytes. So equal sets of members have equal code. Code is held in bytes, which are hashed
# and compared fast; the first byte of an instruction tells its kind, since whatever Numba compiles for is little-
# endian.

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


# --- Tests that no instruction decides exactly, such as ILIKE or a range of texts: Python decides them for each event

_LOG = logging.getLogger("heliograph")
_TRUTHS = {True: 1, False: 0, None: -1}


class TargetingFailed(Exception):
    """Expressions, by number, that raised when they were asked about an event, each with what it raised."""

    def __init__(self, failures: Mapping[int, Exception]) -> None:
        super().__init__(f"expressions {sorted(failures)}")
        self.failures = dict(failures)

    def log(self) -> None:
        """Logs each error, with where it came from; what has the targeting may be much, and is in `rejected`."""
        for error in {id(error): error for error in self.failures.values()}.values():
            _LOG.warning("targeting failed and is put aside: %s, %s", type(error).__name__, error, exc_info=error)


# --- atomic predicates to instructions --------------------------------------------------------------------------------
#
# The law: the code of an atom holds where `evaluate` gives True, the negative one where it gives
# False. On a list an atom as a whole is two-valued, so x <> c is a test of its own and not the negation of x = c: a
# list can satisfy both. An atom that no element can satisfy, such as x = NULL, is false on a list and often unknown
# elsewhere; its negation needs `_is_list`: only a list is known to be none of no numbers and none of no strings.
#
# What no combination of instructions decides is left to Python (SLOW): ILIKE; a range of texts, which one element of
# a list has to satisfy whole; an integer constant that no float equals; x < c and x > c where odd integers, which lie
# between floats, exist beside c.

_DENSE = 2.0**53  # below it every integer is a float
_NUMBER_OPS = {
    "=": layout.NUMBER_EQ,
    "<>": layout.NUMBER_NE,
    "<": layout.NUMBER_LE,
    "<=": layout.NUMBER_LE,
    ">": layout.NUMBER_GE,
    ">=": layout.NUMBER_GE,
}
_TEXT_OPS = {"<": layout.TEXT_LT, "<=": layout.TEXT_LE, ">": layout.TEXT_GT, ">=": layout.TEXT_GE}
_PAIR_OPS = {
    "=": layout.PAIR_EQ,
    "<>": layout.PAIR_NE,
    "<": layout.PAIR_LT,
    "<=": layout.PAIR_LE,
    ">": layout.PAIR_GT,
    ">=": layout.PAIR_GE,
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TOWARDS = {"<": -math.inf, ">": math.inf}


class Assembler:
    """Gives atoms their code; numbers, sets, texts and slow tests are kept once each."""

    def __init__(self, names: NameTable) -> None:
        self.names = names
        self.numbers = Pool(np.float64)
        self.sets = Pool(np.int32)
        self.texts = Pool(np.uint8)
        self.slow: list[Atom] = []  # tests that Python decides, each once
        self._slow_numbers: dict[Atom, int] = {}

    def code(self, atom: Atom, negative: bool) -> Code:
        """The code that holds where the atom is true; `negative`: where it is false."""
        return _RULES[type(atom)](self, atom, negative)

    def words_within(self, path: Path, texts: Iterable[str]) -> Code:
        """Holds where every string of the attribute is one of these."""
        attribute = self.names.attribute(path)
        return instruction(layout.WORDS_WITHIN, attribute, self._word_set(attribute, texts))

    def words_in(self, path: Path, texts: Iterable[str], negative: bool = False) -> Code:
        """Some string of the attribute is one of these."""
        attribute, chosen = self.names.attribute(path), set(texts)
        if len(chosen) == 1:
            return instruction(layout.WORD_EQ, attribute, self.names.word(attribute, chosen.pop()), negative)
        return instruction(layout.WORD_IN, attribute, self._word_set(attribute, chosen), negative)

    def _word_set(self, attribute: int, texts: Iterable[str]) -> int:
        words = sorted({self.names.word(attribute, text) for text in texts})
        return self.sets.place(struct.pack(f"<{len(words) + 1}i", len(words), *words))

    def _numbers_in(self, path: Path, values: Iterable[float], negative: bool) -> Code:
        chosen = sorted(set(values))
        if len(chosen) == 1:
            return self._number(layout.NUMBER_EQ, path, chosen, negative)
        return self._number(layout.NUMBER_IN, path, (len(chosen), *chosen), negative)

    def _number(self, op: int, path: Path, constants: Sequence[float], negative: bool) -> Code:
        place = self.numbers.place(struct.pack(f"<{len(constants)}d", *constants))
        return instruction(op, self.names.attribute(path), place, negative)

    def _text(self, op: int, path: Path, text: bytes, negative: bool) -> Code:
        return instruction(op, self.names.attribute(path), self.texts.number(text), negative)

    def _slow(self, atom: Atom, negative: bool) -> Code:
        return instruction(layout.SLOW, 0, self.slow_number(atom), negative)

    def slow_number(self, test: Atom) -> int:
        """The number of a test that Python decides, which is there from now on."""
        number = self._slow_numbers.setdefault(test, len(self.slow))
        if number == len(self.slow):
            self.slow.append(test)
        return number

    def _is_list(self, path: Path) -> Code:
        return join(layout.AND, [self._numbers_in(path, (), True), self.words_in(path, (), True)])

    def _compare(self, atom: Comparison, negative: bool) -> Code:
        if atom.value is None:
            return self._is_list(atom.attribute) if negative else FAILS
        if isinstance(atom.value, str):
            return self._compare_text(atom.attribute, atom.operator, atom.value, negative)
        bounds = _exact((atom.value,))
        strict = atom.operator in _TOWARDS
        if bounds is None or (strict and abs(bounds[0]) >= _DENSE):
            return self._slow(atom, negative)
        if strict:
            bounds = [math.nextafter(bounds[0], _TOWARDS[atom.operator]) + 0.0]
        return self._number(_NUMBER_OPS[atom.operator], atom.attribute, bounds, negative)

    def _compare_text(self, path: Path, operator: str, text: str, negative: bool) -> Code:
        if operator in _TEXT_OPS:
            return self._text(_TEXT_OPS[operator], path, utf8(text), negative)
        if operator == "=":
            return self.words_in(path, (text,), negative)
        attribute = self.names.attribute(path)
        return instruction(layout.WORD_NE, attribute, self.names.word(attribute, text), negative)

    def _in(self, atom: In, negative: bool) -> Code:
        """On one value a constant of another kind makes NOT IN unknown, on a list it does not: an AND of both kinds'
        negations says just that."""
        texts = [value for value in atom.values if isinstance(value, str)]
        numbers = _exact(atom.values)
        if numbers is None or not atom.values:
            return self._slow(atom, negative)
        mixed = 0 < len(numbers) < len(atom.values) or 0 < len(texts) < len(atom.values)
        both = negative and (mixed or not (numbers or texts))
        parts = [self._numbers_in(atom.attribute, numbers, negative)] if numbers or both else []
        parts += [self.words_in(atom.attribute, texts, negative)] if texts or both else []
        return join(layout.AND if negative else layout.OR, parts)

    def _between(self, atom: Between, negative: bool) -> Code:
        low, high = atom.low, atom.high
        if isinstance(low, str) and isinstance(high, str):
            if low < high:
                return self._slow(atom, negative)
            return self.words_in(atom.attribute, (low,) if low == high else (), negative)
        bounds = _exact((low, high))
        if bounds is None:
            return self._slow(atom, negative)
        if len(bounds) == 2:
            return self._number(layout.NUMBER_BETWEEN, atom.attribute, bounds, negative)
        return self._between_kinds(atom) if negative else FAILS

    def _between_kinds(self, atom: Between) -> Code:
        """Where a range whose bounds are of two kinds is false: on lists, and beyond one bound."""
        beyond = [
            self._compare(Comparison(atom.attribute, operator, bound), True)
            for operator, bound in ((">=", atom.low), ("<=", atom.high))
            if bound is not None
        ]
        return join(layout.OR, [self._is_list(atom.attribute), *beyond])

    def _like(self, atom: Like, negative: bool) -> Code:
        if atom.pattern is None:
            return self._is_list(atom.attribute) if negative else FAILS
        if atom.fold:
            return self._slow(atom, negative)
        pattern = _pattern(atom.pattern, atom.escape)
        if isinstance(pattern, str):
            return self.words_in(atom.attribute, (pattern,), negative)
        return self._text(layout.TEXT_LIKE, atom.attribute, pattern, negative)

    def _truth(self, atom: Truth, negative: bool) -> Code:
        return instruction(layout.TRUTH, self.names.attribute(atom.attribute), int(atom.wanted), negative)

    def _is_null(self, atom: IsNull, negative: bool) -> Code:
        return instruction(layout.IS_NULL, self.names.attribute(atom.attribute), 0, negative)

    def _pair(self, atom: Pair, negative: bool) -> Code:
        """a < b and b > a are one test."""
        left, right = self.names.attribute(atom.left), self.names.attribute(atom.right)
        if left <= right:
            return instruction(_PAIR_OPS[atom.operator], left, right, negative)
        return instruction(_PAIR_OPS[_MIRRORED[atom.operator]], right, left, negative)


_RULES: dict[type, Callable[[Assembler, Any, bool], Code]] = {
    Comparison: Assembler._compare,
    In: Assembler._in,
    Between: Assembler._between,
    Like: Assembler._like,
    Truth: Assembler._truth,
    IsNull: Assembler._is_null,
    Pair: Assembler._pair,
}


def _exact(values: Iterable[Scalar]) -> list[float] | None:
    """The floats that equal the numbers among these, zero without a sign; None where one has no such float."""
    numbers = [value for value in values if isinstance(value, int | float)]
    try:
        floats = [float(number) + 0.0 for number in numbers]
    except OverflowError:
        return None
    return floats if floats == numbers else None


def _pattern(pattern: str, escape: str | None) -> bytes | str:
    """A LIKE pattern with its wildcards as bytes of their own; a text where it has none."""
    pieces: list[bytes] = []
    fixed: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character != escape and character in _WILD:
            pieces += [utf8("".join(fixed)), _WILD[character]]
            fixed.clear()
        else:
            fixed.append(next(characters, "") if character == escape else character)
    if not pieces:
        return "".join(fixed)
    return b"".join([*pieces, utf8("".join(fixed))])


_WILD = {"%": bytes([layout.ANY_TEXT]), "_": bytes([layout.ANY_CHARACTER])}


# --- many SQL conditions to code at once: atoms and the skeletons around them are each parsed once --------------------
#
# A condition is split into its atoms, such as `age BETWEEN 20 AND 30`, and the rest: its skeleton of AND, OR, NOT and
# parentheses. Conditions that people and programs write in bulk have few skeletons, and atoms that come again and
# again; shapes of whole conditions hardly ever repeat (of 20,000 drawn for [B] section 4.2, 26 did). So the code of
# an atom is remembered by its text, and a skeleton is a function from the codes of its atoms to that of the whole.
#
# The law: compile(text) gives the code of parse_predicate(text), or its error. The pattern of atoms only proposes.
# What it finds is parsed by itself; the rest has to be made of AND, OR, NOT, parentheses and white space, and the
# skeleton has to parse with a plain name in place of each atom. Since these tokens never run into one another, the
# parser then reads the whole as it read the parts. Whatever falls short of this is parsed as one, and so is a text
# whose skeleton comes for the first time, because to take it apart costs two parses.

_LONGEST = 10_000  # characters; a pattern that proposes may look at a text more often than once
_MOST_ATOMS = 100_000  # remembered

_NAME = r'(?:[^\W\d][\w$]*+|"(?>[^"]*(?:""[^"]*)*)")'
_PATH = rf"{_NAME}(?:\.{_NAME})*+"
_SIGN = r"\s*+(?:<>|!=|<=|>=|[=<>])\s*+"
_CONSTANT = rf"(?:[+-]?{NUMBER}|{STRING}|(?:NULL|TRUE|FALSE)(?![\w$]))"
_ATOM = re.compile(
    rf"((?<![\w$])(?:[+-]?{NUMBER}{_SIGN}{_PATH}"
    rf"|(?!(?:AND|OR|NOT)(?![\w$])){_PATH}"
    rf"(?:{_SIGN}(?:{_CONSTANT}|{_PATH})"
    rf"|\s++(?:NOT\s++)?IN\s*+\(\s*+{_CONSTANT}(?:\s*+,\s*+{_CONSTANT})*+\s*+\)"
    rf"|\s++(?:NOT\s++)?BETWEEN\s++{_CONSTANT}\s++AND\s++{_CONSTANT}"
    rf"|\s++(?:NOT\s++)?I?LIKE\s*+{STRING}(?:\s*+ESCAPE\s*+{STRING})?"
    r"|\s++IS\s++(?:NOT\s++)?NULL(?![\w$]))?))",
    re.IGNORECASE,
)
_BETWEEN_ATOMS = re.compile(r"(?:\s|[()]|(?:AND|OR|NOT)(?![\w$]))*", re.IGNORECASE)

Fill = Callable[[list[Code]], Code]


class _Skeleton:
    """`signs` tells which atoms stand negated; `fill` makes the whole of their codes."""

    __slots__ = ("fill", "signs")

    def __init__(self, form: Predicate, atoms: int) -> None:
        self.signs = [False] * atoms
        self.fill = self._filler(form, False)

    def _filler(self, form: Predicate, negative: bool) -> Fill:
        if isinstance(form, Not):
            return self._filler(form.operand, not negative)
        if isinstance(form, And | Or):
            return _joiner(group_kind(form, negative), [self._filler(part, negative) for part in form.operands])
        assert isinstance(form, Truth)
        number = int(form.attribute[0])
        self.signs[number] = negative
        return operator.itemgetter(number)


def _joiner(kind: int, fillers: list[Fill]) -> Fill:
    return lambda codes: join(kind, [fill(codes) for fill in fillers])


class Skeletons:
    """The skeletons and atoms met so far."""

    def __init__(self, assembler: Assembler) -> None:
        self._code = assembler.code
        self._shapes = PredicateShapes()
        self._skeletons: dict[tuple[str, ...], _Skeleton | None] = {}
        self._met: set[tuple[str, ...]] = set()  # once
        self._positive: dict[str, Code] = {}
        self._negative: dict[str, Code] = {}

    def __len__(self) -> int:
        """How much is remembered."""
        return len(self._met) + len(self._skeletons) + len(self._positive) + len(self._negative)

    def compile(self, text: str | None) -> Code | PredicateError:
        """The code of a condition, or its error."""
        if text is None or not text.strip():
            return HOLDS
        try:
            code = self._composed(text) if len(text) <= _LONGEST else None
            return normal(parse_predicate(text), self._code) if code is None else code
        except PredicateError as error:
            return error

    def _composed(self, text: str) -> Code | None:
        parts = _ATOM.split(text)
        between, atoms = tuple(parts[::2]), parts[1::2]
        skeleton = self._skeleton(between)
        codes = None if skeleton is None else self._codes(atoms, skeleton.signs)
        return None if skeleton is None or codes is None else skeleton.fill(codes)

    def _skeleton(self, between: tuple[str, ...]) -> _Skeleton | None:
        if between not in self._skeletons:
            if between not in self._met:
                self._met.add(between)
                return None
            self._met.remove(between)
            self._skeletons[between] = _skeleton(between)
        return self._skeletons[between]

    def _codes(self, atoms: Sequence[str], signs: list[bool]) -> list[Code] | None:
        codes: list[Code] = []
        for atom, negative in zip(atoms, signs, strict=True):
            known = self._negative if negative else self._positive
            code = known.get(atom)
            if code is None:
                form = self._shapes.compile(atom)
                if isinstance(form, PredicateError):
                    return None
                code = normal(form, self._code, negative)
                if len(known) >= _MOST_ATOMS:
                    known.clear()
                known[atom] = code
            codes.append(code)
        return codes


def _skeleton(between: tuple[str, ...]) -> _Skeleton | None:
    """None where what lies between the atoms cannot be read by itself."""
    if not all(map(_BETWEEN_ATOMS.fullmatch, between)):
        return None
    spelled = "".join(f'{rest} "{number}" ' for number, rest in enumerate(between[:-1])) + between[-1]
    try:
        return _Skeleton(parse_predicate(spelled), len(between) - 1)
    except PredicateError:
        return None


# --- facts code as it grows with the expressions: see `layout` for what it is -----------------------------------------
#
# The law: a snapshot covers every expression that the programs had when it was made, and stays as it was. What came
# since the last sorting is asked for one by one, so it is sorted again when that is an eighth of all.

_LOOSE = 256  # so many later bounds or sets are always put up with
_BATCH = 2048  # expressions


class FactsSnapshot(NamedTuple):
    coded: FactsCode
    order: FactsOrder
    facts: int


class FactsStore:
    """The facts code of all expressions of one store. One writer."""

    def __init__(self) -> None:
        self._sizes = np.array([0, 0, 0, 0, 0, layout.FIRST_FACT], np.int64)
        self._arrays = layout.zeros(FactsCode, 0, 0, 0, 0, 0, 0, 0, 0, (0, 2), 0)
        self._bound_slots = np.full(2, -1, np.int32)
        self._set_facts = np.zeros(0, np.int32)
        self._order = _sort(self._cut(), np.zeros(0, np.int32))

    def snapshot(self, programs: Programs, names: Names, attributes: int) -> FactsSnapshot:
        """Facts code for these programs, which hold at least all earlier ones."""
        from heliograph.predicate.kernels import translate

        last = len(programs.starts) - 1
        grows = self._sizes[layout.EXPRESSIONS] < last
        while (done := int(self._sizes[layout.EXPRESSIONS])) < last:
            # Some at a time: room for all that many could need would be several times what they do need.
            part = programs._replace(starts=programs.starts[: min(last, done + _BATCH) + 1])
            self._make_room(part, len(names.word_attributes), attributes)
            translate(part, self._translation())
        coded = self._cut()
        if grows:
            bounds, sets = len(coded.bounds), len(coded.word_sets)
            loose = bounds - len(self._order.order), sets - self._order.set_count
            if loose[0] > _LOOSE + bounds // 8 or loose[1] > _LOOSE + sets // 8:
                self._order = _sort(coded, programs.sets)
        return FactsSnapshot(fixed(coded), self._order, int(self._sizes[layout.FACTS]))

    @property
    def nbytes(self) -> int:
        arrays = (*self._arrays, *self._order[:4], self._bound_slots, self._set_facts)
        return sum(array.nbytes for array in arrays)

    def _translation(self) -> Translation:
        return Translation(self._sizes, self._arrays, self._bound_slots, self._set_facts)

    def _cut(self) -> FactsCode:
        """The arrays as far as they are in use; those in which later expressions may write are copied."""
        expressions, words, bounds, word_sets, bound_sets, _ = self._sizes.tolist()
        ends = (expressions, words, bounds, bounds, bounds, bounds, None, None, word_sets, bound_sets)
        whole: Any = self._arrays
        parts = FactsCode(*(array[:end] for array, end in zip(whole, ends, strict=True)))
        changing = ("equal_facts", "word_facts", "attribute_facts")
        return parts._replace(**{name: getattr(parts, name).copy() for name in changing})

    def _make_room(self, programs: Programs, words: int, attributes: int) -> None:
        """For all that the new expressions can need: their tests, their groups, and the members of their sets."""
        first = int(self._sizes[layout.EXPRESSIONS])
        new = programs.code[programs.starts[first] : programs.starts[-1]].reshape(-1, 2)
        ops = new[:, 0] & 0x7F
        listed = programs.numbers[new[ops == layout.NUMBER_IN, 1]]
        bounds = int(self._sizes[layout.BOUNDS] + 2 * (ops <= layout.NUMBER_IN).sum() + listed.sum())
        room = (
            len(programs.starts) - 1,
            int(self._sizes[layout.WORDS]) + 3 * len(new) + 4 * (len(programs.starts) - 1 - first),
            *(bounds, bounds, bounds, bounds, words, attributes),
            int(self._sizes[layout.WORD_SETS] + (ops == layout.WORD_IN).sum()),
            int(self._sizes[layout.BOUND_SETS] + listed.sum() + 2 * len(listed)),
        )
        filled = (0, 0, 0, 0, 0, 0, -1, -1, 0, 0)
        self._arrays = FactsCode(*map(_grown, self._arrays, room, filled))
        self._set_facts = _grown(self._set_facts, len(programs.sets), -1)
        if 2 * bounds > len(self._bound_slots):
            from heliograph.predicate.kernels import enter

            self._bound_slots = np.full(1 << (2 * bounds).bit_length(), -1, np.int32)
            enter(self._translation())


def _grown(array: Any, size: int, filled: int) -> Any:
    """At least this long; twice as long at once, so that little by little costs no more."""
    if size <= len(array):
        return array
    shape = (max(size, 2 * len(array)), *array.shape[1:])
    room = np.full(shape, filled, array.dtype) if filled else np.zeros(shape, array.dtype)  # not touched until used
    room[: len(array)] = array
    return room


def _sort(coded: FactsCode, sets: Int32s) -> FactsOrder:
    order = np.lexsort((coded.bounds, coded.bound_attributes)).astype(np.int32)
    attributes = np.arange(int(coded.bound_attributes.max(initial=-1)) + 2)
    ranges = np.searchsorted(coded.bound_attributes[order], attributes).astype(np.int64)
    starts, facts = coded.word_sets[:, 0].astype(np.int64), coded.word_sets[:, 1]
    sizes = sets[starts].astype(np.int64)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    words, facts = sets[np.repeat(starts + 1, sizes) + within].astype(np.int64), np.repeat(facts, sizes)
    by_word = np.argsort(words, kind="stable")
    set_ranges = np.searchsorted(words[by_word], np.arange(int(words.max(initial=-1)) + 2)).astype(np.int64)
    return fixed(FactsOrder(order, ranges, facts[by_word], set_ranges, len(coded.word_sets)))


# --- compiled targeting: expressions by number, each different code once ----------------------------------------------
#
# The laws: an expression's number says what it accepts, and equal code has one number; numbers are given once and
# never taken back, so that a snapshot stays valid while the one writer adds more; `add_many` gives what `add` would
# give for each text by itself.

_REMEMBERED = 2000  # skeletons and atoms kept from call to call, so that a single change costs no more than one in bulk


class Compiled(NamedTuple):
    """All that kernels need to ask expressions."""

    programs: Programs
    names: Names
    facts: FactsSnapshot
    attributes: int  # how many there were


class Parts(NamedTuple):
    """The holdings of a store: expressions, the constants that they refer to, and the tests that Python decides."""

    expressions: Pool
    numbers: Pool
    sets: Pool
    texts: Pool
    slow: Sequence[Atom]


class Targeting:
    """Expressions over the attributes and words of one table of names."""

    def __init__(self, names: NameTable | None = None) -> None:
        self.names = NameTable() if names is None else names
        self._assembler = Assembler(self.names)
        self._skeletons = Skeletons(self._assembler)
        self._expressions = Pool(np.int32)
        for code in (HOLDS, FAILS):  # ALWAYS and NEVER
            self._expressions.number(code)
        self._facts = FactsStore()
        self.slow = self._assembler.slow
        """The tests that Python decides, by number."""
        self._aside: set[int] = set()  # those that failed, and are asked no more
        self._compiled: Compiled | None = None
        self._compiling = threading.Lock()

    @classmethod
    def of(cls, names: NameTable, parts: Parts) -> Self:
        """What was compiled before, under these names; the pools may be mapped."""
        made = cls(names)
        own = made._assembler
        made._expressions, own.numbers, own.sets, own.texts = parts.expressions, parts.numbers, parts.sets, parts.texts
        for test in parts.slow:
            own.slow_number(test)
        return made

    @property
    def parts(self) -> Parts:
        """All that `of` needs beside the names. For the writer."""
        own = self._assembler
        return Parts(self._expressions, own.numbers, own.sets, own.texts, own.slow)

    def __len__(self) -> int:
        return len(self._expressions)

    def add(self, form: Predicate) -> int:
        """The number of an expression."""
        return self._numbered(normal(form, self._assembler.code))

    def add_many(self, texts: Iterable[str | None]) -> list[int | PredicateError]:
        """The number of each SQL condition, or its error; null or blank accepts everything."""
        known: dict[str | None, int | PredicateError] = {}
        numbers: list[int | PredicateError] = []
        for text in texts:
            number = known.get(text)
            if number is None:
                code = self._skeletons.compile(text)
                number = known[text] = code if isinstance(code, PredicateError) else self._numbered(code)
            numbers.append(number)
        if len(self._skeletons) > _REMEMBERED:
            self._skeletons = Skeletons(self._assembler)
        return numbers

    def _numbered(self, code: Code) -> int:
        """The number of an expression. Tests of it that were put aside are asked again, and no others."""
        if self._aside:
            words = np.frombuffer(code, np.int32).reshape(-1, 2)
            self._aside.difference_update(words[_asks_slowly(words), 1].tolist())
        return self._expressions.number(code)

    def add_labels(self, labels: frozenset[str], match: str) -> int:
        """The number of a comparison with the event's labels: superset, subset or intersects, said of these."""
        own = self._assembler
        if match == "superset":
            code = own.words_within(LABELS, labels)
        elif match == "subset":
            code = join(layout.AND, [own.words_in(LABELS, (label,)) for label in labels])
        else:
            code = own.words_in(LABELS, labels) if labels else FAILS
        return self._expressions.number(code)

    def compiled(self, programs: Programs) -> Compiled:
        """These programs, or the same and more, with facts code. Any thread may ask; imports Numba."""
        with self._compiling:
            known = self._compiled
            if known is None or len(known.programs.starts) < len(programs.starts):
                names, attributes = self.names.snapshot(), len(self.names.paths)
                facts = self._facts.snapshot(programs, names, attributes)
                known = Compiled(programs, names, facts, attributes)
                self._compiled = known
            return known

    def snapshot(self) -> Programs:
        """The expressions so far, as arrays that stay as they are. For the writer to take and for anyone to read."""
        own, parts = self._expressions, self._assembler
        texts = parts.texts.offsets(), parts.texts.data()
        return Programs(own.offsets(), own.data(), parts.numbers.data(), parts.sets.data(), *texts)

    def slow_truth(self, trees: Sequence[Tree]) -> npt.NDArray[np.int8]:
        """A row for each slow test and a column for each event: 1 true, 0 false, -1 unknown. Read-only.

        Raises TargetingFailed, once all are asked, with the expressions whose tests raised. Those tests are put aside:
        they are asked no more, and unknown.
        """
        tests = [None if number in self._aside else test for number, test in enumerate(self.slow)]
        truths = np.full((len(tests), len(trees)), -1, np.int8)
        failures: dict[int, Exception] = {}
        for event, tree in enumerate(trees if tests else ()):
            attributes = Attributes(tree)
            for number, test in enumerate(tests):
                if test is not None:
                    try:
                        truths[number, event] = _TRUTHS[evaluate(test, attributes)]
                    except MemoryError:  # which is no test's own failure
                        raise
                    except Exception as error:
                        failures.setdefault(number, error)
        if failures:
            self._aside.update(failures)
            code, starts = self._expressions.data().reshape(-1, 2), self._expressions.offsets()
            places = np.flatnonzero(_asks_slowly(code) & np.isin(code[:, 1], list(failures)))
            asking = zip(
                (np.searchsorted(starts, 2 * places, "right") - 1).tolist(), code[places, 1].tolist(), strict=True
            )
            raise TargetingFailed({number: failures[test] for number, test in asking})
        truths.flags.writeable = False
        return truths

    @property
    def nbytes(self) -> int:
        """The memory of expressions and constants; names aside."""
        parts = self._assembler
        return sum(pool.nbytes for pool in (self._expressions, parts.numbers, parts.sets, parts.texts))


def _asks_slowly(code: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Which instructions ask a test that Python decides; its number is their operand."""
    slowly: npt.NDArray[np.bool_] = code[:, 0] & (layout.NEGATIVE - 1) == layout.SLOW
    return slowly


# --- room for asking expressions about events, used again from call to call: a board and the facts learnt from it -----
#
# The law: what an earlier call left in a room is out of date by its stamps, or emptied; a room belongs to one store
# of expressions at a time.

NOTHING_SLOW: npt.NDArray[np.int8] = np.zeros((0, 0), np.int8)
NOTHING_SLOW.flags.writeable = False


_SIZED = ("slots", "rows", "cells", "words")  # parts of a board, as `board_sizes` has them
_FEW_CELLS, _FEW_CHARACTERS = 64, 4096  # what there is room for at first where one event is asked about


class Room:
    """A board and its facts, for one call at a time."""

    def __init__(self) -> None:
        self._owner: Targeting | None = None
        self._board: Board | None = None
        self._facts: Facts | None = None
        self._one = CellRoom(_FEW_CELLS, _FEW_CHARACTERS)
        self._asked: tuple[Compiled, Job] | None = None  # about one event

    def job(self, targeting: Targeting, compiled: Compiled, cells: Cells, slow: npt.NDArray[np.int8]) -> Job:
        """Everything that is needed to ask the compiled expressions about the events."""
        return self._job(targeting, compiled, fixed(cells), slow, board_sizes(compiled.names, cells))

    def one(self, targeting: Targeting, programs: Programs, tree: Tree, labels: Iterable[str] | None = None) -> Job:
        """The same for one event, in room that is used again, so that little is made anew for each."""
        rows, asked = event_cells(targeting.names, tree, labels), self._asked
        if asked is None or asked[0].programs is not programs or targeting is not self._owner:
            asked = self._begin_one(targeting, programs)
        while not self._one.fill(rows, asked[0].attributes):
            self._one = CellRoom(len(rows) + _FEW_CELLS, sum(len(row[4]) for row in rows) + _FEW_CHARACTERS)
            asked = self._begin_one(targeting, programs)
        if not targeting.slow:
            return asked[1]
        return asked[1]._replace(events=Evaluation(programs, self._one.cells, targeting.slow_truth([tree])))

    def _begin_one(self, targeting: Targeting, programs: Programs) -> tuple[Compiled, Job]:
        compiled, cells = targeting.compiled(programs)._replace(programs=programs), self._one.size
        sizes = compiled.attributes + 1, min(compiled.attributes, cells) + 1, cells + 1
        job = self._job(
            targeting, compiled, self._one.cells, NOTHING_SLOW, (*sizes, len(compiled.names.word_attributes) + 1)
        )
        self._asked = compiled, job
        return self._asked

    def _job(
        self,
        targeting: Targeting,
        compiled: Compiled,
        cells: Cells,
        slow: npt.NDArray[np.int8],
        sizes: tuple[int, int, int, int],
    ) -> Job:
        board, facts, asked = self._board, self._facts, self._asked
        self._asked = None
        if self._owner is not targeting:
            self._owner, board, facts = targeting, None, None
        if board is None or any(len(getattr(board, name)) < size for name, size in zip(_SIZED, sizes, strict=True)):
            board, facts = make_board(*sizes), None
        coded, order, count = compiled.facts
        if facts is None or len(facts.known) <= count or len(facts.dirty) <= len(coded.attribute_facts):
            facts = make_facts(count + count // 4, len(coded.attribute_facts) + 64)
        if asked is not None and board is self._board and facts is self._facts:
            self._asked = asked  # what is ready for one event still is
        self._board, self._facts = board, facts
        return Job(Evaluation(compiled.programs, cells, slow), coded, order, facts, board)
