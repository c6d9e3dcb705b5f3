"""Pattern and constraint tables to queries, whole columns at a time, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import HeliographError, InterestError, Place, TermError
from heliograph.io.publications import Triples
from heliograph.io.schemas import TABLES
from heliograph.io.sources import collector_paused
from heliograph.sparql.evaluate import regex_problem
from heliograph.sparql.query import (
    MAX_CONSTRAINTS,
    MAX_PATTERNS,
    Call,
    ClassPattern,
    ClassRelation,
    Compare,
    Expression,
    Form,
    In,
    Node,
    Pattern,
    Query,
    TriplePattern,
)
from heliograph.terms import (
    PLAIN,
    PREFIXES,
    RDF_TYPE,
    Position,
    Term,
    TermKind,
    Variable,
    iri,
    literal,
    parse_cell,
    parse_node,
    spell,
)
from heliograph.vocabulary.columns import Cells, Distinct, Text, distinct

# --- constraints ------------------------------------------------------------------------------------------------
# The constraints table: `variable operator value` to the filter or the is-a pattern that it means.
#
# A row is read from its three cells alone, so equal rows are read once. Comparisons become FILTERs, the class
# operators become patterns; `contains`, `starts-with` and `regex` look at the text of whatever the variable is bound
# to.

COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_MISSPELT = {"==": "=", "<>": "!=", "=<": "<=", "=>": ">=", "isa": "is-a", "startswith": "starts-with"}


class Constraint(NamedTuple):
    """What a row means: a condition or a pattern, and the variables that the pattern rows must bind."""

    needs: tuple[Variable, ...]
    condition: Expression | None = None
    pattern: Pattern | None = None


class CellProblem(Exception):
    """An error and the column it is about; the caller knows the row."""

    def __init__(self, column: str, error: HeliographError) -> None:
        super().__init__(column)
        self.column = column
        self.error = error


def _unknown_operator(operator: str | None) -> InterestError:
    close = _MISSPELT.get((operator or "").replace("_", "").lower()) or next(
        iter(get_close_matches((operator or "").strip().lower(), _READERS, n=1)), None
    )
    fix = f"did you mean {close}?" if close else f"the operators are {' '.join(_READERS)}"
    return InterestError("HG-442", f"no operator {operator!r}", fix=fix)


def _comparison(name: Variable, operator: str, value: str | None, prefixes: Mapping[str, str]) -> Constraint:
    node = parse_node(value, Position.OBJECT, prefixes)
    if isinstance(node, Variable):
        return Constraint((name, node), Compare(operator, name, node))
    if node.kind is TermKind.BLANK:
        raise InterestError("HG-443", f"the blank node {value} as value", fix="compare with a variable, ?x")
    return Constraint((name,), Compare(operator, name, node))


def _membership(name: Variable, operator: str, value: str | None, prefixes: Mapping[str, str]) -> Constraint:
    fix = 'write a JSON array of terms, such as ["Alice", 5, "\\"text\\""]'
    try:
        cells = json.loads(value or "", parse_int=str, parse_float=str, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        cells = None
    if not isinstance(cells, list):
        raise InterestError("HG-443", f"{_short(value)} is no JSON array", fix=fix)
    choices: list[Expression] = []
    for cell in cells:
        text = str(cell).lower() if isinstance(cell, bool) else cell
        if not isinstance(text, str):
            raise InterestError("HG-443", f"{_short(json.dumps(cell))} in the array is no term", fix=fix)
        term = parse_cell(text, Position.OBJECT, prefixes)
        if term.kind is TermKind.BLANK:
            raise InterestError("HG-443", f"the blank node {text} in the array", fix="list IRIs, names and literals")
        choices.append(term)
    return Constraint((name,), In(name, tuple(choices)))


def _no_constant(text: str) -> None:
    raise ValueError(text)


def _class_pattern(name: Variable, operator: str, value: str | None, prefixes: Mapping[str, str]) -> Constraint:
    """Of a class: an IRI, a name or a variable."""
    node = parse_node(value, Position.SUBJECT, prefixes)
    if isinstance(node, Term) and node.kind is TermKind.BLANK:
        raise InterestError("HG-443", f"the blank node {value} as class", fix="name the class, or use a variable")
    pattern: Pattern
    if operator == "is-a":
        pattern = ClassPattern(ClassRelation.IS_A, name, node)
    elif operator == "direct-is-a":
        pattern = TriplePattern(name, RDF_TYPE, node)
    else:
        ends = (name, node) if operator == "subclass-of" else (node, name)
        pattern = ClassPattern(ClassRelation.SUBCLASS_OF, *ends)
    return Constraint((name,), pattern=pattern)


_FUNCTIONS = {"contains": "CONTAINS", "starts-with": "STRSTARTS", "regex": "REGEX"}


def _textual(name: Variable, operator: str, value: str | None, prefixes: Mapping[str, str]) -> Constraint:
    """Of a text: a quoted literal's, or the cell itself."""
    if not value:
        raise InterestError("HG-443", "an empty value", fix='write the text, or "" for the empty one')
    text = parse_cell(value, Position.OBJECT, prefixes).value if value[0] == '"' else value
    problem = regex_problem(text) if operator == "regex" else None
    if problem is not None:
        raise InterestError("HG-404", problem[0], fix=problem[1])
    return Constraint((name,), Call(_FUNCTIONS[operator], (Call("STR", (name,)), literal(text))))


