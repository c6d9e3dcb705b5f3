"""Shapes larger than those that are drawn feature by feature: long patterns, dense documents, many solutions of which
few satisfy, thousands of members in one structure, values that differ by less than a float64 can tell."""

from __future__ import annotations

import os
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from heliograph import Filter
from heliograph.filter.strategy import ALGORITHMS
from heliograph.workloads.filter import generate_filter
from tests.filter.strategies import RIVALS, Cells, Interest, subscribe
from tests.filter.test_equivalence import assert_alike

SEEDS = range(int(os.environ.get("EXAMPLES", "1")))

Publications = list[tuple[str, list[Cells]]]


def check(interests: list[Interest], publications: Publications, taxonomy: Any = None, bindings: int = 0) -> int:
    """All algorithms agree with the naive one; returns how many notifications there are."""
    expected = None
    for algorithm in ("naive", *RIVALS):
        engine = Filter(taxonomy, algorithm=algorithm)
        subscribe(engine, interests)
        found = engine.publish(publications, bindings=bindings)
        expected = found if expected is None else expected
        assert_alike(found, expected, algorithm)
    assert expected is not None
    return len(expected)


def numbered(texts: list[str]) -> list[Interest]:
    return [Interest(f"s{number}", text) for number, text in enumerate(texts)]


def path(length: int) -> list[Cells]:
    return [(f"n{number}", f"p{number % 3}", f"n{number + 1}") for number in range(length)]


def chain(length: int, first: str = ":n0") -> str:
    edges = [f"?v{number} :p{number % 3} ?v{number + 1}" for number in range(length)]
    return " . ".join(edges).replace("?v0 ", f"{first} ")


@pytest.mark.parametrize("seed", SEEDS)
def test_dense_documents(seed: int) -> None:
    """Cycles, cliques and trees in graphs where most partial solutions fail late."""
    random = Random(seed)
    documents = [(f"d{number}", _dense(random, nodes=9, edges=22)) for number in range(6)]
    texts = [f"ASK {{ {_shape(random)} }}" for _ in range(40)]
    assert check(numbered(texts), documents, bindings=2)


def _dense(random: Random, nodes: int, edges: int) -> list[Cells]:
    return [
        (f"n{random.randrange(nodes)}", f"p{random.randrange(2)}", f"n{random.randrange(nodes)}") for _ in range(edges)
    ]


def _shape(random: Random) -> str:
    """A connected pattern of up to six edges over up to five nodes, a few of them constants, some to be distinct."""
    size = random.randrange(2, 6)
    names = [f":n{random.randrange(9)}" if random.random() < 0.15 else f"?v{number}" for number in range(size)]
    edges = [(names[random.randrange(number)], names[number]) for number in range(1, size)]
    edges += [(random.choice(names), random.choice(names)) for _ in range(random.randrange(3))]
    turned = [edge[::-1] if random.random() < 0.5 else edge for edge in edges]
    body = " . ".join(f"{s} {random.choice([':p0', ':p1', '?p'])} {o}" for s, o in turned)
    stars = [name for name in names if name.startswith("?")]
    if len(stars) > 1 and random.random() < 0.5:
        body += f" FILTER({stars[0]} != {stars[-1]})"
    return body


@pytest.mark.parametrize("rays", [5, 64, 65])
def test_many_solutions_of_which_few_satisfy(rays: int) -> None:
    """What an index cannot decide is judged solution by solution, up to a limit, then as a whole."""
    star: list[Cells] = [("hub", "p", str(number)) for number in range(rays)]
    star += [("hub", "q", f"n{number}") for number in range(3)]
    last = 2 * rays - 3
    texts = [
        f"ASK {{ ?x :p ?a . ?x :p ?b FILTER(?a + ?b = {last} && ?a < ?b) }}",
        f"ASK {{ ?x :p ?a . ?x :p ?b FILTER(?a + ?b = {last + 2}) }}",
        f"ASK {{ ?x :p ?a . ?x :q ?n FILTER(STR(?a) = '{rays - 1}' && CONTAINS(STR(?n), 'n2')) }}",
        f"ASK {{ ?x :p ?a . ?x :q ?n FILTER(?a > {rays - 2}) }}",
        "ASK { ?x :p ?a . ?x :p ?b . ?x :q ?n FILTER(?a - ?b = 1 && ?n != ?x && ?a * ?b = 6) }",
        f"SELECT (COUNT(*) AS ?n) {{ ?x :p ?a . ?x :q ?b }} HAVING (COUNT(*) = {3 * rays})",
    ]
    assert check(numbered(texts), [("d", star)]) == 5


