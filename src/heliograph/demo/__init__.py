"""Small stories on shipped data, one for each verb and one on Spark, shown with the public Python API."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from heliograph.errors import SetupError
from heliograph.filter import Filter
from heliograph.io.documents import read_documents
from heliograph.io.publications import Publications
from heliograph.io.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, Source, find_sources
from heliograph.io.tables import as_table
from heliograph.model import Explanation, Notifications
from heliograph.route import Route
from heliograph.spark.environment import check_environment
from heliograph.watch import Watch

DATA = Path(__file__).parent / "data"

# --- what prints a story: text, pictures and tables that read well on a terminal and in a pipe ---

WIDTH = 92


STYLES = {"publication": "magenta", "visit": "magenta", "update": "magenta"}
STYLES |= dict.fromkeys(("subscription", "notifies", "reaches", "node"), "cyan")
BROKEN = ("publication", "because", "asks for", "event", "with", "witness edges", "would")  # into lines, where too long


class StoryPrinter:
    """Prints a story, piece by piece."""

    def __init__(self) -> None:
        terminal = Console(file=sys.stdout)
        width = min(WIDTH, terminal.width) if terminal.is_terminal else WIDTH
        self._console = Console(file=sys.stdout, width=width, highlight=False)

    def title(self, number: int, verb: str, question: str) -> None:
        self._console.print()
        heading = Text.assemble((f" {number} ", "bold reverse"), (f" {verb}", "bold cyan"), f"  {question}")
        self._console.print(Panel(heading, box=box.HEAVY, border_style="cyan", padding=(0, 1)))

    def say(self, text: str) -> None:
        self._console.print(Text(text))

    def picture(self, text: str) -> None:
        self._console.print()
        for line in text.strip("\n").splitlines():
            self._console.print(Text(f"  {line}", "blue"), soft_wrap=True)
        self._console.print()

    def code(self, language: str, text: str) -> None:
        code = Syntax(text.strip("\n"), language, theme="ansi_dark", background_color="default")
        self._console.print(Panel(code, box=box.ROUNDED, border_style="dim", title=language, title_align="left"))

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        drawn = Table(title=title, title_style="bold", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for column in columns:
            drawn.add_column(column, style=STYLES.get(column, ""), no_wrap=column not in BROKEN)
        for row in rows:
            drawn.add_row(*(Text(cell) for cell in row))
        self._console.print(drawn)

    def why_not(self, question: str, explanation: Explanation) -> None:
        text = Text(explanation.summary)
        for step in explanation.held:
            text.append(f"\n  ✓ {step}", "green")
        if explanation.failed:
            text.append(f"\n  ✗ {explanation.failed}", "red")
        title = f"Why not? {question}"
        self._console.print(Panel(text, box=box.ROUNDED, border_style="yellow", title=title, title_align="left"))

    def commands(self, title: str, lines: Sequence[str]) -> None:
        """Lines to copy: a long one is folded as a shell allows, and nothing else is broken."""
        self._console.print(Text(f"\n{title}", "bold"))
        for line in lines:
            folded = line.replace(" --", " \\\n      --") if len(line) > WIDTH else line
            self._console.print(Text(f"  {folded}", "green"), soft_wrap=True)


# --- feed alerts with a class taxonomy, after [G] figures 5 and 6: which paper reaches which reader, and why ---

FOLDER = DATA / "feeds"

TAXONOMY = """
Publication
├── Journal ── TKDE
├── Conference Proceedings ── SIGMOD · VLDB · WWW
│                              └── Arno's Paper #17
└── Technical Report    (a Department Publication as well)
"""

PAPER = """
Arno's Paper #17 ── author ──▶ "Arno Jacobsen"
   ├── title ──▶ "Very Fast…"
   └── conference ──▶ SIGMOD ── year ──▶ 2001
                         └── location ──▶ "Some Location"
"""

CODE = """
heliograph filter --subscriptions queries --publications documents \\
    --taxonomy taxonomy.csv --bindings 1
