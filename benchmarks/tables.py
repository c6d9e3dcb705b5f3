"""The speed tables, by name: what `heliograph bench --check NAME` runs."""

from __future__ import annotations

from benchmarks import changing, compiling, filtering, first_contact, interning, predicates, reading, resident
from benchmarks.check import Row

FOUNDATION = [
    Row(
        "intern terms", "5,000,000 cells, 20,000 distinct", "terms/s", 5e6, interning.measure, at_least=True, repeats=5
    ),
    Row("read N-Triples", "300,000 triples, against pyoxigraph alone", "×", 2.2, reading.measure_ntriples),
    Row("read Turtle", "300,000 triples, against pyoxigraph alone", "×", 2.2, reading.measure_turtle),
    Row("read feeds", "RSS 2.0, 8 children an item", "items/s", 20_000, reading.measure_feed, at_least=True),
    Row("compile SPARQL", "100,000 of 10 triples, shapes shared", "s", 20, compiling.measure_sparql),
    Row(
        "compile SPARQL, apart", "100,000 of 10 triples, all shapes different", "s", 20, compiling.measure_sparql_apart
    ),
    Row("compile pattern tables", "100,000 of 10 rows, with constraints", "s", 5, compiling.measure_patterns),
    Row("compile SQL, apart", "11,000 of 6–12 comparisons, all shapes different", "s", 6, predicates.measure_apart),
    Row("compile SQL, shared", "11,000 of 6–12 comparisons, 200 shapes", "s", 1.5, predicates.measure_shared),
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
        filtering.measure_matching,
        at_least=True,
        repeats=1,
    ),
    Row(
        "match, time",
        "the same, a publication; 5 timings of one workload",
        "µs",
        100,
        filtering.measure_matching_time,
        repeats=1,
    ),
    Row("match, 500 different", "500 publications twice", "µs", 100, filtering.measure_different, repeats=1),
    Row("match, strings", "the batch as a table of strings", "µs", None, filtering.measure_strings, repeats=1),
    Row("candidates", "candidates a match in the first row", "×", 2, filtering.measure_candidates, repeats=1),
    Row(
        "one structure",
        "100,000 one- or two-sided ranges, against pyoxigraph",
        "×",
        200_000,
        filtering.measure_structure,
        at_least=True,
        repeats=1,
    ),
    Row("one structure, time", "the same, a publication", "µs", 50, filtering.measure_structure_time, repeats=1),
    Row("one structure, flat", "100,000 ranges against 10,000", "×", 1.5, filtering.measure_flatness, repeats=1),
    Row(
        "hard negatives",
        "half of the non-matching lack one edge; against “match”",
        "×",
        1.5,
        filtering.measure_hard_negatives,
        repeats=1,
    ),
    Row("is-a", "half the variables, 200 classes; against “match”", "×", 1.5, filtering.measure_is_a, repeats=1),
    Row("documents", "1,000 N-Triples files, against parsing alone", "×", 2.5, filtering.measure_documents, repeats=1),
    Row("match 1,000,000", "as many matches; against “match”", "×", 3, filtering.measure_many, repeats=1),
    Row("load", "100,000 from pattern tables, in a fresh process", "s", 5, resident.measure_load),
    Row("memory", "resident, a subscription", "B", 1_500, resident.measure_memory),
    Row(
        "subscribe one", "20,000 while publishing, as text and rows", "µs", 1_000, changing.measure_subscribe, repeats=1
    ),
    Row("unsubscribe one", "the same 20,000 while publishing", "µs", 100, changing.measure_unsubscribe, repeats=1),
    Row("longest pause", "of a publish meanwhile, above the median", "ms", 50, changing.measure_pause, repeats=1),
]

TABLES: dict[str, list[Row]] = {"foundation": FOUNDATION, "filter": FILTER}
