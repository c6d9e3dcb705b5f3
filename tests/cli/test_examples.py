"""The examples run, and tell the story they promise."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    name = str(request.param)
    copy = tmp_path / name
    shutil.copytree(EXAMPLES / name, copy)
    monkeypatch.chdir(copy)
    return copy


def commands(script: Path) -> list[list[str]]:
    """The calls of heliograph in a script, each as its arguments."""
    text = re.sub(r"\\\n\s*", "", script.read_text())
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("heliograph ")]


def test_every_example_is_listed() -> None:
    listed = set(re.findall(r"^\| \[([\w-]+)\]", (EXAMPLES / "README.md").read_text(), re.M))
    assert listed == {path.name for path in EXAMPLES.iterdir() if path.is_dir()}


@pytest.mark.parametrize("example", ["feed-alerts"], indirect=True)
def test_feed_alerts(run: Run, example: Path) -> None:
    alerts, why_not, lint = (run(*call) for call in commands(example / "run.sh"))
    assert (alerts.code, alerts.err) == (0, "")
    assert set(alerts.pairs) == {
        ("science-desk", "http://wire.example.org/1"),
        ("floods", "http://wire.example.org/1"),
        ("floods", "http://news.example.org/ferry"),
        ("floods", "http://orbit.example.org/sar"),
        ("by-okafor", "http://news.example.org/harbour"),
        ("by-okafor", "http://orbit.example.org/sar"),
    }
    assert (why_not.code, why_not.out[0], "2026-02-27" in why_not.out) == (0, "✗", True)
    assert (lint.code, lint.err) == (0, "")
    assert [(row["subject_id"], row["code"], row["related_id"]) for row in lint.rows] == [
        ("wanted/by-brandt", "HG-717", "dc:creator"),
        ("wanted/february", "HG-712", None),
        ("wanted/floods-this-week", "HG-713", "queries/floods"),
        ("wanted/harbour", "HG-718", "Harbour"),
        ("wanted/okafor", "HG-711", "queries/by-okafor"),
    ]
    assert run("lint", "--subscriptions", "queries", "--taxonomy", "desks.csv", "--sample", "feeds").out == ""


@pytest.mark.parametrize("example", ["on-call"], indirect=True)
def test_on_call(run: Run, example: Path) -> None:
    reached, why_not, what_if, lint = (run(*call) for call in commands(example / "run.sh"))
    assert reached.pairs == [("jo", "a1"), ("chris", "a2"), ("amina", "a2"), ("ravi", "a4"), ("amina", "a4")]
    assert 'severity is "warning"' in why_not.out
    assert [row["node_id"] for row in what_if.rows] == ["db team", "ravi"]
    assert (lint.code, lint.out) == (0, "")


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize("example", ["fraud-ring"], indirect=True)
def test_fraud_ring(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path("run.py", run_name="__main__")
    told = capsys.readouterr().out
    assert "05 Mar  ALARM   ring of three  update  5" in told
    assert "acct-4 pays acct-5" in told


@pytest.mark.parametrize("example", ["live-pipe"], indirect=True)
def test_live_pipe(run: Run, example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path("sensors.py")["main"](0.0)
    [line] = [line for line in (example / "run.sh").read_text().splitlines() if "|" in line]
    call = shlex.split(line.partition("| heliograph")[2])
    found = run(*call, input=capsys.readouterr().out)
    assert [(row["publication_id"], row["change"], row["subscription_id"]) for row in found.rows] == [
        ("6", "+", "too hot"),
        ("7", "+", "two above 22"),
        ("9", "-", "too hot"),
    ]
