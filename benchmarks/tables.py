"""The speed tables, by name: what `heliograph bench --check NAME` runs."""

from __future__ import annotations

from functools import partial

from benchmarks import (
    document_speed,
    filter_changes,
    filter_compilation,
    filter_size,
    filter_speed,
    first_contact,
    predicate_compilation,
    predicate_index,
    route_changes,
    route_size,
    route_speed,
    spark_speed,
    vocabulary_speed,
)
from benchmarks.check import Row
from benchmarks.metric_table import METRICS
from benchmarks.partition_table import PARTITION
from benchmarks.spark_table import SHARDED
from benchmarks.watch_table import WATCH

FOUNDATION = [
    Row(
        "intern terms",
        "5,000,000 cells, 20,000 distinct",
        "terms/s",
        5e6,
        vocabulary_speed.measure,
        at_least=True,
        repeats=5,
    ),
    Row("read N-Triples", "300,000 triples, against pyoxigraph alone", "×", 2.2, document_speed.measure_ntriples),
    Row("read Turtle", "300,000 triples, against pyoxigraph alone", "×", 2.2, document_speed.measure_turtle),
    Row("read feeds", "RSS 2.0, 8 children an item", "items/s", 20_000, document_speed.measure_feed, at_least=True),
    Row("compile SPARQL", "100,000 of 10 triples, shapes shared", "s", 20, filter_compilation.measure_sparql),
    Row(
        "compile SPARQL, apart",
        "100,000 of 10 triples, all shapes different",
        "s",
        20,
        filter_compilation.measure_sparql_apart,
    ),
    Row("compile pattern tables", "100,000 of 10 rows, with constraints", "s", 5, filter_compilation.measure_patterns),
    Row(
        "compile SQL, apart",
        "11,000 of 6–12 comparisons, all shapes different",
        "s",
        6,
        predicate_compilation.measure_apart,
    ),
    Row(
        "compile SQL, shared", "11,000 of 6–12 comparisons, 200 shapes", "s", 1.5, predicate_compilation.measure_shared
    ),
    Row("help", "heliograph --help in a fresh process", "s", 0.3, first_contact.measure_help, repeats=5),
    Row("first filter", "small files, empty kernel cache", "s", 5, first_contact.measure_first_filter),
    Row("second filter", "small files, everything warm", "s", 1.5, first_contact.measure_second_filter),
    Row("demo", "heliograph demo in a fresh process", "s", 30, first_contact.measure_demo),
]

# Publications of 30 nodes and 90 edges, subscriptions of 5 nodes and 10 edges, 2 variables in 90 %, half overlapping,
# 100 matches a publication; batches of 1,000: 100 publications ten times, unless the row says otherwise. To load a
# workload takes far longer than to match with it, so a row takes its samples from one workload, that of the seed.
FILTER = [
    Row(
        "match",
        "100,000 subscriptions, against a pyoxigraph ASK for each",
        "×",
        70_000,
        filter_speed.measure_matching,
        at_least=True,
        repeats=1,
    ),
    Row(
        "match, time",
        "the same, a publication; 5 timings of one workload",
        "µs",
        100,
        filter_speed.measure_matching_time,
        repeats=1,
    ),
    Row("match, 500 different", "500 publications twice", "µs", 100, filter_speed.measure_different, repeats=1),
    Row("match, strings", "the batch as a table of strings", "µs", None, filter_speed.measure_strings, repeats=1),
    Row("candidates", "candidates a match in the first row", "×", 2, filter_speed.measure_candidates, repeats=1),
    Row(
        "one structure",
        "100,000 one- or two-sided ranges, against pyoxigraph",
        "×",
        200_000,
        filter_speed.measure_structure,
        at_least=True,
        repeats=1,
    ),
    Row("one structure, time", "the same, a publication", "µs", 50, filter_speed.measure_structure_time, repeats=1),
    Row("one structure, flat", "100,000 ranges against 10,000", "×", 1.5, filter_speed.measure_flatness, repeats=1),
    Row(
        "hard negatives",
        "half of the non-matching lack one edge; against “match”",
        "×",
        1.5,
        filter_speed.measure_hard_negatives,
        repeats=1,
    ),
    Row("is-a", "half the variables, 200 classes; against “match”", "×", 1.5, filter_speed.measure_is_a, repeats=1),
    Row(
        "documents", "1,000 N-Triples files, against parsing alone", "×", 2.5, filter_speed.measure_documents, repeats=1
    ),
    Row("match 1,000,000", "as many matches; against “match”", "×", 3, filter_speed.measure_many, repeats=1),
    Row("load", "100,000 from pattern tables, in a fresh process", "s", 5, filter_size.measure_load),
    Row("memory", "resident, a subscription", "B", 1_500, filter_size.measure_memory),
    Row(
        "subscribe one",
        "20,000 while publishing, as text and rows",
        "µs",
        1_000,
        filter_changes.measure_subscribe,
        repeats=1,
    ),
    Row(
        "unsubscribe one", "the same 20,000 while publishing", "µs", 100, filter_changes.measure_unsubscribe, repeats=1
    ),
    Row("longest pause", "of a publish meanwhile, above the median", "ms", 50, filter_changes.measure_pause, repeats=1),
]


