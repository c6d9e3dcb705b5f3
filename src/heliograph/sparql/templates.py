"""Many texts at once: those that differ only in constants and variables share one parse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import getitem, itemgetter
from typing import Any, cast

from heliograph.errors import SparqlError
from heliograph.io.sources import collector_paused
from heliograph.sparql.parser import Draft, finish, parse
from heliograph.sparql.query import (
    MAX_COMBINATIONS,
    MAX_RANGING,
    Compare,
    Expression,
    Query,
    Values,
    builder,
    children,
    combinations,
    walk,
)
from heliograph.sparql.tokens import (
    COMMENTS,
    IGNORED,
    LIFT,
    Problem,
    Record,
    Role,
    Scope,
    check_characters,
    slot_number,
    tokenize,
)
from heliograph.terms import PREFIXES, Variable

# --- templates --------------------------------------------------------------------------------------------------
# A parsed shape, ready to be filled: which table reads each constant, and how a query is made of what they read.
#
# Making a query touches no text and, for its patterns, runs no Python loop: the ends of all patterns are picked from
# one pool of nodes (first the slots by number, then the nodes that the shape itself holds) and cut into threes. Both
# kinds of pattern have three fields, so one row serves them all.

Pool = Sequence[Any]
Maker = Callable[[Pool], Any]

# A NamedTuple from its fields, without the wrapper that checks their number: half of its time.
_make = cast(Callable[[type, tuple[Any, ...]], Any], tuple.__new__)


class Template:
    """The parse of a shape."""

    def __init__(self, draft: Draft, record: Record, scope: Scope, constants: list[str]) -> None:
        filling = _Filling(len(constants) + len(record.signed))
        query = finish(draft)
        self._shape = query  # with slots where texts of the shape differ
        self._star = draft.star
        self._counts = frozenset(draft.counts)  # the names of counts
        self.tables: tuple[Mapping[str, Any], ...] = tuple(  # by constant
            scope.table(record.roles[number]) if number in record.roles else (COMMENTS if text[0] == "#" else IGNORED)
            for number, text in enumerate(constants)
        )
        self._signed = tuple(record.signed)
        self._numbers = scope.table(Role.NUMBER)
        self._classes = tuple(type(pattern) for pattern in draft.patterns)
        self._ends = filling.row(node for pattern in draft.patterns for node in pattern)  # the fields of all patterns
        self._selected = filling.row(draft.selected)
        self._filters = tuple(filling.expression(condition) for condition in draft.filters)
        self._values = tuple(filling.values(block) for block in draft.values)
        self._having = filling.expression(query.having)
        self._own = tuple(filling.own)
        self._measured = bool(query.metrics)  # metrics may name variables of their own
        # Whether names decide if the query may stand, so that each text is checked anew.
        self._strict = self._measured or combinations(query.values) > MAX_COMBINATIONS

    def fill(self, constants: list[str]) -> Query:
        """The query of a text with these constants; raises `Problem` where they do not fit."""
        pool = [*map(getitem, self.tables, constants)]
        if self._signed:
            pool += [self._numbers[sign + constants[number]] for sign, number in self._signed]
        pool += self._own
        ends = self._ends(pool)
        if self._counts and not self._counts.isdisjoint(ends):
            raise Problem("HG-407", "the count is named like a variable of the pattern", "give it another name")
        shape = self._shape
        query = Query(
            shape.form,
            tuple(map(_make, self._classes, zip(ends[0::3], ends[1::3], ends[2::3]))),
            tuple([make(pool) for make in self._filters]) if self._filters else (),
            tuple([make(pool) for make in self._values]) if self._values else (),
            self._projection(pool, ends),
            shape.distinct,
            shape.counted,
            shape.group_by,
            self._having(pool),
            shape.count_names,
        )
        if self._measured and self._star:
            query = replace(query, projection=query.named_variables)
        if self._strict:  # the checks of a parse that compare names
            bound = {node for pattern in query.patterns for node in pattern}
            if combinations(query.values, bound) > MAX_COMBINATIONS or len(query.ranging) > MAX_RANGING:
                raise Problem("HG-400", "names that do not fit each other", "see what a parse of its own says")
        return query

    def _projection(self, pool: Pool, ends: tuple[Any, ...]) -> tuple[Variable, ...]:
        if self._shape.counted:
            return ()
        if not self._star:
            return tuple(dict.fromkeys(self._selected(pool)))
        named = [node for node in ends if type(node) is Variable and node.name[:2] != "_:"]
        for block in self._shape.values:
            named += block.variables
        return tuple(dict.fromkeys(named))


class _Filling:
    """Where each node of a shape's query comes from: the pool under construction."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self.own: dict[Any, int] = {}

    def place(self, node: Any) -> int:
        """The node's place in the pool."""
        number = slot_number(node)
        return self._slots + self.own.setdefault(node, len(self.own)) if number is None else number

    def row(self, nodes: Iterable[Any]) -> Maker:
        return row_of([self.place(node) for node in nodes])

    def expression(self, expression: Expression | None) -> Maker:
        """A maker of the expression; one without slots is made once and for all."""
        if isinstance(expression, tuple):
            return itemgetter(self.place(expression))
        if expression is None or all(slot_number(node) is None for node in walk(expression)):
            return lambda pool: expression
        makers = [self.expression(operand) for operand in children(expression)]
        if isinstance(expression, Compare):  # as most are: half of the time
            operator, (left, right) = expression.operator, makers
            return lambda pool: Compare(operator, left(pool), right(pool))
        build = builder(expression)
        return lambda pool: build([make(pool) for make in makers])

    def values(self, block: Values) -> Maker:
        rows = [self.row(row) for row in block.rows]
        return lambda pool: Values(block.variables, tuple([row(pool) for row in rows]))


