"""What one datum passes on its way to its notification: the Python files of ours, and the calls that are made.

Calls are those of Python functions and of C functions alike, as `sys.setprofile` reports them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

import heliograph
from heliograph import Filter, Route, Watch
from heliograph.cli.main import app

_HOME = str(Path(heliograph.__file__).parent)


class Trace(NamedTuple):
    files: frozenset[str]
    calls: int


def trace(step: Callable[[], Any]) -> Trace:
    files, calls = set[str](), 0

    def follow(frame: Any, event: str, _: Any) -> None:
        nonlocal calls
        if event == "call" and frame.f_code.co_filename.startswith(_HOME):
            files.add(frame.f_code.co_filename.removeprefix(_HOME))
        calls += event in ("call", "c_call")

    sys.setprofile(follow)
    try:
        step()
    finally:
        sys.setprofile(None)
    return Trace(frozenset(files), calls)


def queries(count: int) -> list[tuple[str, str]]:
    return [(f"s{n}", f"SELECT ?x WHERE {{ ?x :p{n % 50} ?y . ?y :q{n % 7} :c{n} }}") for n in range(count)]


def one_document(bindings: int = 0) -> Trace:
    """A document of 30 triples given as tuples, with five matches among a thousand subscriptions."""
    engine = Filter(algorithm="indexed")
    engine.subscribe(queries(1000))
    triples = [(f"a{n}", f"p{n}", f"b{n}") for n in range(15)]
    triples += [(f"b{n}", f"q{n % 7}", f"c{n + 50 * (n % 3)}") for n in range(15)]
    for _ in range(3):
        assert len(list(engine.publish([("d", triples)], bindings=bindings))) == 5
    return trace(lambda: list(engine.publish([("d", triples)], bindings=bindings)))


def one_command(folder: Path) -> Trace:
    """`heliograph filter` on tables of a thousand subscriptions and of one document, to a file."""
    subscriptions = "".join(f"{id},{query}\n" for id, query in queries(1000))
    (folder / "subscriptions.csv").write_text(f"subscription_id,query\n{subscriptions}")
    (folder / "publications.csv").write_text("publication_id,subject,property,object\nd,a,p3,b\nd,b,q3,c3\n")
    command = ["filter", "--out", str(folder / "notifications.parquet")]
    for option in ("subscriptions", "publications"):
        command += [f"--{option}", str(folder / f"{option}.csv")]

    def run() -> None:
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output

    run()  # so that loading the modules is not counted
    return trace(run)


def one_update() -> Trace:
    """An update that is new to the graph, among a thousand queries of two edges; it completes some of them."""
    engine = Watch(algorithm="indexed")
    engine.subscribe(queries(1000))
    engine.publish(
        [{"op": "+", "subject": f"b{n % 5}", "property": f"q{n % 7}", "object": f"c{n}"} for n in range(700)]
    )
    rows = [{"op": "+", "subject": f"n{n % 5}", "property": f"p{n % 50}", "object": f"b{n % 5}"} for n in range(100)]
    for row in rows[:60]:
        engine.publish([row])
    gone = {**rows[0], "op": "-"}
    engine.publish([gone])
    return trace(lambda: list(engine.publish([rows[0]])))


def one_event() -> Trace:
    """An event through an exchange of 3,000 nodes, by the kernels."""
    nodes = [
        {"node_id": f"n{n}", "targeting": f"topic IN ('t{n % 7}', 't{n % 3}') AND age > {n % 50}"} for n in range(3000)
    ]
    edges = [{"source": f"n{n}", "target": f"n{m}"} for n in range(3000) for m in (2 * n + 1, 2 * n + 2) if m < 3000]
    engine = Route(nodes, edges, algorithm="lanes")
    event = [{"event_id": "e", "publisher": "n0", "attributes": '{"topic": "t1", "age": 40}'}]
    for _ in range(3):
        engine.publish(event)
    return trace(lambda: list(engine.publish(event)))
