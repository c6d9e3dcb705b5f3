"""Incremental ≡ from scratch: after every update pyoxigraph answers each query over the graph as it is then.

What it answers is made into the notifications that the contract asks for.
"""

from __future__ import annotations

import json
import math
import operator
import re
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
Action = tuple[Any, ...]  # ("subscribe", id, query, mode or options), ("unsubscribe", id) or ("publish", step)
Key = tuple[Any, ...]  # what orders matches
Standing = dict[Key, dict[str, Any] | None]  # what holds, with its evidence
COMPARE = {">=": operator.ge, ">": operator.gt, "<": operator.lt, "<=": operator.le}


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


def rows_of(found: Any) -> list[dict[str, Term]]:
    assert isinstance(found, ox.QuerySolutions)
    return [{v.value: from_oxigraph(s[v]) for v in found.variables if s[v] is not None} for s in found]


@dataclass
class Asked:
    """A subscription as the oracle sees it."""

    id: str
    query: str
    number: int
    options: dict[str, Any]
    standing: Standing = field(default_factory=dict)
    count: int = 0  # of matches, of a member of a top-k set

    def answer(self, store: ox.Store) -> tuple[Standing, dict[Key, int]]:
        """What holds now, and the counts behind it."""
        found = store.query(PREFIX + self.query)
        if isinstance(found, ox.QueryBoolean):
            return ({(): None} if found else {}), {}
        variables, rows = [variable.value for variable in found.variables], rows_of(found)  # type: ignore[union-attr]
        if "COUNT" in self.query:
            return self._counted(rows, store)
        if self.options.get("mode") == "change":
            return ({(): None} if rows else {}), {}
        order = sorted(variables, key=lambda name: self.query.index(f"?{name}", self.query.index("{")))
        return {
            tuple(sort_key(each[name]) if name in each else (-1,) for name in order): {
                "bindings": {name: spell(each[name]) for name in order if name in each}
            }
            for each in rows
        }, {}

    def _counted(self, rows: list[dict[str, Term]], store: ox.Store) -> tuple[Standing, dict[Key, int]]:
        """The groups whose count satisfies the condition, or held it and lie within the hysteresis."""
        text, _, condition = self.query.partition(" HAVING")
        counts = {_group(each): int(each["n"].value) for each in rows_of(store.query(PREFIX + text))}
        standing: Standing = {_group(each): _evidence(each) for each in rows}
        if slack := self.options.get("hysteresis"):
            compared, limit = re.findall(r"COUNT\(\*\) ([<>=]+) (\d+)", condition)[0]
            slack = slack if ">" in compared else -slack
            kept = [key for key in self.standing if COMPARE[compared](counts.get(key, -math.inf) + slack, int(limit))]
            standing = {key: self.standing[key] for key in kept if key in counts} | standing
        return standing, counts


def _group(each: dict[str, Term]) -> Key:
    return (sort_key(each["x"]),) if "x" in each else ()


def _evidence(each: dict[str, Term]) -> dict[str, Any]:
    shown: dict[str, Any] = {"bindings": {"x": spell(each["x"]), "n": each["n"].value}} if "x" in each else {}
    return {**shown, "value": int(each["n"].value)}


@dataclass
class Oracle:
    """An evolving graph, and what every subscription is to be told of it; triples `beside` it are always there."""

    graph: NaiveGraph
    beside: tuple[tuple[str, str, str], ...] = ()
    asked: dict[str, Asked] = field(default_factory=dict)
    dirty: bool = False  # whether the set of those with the most matches gained or lost a member

    def _store(self) -> ox.Store:
        return store_of((*self.graph.edges, *self.beside))

    def subscribe(self, asked: Asked) -> None:
        asked.standing, _ = asked.answer(self._store())
        self.asked[asked.id] = asked
        if "top_k_of" in asked.options:
            asked.count, self.dirty = len(asked.standing), True
            asked.standing = {(): None} if self._is_top(asked) else {}

    def unsubscribe(self, id: str) -> None:
        self.dirty |= "top_k_of" in self.asked.pop(id).options

    def publish(self, step: Step, seq: int) -> list[tuple[str, str, str, Any]]:
        """The notifications of an update: (seq, change, subscription, evidence), in the contract's order."""
        self.graph.expire(step)
        expired = self._differences(seq)
        self.graph.apply(step)
        applied = self._differences(seq)
        if self.dirty:  # a member came or went: the whole update carries the news
            self.dirty = False
            applied += self._ranks(seq)
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
            if "top_k_of" in asked.options:
                asked.count = len(after)
            else:
                lines += _lines(asked, after, seq, counts)
        return lines if self.dirty else lines + self._ranks(seq)

    def _ranks(self, seq: int) -> list[tuple[Any, ...]]:
        """The members of the one set, placed again."""
        members = [asked for asked in self.asked.values() if "top_k_of" in asked.options]
        holding: dict[str, Standing] = {
            asked.id: {(): {"value": asked.count}} if self._is_top(asked) else {} for asked in members
        }
        return [line for asked in members for line in _lines(asked, holding[asked.id], seq, {(): asked.count})]

    def _is_top(self, member: Asked) -> bool:
        members = [asked for asked in self.asked.values() if "top_k_of" in asked.options]
        before = sum((-each.count, each.id) < (-member.count, member.id) for each in members)
        return member.count > 0 and before < member.options["top_k_of"]


def _lines(asked: Asked, after: Standing, seq: int, counts: dict[Key, int]) -> list[tuple[Any, ...]]:
    """(gained?, number, key, line) for what a subscription gained and lost; a loss carries the count it fell to."""
    lines: list[tuple[Any, ...]] = []
    for key in asked.standing.keys() - after.keys():
        shown = asked.standing[key]
        shown = {**(shown or {}), "value": counts.get(key, 0)} if counts or "COUNT" in asked.query else shown
        if shown and "n" in shown.get("bindings", {}):
            shown["bindings"] = {**shown["bindings"], "n": str(shown["value"])}
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
            _, id, query, given = action
            options = {"mode": given} if isinstance(given, str) else given
            watch.subscribe([{"subscription_id": id, "query": query, "options": json.dumps(options)}])
            oracle.subscribe(Asked(id, query, number, options))
        elif action[0] == "unsubscribe" and action[1] in oracle.asked:
            assert watch.unsubscribe(action[1]).accepted == 1
            oracle.unsubscribe(action[1])
        elif action[0] == "publish":
            seq += 1
            published = watch.publish(row(action[1]))
            assert not published.rejected
            assert seen(published) == oracle.publish(action[1], seq), action[1]