"""


def show_feeds(stage: StoryPrinter) -> None:
    """The story; everything shown is computed from the shipped files."""
    stage.title(1, "filter", "Which standing queries does each arriving document match?")
    stage.say("Four readers left a query each. Two papers (TriG) and a library's RSS feed arrive. One of the papers:")
    stage.picture(PAPER)
    stage.say("Classes stand in a taxonomy, so a query for a Publication finds it through SIGMOD:")
    stage.picture(TAXONOMY)
    engine = Filter(taxonomy=FOLDER / "taxonomy.csv")
    queries = _queries()
    engine.subscribe(queries)
    opening = [(id, text.splitlines()[0].removeprefix("# ")) for id, text in queries]  # the comment of each file
    stage.table("The queries", ("subscription", "asks for"), opening)
    stage.code("sh", CODE)
    batches = [documents.publications for documents in read_documents(_sources(), engine.vocabulary.overlay())]
    stage.table(
        "What each document set off",
        ("publication", "notifies", "because"),
        [row for batch in batches for row in _hits(batch, engine.publish(batch, bindings=1))],
    )
    for batch in batches:
        for number, publication_id in enumerate(batch.ids):
            if publication_id.endswith("paper-18"):
                explanation = engine.explain("by-arno", batch.some(number, number + 1))
                stage.why_not(f"by-arno did not hear of {publication_id}", explanation)


def _queries() -> list[tuple[str, str]]:
    return [(path.stem, path.read_text()) for path in sorted((FOLDER / "queries").glob("*.rq"))]


def _sources() -> list[Source]:
    return find_sources(FOLDER / "documents", DOCUMENT_SUFFIXES + FEED_SUFFIXES)


def _hits(batch: Publications, found: Notifications) -> Iterator[tuple[str, str, str]]:
    for publication_id in batch.ids:
        hits = [hit for hit in found if hit.publication_id == publication_id]
        for number, hit in enumerate(hits):
            because = ", ".join(f"{name} = {value}" for name, value in hit.proof["bindings"][0].items())
            yield "" if number else publication_id, hit.subscription_id, because
        if not hits:
            yield publication_id, "none", ""


# --- an ad exchange after [B] figure 1: which advertisers a visit reaches, at what cost, and what stands in the way ---
#
# The figure's drawing is lost in the scans. Its labels and its sentence remain: a visit to a sports page of Pub1 by
# someone of 35 satisfies Net1, Net2 and Adv1 alone. The edges here are a reconstruction that agrees with both.

EXCHANGE_FOLDER = DATA / "exchange"

EXCHANGE = """
Pub1 ──▶ Net1 ◀──▶ Net3 ◀── Pub3      Net1  Sports or Finance, age > 30
          ▲ ╲        ├──▶ Adv2        Net2  Sports or Local News
          │  ╲       ├──▶ Adv3        Net3  World News or Finance, age > 40
          ▼   ╲      └──▶ Adv4        Adv1  Sports       Adv2  age 30 to 60
