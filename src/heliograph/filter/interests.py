"""Queries and pattern tables as interests: plain edges by id, and what is asked of each variable.

An interest is a set of plain edges and a conjunction of conditions on single variables: what an index is built from. A
node is a term id, or `~v` for the variable number v; variables are numbered by first appearance in the interest's edges
(subject, predicate, object). A conjunct asks that a variable's value lie in one of its atoms; an atom is a domain and
an interval of coordinates (`sparql.regions`). The law: if an interest is neither `INEXACT` nor `COMPLEX`, a publication
matches it exactly if its edges have a homomorphism under which every conjunct holds. Otherwise edges and conjuncts are
only necessary.

One query is compiled by `interest_of`; the subscriptions of a pattern table by `interests_of`, whole columns at a time,
with the same interests as sets of edges and of conjuncts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.compiled.growing import fixed, power_of_two, ragged
from heliograph.errors import HeliographError
from heliograph.filter.layout import MOST_VARIABLES, Atoms, Closure, Conjuncts, Flags, Floats, Int32s, Int64s
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
    walk,
)
from heliograph.sparql.regions import (
    EVERYTHING,
    HIGH_OPEN,
    LOW_OPEN,
    Atom,
    Box,
    Domain,
    Intern,
    Region,
    atoms_of,
    box_of,
    intersection,
    just,
    place_of,
)
from heliograph.sparql.tables import OPERATORS, Constraint, PatternRows, PatternSet, bare_integers
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, parse_cell, value_of
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from heliograph.subscriptions import PatternBatch, Subscription

_LOG = logging.getLogger("heliograph")

INEXACT = 1  # the conjuncts do not say everything: the query's own conditions decide on each solution
COMPLEX = 2  # the edges do not say everything either: the whole query decides

Conjunct = tuple[int, tuple[Atom, ...]]  # variable number, alternatives


# --- interests as columns -----------------------------------------------------------------------------------------


class Interest(NamedTuple):
    """One interest, before it joins others in columns."""

    edges: tuple[tuple[int, int, int], ...]
    conjuncts: tuple[Conjunct, ...] = ()
    flags: int = 0


class Interests(NamedTuple):
    """Interest i: edges edge_offsets[i]…, conjuncts conjunct_offsets[i]…; `numbers` give the order of subscribing."""

    numbers: Int64s
    flags: npt.NDArray[np.uint8]
    edges: Triples
    edge_offsets: Int64s
    conjuncts: Conjuncts
    conjunct_offsets: Int64s


def gather(interests: Sequence[Interest], numbers: Sequence[int]) -> Interests:
    """Single interests as columns."""
    edges = np.array([edge for each in interests for edge in each.edges], np.int32).reshape(-1, 3)
    conjuncts = [conjunct for each in interests for conjunct in each.conjuncts]
    atoms = [atom for _, several in conjuncts for atom in several]
    return Interests(
        np.array(numbers, np.int64),
        np.array([each.flags for each in interests], np.uint8),
        Triples(*(np.ascontiguousarray(column) for column in edges.T)),
        offsets_of([len(each.edges) for each in interests]),
        Conjuncts(
            np.array([variable for variable, _ in conjuncts], np.int16),
            offsets_of([len(several) for _, several in conjuncts]),
            Atoms(
                np.array([atom.domain for atom in atoms], np.uint8),
                np.array([atom.low for atom in atoms], np.float64),
                np.array([atom.high for atom in atoms], np.float64),
                np.array([atom.flags for atom in atoms], np.uint8),
            ),
        ),
        offsets_of([len(each.conjuncts) for each in interests]),
    )


def in_order(parts: Sequence[Interests]) -> tuple[Interests, Int64s]:
    """Several as one, by their numbers; and the order in which that takes them from the parts end to end."""
    numbers = np.concatenate([part.numbers for part in parts])
    order = np.argsort(numbers, kind="stable")
    if len(parts) == 1 and (order[1:] > order[:-1]).all():
        return parts[0], order
    edges, edge_offsets = ragged(chained([part.edge_offsets for part in parts]), order)
    at, conjunct_offsets = ragged(chained([part.conjunct_offsets for part in parts]), order)
    atoms, atom_offsets = ragged(chained([part.conjuncts.offsets for part in parts]), at)
    columns = [np.concatenate(column)[edges] for column in zip(*(part.edges for part in parts), strict=True)]
    kept = [np.concatenate(column)[atoms] for column in zip(*(part.conjuncts.atoms for part in parts), strict=True)]
    variable = np.concatenate([part.conjuncts.variable for part in parts])[at]
    joined = Interests(
        numbers[order],
        np.concatenate([part.flags for part in parts])[order],
        Triples(*columns),
        edge_offsets,
        Conjuncts(variable, atom_offsets, Atoms(*kept)),
        conjunct_offsets,
    )
    return joined, order


def offsets_of(sizes: Sequence[int] | npt.NDArray[np.integer]) -> Int64s:
    """Where parts of these sizes begin and end when they lie end to end."""
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, np.int64), dtype=np.int64)))


def chained(several: Sequence[Int64s]) -> Int64s:
    """The offsets of things that lie end to end, of which each begins where the one before it ends."""
    return offsets_of(np.concatenate([np.diff(offsets) for offsets in several]))


# --- one query ----------------------------------------------------------------------------------------------------
# A plain edge is a triple pattern that the document's own triples alone decide. Class forms, VALUES and filters become
# conjuncts where they speak of one variable that a plain edge binds. Whatever else a query asks makes it `COMPLEX`; its
# edges and conjuncts are then still necessary, with one exception: a count may be satisfied by nothing at all.


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


def interest_of(query: Query, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interest:
    """A query as an interest; its constants get ids in the vocabulary."""
    if _counts_nothing(query):
        return Interest((), (), COMPLEX)
    edges, forms, variables, whole = _split(query, taxonomy)
    nodes = dict.fromkeys([*chain.from_iterable(edges), *(form.kind for form in forms)])
    constants = [node for node in nodes if isinstance(node, Term)]
    ids: dict[Node, int] = dict(zip(constants, vocabulary.intern_many(constants), strict=True))
    ids.update((variable, ~number) for variable, number in variables.items())
    filters = [each for each in query.filters if {n for n in walk(each) if isinstance(n, Variable)} <= variables.keys()]
    choices: list[Box] = []
    for block in query.values:  # on one variable: its value is one of these very terms
        if len(block.variables) == 1 and block.variables[0] in variables and (None,) not in block.rows:
            (variable,) = block.variables
            choices.append(Box({variable: just(term for (term,) in block.rows if term is not None)}))
    conditions = conditions_of(filters, vocabulary.intern, choices)
    conjuncts: list[Conjunct] = [
        (variables[form.variable], (Atom(form.domain, ids[form.kind], ids[form.kind]),)) for form in forms
    ]
    conjuncts += [(variables[variable], atoms) for variable, atoms in conditions.conjuncts]
    if conditions.never and variables:
        conjuncts.append((0, ()))
    taken = len(filters) == len(query.filters) and len(choices) == len(query.values)
    flags = 0 if whole and taken and not query.counted else COMPLEX
    flags |= 0 if conditions.exact and not conditions.never else INEXACT
    return Interest(tuple(dict.fromkeys([(ids[s], ids[p], ids[o]) for s, p, o in edges])), tuple(conjuncts), flags)


def edge_variables(query: Query, taxonomy: Taxonomy) -> tuple[Variable, ...]:
    """The variables of a query's plain edges, in the order in which its interest numbers them."""
    return () if _counts_nothing(query) else tuple(_split(query, taxonomy).variables)


