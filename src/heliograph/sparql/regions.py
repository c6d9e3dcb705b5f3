"""Where a condition on one variable is true: every term has one place on one line, and a condition leaves a set of
places.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from math import inf, isnan
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from heliograph.sparql.evaluate import ZONE_DOUBT, effective_boolean, evaluate
from heliograph.sparql.query import Call, Compare, Count, Expression, In, Metric, walk
from heliograph.terms import Term, TermKind, Variable, value_of
from heliograph.values import XSD_DOUBLE, XSD_STRING, Instant, Kind
from heliograph.vocabulary import NO_KIND, NO_ZONE, Typed, Vocabulary
from heliograph.vocabulary.columns import TEXTS, instant_row, row_of

# ----------------------------------------------------------------------------------------------------------------------
# Pieces of text as numbers: what a substring test asks of a text, so that an index can rule the text out.
#
# The law: if a text passes a test (it holds, begins with, ends with or is the needle), then the needle's key is among
# the text's keys. The converse does not hold: the test itself decides. Keys are the same in every run and on every
# machine.
#
# A needle is asked for by one key only. Anywhere in a text that is one of its trigrams, at the ends the longest piece
# of a listed length, for the whole text a checksum of it.
# ----------------------------------------------------------------------------------------------------------------------

SHORTEST = 3  # characters of a needle that has a key
_LENGTHS = (3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # of the pieces at both ends of a text that have keys
_FEW = 256  # up to this many characters, keys that come twice cost less than looking for them
_START, _END, _WHOLE = 1 << 40, 2 << 40, 3 << 40  # keys of different kinds lie apart, all below 2**53
_MIXER, _DROPPED = np.uint64(0x9E3779B97F4A7C15), np.uint64(24)  # mixing a trigram leaves 40 bits of 64

# The rarer the letters, the fewer texts share a trigram; signs that addresses are full of count as the most common.
_COMMON = {letter: -rank for rank, letter in enumerate("zqjxkvbywgpfmucdlhrsnioate /:.#-_")}

_BRACKETS = re.compile(r"[|()\[\]{}\\]")  # alternatives, classes, counts and escapes: not read here
_SIGNS = re.compile(r".[*?]+|[.+^$]", re.DOTALL)  # what stands between the characters that a match must hold


class Piece(IntEnum):
    """Where in a text a needle must stand."""

    ANYWHERE = 0
    START = 1
    END = 2
    WHOLE = 3


def needle_key(needle: str, piece: Piece = Piece.ANYWHERE) -> int | None:
    """The key that every text has that passes the test; None if the needle is too short to have one."""
    if piece is Piece.WHOLE:
        return _WHOLE + crc32(_coded(needle))
    if len(needle) < SHORTEST:
        return None
    if piece is Piece.ANYWHERE:
        return int(_trigrams(_coded(_rarest(needle)))[0])
    length = max(length for length in _LENGTHS if length <= len(needle))
    if piece is Piece.START:
        return _START + crc32(_coded(needle[:length]))
    return _END + crc32(_coded(needle[-length:]))


def text_keys(text: str) -> list[int]:
    """All keys of a text; some may come twice."""
    coded = _coded(text)
    keys = [_WHOLE + crc32(coded)]
    if len(text) < SHORTEST:
        return keys
    for length in _LENGTHS[: bisect_right(_LENGTHS, len(text))]:
        keys += (_START + crc32(coded[: 4 * length]), _END + crc32(coded[-4 * length :]))
    inner = _trigrams(coded)
    keys += (inner if len(text) <= _FEW else np.unique(inner)).tolist()
    return keys


def regex_key(pattern: str) -> int | None:
    """A key of every text that a regular expression finds; None if none is seen at a glance."""
    if _BRACKETS.search(pattern):
        return None
    runs = _SIGNS.split(pattern)
    longest = max(runs, key=len)
    if pattern.strip("^$") == longest:  # RE2's $ is the end of the text, never a line's
        return needle_key(longest, Piece(Piece.START * pattern.startswith("^") + Piece.END * pattern.endswith("$")))
    return needle_key(longest)


def _rarest(needle: str) -> str:
    """The trigram of the rarest letters, the first of equals."""
    weights = [_COMMON.get(letter, 0) for letter in needle.lower()]
    if len(weights) != len(needle):  # a letter whose lower case is two
        weights = [0] * len(needle)
    start = max(range(len(needle) - 2), key=lambda at: sum(weights[at : at + 3]))
    return needle[start : start + 3]


def _coded(text: str) -> bytes:
    """Four bytes a character, so that pieces are slices."""
    return text.encode("utf-32-le", "surrogatepass")


def _trigrams(coded: bytes) -> npt.NDArray[np.uint64]:
    codes = np.frombuffer(coded, np.dtype("<u4")).astype(np.uint64)
    packed = codes[:-2] << np.uint64(42) | codes[1:-1] << np.uint64(21) | codes[2:]
    mixed: npt.NDArray[np.uint64] = packed * _MIXER >> _DROPPED
    return mixed


# ----------------------------------------------------------------------------------------------------------------------
# Sets of coordinates on one domain's line, and their algebra: what a condition leaves of a domain.
#
# A line is cut by breaks. Between two breaks all values are in the set or none is. At a break three kinds of value
# meet: those that are their coordinate, for which the state says whether they are in, out or in doubt; rounded ones,
# which lie to either side of it, so that an end of an interval leaves them in doubt; and those across a rounded
# constant, where everything is in doubt.
#
# The law: a set holds every value for which its condition is true; it holds no other value but those in doubt. That
# is why a break may be dissolved only where every value at it is known to be in, or known to be out. Constants of one
# sort cut the line at one place, so there a break between two like segments goes. A double is compared after rounding
# the value to a double, an exact number before, so where both cut at one coordinate a rounded value may pass between
# them.
# ----------------------------------------------------------------------------------------------------------------------

LOW_OPEN, HIGH_OPEN, ROUNDED = 1, 2, 4  # of an atom: an end is excluded; an end is not the exact value
OUT, DOUBT, IN = 0, 1, 2  # of the values that are their coordinate, at a break
EXACT, DOUBLE, INEXACT = 1, 2, 4  # what cut the line: an exact constant, an xsd:double, one that was rounded


class Atom(NamedTuple):
    """The coordinates from `low` to `high` of one domain."""

    domain: int
    low: float
    high: float
    flags: int = 0


class Break(NamedTuple):
    """A place where a line is cut, and whether what lies between it and the next break is in."""

    at: float
    cut: int
    state: int
    after: bool


class Line(NamedTuple):
    """A set of coordinates; `before` says whether those below the first break are in."""

    before: bool
    breaks: tuple[Break, ...] = ()


EMPTY, WHOLE = Line(False), Line(True)


def below(at: float, cut: int, closed: bool) -> Line:
    return Line(True, (Break(at, cut, _state(cut, closed), False),))


def above(at: float, cut: int, closed: bool) -> Line:
    return Line(False, (Break(at, cut, _state(cut, closed), True),))


def point(at: float, cut: int) -> Line:
    return Line(False, (Break(at, cut, _state(cut, True), False),))


def _state(cut: int, closed: bool) -> int:
    return DOUBT if cut == INEXACT else IN if closed else OUT


def complement(line: Line) -> Line:
    return Line(
        not line.before, tuple([Break(at, cut, IN - state, not after) for at, cut, state, after in line.breaks])
    )


def union(lines: Sequence[Line]) -> Line:
    """What is in any of the lines."""
    return _joined(lines, True)


def intersection(lines: Sequence[Line]) -> Line:
    """What is in all of the lines."""
    return _joined(lines, False)


def _joined(lines: Sequence[Line], ruling: bool) -> Line:
    """Union and intersection mirror each other: in is what rules where one line suffices, out where all are needed."""
    cut = []
    for line in lines:
        if line.breaks:
            cut.append(line)
        elif line.before == ruling:
            return line
    if len(cut) < 2:
        return cut[0] if cut else EMPTY if ruling else WHOLE
    before = any(line.before == ruling for line in cut) == ruling
    return _tidy(before, _sweep(cut, ruling))


def _sweep(lines: Sequence[Line], ruling: bool) -> list[Break]:
    """The breaks of the joined lines, in one pass; where a line that rules runs through, nothing changes at a break."""
    breaks: list[Break] = []
    rules = [line.before == ruling for line in lines]
    count = sum(rules)
    strongest = max if ruling else min
    events = sorted([(each[0], number, each) for number, line in enumerate(lines) for each in line.breaks])
    position, last = 0, len(events)
    while position < last:
        at = events[position][0]
        through, cut, state = count, 0, OUT if ruling else IN
        while position < last and events[position][0] == at:
            _, number, each = events[position]
            follows = each.after == ruling
            through -= rules[number]
            count += follows - rules[number]
            rules[number] = follows
            cut, state = cut | each.cut, strongest(state, each.state)
            position += 1
        if not through:
            breaks.append(Break(at, cut, state, (count > 0) == ruling))
    return breaks


def _tidy(before: bool, breaks: list[Break]) -> Line:
    """Without the breaks at which nothing changes for any value."""
    kept: list[Break] = []
    inside = before
    for each in breaks:
        same = each.cut in (EXACT, DOUBLE) and each.after == inside and each.state == (IN if inside else OUT)
        if not same:
            kept.append(each)
        inside = each.after
    return Line(before, tuple(kept))


def atoms(domain: int, line: Line) -> list[Atom]:
    """The set as intervals; nothing lies beyond the infinities."""
    found: list[Atom] = []
    inside, low, flags = line.before, -inf, 0
    for at, cut, state, after in line.breaks:
        doubt = ROUNDED if state == DOUBT else 0
        if inside and at > -inf:
            found.append(Atom(domain, low, at, flags | doubt | (HIGH_OPEN if state == OUT else 0)))
        elif not (after and at < inf) and (state != OUT or cut not in (EXACT, DOUBLE)):
            found.append(Atom(domain, at, at, 0 if state == IN else ROUNDED))
        inside, low, flags = after and at < inf, at, doubt | (LOW_OPEN if state == OUT else 0)
    if inside:
        found.append(Atom(domain, low, inf, flags))
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Where a term lies: every term has one domain and one coordinate in it, so that a condition on a single variable is a
# set of intervals.
#
# The law: within a domain, equal coordinates mean equal values unless a rounded one is among them; in the ordered
# domains coordinates are monotone in the value. The coordinate in an unordered domain is the term's id.
# ----------------------------------------------------------------------------------------------------------------------

_DOMAINS_WHOLE = 2**53  # up to here every integer is a float64


class Domain(IntEnum):
    IRI = 0  # by id
    BLANK = 1  # by id
    NUMBER = 2  # integers, decimals and doubles, by value; ROUNDED where the float64 is not the whole value
    NAN = 3  # doubles that are no number, coordinate 0
    BOOLEAN = 4  # 0 and 1
    TEXT = 5  # xsd:string and language-tagged, by id
    ODD = 6  # ill-typed literals and unknown datatypes, by id
    TIME = 7  # xsd:dateTime with a zone, microseconds since 1970
    LOCAL_TIME = 8  # xsd:dateTime without a zone
    DATE = 9
    LOCAL_DATE = 10
    FLOAT = 11  # xsd:float: promoted differently against each kind, so no interval decides

    # What is asked of a term rather than where it lies; the coordinate is the id of a class, or a hash of text.
    IS_A = 16
    DIRECT = 17  # direct instance: rdf:type, taxonomy rows included
    SUBCLASS_OF = 18
    SUPERCLASS_OF = 19
    WORD = 20  # a piece of the term's text (`text_keys`)


class Places(NamedTuple):
    """Where terms lie, one row a term; `rounded` coordinates stand for other values too."""

    domain: npt.NDArray[np.uint8]
    coordinate: npt.NDArray[np.float64]
    rounded: npt.NDArray[np.bool_]


class Place(NamedTuple):
    """Where one term lies."""

    domain: int
    coordinate: float
    rounded: bool = False


_OF_KIND = {
    NO_KIND: Domain.ODD,
    Kind.INTEGER: Domain.NUMBER,
    Kind.DECIMAL: Domain.NUMBER,
    Kind.FLOAT: Domain.FLOAT,
    Kind.DOUBLE: Domain.NUMBER,
    Kind.BOOLEAN: Domain.BOOLEAN,
    Kind.DATETIME: Domain.TIME,  # and the next one without a zone
    Kind.DATE: Domain.DATE,
}
_DOMAINS = np.array([_OF_KIND[kind] for kind in range(len(_OF_KIND))], np.uint8)
_BY_CATEGORY = {TermKind.IRI: Domain.IRI, TermKind.BLANK: Domain.BLANK}


# --- many terms -------------------------------------------------------------------------------------------------


def places_of(vocabulary: Vocabulary, first: int, last: int) -> Places:
    """Where the terms lie whose ids run from `first` to `last`, the latter excluded."""
    ids = np.arange(first, last, dtype=np.int32)
    typed = vocabulary.typed(ids)
    domain = _domains(typed)
    domain[(domain == Domain.ODD) & vocabulary.textual(first, last)] = Domain.TEXT
    return Places(domain, _coordinates(typed, ids), _rounded(typed))


def _domains(typed: Typed) -> npt.NDArray[np.uint8]:
    domain = _DOMAINS[typed.kind]
    domain[_is_instant(typed) & (typed.zone == NO_ZONE)] += 1
    domain[(domain == Domain.NUMBER) & np.isnan(typed.number)] = Domain.NAN
    for category, its in _BY_CATEGORY.items():
        domain[typed.category == category] = its
    return domain


def _coordinates(typed: Typed, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    coordinate = np.where(np.isnan(typed.number), 0.0, typed.number)
    for rows, known in ((_is_instant(typed), typed.instant), (typed.kind == NO_KIND, ids)):
        coordinate[rows] = known[rows]
    return coordinate


def _rounded(typed: Typed) -> npt.NDArray[np.bool_]:
    far = _is_instant(typed) & ((typed.instant > _DOMAINS_WHOLE) | (typed.instant < -_DOMAINS_WHOLE))
    rounded: npt.NDArray[np.bool_] = ~typed.exact | far | (typed.kind == Kind.FLOAT)
    return rounded


def _is_instant(typed: Typed) -> npt.NDArray[np.bool_]:
    instant: npt.NDArray[np.bool_] = (typed.kind == Kind.DATETIME) | (typed.kind == Kind.DATE)
    return instant


# --- one constant -----------------------------------------------------------------------------------------------


def place_of(term: Term, intern: Callable[[Term], int]) -> Place:
    """Where one term lies; `intern` is asked for its id where that is the coordinate."""
    value = value_of(term)
    if value is not None:
        return instant_place(value.kind, value.value) if isinstance(value.value, Instant) else _number_place(term)
    if term.kind is TermKind.LITERAL:
        return Place(Domain.TEXT if term.datatype in TEXTS else Domain.ODD, float(intern(term)))
    return Place(_BY_CATEGORY[term.kind], float(intern(term)))


def instant_place(kind: Kind, instant: Instant) -> Place:
    row = instant_row(kind, instant)
    local = instant.zone is None
    return Place(_OF_KIND[kind] + local, float(row.instant), not row.exact or abs(row.instant) > _DOMAINS_WHOLE)


def _number_place(term: Term) -> Place:
    row = row_of(term)
    domain = _OF_KIND[row.kind]
    if isnan(row.number):
        return Place(Domain.NAN if domain == Domain.NUMBER else domain, 0.0, domain == Domain.FLOAT)
    return Place(domain, row.number, not row.exact or domain == Domain.FLOAT)


# ----------------------------------------------------------------------------------------------------------------------
# Where a comparison with a constant is true, and where it is false; elsewhere it is an error.
#
# The laws come from `semantics.comparison`: `!=` is true where `=` is false; `<` is false where `>=` is true, and of
# not-a-number; literals of different families are incomparable, an IRI or a blank node is simply different from
# everything else and `<=` itself alone.
#
# Sets are supersets where a line cannot say it exactly; `Truth.exact` tells.
# ----------------------------------------------------------------------------------------------------------------------

Lines = dict[int, Line]  # by domain; empty where there is none

PLACES = tuple(domain for domain in Domain if domain <= Domain.FLOAT)
EVERYWHERE: Lines = dict.fromkeys(PLACES, WHOLE)
NAMES: Lines = dict.fromkeys((Domain.IRI, Domain.BLANK), WHOLE)
LITERALS: Lines = {domain: WHOLE for domain in PLACES if domain not in NAMES}
NUMBERS: Lines = dict.fromkeys((Domain.NUMBER, Domain.FLOAT), WHOLE)
_NO_NUMBER: Lines = {Domain.NAN: WHOLE}
_OTHER_ZONE = {
    Domain.TIME: Domain.LOCAL_TIME,
    Domain.LOCAL_TIME: Domain.TIME,
    Domain.DATE: Domain.LOCAL_DATE,
    Domain.LOCAL_DATE: Domain.DATE,
}
NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Truth(NamedTuple):
    """Where something is true, and whether that says it all."""

    lines: Lines
    exact: bool = True


def comparison(symbol: str, constant: Term, wanted: bool, intern: Callable[[Term], int]) -> Truth:
    """Where `?x symbol constant` is true, or with `wanted` false where it is false."""
    place = place_of(constant, intern)
    domain = place.domain
    if symbol in ("=", "!="):
        return _different(constant, place) if (symbol == "!=") == wanted else _equal(constant, place)
    truth = _ordered(symbol if wanted else NEGATED[symbol], constant, place)
    if not wanted and domain in (Domain.NUMBER, Domain.FLOAT, Domain.NAN):
        return Truth({**truth.lines, **_NO_NUMBER, **(NUMBERS if domain == Domain.NAN else {})}, truth.exact)
    return truth


def identity(constant: Term, intern: Callable[[Term], int]) -> Truth:
    """Where a term is that very constant; several numbers and moments of one value share a place."""
    place = place_of(constant, intern)
    if place.domain == Domain.FLOAT:
        return Truth({Domain.FLOAT: WHOLE}, False)
    shared = place.domain in (Domain.NUMBER, Domain.TIME, Domain.DATE)
    return Truth({place.domain: point(place.coordinate, _cut(constant, place))}, not shared)


def _equal(constant: Term, place: Place) -> Truth:
    domain = place.domain
    if domain == Domain.NAN:
        return Truth({})
    if domain == Domain.FLOAT:
        return Truth(NUMBERS, False)
    lines = {domain: point(place.coordinate, _cut(constant, place))}
    return Truth({**lines, Domain.FLOAT: WHOLE} if domain == Domain.NUMBER else lines)


def _different(constant: Term, place: Place) -> Truth:
    domain = place.domain
    if domain in NAMES:
        return Truth({**EVERYWHERE, domain: _hole(constant, place)})
    if domain == Domain.ODD:
        return Truth(NAMES)
    if domain in (Domain.NAN, Domain.FLOAT):
        return Truth({**NAMES, **NUMBERS, **_NO_NUMBER}, domain == Domain.NAN)
    lines = {**NAMES, domain: _hole(constant, place)}
    if domain == Domain.NUMBER:
        lines |= {Domain.FLOAT: WHOLE, Domain.NAN: WHOLE}
    elif domain in _OTHER_ZONE:
        lines[_OTHER_ZONE[Domain(domain)]] = WHOLE
    return Truth(lines)


def _hole(constant: Term, place: Place) -> Line:
    return complement(point(place.coordinate, _cut(constant, place)))


def _ordered(symbol: str, constant: Term, place: Place) -> Truth:
    domain = place.domain
    if domain == Domain.NUMBER:
        return Truth({domain: _ray(symbol, place, _cut(constant, place)), Domain.FLOAT: WHOLE})
    if domain in _OTHER_ZONE:
        return Truth({domain: _ray(symbol, place, _cut(constant, place)), **_across_zones(symbol, constant)})
    if domain == Domain.BOOLEAN:
        return Truth({domain: _ray(symbol, place, EXACT)})
    if domain in (Domain.TEXT, Domain.FLOAT):
        return Truth({domain: WHOLE} if domain == Domain.TEXT else NUMBERS, False)
    same = symbol in ("<=", ">=") and domain != Domain.NAN
    return Truth({domain: point(place.coordinate, EXACT)} if same else {})


def _across_zones(symbol: str, constant: Term) -> Lines:
    """A moment with a zone and one without are ordered only where no zone could turn them round."""
    value = value_of(constant)
    assert value is not None
    assert isinstance(value.value, Instant)
    doubt = -ZONE_DOUBT if symbol[0] == "<" else ZONE_DOUBT
    other = 0 if value.value.zone is None else None
    place = instant_place(value.kind, Instant(value.value.atto + doubt, other))
    return {place.domain: _ray(symbol[0], place, INEXACT if place.rounded else EXACT)}


def _ray(symbol: str, place: Place, cut: int) -> Line:
    side = below if symbol[0] == "<" else above
    return side(place.coordinate, cut, len(symbol) == 2)


def _cut(constant: Term, place: Place) -> int:
    if place.rounded:
        return INEXACT
    return DOUBLE if constant.datatype == XSD_DOUBLE else EXACT


# ----------------------------------------------------------------------------------------------------------------------
# What a condition leaves of each variable: regions of terms, and boxes of one region a variable.
#
# A region holds the terms that lie on its lines, and those whose text has one of its keys. A box is a conjunction:
# each variable in it lies in its region, and any other variable is free. The law: both operations give supersets, so
# what they lose is told (`exact`), never what is true.
# ----------------------------------------------------------------------------------------------------------------------


class Region(NamedTuple):
    """Terms by where they lie, or by a key of their text."""

    lines: Lines
    words: frozenset[int] = frozenset()

    @property
    def nothing(self) -> bool:
        return not self.lines and not self.words

    @property
    def everything(self) -> bool:
        return len(self.lines) == len(EVERYWHERE) and all(line == WHOLE for line in self.lines.values())


class Box(NamedTuple):
    """What is asked of each variable; `never` where nothing can satisfy it, whatever the variables are."""

    regions: dict[Variable, Region]
    exact: bool = True
    never: bool = False


ANYTHING, ALWAYS, NEVER = Box({}, exact=False), Box({}), Box({}, never=True)


def all_of(boxes: Sequence[Box]) -> Box:
    """What all boxes ask."""
    if any(box.never for box in boxes):
        return NEVER
    if len(boxes) == 1:
        return boxes[0]
    asked = _by_variable(boxes)
    exact = all(box.exact for box in boxes)
    return Box({variable: _common(regions) for variable, regions in asked.items()}, exact)


def any_of(boxes: Sequence[Box]) -> Box:
    """What any of the boxes asks: of a variable that only some of them speak of, nothing."""
    possible = [box for box in boxes if not (box.never or any(region.nothing for region in box.regions.values()))]
    if len(possible) < 2:
        return (*possible, *boxes, NEVER)[0]
    boxes = possible
    asked = {variable: regions for variable, regions in _by_variable(boxes).items() if len(regions) == len(boxes)}
    free = any(box.exact and not box.regions for box in boxes)
    single = len(asked) == 1 and all(box.exact and len(box.regions) == 1 for box in boxes)
    return Box({variable: _joint(regions) for variable, regions in asked.items()}, free or single)


def _by_variable(boxes: Iterable[Box]) -> dict[Variable, list[Region]]:
    asked: dict[Variable, list[Region]] = {}
    for box in boxes:
        for variable, region in box.regions.items():
            asked.setdefault(variable, []).append(region)
    return asked


def _common(regions: Sequence[Region]) -> Region:
    """What lies in all regions. A text has many keys, so of regions by key one alone must speak for the others."""
    plain = common([region.lines for region in regions if not region.words])
    worded = [region for region in regions if region.words]
    return worded[0] if worded and plain else Region(plain)


def common(several: Sequence[Lines]) -> Lines:
    """What lies on the lines of all."""
    if len(several) < 2:
        return several[0] if several else EVERYWHERE
    shared = set(several[0]).intersection(*several[1:])
    return _kept({domain: intersection([lines[domain] for lines in several]) for domain in shared})


def _joint(regions: Sequence[Region]) -> Region:
    """What lies in any region."""
    gathered: dict[int, list[Line]] = {}
    for region in regions:
        for domain, line in region.lines.items():
            gathered.setdefault(domain, []).append(line)
    lines = {domain: union(found) for domain, found in gathered.items()}
    return Region(lines, frozenset().union(*(region.words for region in regions)))


def _kept(lines: Lines) -> Lines:
    return {domain: line for domain, line in lines.items() if line != EMPTY}


def alternatives(region: Region) -> tuple[Atom, ...]:
    """The region as atoms. A float is in doubt wherever there is any atom, so it needs one only where it is alone."""
    found = [
        atom
        for domain in sorted(region.lines)
        if domain != Domain.FLOAT
        for atom in atoms(domain, region.lines[domain])
    ]
    found += [Atom(Domain.WORD, key, key) for key in sorted(region.words)]
    if not found and Domain.FLOAT in region.lines:
        found = atoms(Domain.FLOAT, region.lines[Domain.FLOAT])
    return tuple(found)


# ----------------------------------------------------------------------------------------------------------------------
# Where a single test is true, or false: a comparison, a list, a function of one variable.
#
# Tests of text are asked for by a key of the text (`index.words`), which texts may have that do not pass the test.
# What has no variable is known at once. Anything else may be true of whatever the variables are bound to.
# ----------------------------------------------------------------------------------------------------------------------

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
