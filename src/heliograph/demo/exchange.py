"""An ad exchange after [B] figure 1: which advertisers a visit reaches, at what cost, and what stands in the way.

The figure's drawing is lost in the scans. Its labels and its sentence remain: a visit to a sports page of Pub1 by
someone of 35 satisfies Net1, Net2 and Adv1 alone. The edges here are a reconstruction that agrees with both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from heliograph.demo import DATA
from heliograph.demo.stage import Column, Stage
from heliograph.model import Notifications
from heliograph.route import Route
from heliograph.tables.items import as_table

FOLDER = DATA / "exchange"

EXCHANGE = """
Pub1 ──▶ Net1 ◀──▶ Net3 ◀── Pub3      Net1  Sports or Finance, age > 30
          ▲ ╲        ├──▶ Adv2        Net2  Sports or Local News
          │  ╲       ├──▶ Adv3        Net3  World News or Finance, age > 40
          ▼   ╲      └──▶ Adv4        Adv1  Sports       Adv2  age 30 to 60
Pub2 ──▶ Net2 ─▶ Adv1                 Net1 ──▶ Adv1  mobile only
"""

CODE = """
r = Route(nodes="nodes.csv", edges="edges.csv")
r.publish("events.ndjson", rank="cost", subscribers_only=True)
"""


def tell(stage: Stage) -> None:
    """The story; everything shown is computed from the shipped files."""
    stage.title(2, "route", "Whom can this event reach, if everyone on the way may refuse it?")
    stage.say("Publishers sell visits through networks to advertisers; every node and edge has its own rule, in SQL.")
    stage.picture(EXCHANGE)
    stage.code("python", CODE)
    engine = Route(nodes=FOLDER / "nodes.csv", edges=FOLDER / "edges.csv")
    events = as_table("events", FOLDER / "events.ndjson").table.to_pylist()
    reached = engine.publish(events, rank="cost", subscribers_only=True)
    stage.table("Visits and the advertisers they reach, cheapest path first", _COLUMNS, list(_rows(events, reached)))
    stage.why_not("Adv2 wants ages 30 to 60 and visit-1 is 35, yet nothing came", engine.explain("Adv2", events[0]))
    changes = engine.what_if(FOLDER / "changes.csv", events).to_pylist()
    stage.say("What if Net3 took Sports too, from 30 on? Ask before you change it (route --what-if):")
    stage.table(
        "", [Column("visit", "magenta", True), Column("node", "cyan", True), Column("would")], _changes(changes)
    )


_COLUMNS = [
    Column("visit", "magenta", True),
    Column("from", "", True),
    Column("event"),
    Column("reaches", "cyan", True),
    Column("along", "", True),
    Column("cost", "", True),
]


def _rows(events: list[dict[str, Any]], reached: Notifications) -> Iterator[tuple[str, ...]]:
    for event in events:
        told = ", ".join(f"{name} {value}" for name, value in json.loads(event["attributes"]).items())
        visit = (event["event_id"], event["publisher"], told)
        hits = [hit for hit in reached if hit.publication_id == event["event_id"]]
        for hit in hits:
            yield (*visit, hit.subscription_id, " → ".join(hit.proof["path"][1:-1]), f"{hit.proof['cost']:.1f}")
            visit = ("", "", "")
        if not hits:
            yield (*visit, "nobody", "", "")


def _changes(changes: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(row["event_id"], row["node_id"], "be reached" if row["after"] else "be lost") for row in changes]
