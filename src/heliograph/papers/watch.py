"""The watch algorithms of [Z]: BF and INV, over triples and over numbers, and shared tries in the manner of TriC."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from heliograph.errors import SubscriptionError
from heliograph.sparql.query import Query, TriplePattern
from heliograph.sparql.solve import Graph, QueryPlan, world
from heliograph.terms import RDFS_MEMBER, Variable

# --- common -----------------------------------------------------------------------------------------------------
# What the algorithms of the evolving-graph paper have in common: what they are asked, and how they answer.
#
# A vertex or property is a `Term` or anything else that can be hashed, except None; variables are `Variable`. A match
# is a distinct solution over all variables of the pattern, in their order of first appearance; a query without
# variables has one, the empty one, while all its edges are there. The law: what an update gains and loses is the
# difference between the matches after it and before it.

Vertex = Any
Edge = tuple[Vertex, Vertex, Vertex]  # subject, property, object; in a pattern each may be a variable
Values = tuple[Vertex, ...]

ADD, REMOVE = "+", "-"


class PaperMatch(NamedTuple):
    id: str
    values: Values  # of the query's variables


class PaperChanges(NamedTuple):
    """What an update changed: matches, and the queries that became true or false by it."""

    gained: list[PaperMatch]
    lost: list[PaperMatch]
    rose: list[str]
    fell: list[str]


class Algorithm(Protocol):
    def subscribe(self, id: str, query: Query) -> None: ...

    def unsubscribe(self, id: str) -> None: ...

    def update(self, op: str, triple: Edge) -> PaperChanges: ...

    def matches(self, id: str) -> set[Values]:
        """The matches of a query as the graph stands."""
        ...


def nothing() -> PaperChanges:
    return PaperChanges([], [], [], [])


def pattern(edges: Iterable[Edge]) -> Query:
    """A query for edges between whatever vertices."""
    return Query(patterns=tuple(TriplePattern(*edge) for edge in edges))


def edges_of(query: Query) -> tuple[Edge, ...]:
    """The distinct edges of a query that asks for edges and nothing else."""
    plain = [each for each in query.patterns if isinstance(each, TriplePattern) and each.predicate != RDFS_MEMBER]
    if len(plain) < len(query.patterns) or query.filters or query.values or query.counted:
        raise _refused("asks for more than edges", "leave out is-a forms, rdfs:member, FILTER, VALUES and counts")
    return tuple(dict.fromkeys((subject, predicate, object) for subject, predicate, object in plain))


def concrete_edges(query: Query) -> tuple[Edge, ...]:
    """The distinct edges of a query that has no variables either."""
    if query.variables:
        raise _refused(f"has the variable {query.variables[0]}", "ask for concrete edges, or take another algorithm")
    return edges_of(query)


def is_variable(node: Vertex) -> bool:
    return isinstance(node, Variable)


def _refused(message: str, fix: str) -> SubscriptionError:
    return SubscriptionError("HG-530", f"the query {message}, which this algorithm cannot answer", fix=fix)


# --- BF ---------------------------------------------------------------------------------------------------------
# BF, the first algorithm of [Z] section 3.1: no query index, every query tried on every update.
#
# The query database is a list. A query of concrete edges is true while they are all in the graph; one with variables
# is solved from scratch. Mended (the paper has neither): variables, and the deletions that follow from asking again.

_ALWAYS: frozenset[Values] = frozenset({()})
_NEVER: frozenset[Values] = frozenset()


@dataclass(slots=True)
class _Asked:
    """A query, with what it matched when it was last tried."""

    id: str
    plan: QueryPlan
    edges: frozenset[Edge] | None  # all of it, if it has no variables
    standing: frozenset[Values] = field(default=_NEVER)


class BruteForce:
    """Answers every query again at each update. `tried` counts how often."""

    def __init__(self) -> None:
        self.tried = 0
        self._graph = Graph()
        self._present: set[Edge] = set()
        self._queries: list[_Asked] = []

    def subscribe(self, id: str, query: Query) -> None:
        asked = _Asked(id, QueryPlan.of(query), None if query.variables else frozenset(concrete_edges(query)))
        asked.standing = self._answer(asked)
        self._queries.append(asked)

    def unsubscribe(self, id: str) -> None:
        self._queries = [asked for asked in self._queries if asked.id != id]

    def update(self, op: str, triple: Edge) -> PaperChanges:
        """Applies an update, whether or not it changes anything, and scans the query database."""
        if op == ADD:
            self._graph.add(triple)
            self._present.add(triple)
        else:
            self._graph.remove(triple)
            self._present.discard(triple)
        changes = nothing()
        for asked in self._queries:
            after = self._answer(asked)
            if after != asked.standing:
                changes.gained.extend(PaperMatch(asked.id, values) for values in after - asked.standing)
                changes.lost.extend(PaperMatch(asked.id, values) for values in asked.standing - after)
                if not asked.standing:
                    changes.rose.append(asked.id)
                elif not after:
                    changes.fell.append(asked.id)
                asked.standing = after
        self.tried += len(self._queries)
        return changes

    def matches(self, id: str) -> set[Values]:
        return set().union(*(asked.standing for asked in self._queries if asked.id == id))

    def _answer(self, asked: _Asked) -> frozenset[Values]:
        if asked.edges is not None:
            return _ALWAYS if asked.edges <= self._present else _NEVER
        order = asked.plan.query.variables
        found = asked.plan.solutions(world(self._graph))
        return frozenset(tuple(solution[name] for name in order) for solution in found)


# --- INV --------------------------------------------------------------------------------------------------------
# INV, the second algorithm of [Z] section 3.1: queries found by the edges they are made of.
#
# A query of k edges is stored in k buckets of an inverted index; table T holds how many edges a query has and how
# many of them are matched; an update looks its edge up, counts, and the touched rows of T tell which queries match
# now.
#
# `PrintedInv` is that as printed, over vertex pairs, for additions only. `Inv` has the mends that SEED_NOTES ask for:
# an edge that arrives twice is counted once, deletions count back, the key is the whole triple instead of the pair of
# vertices, and a query can be added to a graph that is not empty, and taken away.

Pair = tuple[Vertex, Vertex]


@dataclass(slots=True)
class Row:
    """A row of table T."""

    pairs: int
    matched: int


class PrintedInv:
    """As printed. Its fault: `publish` counts an edge each time it arrives."""

    def __init__(self) -> None:
        self.index: defaultdict[Pair, list[str]] = defaultdict(list)
        self.table: dict[str, Row] = {}

    def subscribe(self, id: str, pairs: Iterable[Pair]) -> None:
        distinct = list(dict.fromkeys(pairs))
        self.table[id] = Row(len(distinct), 0)
        for pair in distinct:
            self.index[pair].append(id)

    def publish(self, pair: Pair) -> list[str]:
        """Adds an edge; the queries that match by it."""
        touched = self.index.get(pair, [])
        for id in touched:
            self.table[id].matched += 1
        return [id for id in touched if self.table[id].matched == self.table[id].pairs]


class Inv:
    """As mended. `touched` counts the rows of T that updates changed."""

    def __init__(self) -> None:
        self.touched = 0
        self._graph: set[Edge] = set()
        self._index: dict[Edge, dict[str, None]] = {}  # mend: triples, and buckets from which an id can be taken
        self._table: dict[str, Row] = {}
        self._edges: dict[str, tuple[Edge, ...]] = {}

    def subscribe(self, id: str, query: Query) -> None:
        edges = concrete_edges(query)
        for edge in edges:
            self._index.setdefault(edge, {})[id] = None
        self._edges[id] = edges
        self._table[id] = Row(len(edges), len(self._graph.intersection(edges)))  # mend: the graph may not be empty

    def unsubscribe(self, id: str) -> None:
        for edge in self._edges.pop(id, ()):
            del self._index[edge][id]
            if not self._index[edge]:
                del self._index[edge]
        self._table.pop(id, None)

    def update(self, op: str, triple: Edge) -> PaperChanges:
        changes = nothing()
        if (triple in self._graph) == (op == ADD):
            return changes  # mend: what changes nothing is not counted
        touched = self._index.get(triple, {})
        self.touched += len(touched)
        if op == ADD:
            self._graph.add(triple)
            for id in touched:
                row = self._table[id]
                row.matched += 1
                if row.matched == row.pairs:
                    changes.gained.append(PaperMatch(id, ()))
                    changes.rose.append(id)
        else:
            self._graph.remove(triple)
            for id in touched:
                row = self._table[id]
                if row.matched == row.pairs:
                    changes.lost.append(PaperMatch(id, ()))
                    changes.fell.append(id)
                row.matched -= 1
        return changes

    def matches(self, id: str) -> set[Values]:
        row = self._table.get(id)
        return {()} if row is not None and row.matched == row.pairs else set()


# --- BF and INV over numbers ------------------------------------------------------------------------------------
# BF and INV over numbers: the yardsticks of the speed table, as quick as plain Python makes them.
#
# A vertex is a number below 2^31 and an edge one integer, `subject << 32 | object`, which spares a tuple for each
# update. There is one property, as in the paper. The graph is a set of such integers, so duplicates and deletions are
# seen; a query is a number, its row of table T the count of its edges that are missing. Updates are taken one by one,
# in order; a batch is only a way to hand them over. Measured, filling the graph's set in bulk is no quicker.

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Found = list[tuple[int, int]]  # (row of the batch, query)


def packed(subject: npt.ArrayLike, object: npt.ArrayLike) -> list[int]:
    """Edges as integers."""
    codes: list[int] = (np.asarray(subject, np.int64) << 32 | np.asarray(object, np.int64)).tolist()
    return codes


class PackedInv:
    """INV with every mend; the second of its loops is for batches without deletions."""

    def __init__(self) -> None:
        self._graph: set[int] = set()
        self._index: dict[int, list[int]] = {}
        self._missing: list[int] = []
        self._edges: list[list[int]] = []

    def subscribe(self, queries: Iterable[Sequence[int]]) -> None:
        """Queries of packed edges; they are numbered as they come, from 0."""
        for edges in queries:
            distinct = list(dict.fromkeys(edges))
            for code in distinct:
                self._index.setdefault(code, []).append(len(self._edges))
            self._missing.append(sum(code not in self._graph for code in distinct))
            self._edges.append(distinct)

    def unsubscribe(self, query: int) -> None:
        for code in self._edges[query]:
            self._index[code].remove(query)
            if not self._index[code]:
                del self._index[code]
        self._edges[query] = []

    def publish(self, subject: Ints, object: Ints, added: Flags) -> tuple[Found, Found]:
        """The queries that a batch of updates makes true and false, each with the row of the update."""
        codes = packed(subject, object)
        return (self._add(codes), []) if added.all() else self._change(codes, added.tolist())

    def _add(self, codes: list[int]) -> Found:
        graph, missing, waiting = self._graph, self._missing, self._index.get
        put, gained = graph.add, []
        for row, code in enumerate(codes):
            queries = waiting(code)
            if queries is not None and code not in graph:
                for query in queries:
                    left = missing[query] = missing[query] - 1
                    if not left:
                        gained.append((row, query))
            put(code)
        return gained

    def _change(self, codes: list[int], added: list[bool]) -> tuple[Found, Found]:
        graph, missing, waiting = self._graph, self._missing, self._index.get
        put, take, gained, lost = graph.add, graph.discard, [], []
        for row, (code, adding) in enumerate(zip(codes, added, strict=True)):
            queries = waiting(code)
            if adding:
                if queries is not None and code not in graph:
                    for query in queries:
                        left = missing[query] = missing[query] - 1
                        if not left:
                            gained.append((row, query))
                put(code)
            else:
                if queries is not None and code in graph:
                    for query in queries:
                        if not missing[query]:
                            lost.append((row, query))
                        missing[query] += 1
                take(code)
        return gained, lost


class PackedBruteForce:
    """BF: a scan of all queries at every update, each of them a comparison of two sets."""

    def __init__(self) -> None:
        self._graph: set[int] = set()
        self._queries: list[frozenset[int]] = []
        self._true: list[bool] = []

    def subscribe(self, queries: Iterable[Sequence[int]]) -> None:
        self._queries += map(frozenset, queries)
        self._true = [query <= self._graph for query in self._queries]

    def publish(self, subject: Ints, object: Ints, added: Flags) -> tuple[Found, Found]:
        gained: Found = []
        lost: Found = []
        for row, (code, adding) in enumerate(zip(packed(subject, object), added.tolist(), strict=True)):
            (self._graph.add if adding else self._graph.discard)(code)
            graph = self._graph
            now = [query <= graph for query in self._queries]
            if now != self._true:
                changed = [query for query, (old, new) in enumerate(zip(self._true, now, strict=True)) if old != new]
                (gained if adding else lost).extend((row, query) for query in changed)
                self._true = now
        return gained, lost


# --- covering paths ---------------------------------------------------------------------------------------------
# Covering paths: a query's edges as directed walks, each edge in one of them.
#
# A walk is kept in two forms. Generic, with None for every variable, it is what queries share; and as the places of
# its variables among the values of a walk through the graph: `subject, property, object, property, object, …`. The
# law: the solutions of a query are the combinations of walks through the graph, one for each of its paths, that agree
# on every variable, because every edge lies on a path.


class Path(NamedTuple):
    """One walk of a query."""

    forms: tuple[Edge, ...]  # generic: None for a variable
    places: dict[Variable, int]  # where each of its variables stands first
    equal: tuple[tuple[int, int], ...]  # places that must have one value, because one variable stands in both

    def agrees(self, values: Values) -> bool:
        """Whether a walk gives every variable one value."""
        return all(values[one] == values[other] for one, other in self.equal)


def covering_paths(edges: Iterable[Edge]) -> list[Path]:
    """Paths that cover every edge once; they begin where nothing leads to, as long as there is such a vertex."""
    left = list(dict.fromkeys(edges))
    paths = []
    while left:
        entered = {object for _, _, object in left}
        walk = [next((edge for edge in left if edge[0] not in entered), left[0])]
        left.remove(walk[0])
        while (following := next((edge for edge in left if edge[0] == walk[-1][2]), None)) is not None:
            walk.append(following)
            left.remove(following)
        paths.append(_path(walk))
    return paths


def generic(edge: Edge) -> Edge:
    subject, predicate, object = (None if is_variable(part) else part for part in edge)
    return subject, predicate, object


def _path(walk: list[Edge]) -> Path:
    nodes: list[Vertex] = [walk[0][0], *(part for edge in walk for part in edge[1:])]
    places: dict[Variable, int] = {}
    equal = []
    for place, node in enumerate(nodes):
        if is_variable(node) and places.setdefault(node, place) != place:
            equal.append((places[node], place))
    return Path(tuple(map(generic, walk)), places, tuple(equal))


# --- tries ------------------------------------------------------------------------------------------------------
# Tries of generic edges, and at each of their nodes the walks through the graph that fit the path from the root.
#
# A walk is a tuple `subject, property, object, property, object, …`. The law: a node's view holds exactly the walks
# that fit its path, so the walks an edge takes part in are those that reach it from the view above, extended
# downwards; they are the same whether the edge is about to go or has just come.

Places = tuple[int, ...]
Walks = dict[Values, None]  # a set that keeps its order

_NONE: Walks = {}
_MASKS = tuple(product((True, False), repeat=3))


class View:
    """Walks that can be asked by the values at any of their places; an index is built when it is first needed."""

    def __init__(self) -> None:
        self.walks: Walks = {}
        self._indexes: dict[Places, dict[Values, Walks]] = {}

    def add(self, walks: Iterable[Values]) -> None:
        for walk in walks:
            self.walks[walk] = None
            for places, index in self._indexes.items():
                index.setdefault(tuple(walk[place] for place in places), {})[walk] = None

    def discard(self, walks: Iterable[Values]) -> None:
        for walk in walks:
            del self.walks[walk]
            for places, index in self._indexes.items():
                key = tuple(walk[place] for place in places)
                del index[key][walk]
                if not index[key]:
                    del index[key]

    def at(self, places: Places, values: Values) -> Collection[Values]:
        """The walks with these values at these places."""
        if not places:
            return self.walks
        index = self._indexes.get(places)
        if index is None:
            index = self._indexes[places] = {}
            for walk in self.walks:
                index.setdefault(tuple(walk[place] for place in places), {})[walk] = None
        return index.get(values, _NONE)


@dataclass(eq=False, slots=True)
class TrieNode:
    """A generic edge below the generic edges that lead to it."""

    form: Edge
    parent: TrieNode | None
    children: dict[Edge, TrieNode] = field(default_factory=dict)
    view: View = field(default_factory=View)
    users: dict[tuple[str, int], None] = field(default_factory=dict)  # queries and which of their paths ends here
    end: Places = field(init=False)  # the place at which walks end

    def __post_init__(self) -> None:
        self.end = (2,) if self.parent is None else (self.parent.end[0] + 2,)

    def reaching(self, edge: Edge) -> Iterator[Values]:
        """The walks that fit the node and end with an edge, which fits its form."""
        if self.parent is None:
            yield edge
        else:
            for walk in self.parent.view.at(self.parent.end, edge[:1]):
                yield (*walk, *edge[1:])

    def extended(self, walks: Iterable[Values], graph: Graph) -> Iterator[Values]:
        """Walks of the parent, each followed by every edge that fits."""
        _, predicate, object = self.form
        for walk in walks:
            for edge in graph.match(walk[-1], predicate, object):
                yield (*walk, *edge[1:])


class TrieForest:
    """The tries of all paths, over one graph."""

    def __init__(self) -> None:
        self.graph = Graph()
        self._roots: dict[Edge, TrieNode] = {}
        self._by_form: dict[Edge, dict[TrieNode, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_form.values()))

    def use(self, forms: Iterable[Edge], user: tuple[str, int]) -> TrieNode:
        """The node at the end of a path, made and filled if nobody used it before."""
        node: TrieNode | None = None
        for form in forms:
            level = self._roots if node is None else node.children
            node = level.get(form) or self._grow(level, form, node)
        assert node is not None
        node.users[user] = None
        return node

    def _grow(self, level: dict[Edge, TrieNode], form: Edge, parent: TrieNode | None) -> TrieNode:
        node = level[form] = TrieNode(form, parent)
        self._by_form.setdefault(form, {})[node] = None
        if parent is None:
            node.view.add(tuple(self.graph.match(*form)))
        else:
            node.view.add(node.extended(parent.view.walks, self.graph))
        return node

    def leave(self, node: TrieNode, user: tuple[str, int]) -> None:
        """Forgets a user, and the nodes that nobody needs any more."""
        del node.users[user]
        last: TrieNode | None = node
        while last is not None and not last.users and not last.children:
            level = self._roots if last.parent is None else last.parent.children
            del level[last.form], self._by_form[last.form][last]
            if not self._by_form[last.form]:
                del self._by_form[last.form]
            last = last.parent

    def touched(self, edge: Edge) -> dict[TrieNode, Walks]:
        """The walks that an edge of the graph takes part in, by their node; read only.

        A walk that passes the edge twice is found twice, and counted once.
        """
        found: dict[TrieNode, Walks] = {}
        for mask in _MASKS:
            subject, predicate, object = (part if kept else None for part, kept in zip(edge, mask, strict=True))
            for node in self._by_form.get((subject, predicate, object), ()):
                self._spread(node, dict.fromkeys(node.reaching(edge)), found)
        return found

    def _spread(self, node: TrieNode, walks: Walks, found: dict[TrieNode, Walks]) -> None:
        """Notes walks of a node, and what they grow to below it."""
        waiting = [(node, walks)]
        while waiting:
            node, walks = waiting.pop()
            if walks:
                found.setdefault(node, {}).update(walks)
                waiting += [(each, dict.fromkeys(each.extended(walks, self.graph))) for each in node.children.values()]


# --- TriC -------------------------------------------------------------------------------------------------------
# Shared tries with materialised views, in the manner of TriC (Zervakis et al., EDBT 2020): the stronger opponent.
#
# Every query is covered by paths; equal beginnings of the paths of all queries are one way down a trie, whose nodes
# hold the walks through the graph that fit them. An update changes the views of the nodes its edge fits, and of those
# below; where a changed view is one of a query's paths, the change is joined with the views of its other paths.
#
# The law: a solution is one walk for each path, and determined by them. So it is gained by an addition (lost by a
# deletion) exactly if one of its walks takes part in the edge, and all of them exist in the graph with that edge:
# therefore an addition changes the views before it joins, and a deletion joins before it changes the views.
#
# Not in TriC: deletions of this exactness, variable properties, variables that stand twice on a path, unsubscribing.

Solution = dict[Variable, Vertex]


class _Part(NamedTuple):
    """A path of a query, and the node its walks are at."""

    path: Path
    node: TrieNode

    def walks(self, known: Solution) -> Collection[Values]:
        """The walks that agree with what is known."""
        shared = [(place, known[name]) for name, place in self.path.places.items() if name in known]
        return self.node.view.at(tuple(place for place, _ in shared), tuple(value for _, value in shared))

    def extended(self, known: Solution, walks: Iterable[Values]) -> Iterator[Solution]:
        """What is known, with the variables of each of these walks, unless one would have two values."""
        for walk in walks:
            if self.path.agrees(walk):
                yield {**known, **{name: walk[place] for name, place in self.path.places.items()}}


@dataclass(slots=True)
class _TrieQuery:
    id: str
    variables: tuple[Variable, ...]
    parts: tuple[_Part, ...]
    count: int = 0

    def solutions(self, start: int, walks: Iterable[Values]) -> set[Values]:
        """The solutions in which one path has one of some walks."""
        if not all(part.node.view.walks for part in self.parts):
            return set()
        others = self.parts[:start] + self.parts[start + 1 :]
        return {values for known in self.parts[start].extended({}, walks) for values in self._joined(known, others)}

    def all_solutions(self) -> set[Values]:
        return set(self._joined({}, self.parts))

    def _joined(self, known: Solution, left: tuple[_Part, ...]) -> Iterator[Values]:
        """Next comes the path with the fewest walks that agree: a star's edges are not multiplied out in vain."""
        if not left:
            yield tuple(known[name] for name in self.variables)
            return
        ways = [part.walks(known) for part in left]
        best = min(range(len(left)), key=lambda place: len(ways[place]))
        for extended in left[best].extended(known, ways[best]):
            yield from self._joined(extended, left[:best] + left[best + 1 :])


