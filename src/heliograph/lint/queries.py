"""What is wrong with one query: it can never match, or always; names nothing in use, or asks for what nothing binds."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from math import ceil, floor
from typing import Any, NamedTuple

from heliograph.filter.explain import kind_of
from heliograph.lint.cost import DataSample, is_true_of, shortened, sort_of
from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import (
    And,
    Arithmetic,
    Call,
    ClassPattern,
    ClassRelation,
    Compare,
    Count,
    Expression,
    In,
    Metric,
    Negate,
    Node,
    Not,
    Or,
    Query,
    TriplePattern,
    Values,
    builder,
    children,
    conjuncts,
    spell_expression,
    spell_node,
    spell_pattern,
    variables_in,
    walk,
)
from heliograph.sparql.regions import (
    IRIS,
    MIRRORED,
    NAMES,
    NOTHING,
    TEXT_REGION,
    Box,
    Region,
    all_of,
    box_of,
    holds,
    just,
)
from heliograph.sparql.solve import Graph, QueryPlan, world
from heliograph.taxonomy import Taxonomy
from heliograph.terms import (
    PLAIN,
    PREFIXES,
    RDF_LANG_STRING,
    RDF_TYPE,
    RDFS_MEMBER,
    Position,
    Term,
    TermKind,
    Variable,
    iri,
    literal,
    plain_name,
    python_value,
    spell,
    value_of,
)
from heliograph.values import NUMERIC, XSD_STRING

# --- demands ----------------------------------------------------------------------------------------------------
# What every match of a query must satisfy, part by part: conditions, VALUES, and the places where variables stand.
#
# The laws: a solution satisfies all demands of its query, so demands that contradict each other rule out every
# publication. A subject is never a literal and a property is an IRI, in documents and in taxonomies. Conditions with
# `hg:` functions are left out: what a graph measures is nobody's to say beforehand.

_RESULTS = {"STR": TEXT_REGION, "LANG": TEXT_REGION, "DATATYPE": IRIS}


VariablePlace = tuple[Variable, Region]  # where the value of a variable must lie


class Demand(NamedTuple):
    """One thing that a match must satisfy: a condition, a VALUES block, or where a variable stands."""

    condition: Expression | None = None
    settled: bool = False  # every variable of the condition is bound in every solution
    lost: tuple[Variable, ...] = ()  # variables that nothing binds, without which the condition is an error
    values: Values | None = None
    place: VariablePlace | None = None

    @property
    def text(self) -> str:
        if self.condition is not None:
            return shortened(spell_expression(self.condition))
        if self.values is not None:
            return f"VALUES {' '.join(map(str, self.values.variables))}"
        assert self.place is not None
        variable, region = self.place
        return f"{variable} being {'a property (always an IRI)' if region is IRIS else 'a subject (never a literal)'}"


def demands_of(query: Query) -> list[Demand]:
    """The demands of a query, conditions first."""
    known = set(query.variables)
    doubtful = _doubtful(query)
    demands = [
        _condition(each, known, doubtful)
        for each in conjuncts(query.filters)
        if not any(isinstance(node, Metric) for node in walk(each))
    ]
    demands += [Demand(values=block) for block in query.values]
    subjects = dict.fromkeys([pattern.subject for pattern in query.patterns])
    properties = dict.fromkeys([pattern[1] for pattern in query.patterns if isinstance(pattern, TriplePattern)])
    for nodes, region in ((subjects, NAMES), (properties, IRIS)):
        demands += [Demand(place=(node, region)) for node in nodes if isinstance(node, Variable)]
    return demands


def _doubtful(query: Query) -> set[Variable]:
    """Variables that some solutions may leave unbound: no pattern has them, and VALUES says UNDEF."""
    bound = set(Query(patterns=query.patterns).variables)
    cells = (zip(block.variables, row, strict=True) for block in query.values for row in block.rows)
    return {name for row in cells for name, term in row if term is None} - bound


def _condition(expression: Expression, known: set[Variable], doubtful: set[Variable]) -> Demand:
    names = variables_in(expression)
    unbound = names - known
    lost = tuple(sorted(unbound)) if unbound and _is_lost(expression, unbound) else ()
    return Demand(expression, names <= known - doubtful, lost)


def _is_lost(expression: Expression, unbound: set[Variable]) -> bool:
    """Whether it is an error whatever else is bound: an error passes through everything but AND, OR, IN and BOUND."""
    match expression:
        case Variable():
            return expression in unbound
        case Or(operands):
            return all(_is_lost(operand, unbound) for operand in operands)
        case Compare(_, left, right) | Arithmetic(_, left, right):
            return _is_lost(left, unbound) or _is_lost(right, unbound)
        case Not(operand) | Negate(operand) | In(operand):
            return _is_lost(operand, unbound)
        case Call(name, arguments) if name != "BOUND":
            return any(_is_lost(argument, unbound) for argument in arguments)
    return False


# --- what functions give ----------------------------------------------------------------------------------------


def abstracted(condition: Expression) -> tuple[Expression, list[VariablePlace]] | None:
    """The condition with variables for calls that give text or an IRI, and where these must lie; None if it has none.

    Where a call is an error, so is everything that an unbound variable in its stead would be; as a value it lies in its
    place. So a condition that no such value satisfies is never true.
    """
    calls = {node: node.name for node in walk(condition) if isinstance(node, Call) and node.name in _RESULTS}
    if not calls:
        return None
    stand_ins = {node: Variable(spell_expression(node)) for node in calls}
    places = [(stand_ins[node], _RESULTS[name]) for node, name in calls.items()]
    return replaced(condition, stand_ins), places


def replaced(expression: Expression, instead: Mapping[Any, Expression]) -> Expression:
    """The expression with others in the place of some parts; SPARQL's depth is limited, so this may recurse."""
    found = instead.get(expression)
    if found is not None:
        return found
    below = children(expression)
    return builder(expression)([replaced(each, instead) for each in below]) if below else expression


