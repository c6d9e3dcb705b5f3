"""Normal forms of queries: equal forms ask the same. Containment and merging compare forms, and plans turn them back.

A form has the query's edges, the region of each variable (`sparql.regions`), and the residue that regions cannot say,
as expressions laid flat. `form_of` makes one of a query; `query_of` makes a query of one, for which regions are spelled
as conditions again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

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
    Pattern,
    Query,
    TriplePattern,
    Values,
    children,
    conjuncts,
    variables_in,
)
from heliograph.sparql.regions import (
    ALL,
    END,
    EVERYTHING,
    LITERALS,
    NUMBERS,
    START,
    Cut,
    Line,
    Region,
    Some,
    Sort,
    comparison,
    convex,
    cuts_of,
    intersection,
    just,
    region_where,
    union,
    whole,
    within,
)
from heliograph.terms import Term, Variable, literal, sort_key
from heliograph.values import ATTO, DATATYPE_OF, XSD_DOUBLE, Instant, Kind, Value, canonical, to_float32

# --- flat expressions -------------------------------------------------------------------------------------------
# Expressions laid flat: their nodes in prefix order, so that depth costs no recursion when they are compared.
#
# The laws: `raised(laid(expression)) == expression`; two expressions are equal exactly if they are laid alike. In
# normal form `a > b` is `b < a`, and the operands of `=` and `!=` stand in order.


class Head(NamedTuple):
    """An operator, with the number of operands that follow it."""

    kind: str
    detail: str
    operands: int


Flat = tuple[Head | Node, ...]

_TURNED = {">": "<", ">=": "<="}


def laid(expression: Expression) -> Flat:
    ordered: list[Head | Node] = []
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, (Term, Variable)):
            ordered.append(node)
        else:
            below = children(node)
            ordered.append(Head(type(node).__name__, _detail(node), len(below)))
            stack.extend(reversed(below))
    return tuple(ordered)


def _detail(node: Expression) -> str:
    match node:
        case Compare(symbol) | Arithmetic(symbol):
            return symbol
        case Call(name) | Metric(name):
            return name
        case In(negated=True):
            return "not"
    return ""


def raised(flat: Flat) -> Expression:
    """The expression again."""
    stack: list[Expression] = []
    for node in reversed(flat):
        if isinstance(node, Head):
            stack.append(_MAKE[node.kind](node.detail, tuple([stack.pop() for _ in range(node.operands)])))
        else:
            stack.append(node)
    return stack[0]


_MAKE: dict[str, Callable[[str, tuple[Expression, ...]], Expression]] = {
    "Not": lambda _, below: Not(*below),
    "And": lambda _, below: And(below),
    "Or": lambda _, below: Or(below),
    "Compare": lambda symbol, below: Compare(symbol, *below),
    "In": lambda negated, below: In(below[0], below[1:], bool(negated)),
    "Arithmetic": lambda symbol, below: Arithmetic(symbol, *below),
    "Negate": lambda _, below: Negate(*below),
    "Call": Call,
    "Metric": Metric,
    "Count": lambda _, below: Count(),
}


def substituted(flat: Flat, images: Mapping[Node, Node]) -> Flat:
    """The expression with nodes for its variables, in normal form again where it is one comparison."""
    return turned(tuple([images.get(node, node) if isinstance(node, Variable) else node for node in flat]))


def turned(flat: Flat) -> Flat:
    """A comparison of two nodes the one way in which it is written; anything else as it is."""
    head = flat[0]
    if len(flat) != 3 or not isinstance(head, Head) or head.kind != "Compare":
        return flat
    if head.detail in _TURNED:
        return head._replace(detail=_TURNED[head.detail]), flat[2], flat[1]
    if head.detail in ("=", "!=") and _rank(flat[2]) < _rank(flat[1]):
        return head, flat[2], flat[1]
    return flat


def _rank(node: Head | Node) -> tuple[bool, bool, tuple[object, ...]]:
    return isinstance(node, Variable), isinstance(node, Head), tuple(node)


def variables_of(flat: Flat) -> set[Variable]:
    return {node for node in flat if isinstance(node, Variable)}


def is_ground(flat: Flat) -> bool:
    """Whether it can be evaluated at once: no variable, no metric, no count."""
    return not any(
        isinstance(node, Variable) or (isinstance(node, Head) and node.kind in ("Metric", "Count")) for node in flat
    )


# --- regions as conditions --------------------------------------------------------------------------------------
# A region as the conditions of a query that say it.
#
# The law: what is spelled holds of every term of the region. It holds of no other one if `says` confirms it, as it
# does of whatever a query's own conditions leave but for odd cases, such as intervals that end in several ways at
# once. A `hull` is always of the kind that can be said exactly.

_INFINITY = literal("INF", XSD_DOUBLE)
_ANY_TEXT = literal("")
_MOMENTS = ((Sort.TIME, Sort.LOCAL_TIME, Kind.DATETIME), (Sort.DATE, Sort.LOCAL_DATE, Kind.DATE))
_MINUTE = 60 * ATTO
_DAY = 1440  # minutes


class Spelled(NamedTuple):
    """Conditions that are ANDed; or the terms of a VALUES block."""

    filters: tuple[Expression, ...] = ()
    values: tuple[Term, ...] | None = None


def spelled(variable: Variable, region: Region) -> Spelled:
    """What a query asks of a variable whose value must lie in a region."""
    if region.among is not None:
        return Spelled(values=tuple(sorted(region.among, key=sort_key)))
    if region == EVERYTHING:
        return Spelled()
    excluded = _excluded_names(region)
    if excluded is not None:
        return Spelled(tuple(Compare("!=", variable, term) for term in excluded))
    found = [*_names(variable, region), *_literals(variable, region)]
    return Spelled(found[0].operands if len(found) == 1 and isinstance(found[0], And) else (_any(found),))


def region_of(said: Spelled) -> Region:
    """What conditions on one variable leave of its values; they are of the kind that regions can say."""
    if said.values is not None:
        return Region(among=frozenset(said.values))
    regions = [region_where(each) for each in said.filters]
    return intersection([each for each in regions if each is not None])


_PROBE = Variable("x")


def says(region: Region) -> bool:
    """Whether what is spelled says the region exactly."""
    if region.among is not None:
        return True
    ends = _plain_ends(region)
    if ends is not None:  # most regions are one interval of numbers: it is enough to look at its ends
        return _is_exact(ends[0], True) and _is_exact(ends[1], False)
    return region_of(spelled(_PROBE, region)) == region


def _plain_ends(region: Region) -> tuple[list[Cut | None], list[Cut | None]] | None:
    """Where the one interval begins and ends that is all there is of each kind of number; None where it is not so."""
    lines = [part for part in region.parts[Sort.EXACT : Sort.TIME] if not isinstance(part, Some) and len(part) == 2]
    if len(lines) < len(NUMBERS) or region.parts[: Sort.EXACT] + region.parts[Sort.TIME :] != _NO_OTHERS:
        return None
    return [line[0] for line in lines], [line[1] for line in lines]


_NO_OTHERS = Region().parts[: Sort.EXACT] + Region().parts[Sort.TIME :]


def _is_exact(cuts: list[Cut | None], low: bool) -> bool:
    return all(cut == (START if low else END) for cut in cuts) or _exact_end(cuts) is not None


def hull(one: Region, other: Region) -> Region:
    """A region that holds both, with one interval on each line, and that can be said."""
    return region_of(spelled(_PROBE, convex(union((one, other)))))


def _any(found: Sequence[Expression]) -> Expression:
    return found[0] if len(found) == 1 else Or(tuple(found))


def _all(*found: Expression) -> Expression:
    return found[0] if len(found) == 1 else And(found)


# --- names and texts --------------------------------------------------------------------------------------------


def _excluded_names(region: Region) -> list[Term] | None:
    """The names that alone are left out, where it is only names."""
    if any(region.parts[sort] != whole(sort) for sort in LITERALS):
        return None
    names = [part for part in region.parts[:2] if isinstance(part, Some) and part.but]
    return _sorted(names[0].terms | names[1].terms) if len(names) == 2 else None


def _sorted(terms: frozenset[Term]) -> list[Term]:
    return sorted(terms, key=sort_key)


def _names(variable: Variable, region: Region) -> Iterator[Expression]:
    iris, blanks = region.parts[Sort.IRI], region.parts[Sort.BLANK]
    assert isinstance(iris, Some)
    assert isinstance(blanks, Some)
    literals, an_iri = Call("ISLITERAL", (variable,)), Call("ISIRI", (variable,))
    if iris == ALL and blanks.but:
        yield Not(literals)
        return
    if iris.but:
        yield _all(an_iri, *(Compare("!=", variable, term) for term in _sorted(iris.terms)))
    elif iris.terms:
        yield In(variable, tuple(_sorted(iris.terms)))
    if blanks.but or blanks.terms:
        yield And((Not(an_iri), Not(literals)))


def _literals(variable: Variable, region: Region) -> Iterator[Expression]:
    parts, a_literal = region.parts, Call("ISLITERAL", (variable,))
    odd = parts[Sort.ODD]
    assert isinstance(odd, Some)
    if odd.but:  # all literals: nothing else asks for odd ones that it does not name
        yield a_literal
        return
    for sort in (Sort.TEXT, Sort.ODD, Sort.BOOLEAN):
        part = parts[sort]
        assert isinstance(part, Some)
        if part == ALL:
            yield And((a_literal, Or((Compare("!=", variable, _ANY_TEXT), Compare("=", variable, _ANY_TEXT)))))
        elif part.but:
            yield _all(a_literal, *(Compare("!=", variable, term) for term in _sorted(part.terms)))
        elif part.terms:
            yield In(variable, tuple(_sorted(part.terms)))
    yield from _numbers(variable, region)
    for zoned, local, kind in _MOMENTS:
        yield from _moments(variable, (region.parts[zoned], region.parts[local]), kind)


# --- numbers ----------------------------------------------------------------------------------------------------


def _numbers(variable: Variable, region: Region) -> Iterator[Expression]:
    lines = [region.parts[sort] for sort in NUMBERS]
    nan = bool(region.parts[Sort.NAN])
    runs = _runs([line for line in lines if not isinstance(line, Some)])
    if not runs and nan:
        yield Not(Compare("<=", variable, _INFINITY))
    for number, (low, high) in enumerate(runs):
        yield _interval(variable, _bound(low, True), _bound(high, False), nan and not number)


def _runs(lines: Sequence[Line]) -> list[tuple[list[Cut | None], list[Cut | None]]]:
    """The intervals that run side by side on lines: where each begins and ends. An empty line has no say."""
    count = max(map(len, lines))
    if any(len(line) not in (0, count) for line in lines):
        lines = [line and (line[0], line[-1]) for line in lines]
        count = 2
    ends = [[line[at] if line else None for line in lines] for at in range(count)]
    return list(zip(ends[::2], ends[1::2], strict=True))


def _bound(cuts: list[Cut | None], low: bool) -> tuple[Term, int] | None:
    """A constant, and whether it is cut behind, that cuts the lines here, or further out; None for no end at all."""
    found = _exact_end(cuts) or next((end for end in _ends(cuts) if _is_outside(end, cuts, low)), None)
    return None if found is None else (_literal(found[0]), found[1])


def _exact_end(cuts: list[Cut | None]) -> tuple[Value, int] | None:
    """A constant that cuts the lines just here."""
    for end in _ends(cuts):
        if all(asked is None or cut == asked for cut, asked in zip(cuts_of(*end), cuts, strict=True)):
            return end
    return None


def _is_outside(end: tuple[Value, int], cuts: list[Cut | None], low: bool) -> bool:
    """Whether a constant cuts no line further in than asked."""
    pairs = [(cut, asked) for cut, asked in zip(cuts_of(*end), cuts, strict=True) if asked is not None]
    return all(cut <= asked if low else cut >= asked for cut, asked in pairs)


def _ends(cuts: list[Cut | None]) -> Iterator[tuple[Value, int]]:
    """Constants that might cut so."""
    exact, single, double = cuts
    if exact is not None and isinstance(exact[0], (int, Decimal)):
        yield Value(Kind.INTEGER if isinstance(exact[0], int) else Kind.DECIMAL, exact[0]), exact[1]
    for cut in (double, single):
        if cut is not None and cut not in (START, END):
            yield Value(Kind.DOUBLE, float(cut[0])), cut[1]
    if single is not None and single not in (START, END) and to_float32(float(single[0])) == single[0]:
        yield Value(Kind.FLOAT, float(single[0])), single[1]


def _literal(value: Value) -> Term:
    return literal(canonical(value), DATATYPE_OF[value.kind])


def _interval(
    variable: Variable, low: tuple[Term, int] | None, high: tuple[Term, int] | None, nan: bool = False
) -> Expression:
    """What lies between two ends; with `nan` not-a-number, too, which is false of any order."""
    if low and high and low[0] == high[0] and (low[1], high[1]) == (0, 1) and not nan:
        return Compare("=", variable, low[0])
    asked = [("<" if low[1] == 0 else "<=", low[0])] if low else []  # what is left out
    asked += [(">=" if high[1] == 0 else ">", high[0])] if high else []
    if not asked:
        above = Compare(">", variable, _INFINITY)
        return Not(above) if nan else Or((Compare("<=", variable, _INFINITY), above))
    if nan:
        return _all(*(Not(Compare(symbol, variable, term)) for symbol, term in asked))
    return _all(*(Compare(_OPPOSITE[symbol], variable, term) for symbol, term in asked))


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


# --- moments ----------------------------------------------------------------------------------------------------


def _moments(variable: Variable, lines: Sequence[object], kind: Kind) -> Iterator[Expression]:
    """Moments with a zone and without. A list of points that are left out leaves the others whole."""
    zoned, local = lines
    assert isinstance(zoned, tuple)
    assert isinstance(local, tuple)
    if not zoned and not local:
        return
    holes = [*_holes(zoned, kind, True), *_holes(local, kind, False)]
    if None not in holes:
        yield _all_but(variable, [hole for hole in holes if hole is not None], kind)
        return
    for low, high in _runs([zoned, local]):
        ends = _moment_bound(low, kind, ">"), _moment_bound(high, kind, "<")
        yield _interval(variable, *ends) if any(ends) else _all_but(variable, [], kind)


def _holes(line: Line, kind: Kind, zoned: bool) -> list[Term | None]:
    """The points that a line lacks; a None where it lacks more than points."""
    if line[:1] != (START,) or line[-1:] != (END,):
        return [None]
    gaps = zip(line[1:-1:2], line[2:-1:2], strict=True)
    return [_moment(low[0], kind, zoned) if low[0] == high[0] else None for low, high in gaps]


def _all_but(variable: Variable, holes: list[Term], kind: Kind) -> Expression:
    a_literal = Call("ISLITERAL", (variable,))
    if holes:
        return _all(a_literal, *(Compare("!=", variable, term) for term in holes))
    some = _literal(Value(kind, Instant(0, 0)))
    return And((a_literal, Or((Compare("!=", variable, some), Compare("=", variable, some)))))


def _moment(at: object, kind: Kind, zoned: bool) -> Term | None:
    """The constant at a place on the line; dates begin at midnight in some zone."""
    if not isinstance(at, int):
        return None
    zone = None
    if zoned:
        zone = 0 if kind is Kind.DATETIME else (-(at // _MINUTE)) % _DAY
        zone -= _DAY if zone > _DAY // 2 else 0
    term = _literal(Value(kind, Instant(at, zone)))
    same = comparison("=", term)
    assert same is not None
    lines = [part for part in same.parts if not isinstance(part, Some) and part]
    return term if lines == [((at, 0), (at, 1))] else None


def _moment_bound(cuts: list[Cut | None], kind: Kind, symbol: str) -> tuple[Term, int] | None:
    """As `_bound`: a constant with a zone or without, whichever cuts both lines here, or further out."""
    parts = list(Region().parts)  # of a region that runs from the cuts outwards, or inwards
    for sort, cut in enumerate(cuts, Sort.TIME if kind is Kind.DATETIME else Sort.DATE):
        if cut is not None:
            parts[sort] = (START, cut) if symbol == "<" else (cut, END)
    asked = Region(tuple(parts))
    found: list[tuple[bool, tuple[Term, int]]] = []
    for cut, zoned in zip(cuts, (True, False), strict=True):
        term = None if cut is None else _moment(cut[0], kind, zoned)
        if cut is None or term is None:
            continue
        ray = comparison(symbol + "=" * (cut[1] == (symbol == "<")), term)
        assert ray is not None
        if within(asked, ray):
            found.append((within(ray, asked), (term, cut[1])))
    return max(found, key=lambda each: each[0])[1] if found else None


# --- forms ------------------------------------------------------------------------------------------------------
# A query as containment and merging see it: its edges, the region of each variable, and what regions cannot say.
#
# The laws: a publication matches a form exactly if it matches the query that the form was made of, and exactly if it
# matches `query_of(form)`; variables are numbered by what is asked of them and edges stand in order, so that patterns
# which differ in the names of their variables alone have one form, but for the rare ones that are alike in all their
# edges. What a query selects makes no difference. One that counts, or that has variables no edge binds, is `opaque`:
# nothing is known of it but what it is.

_NAMED = tuple(Variable(f"v{number}") for number in range(64))
_VALUES = "Values"  # the head of a VALUES block that is laid flat: its variables, then its rows


class Counted(NamedTuple):
    """What a query that counts asks of the count."""

    group_by: tuple[Variable, ...]
    having: Flat | None


class NormalForm(NamedTuple):
    """`regions` are of the variables that must satisfy something, in order; `residue` is ANDed and laid flat."""

    edges: tuple[Pattern, ...]
    regions: tuple[tuple[Variable, Region], ...] = ()
    residue: tuple[Flat, ...] = ()
    counted: Counted | None = None
    opaque: bool = False

    def region(self, variable: Variable) -> Region:
        """The region of a variable."""
        for name, region in self.regions:
            if name == variable:
                return region
        return EVERYTHING

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the edges, by first appearance."""
        return tuple(
            dict.fromkeys([node for edge in self.edges for node in ends_of(edge) if isinstance(node, Variable)])
        )