def _counts_nothing(query: Query) -> bool:
    """Whether a query is true where its pattern has no solution: then not even its edges are necessary."""
    return not query.group_by and query.having is not None and holds(query.having, {}, count=0)


def _split(query: Query, taxonomy: Taxonomy) -> _Parts:
    edges: list[TriplePattern] = []
    forms: list[ClassForm] = []
    whole = True
    for pattern in query.patterns:
        form = _form(pattern, taxonomy)
        if isinstance(form, TriplePattern):
            edges.append(form)
        elif form is not None:
            forms.append(form)
        else:
            whole = whole and _is_given(pattern, taxonomy)
    variables = _numbered(edges)
    if len(edges) > MOST_VARIABLES or len(variables) > MOST_VARIABLES:
        edges, whole = edges[: MOST_VARIABLES // 3], False
        variables = _numbered(edges)
    bound = [form for form in forms if form.variable in variables]
    return _Parts(edges, bound, variables, whole and bool(edges) and len(bound) == len(forms))


def _numbered(edges: list[TriplePattern]) -> dict[Variable, int]:
    named = dict.fromkeys([node for edge in edges for node in edge if isinstance(node, Variable)])
    return {variable: number for number, variable in enumerate(named)}


def _form(pattern: Pattern, taxonomy: Taxonomy) -> TriplePattern | ClassForm | None:
    """A pattern as an edge or as a class form; None where it is neither."""
    if isinstance(pattern, ClassPattern):
        relation, subject, object = pattern
        is_a = relation is ClassRelation.IS_A
        if isinstance(subject, Variable) and not isinstance(object, Variable):
            return ClassForm(subject, Domain.IS_A if is_a else Domain.SUBCLASS_OF, object)
        if isinstance(object, Variable) and not isinstance(subject, Variable) and not is_a:
            return ClassForm(object, Domain.SUPERCLASS_OF, subject)
        return None
    subject, predicate, kind = pattern
    if predicate == RDF_TYPE and taxonomy.types:
        # `?x a C` where taxonomy rows count; without a row that could answer it, it is as good as any other edge
        if isinstance(kind, Variable) or _is_given(pattern, taxonomy):
            return None
        if isinstance(subject, Variable) and taxonomy.instances_of(kind):
            return ClassForm(subject, Domain.DIRECT, kind)
    return None if predicate == RDFS_MEMBER else pattern


def _is_given(pattern: Pattern, taxonomy: Taxonomy) -> bool:
    """Whether a row of the taxonomy answers the pattern, whatever the document."""
    if isinstance(pattern, ClassPattern) or isinstance(pattern.object, Variable):
        return False
    return pattern.predicate == RDF_TYPE and pattern.subject in taxonomy.instances_of(pattern.object)


# --- filters as conjuncts -----------------------------------------------------------------------------------------
# What filters ask of each variable by itself, as unions of intervals. SPARQL's logic has three values. A filter keeps a
# solution where it is true; `!` is true where its operand is false, so every expression is asked either where it is
# true or where it is false, and the question passes down: where `a && b` is false, one of them is. Everything is asked
# in terms of supersets, which conjunction and disjunction preserve; what a filter loses on the way (text tests,
# arithmetic, several variables) makes the whole inexact.
#
# The law: a term for which the filters hold lies in every conjunct of its variable; if the conditions are exact, the
# converse holds too, but for terms in doubt (a tie with an end where one of both is rounded, or an xsd:float).


class Conditions(NamedTuple):
    """What filters ask of each variable; `exact` if that says it all, `never` if no solution can satisfy them."""

    conjuncts: tuple[tuple[Variable, tuple[Atom, ...]], ...]
    exact: bool
    never: bool = False


def conditions_of(filters: Sequence[Expression], intern: Intern, given: Iterable[Box] = ()) -> Conditions:
    """The conjuncts of filters that are ANDed, together with the boxes already `given`.

    Variables that a filter names are taken to be bound. `intern` gives the ids of constants.
    """
    boxes, stack = [*given], [(each, True) for each in reversed(filters)]
    while stack:
        expression, wanted = stack.pop()
        while isinstance(expression, Not):
            expression, wanted = expression.operand, not wanted
        if isinstance(expression, And if wanted else Or):  # `a || b` is false where both are
            stack.extend([(operand, wanted) for operand in reversed(expression.operands)])
        else:
            boxes.append(box_of(expression, wanted))
    plain: dict[Variable, list[Region]] = {}
    worded: list[tuple[Variable, Region]] = []  # one conjunct a variable, and one more for each region by text
    for box in boxes:
        for variable, region in box.regions.items():
            if region.words:
                worded.append((variable, region))
            else:
                plain.setdefault(variable, []).append(region)
    regions = [*((variable, intersection(several)) for variable, several in plain.items()), *worded]
    found = [(variable, atoms_of(region, intern)) for variable, region in regions if region != EVERYTHING]
    exact = all(box.exact for box in boxes) and all(exact for _, (_, exact) in found)
    conjuncts = tuple([(variable, atoms) for variable, (atoms, _) in found])
    return Conditions(conjuncts, exact, any(box.never for box in boxes))


# --- pattern sets, whole columns at a time --------------------------------------------------------------------------

_FEW = 4  # subscriptions up to which their queries are compiled faster than columns
_DIRECT = OPERATORS.index("direct-is-a")


def interests_of_batch(batch: PatternBatch, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interests:
    """The interests of subscriptions from one pattern set; if one of them fails, each by itself."""
    numbers = np.fromiter((each.number for each in batch.subscriptions), np.int64, len(batch.subscriptions))
    try:
        return interests_of(batch.patterns, batch.rows, numbers, vocabulary, taxonomy)
    except (MemoryError, HeliographError):
        raise
    except Exception as error:  # a bug; which one it is, is said below, unless it alone can be compiled
        count, kind = len(batch.subscriptions), type(error).__name__
        _LOG.warning("%s subscriptions are compiled one by one: %s, %s", count, kind, error, exc_info=error)
        return interests_singly(batch.subscriptions, vocabulary, taxonomy)


def interests_singly(subscriptions: Sequence[Subscription], vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interests:
    """The interests of subscriptions by their queries. One that fails gets an interest without edges: it is a candidate
    for every publication, and its query decides."""
    made: list[Interest] = []
    for each in subscriptions:
        try:
            made.append(interest_of(each.query, vocabulary, taxonomy))
        except (MemoryError, HeliographError):
            raise
        except Exception as error:
            said = "subscription %r cannot be indexed, so it is tried on every publication: %s, %s"
            _LOG.warning(said, each.id, type(error).__name__, error, exc_info=error)
            made.append(Interest((), (), COMPLEX))
    return gather(made, [each.number for each in subscriptions])


def interests_of(
    patterns: PatternSet,
    rows: npt.NDArray[np.integer] | Sequence[int],
    numbers: npt.NDArray[np.integer] | Sequence[int],
    vocabulary: Vocabulary,
    taxonomy: Taxonomy,
) -> Interests:
    """The interests of subscriptions `rows` of a set, in that order; their constants get ids in the vocabulary.

    Subscriptions whose edges the taxonomy could answer, or that are otherwise unusual, go through their query.
    """
    chosen = np.asarray(rows, np.int64)
    unusual = np.full(len(chosen), True) if len(chosen) <= _FEW else _unusual(patterns, chosen, taxonomy)
    singly, together = np.flatnonzero(unusual), np.flatnonzero(~unusual)
    single = [interest_of(patterns.query(row), vocabulary, taxonomy) for row in chosen[singly].tolist()]
    parts = [gather(single, singly.tolist())] if single else []
    if len(together) or not parts:
        parts.append(_in_bulk(patterns, chosen[together], vocabulary, taxonomy)._replace(numbers=together))
    return in_order(parts)[0]._replace(numbers=np.asarray(numbers, np.int64))


def _unusual(patterns: PatternSet, rows: Int64s, taxonomy: Taxonomy) -> Flags:
    """Which have edges that are no plain ones, or too many of them."""
    special = [RDFS_MEMBER, RDF_TYPE] if taxonomy.types else [RDFS_MEMBER]
    is_special = np.array([node in special for node in patterns.nodes], np.bool_)
    edges, limits = patterns.edge_rows(rows), patterns.limit_rows(rows)
    count = np.bincount(edges.owners, is_special[patterns.edges.predicate[edges.positions]], len(rows))
    count += np.bincount(limits.owners, patterns.limits.operator[limits.positions] == _DIRECT, len(rows))
    unusual: Flags = (count > 0) | (np.diff(edges.offsets) > MOST_VARIABLES // 3)
    return unusual


def _in_bulk(patterns: PatternSet, rows: Int64s, vocabulary: Vocabulary, taxonomy: Taxonomy) -> Interests:
    edges, width = patterns.edge_rows(rows), len(patterns.nodes)
    codes = np.stack([column[edges.positions] for column in patterns.edges], axis=1)
    used = np.zeros(width, np.bool_)
    used[codes] = True
    nodes = [(code, patterns.nodes[code]) for code in np.flatnonzero(used).tolist()]
    constants = {code: node for code, node in nodes if isinstance(node, Term)}
    known = np.full(width, -1, np.int32)  # ids of constants, -1 for variables
    known[list(constants)] = vocabulary.intern_many(list(constants.values()))
    ids = known[codes]
    # Variables of each subscription are numbered in the order in which they first appear; a key is one of both.
    places = np.flatnonzero(ids.ravel() < 0)
    own = edges.owners[places // 3] * width + codes.ravel()[places]
    keys, first = np.unique(own, return_index=True)
    sizes = np.bincount(keys // width) if len(keys) else np.zeros(0, np.int64)
    numbers = np.empty(len(keys), np.int64)
    numbers[np.argsort(first)] = np.arange(len(keys)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    ids.ravel()[places] = ~numbers[np.searchsorted(keys, own)]
    asked = asked_of(patterns, rows, vocabulary, taxonomy)
    variable = numbers[np.searchsorted(keys, asked.owner * width + asked.code)].astype(np.int16)
    return Interests(
        np.arange(len(rows)),
        asked.flags,
        Triples(*(np.ascontiguousarray(column) for column in ids.T)),
        edges.offsets,
        Conjuncts(variable, offsets_of(asked.sizes), asked.atoms),
        offsets_of(np.bincount(asked.owner, minlength=len(rows))),
    )


# --- the constraint rows of pattern sets ----------------------------------------------------------------------------
# Ranges of numbers are intersected by sorting: the rows on one variable of one subscription become one interval. Each
# class is a conjunct by itself. Subscriptions that ask anything else are compiled, those with the same constraints
# once. The law: the conjuncts are those of the subscription's query, because every variable of a constraint stands in
# one of its plain edges.

_NUMBER_LIKE = r"^[+-]?[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?$"


class ConstraintConjuncts(NamedTuple):
    """Conjuncts by subscription: number i is of subscription owner[i] and about the variable with the code code[i].

    Subscriptions are counted as in the rows that were asked about; `flags` are theirs.
    """

    owner: Int64s
    code: Int64s
    sizes: Int64s
    atoms: Atoms
    flags: npt.NDArray[np.uint8]


class _Constraints:
    """The constraint rows of `size` subscriptions."""

    def __init__(self, patterns: PatternSet, rows: PatternRows, size: int) -> None:
        self.patterns, self.size = patterns, size
        self.rows, self.owners = rows, rows.owners
        self.variable = patterns.limits.variable[rows.positions].astype(np.int64)
        self.operator = patterns.limits.operator[rows.positions]
        self.value = patterns.limits.value[rows.positions]

    def one_each(self, owner: Int64s, code: Int64s, atoms: Atoms) -> ConstraintConjuncts:
        """Conjuncts of one atom."""
        return ConstraintConjuncts(owner, code, np.ones(len(owner), np.int64), atoms, np.zeros(self.size, np.uint8))


def asked_of(patterns: PatternSet, rows: Int64s, vocabulary: Vocabulary, taxonomy: Taxonomy) -> ConstraintConjuncts:
    """What the constraints of these subscriptions ask."""
    asked = _Constraints(patterns, patterns.limit_rows(rows), len(rows))
    numbers, classes = _numbers_in(asked), _classes_in(asked, vocabulary)
    plain: Flags = np.bincount(asked.owners, np.isnan(numbers) & (classes < 0), asked.size) == 0
    parts = [_ranges(asked, numbers, plain)]
    if (classes >= 0).any():
        at = np.flatnonzero(plain[asked.owners] & (classes >= 0))
        ids = classes[at].astype(np.float64)
        atoms = Atoms(_DOMAIN_OF[asked.operator[at]], ids, ids, np.zeros(len(at), np.uint8))
        parts.append(asked.one_each(asked.owners[at], asked.variable[at], atoms))
    if not plain.all():
        parts.append(_compiled(asked, np.flatnonzero(~plain), vocabulary, taxonomy))
    if len(parts) == 1:
        return parts[0]
    owner, code = (np.concatenate(column) for column in zip(*(part[:2] for part in parts), strict=True))
    order = np.argsort(owner, kind="stable")
    sizes = np.concatenate([part.sizes for part in parts])
    at, _ = ragged(offsets_of(sizes), order)
    atoms = Atoms(*(np.concatenate(column)[at] for column in zip(*(part.atoms for part in parts), strict=True)))
    flags = np.bitwise_or.reduce([part.flags for part in parts])
    return ConstraintConjuncts(owner[order], code[order], sizes[order], atoms, flags)


def _which(*operators: str) -> Flags:
    return np.array([operator in operators for operator in OPERATORS])


_FROM, _TO = _which("=", ">", ">="), _which("=", "<", "<=")
_OVER, _UNDER = _which(">"), _which("<")


def _ranges(asked: _Constraints, numbers: Floats, plain: Flags) -> ConstraintConjuncts:
    """One interval for each variable of each plain subscription: of its bounds the innermost count, and of equal ones
    the open. A subscription with nothing between its bounds is not plain any more."""
    at = np.flatnonzero(plain[asked.owners] & ~np.isnan(numbers))
    at = at[np.lexsort((asked.variable[at], asked.owners[at]))]
    owner, code, operator, number = asked.owners[at], asked.variable[at], asked.operator[at], numbers[at]
    starts = np.flatnonzero(np.diff(owner, prepend=-1).astype(np.bool_) | np.diff(code, prepend=-1).astype(np.bool_))
    if not len(starts):
        none = np.zeros(0)
        return asked.one_each(owner, code, Atoms(none.astype(np.uint8), none, none, none.astype(np.uint8)))
    sizes = np.diff(np.append(starts, len(owner)))
    low = np.maximum.reduceat(np.where(_FROM[operator], number, -np.inf), starts)
    high = np.minimum.reduceat(np.where(_TO[operator], number, np.inf), starts)
    over = np.logical_or.reduceat(_OVER[operator] & (number == np.repeat(low, sizes)), starts)
    under = np.logical_or.reduceat(_UNDER[operator] & (number == np.repeat(high, sizes)), starts)
    low = np.where((low == high) & (over | under), np.inf, low)
    owner, code, flags = owner[starts], code[starts], (over * LOW_OPEN + under * HIGH_OPEN).astype(np.uint8)
    plain[owner[low > high]] = False
    kept = np.flatnonzero(plain[owner])
    atoms = Atoms(np.full(len(kept), Domain.NUMBER, np.uint8), low[kept], high[kept], flags[kept])
    return asked.one_each(owner[kept], code[kept], atoms)


def _numbers_in(asked: _Constraints) -> Floats:
    """The number that a row bounds its variable by; not-a-number where it does no such thing, or is not exactly a
    float64."""
    bounding = _FROM[asked.operator] | _TO[asked.operator]
    values: pa.Array[Any] = asked.patterns.values
    wanted, numbers = np.unique(asked.value[bounding]), np.full(len(values), np.nan)
    texts = values.take(wanted)
    whole = bare_integers(texts)
    numbers[wanted[whole]] = np.asarray(texts.filter(pa.array(whole)).cast(pa.int64()))
    like = np.asarray(pc.match_substring_regex(texts, _NUMBER_LIKE).fill_null(False)) & ~whole
    for code, text in zip(wanted[like].tolist(), texts.filter(pa.array(like)).to_pylist(), strict=True):
        term = parse_cell(str(text))
        if value_of(term) is not None:
            domain, coordinate, rounded = place_of(term, lambda _: 0)
            if domain == Domain.NUMBER and not rounded and isfinite(coordinate):
                numbers[code] = coordinate
    return np.where(bounding, numbers[asked.value], np.nan)


_CLASS_DOMAINS = {"is-a": Domain.IS_A, "subclass-of": Domain.SUBCLASS_OF, "superclass-of": Domain.SUPERCLASS_OF}
_IS_CLASS = _which(*_CLASS_DOMAINS)
_DOMAIN_OF = np.array([_CLASS_DOMAINS.get(operator, 0) for operator in OPERATORS], np.uint8)


def _classes_in(asked: _Constraints, vocabulary: Vocabulary) -> Int64s:
    """The id of the class that a row asks for; -1 where it asks for none, or for a variable."""
    at = np.flatnonzero(_IS_CLASS[asked.operator])
    _, first, number = np.unique(asked.value[at], return_index=True, return_inverse=True)
    ids = []
    for row in asked.rows.positions[at[first]].tolist():
        constraint = asked.patterns.constraint(row)
        assert isinstance(constraint.pattern, ClassPattern)
        _, subject, object = constraint.pattern
        kind = object if subject == constraint.needs[0] else subject
        ids.append(-1 if isinstance(kind, Variable) else vocabulary.intern(kind))
    classes = np.full(len(asked.rows.positions), -1, np.int64)
    classes[at] = np.array(ids, np.int64)[number]
    return classes


def _compiled(asked: _Constraints, wanted: Int64s, vocabulary: Vocabulary, taxonomy: Taxonomy) -> ConstraintConjuncts:
    """What the others ask: those with the same list of constraints ask the same, so each list is compiled once."""
    patterns = asked.patterns
    key = (asked.variable * len(OPERATORS) + asked.operator) * len(patterns.values) + asked.value
    keys, bounds = key.tolist(), asked.rows.offsets.tolist()
    known: dict[tuple[int, ...], int] = {}
    numbers: list[int] = []  # of each wanted subscription, that of its list
    firsts: list[int] = []  # of each list, the first subscription that has it
    for one in wanted.tolist():
        numbers.append(known.setdefault(tuple(keys[bounds[one] : bounds[one + 1]]), len(known)))
        if numbers[-1] == len(firsts):
            firsts.append(one)
    codes = {node: code for code, node in enumerate(patterns.nodes) if type(node) is Variable}
    alone: list[Interest] = []
    about: list[int] = []  # the code of each conjunct's variable
    for one in firsts:
        constraints = [patterns.constraint(row) for row in asked.rows.of(one)]
        names = list(dict.fromkeys([name for each in constraints for name in each.needs]))
        alone.append(interest_of(_query(names, constraints), vocabulary, taxonomy))
        about += [codes[names[number]] for number, _ in alone[-1].conjuncts]
    lists = gather(alone, range(len(alone)))
    at, ends = ragged(lists.conjunct_offsets, np.array(numbers, np.int64))
    atoms, atom_ends = ragged(lists.conjuncts.offsets, at)
    flags = np.zeros(asked.size, np.uint8)
    flags[wanted] = lists.flags[numbers]
    owner, code = np.repeat(wanted, np.diff(ends)), np.array(about, np.int64)[at]
    columns: Any = (column[atoms] for column in lists.conjuncts.atoms)
    return ConstraintConjuncts(owner, code, np.diff(atom_ends), Atoms(*columns), flags)


def _query(names: Sequence[Variable], constraints: Sequence[Constraint]) -> Query:
    """Constraints by themselves: edges of nothing but variables bind theirs in order."""
    bound: list[Pattern] = [TriplePattern(name, name, name) for name in names]
    patterns = [each.pattern for each in constraints if each.pattern is not None]
    conditions = [each.condition for each in constraints if each.condition is not None]
    return Query(Form.SELECT, (*bound, *patterns), tuple(conditions))


# --- the taxonomy's closure ---------------------------------------------------------------------------------------
# Flat arrays, so that a class is looked up in constant time. Where the closure would be too large to keep (a chain of n
# classes has n²/2 pairs), there is none: then only the rows are kept and every publication is walked, as one with
# sub-classes of its own is.

LIMIT = 20_000_000  # pairs; 16 bytes each


def closure_of(taxonomy: Taxonomy, vocabulary: Vocabulary, limit: int = LIMIT) -> Closure:
    """The closure over the vocabulary's ids; the taxonomy's terms are interned."""
    from heliograph.filter.kernels import fill_pairs

    terms = list(dict.fromkeys([RDF_TYPE, RDFS_SUBCLASS_OF, *taxonomy.terms]))
    ids = dict(zip(terms, vocabulary.intern_many(terms), strict=True))
    is_both, total = taxonomy.types is taxonomy.subclasses, 0
    for term in ids:
        total += len(taxonomy.ancestors(term)) + (0 if is_both else len(taxonomy.all_types_of(term)))
        if total > limit:
            break

    def table(offsets: Int64s, above: Int32s) -> Int64s:
        pairs = 1 + ((np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) << 32) | above)
        slots = np.zeros(power_of_two(2 * len(pairs) + 2), np.int64)
        fill_pairs(pairs, slots)
        return slots

    parents = _lists(ids, taxonomy.parents)
    types = parents if is_both else _lists(ids, taxonomy.types_of)
    above, kinds = parents, types
    if total <= limit:
        above = _lists(ids, taxonomy.ancestors)
        kinds = above if is_both else _lists(ids, taxonomy.all_types_of)
    below = table(*above)
    instances = below if is_both else table(*kinds)
    known = (ids[RDF_TYPE], ids[RDFS_SUBCLASS_OF], int(total <= limit))
    return fixed(Closure(*types, *parents, *above, below, instances, *known))


def _lists(ids: dict[Term, int], above: Callable[[Term], Iterable[Term]]) -> tuple[Int64s, Int32s]:
    """For each id what lies above it, end to end."""
    found = {id: [ids[each] for each in above(term)] for term, id in ids.items()}
    sizes = np.zeros(max(ids.values()) + 1, np.int64)
    for id, each in found.items():
        sizes[id] = len(each)
    return offsets_of(sizes), np.array([id for row in sorted(found) for id in found[row]], np.int32)