# --- opposites --------------------------------------------------------------------------------------------------
# Comparisons and text tests that exclude each other, seen from their operands alone.
#
# The laws come from `sparql.evaluate`: of two values at most one of `<`, `=`, `>` is true, `<=` where `<` or `=`
# is, `!=` never where `=` is; a text equals itself alone, and is ordered within its language by its characters.

TEXTS = (XSD_STRING, RDF_LANG_STRING)

# What may be so where a comparison is true: below, equal, above, or just different, as not-a-number is.
_TRUE_OF = {"<": "b", "<=": "be", "=": "e", ">=": "ea", ">": "a", "!=": "bad"}


def opposed(conditions: Iterable[Expression]) -> bool:
    """Whether one pair of operands is compared in ways that no two values satisfy."""
    known: dict[tuple[Expression, Expression], set[str]] = {}
    for condition in conditions:
        if isinstance(condition, Compare):
            operator, left, right = condition.operator, condition.left, condition.right
            if (right, left) in known:
                operator, left, right = MIRRORED[operator], right, left
            may_be = known.get((left, right)) or set("ed" if left == right else "bead")
            known[left, right] = may_be & set(_TRUE_OF[operator])
            if not known[left, right]:
                return True
    return False


class TextTest(NamedTuple):
    """What is asked of the text that an expression gives."""

    operator: str  # < <= = >= > STRSTARTS STRENDS
    constant: Term


def texts_apart(conditions: Iterable[Expression]) -> bool:
    """Whether some expression is asked for a text that there is none of."""
    tests: dict[Expression, list[TextTest]] = {}
    for subject, test in _tests(conditions):
        tests.setdefault(subject, []).append(test)
    return any(len(asked) > 1 and _no_text(asked) for asked in tests.values())


def _no_text(tests: list[TextTest]) -> bool:
    ordered = [test for test in tests if len(test.operator) <= 2]
    if len({test.constant[2:] for test in ordered}) > 1:  # datatype and language
        return True
    starts = [test.constant.value for test in tests if test.operator == "STRSTARTS"]
    ends = [test.constant.value[::-1] for test in tests if test.operator == "STRENDS"]
    return _crossed(ordered) or _branching(starts) or _branching(ends)


def _crossed(tests: list[TextTest]) -> bool:
    """Whether a lower end lies above an upper one, or at it where one of both is open."""
    lows = [(test.constant.value, test.operator == ">") for test in tests if test.operator in (">", ">=", "=")]
    highs = [(test.constant.value, test.operator != "<") for test in tests if test.operator in ("<", "<=", "=")]
    if not lows or not highs:
        return False
    (low, above), (high, up_to) = max(lows), min(highs)
    return low > high or (low == high and (above or not up_to))


def _branching(beginnings: list[str]) -> bool:
    """Whether no text begins with all of these."""
    ordered = sorted(beginnings, key=len)
    return any(not longer.startswith(shorter) for shorter, longer in pairwise(ordered))


