"""The states that kernels keep are what `tests.watch.network_evaluator` works out anew from the arrays and the graph.

So a message that is wrong is found even while no query shows it.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any
from unittest import mock

import pytest

from heliograph import Watch
from heliograph.sparql.regions import HIGH_OPEN, LOW_OPEN, ROUNDED, Domain
from heliograph.watch import layout
from heliograph.watch import network_kernels as kernels
from heliograph.watch import runner as machine
from heliograph.watch.layout import OBJECT, PREDICATE, ROWS, SUBJECT
from heliograph.watch.runner import Runner
from tests.watch.network_evaluator import Evaluator
from tests.watch.scenes import SMALL, body, update


def machine_of(watch: Watch) -> Runner:
    found: Runner = watch._strategy._queries.runner  # type: ignore[attr-defined]
    return found


def kept(engine: Runner) -> dict[tuple[int, int], int]:
    """What vertices hear, by message and vertex, as the kernels left it."""
    table = engine.world.entries
    taken = table[table[:, 1] != 0].tolist()
    return {((key - 1) >> 32, (key - 1) & 0xFFFFFFFF): value for key, value in taken}


def evaluator_of(watch: Watch, engine: Runner) -> Evaluator:
    graph, network = engine.graph, engine.network
    rows = graph.arrays.edges[graph.edge_numbers()][:, [SUBJECT, PREDICATE, OBJECT]]

    def passes(test: int, term: int) -> bool:
        return bool(network.tests.check(test, watch.vocabulary.term(term)))

    return Evaluator(network, map(tuple, rows.tolist()), passes)


def counted_components(engine: Runner) -> list[int]:
    """All components but those whose solutions are listed instead."""
    groups = engine.network.groups
    owners = [groups.constants.array["group"][groups.constant_of(each)] for each in range(groups.components.used)]
    return [component for component, owner in enumerate(owners) if groups.rows.array["kind"][owner] != ROWS]


def check_states(watch: Watch) -> int:
    """Asserts that every message and every component is right; returns how many say something."""
    engine = machine_of(watch)
    naive = evaluator_of(watch, engine)
    messages = range(engine.network.messages.rows.used)
    said = {(message, term): naive.message(message, term) for message in messages for term in naive.terms}
    assert kept(engine) == {place: value for place, value in said.items() if value}
    values, counted = naive.values(), counted_components(engine)
    assert engine.network.world.values[counted].tolist() == [values.get(component, 0) for component in counted]
    return len(kept(engine))


def asked(random: Random) -> dict[str, Any]:
    """A query that is answered by truth or by a count."""
    text = body(random, SMALL).replace("?r", ":p")
    form = random.choice(("ASK {{ {} }}", "ASK {{ {} }}", "ASK {{ {} }} HAVING (COUNT(*) >= 2)"))
    return {"subscription_id": str(random.random()), "query": form.format(text)}


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("first", [1, 1024])
def test_after_every_update(seed: int, first: int) -> None:
    random, heard = Random(seed), 0
    with mock.patch.dict(machine._ROOM, state=4 * first, item=first):
        watch = Watch(algorithm="indexed", window_updates=random.choice((None, 7)))
        watch.load_graph([("a", "p", "b"), ("b", "q", "1")])
        for _ in range(4):
            watch.subscribe([asked(random) for _ in range(4)])
            watch.publish([])
            heard += check_states(watch)
            for _ in range(5):
                watch.publish(update(random, SMALL, None))
                heard += check_states(watch)
    assert heard > 0


def test_states_outlive_their_table() -> None:
    """Many vertices hear the same: the table is made larger again and again, and nothing is lost."""
    with mock.patch.dict(machine._ROOM, state=4):
        watch = Watch(algorithm="indexed")
        watch.subscribe(("s", "ASK { ?x :p ?y . ?y :q ?z . ?z :r :c }"))
        watch.publish([("+", "a", "q", "b"), ("+", "b", "r", "c")])
        watch.publish([("+", f"v{number}", "p", "a") for number in range(300)])
        engine = machine_of(watch)
        assert len(kept(engine)) >= 2
        assert 2 * engine.world.state_count <= len(engine.world.entries)
        assert check_states(watch) == len(kept(engine))


def test_many_keys_are_populated_at_once() -> None:
    """A table that must be doubled before the first edge has room: what was begun is begun anew."""
    with mock.patch.dict(machine._ROOM, state=4):
        watch = Watch(algorithm="indexed")
        watch.load_graph([("a", f"p{number}", "b") for number in range(64)])
        texts = (f"ASK {{ ?x :p{number} ?y . ?y :p{number} ?z }}" for number in range(64))
        watch.subscribe([(f"s{number}", text) for number, text in enumerate(texts)])
        found = watch.publish([("+", "b", "p5", "c"), ("+", "b", "p63", "c")])
        assert [(n.subscription_id, n.publication_id) for n in found] == [("s5", "1"), ("s63", "2")]
        assert check_states(watch) > 64


# --- room -------------------------------------------------------------------------------------------------------

ROOM = {"state": 4, "item": 1, "event": 1, "solution": 1, "change": 1}
LACKS = ("NEED_GRAPH", "NEED_ADJACENCY", "NEED_STATES", "NEED_ROOM", "NEED_EVENTS")


def busy(watch: Watch) -> list[Any]:
    """Something of everything that needs room."""
    watch.subscribe(("concrete", "SELECT * { :h :p :v3 . :h :p :v5 }"))
    told = list(watch.publish([("+", "h", "p", f"v{number}") for number in range(1500)]))
    told += watch.publish([("=", "g", "p", "v1"), ("-", "h", "p", "v3"), ("+", "h", "p", "v3")])
    texts = ["SELECT * { ?x :p ?y . ?x :q ?z }", "ASK { ?x :p ?y . ?y :q ?z . ?z :r :c }"]
    texts += [
        "SELECT (COUNT(*) AS ?n) { ?x :p ?y . ?y :q ?z . ?u :p ?y } HAVING (COUNT(*) > 2)",
        "ASK { ?x a ?y . ?y :p ?z }",
    ]
    top = json.dumps({"top_k_of": 1})
    watch.subscribe([(f"s{number}", text) for number, text in enumerate(texts)])
    watch.subscribe([{"subscription_id": "t", "query": "SELECT * { ?x :p ?y }", "options": top}])
    told += watch.publish([("+", "b", "r", "c"), ("+", "v1", "q", "b"), ("+", "h", "q", "b"), ("+", "k", "a", "h")])
    told += watch.publish([("-", "b", "r", "c"), ("=", "h", "p", "v9"), ("-", "h"), ("-", "v1")])
    return told


def test_kernels_stop_for_want_of_everything_and_go_on() -> None:
    lacked: list[int] = []
    make_room = Runner.make_room

    def noted(self: Runner, reason: int) -> None:
        lacked.append(reason)
        make_room(self, reason)

    with mock.patch.dict(machine._ROOM, ROOM), mock.patch.object(Runner, "make_room", noted):
        found = busy(Watch(algorithm="indexed"))
    assert found == busy(Watch(algorithm="plain"))
    assert len(found) > 1500
    assert set(lacked) == {getattr(layout, name) for name in LACKS}


# --- constants --------------------------------------------------------------------------------------------------


def test_constants_that_kernels_repeat() -> None:
    """Kernels import nothing from above; what they say again must be what is said there."""
    assert kernels._FLOAT == Domain.FLOAT
    assert (kernels._LOW_OPEN, kernels._HIGH_OPEN, kernels._ROUNDED) == (LOW_OPEN, HIGH_OPEN, ROUNDED)