def _short(value: str | None, limit: int = 60) -> str:
    text = value or "nothing"
    return text if len(text) <= limit else text[:limit] + "…"


_Reader = Callable[[Variable, str, str | None, Mapping[str, str]], Constraint]
_READERS: dict[str, _Reader] = dict.fromkeys(["=", "!=", "<", "<=", ">", ">="], _comparison)
_READERS |= {"in": _membership}
_READERS |= dict.fromkeys(["is-a", "direct-is-a", "subclass-of", "superclass-of"], _class_pattern)
_READERS |= dict.fromkeys(_FUNCTIONS, _textual)
OPERATORS = tuple(_READERS)


def bare_integers(values: pa.Array[Any]) -> npt.NDArray[np.bool_]:
    """Which cells are integers that a float64 holds exactly. Any variable may be compared with one."""
    return np.asarray(pc.match_substring_regex(values, "^-?[0-9]{1,15}$").fill_null(False))


# --- the reader -------------------------------------------------------------------------------------------------
# What the cells of pattern tables and the rows of constraint tables mean. A reader remembers the last thousands, so
# that the terms of subscriptions that come one by one are read once and kept once.

_CELLS_REMEMBERED = 16_384  # of one position
_ROWS_REMEMBERED = 4096
_NOT_NAMES = frozenset({"a", "true", "false"})
_Row = tuple[str | None, str | None, str | None]  # variable, operator, value


class Reader:
    """Reads cells and constraints under some prefixes; one for all tables of an engine."""

    def __init__(self, prefixes: Mapping[str, str] = PREFIXES) -> None:
        self.prefixes = prefixes
        self._nodes: dict[Position, dict[Text, Node]] = {position: {} for position in Position}
        self._constraints: dict[_Row, Constraint | CellProblem] = {}

    def node(self, text: Text, position: Position) -> Node:
        """The node that a cell spells; a blank node is a variable that nobody sees."""
        known = self._nodes[position]
        found = known.get(text)
        if found is None:
            found = _read(text, position, self.prefixes)
            if len(known) >= _CELLS_REMEMBERED:
                known.clear()
            known[text] = found
        return found

    def constraint(self, row: _Row) -> Constraint | CellProblem:
        """What a row means, or what is wrong with it."""
        found = self._constraints.get(row)
        if found is None:
            try:
                found = self._read_constraint(*row)
            except CellProblem as problem:
                found = problem
            if len(self._constraints) >= _ROWS_REMEMBERED:
                self._constraints.clear()
            self._constraints[row] = found
        return found

    def _read_constraint(self, variable: str | None, operator: str | None, value: str | None) -> Constraint:
        name = read_variable(variable)
        reader = _READERS.get(operator or "")
        if reader is None:
            raise CellProblem("operator", _unknown_operator(operator))
        try:
            return reader(name, operator or "", value, self.prefixes)
        except HeliographError as error:
            raise CellProblem("value", error) from None