def _at_selectivity(text: str, selectivity: float, times: float) -> list[Row]:
    """What is claimed at one selectivity, and what else is worth knowing."""
    walk, tuned, paper, rate = (
        partial(measure, selectivity=selectivity)
        for measure in (
            route_speed.measure_walk,
            route_speed.measure_tuned_walk,
            route_speed.measure_paper,
            route_speed.measure_rate,
        )
    )
    against = "1,000 events, against a walk calling a lambda a node met"
    fastest = "against the fastest of general scc-skip index-bfs bfs"
    return [
        Row(f"route {text}", against, "×", times, walk, at_least=True, repeats=1),
        Row(f"route {text}, paper", fastest, "×", 1, paper, at_least=True, repeats=1),
        Row(f"route {text}, tuned walk", "against a walk with lambdas of six arguments", "×", None, tuned, repeats=1),
        Row(f"route {text}, rate", "the engine's", "events/s", None, rate, repeats=1),
    ]


def _first_result(text: str, selectivity: float) -> list[Row]:
    first, published = (
        partial(measure, selectivity=selectivity)
        for measure in (route_speed.measure_first, route_speed.measure_first_of_publish)
    )
    return [
        Row(f"first result {text}", "share of the whole stream's time", "×", 0.25, first, repeats=1),
        Row(f"first result {text}, alone", "share of publishing that event", "×", None, published, repeats=1),
    ]


def _algorithms(text: str, selectivity: float) -> list[Row]:
    return [
        Row(
            f"route {text}, {name}",
            "against one of the paper's",
            "×",
            None,
            partial(route_speed.measure_algorithm, algorithm=name, selectivity=selectivity),
            repeats=1,
        )
        for name in route_speed.PAPER
    ]


def _growth() -> list[Row]:
    """[B] table 3, at selectivity 1/4."""
    return [
        Row(
            f"graph × {times}",
            "time for each node reached, against graph × 1",
            "×",
            2,
            partial(route_speed.measure_growth, times=times),
            repeats=1,
        )
        for times in (2, 3, 4, 5)
    ]


def _built(nodes: str, copies: int, seconds: float, repeats: int) -> list[Row]:
    """200 bytes a node, 40 an edge and 400 an expression may stay."""
    build, memory, whole = (
        partial(measure, copies=copies)
        for measure in (
            route_size.measure_build,
            route_size.measure_memory,
            route_size.measure_memory_with_text,
        )
    )
    return [
        Row(f"build {nodes}", "in a fresh process, predicates compiled", "s", seconds, build, repeats=repeats),
        Row(
            f"memory {nodes}",
            "of 200 B a node, 40 an edge, 400 an expression; text aside",
            "×",
            1,
            memory,
            repeats=repeats,
        ),
        Row(f"memory {nodes}, text", "the same, ids and targeting too", "×", None, whole, repeats=repeats),
    ]