def numbered(number: int) -> Variable:
    """The variable of that number."""
    return _NAMED[number] if number < len(_NAMED) else Variable(f"v{number}")


def ends_of(edge: Pattern) -> tuple[Node, ...]:
    """The nodes of an edge: two or three."""
    return (edge.subject, edge.object) if isinstance(edge, ClassPattern) else edge


# --- from a query -----------------------------------------------------------------------------------------------


def form_of(query: Query) -> NormalForm:
    """The form of a query."""
    names = _numbering(query.patterns)
    found = dict.fromkeys([_renamed(edge, names) for edge in query.patterns])
    edges = tuple(sorted(found, key=_edge_key)) if len(found) > 1 else tuple(found)
    regions, residue, loose = _conditions(query, names)
    if not query.counted:
        return NormalForm(edges, regions, residue, None, loose)
    having = None if query.having is None else substituted(laid(query.having), names)
    counted = Counted(tuple(names.get(name, name) for name in query.group_by), having)
    return NormalForm(edges, regions, residue, counted, True)


def _renamed(edge: Pattern, names: Mapping[Node, Variable]) -> Pattern:
    if isinstance(edge, ClassPattern):
        relation, subject, object = edge
        return ClassPattern(relation, names.get(subject, subject), names.get(object, object))
    subject, predicate, object = edge
    if subject in names or object in names or predicate in names:
        return TriplePattern(
            names.get(subject, subject),
            names.get(predicate, predicate),
            names.get(object, object),
        )
    return edge


