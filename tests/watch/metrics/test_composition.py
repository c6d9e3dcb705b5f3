"""Metrics beside a pattern: told when all of it becomes true for a binding, and when that stops.

The oracle works the pattern out by loops, degrees and betweenness by networkx, after every update.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import networkx as nx
import pytest
from typer.testing import CliRunner

from heliograph import Watch

IMPORTANT = """SELECT ?p WHERE {{ ?p a :Protein ; :interactsWith ?q .
FILTER(hg:degree(?p) >= {degree} && hg:betweenness(?q) > {betweenness}) }}"""
Update = tuple[str, str, str, str]
Told = tuple[str | None, str, str, str]


def stream(r: Random, length: int) -> Iterator[Update]:
    """Proteins that are recognised or not, and interactions that come and go."""
    for _ in range(length):
        p, q = r.choice("abcdefg"), r.choice("abcdefg")
        triple = (p, "a", "Protein") if r.random() < 0.2 else (p, "interactsWith", q)
        yield ("+" if r.random() < 0.65 else "-", *triple)


def important(edges: set[tuple[str, str, str]], degree: int, betweenness: float) -> set[tuple[str, str]]:
    """The pairs that satisfy pattern and metrics. Classes are vertices, but tie nobody together."""
    graph = nx.DiGraph([(s, o) for s, p, o in edges if p != "a"])
    graph.add_nodes_from(end for s, _, o in edges for end in (s, o))
    between = nx.betweenness_centrality(graph)
    pairs = [(s, o) for s, p, o in edges if p == "interactsWith" and (s, "a", "Protein") in edges]
    return {(p, q) for p, q in pairs if graph.degree(p) >= degree and between[q] > betweenness + 1e-9}


def recomputed(updates: list[Update], degree: int, betweenness: float) -> list[Told]:
    edges: set[tuple[str, str, str]] = set()
    held: set[tuple[str, str]] = set()
    told: list[Told] = []
    for number, (op, *triple) in enumerate(updates, 1):
        (edges.add if op == "+" else edges.discard)((triple[0], triple[1], triple[2]))
        holds = important(edges, degree, betweenness)
        told += [(str(number), "-", *pair) for pair in sorted(held - holds)]
        told += [(str(number), "+", *pair) for pair in sorted(holds - held)]
        held = holds
    return told


def notified(updates: list[Update], degree: int, betweenness: float, algorithm: str, size: int) -> list[Told]:
    engine = Watch(algorithm=algorithm)
    engine.subscribe(("important", IMPORTANT.format(degree=degree, betweenness=betweenness)))
    batches = (updates[first : first + size] for first in range(0, len(updates), size))
    found = [note for batch in batches for note in engine.publish(batch)]
    return [(n.publication_id, n.change, n.proof["bindings"]["p"], n.proof["bindings"]["q"]) for n in found if n.proof]


@pytest.mark.parametrize(("algorithm", "size"), [("plain", 150), ("indexed", 150), ("indexed", 7)])
def test_a_conjunction_is_told_when_it_becomes_true_and_when_it_stops(algorithm: str, size: int) -> None:
    updates = list(stream(Random(5), 150))
    expected = recomputed(updates, 4, 0.1)
    assert len(expected) > 20
    assert notified(updates, 4, 0.1, algorithm, size) == expected


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30))
def test_many_streams(seed: int) -> None:
    r = Random(seed)
    updates, degree, betweenness = list(stream(r, 300)), r.randint(1, 6), r.choice((0.0, 0.05, 0.1, 0.2))
    expected = recomputed(updates, degree, betweenness)
    assert notified(updates, degree, betweenness, "indexed", r.randint(1, 50)) == expected


@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
def test_proteins_with_ten_partners(algorithm: str) -> None:
    partners: list[Update] = [("+", f"k{n}", "interactsWith", "p") for n in range(9)]
    ways: list[Update] = [("+", "p", "interactsWith", "q"), *(("+", "q", "interactsWith", each) for each in "rs")]
    updates = [*partners, ("+", "p", "a", "Protein"), *ways, ("-", "k3", "interactsWith", "p")]
    assert notified(updates, 10, 0.1, algorithm, 5) == [("13", "+", "p", "q"), ("14", "-", "p", "q")]
    assert recomputed(updates, 10, 0.1) == [("13", "+", "p", "q"), ("14", "-", "p", "q")]


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from heliograph.cli.main import app

    monkeypatch.chdir(tmp_path)
    updates = list(stream(Random(8), 60))
    Path("important.rq").write_text(IMPORTANT.format(degree=3, betweenness=0.05))
    Path("updates.csv").write_text("\n".join(["op,subject,property,object", *(",".join(each) for each in updates)]))
    done = CliRunner().invoke(app, ["watch", "--subscriptions", "important.rq", "--updates", "updates.csv"])
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    told = [(r["publication_id"], r["change"], *r["evidence"]["bindings"].values()) for r in rows]
    assert done.exit_code == 0
    assert told == recomputed(updates, 3, 0.05) != []
    assert all(len(row["evidence"]["value"]) == 2 for row in rows)