def read_variable(text: str | None) -> Variable:
    """The variable of a cell, with or without its question mark."""
    try:
        node = parse_node("?" + (text or "").removeprefix("?"))
    except TermError:
        node = None
    if not isinstance(node, Variable):
        fix = "write the variable's name, with or without the question mark"
        raise CellProblem("variable", InterestError("HG-441", f"{text!r} is no variable", fix=fix))
    return node


def _read(text: Text, position: Position, prefixes: Mapping[str, str]) -> Node:
    if isinstance(text, str) and text.isidentifier() and text.isascii() and text not in _NOT_NAMES:
        return iri(PLAIN + text)  # what parse_node would say of so simple a name, in a third of its time
    if isinstance(text, bytes):
        raise TermError("HG-108", f"text that is not UTF-8: {text[:60]!r}", fix="save the table as UTF-8")
    node = parse_node(text, position, prefixes)
    return Variable(f"_:{node.value}") if isinstance(node, Term) and node.kind is TermKind.BLANK else node


# --- coded tables -----------------------------------------------------------------------------------------------
# Pattern and constraint tables as codes, each distinct cell read once, their rows sorted by subscription.
#
# The law: the rows of group i, `offsets[i]` to `offsets[i + 1]`, are those of the subscription `names[i]` in table
# order, and names come in order of first appearance. A node's code counts from 0; a cell that spells no node has the
# code `WRONG`, and a variable that no pattern has the code `UNBOUND`.

Ints: TypeAlias = "npt.NDArray[np.signedinteger[Any]]"
WRONG, UNBOUND = -1, -2
NO_OPERATOR = 255
_FEW = 64
_POSITIONS = {"subject": Position.SUBJECT, "property": Position.PROPERTY, "object": Position.OBJECT}
_NUMBERS = {operator: number for number, operator in enumerate(OPERATORS)}


def _distinct(cells: Cells) -> Distinct:
    """As `distinct`; for a few rows without Arrow's kernels, which take 30 µs to begin."""
    if len(cells) > _FEW or not pa.types.is_string(cells.type):
        return distinct(cells)
    try:
        texts = cells.to_pylist()
    except UnicodeDecodeError:
        return distinct(cells)
    numbers: dict[Text, int] = {}
    codes = [-1 if text is None else numbers.setdefault(text, len(numbers)) for text in texts]
    return Distinct(np.array(codes, np.int32), list(numbers))


# --- rows by subscription ---------------------------------------------------------------------------------------


class Groups(NamedTuple):
    """Which rows belong to which subscription. `order` is the table row of each sorted one, None if they are alike."""

    names: list[str]
    owners: Ints  # of sorted rows: the group of each
    order: Ints | None
    offsets: npt.NDArray[np.int64]

    def sorted(self, column: Ints) -> Ints:
        return column if self.order is None else column[self.order]

    def row(self, position: int) -> int:
        """Where a sorted row stood."""
        return position if self.order is None else int(self.order[position])


def _group(names: list[str], owners: Ints) -> Groups:
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=len(names)), out=offsets[1:])
    if (owners[1:] >= owners[:-1]).all():
        return Groups(names, owners, None, offsets)
    order = np.argsort(owners, kind="stable")
    return Groups(names, owners[order], order, offsets)