_EDGE = 2**53


def _close(random: Random) -> str:
    """Numbers that fall on few float64s, spelled as all kinds of number."""
    base = random.choice([0, 1, 5, _EDGE, -_EDGE, 10**22])
    whole = base + random.randrange(-2, 3)
    tiny = Decimal(whole) + Decimal(random.randrange(-2, 3)).scaleb(-20)
    spelled = [str(whole), f"{tiny:f}" if "." in f"{tiny:f}" else f"{tiny:f}.0", f"{whole}e0", f'"{whole}"^^xsd:float']
    return random.choice(spelled)


def _close_moment(random: Random) -> str:
    fraction = random.choice(["", ".000000000000000001", ".000001", ".0000005"])
    zone = random.choice(["", "Z", "+01:00", "+14:00", "-14:00"])
    return (
        f'"2020-01-0{random.randrange(1, 4)}T{random.choice(["00", "10", "14"])}:00:00{fraction}{zone}"^^xsd:dateTime'
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("draw", [_close, _close_moment])
def test_families_of_close_values(draw: Any, seed: int) -> None:
    """One structure, hundreds of conditions whose ends are hardly apart, and values that lie on them."""
    random = Random(seed)
    texts = [f"ASK {{ ?x :p ?v FILTER({_between(random, draw)}) }}" for _ in range(150)]
    documents = [
        (f"d{number}", [("A", "p", draw(random)) for _ in range(random.randrange(1, 3))]) for number in range(20)
    ]
    assert check(numbered(texts), [(id, [(s, p, o) for s, p, o in triples]) for id, triples in documents]) > 300


def _between(random: Random, draw: Any) -> str:
    one = f"?v {random.choice(['<', '<=', '>', '>=', '=', '!='])} {draw(random)}"
    two = f"?v {random.choice(['>', '>='])} {draw(random)} && ?v {random.choice(['<', '<='])} {draw(random)}"
    either = f"?v < {draw(random)} || ?v = {draw(random)} || ?v > {draw(random)}"
    chosen = f"?v IN ({draw(random)}, {draw(random)}, {draw(random)})"
    return random.choice(
        [one, one, two, two, either, f"!({two})", chosen, f"?v NOT IN ({draw(random)}, {draw(random)})"]
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "options",
    [
        {"hard_negatives": 0.5, "constraints": 0.5, "one_sided": 0.5},
        {"classes": 20, "is_a": 0.5},
        {"one_structure": True, "one_sided": 0.5},
        {"labels": 12, "properties": 4, "publication_nodes": 8, "publication_edges": 20, "constraints": 0.5},
    ],
)
def test_generated_workloads(options: dict[str, Any], seed: int) -> None:
    """The seeds' workload knows its answer by construction."""
    small = {"subscriptions": 150, "publications": 4, "matches": 10, "subscription_edges": 6}
    tables = generate_filter(seed, **{**small, **options})
    for algorithm in ALGORITHMS:
        engine = Filter(tables["taxonomy"], algorithm=algorithm)
        assert not engine.subscribe(patterns=tables["patterns"], constraints=tables["constraints"]).rejected
        found = engine.publish(tables["publications"])
        assert found.table.select(["subscription_id", "publication_id"]).equals(tables["expected"]), algorithm