_Key = tuple[object, ...]
_STAR: _Key = (9,)  # of a variable, behind all kinds of term
_RANKS = {ClassRelation.IS_A: 1, ClassRelation.SUBCLASS_OF: 2}


def _edge_key(edge: Pattern) -> _Key:
    """The order of edges: first those of plain triples, by their nodes, constants before variables."""
    if isinstance(edge, ClassPattern):
        relation, subject, object = edge
        return _RANKS[relation], _node_key(subject), (), _node_key(object)
    subject, predicate, object = edge
    return 0, _node_key(subject), _node_key(predicate), _node_key(object)


def _node_key(node: Node) -> _Key:
    return (9, len(node.name), node.name) if isinstance(node, Variable) else node


def _numbering(patterns: Sequence[Pattern]) -> dict[Node, Variable]:
    """Numbers for the variables, by what their edges say of them, and then by what these say of their neighbours."""
    seen: dict[Node, list[_Key]] = {}
    for edge in patterns:
        ends = edge if isinstance(edge, TriplePattern) else (edge.subject, edge.relation, edge.object)
        for place, node in enumerate(ends):
            if isinstance(node, Variable):
                seen.setdefault(node, []).append((place, *(_outline(other, node) for other in ends)))
    if len(seen) > 1:
        colours: dict[Node, tuple[_Key, ...]] = {node: tuple(sorted(keys)) for node, keys in seen.items()}
        ordered = sorted(seen, key=colours.__getitem__)
        if len(set(colours.values())) < len(seen):
            ordered = _refined(patterns, ordered, colours)
        return {node: numbered(number) for number, node in enumerate(ordered)}
    return {node: numbered(0) for node in seen}