def _owners(ids: pa.ChunkedArray[Any], numbers: dict[str, int]) -> Ints:
    """The group of each row; names that have none yet are given the next number."""
    codes, texts = _distinct(ids.cast(pa.string()) if pa.types.is_dictionary(ids.type) else ids)
    names = _decoded([*texts, None] if _has_nulls(codes) else texts)
    owners: Ints = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)[codes]
    return owners


def _decoded(texts: list[Text]) -> list[str]:
    """Names, where a null is an empty one."""
    if set(map(type, texts)) <= {str}:
        return cast(list[str], texts)
    return [text.decode(errors="replace") if isinstance(text, bytes) else text or "" for text in texts]


# --- patterns ---------------------------------------------------------------------------------------------------


class PatternEdges(NamedTuple):
    """Sorted pattern rows as codes of the distinct nodes; and the columns with cells that spell no node: their name,
    their codes in table order, and what is wrong by code."""

    groups: Groups
    codes: Triples
    known: dict[Node, int]
    wrong: Sequence[tuple[str, Ints, Mapping[int, TermError]]]


def read_edges(table: pa.Table, reader: Reader) -> PatternEdges:
    numbers: dict[str, int] = {}
    owners = _owners(table["subscription_id"], numbers)
    groups = _group(list(numbers), owners)
    index: dict[Node, int] = {}
    wrong: list[tuple[str, Ints, Mapping[int, TermError]]] = []
    columns: list[Ints] = []
    for name, position in _POSITIONS.items():
        codes, texts = _distinct(table[name])
        known: list[int] = []
        problems: dict[int, TermError] = {}
        for code, text in enumerate([*texts, None] if _has_nulls(codes) else texts):
            try:
                known.append(index.setdefault(reader.node(text, position), len(index)))
            except TermError as error:
                known.append(WRONG)
                problems[code if code < len(texts) else -1] = error
        columns.append(groups.sorted(np.array(known, np.int32)[codes]))
        if problems:
            wrong.append((name, codes, problems))
    return PatternEdges(groups, Triples(*columns), index, wrong)


def _has_nulls(codes: Ints) -> bool:
    return bool(len(codes)) and bool(codes.min() < 0)


# --- constraints ------------------------------------------------------------------------------------------------


class Limits(NamedTuple):
    """Constraint rows: the code of their variable, their operator's number in `OPERATORS`, the code of their value."""

    variable: npt.NDArray[np.int32]
    operator: npt.NDArray[np.uint8]
    value: npt.NDArray[np.int32]


class LimitRows(NamedTuple):
    """Sorted constraint rows. `cells` are the columns as they were, in table order."""

    groups: Groups
    limits: Limits
    values: pa.Array[Any]
    cells: Sequence[Distinct] = ()

    def row(self, row: int) -> _Row:
        """The three cells of a table row."""
        return cast(_Row, tuple(texts[codes[row]] for codes, texts in self.cells))


def read_limits(table: pa.Table | None, edges: PatternEdges) -> LimitRows:
    """The constraints of the same subscriptions; those of others follow as further groups."""
    names = edges.groups.names
    if table is None or not table.num_rows:
        none = Limits(np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.int32))
        groups = Groups(names, none.variable, None, np.zeros(len(names) + 1, np.int64))
        return LimitRows(groups, none, pa.array([], pa.string()))
    numbers = {name: number for number, name in enumerate(names)}
    owners = _owners(table["subscription_id"], numbers)
    groups = _group(list(numbers), owners)
    cells = [_texts(table[name]) for name in ("variable", "operator", "value")]
    variables, operators, values = cells
    bound = [_variable(text, edges.known) for text in variables.texts]
    known = [_NUMBERS.get(str(text), NO_OPERATOR) for text in operators.texts]
    limits = Limits(
        np.array(bound, np.int32)[groups.sorted(variables.codes)],
        np.array(known, np.uint8)[groups.sorted(operators.codes)],
        groups.sorted(values.codes).astype(np.int32),
    )
    return LimitRows(groups, limits, pa.array(values.texts, pa.string()), cells)


