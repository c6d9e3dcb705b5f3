"""Random scenes for every way of answering: worlds of terms, the queries that watch them, and what happens to both.

A scene is drawn from a `random.Random`, so that Hypothesis can shrink it and a plain loop can draw thousands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from heliograph import Notification, Watch
from heliograph.model import Receipt

Act = tuple[str, Any]  # subscribe rows, unsubscribe ids, load rows, publish rows

FLOAT, DECIMAL = '"1.1"^^xsd:float', "1.00000000000000000001"
MOMENTS = ('"2026-01-01T12:00:00Z"^^xsd:dateTime', '"2026-01-01T13:00:00+01:00"^^xsd:dateTime')


class Terms(NamedTuple):
    """What a world is made of, as it is spelled in cells."""

    vertices: tuple[str, ...] = ("a", "b", "c", "d")
    properties: tuple[str, ...] = ("p", "q")
    values: tuple[str, ...] = ("1", "2", "3.5", '"x"')


SMALL = Terms()
TYPED = Terms(("a", "b"), ("p", "q"), ("1", "1.0", FLOAT, DECIMAL, "1.1", "-2", '"x"', '"xy"@en', *MOMENTS, "true"))
WIDE = Terms(tuple(f"v{n}" for n in range(12)), ("p", "q", "r", "s"), ("1", "7"))
WORLDS = (SMALL, SMALL, TYPED, WIDE)

NUMBERS = ("1", "2", "1.1", "1.0", "-2", DECIMAL, "2.5e0", FLOAT)
CONDITIONS = (
    "{y} > {n}",
    "{y} >= {n}",
    "{y} < {n}",
    "{y} = {n}",
    "{y} != {n}",
    "!({y} > {n})",
    "{y} > {n} && {y} < 3.6",
    "{y} < {n} || {y} > 1",
    "{y} IN ({n}, :a)",
    "{y} NOT IN ({n}, 2)",
    "{x} != {y}",
    "{x} = :a || {y} = {n}",
    "{x} IN (:a, :c)",
    "{x} != :a",
    "isLiteral({y})",
    "isIRI({y})",
    'STR({y}) = "x"',
    'STRSTARTS(STR({y}), "x")',
    'REGEX(STR({y}), "X", "i")',
    'LANG({y}) = "en"',
    "{y} + 1 > {n}",
    "{y} <= " + MOMENTS[1],
    "BOUND({y})",
)
CLASSES = (
    "ASK {{ ?x a/rdfs:subClassOf* {c} }}",
    "SELECT * {{ ?x a {c} }}",
    "SELECT * {{ ?x a/rdfs:subClassOf* ?c . ?x {p} ?y }}",
    "ASK {{ ?x rdfs:subClassOf+ {c} . ?x {p} ?y }}",
    "SELECT * {{ {c} rdfs:subClassOf+ ?x }}",
    "SELECT (COUNT(*) AS ?n) {{ ?x rdfs:member ?y . ?y a/rdfs:subClassOf* {c} }} HAVING (COUNT(*) >= 2)",
    "SELECT * {{ {c} rdfs:member ?y }}",
    "SELECT DISTINCT ?x {{ ?x rdfs:member ?y . ?y {p} ?z }}",
)
MEMBERS = ("rdf:_1", "rdf:_2")


def name(cell: str) -> str:
    """A cell as a query spells it."""
    return cell if cell[0] in '"-0123456789' or cell == "true" else f":{cell}"


# --- queries ----------------------------------------------------------------------------------------------------


def _shape(r: Random, links: tuple[str, ...], nodes: list[str]) -> list[str]:
    """Triples of a chain, a star, a cycle, a cycle with a tail, or anything."""
    size, kind = r.randint(1, 5), r.choice(("chain", "star", "cycle", "tail", "any", "any", "any"))
    own = [f"?{letter}" for letter in "xyzuvw"]
    ends: list[tuple[str, str]]
    if kind == "chain":
        ends = [(own[n], own[n + 1]) for n in range(size)]
    elif kind == "star":
        ends = [("?x", own[n + 1]) for n in range(size)]
    elif kind == "any":
        ends = [(r.choice(nodes), r.choice(nodes)) for _ in range(min(size, 4))]
    else:
        ends = [(own[n], own[(n + 1) % size]) for n in range(size)] + [("?x", "?w")] * (kind == "tail")
    ends = [end if r.random() < 0.7 else end[::-1] for end in ends]
    return [f"{subject} {r.choice(links)} {object}" for subject, object in ends if subject[0] in "?:"]


def body(r: Random, terms: Terms) -> str:
    """A group graph pattern that binds ?x."""
    constants = [name(each) for each in r.sample(terms.vertices, min(3, len(terms.vertices)))]
    values = [name(r.choice(terms.values))]
    links = tuple(f":{each}" for each in terms.properties)
    if r.random() < 0.15:
        links += ("?r",)
    nodes = ["?x", "?y", "?z", "?x", "?y", *constants, *values]
    triples = [f"?x {r.choice(links)} {r.choice(['?y', '?y', '?y', *constants, *values])}"]
    triples += _shape(r, links, nodes)[: r.randint(0, 5)]
    if r.random() < 0.3:  # a constant on whatever shape it is
        triples = [triple.replace("?z", constants[0]).replace("?u", constants[-1]) for triple in triples]
    text = " . ".join(triples)
    if r.random() < 0.35:
        number = r.choice(NUMBERS)
        some = [variable for variable in ("?x", "?y", "?z") if variable in text]
        text += f" FILTER({r.choice(CONDITIONS).format(x=r.choice(some), y=r.choice(some), n=number)})"
    if r.random() < 0.1:
        text += f" VALUES (?x ?y) {{ ({constants[0]} UNDEF) (UNDEF {constants[-1]}) ({constants[0]} {values[0]}) }}"
    return text


def query(r: Random, terms: Terms) -> str:
    if r.random() < 0.1:
        names = {"c": f":{r.choice(terms.vertices)}", "p": f":{r.choice(terms.properties)}"}
        return r.choice(CLASSES).format(**names)
    inner, least, operator = body(r, terms), r.randint(0, 4), r.choice((">=", ">", "<", "=", "!="))
    return r.choice(
        (
            f"SELECT * {{ {inner} }}",
            f"SELECT * {{ {inner} }}",
            f"SELECT DISTINCT ?x {{ {inner} }}",
            f"ASK {{ {inner} }}",
            f"ASK {{ {inner} }}",
            f"SELECT (COUNT(*) AS ?n) {{ {inner} }} HAVING (COUNT(*) {operator} {least})",
            f"SELECT (COUNT(*) AS ?n) {{ {inner} }} HAVING (COUNT(*) {operator} {least} || COUNT(*) = 6)",
            f"SELECT ?x (COUNT(*) AS ?n) {{ {inner} }} GROUP BY ?x HAVING (COUNT(*) {operator} {least})",
        )
    )


def options(r: Random, text: str) -> str:
    given: dict[str, Any] = {}
    if r.random() < 0.3:
        given["mode"] = "change"
    if r.random() < 0.25:
        given["initial"] = True
    if "HAVING" in text and ("> " in text or ">= " in text) and "||" not in text and r.random() < 0.4:
        given["hysteresis"] = r.choice((0.5, 1, 2))
    if r.random() < 0.1:
        given["max_matches_per_update"] = r.randint(0, 3)
    if "HAVING" not in text and "ASK" not in text and r.random() < 0.15:
        given["top_k_of"] = {"set": r.choice("st"), "k": r.randint(1, 2)}
    return json.dumps(given)


def other_constants(r: Random, terms: Terms, text: str) -> str:
    """The same query about other vertices."""
    chosen = dict(zip(terms.vertices, r.choices(terms.vertices, k=len(terms.vertices)), strict=True))
    return re.sub(r":(\w+)", lambda found: f":{chosen.get(found[1], found[1])}", text)


# --- updates ----------------------------------------------------------------------------------------------------


def update(r: Random, terms: Terms, time: int | None) -> dict[str, Any]:
    op = r.choice("+++++--=")
    row: dict[str, Any] = {"op": op, "subject": r.choice(terms.vertices), "weight": None}
    row["property"] = r.choice((*terms.properties, *terms.properties * 3, "a", "rdfs:subClassOf", r.choice(MEMBERS)))
    known = row["property"] in terms.properties
    row["object"] = r.choice(terms.vertices + terms.values if known else terms.vertices)
    if op == "-" and r.random() < 0.25:
        row["property"] = row["object"] = None
    elif r.random() < 0.05:
        row["weight"] = r.choice((0.5, 2.0))
    row["at"] = None if time is None else f"2026-01-01T00:{time // 60 % 60:02d}:{time % 60:02d}Z"
    return row


@dataclass
class Scene:
    """Settings of an engine and what happens to it."""

    settings: dict[str, Any] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)

    @classmethod
    def draw(cls, r: Random, acts: int = 12, terms: Terms | None = None) -> Scene:
        settings: dict[str, Any] = {"witness": r.random() < 0.15}
        timed = r.random() < 0.3
        if timed:
            settings["window"] = r.choice(("5s", "12s"))
        if r.random() < 0.2:
            settings["window_updates"] = r.randint(2, 12)
        if r.random() < 0.2:
            settings["taxonomy"] = [{"child": "b", "parent": "a"}, {"child": "c", "parent": "b"}]
        scene = cls(settings)
        _Drawing(r, terms or r.choice(WORLDS), timed).fill(scene.acts, acts)
        return scene


class _Drawing:
    def __init__(self, r: Random, terms: Terms, timed: bool) -> None:
        self.r, self.terms, self.timed = r, terms, timed
        self.time, self.asked = 0, list[str]()
        self.number = 0

    def fill(self, acts: list[Act], count: int) -> None:
        for _ in range(count):
            chance = self.r.random()
            if chance < 0.3 or not self.asked:
                count = self.r.randint(1, 4)
                alike = query(self.r, self.terms) if self.r.random() < 0.4 else None
                acts.append(("subscribe", [self._subscription(alike) for _ in range(count)]))
            elif chance < 0.36:
                acts.append(("unsubscribe", [self.asked.pop(self.r.randrange(len(self.asked)))]))
            else:
                acts.append(("load" if chance < 0.42 else "publish", self._updates(8)))

    def _subscription(self, alike: str | None) -> dict[str, Any]:
        """A query of its own, or one like another but for constants."""
        self.number += 1
        self.asked.append(f"s{self.number}")
        text = query(self.r, self.terms) if alike is None else other_constants(self.r, self.terms, alike)
        return {"subscription_id": self.asked[-1], "query": text, "options": options(self.r, text)}

    def _updates(self, most: int) -> list[dict[str, Any]]:
        rows = []
        for _ in range(self.r.randint(1, most)):
            self.time += self.r.randint(0, 3)
            rows.append(update(self.r, self.terms, self.time if self.timed else None))
        return rows


# --- playing ----------------------------------------------------------------------------------------------------


class Told(NamedTuple):
    """What one act led to."""

    notifications: list[Notification]
    refused: list[str]
    complete: bool = True
    truncated: int = 0


def act(watch: Watch, doing: Act) -> Told:
    kind, what = doing
    if kind == "publish":
        found = watch.publish(what)
        return Told(list(found), [each.code for each in found.rejected], found.complete, found.stats.truncated)
    ways: dict[str, Callable[[Any], Receipt]] = {"unsubscribe": watch.unsubscribe, "load": watch.load_graph}
    receipt = watch.subscribe(what) if kind == "subscribe" else ways[kind](what)
    return Told([], [each.code for each in receipt.rejected])


def play(watch: Watch, acts: list[Act]) -> list[Told]:
    return [act(watch, doing) for doing in acts]
