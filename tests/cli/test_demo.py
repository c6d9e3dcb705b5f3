"""`heliograph demo`: the stories, their data, and the commands it prints."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from heliograph.cli.tools import COMMANDS, STORIES
from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def told() -> str:
    from typer.testing import CliRunner

    from heliograph.cli.main import app

    result = CliRunner().invoke(app, ["demo"])
    assert (result.exit_code, result.stderr) == (0, "")
    return str(result.stdout)


def test_three_stories_with_evidence_and_a_why_not_each(told: str) -> None:
    assert [line.split()[2] for line in told.splitlines() if line.startswith("┃")] == ["filter", "route", "watch"]
    assert told.count("Why not?") >= 3
    assert "none" in told.split()


def test_the_feeds_follow_the_figures_of_the_seed(told: str) -> None:
    """[G] figure 5: the publication matches S1 and S2; figure 6: Arno's Paper #17 is a Publication through SIGMOD."""
    rows = [line for line in told.splitlines() if "paper-17" in line]
    assert any("by-arno" in row and "2001" in row for row in rows)
    assert any("year = 2001" in line for line in told.splitlines())


def test_the_exchange_follows_the_figure_of_the_seed(told: str) -> None:
    """[B] figure 1: age 35 on a sports page of Pub1 reaches Adv1 alone, over Net1 and Net2."""
    [row] = [line for line in told.splitlines() if "visit-1" in line and "Pub1" in line]
    assert all(word in row for word in ("Adv1", "Net1 → Net2"))
    assert "Adv2 is not reached by visit-1" in told


def test_the_graph_gains_and_loses(told: str) -> None:
    assert "+ circle" in told
    assert "- circle" in told
    assert "2 of 3 edges hold together" in told


def test_it_is_plain_and_narrow_in_a_pipe(told: str) -> None:
    assert "\x1b" not in told
    assert max(map(len, told.splitlines())) <= 100


def test_it_ends_with_the_next_command(told: str) -> None:
    end = told[told.index("Next, try it yourself") :]
    assert "heliograph demo --write" in end
    assert "heliograph filter" in end


def test_one_story_alone(run: Run) -> None:
    shown = run("demo", "social").out
    assert "circle" in shown
    assert "Adv1" not in shown


def test_the_written_commands_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run("demo", "--write", "my demo")
    assert shown.code == 0
    assert "cd 'my demo'" in shown.out
    monkeypatch.chdir("my demo")
    for line in (line for story in STORIES for line in COMMANDS[story]):
        assert line.split(" --", 1)[0] in shown.out
        found = run(*shlex.split(line)[1:])
        assert (found.code, found.err) == (0, ""), line
        assert found.out, line


def test_writing_again_leaves_changed_files_alone(run: Run) -> None:
    run("demo", "--write", "d")
    Path("d/social/updates.csv").write_text("mine")
    run("demo", "social", "--write", "d")
    assert Path("d/social/updates.csv").read_text() == "mine"