def _outline(node: object, this: Node) -> _Key:
    if isinstance(node, Variable):
        return (8,) if node == this else _STAR
    return node if isinstance(node, Term) else (5, str(node))


def _refined(patterns: Sequence[Pattern], ordered: list[Node], colours: Mapping[Node, tuple[_Key, ...]]) -> list[Node]:
    """Variables of one colour told apart by the colours around them, once for each variable at most."""
    rank = _ranked(ordered, colours)
    for _ in range(min(len(ordered), 8)):
        around: dict[Node, list[_Key]] = {node: [] for node in ordered}
        for edge in patterns:
            ends = [node for node in ends_of(edge) if isinstance(node, Variable)]
            for place, node in enumerate(ends):
                around[node].append((place, *(rank[other] for other in ends)))
        keys = {node: (rank[node], *sorted(around[node])) for node in ordered}
        ordered = sorted(ordered, key=keys.__getitem__)
        finer = _ranked(ordered, keys)
        if finer == rank or len(set(finer.values())) == len(ordered):
            break
        rank = finer
    return ordered


def _ranked(ordered: Sequence[Node], keys: Mapping[Node, object]) -> dict[Node, int]:
    """Ranks by key, equal ones of one rank."""
    ranks: dict[Node, int] = {}
    for number, node in enumerate(ordered):
        same = number and keys[ordered[number - 1]] == keys[node]
        ranks[node] = ranks[ordered[number - 1]] if same else number
    return ranks


