"""Queries and pattern tables as interests: plain edges by id, and what is asked of each variable."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import isfinite, isinf
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.compiled.growing import fixed, power_of_two, ragged
from heliograph.errors import HeliographError
from heliograph.filter.layout import MOST_VARIABLES, Atoms, Closure, Conjuncts, Int32s
from heliograph.filter.layout import Int64s as LayoutInt64s
from heliograph.io.publications import Triples
from heliograph.sparql.evaluate import holds
from heliograph.sparql.query import (
    And,
    ClassPattern,
    ClassRelation,
    Expression,
    Form,
    Node,
    Not,
    Or,
    Pattern,
    Query,
    TriplePattern,
    Values,
    spell_node,
    walk,
)
from heliograph.sparql.regions import (
    HIGH_OPEN,
    LOW_OPEN,
    ROUNDED,
    Atom,
    Box,
    Domain,
    Intern,
    Region,
    all_of,
    alternatives,
    any_of,
    box_of,
    common,
    identity,
    place_of,
    text_keys,
)
from heliograph.sparql.tables import OPERATORS, Constraint, PatternSet, Rows, bare_integers
from heliograph.subscriptions import PatternBatch, Subscription
from heliograph.taxonomy import Classes, Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, parse_cell, value_of
from heliograph.vocabulary import Vocabulary

# ----------------------------------------------------------------------------------------------------------------------
# Graph-pattern interests as flat columns: what an index is built from.
#
# An interest is a set of plain edges and a conjunction of conditions on single variables. A node is a term id, or
# `~v` for the variable number v; variables are numbered by first appearance in the interest's edges (subject,
# predicate, object). A conjunct asks that a variable's value lie in one of its atoms; an atom is a domain and an
# interval of coordinates (`index.domains`). The law: if an interest is neither `INEXACT` nor `COMPLEX`, a publication
# matches it exactly if its edges have a homomorphism under which every conjunct holds. Otherwise edges and conjuncts
# are only necessary.
# ----------------------------------------------------------------------------------------------------------------------

__all__ = [
    "COMPLEX",
    "HIGH_OPEN",
    "INEXACT",
    "LOW_OPEN",
    "ROUNDED",
    "Atom",
    "Atoms",
    "Conjuncts",
    "Interest",
    "Interests",
    "gather",
    "offsets_of",
]

INEXACT = 1  # the conjuncts do not say everything: the query's own conditions decide on each solution
COMPLEX = 2  # the edges do not say everything either: the whole query decides


class Interest(NamedTuple):
    """One interest, before it joins others in columns."""

    edges: tuple[tuple[int, int, int], ...]
    conjuncts: tuple[tuple[int, tuple[Atom, ...]], ...] = ()  # variable number, alternatives
    flags: int = 0


class Interests(NamedTuple):
    """Interest i: edges edge_offsets[i]…, conjuncts conjunct_offsets[i]…; `numbers` give the order of subscribing."""

    numbers: npt.NDArray[np.int64]
    flags: npt.NDArray[np.uint8]
    edges: Triples
    edge_offsets: npt.NDArray[np.int64]
    conjuncts: Conjuncts
    conjunct_offsets: npt.NDArray[np.int64]


def gather(interests: Sequence[Interest], numbers: Sequence[int]) -> Interests:
    """Single interests as columns."""
    edges = np.array([edge for each in interests for edge in each.edges], np.int32).reshape(-1, 3)
    conjuncts = [conjunct for each in interests for conjunct in each.conjuncts]
    atoms = [atom for _, alternatives in conjuncts for atom in alternatives]
    return Interests(
        np.array(numbers, np.int64),
        np.array([each.flags for each in interests], np.uint8),
        Triples(*(np.ascontiguousarray(column) for column in edges.T)),
        offsets_of([len(each.edges) for each in interests]),
        Conjuncts(
            np.array([variable for variable, _ in conjuncts], np.int16),
            offsets_of([len(alternatives) for _, alternatives in conjuncts]),
            Atoms(
                np.array([atom.domain for atom in atoms], np.uint8),
                np.array([atom.low for atom in atoms], np.float64),
                np.array([atom.high for atom in atoms], np.float64),
                np.array([atom.flags for atom in atoms], np.uint8),
            ),
        ),
        offsets_of([len(each.conjuncts) for each in interests]),
    )


def offsets_of(sizes: Sequence[int] | npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Where parts of these sizes begin and end when they lie end to end."""
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, np.int64), dtype=np.int64)))


# ----------------------------------------------------------------------------------------------------------------------
# Atoms for people: what one asks as text, and whether a term suits it, in plain Python.
#
# The law: `suits` refuses exactly the terms that the kernels refuse (`kernels.conditions`), and texts that lack a
# piece which they must hold; what is left in doubt, or to the query's own conditions, it lets pass.
# ----------------------------------------------------------------------------------------------------------------------

_ASKED = {
    Domain.IS_A: "is-a",
    Domain.DIRECT: "direct-is-a",
    Domain.SUBCLASS_OF: "subclass-of",
    Domain.SUPERCLASS_OF: "superclass-of",
}
_NAMED = {Domain.IRI: "IRI", Domain.BLANK: "blank node", Domain.TEXT: "text", Domain.ODD: "other literal"}  # by id
_TIMES = {
    Domain.TIME: "dateTime",
    Domain.LOCAL_TIME: "dateTime without a zone",
    Domain.DATE: "date",
    Domain.LOCAL_DATE: "date without a zone",
}
_VALUES = {Domain.NUMBER: "number", Domain.BOOLEAN: "boolean", Domain.NAN: "not-a-number", Domain.FLOAT: "xsd:float"}


