"""The frame of the command line: help, versions, completion, exit codes and how failures are printed."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from heliograph import __version__
from heliograph.cli import main as guard
from heliograph.cli.main import COMMANDS, Exit, Lazy, app, exit_code, guarded, load, main, print_error
from heliograph.cli.options import read_prefixes
from heliograph.cli.tools import WorkloadCommands
from heliograph.errors import HeliographError, Place, SetupError, TableError, UsageError
from tests.cli.conftest import Run, Terminal
from tests.cli.files import EDGES, EVENTS, NODES, PUBLICATIONS, SUBSCRIPTIONS, UPDATES, save


def test_help_names_every_command(run: Run) -> None:
    shown = run("--help")
    assert shown.code == 0
    assert all(name in shown.out for name in COMMANDS)
    assert run("-h").out == shown.out
    assert run().out.strip() == shown.out.strip()


def test_version(run: Run) -> None:
    assert run("--version").out == f"heliograph {__version__}\n"


@pytest.mark.parametrize(
    ("name", "entry"), [*COMMANDS.items(), *WorkloadCommands.lazy.items()], ids=lambda value: str(value)[:9]
)
def test_a_summary_is_the_first_line_of_the_real_help(name: str, entry: Lazy) -> None:
    command = load(name, entry)
    assert (command.name, (command.help or "").splitlines()[0]) == (name, entry.summary)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(run: Run, name: str) -> None:
    shown = run(name, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert f"heliograph {name}" in shown.out
    assert "(," not in shown.out  # square brackets would be swallowed as markup


def test_a_near_miss_is_suggested(run: Run) -> None:
    found = run("filtr")
    assert (found.code, found.out) == (2, "")
    assert "Did you mean 'filter'?" in found.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_completes_commands_and_options(monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    def complete(words: str) -> str:
        monkeypatch.setenv("_HELIOGRAPH_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
        said = io.StringIO()
        monkeypatch.setattr(sys, "stdout", said)
        with pytest.raises(SystemExit):
            get_command(app).main(args=[], prog_name="heliograph")
        monkeypatch.undo()
        return said.getvalue()

    assert "filter" in complete("heliograph fi")
    assert "--subscriptions" in complete("heliograph filter --s")
    assert "watch" in complete("heliograph explain w")


def test_show_completion(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    shown = run("--show-completion")
    assert (shown.code, "_HELIOGRAPH_COMPLETE" in shown.out) == (0, True)


# --- exit codes ---


@pytest.fixture
def calls() -> dict[str, list[str]]:
    subscriptions, publications = save(SUBSCRIPTIONS, "s.csv"), save(PUBLICATIONS, "p.csv")
    exchange = ["--nodes", save(NODES, "n.csv"), "--edges", save(EDGES, "e.csv"), "--events", save(EVENTS, "v.csv")]
    return {
        "filter": ["filter", "-s", subscriptions, "-p", publications],
        "watch": ["watch", "-s", subscriptions, "-u", save(UPDATES, "u.csv")],
        "route": ["route", *exchange],
    }


@pytest.mark.parametrize("verb", ["filter", "watch", "route"])
def test_spark_without_java_is_an_environment_problem(
    run: Run, calls: dict[str, list[str]], verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heliograph.spark.environment._has_java", lambda: False)
    found = run(*calls[verb], "--engine", "spark", "--out", "out.csv")
    assert (found.code, found.out) == (4, "")
    assert found.err.startswith("HG-902: Spark needs Java 17 or later, and there is none")
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("verb", ["filter", "watch", "route"])
def test_options_of_spark_want_spark(run: Run, calls: dict[str, list[str]], verb: str) -> None:
    found = run(*calls[verb], "--master", "local[2]")
    assert (found.code, "HG-032: --master without Spark" in found.err) == (2, True)


@pytest.mark.parametrize("verb", ["filter", "watch", "route"])
def test_only_a_folder_can_be_followed(run: Run, calls: dict[str, list[str]], verb: str) -> None:
    found = run(*calls[verb], "--engine", "spark", "--follow")
    assert (found.code, "is no folder to follow" in found.err) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--out", "n.xlsx"],
        ["--out", "no/folder/n.csv"],
        ["--rejected", "r.txt"],
        ["--stats", "no/folder/s.json"],
        ["--out", "n.csv", "--rejected", "./n.csv"],
        ["--engine", "magic"],
        ["--unknown"],
    ],
)
@pytest.mark.parametrize("verb", ["filter", "watch", "route"])
def test_wrong_options_are_usage(run: Run, calls: dict[str, list[str]], verb: str, arguments: list[str]) -> None:
    found = run(*calls[verb], *arguments)
    assert (found.code, found.out) == (2, "")
    assert found.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["filter", "-s", "missing.csv", "-p", "p.csv"],
        ["filter", "-s", "s.csv", "-p", "missing.csv"],
        ["filter", "-s", "s.csv", "-p", "p.doc"],
        ["filter", "-s", "s.csv", "-p", "empty"],
        ["filter", "-s", "s.csv", "-p", "p.csv", "-t", "missing.csv"],
        ["filter", "-s", "-", "-p", "-"],
        ["filter", "-s", "s.csv", "-t", "-", "-p", "-"],
        ["watch", "-s", "s.csv", "-u", "-", "-g", "-"],
        ["explain", "filter", "-s", "-", "-p", "-", "--subscription", "adults", "--publication", "p1"],
        ["explain", "watch", "-s", "s.csv", "-u", "-", "-g", "-", "--subscription", "adults"],
        ["filter", "-p", "p.csv"],
        ["filter", "-s", "s.csv", "--constraints", "c.csv", "-p", "p.csv"],
        ["filter", "-s", "s.csv", "-p", "p.csv", "--prefix", "ex"],
        ["filter", "-s", "s.csv", "-p", "p.csv", "--bindings", "-1"],
        ["filter", "-s", "s.csv"],
        ["watch", "-s", "s.csv", "-u", "u.csv", "-g", "missing.ttl"],
        ["route", "--nodes", "n.csv", "--edges", "e.csv", "--events", "v.csv", "--rank", "fame"],
        ["route", "--nodes", "n.csv", "--edges", "e.csv", "--events", "v.csv", "--what-if", "missing.csv"],
        ["demo", "love"],
        ["demo", "--write", "s.csv"],
    ],
)
def test_wrong_files_and_combinations_are_usage(run: Run, calls: dict[str, list[str]], arguments: list[str]) -> None:
    Path("p.doc").write_text("")
    Path("empty").mkdir()
    found = run(*arguments)
    assert (found.code, found.out) == (2, "")
    assert found.err


def test_a_missing_file_is_named_with_its_neighbour(run: Run, calls: dict[str, list[str]]) -> None:
    found = run("filter", "-s", "s.csv", "-p", "pp.csv")
    assert found.err == "HG-021: no such file: pp.csv; did you mean p.csv?\n"


def test_prefixes_are_read_or_refused() -> None:
    assert read_prefixes(["ex=http://example.org/", "b=<http://b.org#>"])["b"] == "http://b.org#"
    for text in ("ex", "ex=relative", "a b=http://x/", "<x>=http://x/"):
        with pytest.raises(UsageError, match="HG-031"):
            read_prefixes([text])


# --- failures ---

ERROR = TableError("HG-299", "what was met", place=Place("a.csv", line=3), fix="do this", snippet="  abc\n  ^")


@pytest.mark.parametrize(
    ("error", "code"),
    [(UsageError("HG-001", ""), Exit.USAGE), (SetupError("HG-902", ""), Exit.ENVIRONMENT), (ERROR, Exit.FAILED)],
)
def test_the_code_follows_the_family(error: HeliographError, code: Exit) -> None:
    assert exit_code(error) is code


def test_errors_are_plain_in_a_pipe_and_coloured_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    print_error(ERROR)
    assert capsys.readouterr().err == f"{ERROR}\n"
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    print_error(ERROR)
    print_error(HeliographError("HG-000", "bare"))
    shown = terminal.getvalue()
    assert "\x1b[" in shown
    assert all(part in shown for part in ("HG-299", "what was met", "a.csv, line 3", "do this", "abc"))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ERROR, 1, "HG-299"),
        (KeyboardInterrupt(), 130, ""),
        (PermissionError(13, "Permission denied", "x.csv"), 1, "HG-029: Permission denied: x.csv"),
        (OSError("odd"), 1, "HG-029: odd"),
        (ZeroDivisionError("by zero"), 1, "HG-028: an unexpected ZeroDivisionError: by zero"),
        (MemoryError(), 1, "HG-028: an unexpected MemoryError; set HELIOGRAPH_DEBUG=1"),
        (typer.Exit(7), 7, ""),
    ],
)
def test_every_failure_is_a_line_and_a_code(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, guarded():
        raise error
    assert ended.value.exit_code == code
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("error", [ERROR, OSError("odd"), ZeroDivisionError()])
def test_debugging_shows_the_traceback(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(guard.DEBUG, "1")
    with pytest.raises(type(error)), guarded():
        raise error


def test_debug_is_an_option_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(guard.DEBUG, "0")
    with pytest.raises(UsageError):
        run("--debug", "filter", "-s", "missing.csv", "-p", "missing.csv")


def test_a_reader_that_has_gone_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(typer.Exit) as ended, guarded():
        raise BrokenPipeError
    assert ended.value.exit_code == 0


@pytest.fixture
def path() -> Iterator[None]:
    before = list(sys.meta_path)
    yield
    sys.meta_path[:] = before


@pytest.mark.usefixtures("path")
def test_the_process_hides_pandas_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["heliograph", "--version"])
    with pytest.raises(SystemExit):
        main()
    finder = sys.meta_path[0]
    assert finder.find_spec("pyarrow", None) is None
    with pytest.raises(ModuleNotFoundError):
        finder.find_spec("pandas", None)
    assert __version__ in capsys.readouterr().out
