"""`--engine spark` writes what `--engine embedded` writes, in some order."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import Run, here, run
from tests.cli.files import DOCUMENTS, EDGES, EVENTS, NODES, PUBLICATIONS, SUBSCRIPTIONS, UPDATES, ndjson, save

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["here", "run"]


@pytest.fixture(autouse=True)
def kept(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands use the session of the tests, which they would stop."""
    monkeypatch.setattr(type(spark), "stop", lambda self: None)


@pytest.fixture
def calls() -> dict[str, list[str]]:
    publications = Path("in")
    publications.mkdir()
    save(PUBLICATIONS, "in/p.csv")
    Path("in/d.ttl").write_text(DOCUMENTS["ttl"])
    Path("in/bad.ttl").write_text("<")
    Path("in/q.ndjson").write_text(ndjson([{**PUBLICATIONS[0], "object": "unheard:of"}]) + "nonsense\n")
    interests = ["--subscriptions", save([*SUBSCRIPTIONS, {"subscription_id": "x", "query": "ASK"}], "s.csv")]
    updates = [*UPDATES, {"op": "?", "subject": "Ann", "property": "knows", "object": "Bob"}]
    events = [*EVENTS, {"event_id": "e3", "publisher": "Nobody", "attributes": "{}"}]
    exchange = ["--nodes", save(NODES, "n.csv"), "--edges", save(EDGES, "e.csv")]
    graph = ["--graph", save([{"subject": "Cid", "property": "knows", "object": "Dee"}], "g.csv"), "--initial"]
    return {
        "filter": [*interests, "--publications", "in", "--bindings", "1", "--shards", "2"],
        "watch": [*interests, "--updates", save(updates, "u.csv"), *graph],
        "route": [*exchange, "--events", save(events, "v.ndjson"), "--paths"],
    }


def lines(text: str) -> list[str]:
    return sorted(json.dumps(json.loads(line), sort_keys=True) for line in text.splitlines() if line.startswith("{"))


def refused(text: str) -> set[tuple[Any, ...]]:
    """What was refused. Row numbers of updates and events are the embedded reader's alone."""
    return {(row["item"], row["code"]) for row in map(json.loads, lines(text))}


@pytest.mark.parametrize("verb", ["filter", "watch", "route"])
def test_the_same_comes_out(run: Run, calls: dict[str, list[str]], verb: str) -> None:
    embedded = run(verb, *calls[verb], "--rejected", "a.ndjson")
    on_spark = run(verb, *calls[verb], "--engine", "spark", "--rejected", "b.ndjson", "--stats", "stats.json")
    assert (on_spark.code, on_spark.err) == (embedded.code, embedded.err) == (3, "")
    assert lines(on_spark.out) == lines(embedded.out)
    assert refused(Path("b.ndjson").read_text()) == refused(Path("a.ndjson").read_text())
    stats = json.loads(Path("stats.json").read_text())
    assert stats["notifications"] == len(lines(on_spark.out))
    assert stats["rejected"] == len(lines(Path("b.ndjson").read_text()))


def test_a_folder_is_followed_once_and_again_from_the_checkpoint(run: Run, calls: dict[str, list[str]]) -> None:
    call = ["filter", *calls["filter"], "--engine", "spark", "--once", "--out", "out", "--rejected", "refused"]
    wanted = {(row["subscription_id"], row["publication_id"]) for row in map(json.loads, lines(run(*call[:-7]).out))}
    assert run(*call, "--stats", "one.json").code == 3
    for number, name in enumerate(("r r.csv", "r%20r.csv", "50%+.csv")):  # names mean themselves, age does not matter
        save([{**PUBLICATIONS[0], "publication_id": name}], f"in/{name}")
        os.utime(f"in/{name}", (1e9 + number, 1e9 + number))
    assert run(*call, "--stats", "two.json").code == 3
    import pyarrow.parquet as parquet

    told = parquet.read_table("out").select(["subscription_id", "publication_id"]).to_pylist()
    assert {tuple(row.values()) for row in told} == {
        *wanted,
        *(("friends", name) for name in ("r r.csv", "r%20r.csv", "50%+.csv")),
    }
    assert len(told) == len(wanted) + 3
    assert [json.loads(Path(name).read_text())["publications"] for name in ("one.json", "two.json")] == [4, 3]


@pytest.mark.long
def test_a_stream_lists_the_subscriptions_that_were_refused(run: Run, calls: dict[str, list[str]]) -> None:
    Path("updates").mkdir()
    save([{"seq": seq, **row} for seq, row in enumerate(UPDATES, 1)], "updates/u.csv")
    interests = calls["watch"][:2]
    wanted = lines(run("watch", *interests, "--updates", "updates", "--rejected", "a.ndjson").out)
    follow = ["--engine", "spark", "--once", "--out", "told", "--rejected", "bad", "--shards", "2"]
    assert run("watch", *interests, "--updates", "updates", *follow).code == 3
    import pyarrow.parquet as parquet

    assert parquet.read_table("bad").select(["item"]).to_pylist() == [{"item": "x"}]
    assert len(parquet.read_table("told")) == len(wanted) > 0


def test_a_failure_names_the_input_not_the_jvm(run: Run, calls: dict[str, list[str]]) -> None:
    found = run("filter", *calls["filter"], "--engine", "spark", "--conf", "nonsense")
    assert (found.code, found.err.startswith("HG-031: --conf nonsense sets nothing")) == (2, True)
    mixed = run("filter", *calls["filter"], "--engine", "spark", "--out", "folder", "--rejected", "r.csv")
    assert (mixed.code, "HG-037" in mixed.err) == (2, True)


# --- the demo's story on Spark: the notifications are the embedded ones; without Java it says so ------------------


def test_the_story_tells_the_same(spark: SparkSession, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    found = run("demo", "spark")
    assert (found.code, found.err) == (0, "")
    assert "5 notifications on Spark, 5 of the embedded engine: the same." in found.out
    assert max(map(len, found.out.splitlines())) <= 100


def test_without_java_it_is_not_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.spark.environment._has_java", lambda: False)
    found = run("demo", "spark")
    assert (found.code, "Not shown here: Spark needs Java 17" in found.out) == (0, True)


# --- the code of docs/spark.md runs, and prints what stands below it ----------------------------------------------


PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"
BLOCKS = re.compile(r"^```py\n(.*?)^```\n```out\n(.*?)^```$", re.M | re.S)


def test_the_code_of_the_page_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    blocks = BLOCKS.findall(PAGE.read_text())
    assert len(blocks) == PAGE.read_text().count("```out\n") > 2
    for code, expected in blocks:
        for name in ("alerts", "refused", "stream", "friends"):  # paths of the JVM, which stands elsewhere
            code = code.replace(f'"{name}"', f'"{tmp_path / name}"')
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "<docs>", "exec"), namespace)
        assert printed.getvalue() == expected
