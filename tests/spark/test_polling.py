"""Feeds that are polled: asked with validators, passed on once, left alone when they fail."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pytest

from heliograph.spark.feed_source import Poller
from tests.cli.files import RSS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ITEM = "<item><title>More graphs</title><guid>http://example.org/3</guid></item>"
LONGER = RSS.replace("</channel>", f"{ITEM}</channel>")


class Feed(BaseHTTPRequestHandler):
    """A feed whose content, answer and visitors the tests see."""

    content: ClassVar[str] = RSS
    failing: ClassVar[bool] = False
    seen: ClassVar[list[tuple[int, str | None]]] = []

    def do_GET(self) -> None:
        tag = str(hash(self.content))
        code = 503 if self.failing else 304 if self.headers.get("If-None-Match") == tag else 200
        self.seen.append((code, self.headers.get("If-None-Match")))
        self.send_response(code)
        self.send_header("ETag", tag)
        self.send_header("Retry-After", "100")
        self.end_headers()
        self.wfile.write(self.content.encode() if code == 200 else b"")

    def log_message(self, *arguments: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name, value in (("content", RSS), ("failing", False), ("seen", [])):
        monkeypatch.setattr(Feed, name, value)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Feed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/news"
    server.shutdown()
    server.server_close()


def ids(poller: Poller, number: int) -> set[Any]:
    with pa.memory_map(str(poller.path(number))) as file:
        return set(pa.ipc.open_file(file).read_all()["publication_id"].to_pylist())


def test_an_item_is_passed_on_once_and_an_unchanged_feed_is_not_sent(address: str, tmp_path: Path) -> None:
    poller = Poller(tmp_path, [address], every=0)
    assert [poller.poll(), poller.poll()] == [1, 1]
    assert ids(poller, 1) == {"http://example.org/1", "http://example.org/2"}
    Feed.content = LONGER
    again = Poller(tmp_path, [address], every=0)  # as after a restart
    assert again.poll() == 2
    assert ids(again, 2) == {"http://example.org/3"}
    assert [code for code, _ in Feed.seen] == [200, 304, 200]
    again.forget(2)
    assert (list(tmp_path.glob("*.arrow")), again.poll()) == ([], 2)


def test_a_failing_feed_is_told_once_and_left_alone(address: str, tmp_path: Path) -> None:
    clock = [0.0]
    poller = Poller(tmp_path, [address, "ftp://example.org/x", str(tmp_path / "none.rss")], 60, lambda: clock[0])
    Feed.failing = True
    assert poller.poll() == 1
    with pa.memory_map(str(poller.path(1))) as file:
        refused: list[Any] = pa.ipc.open_file(file).read_all()["rejected"].to_pylist()
    assert [entry["code"] for entry in refused] == ["HG-301"] * 3
    clock[0] = 70.0  # due again, but for the server's wish
    assert (poller.poll(), len(Feed.seen)) == (1, 1)
    clock[0] = 101.0
    assert (poller.poll(), len(Feed.seen)) == (1, 2)
    Feed.failing, clock[0] = False, 222.0
    assert poller.poll() == 2


def test_a_file_is_read_when_it_changes(tmp_path: Path) -> None:
    feed = tmp_path / "f.rss"
    feed.write_text(RSS)
    poller = Poller(tmp_path / "spool", [str(feed), feed.as_uri()], every=0)
    assert [poller.poll(), poller.poll()] == [1, 1]


def test_what_an_item_was_and_what_it_became_are_told_apart(tmp_path: Path) -> None:
    feed = tmp_path / "f.rss"
    poller = Poller(tmp_path / "spool", [str(feed)], every=0)
    for number, title in enumerate(("old", "new"), 1):
        feed.write_text(f"<rss><channel><item><guid>http://e.org/1</guid><title>{title}</title></item></channel></rss>")
        os.utime(feed, (number, number))
        assert poller.poll() == number
    tables = [pa.ipc.open_file(str(poller.path(number))).read_all() for number in (1, 2)]
    assert [set(table["publication_id"].to_pylist()) for table in tables] == [{"http://e.org/1"}] * 2
    assert len({number for table in tables for number in table["row"].to_pylist()}) == 2


@pytest.mark.long
def test_the_format_feeds_a_filter(spark: SparkSession, address: str, tmp_path: Path) -> None:
    from heliograph.spark import filter, register_feeds, write

    register_feeds(spark)
    feeds = spark.readStream.format("heliograph.feed").option("addresses", address).option("spool", f"{tmp_path}/spool")
    found = filter(
        feeds.option("every", "0").load(), [("graphs", 'ASK { ?i rss:title ?t FILTER(CONTAINS(?t, "graph")) }')]
    )
    query = write(found, notifications=f"{tmp_path}/n", processingTime="0 seconds")
    assert query is not None
    try:
        query.processAllAvailable()
        Feed.content = LONGER
        query.processAllAvailable()
    finally:
        query.stop()
    told = spark.read.parquet(f"{tmp_path}/n").select("publication_id").collect()
    assert sorted(row[0] for row in told) == ["http://example.org/1", "http://example.org/3"]
