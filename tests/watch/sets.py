"""Random sets of subscriptions: patterns, counts, top-k sets and metrics together, over one stream.

The laws that they are for: all ways of answering tell the same, in any cut of the stream; and what a subscription is
told does not depend on which others there are, but for the members of its own top-k set.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from heliograph import Notification, Watch
from heliograph.model import Explanation
from tests.watch import scenes
from tests.watch.metrics import questions
from tests.watch.scenes import Act, Scene, Terms

# Queries that are often true, so that much is told.
SIMPLE = (
    "SELECT * {{ ?x {p} ?y }}",
    "SELECT * {{ ?x {p} {a} }}",
    "SELECT * {{ ?x {p} ?y . ?y {q} ?z }}",
    "SELECT DISTINCT ?x {{ ?x {p} ?y }}",
    "SELECT DISTINCT ?y {{ ?x {p} ?y . ?y {q} ?z }}",
    "ASK {{ ?x {p} {a} }}",
    "ASK {{ {a} {p} {b} }}",
    "SELECT (COUNT(*) AS ?n) {{ ?x {p} ?y }} HAVING (COUNT(*) >= 2)",
    "SELECT ?x (COUNT(*) AS ?n) {{ ?x {p} ?y }} GROUP BY ?x HAVING (COUNT(*) >= 2)",
    "SELECT ?y (COUNT(*) AS ?n) {{ ?x {p} ?y . ?x {q} ?z }} GROUP BY ?y HAVING (COUNT(*) > 1)",
)
TERMS = Terms(questions.VERTICES, questions.PROPERTIES, ("1", "2", '"x"'))


def settings(r: Random) -> dict[str, Any]:
    windows: tuple[dict[str, Any], ...] = (
        {},
        {"window": r.choice(("5s", "30s"))},
        {"window_updates": r.choice((3, 8, 40))},
        {"window": "20s", "window_updates": 9},
    )
    return {"mode": r.choice(("each", "change")), "witness": r.random() < 0.15, **r.choice(windows)}


def subscription(r: Random, id: str) -> dict[str, Any]:
    """A pattern, a count, a member of a top-k set or a metric."""
    if r.random() < 0.4:
        text = questions.grouped(r, questions.query(r))
        return {"subscription_id": id, "query": text, "options": questions.options(r, text)}
    names = {"p": f":{r.choice(TERMS.properties)}", "q": f":{r.choice(TERMS.properties)}"}
    ends = dict(zip("ab", (f":{each}" for each in r.sample(TERMS.vertices, 2)), strict=True))
    text = r.choice(SIMPLE).format(**names, **ends) if r.random() < 0.6 else scenes.query(r, TERMS)
    given = json.loads(scenes.options(r, text))
    if "HAVING" not in text and "ASK" not in text and r.random() < 0.4:
        given["top_k_of"] = {"set": r.choice("st"), "k": r.randint(1, 2)}
    return {"subscription_id": id, "query": text, "options": json.dumps(given)}


def draw(r: Random, acts: int = 12, most: int = 30) -> Scene:
    """A scene in which subscriptions come and go; `most` updates are published at once."""
    scene, asked, number, time = Scene(settings(r)), list[str](), 0, 0
    timed = "window" in scene.settings
    for _ in range(acts):
        chance = r.random()
        if chance < 0.2 or not asked:
            rows = []
            for _ in range(r.randint(2, 6)):
                number += 1
                rows.append(subscription(r, f"s{number:02d}"))
            asked += [row["subscription_id"] for row in rows]
            scene.acts.append(("subscribe", rows))
        elif chance < 0.3:
            scene.acts.append(("unsubscribe", [asked.pop(r.randrange(len(asked)))]))
        else:
            updates = []
            for _ in range(r.randint(1, most)):
                time += r.choice((0, 0, 0, 1, 1, 3))
                updates.append(scenes.update(r, TERMS, time if timed else None))
            scene.acts.append(("load" if chance < 0.36 else "publish", updates))
    return scene


# --- playing ----------------------------------------------------------------------------------------------------


class Stand(NamedTuple):
    """What an act told, and what is said of every subscription after it."""

    told: tuple[scenes.Told, ...]
    explained: dict[str, tuple[bool, str]]


def play(watch: Watch, acts: Sequence[Act], r: Random | None = None) -> Iterator[Stand]:
    """Plays acts; with `r`, updates are published in batches cut anywhere. It explains when subscriptions came or went,
    and in the end."""
    ids: dict[str, None] = {}
    for number, (kind, what) in enumerate(acts, 1):
        parts = list(cuts(what, r)) if kind == "publish" and r is not None else [what]
        told = tuple(scenes.act(watch, (kind, part)) for part in parts)
        if kind == "subscribe":
            ids |= dict.fromkeys(row["subscription_id"] for row in what)
        elif kind == "unsubscribe":
            for id in what:
                ids.pop(id, None)
        explained = known(watch, ids) if kind.endswith("subscribe") or number == len(acts) else ()
        yield Stand(told, {id: brief(watch.explain(id)) for id in explained})


def known(watch: Watch, ids: Iterable[str]) -> list[str]:
    """Those that were not refused."""
    return [id for id in ids if id in watch._subscriptions]


def cuts(rows: list[Any], r: Random) -> Iterator[list[Any]]:
    while rows:
        size = r.choice((1, 1, 2, 3, len(rows)))
        yield rows[:size]
        rows = rows[size:]


def brief(explanation: Explanation) -> tuple[bool, str]:
    return explanation.matched, explanation.summary


def notes(stand: Stand) -> list[Notification]:
    return [note for told in stand.told for note in told.notifications]


# --- apart ------------------------------------------------------------------------------------------------------


def apart(scene: Scene) -> Iterator[tuple[frozenset[str], Scene]]:
    """The scene of each subscription alone, and of each top-k set."""
    sets: dict[str, set[str]] = {}
    for kind, what in scene.acts:
        for row in what if kind == "subscribe" else ():
            top = json.loads(row["options"] or "{}").get("top_k_of")
            sets.setdefault(row["subscription_id"] if top is None else f"set {top['set']}", set()).add(
                row["subscription_id"]
            )
    for ids in sets.values():
        yield frozenset(ids), Scene(scene.settings, list(_only(scene.acts, ids)))


def _only(acts: Iterable[Act], ids: set[str]) -> Iterator[Act]:
    for kind, what in acts:
        if kind == "subscribe":
            yield kind, [row for row in what if row["subscription_id"] in ids]
        elif kind == "unsubscribe":
            yield kind, [id for id in what if id in ids]
        else:
            yield kind, what
