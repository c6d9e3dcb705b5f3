"""The map of the house: every package and root module, in layers, with one line each.

A module imports only from its own layer or from layers before it. `test_house.py` checks that, and that CONTRIBUTING.md
shows this table; `python -m tests.house.layers` prints it as CONTRIBUTING wants it.
"""

from __future__ import annotations

LAYERS: tuple[dict[str, str], ...] = (
    {
        "errors": "the exception tree; every error has a code, a place and a fix",
        "values": "typed values of literals: numbers, dates, their order",
        "terms": "RDF terms and how they are spelled in cells",
    },
    {
        "model": "what engines return: notifications, rejected items, receipts, stats, explanations",
        "storage": "saves: atomic folders with checksums and locks",
        "compiled": "what kernels share: compiling and its cache, hash tables, growing arrays, bitmaps, texts",
    },
    {"vocabulary": "terms ↔ ids, one by one and in columns"},
    {
        "io": "files, tables, items, RDF documents and feeds in; notifications out",
        "taxonomy": "classes and what lies above them",
    },
    {
        "sparql": "queries: parser, tables of patterns, evaluation, the solver, regions where a condition holds",
        "predicate": "SQL predicates of route: parser, evaluation, compiled form, the predicate index",
    },
    {"subscriptions": "the registry of subscriptions that filter and watch share"},
    {
        "filter": "which graph-pattern subscriptions does this document match?",
        "partition": "which shard gets which subscription: hash, containment, merging",
        "watch": "which continuous queries did this update make true or false? `watch/metrics`: one file a metric",
        "route": "which nodes can this event reach along a path that accepts it?",
    },
    {"papers": "the papers' algorithms by name; no engine imports them in advance"},
    {
        "workloads": "seeded workloads of the papers, any size",
        "lint": "findings about subscriptions before they are used",
        "demo": "the stories of `heliograph demo`",
        "spark": "the same three verbs on DataFrames, batch and stream",
    },
    {"cli": "the command line", "__main__": "`python -m heliograph`"},
)


def layer_of(part: str) -> int:
    return next((number for number, parts in enumerate(LAYERS) if part in parts), -1)


def table() -> str:
    rows = ["| layer | part | what it holds |", "| --- | --- | --- |"]
    for number, parts in enumerate(LAYERS, 1):
        rows += [f"| {number} | `{part}` | {line} |" for part, line in parts.items() if not part.startswith("_")]
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