def _texts(cells: Cells) -> Distinct:
    """As `distinct`, all of it text; a null is the last of the texts."""
    codes, texts = _distinct(cells)
    if not _has_nulls(codes):
        return Distinct(codes, [*_decoded(texts)])
    return Distinct(np.where(codes < 0, len(texts), codes), [*_decoded(texts), None])


def _variable(text: Text, index: Mapping[Node, int]) -> int:
    assert not isinstance(text, bytes)
    try:
        return index.get(read_variable(text), UNBOUND)
    except CellProblem:
        return WRONG


# --- rejections -------------------------------------------------------------------------------------------------
# What is wrong with the subscriptions of pattern tables: for each the first wrong row, and in it the first wrong
# cell.
#
# Rows that are surely right are told apart whole columns at a time; of the others each distinct one is read once.

_Flags: TypeAlias = npt.NDArray[np.bool_]
_ANY = -3  # stands for a variable that need not be bound
_IS_COMPARISON = np.array([operator in COMPARISONS for operator in OPERATORS] + [False] * (256 - len(OPERATORS)))


def _at(error: HeliographError, table: str, row: int, column: str) -> HeliographError:
    """The same error, saying where it stands; rows count from 1."""
    message = f"{table} row {row + 1}, column {column}: {error.message}"
    return type(error)(error.code, message, fix=error.fix)


def _first(groups: Groups, wrong: _Flags) -> list[tuple[int, int]]:
    """The groups that have wrong rows, and the first of them as it was sorted."""
    positions = np.flatnonzero(wrong)
    if not len(positions):
        return []
    owners, first = np.unique(groups.owners[positions], return_index=True)
    return list(zip(owners.tolist(), positions[first].tolist()))


def size_faults(groups: Groups, table: str, most: int) -> dict[int, HeliographError]:
    """The subscriptions that have too many rows of a table."""
    counts = np.diff(groups.offsets)
    fix = "split it into several subscriptions"
    return {
        row: InterestError(
            "HG-436",
            f"{table}: {counts[row]:,} rows of one subscription, of at most {most:,}",
            place=Place(item=groups.names[row]),
            fix=fix,
        )
        for row in np.flatnonzero(counts > most).tolist()
    }


# --- patterns ---------------------------------------------------------------------------------------------------


def edge_faults(edges: PatternEdges) -> dict[int, HeliographError]:
    """What is wrong with each wrong subscription's patterns."""
    if not edges.wrong:
        return {}
    faults: dict[int, HeliographError] = {}
    for owner, position in _first(edges.groups, np.logical_or.reduce([codes < 0 for codes in edges.codes])):
        row = edges.groups.row(position)
        problems = ((name, problems.get(int(codes[row]))) for name, codes, problems in edges.wrong)
        name, problem = next(each for each in problems if each[1] is not None)
        assert problem is not None
        faults[owner] = _at(problem, "patterns", row, name)
    return faults


def limit_faults(limits: LimitRows, edges: PatternEdges, reader: Reader) -> dict[int, HeliographError]:
    """What is wrong with each wrong subscription's constraints."""
    if not len(limits.limits.variable):
        return {}
    numbers, readings = _read_limits(limits, reader)
    lacking = ~_bound(edges, limits.groups.owners, _needs(limits, edges, numbers, readings))
    faults: dict[int, HeliographError] = {}
    for owner, position in _first(limits.groups, lacking[0] | lacking[1]):
        row, number, place = limits.groups.row(position), int(numbers[position]), int(not lacking[0, position])
        found = readings[number] if number >= 0 else reader.constraint(limits.row(row))
        if isinstance(found, CellProblem):
            faults[owner] = _at(found.error, "constraints", row, found.column)
        else:  # the first or the second variable that it needs is not there
            variable = found.needs[place]
            fix = f"write {variable} in a pattern row of this subscription"
            error = InterestError("HG-444", f"no pattern row has {variable}", fix=fix)
            faults[owner] = _at(error, "constraints", row, ("variable", "value")[place])
    return faults