# --- text -------------------------------------------------------------------------------------------------------


def spell_atom(atom: Atom, vocabulary: Vocabulary) -> str:
    """An atom as people read it: `number (2000, ∞)`, `is-a Publication`, `IRI Alice`."""
    domain = Domain(int(atom.domain))
    if domain == Domain.WORD:
        return "text that holds a certain piece of what is asked for"
    if domain in _ASKED:
        return f"{_ASKED[domain]} {spell_node(vocabulary.term(int(atom.low)))}"
    if domain in _NAMED:
        return f"{_NAMED[domain]}{_among(atom, vocabulary)}"
    name = _TIMES.get(domain) or _VALUES[domain]
    return name if isinf(atom.low) and isinf(atom.high) else f"{name} {_interval(atom, domain in _TIMES)}"


def _among(atom: Atom, vocabulary: Vocabulary) -> str:
    """Terms by id: a single one, all of them, or those on one side of one, which together make all the others."""
    if atom.low == atom.high:
        return f" {spell_node(vocabulary.term(int(atom.low)))}"
    ends = [("after", atom.low), ("before", atom.high)]
    known = [f" {side} {spell_node(vocabulary.term(int(end)))}" for side, end in ends if not isinf(end)]
    return " and".join(known)


def _interval(atom: Atom, times: bool) -> str:
    low = "(" if int(atom.flags) & LOW_OPEN or isinf(atom.low) else "["
    high = ")" if int(atom.flags) & HIGH_OPEN or isinf(atom.high) else "]"
    if atom.low == atom.high:
        return _end(atom.low, times)
    return f"{low}{_end(atom.low, times)}, {_end(atom.high, times)}{high}"


def _end(end: float, times: bool) -> str:
    if isinf(end):
        return "∞" if end > 0 else "-∞"
    known = times and abs(end) < 2.0**63  # beyond, moments are clamped
    return str(np.datetime64(int(end), "us")) if known else f"{end:.15g}"


# --- verdicts ---------------------------------------------------------------------------------------------------


def suits(atom: Atom, term: Term, vocabulary: Vocabulary, classes: Classes) -> bool:
    """Whether a term may suit an atom; the vocabulary is that of the term's publication."""
    domain = int(atom.domain)
    if domain < Domain.IS_A:
        return _within(atom, term, vocabulary)
    if domain == Domain.WORD:
        return int(atom.low) in text_keys(term.value)
    kind = vocabulary.term(int(atom.low))
    if domain == Domain.IS_A:
        return kind in classes.all_types(term)
    if domain == Domain.DIRECT:
        return kind in classes.types(term)
    return kind in classes.ancestors(term) if domain == Domain.SUBCLASS_OF else term in classes.ancestors(kind)


def _within(atom: Atom, term: Term, vocabulary: Vocabulary) -> bool:
    place = place_of(term, vocabulary.find)
    if place.domain == Domain.FLOAT:
        return True
    if place.domain != atom.domain or not atom.low <= place.coordinate <= atom.high:
        return False
    flags = int(atom.flags)
    doubtful = bool(flags & ROUNDED) or place.rounded
    low_out = place.coordinate == atom.low and flags & LOW_OPEN
    high_out = place.coordinate == atom.high and flags & HIGH_OPEN
    return doubtful or not (low_out or high_out)


# ----------------------------------------------------------------------------------------------------------------------
# Filters as conjuncts: what they ask of each variable by itself, as unions of intervals.
#
# SPARQL's logic has three values. A filter keeps a solution where it is true; `!` is true where its operand is false,
# so every expression is asked either where it is true or where it is false, and the question passes down: where `a &&
# b` is false, one of them is. Everything is asked in terms of supersets, which conjunction and disjunction preserve;
# what a filter loses on the way (text tests, arithmetic, several variables) makes the whole inexact.
#
# The law: a term for which the filters hold lies in every conjunct of its variable; if the conditions are exact, the
# converse holds too, but for terms in doubt (a tie with an end where one of both is rounded, or an xsd:float).
# ----------------------------------------------------------------------------------------------------------------------

_CONNECTIVES = (And, Or, Not)


class Conditions(NamedTuple):
    """What filters ask of each variable; `exact` if that says it all, `never` if no solution can satisfy them."""

    conjuncts: tuple[tuple[Variable, tuple[Atom, ...]], ...]
    exact: bool
    never: bool = False


class Asked(NamedTuple):
    """An expression, and whether it is asked where it is true or where it is false."""

    expression: Expression
    wanted: bool


def conditions_of(filters: Sequence[Expression], intern: Intern, given: Iterable[Box] = ()) -> Conditions:
    """The conjuncts of filters that are ANDed, together with the boxes already `given`.

    Variables that a filter names are taken to be bound. `intern` gives the ids of constants.
    """
    boxes = [*given, *(_box(asked, intern) for each in filters for asked in _parts(Asked(each, True)))]
    return Conditions(_conjuncts(boxes), all(box.exact for box in boxes), any(box.never for box in boxes))