# The exchange of [B] table 1: 71,097 nodes, 87,799 edges, mean reach 4,802; targeting of 2–3 conjunctions of 2–4
# predicates over 6 attributes. Events are a table with JSON, in batches of 1,000; an answer is what publish returns,
# its rows not yet made unless the row says so. As above, a row takes its samples from one workload, that of the seed.
ROUTE = [
    *_at_selectivity("1/16", 1 / 16, 3),
    Row(
        "route 1/16, walk's rate",
        "the walk's, of the first row",
        "events/s",
        None,
        partial(route_speed.measure_walk_rate, selectivity=1 / 16),
        repeats=1,
    ),
    *_at_selectivity("1/8", 1 / 8, 10),
    *_at_selectivity("1/4", 1 / 4, 30),
    *_algorithms("1/4", 1 / 4),
    Row(
        "route 1/4, walk's rate",
        "the walk's",
        "events/s",
        None,
        partial(route_speed.measure_walk_rate, selectivity=1 / 4),
        repeats=1,
    ),
    Row(
        "route 1/4, table",
        "the engine's, the notifications made",
        "events/s",
        None,
        partial(route_speed.measure_rate_with_table, selectivity=1 / 4),
        repeats=1,
    ),
    *_at_selectivity("1/2", 1 / 2, 50),
    *_first_result("1/2", 1 / 2),
    *_at_selectivity("1", 1.0, 80),
    Row(
        "route 1, table",
        "the engine's, the notifications made",
        "events/s",
        None,
        partial(route_speed.measure_rate_with_table, selectivity=1.0),
        repeats=1,
    ),
    Row(
        "route 1, spelled out",
        "targeting that always holds, against the walk",
        "×",
        None,
        route_speed.measure_spelled_out,
        repeats=1,
    ),
    *_first_result("1", 1.0),
    Row(
        "predicates, 11,000",
        "6 attributes, selectivity 1/16, all ids",
        "events/s",
        15_000,
        predicate_index.measure_small,
        at_least=True,
        repeats=1,
    ),
    Row(
        "predicates, one by one",
        "the same, an event a call",
        "events/s",
        None,
        predicate_index.measure_alone,
        repeats=1,
    ),
    Row("predicates, parsing", "of the first, an event's JSON", "µs", None, predicate_index.measure_parsing, repeats=1),
    Row(
        "predicates, 100,000",
        "20 attributes, selectivity 1/16, all ids",
        "events/s",
        1_500,
        predicate_index.measure_large,
        at_least=True,
        repeats=1,
    ),
    Row("predicates, replace one", "of the 100,000; amortised", "µs", None, predicate_index.measure_change, repeats=1),
    Row(
        "predicates, sparse",
        "100,000, 200 attributes of which 20 defined, 1/1000",
        "events/s",
        5_000,
        predicate_index.measure_sparse,
        at_least=True,
        repeats=1,
    ),
    *_growth(),
    Row(
        "graph × 15, same reach",
        "15 exchanges side by side: an event, against one",
        "×",
        2,
        route_speed.measure_copies,
        repeats=1,
    ),
    *_built("71,097", 1, 5, 3),
    *_built("1,066,455", 15, 90, 1),
    Row(
        "live change",
        "2,000, half of them merge or split SCCs; amortised",
        "µs",
        1_000,
        route_changes.measure_change,
        repeats=1,
    ),
    Row(
        "live change, longest",
        "the longest call of them",
        "µs",
        None,
        route_changes.measure_longest_change,
        repeats=1,
    ),
    Row(
        "live change, event",
        "one event after each, its table made",
        "µs",
        None,
        route_changes.measure_event,
        repeats=1,
    ),
]

# One worker, Parquet file to Parquet file; needs Java, and a core that nobody else uses for each process.
_AGAINST = "one worker, against the embedded engine, Parquet to Parquet"
_PINNED = "100,000 subscriptions; Python workers pinned, driver not"
SPARK = [
    Row("filter", f"100,000 subscriptions; {_AGAINST}", "×", 0.6, spark_speed.measure_filter, at_least=True, repeats=1),
    Row("route", f"71,097 nodes; {_AGAINST}", "×", 0.6, spark_speed.measure_route, at_least=True, repeats=1),
    Row("watch", f"50,000 queries; {_AGAINST}", "×", 0.3, spark_speed.measure_watch, at_least=True, repeats=1),
    Row("executors", f"two against one, {_PINNED}", "×", 1.5, spark_speed.measure_executors, at_least=True, repeats=1),
    Row("driver", f"of two executors, {_PINNED}; processors used", "", None, spark_speed.measure_driver, repeats=1),
    Row(
        "micro-batch", "of 1,000 publications, beyond the matching", "s", 1, spark_speed.measure_micro_batch, repeats=1
    ),
    *SHARDED,
]

TABLES: dict[str, list[Row]] = {
    "foundation": FOUNDATION,
    "filter": FILTER,
    "metrics": METRICS,
    "partition": PARTITION,
    "route": ROUTE,
    "spark": SPARK,
    "watch": WATCH,
}
