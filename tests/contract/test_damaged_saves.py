"""A damaged save of any engine is refused, or answers exactly as before."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from heliograph import Filter, PredicateIndex, Route, Watch
from heliograph.errors import StorageError
from heliograph.storage import MANIFEST
from heliograph.terms import parse_cell
from heliograph.vocabulary import Vocabulary


class Kind(NamedTuple):
    """How an engine is filled and saved, two ways, and what a loaded one answers."""

    save: Callable[[Path, int], None]
    answer: Callable[[Path], Any]


def _filter(**options: Any) -> Kind:
    def save(path: Path, salt: int) -> None:
        engine = Filter(taxonomy=[("cat", "animal"), ("dog", "animal")], **options)
        queries = [(f"s{n}", f"ASK {{ ?x :p :o{n % 7} . ?x :size ?n FILTER(?n > {n + 5 * salt}) }}") for n in range(20)]
        queries.append(("isa", "ASK { ?x a/rdfs:subClassOf* :animal }"))
        queries.append(("text", 'ASK { ?x :t ?y FILTER(CONTAINS(?y, "b")) }'))
        engine.subscribe(queries)
        engine.publish(DOCUMENTS)
        engine.save(path)

    return Kind(save, lambda path: _told(Filter.load(path).publish(DOCUMENTS)))


DOCUMENTS = [
    (f"d{n}", [("a", "p", f"o{n}"), ("a", "size", str(n * 5)), ("a", "t", f'"ab{n}"'), ("a", "rdf:type", "cat")])
    for n in range(6)
]


def _told(notifications: Any) -> list[Any]:
    return [notifications.table.to_pylist(), [tuple(entry) for entry in notifications.rejected]]


def _watch(queries: dict[str, str]) -> Kind:
    def save(path: Path, salt: int) -> None:
        engine = Watch(window_updates=30)
        engine.subscribe(list(queries.items()))
        engine.publish([("+", f"v{(n * (salt + 1)) % 9}", "p", f"v{n % 5}") for n in range(40)])
        engine.save(path)

    def answer(path: Path) -> Any:
        engine = Watch.load(path, algorithm="plain")
        return _told(engine.publish([("+", f"v{n % 7}", "p", f"v{n % 4}") for n in range(10)]))

    return Kind(save, answer)


def _route_save(path: Path, salt: int) -> None:
    engine = Route()
    engine.add_nodes([(f"n{n}", f"x = {n % 3 + salt} OR t LIKE '%b{n}' OR y IN (1, 2, {n})") for n in range(12)])
    engine.add_edges([(f"n{n}", f"n{(n * 5 + 1) % 12}") for n in range(12)] + [("p", f"n{n}") for n in range(12)])
    engine.save(path)


def _route_answer(path: Path) -> Any:
    engine = Route.load(path, algorithm="walk")
    return [_told(engine.route("p", {"x": n, "t": f"ab{n}", "y": n})) for n in range(5)]


def _index_save(path: Path, salt: int) -> None:
    PredicateIndex([(f"p{n}", f"x > {n + salt} AND t LIKE 'a%'") for n in range(20)]).save(path)


def _index_answer(path: Path) -> Any:
    return [list(row) for row in PredicateIndex.load(path).match([{"x": n, "t": "ab"} for n in range(8)])]


def _terms_save(path: Path, salt: int) -> None:
    terms = Vocabulary()
    for n in range(50):
        terms.intern(parse_cell(f"t{n + salt}"))
    terms.save(path)


def _terms_answer(path: Path) -> Any:
    terms = Vocabulary.load(path)
    return [str(terms.term(n)) for n in range(len(terms))]


KINDS = {
    "filter": _filter(algorithm="naive"),
    "filter-indexed": _filter(algorithm="indexed"),
    "filter-sharded": _filter(shards=2, partition="merging"),
    "watch": _watch({"q": "SELECT * { ?x :p ?y . ?y :p ?z }", "c": "ASK { ?x :p :v1 } HAVING (COUNT(*) >= 3)"}),
    "watch-metrics": _watch(
        {"d": "SELECT * { FILTER(hg:degree(?x) > 4) }", "n": "SELECT * { ?x :p ?y FILTER(hg:outdegree(?x) > 2) }"}
    ),
    "route": Kind(_route_save, _route_answer),
    "predicates": Kind(_index_save, _index_answer),
    "vocabulary": Kind(_terms_save, _terms_answer),
}


def _damage(folder: Path, other: Path, chance: random.Random) -> str:
    """Does one thing to a save, and says what."""
    files = sorted(folder.iterdir())
    file = chance.choice(files)
    content = bytearray(file.read_bytes())
    what = chance.choice(["flip", "byte", "cut", "grow", "zero", "swap", "delete", "foreign", "digits"])
    if what == "flip" and content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif what == "byte" and content:
        content[chance.randrange(len(content))] = chance.randrange(256)
    elif what == "cut":
        del content[chance.randrange(len(content) + 1) :]
    elif what == "grow":
        content += bytes(chance.randrange(1, 9))
    elif what == "zero":
        start = chance.randrange(len(content) + 1)
        size = min(chance.choice([1, 8, 64, 4096]), len(content) - start)
        content[start : start + size] = bytes(size)
    elif what == "swap":
        second = chance.choice(files)
        theirs = second.read_bytes()
        second.write_bytes(content)
        content = bytearray(theirs)
    elif what == "foreign" and (other / file.name).exists():
        content = bytearray((other / file.name).read_bytes())
    elif what == "digits":  # an edited manifest that is JSON still
        file = folder / MANIFEST
        content = bytearray(file.read_bytes())
        places = [place for place, byte in enumerate(content) if 48 <= byte <= 57]
        content[chance.choice(places)] = 48 + chance.randrange(10)
    file.unlink()
    if what != "delete":
        file.write_bytes(content)
    return f"{what} {file.name}"


def _storm(kind: Kind, folder: Path, rounds: int) -> tuple[int, list[str]]:
    """How many damaged saves were refused, and which of the others answered otherwise than before."""
    kind.save(folder / "whole", 0)
    kind.save(folder / "other", 1)
    expected = kind.answer(folder / "whole")
    assert kind.answer(folder / "other") != expected
    refused, wrong = 0, []
    for seed in range(rounds):
        hurt = folder / f"hurt{seed}"
        shutil.copytree(folder / "whole", hurt)
        what = _damage(hurt, folder / "other", random.Random(seed))
        try:
            if kind.answer(hurt) != expected:
                wrong.append(f"{seed}: {what}")
        except StorageError:
            refused += 1
        shutil.rmtree(hurt)
    return refused, wrong


@pytest.mark.parametrize("name", KINDS)
def test_damage_is_refused_or_changes_nothing(tmp_path: Path, name: str) -> None:
    refused, wrong = _storm(KINDS[name], tmp_path, 40)
    assert wrong == []
    assert refused > 20


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_much_damage_is_refused_or_changes_nothing(tmp_path: Path, name: str) -> None:
    assert _storm(KINDS[name], tmp_path, 1500)[1] == []