def _conjuncts(boxes: Iterable[Box]) -> tuple[tuple[Variable, tuple[Atom, ...]], ...]:
    """One conjunct a variable, and one more for each region by text."""
    plain: dict[Variable, list[Region]] = {}
    worded: list[tuple[Variable, Region]] = []
    for box in boxes:
        for variable, region in box.regions.items():
            if region.words:
                worded.append((variable, region))
            else:
                plain.setdefault(variable, []).append(region)
    joined = [(variable, Region(common([each.lines for each in regions]))) for variable, regions in plain.items()]
    return tuple([(variable, alternatives(region)) for variable, region in joined + worded if not region.everything])


# --- the connectives --------------------------------------------------------------------------------------------


def _parts(asked: Asked) -> list[Asked]:
    """What must all be so, where an expression is ANDed from parts."""
    if not isinstance(asked.expression, _CONNECTIVES):
        return [asked]
    parts: list[Asked] = []
    stack = [asked]
    while stack:
        each = _without_not(stack.pop())
        operands = _operands(each)
        if operands is not None and _needs_all(each):
            stack.extend(reversed(operands))
        else:
            parts.append(each)
    return parts


def _box(asked: Asked, intern: Intern) -> Box:
    """The box of a part: its connectives are run on a stack, operands first."""
    if not isinstance(asked.expression, _CONNECTIVES):
        return box_of(asked.expression, asked.wanted, intern)
    done: list[Box] = []
    for each, operands in reversed(_prefix(asked)):
        if operands is None:
            done.append(box_of(each.expression, each.wanted, intern))
        else:
            taken = [done.pop() for _ in range(operands)]
            done.append(all_of(taken) if _needs_all(each) else any_of(taken))
    return done[0]


def _prefix(asked: Asked) -> list[tuple[Asked, int | None]]:
    """Connectives with the number of their operands, which follow them; None for anything else."""
    ordered: list[tuple[Asked, int | None]] = []
    stack = [asked]
    while stack:
        each = _without_not(stack.pop())
        operands = _operands(each)
        ordered.append((each, None if operands is None else len(operands)))
        stack.extend(operands or ())
    return ordered


def _without_not(asked: Asked) -> Asked:
    expression, wanted = asked
    while isinstance(expression, Not):
        expression, wanted = expression.operand, not wanted
    return Asked(expression, wanted)


def _operands(asked: Asked) -> list[Asked] | None:
    if not isinstance(asked.expression, (And, Or)):
        return None
    return [Asked(operand, asked.wanted) for operand in asked.expression.operands]


def _needs_all(asked: Asked) -> bool:
    """`a && b` is true where both are, `a || b` is false where both are."""
    return isinstance(asked.expression, And) == asked.wanted


# ----------------------------------------------------------------------------------------------------------------------
# Queries as interests: plain edges by id, and what is asked of each of their variables.
#
# A plain edge is a triple pattern that the document's own triples alone decide. Class forms, VALUES and filters
# become conjuncts where they speak of one variable that a plain edge binds. Whatever else a query asks makes it
# `COMPLEX`; its edges and conjuncts are then still necessary, with one exception: a count may be satisfied by nothing
# at all.
# ----------------------------------------------------------------------------------------------------------------------

MOST = MOST_VARIABLES  # edges or variables; their numbers are 16 bits wide

Conjunct = tuple[int, tuple[Atom, ...]]


class ClassForm(NamedTuple):
    """A class that a variable's value is asked to belong to, in one of the ways of `Domain`."""

    variable: Variable
    domain: Domain
    kind: Term


class _Parts(NamedTuple):
    """The patterns of a query that an interest can hold; `whole` if these are all it has."""

    edges: list[TriplePattern]
    forms: list[ClassForm]
    variables: dict[Variable, int]  # of the edges, by number
    whole: bool


class _Asked(NamedTuple):
    """The filters and VALUES that are about variables of the edges; `whole` if these are all."""

    filters: list[Expression]
    choices: list[Box]
    whole: bool


