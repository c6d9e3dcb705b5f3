"""An evolving social graph: standing queries gain and lose matches as edges come and go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from heliograph.demo import DATA
from heliograph.demo.stage import Column, Stage
from heliograph.model import Notification, Notifications
from heliograph.tables.items import as_table
from heliograph.watch import Watch

FOLDER = DATA / "social"

CODE = """
w = Watch(witness=True)
w.subscribe("queries.csv")
w.publish("updates.csv")
"""


def tell(stage: Stage) -> None:
    """The story; everything shown is computed from the shipped files."""
    stage.title(3, "watch", "Which standing queries did this change of a graph make true, or false?")
    stage.say("People meet, like things and part. Five queries stand over the graph while it changes, one by a metric.")
    engine = Watch(witness=True)
    queries = as_table("subscriptions", FOLDER / "queries.csv")
    engine.subscribe(queries)
    stage.table("The queries", [Column("subscription", "cyan", True), Column("asks for")], _queries(queries.table))
    stage.code("python", CODE)
    updates = as_table("updates", FOLDER / "updates.csv")
    said = engine.publish(updates)
    stage.table("Updates, and what each completed or broke", _COLUMNS, list(_rows(updates.table.to_pylist(), said)))
    stage.why_not("circle is silent at the end", engine.explain("circle"))


_COLUMNS = [
    Column("#", "", True),
    Column("update", "magenta", True),
    Column("notifies", "cyan", True),
    Column("with"),
    Column("witness edges"),
]


def _queries(table: Any) -> list[tuple[str, str]]:
    return [(row["subscription_id"], row["query"]) for row in table.to_pylist()]


def _rows(updates: list[dict[str, Any]], said: Notifications) -> Iterator[tuple[str, ...]]:
    for number, update in enumerate(updates, 1):
        shown = f"{update['op']} {update['subject']} {update['property']} {update['object']}"
        row = (str(number), shown)
        hits = [hit for hit in said if hit.publication_id == str(number)]
        for hit in hits:
            yield (*row, f"{hit.change} {hit.subscription_id}", _bindings(hit), _edges(hit))
            row = ("", "")
        if not hits:
            yield (*row, "", "", "")


def _bindings(hit: Notification) -> str:
    proof = hit.proof or {}
    shown = [f"{name} = {value}" for name, value in (proof.get("bindings") or {}).items()]
    shown += [f"value {proof['value']}"] if "value" in proof else []
    return ", ".join(shown)


def _edges(hit: Notification) -> str:
    """The edges of a match that was gained; those of a lost one are the same."""
    if hit.change == "-":
        return ""
    return ", ".join(" ".join(map(str, edge)) for edge in (hit.proof or {}).get("edges", ()))