def _tests(conditions: Iterable[Expression]) -> Iterator[tuple[Expression, TextTest]]:
    for condition in conditions:
        match condition:
            case Compare(operator, subject, Term() as constant):
                test = TextTest(operator, constant)
            case Compare(operator, Term() as constant, subject):
                test = TextTest(MIRRORED[operator], constant)
            case Call(("STRSTARTS" | "STRENDS") as name, (subject, Term() as constant)):
                test = TextTest(name, constant)
            case _:
                continue
        if test.constant.datatype in TEXTS and test.operator != "!=":
            yield subject, test


# --- choices ----------------------------------------------------------------------------------------------------
# Where a query leaves finitely many values to choose from, each is tried: VALUES, `=` and `IN` with texts and names.
#
# The law: a text or a name equals itself alone, so a condition `x = "a"` puts that very term in the place of x, and a
# demand about nothing else is decided by evaluating it. A choice of which every alternative fails a demand is empty.

Alternative = Mapping[Expression, Term]  # an expression and the very term that it gives

_MANY = 10_000  # alternatives beyond which they are not tried


def no_choice(demands: Sequence[Demand]) -> bool:
    """Whether some choice has no alternative that the demands leave."""
    for demand in demands:
        choice = _choice(demand)
        if choice is not None and len(choice) <= _MANY and not any(_stands(each, demands) for each in choice):
            return True
    return False


def _choice(demand: Demand) -> list[Alternative] | None:
    if demand.values is not None:
        return list(_rows(demand.values))
    return None if demand.condition is None else alternatives(demand.condition)


def alternatives(condition: Expression) -> list[Alternative] | None:
    """The alternatives that a condition leaves; None where it leaves more than can be named."""
    match condition:
        case Compare("=", subject, Term() as constant) | Compare("=", Term() as constant, subject):
            return _named(subject, (constant,))
        case In(subject, choices, negated=False):
            return _named(subject, choices)
        case Or(operands):
            parts = [alternatives(operand) for operand in operands]
            return None if None in parts else [each for part in parts if part is not None for each in part]
    return None


def _named(subject: Expression, constants: Sequence[Expression]) -> list[Alternative] | None:
    terms = [constant for constant in constants if isinstance(constant, Term)]
    if len(terms) < len(constants) or isinstance(subject, Term):
        return None
    return [{subject: term} for term in terms] if all(map(_equals_itself_alone, terms)) else None


def _equals_itself_alone(term: Term) -> bool:
    return not term.is_literal or term.datatype in TEXTS


def _rows(block: Values) -> Iterator[Alternative]:
    for row in block.rows:
        yield {name: term for name, term in zip(block.variables, row, strict=True) if term is not None}


# --- trying -----------------------------------------------------------------------------------------------------


def _stands(alternative: Alternative, demands: Sequence[Demand]) -> bool:
    return all(_agrees(alternative, demand) for demand in demands)


def _agrees(alternative: Alternative, demand: Demand) -> bool:
    """Whether the demand is satisfied, or cannot be decided from this alternative."""
    if demand.condition is not None:
        return _may_hold(demand.condition, alternative)
    if demand.place is not None:
        variable, region = demand.place
        term = alternative.get(variable)
        return term is None or holds(region, term)
    assert demand.values is not None
    return any(all(row.get(name, term) == term for name, term in alternative.items()) for row in _rows(demand.values))


def _may_hold(condition: Expression, alternative: Alternative) -> bool:
    known = replaced(condition, alternative)
    if any(isinstance(node, Variable) for node in walk(known)):
        return True
    return Condition.of(known).holds({})


# --- regions ----------------------------------------------------------------------------------------------------
# Where the demands leave no value for a variable: `sparql.regions` holds every term for which the conditions are true,
# so an empty region is a contradiction.


def no_region(demands: Sequence[Demand]) -> bool:
    """Whether some variable has nowhere to lie."""
    conditions = [demand.condition for demand in demands if demand.condition is not None and demand.settled]
    made = [each for each in map(abstracted, conditions) if each is not None]
    places = [demand.place for demand in demands if demand.place is not None]
    places += [place for _, its in made for place in its]
    boxes = [Box({variable: region}) for variable, region in places]
    boxes += [_values_box(demand.values) for demand in demands if demand.values is not None]
    asked = all_of([*boxes, *map(box_of, conditions), *(box_of(condition) for condition, _ in made)])
    return asked.never or NOTHING in asked.regions.values()


def _values_box(block: Values) -> Box:
    """What VALUES leaves of each variable for which it has no UNDEF."""
    columns = {name: [row[at] for row in block.rows] for at, name in enumerate(block.variables)}
    return Box({name: just(term for term in terms if term) for name, terms in columns.items() if None not in terms})