class Trie:
    """Distinct solutions gained and lost, and truth, for any number of queries of edges. `joined` counts the (query,
    update) pairs for which a join was begun."""

    def __init__(self) -> None:
        self.joined = 0
        self._forest = TrieForest()
        self._queries: dict[str, _TrieQuery] = {}

    @property
    def nodes(self) -> int:
        """How many nodes the tries have."""
        return len(self._forest)

    def subscribe(self, id: str, query: Query) -> None:
        paths = covering_paths(edges_of(query))
        parts = [_Part(path, self._forest.use(path.forms, (id, number))) for number, path in enumerate(paths)]
        asked = self._queries[id] = _TrieQuery(id, query.variables, tuple(parts))
        asked.count = len(asked.all_solutions())

    def unsubscribe(self, id: str) -> None:
        asked = self._queries.pop(id)
        for number, part in enumerate(asked.parts):
            self._forest.leave(part.node, (id, number))

    def update(self, op: str, triple: Edge) -> PaperChanges:
        graph = self._forest.graph
        if (triple in graph) == (op == ADD):
            return nothing()
        return self._add(triple) if op == ADD else self._remove(triple)

    def matches(self, id: str) -> set[Values]:
        asked = self._queries.get(id)
        return asked.all_solutions() if asked is not None else set()

    def _add(self, triple: Edge) -> PaperChanges:
        self._forest.graph.add(triple)
        touched = self._forest.touched(triple)
        for node, walks in touched.items():
            node.view.add(walks)
        changes = nothing()
        for asked, found in self._concerned(touched):
            if not asked.count:
                changes.rose.append(asked.id)
            asked.count += len(found)
            changes.gained.extend(PaperMatch(asked.id, values) for values in found)
        return changes

    def _remove(self, triple: Edge) -> PaperChanges:
        touched = self._forest.touched(triple)
        changes = nothing()
        for asked, found in self._concerned(touched):
            asked.count -= len(found)
            if not asked.count:
                changes.fell.append(asked.id)
            changes.lost.extend(PaperMatch(asked.id, values) for values in found)
        for node, walks in touched.items():
            node.view.discard(walks)
        self._forest.graph.remove(triple)
        return changes

    def _concerned(self, touched: dict[TrieNode, Walks]) -> list[tuple[_TrieQuery, set[Values]]]:
        """The queries with solutions that have one of the walks, and these solutions."""
        found: dict[str, set[Values]] = {}
        for node, walks in touched.items():
            for id, number in node.users:
                found.setdefault(id, set()).update(self._queries[id].solutions(number, walks))
        self.joined += len(found)
        return [(self._queries[id], solutions) for id, solutions in found.items() if solutions]
