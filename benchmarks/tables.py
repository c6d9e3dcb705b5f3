"""The speed tables, by name: what `heliograph bench --check NAME` runs."""

from __future__ import annotations

from benchmarks import compiling, first_contact, interning, predicates, reading
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

TABLES: dict[str, list[Row]] = {"foundation": FOUNDATION}