# --- classes apart ----------------------------------------------------------------------------------------------
# Classes that one variable is asked to belong to, and that have nothing in common in the taxonomy.
#
# That is no proof: a publication may type anything with any two classes. So it is reported as what it is, a suspicion,
# and withdrawn where the sample has something of both.

_ANY = Variable("x")


class Kinds:
    """Asked for one query after another; each pair of classes is looked at once."""

    def __init__(self, taxonomy: Taxonomy, sample: DataSample | None) -> None:
        self._taxonomy, self._sample = taxonomy, sample
        self._known = taxonomy.terms
        self._apart: dict[tuple[Term, Term], bool] = {}

    def apart(self, query: Query) -> Iterator[str]:
        """What is asked to be of two classes that nothing is of both."""
        asked: dict[Variable, dict[Term, None]] = {}
        for pattern in query.patterns:
            variable, kind = pattern.subject, pattern.object
            is_class = isinstance(pattern, ClassPattern) or pattern.predicate == RDF_TYPE
            if is_class and isinstance(variable, Variable) and isinstance(kind, Term) and kind in self._known:
                asked.setdefault(variable, {})[kind] = None
        for variable, kinds in asked.items():
            for one, other in combinations(kinds, 2):
                if self._are_apart((one, other)):
                    yield (
                        f"{variable} must be both {spell(one)} and {spell(other)}, and nothing in the taxonomy is: "
                        "only a publication that says so itself can match"
                    )

    def _are_apart(self, pair: tuple[Term, Term]) -> bool:
        if pair not in self._apart:
            self._apart[pair] = not self._below(pair[0]) & self._below(pair[1]) and not self._is_met(pair)
        return self._apart[pair]

    def _below(self, kind: Term) -> set[Term]:
        """A class, what lies below it, and their instances."""
        kinds = (kind, *self._taxonomy.descendants(kind))
        return {*kinds, *(member for each in kinds for member in self._taxonomy.instances_of(each))}

    def _is_met(self, pair: tuple[Term, Term]) -> bool:
        """Whether a publication of the sample has something of both."""
        plan = QueryPlan.of(Query(patterns=tuple(ClassPattern(ClassRelation.IS_A, _ANY, kind) for kind in pair)))
        publications = self._sample.publications if self._sample is not None else ()
        return any(plan.matches(publication.world) for publication in publications)


# --- unbound variables ------------------------------------------------------------------------------------------
# Variables that are asked for and that nothing binds, with the variable that was probably meant.
#
# The law: edges, VALUES and `hg:` functions bind variables; SELECT, GROUP BY and conditions do not. Such a variable
# is absent from every solution.

_SHORT = 3  # letters of a variable from which on one may be wrong
_BEGUN = 2  # letters that are enough to begin another name


def never_bound(query: Query) -> Iterator[str]:
    """What is selected, or grouped by, though nothing binds it."""
    known = query.variables
    for names, how in ((query.projection, "selected"), (query.group_by, "grouped by")):
        for name in dict.fromkeys(names):
            if name not in known:
                yield f"{name} is {how}, but {no_edge_binds(name, known)}"


def no_edge_binds(name: Variable, known: Iterable[Variable]) -> str:
    near = nearest(name, known)
    return f"no edge binds {name}" + (f"; did you mean {near}?" if near is not None else "")


def nearest(name: Variable, known: Iterable[Variable]) -> Variable | None:
    """The variable whose name comes nearest, if one is near."""
    one = name.name.casefold()
    ranked = sorted((distance(one, other.name.casefold()), other) for other in known if not other.hidden)

    def begins(other: str) -> bool:
        short, long = sorted((one, other), key=len)
        return len(short) >= _BEGUN and long.startswith(short)

    slack = _slack(one, _SHORT)
    return next((other for far, other in ranked if far <= slack or begins(other.name.casefold())), None)


# --- why a query never matches ----------------------------------------------------------------------------------
# Why a query can never match, as far as that can be proved.
#
# The law: what is said never to match matches no publication, whatever it adds to the taxonomy. So classes are never
# called disjoint here: a document may type anything with any two classes. What is said is a smallest set of demands
# that contradict each other: without any one of them the others do not, as far as we can tell.
#
# A count may be satisfied by no solution at all, and such a query is left alone.

_WHOLE = 2**53  # up to here every integer is a double