# --- conditions -------------------------------------------------------------------------------------------------

_Regions = dict[Variable, Region]
_Conditions = tuple[tuple[tuple[Variable, Region], ...], tuple[Flat, ...], bool]


def _conditions(query: Query, names: Mapping[Node, Variable]) -> _Conditions:
    """The regions, the residue, and whether a variable stands in no edge."""
    if not query.filters and not query.values:
        return (), (), False
    said: dict[Variable, list[Expression]] = {}
    regions: _Regions = {}
    residue: list[Flat] = []
    loose = False
    for expression in conjuncts(query.filters):
        found = _variables(expression)
        loose |= not found <= names.keys()
        true = region_where(expression) if len(found) == 1 and found <= names.keys() else None
        if true is None:
            residue.append(substituted(laid(expression), names))
        else:
            variable = names[found.pop()]
            regions[variable] = intersection((regions.get(variable, EVERYTHING), true))
            said.setdefault(variable, []).append(expression)
    for block in query.values:
        loose |= not names.keys() >= set(block.variables)
        if len(block.variables) == 1 and block.variables[0] in names and (None,) not in block.rows:
            variable = names[block.variables[0]]
            given = just(term for (term,) in block.rows if term is not None)
            regions[variable] = intersection((regions.get(variable, EVERYTHING), given))
        else:
            residue.append(_laid_values(block, names))
    kept = tuple(sorted([each for each in regions.items() if each[1] != EVERYTHING]))
    unsaid = [each for variable, region in kept if variable in said and not says(region) for each in said[variable]]
    residue += [substituted(laid(expression), names) for expression in unsaid]
    return kept, tuple(sorted(dict.fromkeys(residue), key=repr)), loose