def _read_limits(limits: LimitRows, reader: Reader) -> tuple[Ints, list[Constraint | CellProblem]]:
    """For each sorted row the number of its reading, or -1 where it is surely right; and the readings.

    Each distinct row is read except variables compared with bare integers: nothing can be wrong with those.
    """
    sure = _IS_COMPARISON[limits.limits.operator] & (limits.limits.variable != WRONG)
    if len(sure) > _FEW:
        sure &= bare_integers(limits.values)[limits.limits.value]
    else:
        sure[:] = False
    positions = np.flatnonzero(~sure)
    numbers = np.full(len(sure), -1, np.int64)
    if not len(positions):
        return numbers, []
    keys = np.zeros(len(positions), np.int64)
    for cell in limits.cells:
        keys = keys * len(cell.texts) + limits.groups.sorted(cell.codes)[positions]
    _, first, numbers[positions] = np.unique(keys, return_index=True, return_inverse=True)
    rows = [limits.groups.row(position) for position in positions[first].tolist()]
    return numbers, [reader.constraint(limits.row(row)) for row in rows]


def _needs(limits: LimitRows, edges: PatternEdges, numbers: Ints, readings: Sequence[Constraint | CellProblem]) -> Ints:
    """For each row the variables that must be bound, as two columns of codes; a wrong row has an unbound one."""
    read: Ints = np.full((2, len(readings) + 1), _ANY, np.int64)
    for number, each in enumerate(readings):
        if isinstance(each, CellProblem):
            read[:, number] = UNBOUND
        else:
            read[: len(each.needs), number] = [edges.known.get(variable, UNBOUND) for variable in each.needs]
    needs: Ints = read[:, numbers]
    needs[0] = np.where(numbers < 0, limits.limits.variable, needs[0])
    return needs


def _bound(edges: PatternEdges, owners: Ints, needs: Ints) -> _Flags:
    """Whether a subscription's own patterns have the variable that it needs."""
    width = len(edges.known) + 1
    wanted = owners.astype(np.int64) * width + needs
    is_variable = np.array([type(node) is Variable for node in edges.known] + [False])
    rows = [np.flatnonzero(is_variable[codes]) for codes in edges.codes]
    known = [edges.groups.owners[at].astype(np.int64) * width + codes[at] for at, codes in zip(rows, edges.codes)]
    bound: _Flags = (needs == _ANY) | (needs >= 0) & _is_in(wanted, np.concatenate(known))
    return bound


def _is_in(wanted: Ints, known: Ints) -> _Flags:
    """As np.isin, in a fraction of its time: a few are compared with all, many are looked up among the sorted."""
    found: _Flags
    if wanted.size * known.size <= _FEW**2:
        found = (wanted[..., None] == known).any(axis=-1)
    else:
        known = np.sort(known)
        found = known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] == wanted
    return found


# --- queries ----------------------------------------------------------------------------------------------------
# Pattern tables to queries: the bulk way to subscribe, which skips text.
#
# The rows of one subscription are ANDed, wherever they lie. A row that is wrong rejects its whole subscription,
# because a pattern that lacks an edge would match too much; other subscriptions are not touched.
#
# A `PatternSet` keeps whole tables as codes into their distinct nodes and values, some 20 bytes a row; the query of
# one subscription is made when it is asked for. The law: it depends on the subscription's own rows alone.

Offsets: TypeAlias = npt.NDArray[np.int64]
Texts: TypeAlias = "pa.Array[Any]"

# A pattern from its fields, without the wrapper that checks their number: half of its time.
_make = cast(Callable[[type, tuple[Any, ...]], TriplePattern], tuple.__new__)