def why_never(query: Query) -> str | None:
    """Why no publication can match, or None."""
    if query.having is not None:
        if _no_count(query.having, first=1 if query.group_by else 0):
            return f"can never match: no count satisfies HAVING({shortened(spell_expression(query.having))})"
        if not query.group_by and Condition.of(query.having).holds({}, count=0):
            return None
    if not query.filters and not query.values:
        return None
    demands = demands_of(query)
    return f"can never match: {_said(_smallest(demands), query)}" if _contradict(demands) else None


def _contradict(demands: Sequence[Demand]) -> bool:
    """Whether nothing satisfies all demands. If that holds of some demands, it holds of more."""
    conditions = [demand.condition for demand in demands if demand.condition is not None]
    return (
        any(demand.lost for demand in demands)
        or opposed(conditions)
        or texts_apart(conditions)
        or no_region(demands)
        or no_choice(demands)
    )


def _smallest(demands: Sequence[Demand]) -> list[Demand]:
    """Demands that contradict each other, none of them needless: the last that is needed, then the one before it."""
    left, core = list(demands), list[Demand]()
    while not _contradict(core):
        needed = bisect_left(range(len(left)), True, key=lambda size: _contradict([*core, *left[:size]]))
        left, core = left[: needed - 1], [left[needed - 1], *core]
    return core


def _said(core: Sequence[Demand], query: Query) -> str:
    if len(core) > 1:
        return f"{' and '.join(demand.text for demand in core)} cannot hold together"
    [only] = core
    if only.values is not None:
        return f"{only.text} has no row that fits"
    unbound = ", and ".join(no_edge_binds(name, query.variables) for name in only.lost)
    return f"FILTER({only.text}) cannot hold" + (f": {unbound}" if unbound else "")


# --- counts -----------------------------------------------------------------------------------------------------


def _no_count(having: Expression, first: int) -> bool:
    """Whether no number of solutions satisfies a condition on the count alone: between two constants nothing changes,
    and those are small enough to be compared without rounding."""
    values = [value_of(node) for node in walk(having) if isinstance(node, Term)]
    numbers: list[Any] = [each.value for each in values if each is not None and each.kind in NUMERIC]
    if not _only_counts(having) or not all(-_WHOLE < number < _WHOLE for number in numbers):
        return False
    test, near = Condition.of(having), [end for number in numbers for end in (floor(number), ceil(number))]
    counts = {first, first + 1, *(count + step for count in near for step in (-1, 0, 1))}
    return not any(test.holds({}, count=count) for count in counts if count >= first)


def _only_counts(expression: Expression) -> bool:
    match expression:
        case And() | Or() | Not():
            return all(map(_only_counts, children(expression)))
        case Compare() | In():
            return all(isinstance(part, (Term, Count)) for part in children(expression))
    return False


# --- why a query matches everything -----------------------------------------------------------------------------
# The law: what is said to match everything matches every publication that has a triple. Without conditions a query is
# monotone: what one triple of three names that it does not know satisfies, with the taxonomy, any triple does; with
# conditions, what the taxonomy alone satisfies.

_UNKNOWN = (iri("urn:heliograph:lint:subject"), iri("urn:heliograph:lint:property"), iri("urn:heliograph:lint:object"))


def why_always(query: Query, taxonomy: Taxonomy) -> str | None:
    """Why every publication matches, or None."""
    if query.having is not None or query.metrics or not all(map(_may_always_hold, query.patterns)):
        return None
    plan = QueryPlan.of(query)
    if is_true_of(plan, world(Graph(()), taxonomy)):
        why = "the taxonomy alone satisfies it" if query.patterns else "it asks nothing"
        return f"matches everything: {why}, whatever is published; add an edge that documents have"
    if not query.filters and is_true_of(plan, world(Graph([_UNKNOWN]), taxonomy)):
        return "matches everything: any triple satisfies it; name a property, a class or a value"
    return None


def _may_always_hold(pattern: TriplePattern | ClassPattern) -> bool:
    """Whether a taxonomy or any triple may satisfy it."""
    return isinstance(pattern, ClassPattern) or isinstance(pattern.predicate, Variable) or pattern.predicate == RDF_TYPE


# --- values of another kind -------------------------------------------------------------------------------------
# Constants that are compared with values of which the sample has none of their kind: a text with names, a date with
# dateTimes, a number with texts. All of it is about the sample, and is reported as such.

_TAKE_TEXT = ("CONTAINS", "STRSTARTS", "STRENDS", "REGEX")
_STRINGS = ("a string", "a string with a language")

