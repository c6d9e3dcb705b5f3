"""A pool of cheap subscriptions and documents for long histories, with the naive engine's verdict on every pair.

The law that makes long histories affordable: whether a subscription matches a document depends on nothing else, so the
naive engine is asked once for each pair of the pool, and what a history must notify of is read from its verdicts.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from heliograph import Filter
from tests.filter.strategies import Cells, Interest, subscribe

_NAMES = [f"n{number}" for number in range(24)]
_PROPERTIES = [f"p{number}" for number in range(6)]
_KINDS = [f"K{number}" for number in range(6)]
TAXONOMY = [("K1", "K0"), ("K2", "K0"), ("K3", "K1"), ("K3", "K2"), ("K4", "K3"), ("n0", "K4"), ("n1", "K2")]


class Pool(NamedTuple):
    """Interests without ids, documents, and which interests match each document."""

    interests: list[Interest]
    documents: list[list[Cells]]
    verdicts: list[set[int]]  # by document: the numbers of the interests that match it

    @classmethod
    def draw(cls, seed: int, interests: int, documents: int) -> Pool:
        random = Random(seed)
        drawn = [_document(random) for _ in range(documents)]
        asked = [_interest(random, random.choice(drawn)) for _ in range(interests)]
        return cls(asked, drawn, _verdicts(asked, drawn))


def _verdicts(interests: list[Interest], documents: list[list[Cells]]) -> list[set[int]]:
    plain = Filter(TAXONOMY, algorithm="naive")
    subscribe(plain, [interest._replace(id=str(number)) for number, interest in enumerate(interests)])
    return [{int(each.subscription_id) for each in plain.publish(("d", document))} for document in documents]


def _document(random: Random) -> list[Cells]:
    edges = [(random.choice(_NAMES), random.choice(_PROPERTIES[:4]), random.choice(_NAMES)) for _ in range(8)]
    edges += [
        (random.choice(_NAMES), "a", random.choice(_KINDS)),
        (random.choice(_NAMES), "p4", str(random.randrange(100))),
    ]
    edges.append((edges[0][0], "p5", f'"w{random.randrange(30)}"'))
    return [*edges, (edges[0][0], "p4", str(random.randrange(100)))]


_KINDS_OF_INTERESTS = {"range": 30, "table": 15, "class": 10, "text": 3, "count": 1, "pattern": 41}  # in percent


def _interest(random: Random, document: list[Cells]) -> Interest:
    """Mostly ranges over a few shared structures and patterns made of a document; few that no index decides alone."""
    low = random.randrange(100)
    (kind,) = random.choices(list(_KINDS_OF_INTERESTS), list(_KINDS_OF_INTERESTS.values()))
    if kind == "range":
        name = "ab"[low % 2]
        return Interest("", f"ASK {{ ?x :p{low % 3} ?y . ?x :p4 ?{name} {_range(random, name)} }}")
    if kind == "table":
        rows = (("?s", "p4", "?v"), ("?s", "p0", random.choice(_NAMES)))
        return Interest("", None, rows, (("?v", random.choice(["<", ">=", "="]), str(low)),))
    if kind == "class":
        path = random.choice(["a/rdfs:subClassOf*", "a"])
        return Interest("", f"ASK {{ ?x :p{low % 4} ?y . ?x {path} :{random.choice(_KINDS)} }}")
    if kind == "text":
        return Interest("", f"ASK {{ ?x :p5 ?t . ?x :p{low % 4} ?y FILTER({_text(random)}) }}")
    if kind == "count":
        edge = f":{random.choice(_NAMES)} ?p ?o"
        return Interest("", f"SELECT (COUNT(*) AS ?k) {{ {edge} }} HAVING (COUNT(*) > {low % 4})")
    return Interest("", _pattern(random, document))


def _range(random: Random, name: str) -> str:
    low = random.randrange(100)
    one = f"?{name} {random.choice(['<', '<=', '>', '>=', '='])} {low}"
    two = f"?{name} >= {low} && ?{name} < {low + random.randrange(1, 20)}"
    return f"FILTER({random.choice([one, two, two])})"


def _text(random: Random) -> str:
    word = f'"w{random.randrange(30)}"'
    return random.choice([f"CONTAINS(?t, {word})", f"?t = {word}", f'REGEX(?t, "{word[1:-1]}$", "i")', "?x != ?y"])


def _pattern(random: Random, document: list[Cells]) -> str:
    """Some edges of a document, some of their ends variables."""
    taken = random.sample(document[:8], random.randrange(1, 5))
    ends = {end: random.random() < 0.5 for s, _, o in taken for end in (s, o)}
    spelled = {end: f"?{end}" if hidden else f":{end}" for end, hidden in ends.items()}
    edges = [f"{spelled[s]} {'?p' if random.random() < 0.1 else f':{p}'} {spelled[o]}" for s, p, o in taken]
    return f"ASK {{ {' . '.join(edges)} }}"