def compile_patterns(
    patterns: pa.Table, constraints: pa.Table | None = None, prefixes: Mapping[str, str] = PREFIXES
) -> dict[str, Query | HeliographError]:
    """The query of every subscription, or what is wrong with it, in order of first appearance."""
    read = read_patterns(patterns, constraints, Reader(prefixes))
    with collector_paused():
        return {name: read.errors.get(row) or read.query(row) for row, name in enumerate(read.names)}


class PatternRows(NamedTuple):
    """The rows of some subscriptions, end to end: where each stands in its set, to which of them it belongs (counted
    from 0), and where the rows of each begin and end."""

    positions: Offsets
    owners: Offsets
    offsets: Offsets

    def of(self, one: int) -> list[int]:
        """Where the rows of one of them stand."""
        rows: list[int] = self.positions[self.offsets[one] : self.offsets[one + 1]].tolist()
        return rows


class PatternSet:
    """The subscriptions of pattern tables. Number i is called `names[i]`; if it is not in `errors`, it has the edges
    from edge_offsets[i] to edge_offsets[i + 1] and the limits from limit_offsets[i] to limit_offsets[i + 1].

    Edges and limits are codes: of `nodes`, and of `values` for the value of a limit.
    """

    __slots__ = (
        "_reader",
        "edge_offsets",
        "edges",
        "errors",
        "limit_offsets",
        "limits",
        "names",
        "nodes",
        "values",
    )

    def __init__(
        self, edges: PatternEdges, limits: LimitRows, errors: dict[int, HeliographError], reader: Reader
    ) -> None:
        self.names: Sequence[str] = limits.groups.names
        self.nodes: Sequence[Node] = tuple(edges.known)
        self.edges = edges.codes
        offsets = edges.groups.offsets  # of names that only constraints have there are none
        self.edge_offsets = np.append(offsets, np.full(len(self.names) + 1 - len(offsets), offsets[-1]))
        self.limits = limits.limits
        self.limit_offsets = limits.groups.offsets
        self.values: Texts = limits.values
        self.errors: Mapping[int, HeliographError] = errors
        self._reader = reader

    def __len__(self) -> int:
        return len(self.names)

    def query(self, number: int) -> Query:
        """The query of one subscription, made anew."""
        rows = slice(*self.edge_offsets[number : number + 2].tolist())
        nodes = self.nodes
        ends = zip(*(column[rows].tolist() for column in self.edges))
        edges = [_make(TriplePattern, (nodes[s], nodes[p], nodes[o])) for s, p, o in ends]
        first, last = self.limit_offsets[number : number + 2].tolist()
        return _query(edges, [self.constraint(row) for row in range(first, last)])

    def constraint(self, row: int) -> Constraint:
        """What a limit of a subscription without errors means."""
        name = str(self.nodes[self.limits.variable[row]])
        value = self.values[int(self.limits.value[row])].as_py()
        found = self._reader.constraint((name, OPERATORS[self.limits.operator[row]], value))
        assert isinstance(found, Constraint)
        return found

    def edge_rows(self, numbers: Offsets) -> PatternRows:
        return _rows(self.edge_offsets, numbers)

    def limit_rows(self, numbers: Offsets) -> PatternRows:
        return _rows(self.limit_offsets, numbers)


def _rows(offsets: Offsets, numbers: Offsets) -> PatternRows:
    starts = offsets[numbers]
    counts = offsets[numbers + 1] - starts
    ends = np.cumsum(counts)
    shift = np.repeat(starts - ends + counts, counts)
    return PatternRows(shift + np.arange(len(shift)), np.repeat(np.arange(len(numbers)), counts), np.append(0, ends))