Met = Mapping[str, Term]  # by the kind of a value: one that was met


def kinds_apart(query: Query, sample: DataSample) -> Iterator[str]:
    """What is asked of values that are of other kinds wherever the sample has them."""
    met: dict[Variable, Met] = {}
    for pattern in query.patterns:
        if isinstance(pattern, ClassPattern) or pattern.predicate in (RDF_TYPE, RDFS_MEMBER):
            continue
        kinds = sample.kinds.get(pattern.predicate) if isinstance(pattern.predicate, Term) else None
        if not kinds:
            continue
        if isinstance(pattern.object, Term):
            if sort_of(pattern.object) not in kinds:
                yield _other_kind(spell_pattern(pattern), pattern.object, kinds)
        else:
            known = met.get(pattern.object, kinds)
            met[pattern.object] = {kind: term for kind, term in known.items() if kind in kinds}
            if known and not met[pattern.object]:
                both = f"{_said_kinds(known)}, and {_said_kinds(kinds)}"
                yield f"{pattern.object} joins values of kinds that are never equal: in the sample {both}"
    met = {variable: kinds for variable, kinds in met.items() if kinds}
    for block in query.values:
        for at, variable in enumerate(block.variables):
            terms = [row[at] for row in block.rows]
            if variable in met and terms and not any(term is None or sort_of(term) in met[variable] for term in terms):
                yield _other_kind(f"VALUES {variable}", next(filter(None, terms)), met[variable])
    for condition in query.filters:
        for node in dict.fromkeys(walk(condition)):
            yield from _asked_of_other_kinds(node, met)


def _asked_of_other_kinds(node: Expression, met: Mapping[Variable, Met]) -> Iterator[str]:
    """What a comparison or a text test asks of a variable whose values are never of that kind."""
    match node:
        case Compare(_, Variable() as variable, Term() as constant) | Compare(
            _, Term() as constant, Variable() as variable
        ):
            if sort_of(constant) not in met.get(variable, (sort_of(constant),)):
                yield _other_kind(shortened(spell_expression(node)), constant, met[variable])
        case Compare(_, Variable() as left, Variable() as right) if left in met and right in met:
            if not met[left].keys() & met[right].keys():
                kinds = f"in the sample {left} is {_said_kinds(met[left])}, {right} {_said_kinds(met[right])}"
                yield f"{shortened(spell_expression(node))} compares values of kinds that never compare: {kinds}"
        case In(Variable() as variable, choices) if variable in met and choices:
            terms = [choice for choice in choices if isinstance(choice, Term)]
            if len(terms) == len(choices) and not any(sort_of(term) in met[variable] for term in terms):
                yield _other_kind(shortened(spell_expression(node)), terms[0], met[variable])
        case Call(name, (Variable() as variable, *_)) if name in _TAKE_TEXT and variable in met:
            if not any(kind in met[variable] for kind in _STRINGS):
                fix = f"write STR({variable})"
                if "a name" in met[variable]:
                    fix += ', or publish texts: in quotes, or with objects="texts" (--objects texts)'
                shown = shortened(spell_expression(node))
                yield f"{shown} takes a string, and in the sample {variable} is {_said_kinds(met[variable])}; {fix}"


def _other_kind(asked: str, constant: Term, met: Met) -> str:
    what = f"{spell_node(constant)} is {kind_of(constant)}"
    return f"{asked}: {what}, and in the sample the value is always {_said_kinds(met)}; {_instead(constant, met)}"


def _said_kinds(met: Met) -> str:
    return " or ".join(f"{kind_of(term)} ({shortened(spell_node(term))})" for term in met.values())


def _instead(constant: Term, met: Met) -> str:
    """What to write so that the kinds are the same."""
    asked = sort_of(constant)
    if asked in _STRINGS and "a name" in met:
        name = plain_name(constant.value).value.removeprefix(PLAIN)
        return f'as a name write :{name}, or publish texts: in quotes, or with objects="texts" (--objects texts)'
    if asked == "a name" and "a string" in met:
        return f"as text write {spell_node(literal(str(python_value(constant))))}"
    if asked == "a string" and "a number" in met:
        return "write the number without quotes"
    if asked == "a number" and "a string" in met:
        return "publish numbers without quotes, or ask for the text"
    if asked == "a string" and "a string with a language" in met:
        return 'write the language too, as in "text"@en, or compare STR(…)'
    if {asked, *met} == {"xsd:date", "xsd:dateTime"}:
        return f"write a constant of {next(iter(met))}, or compare STR(…)"
    return "write a constant of that kind"


