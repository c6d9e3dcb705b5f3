"""Everything that looks wrong with subscriptions, in their order; repeated and covered ones too."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from heliograph.errors import HeliographError, SubscriptionError
from heliograph.filter.encode import encode
from heliograph.io.publications import Publications
from heliograph.io.schemas import TABLES
from heliograph.io.sources import collector_paused
from heliograph.io.tables import as_table
from heliograph.lint.cost import SUSPECTS, DataSample, Trial, expenses, is_small, many_ways, matches_all
from heliograph.lint.queries import Kinds, NameCheck, kinds_apart, never_bound, replaced, why_always, why_never
from heliograph.model import Receipt, Rejected, Rejections
from heliograph.partition.containment import Forest
from heliograph.sparql.query import Compare, Expression, Query, Values, children, conjuncts, walk
from heliograph.sparql.regions import MIRRORED
from heliograph.sparql.tables import compile_patterns
from heliograph.sparql.templates import compile_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES, Term, Variable
from heliograph.vocabulary import Vocabulary
from heliograph.watch.options import Options, check_options, read_options

# --- findings ---------------------------------------------------------------------------------------------------
# What lint reports: a subscription, what is odd about it, and the other one that this has to do with.

TWICE = "HG-501"
SAME, NEVER, COVERED, APART = "HG-711", "HG-712", "HG-713", "HG-714"
PREDICTED, MEASURED = "HG-715", "HG-716"
UNBOUND, APART_KINDS, EVERYTHING = "HG-719", "HG-720", "HG-721"


class Finding(NamedTuple):
    """One row of the lint table."""

    subject_id: str
    code: str
    message: str
    related_id: str | None = None


def table_of(findings: Iterable[Finding]) -> pa.Table:
    """The findings as a table, in their order."""
    rows, schema = list(findings), TABLES["lint"].arrow
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


# --- what is linted ---------------------------------------------------------------------------------------------
# The laws: every subscription that was given is a subject, in the order of giving, also one that an engine would
# refuse. Watch reads all that filter reads, and more, so queries are read as a watch reads them. Options and `hg:`
# functions are for a watch alone, so what has them is checked as a watch checks it. Of those with one id the first
# that is not refused stands.

_COLUMNS = ("subscription_id", "subscriber", "query", "options")
_DEFAULTS = Options()


class Subject(NamedTuple):
    """A subscription that was given, or what is wrong with it."""

    id: str
    subscriber: str | None
    query: Query | HeliographError
    options: str | None = None
    refusal: HeliographError | None = None  # why a watch would refuse what can be read


class Sound(NamedTuple):
    """A subscription that can be read, and its place among all that were given."""

    place: int
    id: str
    subscriber: str | None
    query: Query
    options: str | None
    stands: bool  # no engine refuses it


@dataclass(slots=True)
class Subjects:
    """The subscriptions of one or more calls."""

    prefixes: Mapping[str, str]
    given: list[Subject] = field(default_factory=list)

    def take(self, items: Any, patterns: Any, constraints: Any) -> list[Rejected]:
        """Adds what is given, as an engine would subscribe to it; the rows that could not be read at all."""
        refused: list[Rejected] = []
        with collector_paused():
            if items is not None:
                self.given += self._texts(items, refused)
            if patterns is not None:
                self.given += self._patterns(patterns, constraints, refused)
        return refused

    def sound(self) -> list[Sound]:
        """Those with an id and a query."""
        standing = self.standing()
        return [
            Sound(place, id, subscriber, query, options, place in standing)
            for place, (id, subscriber, query, options, _) in enumerate(self.given)
            if isinstance(query, Query)
        ]

    def standing(self) -> set[int]:
        """The places of those that an engine takes: of those with one id, the first."""
        taken: dict[str, int] = {}
        for place, each in enumerate(self.given):
            if each.refusal is None and isinstance(each.query, Query):
                taken.setdefault(each.id, place)
        return set(taken.values())

    def _texts(self, items: Any, refused: list[Rejected]) -> Iterator[Subject]:
        read = as_table("subscriptions", items)
        refused += read.rejected
        ids, subscribers, texts, options = (read.table[name].to_pylist() for name in _COLUMNS)
        queries = compile_sparql([text or "" for text in texts], verb="watch", prefixes=self.prefixes)
        for row, (id, subscriber, query, asked) in enumerate(zip(ids, subscribers, queries, options, strict=True)):
            if id:
                yield _subject(id, subscriber, query, asked)
            else:
                said, fix = "a subscription without an id", "write one in subscription_id"
                nameless = SubscriptionError("HG-503", said, place=read.place(row), fix=fix)
                yield Subject("", subscriber, nameless, asked)

    def _patterns(self, patterns: Any, constraints: Any, refused: list[Rejected]) -> Iterator[Subject]:
        """A subscription of which a row was refused is left out, as an engine leaves it out."""
        read = as_table("patterns", patterns)
        limits = None if constraints is None else as_table("constraints", constraints)
        bad = [*read.rejected, *(() if limits is None else limits.rejected)]
        refused += bad
        spoilt = {row.item for row in bad}
        compiled = compile_patterns(read.table, None if limits is None else limits.table, self.prefixes)
        return (Subject(id, None, query) for id, query in compiled.items() if id not in spoilt)


def _subject(id: str, subscriber: str | None, query: Query | HeliographError, options: str | None) -> Subject:
    """The subscription, with what is wrong with its query or its options."""
    if isinstance(query, HeliographError) or not (options or query.metrics):
        return Subject(id, subscriber, query, options)
    try:
        asked = read_options(options, _DEFAULTS)
    except HeliographError as error:
        return Subject(id, subscriber, error, options)
    try:
        check_options(asked, query)
    except HeliographError as refusal:
        return Subject(id, subscriber, query, options, refusal)
    return Subject(id, subscriber, query, options)


# --- queries that are alike -------------------------------------------------------------------------------------
# Queries that are one up to the names of their variables and the order of their parts.
#
# A query is a set of parts. Its variables are told apart by how they occur: colours are refined until that tells no
# more, and where variables still look alike each of them is tried as the first. The law: equal keys mean that a
# renaming turns one query into the other. The converse holds but for patterns so symmetrical that trying would not
# end, and for conditions and VALUES that say the same in another order.

Colours = dict[Variable, int]
Token = Hashable  # a variable, a constant, or the sort of an operation

_TRIED = 64  # ways of naming the variables of one query


class Part(NamedTuple):
    """One part of a query: what holds it together, its constants and variables in order."""

    sort: str
    tokens: tuple[Token, ...]


def alike(queries: Sequence[Query]) -> Iterator[list[int]]:
    """The groups of two or more that ask the same, each by their places in ascending order."""
    for bucket in _grouped((_rough(query) for query in queries), range(len(queries))):
        if len(bucket) > 1:
            yield from (same for same in _grouped((key_of(queries[at]) for at in bucket), bucket) if len(same) > 1)


def _grouped(keys: Iterable[Hashable], places: Iterable[int]) -> list[list[int]]:
    groups: dict[Hashable, list[int]] = {}
    for key, place in zip(keys, places, strict=True):
        groups.setdefault(key, []).append(place)
    return list(groups.values())


def _rough(query: Query) -> Hashable:
    """What two queries that ask the same have in common for certain, at little cost."""
    masked = [tuple([None if isinstance(node, Variable) else node for node in pattern]) for pattern in query.patterns]
    return frozenset(masked), sum(1 for _ in conjuncts(query.filters)), len(query.values), len(query.group_by)


def select_the_same(one: Query, other: Query) -> bool:
    """Whether two queries that ask the same select the same too."""
    if (one.form, one.distinct) != (other.form, other.distinct):
        return False
    if all(set(query.projection) == set(query.variables) for query in (one, other)):
        return True
    return key_of(one, selected=True) == key_of(other, selected=True)


def key_of(query: Query, selected: bool = False) -> Hashable:
    """The query without the names of its variables; with what it selects, if that matters."""
    chosen = [Part("selected", (variable,)) for variable in query.projection] if selected else []
    parts = list(dict.fromkeys([*_parts(query), *chosen]))
    names = dict.fromkeys(token for part in parts for token in part.tokens if isinstance(token, Variable))
    return frozenset(_renamed(parts, colours) for colours in islice(_namings(dict.fromkeys(names, 0), parts), _TRIED))


def _namings(colours: Colours, parts: Sequence[Part]) -> Iterator[Colours]:
    """The ways of giving each variable a colour of its own that do not depend on names."""
    stack: list[tuple[Colours, Variable | None]] = [(colours, None)]  # refined when its turn comes: few are asked for
    while stack:
        coarse, chosen = stack.pop()
        colours = _refined(coarse if chosen is None else {**coarse, chosen: -1}, parts)
        tied = _tied(colours)
        if not tied:
            yield colours
        stack += [(colours, variable) for variable in tied]


# --- parts ------------------------------------------------------------------------------------------------------


def _parts(query: Query) -> Iterator[Part]:
    yield from (Part(type(pattern).__name__, tuple(pattern)) for pattern in query.patterns)
    yield from (Part("filter", _tokens(each)) for each in conjuncts(query.filters))
    yield from (Part("values", _listed(block)) for block in query.values)
    yield from (Part("group", (variable,)) for variable in query.group_by)
    yield Part("counted", (query.counted,))
    if query.having is not None:
        yield Part("having", _tokens(query.having))


def _tokens(expression: Expression) -> tuple[Token, ...]:
    """An expression as its nodes, operators first: with the number of their operands that says all."""
    turned: dict[Expression, Expression] = {  # comparisons with their constant on the right
        node: Compare(MIRRORED[node.operator], node.right, node.left)
        for node in walk(expression)
        if isinstance(node, Compare) and isinstance(node.left, Term) and not isinstance(node.right, Term)
    }
    return tuple([_token(node) for node in walk(replaced(expression, turned) if turned else expression)])


def _token(node: Expression) -> Token:
    if isinstance(node, (Term, Variable)):
        return node
    said = tuple(getattr(node, name, None) for name in ("operator", "name", "negated"))
    return type(node), said, len(children(node))


def _listed(block: Values) -> tuple[Token, ...]:
    """A block as its columns, rows in an order that does not depend on how they were given."""
    rows = sorted(set(block.rows), key=repr)
    columns = [(variable, tuple(row[at] for row in rows)) for at, variable in enumerate(block.variables)]
    return tuple(token for column in columns for token in column)


# --- colours ----------------------------------------------------------------------------------------------------


def _refined(colours: Colours, parts: Sequence[Part]) -> Colours:
    """Variables coloured by how they occur together with other colours, until that tells no more of them apart."""
    while True:
        seen: dict[Variable, list[int]] = {variable: [] for variable in colours}
        for part in parts:
            shown = tuple([colours[token] if isinstance(token, Variable) else token for token in part.tokens])
            for at, token in enumerate(part.tokens):
                if isinstance(token, Variable):
                    seen[token].append(hash((part.sort, shown, at)))
        finer = {variable: hash((colours[variable], *sorted(marks))) for variable, marks in seen.items()}
        if len(set(finer.values())) == len(set(colours.values())):
            return finer
        colours = finer


def _tied(colours: Colours) -> list[Variable]:
    """The variables of the first colour that several have."""
    by_colour: dict[int, list[Variable]] = {}
    for variable, colour in colours.items():
        by_colour.setdefault(colour, []).append(variable)
    return next((by_colour[colour] for colour in sorted(by_colour) if len(by_colour[colour]) > 1), [])


def _renamed(parts: Sequence[Part], colours: Mapping[Variable, int]) -> Hashable:
    order = {variable: number for number, variable in enumerate(sorted(colours, key=lambda name: colours[name]))}
    return frozenset(
        (part.sort, tuple([order[token] if isinstance(token, Variable) else (token,) for token in part.tokens]))
        for part in parts
    )


# --- sameness ---------------------------------------------------------------------------------------------------
# Subscriptions that ask the same: one pattern up to the names of its variables, with the same options.


def repeated(sound: Sequence[Sound]) -> Iterator[tuple[Sound, Sound]]:
    """Each but the first of those that ask the same, with an earlier one: of the same subscriber, if there is one."""
    for places in alike([each.query for each in sound]):
        earlier: dict[tuple[str | None, str | None], Sound] = {}
        firsts: dict[str | None, Sound] = {}
        for each in (sound[place] for place in places):
            first = earlier.get((each.options, each.subscriber)) or firsts.get(each.options)
            if first is not None:
                yield each, first
            earlier.setdefault((each.options, each.subscriber), each)
            firsts.setdefault(each.options, each)


def _repeat(each: Sound, first: Sound) -> Finding:
    selected = "" if select_the_same(each.query, first.query) else ", but for what they select"
    return Finding(each.id, SAME, f"asks the same as {first.id}{selected}; {owners(each, first)}", first.id)


def owners(each: Sound, other: Sound) -> str:
    """Whose the two are."""
    if each.subscriber == other.subscriber:
        return "neither names a subscriber" if each.subscriber is None else f"both are of {each.subscriber}"
    named = "one without a name" if other.subscriber is None else other.subscriber
    return f"that one is of another subscriber, {named}"


# --- covering ---------------------------------------------------------------------------------------------------
# Subscriptions that another one of the same subscriber covers: whatever matches them matches that one too.
#
# Each subscriber's patterns stand in a containment forest of their own, so that a pattern which any other contains is
# below a root. Subscriptions without a subscriber count as of one. Those whose options say when to notify, and those
# with `hg:` functions, are left out: of them more is reported than whether they match.


def covered(sound: Sequence[Sound], taxonomy: Taxonomy) -> Iterator[tuple[int, Finding]]:
    """Those that are covered, with the most general one that covers them."""
    by_subscriber: dict[str | None, list[Sound]] = {}
    for each in sound:
        if not each.options and not each.query.metrics:
            by_subscriber.setdefault(each.subscriber, []).append(each)
    for own in by_subscriber.values():
        if len(own) > 1:
            yield from _covered(own, taxonomy)


def _covered(own: Sequence[Sound], taxonomy: Taxonomy) -> Iterator[tuple[int, Finding]]:
    forest = Forest(taxonomy)
    forest.insert([(number, each.query) for number, each in enumerate(own)])
    for number, each in enumerate(own):
        node = forest.node_of(number)
        root = forest.root_of(node)
        first = forest.subscribers_of(root)[0]
        if first != number:
            how = "exactly what it matches" if root == node else "whatever it matches"
            whose = owners(each, own[first])
            message = f"covered: {own[first].id} matches {how}; {whose}; drop it unless separate notices are wanted"
            yield each.place, Finding(each.id, COVERED, message, own[first].id)


# --- the linter -------------------------------------------------------------------------------------------------
# The laws: "the same", "covered" and "can never match" are true of every publication; "expensive", "never seen" and
# "nothing in common" are what a shape, a sample and a taxonomy suggest, and are reported as such.

Placed = tuple[int, Finding]

_TWICE = "the id comes twice: the first subscription stands, this one is refused; choose another id"


def lint_subscriptions(
    items: Any = None,
    *,
    patterns: Any = None,
    constraints: Any = None,
    taxonomy: Any = None,
    sample: Any = None,
    prefixes: Mapping[str, str] | None = None,
) -> pa.Table:
    """The findings on subscriptions: subject_id, code, message, related_id.

    `items`, or `patterns` and `constraints`, are what `Filter.subscribe` takes; `sample` is what `publish` takes.
    What could not be read is among the findings.
    """
    known = {**PREFIXES, **(prefixes or {})}
    given = taxonomy if isinstance(taxonomy, Taxonomy) else Taxonomy.read([] if taxonomy is None else taxonomy, known)
    linter = Linter(given, known)
    refused = [*given.rejected, *linter.subscribe(items, patterns=patterns, constraints=constraints).rejected]
    if sample is not None:
        batch = encode(sample, linter.vocabulary, known)
        linter.learn(batch.publications)
        refused += batch.rejected
    return table_of([*linter.findings(), *(Finding(each.item or "", each.code, each.message) for each in refused)])


class Linter:
    """Takes subscriptions as an engine does, and a sample of what will be published; then reports."""

    def __init__(self, taxonomy: Taxonomy, prefixes: Mapping[str, str]) -> None:
        self.vocabulary = Vocabulary()
        self._taxonomy = taxonomy
        self._subjects = Subjects(prefixes)
        self._sample = DataSample(taxonomy)
        self._batches: list[Publications] = []

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        before = len(self._subjects.given)
        refused = self._subjects.take(items, patterns, constraints)
        return Receipt(len(self._subjects.given) - before, Rejections(refused))

    def learn(self, publications: Publications) -> None:
        """Adds publications to the sample."""
        self._sample.learn(publications)
        self._batches.append(publications)

    def findings(self) -> list[Finding]:
        """All findings, by subscription."""
        with collector_paused():
            found = self._found(self._subjects.sound())
        return [finding for _, finding in sorted(found, key=lambda placed: placed[0])]

    def _found(self, sound: list[Sound]) -> list[Placed]:
        never = {each.place: why for each in sound if (why := why_never(each.query)) is not None}
        possible = [each for each in sound if each.place not in never]
        repeats = list(repeated([each for each in sound if each.stands]))
        reported = {each.place for each, first in repeats if each.subscriber == first.subscriber}
        return [
            *self._unread(),
            *((each.place, _repeat(each, first)) for each, first in repeats),
            *((each.place, Finding(each.id, NEVER, never[each.place])) for each in sound if each.place in never),
            *covered([each for each in possible if each.stands and each.place not in reported], self._taxonomy),
            *self._apart(possible),
            *self._of_other_kinds(possible),
            *self._everything(possible),
            *self._expensive(possible),
            *self._unseen(sound),
            *((each.place, Finding(each.id, UNBOUND, why)) for each in sound for why in never_bound(each.query)),
        ]

    def _unread(self) -> Iterator[Placed]:
        """What an engine refuses, by its own"""
        standing = self._subjects.standing()
        for place, (id, _, query, _, refusal) in enumerate(self._subjects.given):
            if isinstance(query, HeliographError):
                yield place, Finding(id, query.code, query.describe())
            elif refusal is not None:
                yield place, Finding(id, refusal.code, f"watch would refuse it: {refusal.describe()}")
            elif place not in standing:
                yield place, Finding(id, TWICE, _TWICE, id)

    def _apart(self, sound: list[Sound]) -> Iterator[Placed]:
        kinds = Kinds(self._taxonomy, self._sample)
        for each in sound:
            yield from ((each.place, Finding(each.id, APART, why)) for why in kinds.apart(each.query))

    def _of_other_kinds(self, sound: list[Sound]) -> Iterator[Placed]:
        for each in sound if self._sample.size else ():
            yield from (
                (each.place, Finding(each.id, APART_KINDS, why)) for why in kinds_apart(each.query, self._sample)
            )

    def _everything(self, sound: list[Sound]) -> Iterator[Placed]:
        for each in sound:
            if (why := why_always(each.query, self._taxonomy)) is not None:
                yield each.place, Finding(each.id, EVERYTHING, why)

    def _expensive(self, sound: list[Sound]) -> Iterator[Placed]:
        foretold = {each.place: [*expenses(each.query, self._taxonomy)] for each in sound}
        for each in sound:
            yield from ((each.place, Finding(each.id, PREDICTED, why)) for why in foretold[each.place])
        if self._sample.size:
            yield from self._measured(sound, [each for each in sound if foretold[each.place]])

    def _measured(self, sound: list[Sound], foretold: list[Sound]) -> Iterator[Placed]:
        queries = {each.place: each for each in sound if not each.query.metrics}
        asked = queries
        if not is_small(len(queries), self._sample):
            trial = Trial([(each.place, each.query) for each in queries.values()], self.vocabulary, self._taxonomy)
            for publications in self._batches:
                trial.publish(publications)
            everywhere = trial.everywhere(self._sample.size)
            costs = list(trial.costs(self._sample.size))
            yield from ((place, Finding(queries[place].id, MEASURED, said)) for place, said in costs)
            places = [*(place for place, _ in costs), *(each.place for each in foretold if each.place in queries)]
            asked = {place: queries[place] for place in places[:SUSPECTS]}
        else:
            everywhere = matches_all([(place, each.query) for place, each in queries.items()], self._sample)
        for place, said in everywhere:
            if why_always(queries[place].query, self._taxonomy) is None:  # else that was said
                yield place, Finding(queries[place].id, EVERYTHING, said)
        for place, said in many_ways([(place, each.query) for place, each in asked.items()], self._sample):
            yield place, Finding(queries[place].id, MEASURED, said)

    def _unseen(self, sound: list[Sound]) -> Iterator[Placed]:
        names = NameCheck(self._taxonomy, self._sample)
        for each in sound:
            for code, message, nearest in names.unseen(each.query):
                yield each.place, Finding(each.id, code, message, nearest)
