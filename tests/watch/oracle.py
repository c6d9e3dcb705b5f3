"""Incremental ≡ from scratch: after every update pyoxigraph answers each query over the graph as it is then.

What it answers is made into the notifications that the contract asks for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from heliograph import Watch
from heliograph.terms import Term, blank, iri, literal, parse_cell, sort_key, spell
from tests.watch.naive import NaiveGraph, Step
from tests.watch.streams import row

PREFIX = """PREFIX : <urn:heliograph:>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""
Action = tuple[Any, ...]  # ("subscribe", id, query, mode), ("unsubscribe", id) or ("publish", step)
Standing = dict[tuple[Any, ...], dict[str, Any] | None]  # what holds, by its sorting key, with its evidence


def to_oxigraph(cell: str) -> Any:
    term = parse_cell(cell)
    if term.language:
        return ox.Literal(term.value, language=term.language)
    if term.is_literal:
        return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype))
    return ox.NamedNode(term.value)


def from_oxigraph(term: Any) -> Term:
    if isinstance(term, ox.NamedNode):
        return iri(term.value)
    if isinstance(term, ox.BlankNode):
        return blank(term.value)
    return literal(term.value, term.datatype.value, term.language or "")


def store_of(triples: Iterable[tuple[str, str, str]]) -> ox.Store:
    store = ox.Store()
    for triple in triples:
        store.add(ox.Quad(*map(to_oxigraph, triple)))
    return store


@dataclass
class Asked:
    """A subscription as the oracle sees it."""

    id: str
    query: str
    number: int
    mode: str
    standing: Standing = field(default_factory=dict)

    def answer(self, store: ox.Store) -> tuple[Standing, dict[tuple[Any, ...], Any]]:
        """What holds now, and the counts behind it."""
        found = store.query(PREFIX + self.query)
        if isinstance(found, ox.QueryBoolean):
            return ({(): None} if found else {}), {}
        assert isinstance(found, ox.QuerySolutions)
        rows = [{v.value: from_oxigraph(s[v]) for v in found.variables if s[v] is not None} for s in found]
        if "COUNT" in self.query:
            return self._counts(rows), self._all_counts(store)
        if self.mode == "change":
            return ({(): None} if rows else {}), {}
        order = self._order(found)
        return {
            tuple(sort_key(each[name]) for name in order): {"bindings": {name: spell(each[name]) for name in order}}
            for each in rows
        }, {}

    def _order(self, found: Any) -> list[str]:
        """The variables in order of first appearance."""
        names = [v.value for v in found.variables]
        return sorted(names, key=lambda name: self.query.index(f"?{name}", self.query.index("{")))

    def _counts(self, rows: list[dict[str, Term]]) -> Standing:
        return {_group(each): _counted(each) for each in rows}

    def _all_counts(self, store: ox.Store) -> dict[tuple[Any, ...], Any]:
        found = store.query(PREFIX + self.query.split(" HAVING")[0])
        assert isinstance(found, ox.QuerySolutions)
        rows = [{v.value: from_oxigraph(s[v]) for v in found.variables if s[v] is not None} for s in found]
        return {_group(each): int(each["n"].value) for each in rows}


def _group(each: dict[str, Term]) -> tuple[Any, ...]:
    return (sort_key(each["x"]),) if "x" in each else ()


def _counted(each: dict[str, Term]) -> dict[str, Any]:
    shown: dict[str, Any] = {"bindings": {"x": spell(each["x"])}} if "x" in each else {}
    return {**shown, "value": int(each["n"].value)}


@dataclass
class Oracle:
    """An evolving graph, and what every subscription is to be told of it; triples `beside` it are always there."""

    graph: NaiveGraph
    beside: tuple[tuple[str, str, str], ...] = ()
    asked: dict[str, Asked] = field(default_factory=dict)

    def _store(self) -> ox.Store:
        return store_of((*self.graph.edges, *self.beside))

    def settle(self, asked: Asked) -> None:
        asked.standing, _ = asked.answer(self._store())
        self.asked[asked.id] = asked

    def publish(self, step: Step, seq: int) -> list[tuple[str, str, str, Any]]:
        """The notifications of an update: (seq, change, subscription, evidence), in the contract's order."""
        self.graph.expire(step)
        expired = self._differences(seq)
        self.graph.apply(step)
        applied = self._differences(seq)
        passing = {line[1:3] for line in expired if line[0]} & {line[1:3] for line in applied if not line[0]}
        lines = [line for line in expired if not (line[0] and line[1:3] in passing)]
        lines += [line for line in applied if line[0] or line[1:3] not in passing]
        return [line[-1] for line in sorted(lines, key=lambda line: line[:3])]

    def _differences(self, seq: int) -> list[tuple[Any, ...]]:
        """(gained?, number, key, line) for all that the graph's change made true or false."""
        store = self._store()
        lines: list[tuple[Any, ...]] = []
        for asked in self.asked.values():
            after, counts = asked.answer(store)
            for key in asked.standing.keys() - after.keys():
                shown = asked.standing[key]
                shown = {**shown, "value": counts.get(key, 0)} if shown and "value" in shown else shown
                lines.append((0, asked.number, key, (str(seq), "-", asked.id, shown)))
            gained = after.keys() - asked.standing.keys()
            lines += [(1, asked.number, key, (str(seq), "+", asked.id, after[key])) for key in gained]
            asked.standing = after
        return lines


def seen(notifications: Any) -> list[tuple[str, str, str, Any]]:
    return [
        (n.publication_id, n.change, n.subscription_id, None if n.evidence is None else json.loads(n.evidence))
        for n in notifications
    ]


def check_stream(
    actions: Iterable[Action], watch: Watch, graph: NaiveGraph, beside: tuple[tuple[str, str, str], ...] = ()
) -> None:
    """Asserts that an engine tells of a stream what the oracle does, update by update."""
    oracle, seq = Oracle(graph, beside), 0
    for number, action in enumerate(actions):
        if action[0] == "subscribe" and action[1] not in oracle.asked:
            _, id, query, mode = action
            watch.subscribe([{"subscription_id": id, "query": query, "options": json.dumps({"mode": mode})}])
            oracle.settle(Asked(id, query, number, mode))
        elif action[0] == "unsubscribe" and action[1] in oracle.asked:
            assert watch.unsubscribe(action[1]).accepted == 1
            del oracle.asked[action[1]]
        elif action[0] == "publish":
            seq += 1
            published = watch.publish(row(action[1]))
            assert not published.rejected
            assert seen(published) == oracle.publish(action[1], seq), action[1]
