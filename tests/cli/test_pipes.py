"""Pipes as they are used: answers before the end of the input, Ctrl-C between batches, readers that go away.

These start real processes, because signals and pipes belong to one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.files import EDGES, EVENTS, NODES, PUBLICATIONS, SUBSCRIPTIONS, UPDATES, ndjson, save


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COV_")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        [sys.executable, "-m", "heliograph", *arguments], text=True, env=environment, **pipes
    ) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.kill()


def feed(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.flush()


def answer(process: subprocess.Popen[str]) -> tuple[str, str]:
    """The next notification; the test's time limit ends a wait for one that never comes."""
    assert process.stdout is not None
    row = json.loads(process.stdout.readline())
    return row["subscription_id"], row["publication_id"]


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate()
    return process.returncode, out, err


def test_filter_answers_as_publications_complete() -> None:
    """On a named pipe."""
    os.mkfifo("pipe")
    with started("filter", "-s", save(SUBSCRIPTIONS, "s.csv"), "-p", "pipe") as process:
        with Path("pipe").open("w", buffering=1) as pipe:
            pipe.write(ndjson(PUBLICATIONS[:1]))
            pipe.write(ndjson(PUBLICATIONS[1:2]))  # another id: the first publication is complete
            assert answer(process) == ("friends", "p1")
            pipe.write(ndjson(PUBLICATIONS[3:]))
        code, out, err = finish(process)
    assert (code, json.loads(out)["publication_id"], err) == (0, "p3", "")


def test_watch_answers_at_once() -> None:
    with started("watch", "-s", save(SUBSCRIPTIONS, "s.csv"), "-u", "-") as process:
        for number, update in enumerate(UPDATES, 1):
            feed(process, ndjson([update]))
            assert answer(process)[1] == str(number)
        assert finish(process) == (0, "", "")


def test_route_answers_at_once() -> None:
    exchange = ["--nodes", save(NODES, "n.csv"), "--edges", save(EDGES, "e.csv"), "--subscribers-only"]
    with started("route", *exchange, "--events", "-") as process:
        feed(process, ndjson(EVENTS[1:]))
        assert answer(process) == ("Ad2", "e2")
        assert finish(process) == (0, "", "")


def test_ctrl_c_ends_a_waiting_pipe_with_everything_written() -> None:
    outputs = ["--out", "n.csv", "--rejected", "/dev/stderr", "--stats", "j.json"]
    with started("watch", "-s", save(SUBSCRIPTIONS, "s.csv"), "-u", "-", *outputs) as process:
        feed(process, "nonsense\n" + ndjson(UPDATES[:1]))
        assert process.stderr is not None
        assert "HG-205" in process.stderr.readline()  # so the batch was taken
        feed(process, ndjson(UPDATES[1:2]) + "more nonsense\n")
        assert "HG-205" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert finish(process) == (130, "", "")
    assert json.loads(Path("j.json").read_text())["notifications"] == 2
    assert [line.split(",")[2] for line in Path("n.csv").read_text().splitlines()[1:]] == ['"2"', '"3"']


def test_a_reader_that_goes_away_ends_the_run_quietly() -> None:
    rows = [{**PUBLICATIONS[0], "publication_id": f"p{number}"} for number in range(5000)]
    with started("filter", "-s", save(SUBSCRIPTIONS, "s.csv"), "-p", save(rows, "p.parquet")) as process:
        assert answer(process) == ("friends", "p0")
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait() == 0