# --- the nearest name -------------------------------------------------------------------------------------------
# The known name that comes nearest to one that nobody knows.
#
# First come the slips that leave a name the same to the eye (http or https, a slash or hash at the end, case,
# separators), then the same last part in another namespace, then last parts that few letters tell apart. Near names
# are found by the letters that may be missing from either side, so that the known names are not all compared.

_END = re.compile(r"[/#:]([^/#:]*)[/#:]*\Z")
_LAST = re.compile(r"[^/#:]*\Z")
_SCHEME = re.compile(r"\Ahttps?://(www\.)?", re.IGNORECASE)
_SEPARATORS = re.compile(r"[-_.~]|%20")
_LONGEST = 40  # letters of a last part that are looked at


class Near(NamedTuple):
    """A known name, and how it differs."""

    term: Term
    how: str


class Spellings:
    """Known names; the first given is preferred among equals. Ready to be asked when first asked."""

    def __init__(self, known: Iterable[Term]) -> None:
        self._names = dict.fromkeys(known)
        self._found: dict[Term, Near | None] = {}
        self._folded: dict[str, Term] = {}
        self._by_end: dict[str, list[Term]] = {}
        self._clipped: dict[str, list[str]] = {}

    def __contains__(self, term: Term) -> bool:
        return term in self._names

    def nearest(self, term: Term) -> Near | None:
        """The known name that was probably meant; each is looked for once."""
        if not self._folded:
            self._prepare()
        if term not in self._found:
            self._found[term] = self._nearest(term)
        return self._found[term]

    def _prepare(self) -> None:
        for term in self._names:
            self._folded.setdefault(_folded(term.value), term)
            self._by_end.setdefault(_end(term.value), []).append(term)
        for end in self._by_end:
            for clipped in _clippings(end, _slack(end)):
                self._clipped.setdefault(clipped, []).append(end)

    def _nearest(self, term: Term) -> Near | None:
        same = self._folded.get(_folded(term.value))
        if same is not None:
            return Near(same, _slip(term.value, same.value))
        end = _end(term.value)
        if end in self._by_end:
            return Near(self._by_end[end][0], "another namespace")
        near = {other for clipped in _clippings(end, _slack(end)) for other in self._clipped.get(clipped, ())}
        ranked = sorted((distance(end, other), other) for other in near)
        best = [other for far, other in ranked if far <= max(_slack(end), _slack(other))][:1]
        return next((Near(self._closest(term, self._by_end[other]), "its spelling") for other in best), None)

    def _closest(self, term: Term, some: list[Term]) -> Term:
        """The one of the same namespace, if there is one."""
        space = _namespace(term.value)
        return next((each for each in some if _namespace(each.value) == space), some[0])


def _folded(name: str) -> str:
    """The name without what the eye overlooks."""
    return _SEPARATORS.sub("", _SCHEME.sub("", name).rstrip("/#")).casefold()


def _end(name: str) -> str:
    """The last part of a name, without case."""
    found = _END.search(name) if not name.startswith(PLAIN) else None
    return (found[1] if found else name.removeprefix(PLAIN)).casefold()[:_LONGEST]


def _namespace(name: str) -> str:
    return _LAST.sub("", name.rstrip("/#:"))


def _slip(given: str, known: str) -> str:
    """What tells two names apart that look the same."""
    if _SCHEME.match(given) and given.partition("://")[2] == known.partition("://")[2]:
        return "http or https"
    if given.rstrip("/#") == known.rstrip("/#"):
        return "the sign at the end"
    return "upper or lower case" if given.casefold() == known.casefold() else "its spelling"


# --- letters ----------------------------------------------------------------------------------------------------


def _slack(name: str, short: int = 4, long: int = 8) -> int:
    """How many letters of a name may be wrong: one and two from so many letters on."""
    return 0 if len(name) < short else 1 if len(name) < long else 2


def _clippings(name: str, most: int) -> set[str]:
    """The name without up to so many of its letters: names within that distance have one of these in common."""
    found, last = {name}, {name}
    for _ in range(most):
        last = {text[:at] + text[at + 1 :] for text in last for at in range(len(text))}
        found |= last
    return found


