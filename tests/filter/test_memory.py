"""A filter forgets the terms of publications, and gives back those of subscriptions that went."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from heliograph import Filter
from heliograph.filter import engine
from heliograph.filter import strategy as auto

LEAST = 40  # terms of subscriptions that went, where a test makes it few
SETTINGS: tuple[dict[str, Any], ...] = (
    {"algorithm": "indexed"},
    {"algorithm": "auto"},
    {"shards": 2},
    {"shards": 2, "partition": "containment"},
    {"algorithm": "naive"},
)
SHAPES = (
    "ASK {{ ?x :p :v{0} }}",
    "SELECT * {{ ?x :p ?y . ?y :q ?z FILTER(?z > {1}) }}",
    'SELECT * {{ ?x :p :v{0} FILTER(CONTAINS(STR(?x), "{1}")) }}',
    'ASK {{ ?x :q "text {0}" FILTER(STRSTARTS(STR(?x), "urn:heliograph:d{1}")) }}',
    "SELECT (COUNT(*) AS ?n) {{ ?x :p ?y }} HAVING (COUNT(*) >= {1})",
    "ASK {{ ?x a/rdfs:subClassOf* :c{1} }}",
)
TAXONOMY = [{"child": f"c{n}", "parent": f"c{n + 1}"} for n in range(5)]


def query(r: Random, number: int) -> str:
    return r.choice(SHAPES).format(r.choice((number, number, number, r.randrange(8))), r.randrange(5))


def document(r: Random, number: int) -> tuple[str, list[tuple[str, str, str]]]:
    x, y = f"d{number}", f"e{number}"
    rows = [(x, "p", f"v{r.randrange(8)}"), (x, "p", y), (y, "q", str(r.randrange(9))), (x, "a", f"c{r.randrange(5)}")]
    return f"doc{number}", [*rows, (x, "q", f'"text {r.randrange(8)}"'), (f"_:b{number}", "q", f"{number}.5")]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_publications_leave_no_terms(setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "PAIRS", 10)
    engine = Filter(TAXONOMY, **setting)
    engine.subscribe([(f"s{n}", query(Random(n), n)) for n in range(30)])
    r = Random(1)
    engine.publish([document(r, number) for number in range(10)], bindings=2)
    held = len(engine.vocabulary)
    for round in range(1, 30):
        engine.publish([document(r, 1000 * round + number) for number in range(10)], bindings=round % 3)
    assert len(engine.vocabulary) == held


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_subscriptions_that_come_and_go(
    setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(auto, "PAIRS", 100)
    one = Filter(TAXONOMY, **setting)
    with monkeypatch.context() as few:
        few.setattr(engine, "LEAST", LEAST)
        other = Filter(TAXONOMY, **setting)
        r, number, asked = Random(7), 0, list[str]()
        held, vocabularies = list[int](), {id(other.vocabulary): other.vocabulary}
        for round in range(60):
            new = [(f"s{n}", query(r, n)) for n in range(number, number + 8)]
            number += 8
            asked += [id for id, _ in new]
            gone = [asked.pop(r.randrange(len(asked))) for _ in range(min(len(asked), r.randrange(8, 13)))]
            batch = [document(r, 100 * round + each) for each in range(4)]
            for each in (one, other):
                each.subscribe(new)
            assert list(other.publish(batch, bindings=1)) == list(one.publish(batch, bindings=1))
            for each in (one, other):
                few.setattr(engine, "LEAST", LEAST if each is other else 1 << 40)
                each.unsubscribe(gone)
            assert list(other.publish(batch)) == list(one.publish(batch))
            held.append(len(other.vocabulary))
            vocabularies[id(other.vocabulary)] = other.vocabulary
            if asked:
                assert other.explain(asked[0], batch[0]) == one.explain(asked[0], batch[0])
            if round == 30:
                other.save(tmp_path / "saved")
                other = Filter.load(tmp_path / "saved")
    if setting.get("algorithm") == "naive":
        assert held == [0] * 60
    else:
        assert len(vocabularies) > 4
        assert max(held) < 2 * LEAST < len(one.vocabulary)


def test_publications_of_an_older_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever interned publications before goes on with them."""
    from heliograph.filter.encode import encode
    from heliograph.terms import PREFIXES

    monkeypatch.setattr(engine, "LEAST", LEAST)
    made = Filter(algorithm="indexed")
    made.subscribe([(f"s{n}", f"ASK {{ ?x :p :v{n} }}") for n in range(100)])
    batch = encode([("d", [("x", "p", "v99")])], made.vocabulary, PREFIXES).publications
    assert [n.subscription_id for n in made.publish(batch)] == ["s99"]
    before = made.vocabulary
    made.unsubscribe([f"s{n}" for n in range(99)])
    assert made.vocabulary is not before
    assert len(made.vocabulary) < 10
    assert [n.subscription_id for n in made.publish(batch)] == ["s99"]