def interest_of(query: Query, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interest:
    """A query as an interest; its constants get ids in the vocabulary."""
    if _counts_nothing(query):
        return Interest((), (), COMPLEX)
    parts = _split(query, taxonomy)
    ids = _ids(parts, vocabulary)
    asked = _asked(query, parts.variables, vocabulary.intern)
    conditions = conditions_of(asked.filters, vocabulary.intern, asked.choices)
    whole = parts.whole and asked.whole and not query.counted
    flags = (0 if whole else COMPLEX) | (0 if conditions.exact and not conditions.never else INEXACT)
    return Interest(_edges(parts, ids), (*_classes(parts, ids), *_numbered(conditions, parts.variables)), flags)


def edge_variables(query: Query, taxonomy: Taxonomy) -> tuple[Variable, ...]:
    """The variables of a query's plain edges, in the order in which its interest numbers them."""
    return () if _counts_nothing(query) else tuple(_split(query, taxonomy).variables)


def _counts_nothing(query: Query) -> bool:
    """Whether a query is true where its pattern has no solution: then not even its edges are necessary."""
    return not query.group_by and query.having is not None and holds(query.having, {}, count=0)


# --- patterns ---------------------------------------------------------------------------------------------------


def _split(query: Query, taxonomy: Taxonomy) -> _Parts:
    edges: list[TriplePattern] = []
    forms: list[ClassForm] = []
    placed = 0
    for pattern in query.patterns:
        form = _form(pattern, taxonomy)
        if isinstance(form, TriplePattern):
            edges.append(form)
        elif form is not None:
            forms.append(form)
        placed += form is not None or _is_given(pattern, taxonomy)
    return _numbered_parts(edges, forms, placed == len(query.patterns))


def _form(pattern: Pattern, taxonomy: Taxonomy) -> TriplePattern | ClassForm | None:
    """A pattern as an edge or as a class form; None where it is neither."""
    if isinstance(pattern, ClassPattern):
        return _class_form(pattern)
    if pattern.predicate == RDF_TYPE and taxonomy.rows:
        return _direct_form(pattern, taxonomy)
    return None if pattern.predicate == RDFS_MEMBER else pattern


def _numbered_parts(edges: list[TriplePattern], forms: list[ClassForm], whole: bool) -> _Parts:
    variables = _variables(edges)
    if len(edges) > MOST or len(variables) > MOST:
        edges, whole = edges[: MOST // 3], False
        variables = _variables(edges)
    bound = [form for form in forms if form.variable in variables]
    return _Parts(edges, bound, variables, whole and bool(edges) and len(bound) == len(forms))


def _variables(edges: list[TriplePattern]) -> dict[Variable, int]:
    named = dict.fromkeys([node for edge in edges for node in edge if isinstance(node, Variable)])
    return {variable: number for number, variable in enumerate(named)}


def _direct_form(pattern: TriplePattern, taxonomy: Taxonomy) -> TriplePattern | ClassForm | None:
    """`?x a C` where taxonomy rows count; without a row that could answer it, it is as good as any other edge."""
    subject, _, kind = pattern
    if isinstance(kind, Variable) or _is_given(pattern, taxonomy):
        return None
    if isinstance(subject, Variable) and taxonomy.children(kind):
        return ClassForm(subject, Domain.DIRECT, kind)
    return pattern


def _is_given(pattern: Pattern, taxonomy: Taxonomy) -> bool:
    """Whether a row of the taxonomy answers the pattern, whatever the document."""
    if isinstance(pattern, ClassPattern) or isinstance(pattern.object, Variable):
        return False
    return pattern.predicate == RDF_TYPE and pattern.subject in taxonomy.children(pattern.object)


def _class_form(pattern: ClassPattern) -> ClassForm | None:
    relation, subject, object = pattern
    if isinstance(subject, Variable) and not isinstance(object, Variable):
        return ClassForm(subject, Domain.IS_A if relation is ClassRelation.IS_A else Domain.SUBCLASS_OF, object)
    if isinstance(object, Variable) and not isinstance(subject, Variable) and relation is ClassRelation.SUBCLASS_OF:
        return ClassForm(object, Domain.SUPERCLASS_OF, subject)
    return None


def _ids(parts: _Parts, vocabulary: Vocabulary) -> dict[Node, int]:
    """The id of every constant, and for each variable its number the way an edge holds it."""
    nodes = dict.fromkeys([*chain.from_iterable(parts.edges), *(form.kind for form in parts.forms)])
    constants = [node for node in nodes if isinstance(node, Term)]
    ids: dict[Node, int] = dict(zip(constants, vocabulary.intern_many(constants), strict=True))
    ids.update((variable, ~number) for variable, number in parts.variables.items())
    return ids


def _edges(parts: _Parts, ids: Mapping[Node, int]) -> tuple[tuple[int, int, int], ...]:
    return tuple(dict.fromkeys([(ids[s], ids[p], ids[o]) for s, p, o in parts.edges]))


def _classes(parts: _Parts, ids: Mapping[Node, int]) -> Iterator[Conjunct]:
    for variable, domain, kind in parts.forms:
        yield parts.variables[variable], (Atom(domain, ids[kind], ids[kind]),)


# --- conditions -------------------------------------------------------------------------------------------------


def _asked(query: Query, variables: Mapping[Variable, int], intern: Intern) -> _Asked:
    filters = [each for each in query.filters if _names(each) <= variables.keys()]
    choices = [_choice(block, intern) for block in query.values if _is_choice(block, variables)]
    return _Asked(filters, choices, len(filters) == len(query.filters) and len(choices) == len(query.values))


def _names(expression: Expression) -> set[Variable]:
    return {node for node in walk(expression) if isinstance(node, Variable)}


def _is_choice(block: Values, variables: Mapping[Variable, int]) -> bool:
    return len(block.variables) == 1 and block.variables[0] in variables and (None,) not in block.rows


def _choice(block: Values, intern: Intern) -> Box:
    """A VALUES block on one variable: its value is one of these very terms."""
    (variable,) = block.variables
    boxes = [_identical(variable, term, intern) for (term,) in block.rows if term is not None]
    return any_of(boxes) if boxes else Box({variable: Region({})})


def _identical(variable: Variable, term: Term, intern: Intern) -> Box:
    lines, exact = identity(term, intern)
    return Box({variable: Region(lines)}, exact)


def _numbered(conditions: Conditions, variables: Mapping[Variable, int]) -> Iterator[Conjunct]:
    for variable, atoms in conditions.conjuncts:
        yield variables[variable], atoms
    if conditions.never and variables:
        yield 0, ()


# ----------------------------------------------------------------------------------------------------------------------
# The taxonomy's closure as flat arrays, so that a class is looked up in constant time.
#
# Where the closure would be too large to keep (a chain of n classes has n²/2 pairs), there is none: then only the
# rows are kept and every publication is walked, as one with sub-classes of its own is.
# ----------------------------------------------------------------------------------------------------------------------

LIMIT = 20_000_000  # pairs; 16 bytes each


def closure_of(taxonomy: Taxonomy, vocabulary: Vocabulary, limit: int = LIMIT) -> Closure:
    """The closure over the vocabulary's ids; the taxonomy's terms are interned."""
    from heliograph.filter.kernels import fill_pairs

    terms = list(dict.fromkeys([RDF_TYPE, RDFS_SUBCLASS_OF, *(term for row in taxonomy.rows for term in row)]))
    ids = dict(zip(terms, vocabulary.intern_many(terms), strict=True))
    parents = _lists(ids, taxonomy.parents)
    ancestors = _bounded(ids, taxonomy, limit)
    above = parents if ancestors is None else ancestors
    below = np.repeat(np.arange(len(above[0]) - 1), np.diff(above[0]))
    pairs = 1 + ((below << 32) | above[1])
    slots = np.zeros(power_of_two(2 * len(pairs) + 2), np.int64)
    fill_pairs(pairs, slots)
    return fixed(Closure(*parents, *above, slots, ids[RDF_TYPE], ids[RDFS_SUBCLASS_OF], int(ancestors is not None)))


def _bounded(ids: dict[Term, int], taxonomy: Taxonomy, limit: int) -> tuple[LayoutInt64s, Int32s] | None:
    """The ancestors of every term, or None if they are too many."""
    total = 0
    for term in ids:
        total += len(taxonomy.ancestors(term))
        if total > limit:
            return None
    return _lists(ids, taxonomy.ancestors)


def _lists(ids: dict[Term, int], above: Callable[[Term], Iterable[Term]]) -> tuple[LayoutInt64s, Int32s]:
    """For each id what lies above it, end to end."""
    found = {id: [ids[each] for each in above(term)] for term, id in ids.items()}
    sizes = np.zeros(max(ids.values()) + 1, np.int64)
    for id, each in found.items():
        sizes[id] = len(each)
    flat = [id for row in sorted(found) for id in found[row]]
    return offsets_of(sizes), np.array(flat, np.int32)


# ----------------------------------------------------------------------------------------------------------------------
# The constraint rows of pattern sets as conjuncts, whole columns at a time.
#
# Ranges of numbers are intersected by sorting: the rows on one variable of one subscription become one interval. Each
# class is a conjunct by itself. Subscriptions that ask anything else are compiled, those with the same constraints
# once. The law: the conjuncts are those of the subscription's query, because every variable of a constraint stands in
# one of its plain edges.
# ----------------------------------------------------------------------------------------------------------------------

Int64s: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_NUMBER_LIKE = r"^[+-]?[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?$"


class BulkLimitsAsked(NamedTuple):
    """Conjuncts by subscription: number i is of subscription owner[i] and about the variable with the code code[i].

    Subscriptions are counted as in the rows that were asked about; `flags` are theirs.
    """

    owner: Int64s
    code: Int64s
    sizes: Int64s
    atoms: Atoms
    flags: npt.NDArray[np.uint8]


def asked_of(patterns: PatternSet, rows: Int64s, vocabulary: Vocabulary, taxonomy: Taxonomy) -> BulkLimitsAsked:
    """What the constraints of these subscriptions ask."""
    asking = _Asking(patterns, patterns.limit_rows(rows), len(rows))
    numbers, classes = _numbers_in(asking), _classes_in(asking, vocabulary)
    plain: Flags = np.bincount(asking.rows.owners, np.isnan(numbers) & (classes < 0), asking.size) == 0
    ranges = _ranges(asking, np.flatnonzero(plain[asking.rows.owners] & ~np.isnan(numbers)), numbers)
    plain[ranges.owner[ranges.low > ranges.high]] = False
    parts = [_of_ranges(asking, ranges, plain)]
    if (classes >= 0).any():
        parts.append(_of_classes(asking, np.flatnonzero(plain[asking.rows.owners] & (classes >= 0)), classes))
    if not plain.all():
        parts.append(_compiled(asking, np.flatnonzero(~plain), vocabulary, taxonomy))
    return _joined(parts)


class _Asking(NamedTuple):
    """The constraint rows of `size` subscriptions."""

    patterns: PatternSet
    rows: Rows
    size: int

    @property
    def variable(self) -> Int64s:
        return self.patterns.limits.variable[self.rows.positions].astype(np.int64)

    @property
    def operator(self) -> npt.NDArray[np.uint8]:
        return self.patterns.limits.operator[self.rows.positions]

    @property
    def value(self) -> npt.NDArray[np.int32]:
        return self.patterns.limits.value[self.rows.positions]


def _joined(parts: Sequence[BulkLimitsAsked]) -> BulkLimitsAsked:
    if len(parts) == 1:
        return parts[0]
    owner = np.concatenate([part.owner for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    order = np.argsort(owner, kind="stable")
    at, _ = ragged(offsets_of(sizes), order)
    return BulkLimitsAsked(
        owner[order],
        np.concatenate([part.code for part in parts])[order],
        sizes[order],
        take(chain_atoms([part.atoms for part in parts]), at),
        np.bitwise_or.reduce([part.flags for part in parts]),
    )


def take(atoms: Atoms, at: Int64s) -> Atoms:
    """The atoms at these places."""
    return Atoms(atoms.domain[at], atoms.low[at], atoms.high[at], atoms.flags[at])


def chain_atoms(several: Sequence[Atoms]) -> Atoms:
    """Atoms end to end."""
    return Atoms(*(np.concatenate(columns) for columns in zip(*several, strict=True)))


# --- ranges of numbers ------------------------------------------------------------------------------------------


def _which(*operators: str) -> Flags:
    return np.array([operator in operators for operator in OPERATORS])


_FROM, _TO = _which("=", ">", ">="), _which("=", "<", "<=")
_OVER, _UNDER = _which(">"), _which("<")


class _Intervals(NamedTuple):
    """One interval for each variable of each subscription; low is above high where nothing lies between."""

    owner: Int64s
    code: Int64s
    low: Floats
    high: Floats
    flags: npt.NDArray[np.uint8]


def _ranges(asking: _Asking, at: Int64s, numbers: Floats) -> _Intervals:
    """Intersects the bounds on one variable: the innermost count, and of equal ones the open."""
    if not len(at):
        none, nobody = np.zeros(0), np.zeros(0, np.int64)
        return _Intervals(nobody, nobody, none, none, none.astype(np.uint8))
    at = at[np.lexsort((asking.variable[at], asking.rows.owners[at]))]
    owner, code, operator, number = asking.rows.owners[at], asking.variable[at], asking.operator[at], numbers[at]
    first = np.flatnonzero(np.append(True, (owner[1:] != owner[:-1]) | (code[1:] != code[:-1])))
    sizes = np.diff(np.append(first, len(owner)))
    low = np.maximum.reduceat(np.where(_FROM[operator], number, -np.inf), first)
    high = np.minimum.reduceat(np.where(_TO[operator], number, np.inf), first)
    over = np.logical_or.reduceat(_OVER[operator] & (number == np.repeat(low, sizes)), first)
    under = np.logical_or.reduceat(_UNDER[operator] & (number == np.repeat(high, sizes)), first)
    low = np.where((low == high) & (over | under), np.inf, low)
    return _Intervals(owner[first], code[first], low, high, (over * LOW_OPEN + under * HIGH_OPEN).astype(np.uint8))


def _of_ranges(asking: _Asking, ranges: _Intervals, plain: Flags) -> BulkLimitsAsked:
    kept = np.flatnonzero(plain[ranges.owner])
    number = np.full(len(kept), Domain.NUMBER, np.uint8)
    atoms = Atoms(number, ranges.low[kept], ranges.high[kept], ranges.flags[kept])
    return _one_each(asking, ranges.owner[kept], ranges.code[kept], atoms)


def _one_each(asking: _Asking, owner: Int64s, code: Int64s, atoms: Atoms) -> BulkLimitsAsked:
    """Conjuncts of one atom."""
    return BulkLimitsAsked(owner, code, np.ones(len(owner), np.int64), atoms, np.zeros(asking.size, np.uint8))


def _numbers_in(asking: _Asking) -> Floats:
    """The number that a row bounds its variable by; not-a-number where it does no such thing."""
    bounding = _FROM[asking.operator] | _TO[asking.operator]
    value = asking.value
    return np.where(bounding, _numbers(asking.patterns.values, np.unique(value[bounding]))[value], np.nan)


def _numbers(values: pa.Array[Any], wanted: npt.NDArray[np.integer]) -> Floats:
    """The numbers that the wanted values stand for; not-a-number where one is none, or not exactly a float64."""
    numbers = np.full(len(values), np.nan)
    texts = values.take(wanted)
    whole = bare_integers(texts)
    numbers[wanted[whole]] = np.asarray(texts.filter(pa.array(whole)).cast(pa.int64()))
    like = np.asarray(pc.match_substring_regex(texts, _NUMBER_LIKE).fill_null(False)) & ~whole
    for code, text in zip(wanted[like].tolist(), texts.filter(pa.array(like)).to_pylist(), strict=True):
        numbers[code] = _exact(str(text))
    return numbers


def _exact(text: str) -> float:
    term = parse_cell(text)
    if value_of(term) is None:
        return np.nan
    domain, coordinate, rounded = place_of(term, lambda _: 0)
    return coordinate if domain == Domain.NUMBER and not rounded and isfinite(coordinate) else np.nan


# --- classes ----------------------------------------------------------------------------------------------------

_CLASS_DOMAINS = {"is-a": Domain.IS_A, "subclass-of": Domain.SUBCLASS_OF, "superclass-of": Domain.SUPERCLASS_OF}
_IS_CLASS = _which(*_CLASS_DOMAINS)
_DOMAIN_OF = np.array([_CLASS_DOMAINS.get(operator, 0) for operator in OPERATORS], np.uint8)


def _classes_in(asking: _Asking, vocabulary: Vocabulary) -> Int64s:
    """The id of the class that a row asks for; -1 where it asks for none, or for a variable."""
    at = np.flatnonzero(_IS_CLASS[asking.operator])
    _, first, number = np.unique(asking.value[at], return_index=True, return_inverse=True)
    rows = asking.rows.positions[at[first]].tolist()
    kinds = [_class(asking.patterns.constraint(row)) for row in rows]
    ids = [-1 if isinstance(kind, Variable) else vocabulary.intern(kind) for kind in kinds]
    classes = np.full(len(asking.rows.positions), -1, np.int64)
    classes[at] = np.array(ids, np.int64)[number]
    return classes


def _class(constraint: Constraint) -> Node:
    assert isinstance(constraint.pattern, ClassPattern)
    _, subject, object = constraint.pattern
    return object if subject == constraint.needs[0] else subject


def _of_classes(asking: _Asking, at: Int64s, classes: Int64s) -> BulkLimitsAsked:
    ids = classes[at].astype(np.float64)
    atoms = Atoms(_DOMAIN_OF[asking.operator[at]], ids, ids, np.zeros(len(at), np.uint8))
    return _one_each(asking, asking.rows.owners[at], asking.variable[at], atoms)


# --- anything else ----------------------------------------------------------------------------------------------


class _Lists(NamedTuple):
    """Distinct lists of constraints as interests of their own, and the code of each conjunct's variable."""

    interests: Interests
    codes: Int64s


def _compiled(asking: _Asking, wanted: Int64s, vocabulary: Vocabulary, taxonomy: Taxonomy) -> BulkLimitsAsked:
    """What the others ask: those with the same constraints ask the same."""
    patterns = asking.patterns
    numbers, firsts = _alike(asking, wanted)
    lists = [[patterns.constraint(row) for row in asking.rows.of(one)] for one in firsts]
    names = [list(dict.fromkeys([name for each in constraints for name in each.needs])) for constraints in lists]
    alone = [interest_of(_query(*each), vocabulary, taxonomy) for each in zip(names, lists, strict=True)]
    codes = {node: code for code, node in enumerate(patterns.nodes) if type(node) is Variable}
    asked = [codes[own[number]] for own, each in zip(names, alone, strict=True) for number, _ in each.conjuncts]
    found = _Lists(gather(alone, range(len(alone))), np.array(asked, np.int64))
    return _spread(found, wanted, numbers, asking.size)


def _alike(asking: _Asking, wanted: Int64s) -> tuple[Int64s, list[int]]:
    """The distinct lists of constraints: the number of each wanted subscription's, and the first that has each."""
    key = (asking.variable * len(OPERATORS) + asking.operator) * len(asking.patterns.values) + asking.value
    keys, bounds = key.tolist(), asking.rows.offsets.tolist()
    known: dict[tuple[int, ...], int] = {}
    numbers: list[int] = []
    firsts: list[int] = []
    for one in wanted.tolist():
        numbers.append(known.setdefault(tuple(keys[bounds[one] : bounds[one + 1]]), len(known)))
        if numbers[-1] == len(firsts):
            firsts.append(one)
    return np.array(numbers, np.int64), firsts


def _query(names: Sequence[Variable], constraints: Sequence[Constraint]) -> Query:
    """Constraints by themselves: edges of nothing but variables bind theirs in order."""
    bound: list[Pattern] = [TriplePattern(name, name, name) for name in names]
    asked = [each.pattern for each in constraints if each.pattern is not None]
    conditions = [each.condition for each in constraints if each.condition is not None]
    return Query(Form.SELECT, (*bound, *asked), tuple(conditions))


def _spread(lists: _Lists, owners: Int64s, numbers: Int64s, count: int) -> BulkLimitsAsked:
    """List numbers[i] for subscription owners[i]."""
    interests = lists.interests
    at, bounds = ragged(interests.conjunct_offsets, numbers)
    atoms, ends = ragged(interests.conjuncts.offsets, at)
    flags = np.zeros(count, np.uint8)
    flags[owners] = interests.flags[numbers]
    owner = np.repeat(owners, np.diff(bounds))
    return BulkLimitsAsked(owner, lists.codes[at], np.diff(ends), take(interests.conjuncts.atoms, atoms), flags)


# ----------------------------------------------------------------------------------------------------------------------
# Pattern sets as interests, whole columns at a time.
#
# The law: `interests_of` gives each subscription the interest that `interest_of` gives its query, as sets of edges
# and of conjuncts. Subscriptions whose edges the taxonomy could answer, or that are otherwise unusual, go through
# their query.
# ----------------------------------------------------------------------------------------------------------------------

_LOG = logging.getLogger("heliograph")
_FEW = 4  # subscriptions up to which their queries are compiled faster than columns
_DIRECT = OPERATORS.index("direct-is-a")


def interests_of(
    patterns: PatternSet,
    rows: npt.NDArray[np.integer] | Sequence[int],
    numbers: npt.NDArray[np.integer] | Sequence[int],
    vocabulary: Vocabulary,
    taxonomy: Taxonomy,
) -> Interests:
    """The interests of subscriptions `rows` of a set, in that order; their constants get ids in the vocabulary."""
    chosen = np.asarray(rows, np.int64)
    unusual = np.full(len(chosen), True) if len(chosen) <= _FEW else _unusual(patterns, chosen, taxonomy)
    singly, together = np.flatnonzero(unusual), np.flatnonzero(~unusual)
    single = [interest_of(patterns.query(row), vocabulary, taxonomy) for row in chosen[singly].tolist()]
    parts = [gather(single, singly.tolist())] if single else []
    if len(together) or not parts:
        parts.append(_in_bulk(patterns, chosen[together], vocabulary, taxonomy)._replace(numbers=together))
    return _in_order(parts)._replace(numbers=np.asarray(numbers, np.int64))


def interests_of_batch(batch: PatternBatch, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interests:
    """The interests of subscriptions from one pattern set; if one of them fails, each by itself."""
    numbers = np.fromiter((each.number for each in batch.subscriptions), np.int64, len(batch.subscriptions))
    try:
        return interests_of(batch.patterns, batch.rows, numbers, vocabulary, taxonomy)
    except (MemoryError, HeliographError):
        raise
    except Exception as error:  # a bug; which one it is, is said below, unless it alone can be compiled
        count = len(batch.subscriptions)
        _LOG.warning(
            "%s subscriptions are compiled one by one: %s, %s", count, type(error).__name__, error, exc_info=error
        )
        return interests_singly(batch.subscriptions, vocabulary, taxonomy)


def interests_singly(subscriptions: Sequence[Subscription], vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interests:
    """The interests of subscriptions by their queries. One that fails gets an interest without edges: it is a candidate
    for every publication, and its query decides."""
    made = [_interest(each, vocabulary, taxonomy) for each in subscriptions]
    return gather(made, [each.number for each in subscriptions])


def _interest(subscription: Subscription, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interest:
    try:
        return interest_of(subscription.query, vocabulary, taxonomy)
    except (MemoryError, HeliographError):
        raise
    except Exception as error:
        _LOG.warning(
            "subscription %r cannot be indexed, so it is tried on every publication: %s, %s",
            subscription.id,
            type(error).__name__,
            error,
            exc_info=error,
        )
        return Interest((), (), COMPLEX)


def _unusual(patterns: PatternSet, rows: Int64s, taxonomy: Taxonomy) -> Flags:
    """Which have edges that are no plain ones, or too many of them."""
    special = [RDFS_MEMBER, RDF_TYPE] if taxonomy.rows else [RDFS_MEMBER]
    is_special = np.array([node in special for node in patterns.nodes], np.bool_)
    edges, limits = patterns.edge_rows(rows), patterns.limit_rows(rows)
    count = np.bincount(edges.owners, is_special[patterns.edges.predicate[edges.positions]], len(rows))
    count += np.bincount(limits.owners, patterns.limits.operator[limits.positions] == _DIRECT, len(rows))
    unusual: Flags = (count > 0) | (np.diff(edges.offsets) > MOST // 3)
    return unusual


def _in_order(parts: Sequence[Interests]) -> Interests:
    """Several as one, by their numbers."""
    if len(parts) == 1:
        return parts[0]
    edges = Triples(*(np.concatenate(columns) for columns in zip(*(part.edges for part in parts), strict=True)))
    conjuncts = [part.conjuncts for part in parts]
    numbers = np.concatenate([part.numbers for part in parts])
    order = np.argsort(numbers)
    edge_at, edge_offsets = ragged(_chained([part.edge_offsets for part in parts]), order)
    at, conjunct_offsets = ragged(_chained([part.conjunct_offsets for part in parts]), order)
    atom_at, offsets = ragged(_chained([each.offsets for each in conjuncts]), at)
    return Interests(
        numbers[order],
        np.concatenate([part.flags for part in parts])[order],
        Triples(*(column[edge_at] for column in edges)),
        edge_offsets,
        Conjuncts(
            np.concatenate([each.variable for each in conjuncts])[at],
            offsets,
            take(chain_atoms([each.atoms for each in conjuncts]), atom_at),
        ),
        conjunct_offsets,
    )


def _chained(several: Sequence[Int64s]) -> Int64s:
    return offsets_of(np.concatenate([np.diff(offsets) for offsets in several]))


# --- columns ----------------------------------------------------------------------------------------------------


class _Numbering(NamedTuple):
    """The variables of subscriptions: keys (subscription × width + node), ascending, and the number of each."""

    width: int
    keys: Int64s
    numbers: Int64s

    def of(self, owners: Int64s, codes: Int64s) -> Int64s:
        return self.numbers[np.searchsorted(self.keys, owners * self.width + codes)]


def _in_bulk(patterns: PatternSet, rows: Int64s, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interests:
    edges = patterns.edge_rows(rows)
    codes = np.stack([column[edges.positions] for column in patterns.edges], axis=1)
    ids = _bulk_ids(patterns, codes, vocabulary)[codes]
    places = np.flatnonzero(ids.ravel() < 0)
    owners, named = edges.owners[places // 3], codes.ravel()[places].astype(np.int64)
    numbering = _number(owners, named, len(patterns.nodes))
    ids.ravel()[places] = ~numbering.of(owners, named)
    asked = asked_of(patterns, rows, vocabulary, taxonomy)
    return Interests(
        np.arange(len(rows)),
        asked.flags,
        Triples(*(np.ascontiguousarray(column) for column in ids.T)),
        edges.offsets,
        Conjuncts(numbering.of(asked.owner, asked.code).astype(np.int16), offsets_of(asked.sizes), asked.atoms),
        _conjunct_offsets(asked, len(rows)),
    )


def _bulk_ids(patterns: PatternSet, codes: npt.NDArray[np.int32], vocabulary: Vocabulary) -> npt.NDArray[np.int32]:
    """The ids of the nodes that occur; -1 for variables."""
    used = np.zeros(len(patterns.nodes), np.bool_)
    used[codes] = True
    constants = [code for code in np.flatnonzero(used).tolist() if isinstance(patterns.nodes[code], Term)]
    ids = np.full(len(patterns.nodes), -1, np.int32)
    ids[constants] = vocabulary.intern_many([patterns.nodes[code] for code in constants])  # type: ignore[misc]
    return ids


def _number(owners: Int64s, codes: Int64s, width: int) -> _Numbering:
    """Numbers the variables of each subscription in the order in which they first appear."""
    keys, first = np.unique(owners * width + codes, return_index=True)
    order = np.argsort(first)
    sizes = np.bincount(keys // width) if len(keys) else np.zeros(0, np.int64)
    numbers = np.empty(len(keys), np.int64)
    numbers[order] = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return _Numbering(width, keys, numbers)


def _conjunct_offsets(asked: BulkLimitsAsked, count: int) -> Int64s:
    return offsets_of(np.bincount(asked.owner, minlength=count))