def read_patterns(patterns: pa.Table, constraints: pa.Table | None, reader: Reader) -> PatternSet:
    """A set from the tables of the contract. Constraints without patterns are errors, behind the subscriptions."""
    with collector_paused():
        edges = read_edges(patterns, reader)
        limits = read_limits(constraints, edges)
        errors = limit_faults(limits, edges, reader) | edge_faults(edges)
        for number, name in enumerate(limits.groups.names[len(edges.groups.names) :], len(edges.groups.names)):
            message = f"constraints for {name!r}, which has no patterns"
            fix = "write its pattern rows too, or drop its constraints"
            errors[number] = InterestError("HG-445", message, place=Place(item=name), fix=fix)
        if "" in edges.groups.names:
            fix = "give every row its subscription"
            error = InterestError("HG-440", "pattern rows without subscription_id", fix=fix)
            errors[edges.groups.names.index("")] = error
        errors |= size_faults(edges.groups, "patterns", MAX_PATTERNS)
        errors |= size_faults(limits.groups, "constraints", MAX_CONSTRAINTS)
        return PatternSet(edges, limits, errors, reader)


def _query(edges: Sequence[TriplePattern], constraints: Iterable[Constraint]) -> Query:
    patterns: list[Pattern] = [*edges]
    filters: list[Expression] = []
    for constraint in constraints:
        if constraint.condition is not None:
            filters.append(constraint.condition)
        elif constraint.pattern is not None:
            patterns.append(constraint.pattern)
    variables = dict.fromkeys([node for node in chain.from_iterable(patterns) if type(node) is Variable])
    shown = [variable for variable in variables if variable.name[:2] != "_:"]
    return Query(Form.SELECT, tuple(patterns), tuple(filters), (), tuple(shown))


# --- back to tables ---------------------------------------------------------------------------------------------
# Pattern sets back to the tables of the contract. The law: what `tables_of` returns reads as the same queries.

Numbers: TypeAlias = npt.NDArray[np.int64]
_Codes: TypeAlias = "npt.NDArray[np.integer[Any]]"
_CHUNK = 1 << 20  # rows of an Arrow chunk: the texts of one must stay below 2 GB


class _Column:
    """A column that grows by codes into further things; each distinct thing is spelled once."""

    def __init__(self, spelling: Callable[[Any], str | None]) -> None:
        self._spelling = spelling
        self._known: dict[Any, int] = {}
        self._codes: list[Numbers] = []

    def add(self, things: Iterable[Any], codes: _Codes) -> None:
        known = self._known
        numbers = np.array([known.setdefault(thing, len(known)) for thing in things], np.int64)
        self._codes.append(numbers[codes])

    def texts(self) -> pa.ChunkedArray[Any]:
        texts = pa.array([self._spelling(thing) for thing in self._known], pa.string())
        codes = np.concatenate([np.zeros(0, np.int64), *self._codes])
        chunks = [texts.take(codes[at : at + _CHUNK]) for at in range(0, len(codes), _CHUNK)]
        return pa.chunked_array(chunks, pa.string())


def _cell(position: Position) -> Callable[[Node], str]:
    return lambda node: spell(node, position) if isinstance(node, Term) else str(node)


def tables_of(selections: Iterable[tuple[PatternSet, Numbers, Sequence[str]]]) -> dict[str, pa.Table]:
    """The tables of subscriptions by set, numbers in it and names: rows of one together and in order."""
    columns = {
        "patterns": [_Column(str), *(_Column(_cell(position)) for position in Position)],
        "constraints": [_Column(lambda text: text), _Column(str), _Column(str), _Column(lambda text: text)],
    }
    for found, numbers, names in selections:
        for name, rows, numbered, things in (
            ("patterns", found.edge_rows(numbers), found.edges, [found.nodes] * 3),
            (
                "constraints",
                found.limit_rows(numbers),
                found.limits,
                (found.nodes, OPERATORS, found.values.to_pylist()),
            ),
        ):
            if not len(rows.positions):
                continue
            owner, *cells = columns[name]
            owner.add(names, rows.owners)
            taken: list[_Codes] = [codes[rows.positions] for codes in numbered]
            for column, each, of in zip(cells, things, taken, strict=True):
                column.add(each, of)
    return {
        name: pa.Table.from_arrays([column.texts() for column in several], schema=TABLES[name].arrow)
        for name, several in columns.items()
    }