Pub2 ──▶ Net2 ─▶ Adv1                 Net1 ──▶ Adv1  mobile only
"""

EXCHANGE_CODE = """
r = Route(nodes="nodes.csv", edges="edges.csv")
r.publish("events.ndjson", rank="cost", subscribers_only=True)
"""


def show_exchange(stage: StoryPrinter) -> None:
    """The story; everything shown is computed from the shipped files."""
    stage.title(2, "route", "Which nodes can this event reach, if each on the way may refuse it?")
    stage.say("Publishers sell visits through networks to advertisers; every node and edge has its own rule, in SQL.")
    stage.picture(EXCHANGE)
    stage.code("python", EXCHANGE_CODE)
    engine = Route(nodes=EXCHANGE_FOLDER / "nodes.csv", edges=EXCHANGE_FOLDER / "edges.csv")
    events = as_table("events", EXCHANGE_FOLDER / "events.ndjson").table.to_pylist()
    reached = engine.publish(events, rank="cost", subscribers_only=True)
    columns = ("visit", "from", "event", "reaches", "along", "cost")
    stage.table("Visits and the advertisers they reach, cheapest path first", columns, _visits(events, reached))
    stage.why_not("Adv2 wants ages 30 to 60 and visit-1 is 35, yet nothing came", engine.explain("Adv2", events[0]))
    changes = engine.what_if(EXCHANGE_FOLDER / "changes.csv", events).to_pylist()
    stage.say("What if Net3 took Sports too, from 30 on? Ask before you change it (route --what-if):")
    would = [(row["event_id"], row["node_id"], "be reached" if row["after"] else "be lost") for row in changes]
    stage.table("", ("visit", "node", "would"), would)


def _visits(events: list[dict[str, Any]], reached: Notifications) -> Iterator[tuple[str, ...]]:
    for event in events:
        said = ", ".join(f"{name} {value}" for name, value in json.loads(event["attributes"]).items())
        visit = (event["event_id"], event["publisher"], said)
        hits = [hit for hit in reached if hit.publication_id == event["event_id"]]
        for hit in hits:
            yield (*visit, hit.subscription_id, " → ".join(hit.proof["path"][1:-1]), f"{hit.proof['cost']:.1f}")
            visit = ("", "", "")
        if not hits:
            yield (*visit, "none", "", "")


# --- an evolving social graph: standing queries gain and lose matches as edges come and go ---

SOCIAL_FOLDER = DATA / "social"

SOCIAL_CODE = """
w = Watch(witness=True)
w.subscribe("queries.csv")
w.publish("updates.csv")
"""


def show_social(stage: StoryPrinter) -> None:
    """The story; everything shown is computed from the shipped files."""
    stage.title(3, "watch", "Which standing queries did this change of a graph make true, or false?")
    stage.say("People meet, like things and part. Five queries stand over the graph while it changes, one by a metric.")
    engine = Watch(witness=True)
    queries = as_table("subscriptions", SOCIAL_FOLDER / "queries.csv")
    engine.subscribe(queries)
    texts = [(row["subscription_id"], row["query"]) for row in queries.table.to_pylist()]
    stage.table("The queries", ("subscription", "asks for"), texts)
    stage.code("python", SOCIAL_CODE)
    updates = as_table("updates", SOCIAL_FOLDER / "updates.csv")
    rows = _completed(updates.table.to_pylist(), engine.publish(updates))
    stage.table("Updates, and what each completed or broke", ("#", "update", "notifies", "with", "witness edges"), rows)
    stage.why_not("circle is silent at the end", engine.explain("circle"))


def _completed(updates: list[dict[str, Any]], found: Notifications) -> Iterator[tuple[str, ...]]:
    for number, update in enumerate(updates, 1):
        row = (str(number), f"{update['op']} {update['subject']} {update['property']} {update['object']}")
        hits = [hit for hit in found if hit.publication_id == str(number)]
        for hit in hits:
            proof = hit.proof or {}
            bound = [f"{name} = {value}" for name, value in (proof.get("bindings") or {}).items()]
            bound += [f"value {proof['value']}"] if "value" in proof else []
            edges = () if hit.change == "-" else proof.get("edges", ())  # those of a lost match are the same
            witness = ", ".join(" ".join(map(str, edge)) for edge in edges)
            yield (*row, f"{hit.change} {hit.subscription_id}", ", ".join(bound), witness)
            row = ("", "")
        if not hits:
            yield (*row, "", "", "")


# --- the first story again, on Spark: the same documents in a DataFrame, the same notifications out of it ---

SPARK_CODE = """
from heliograph.spark import filter, session
spark = session("local[2]")
documents = spark.read.format("binaryFile").load("documents")
division = {"shards": 2, "partition": "containment"}
found = filter(documents, queries, taxonomy="taxonomy.csv", **division)
"""


def show_spark(stage: StoryPrinter) -> None:
    """The story; without Java it says what it would need."""
    stage.title(4, "spark", "The same filter as a data pipeline: DataFrame in, DataFrame out.")
    try:
        check_environment()
    except SetupError as error:
        stage.say(f"Not shown here: {error.message}. Everything above works without it.")
        return
    stage.say("The queries are planned into two shards; Spark's workers parse the documents and match them there:")
    stage.code("python", SPARK_CODE)
    found = _on_spark(_queries())
    engine = Filter(taxonomy=FOLDER / "taxonomy.csv")
    engine.subscribe(_queries())
    batches = [engine.publish(each.publications) for each in read_documents(_sources(), engine.vocabulary.overlay())]
    expected = sorted((str(hit.publication_id), hit.subscription_id) for batch in batches for hit in batch)
    stage.table("What came out", ("publication", "notifies"), found)
    same = "the same" if found == expected else "NOT the same"
    stage.say(f"{len(found)} notifications on Spark, {len(expected)} of the embedded engine: {same}.")


def _on_spark(queries: list[tuple[str, str]]) -> list[tuple[str, str]]:
    from heliograph.spark import filter, session

    spark = session("local[2]")
    try:
        rows = [(source.name, source.path.read_bytes()) for source in _sources() if source.path is not None]
        documents = spark.createDataFrame(rows, "path string, content binary")
        options: Any = {"taxonomy": FOLDER / "taxonomy.csv", "shards": 2, "partition": "containment"}
        found = filter(documents, queries, **options).where("rejected IS NULL").collect()
        return sorted((row.publication_id, row.subscription_id) for row in found)
    finally:
        spark.stop()