def _variables(expression: Expression) -> set[Variable]:
    match expression:
        case Compare(_, Variable() as variable, Term()):  # as most filters are
            return {variable}
    return variables_in(expression)


def _laid_values(block: Values, names: Mapping[Node, Variable]) -> Flat:
    cells = [
        cell if cell is not None else Head("Undef", "", 0) for row in sorted(set(block.rows), key=repr) for cell in row
    ]
    head = Head(_VALUES, str(len(block.variables)), len(block.variables) + len(cells))
    return head, *(names.get(variable, variable) for variable in block.variables), *cells


# --- back to a query --------------------------------------------------------------------------------------------


def query_of(form: NormalForm) -> Query:
    """A query that says what the form says."""
    filters: list[Expression] = []
    blocks: list[Values] = []
    kept = [variables_of(flat) for flat in form.residue]
    for variable, region in form.regions:
        if {variable} in kept and not says(region):
            continue  # the residue says it
        said = spelled(variable, region)
        filters += said.filters
        if said.values is not None:
            blocks.append(Values((variable,), tuple((term,) for term in said.values)))
    for flat in form.residue:
        if isinstance(flat[0], Head) and flat[0].kind == _VALUES:
            blocks.append(_raised_values(flat))
        else:
            filters.append(raised(flat))
    query = Query(patterns=form.edges, filters=tuple(filters), values=tuple(blocks))
    if form.counted is None:
        return replace(query, projection=form.variables)
    group_by, having = form.counted
    return replace(query, counted=True, group_by=group_by, having=None if having is None else raised(having))


def _raised_values(flat: Flat) -> Values:
    head = flat[0]
    assert isinstance(head, Head)
    width = int(head.detail)
    cells = [cell if isinstance(cell, Term) else None for cell in flat[1 + width :]]
    rows = tuple(tuple(cells[at : at + width]) for at in range(0, len(cells), width))
    return Values(tuple(node for node in flat[1 : 1 + width] if isinstance(node, Variable)), rows)