def row_of(places: list[int]) -> Maker:
    """Picks the places as a tuple, whatever their number."""
    if len(places) > 1:
        return itemgetter(*places)
    return (lambda pool: (pool[places[0]],)) if places else (lambda pool: ())


# --- shared parses ----------------------------------------------------------------------------------------------
# Sharing parses: texts that differ only in constants and variables have one shape, which is parsed once.
#
# The shape of a text is what remains when its constants are lifted out. Parsing the first text of a shape records
# which constants the parser looked at (they are pinned: only texts that agree on them share the parse) and which it
# merely passed on in a role (they are slots). A later text is then a matter of reading its constants, role by role,
# and putting them into the slots. The law: for every text the outcome equals that of a parse of its own; whatever
# does not fit (a constant that may not stand in its role, a count named like a variable) falls back to just that
# parse.
#
# A shape is learnt when it is met again, so that texts which share nothing cost no more than their parse.

MOST_TEMPLATES = 4096  # about 5 kB each; beyond that, texts are parsed one by one


# The templates of one shape whose parses looked at the same constants: what picks these, and the templates by them.
_Family = tuple[Callable[[list[str]], Any], dict[Any, Template]]


class Shapes:
    """The shapes met so far."""

    def __init__(self, verb: str, prefixes: Mapping[str, str]) -> None:
        self._verb = verb
        self._scope = Scope(prefixes)
        self._scopes: dict[tuple[Any, ...], Scope] = {}
        self._families: dict[tuple[str, ...], dict[tuple[int, ...], _Family]] = {}
        self._met: set[int] = set()  # hashes of shapes; two shapes with one hash are merely learnt a little early
        self.learnt = 0

    def compile(self, text: str) -> Query:
        """The query of a text; raises `SparqlError`."""
        check_characters(text)
        parts = LIFT.split(text)
        shape, constants = tuple(parts[0::2]), parts[1::2]
        for pinned, templates in self._families.get(shape, _NONE).values():
            template = templates.get(pinned(constants))
            if template is not None:
                break
        else:
            mark = hash(shape)
            if mark not in self._met or self.learnt >= MOST_TEMPLATES:
                self._met.add(mark)
                return parse_alone(text, self._scope, self._verb)
            template = self._learn(text, shape, constants)
        try:
            return template.fill(constants)
        except Problem:
            return parse_alone(text, self._scope, self._verb)

    def _learn(self, text: str, shape: tuple[str, ...], constants: list[str]) -> Template:
        """The template of a shape that is met again."""
        record = Record([match.start(1) for match in LIFT.finditer(text)])
        draft, scope = parse(tokenize(text), self._scope, self._verb, record)
        scope = self._scopes.setdefault((scope.base, *sorted(scope.prefixes.items())), scope)
        template = Template(draft, record, scope, constants)
        behind_signs = {number for _, number in record.signed}
        pinned = tuple(
            number for number, table in enumerate(template.tables) if table is IGNORED and number not in behind_signs
        )
        self.learnt += 1
        families = self._families.setdefault(shape, {})
        pick, templates = families.setdefault(pinned, (row_of(list(pinned)), {}))
        templates[pick(constants)] = template
        return template


_NONE: dict[tuple[int, ...], _Family] = {}


def parse_alone(text: str, scope: Scope, verb: str) -> Query:
    """The query of a text by a parse of its own."""
    draft, _ = parse(tokenize(text), scope, verb)
    return finish(draft)


# --- interests --------------------------------------------------------------------------------------------------
# SPARQL interests: one text, or a hundred thousand that share their shapes.


def parse_sparql(text: str, *, verb: str = "filter", prefixes: Mapping[str, str] = PREFIXES) -> Query:
    """The query that a text means for a verb (`filter` or `watch`); raises `SparqlError` with the place and a fix."""
    return parse_alone(text, Scope(prefixes), verb)


def compile_sparql(
    texts: Iterable[str], *, verb: str = "filter", prefixes: Mapping[str, str] = PREFIXES
) -> list[Query | SparqlError]:
    """The queries of many texts, or the error of each that is wrong; each equals what `parse_sparql` gives."""
    shapes = Shapes(verb, prefixes)
    with collector_paused():
        return [_outcome(shapes, text) for text in texts]


def _outcome(shapes: Shapes, text: str) -> Query | SparqlError:
    try:
        return shapes.compile(text)
    except SparqlError as error:
        return error
