"""Random streams over a world small enough for everything to happen: updates, and the queries that watch them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.watch.naive import Step

VERTICES = ("a", "b", "c", "d")
PROPERTIES = ("p", "q")
VALUES = ("1", "2", '"x"')
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def row(step: Step, seq: int | None = None) -> dict[str, Any]:
    """A step as a row of an updates table."""
    at = None if step.at is None else EPOCH + timedelta(seconds=step.at)
    cells = {"op": step.op, "subject": step.subject, "property": step.predicate, "object": step.object, "at": at}
    return cells if seq is None else {"seq": seq, **cells}


@st.composite
def steps(draw: st.DrawFn, timed: bool = False) -> Step:
    op = draw(st.sampled_from("+++++--="))
    at = draw(st.integers(0, 20)) if timed else None
    subject = draw(st.sampled_from(VERTICES))
    if op == "-" and draw(st.integers(0, 3)) == 0:
        return Step("-", subject, at=at)
    return Step(op, subject, draw(st.sampled_from(PROPERTIES)), draw(st.sampled_from(VERTICES + VALUES)), at)


VALUED = ("", "", "VALUES ?y { :a :b 1 }", "VALUES (?x ?w) { (:a UNDEF) (UNDEF 1) (:b 2) }", "VALUES ?x { }")
NODES = ("?x", "?y", "?z", ":a", ":b")
FILTERS = ("?x != ?y", "?x = :a || ?y = :b", "isLiteral(?y)", "?y > 1", "?x IN (:a, :c)", 'STR(?y) = "x"')


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """A group graph pattern that binds ?x, and mostly ?y."""
    links = st.sampled_from((":p", ":p", ":q", ":q", "?r"))
    first = f"?x {draw(links)} {draw(st.sampled_from(('?y', '?y', '?y', ':a', ':b', '1')))}"
    others = [
        f"{draw(st.sampled_from(NODES))} {draw(links)} {draw(st.sampled_from((*NODES, '1')))}"
        for _ in range(draw(st.integers(0, 2)))
    ]
    conditions = [f"FILTER({condition})" for condition in draw(st.lists(st.sampled_from(FILTERS), max_size=1))]
    return " . ".join((first, *others)) + " " + " ".join(conditions)


@st.composite
def queries(draw: st.DrawFn) -> str:
    body = f"{draw(bodies())} {draw(st.sampled_from(VALUED))}"
    least = draw(st.integers(0, 3))
    operator = draw(st.sampled_from((">=", ">", "<", "=")))
    return draw(
        st.sampled_from(
            (
                f"SELECT * {{ {body} }}",
                f"SELECT DISTINCT ?x {{ {body} }}",
                f"ASK {{ {body} }}",
                f"SELECT (COUNT(*) AS ?n) {{ {body} }} HAVING (COUNT(*) {operator} {least})",
                f"SELECT ?x (COUNT(*) AS ?n) {{ {body} }} GROUP BY ?x HAVING (COUNT(*) {operator} {least})",
            )
        )
    )
