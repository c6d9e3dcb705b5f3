"""The parts of the command line that are easier to test alone: interrupts, progress bars, options."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from heliograph.cli import run as progress
from heliograph.cli.inputs import read_text
from heliograph.cli.options import OutputOptions, takes
from heliograph.cli.run import MOST, Bar, CommandRun, InputBatch, Interrupts, Pace
from heliograph.errors import TableError
from heliograph.io.sources import Source
from heliograph.io.write import StreamWriter
from heliograph.model import Notification, Notifications, SubscriptionCost
from tests.cli.conftest import Terminal


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def pressed_in_a_batch(times: int) -> list[str]:
    """What a batch got done in which Ctrl-C was pressed."""
    done: list[str] = []

    def work() -> None:
        with Interrupts() as interrupts, interrupts.batch():
            for _ in range(times):
                press()
            done.append("finished")

    with pytest.raises(KeyboardInterrupt):
        work()
    return done


def test_ctrl_c_waits_for_the_end_of_a_batch() -> None:
    assert pressed_in_a_batch(1) == ["finished"]


def test_a_second_ctrl_c_does_not_wait() -> None:
    assert pressed_in_a_batch(2) == []


def test_ctrl_c_between_batches_is_raised_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        with interrupts.batch():
            pass
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_leave_signals_alone() -> None:
    seen: list[object] = []

    def work() -> None:
        with Interrupts() as interrupts, interrupts.batch():
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_run_ends_between_batches_with_everything_written() -> None:
    taken: list[str] = []

    def publish(items: str) -> Notifications:
        press()
        taken.append(items)
        return Notifications((Notification("s", None, items, "filter", "+"),))

    with CommandRun(OutputOptions(out="n.csv")) as run:
        run.publish_all("things", [InputBatch("first", 1), InputBatch("second", 1)], publish)
    assert (taken, run.exit_code) == (["first"], 130)
    assert "first" in Path("n.csv").read_text()


def test_a_run_ends_when_nobody_reads_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    def publish(items: str) -> Notifications:
        taken.append(items)
        return Notifications()

    monkeypatch.setattr(StreamWriter, "write", lambda self, table: False)
    with CommandRun(OutputOptions(stats=os.devnull)) as run:
        run.publish_all("things", [InputBatch("first", 1), InputBatch("second", 1)], publish)
    assert (taken, run.exit_code) == (["first"], 0)


def test_the_slow_subscriptions_of_all_batches_are_written_with_their_sums() -> None:
    def publish(items: str) -> Notifications:
        return Notifications(
            slow=[SubscriptionCost("often", 1, 6), SubscriptionCost(items, 2, 10), SubscriptionCost("never", 0, 0)]
        )

    with CommandRun(OutputOptions(out="n.csv", stats="s.json")) as run:
        run.publish_all("things", [InputBatch("first", 1), InputBatch("second", 1)], publish)
    slow = json.loads(Path("s.json").read_text())["slow"]
    assert [tuple(entry.values()) for entry in slow] == [
        ("often", 2, 12),
        ("first", 2, 10),
        ("second", 2, 10),
        ("never", 0, 0),
    ]
    assert list(slow[0]) == ["subscription_id", "publications", "steps"]


def test_a_query_file_that_cannot_be_opened_is_a_table_error() -> None:
    with pytest.raises(TableError, match="HG-201"):
        read_text(Source(Path("gone.rq"), "gone.rq"))


def test_batches_grow_while_they_are_quick_and_shrink_when_they_are_slow() -> None:
    pace = Pace()
    for _ in range(20):
        pace.took(0.01)
    assert pace.size == MOST
    pace.took(0.5)
    assert pace.size == MOST
    for _ in range(20):
        pace.took(5.0)
    assert pace.size == 1
    pace.most = 4 * MOST
    for _ in range(20):
        pace.took(0.01)
    assert pace.size == 4 * MOST


@pytest.mark.parametrize("total", [None, 10])
def test_a_bar_appears_on_a_terminal_when_the_work_is_long(monkeypatch: pytest.MonkeyPatch, total: int | None) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    with Bar("things", total) as bar:
        bar.advance(3)
        bar.advance(4)
    assert "things" in terminal.getvalue()


@pytest.mark.parametrize(("stream", "patience"), [(io.StringIO, -1.0), (Terminal, 1000.0)], ids=["pipe", "short"])
def test_no_bar_otherwise(monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], patience: float) -> None:
    shown = stream()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    with Bar("things") as bar:
        bar.advance(1)
    assert shown.getvalue() == ""


@dataclass(frozen=True)
class Inner:
    depth: Annotated[int, typer.Option("--depth")] = 2


@dataclass(frozen=True)
class Outer:
    name: Annotated[str, typer.Option("--name")]
    inner: Inner


def test_a_dataclass_becomes_the_options_of_a_command() -> None:
    @takes(Outer)
    def greet(options: Outer) -> None:
        """Greets."""
        typer.echo(f"{options.name} {options.inner.depth}")

    app = typer.Typer(add_completion=False)
    app.command()(greet)
    assert CliRunner().invoke(app, ["--name", "Ann"]).stdout == "Ann 2\n"
    assert CliRunner().invoke(app, ["--name", "Ann", "--depth", "5"]).stdout == "Ann 5\n"
    assert CliRunner().invoke(app, []).exit_code == 2
