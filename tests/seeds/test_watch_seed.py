"""[Z], the evolving-graph paper: what its sentences say of BF and INV, with the fault of INV mended.

The paper has no worked example with figures. What it does say: INV decomposes a query of k edges into k vertex pairs
and stores its id under each; table T holds how many pairs a query has and how many are matched; an update looks its
pair up. `Inv` below is that, as printed. SEED_NOTES name the fault: an edge that arrives twice is counted twice.
"""

from __future__ import annotations

from collections import defaultdict

from heliograph import Watch
from heliograph.workloads.watch import generate_watch

Pair = tuple[str, str]


class Inv:
    """Section 3.1, second algorithm, as printed."""

    def __init__(self) -> None:
        self.index: dict[Pair, list[str]] = defaultdict(list)
        self.pairs: dict[str, int] = {}
        self.matched: dict[str, int] = {}

    def subscribe(self, id: str, pairs: list[Pair]) -> None:
        self.pairs[id], self.matched[id] = len(pairs), 0
        for pair in pairs:
            self.index[pair].append(id)

    def publish(self, pair: Pair) -> list[str]:
        for id in self.index[pair]:
            self.matched[id] += 1
        return [id for id in self.index[pair] if self.matched[id] == self.pairs[id]]


TRIANGLE = [("a", "b"), ("b", "c"), ("c", "a")]


def ask(pairs: list[Pair]) -> str:
    return f"ASK {{ {' . '.join(f':{s} :links :{t}' for s, t in pairs)} }}"


def test_a_query_of_k_edges_is_stored_under_k_pairs() -> None:
    inv = Inv()
    inv.subscribe("triangle", TRIANGLE)
    assert [inv.index[pair] for pair in TRIANGLE] == [["triangle"]] * 3
    assert (inv.pairs["triangle"], inv.matched["triangle"]) == (3, 0)


def test_the_fault_of_inv_and_its_mend() -> None:
    """Two edges, one of them twice: INV as printed reports a triangle that is not there; watch does not."""
    inv, watch = Inv(), Watch()
    inv.subscribe("triangle", TRIANGLE)
    watch.subscribe(("triangle", ask(TRIANGLE)))
    stream = [("a", "b"), ("b", "c"), ("a", "b"), ("c", "a"), ("c", "a")]
    printed = [(seq, id) for seq, pair in enumerate(stream, 1) for id in inv.publish(pair)]
    mended = [(n.publication_id, n.change) for n in watch.publish([("+", s, "links", t) for s, t in stream])]
    assert printed == [(3, "triangle")]
    assert mended == [("4", "+")]


def test_what_inv_cannot_do() -> None:
    """Deletions, variables, properties, unsubscribing and expiry are all needed (SEED_NOTES, watch 1)."""
    watch = Watch(window_updates=3)
    watch.subscribe([("fixed", ask(TRIANGLE[:1])), ("open", "ASK { ?x :links ?y . ?y :links ?x }")])
    stream = [("+", "a", "links", "b"), ("+", "b", "links", "a"), ("-", "a", "links", "b"), ("+", "a", "likes", "b")]
    assert [(n.publication_id, n.change, n.subscription_id) for n in watch.publish(stream)] == [
        ("1", "+", "fixed"),
        ("2", "+", "open"),
        ("3", "-", "fixed"),
        ("3", "-", "open"),
    ]
    watch.unsubscribe("fixed")
    assert list(watch.publish([("+", "a", "links", "b")])) == []


def test_bf_and_inv_agree_where_edges_come_once() -> None:
    """Section 3.2: additions to an initially empty graph; both algorithms find the same queries at the same updates."""
    made = generate_watch(16, vertices=300, updates=400, queries=90, matching=0.15)
    inv, bf = Inv(), Watch()
    bf.subscribe(made["subscriptions"])
    for id, text in zip(
        *(made["subscriptions"][name].to_pylist() for name in ("subscription_id", "query")), strict=True
    ):
        edges = [edge.split() for edge in text.removeprefix("ASK {").removesuffix("}").split(" . ")]
        inv.subscribe(id, [(source.strip(":"), target.strip(":")) for source, _, target in edges])
    updates = [(row["subject"], row["object"]) for row in made["updates"].to_pylist()]
    printed = {(id, str(seq)) for seq, pair in enumerate(updates, 1) for id in inv.publish(pair)}
    found = {(n.subscription_id, n.publication_id) for n in bf.publish(made["updates"])}
    assert found == printed
    assert len(found) == 14  # 15 % of 90, rounded


def test_an_update_touches_only_the_queries_of_its_pair() -> None:
    """What makes INV orders of magnitude faster than BF: work per update does not grow with the query database."""
    touched = []
    for queries in (100, 400):
        watch = Watch()
        watch.subscribe([(f"q{n}", ask([(f"v{n}", f"w{n}"), (f"w{n}", f"x{n}")])) for n in range(queries)])
        touched.append(watch.publish(("+", "v7", "links", "w7")).stats.candidates)
    assert touched == [1, 1]