@lru_cache(maxsize=4096)
def distance(one: str, other: str) -> int:
    """How many letters must be put in, taken out, changed or swapped with a neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, last, row = row, before, [at]
        for to, beside in enumerate(other, 1):
            cost = min(row[-1] + 1, before[to] + 1, before[to - 1] + (letter != beside))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == beside:
                cost = min(cost, last[to - 2] + 1)
            row.append(cost)
    return row[-1]


# --- unseen names -----------------------------------------------------------------------------------------------
# Properties and classes that a query names and nobody uses, with the known name that comes nearest.
#
# A class is known if the sample or the taxonomy has it. Without a sample only a class that looks like one of the
# taxonomy is reported: documents may have classes of their own.


UNSEEN_PROPERTY, UNSEEN_CLASS = "HG-717", "HG-718"
Unseen = tuple[str, str, str | None]  # the code, what to say, and the name that was probably meant


class NameCheck:
    """The names that are known; asked for one query after another."""

    def __init__(self, taxonomy: Taxonomy, sample: DataSample | None) -> None:
        met = sample or DataSample(taxonomy)
        declared = taxonomy.terms
        self._sampled = met.size > 0
        places = (("the sample", self._sampled), ("the taxonomy", bool(declared)))
        self._looked_in = " or ".join(place for place, known in places if known)
        self._properties = Spellings([*_frequent(met.properties), *([RDF_TYPE] if declared else ())])
        self._classes = Spellings([*_frequent(met.classes), *declared])

    def unseen(self, query: Query) -> Iterator[Unseen]:
        """The names of a query that are not known."""
        if self._sampled:
            for term in _properties(query):
                if term not in self._properties:
                    said = f"no publication of the sample has the property {_short(term, Position.PROPERTY)}"
                    near = self._properties.nearest(term)
                    yield UNSEEN_PROPERTY, *_with_nearest(said, near, Position.PROPERTY)
        for term in _classes(query):
            if term not in self._classes:
                near = self._classes.nearest(term)
                if self._sampled or near is not None:
                    said = f"nothing in {self._looked_in} has to do with the class {_short(term)}"
                    yield UNSEEN_CLASS, *_with_nearest(said, near, Position.OBJECT)


def _frequent(counts: Counter[Term]) -> list[Term]:
    """The names that were met, the frequent ones first."""
    return [term for term, count in counts.most_common() if count]


def _with_nearest(message: str, near: Near | None, position: Position) -> tuple[str, str | None]:
    if near is None:
        return message, None
    name = _short(near.term, position)
    return f"{message}; did you mean {name}? ({near.how})", name


def _short(term: Term, position: Position = Position.OBJECT) -> str:
    """A name as in tables, with a built-in prefix where it has one."""
    for prefix, namespace in PREFIXES.items():
        end = term.value.removeprefix(namespace)
        if namespace != PLAIN and end != term.value and end.isidentifier():
            return f"{prefix}:{end}"
    return spell(term, position)


# --- the names of a query ---------------------------------------------------------------------------------------


def _properties(query: Query) -> Iterable[Term]:
    nodes = [pattern.predicate for pattern in query.patterns if isinstance(pattern, TriplePattern)]
    return _names_named(nodes, query)


def _classes(query: Query) -> Iterable[Term]:
    return _names_named([node for pattern in query.patterns for node in _class_nodes(pattern)], query)


def _class_nodes(pattern: TriplePattern | ClassPattern) -> tuple[Node, ...]:
    """The nodes of a pattern that stand for classes."""
    if isinstance(pattern, TriplePattern):
        return (pattern.object,) if pattern.predicate == RDF_TYPE else ()
    return (pattern.object,) if pattern.relation is ClassRelation.IS_A else (pattern.subject, pattern.object)


def _names_named(nodes: Iterable[Node], query: Query) -> Iterable[Term]:
    """The IRIs among nodes, and those that conditions and VALUES put in the place of variables."""
    found = dict.fromkeys(nodes)
    variables = [node for node in found if isinstance(node, Variable)]
    if variables and (query.filters or query.values):
        pinned = _pinned(query)
        found.update((term, None) for variable in variables for term in pinned.get(variable, ()))
    return [node for node in found if isinstance(node, Term) and node.kind is TermKind.IRI]


def _pinned(query: Query) -> dict[Variable, list[Term]]:
    """The terms that variables are asked to be."""
    pinned: dict[Variable, list[Term]] = {}
    for condition in conjuncts(query.filters):
        for alternative in alternatives(condition) or ():
            for subject, term in alternative.items():
                if isinstance(subject, Variable):
                    pinned.setdefault(subject, []).append(term)
    for block in query.values:
        for at, variable in enumerate(block.variables):
            pinned.setdefault(variable, []).extend(row[at] for row in block.rows if row[at] is not None)  # type: ignore
    return pinned
