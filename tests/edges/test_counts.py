"""Counts with GROUP BY: every named value of every group that matched; bindings are counted after projection."""

from __future__ import annotations

from heliograph import Filter, Watch

GROUPED = "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) >= 2)"


def test_each_group_shows_its_count_under_its_name() -> None:
    engine = Filter()
    engine.subscribe("g", GROUPED)
    rows = [("a", "p", "1"), ("a", "p", "2"), ("b", "p", "1"), ("b", "p", "2"), ("b", "p", "3"), ("c", "p", "1")]
    (found,) = engine.publish("d", rows, bindings=5)
    assert found.proof["bindings"] == [{"x": "a", "n": "2"}, {"x": "b", "n": "3"}]


def test_a_count_without_groups_has_its_name_too() -> None:
    engine = Filter()
    engine.subscribe("g", "SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) >= 2)")
    (found,) = engine.publish("d", [("a", "p", "1"), ("a", "p", "2")], bindings=5)
    assert found.proof["bindings"] == [{"n": "2"}]
    assert found.proof["value"] == 2


def test_a_watch_names_the_count() -> None:
    watch = Watch()
    watch.subscribe("g", GROUPED)
    (found,) = watch.publish([("+", "a", "p", "1"), ("+", "a", "p", "2")])
    assert found.proof["bindings"] == {"x": "a", "n": "2"}
    assert found.proof["value"] == 2


def test_distinct_rows_are_all_there() -> None:
    engine = Filter()
    engine.subscribe("q", "SELECT DISTINCT ?a { ?a :p ?b . ?c :q ?d }")
    rows = [(f"s{i:02}", "p", f"o{j}") for i in range(30) for j in range(30)]
    rows += [("c", "q", f"d{k}") for k in range(20)]  # 18,000 solutions, 30 of them distinct
    (found,) = engine.publish("d", rows, bindings=100)
    assert [row["a"] for row in found.proof["bindings"]] == [f"s{i:02}" for i in range(30)]
