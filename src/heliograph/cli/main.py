"""The command line: `heliograph COMMAND`. Nothing but typer is imported before a command is chosen.

Listing the commands (`--help`, completion, near misses) imports none of them: each is known by its summary until it is
called, and a test holds every summary to the first line of the real command's help.

Exit codes: 0 done, 1 failed, 2 usage, 3 some input rejected and the rest processed, 4 environment; 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import IntEnum
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from heliograph import __version__
from heliograph.errors import HeliographError, SetupError, UsageError

# --- what the command line hides: pandas until something needs it, and what the JVM says unless somebody asks ---
#
# Where pandas is installed, PyArrow imports it at its first array from a list: a third of a second, for nothing that
# the embedded engines do. Spark does need it. A JVM writes traces to the streams that it was started with; a command
# reports a failure in one line.

_STREAMS = (1, 2)  # standard output too: notifications may go there, and nothing else


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("the command line does without pandas", name=name)


def hide_pandas() -> None:
    sys.meta_path.insert(0, _NoPandas)


def show_pandas() -> None:
    """To be called before PyArrow has looked for it in vain."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _NoPandas]


@contextmanager
def hushed(aloud: bool) -> Iterator[None]:
    """A JVM that is started in the block writes to a file that nobody sees. If it does not start, that says why."""
    if aloud:
        yield
        return
    import tempfile

    sys.stdout.flush()
    sys.stderr.flush()
    before = {stream: os.dup(stream) for stream in _STREAMS}
    with tempfile.TemporaryFile() as said:
        for stream in _STREAMS:
            os.dup2(said.fileno(), stream)
        try:
            yield
        except SetupError as error:
            from heliograph.spark.environment import reason_of

            said.seek(0)
            reason = reason_of(said.read().decode(errors="replace"))
            if "JAVA_GATEWAY_EXITED" not in error.message or not reason:
                raise
            message = f"{error.message.partition(': ')[0]}: {reason}"  # why the JVM ended at once
            raise SetupError(error.code, message, fix=error.fix) from error
        finally:
            for stream, kept in before.items():
                os.dup2(kept, stream)
                os.close(kept)


# --- how a command ends ---

DEBUG = "HELIOGRAPH_DEBUG"


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    REJECTED = 3
    ENVIRONMENT = 4
    INTERRUPTED = 130


@contextmanager
def guarded() -> Iterator[None]:
    """Turns every failure into a line on stderr and an exit code; a traceback is shown only when asked for."""
    try:
        yield
    except HeliographError as error:
        if debugging():
            raise
        print_error(error)
        raise typer.Exit(exit_code(error)) from None
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None
    except BrokenPipeError:
        with suppress(OSError):  # nothing more is written, not even by the interpreter's last flush
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(Exit.DONE) from None
    except OSError as error:
        if debugging():
            raise
        found = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        print_error(HeliographError("HG-029", found, fix="check the path and its permissions"))
        raise typer.Exit(Exit.FAILED) from None
    except Exception as error:
        framework = type(error).__module__.partition(".")[0] in ("typer", "click")  # whose exits have their own way out
        if framework or debugging():
            raise
        found = f"an unexpected {type(error).__name__}" + (f": {error}" if str(error) else "")
        fix = f"set {DEBUG}=1 to see the traceback, and please report it"
        print_error(HeliographError("HG-028", found, fix=fix))
        raise typer.Exit(Exit.FAILED) from None


def exit_code(error: HeliographError) -> Exit:
    if isinstance(error, UsageError):
        return Exit.USAGE
    return Exit.ENVIRONMENT if isinstance(error, SetupError) else Exit.FAILED


def print_error(error: HeliographError) -> None:
    """The error on stderr: in colour on a terminal, plain text otherwise."""
    if not sys.stderr.isatty():
        print(error, file=sys.stderr)
        return
    from rich.console import Console
    from rich.text import Text

    where = str(error.place)
    text = Text.assemble((f"{error.code}: ", "bold red"), error.message, (f" ({where})" if where else "", "dim"))
    if error.fix:
        text.append(f"\n  {error.fix}", "green")
    if error.snippet:
        text.append(f"\n{error.snippet}", "yellow")
    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


def debugging() -> bool:
    return os.environ.get(DEBUG, "0") not in ("", "0")


# --- commands whose modules are imported only when one of them runs ---


class Lazy(NamedTuple):
    """Where a command lives (`module:name` of this package), its summary, and its panel of the help."""

    home: str
    summary: str
    panel: str


class LazyGroup(TyperGroup):
    """Subclasses list their commands in `lazy`, in the order of the help."""

    lazy: Mapping[str, Lazy] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {
            name: TyperCommand(name, help=entry.summary, rich_help_panel=entry.panel)
            for name, entry in self.lazy.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load(str(name), self.lazy[str(name)]), rest

    def invoke(self, ctx: Any) -> Any:
        with guarded():
            code = super().invoke(ctx)
        if isinstance(code, int) and code:
            raise typer.Exit(code)


def load(name: str, entry: Lazy) -> Any:
    """The real command: a function with typer's annotations, or a typer application with commands of its own."""
    module, _, attribute = entry.home.partition(":")
    found = getattr(import_module(f"heliograph.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(add_completion=False)
        found.command(name)(function)
    command = get_command(found)
    command.name = name
    return command


# --- the commands ---

VERBS = "The three verbs"
UNDERSTAND = "Look closer"
WORKSHOP = "Workshop"

COMMANDS = {
    "filter": Lazy("filter:filter_command", "Which graph-pattern subscriptions does each document match?", VERBS),
    "watch": Lazy(
        "watch:watch_command", "Which queries over an evolving graph does each update make true or false?", VERBS
    ),
    "route": Lazy("route:route_command", "Which subscribers can each event reach along a valid path?", VERBS),
    "explain": Lazy("explain:explain_app", "Why a subscription matched a publication, or why not.", UNDERSTAND),
    "lint": Lazy("tools:lint_command", "Find subscriptions, nodes and edges that look wrong.", UNDERSTAND),
    "demo": Lazy("tools:demo_command", "Three small stories on shipped data, in a few seconds.", UNDERSTAND),
    "generate": Lazy(
        "tools:generate_app",
        "Write a seeded workload of any size, with the expected answer where the construction knows it.",
        WORKSHOP,
    ),
    "bench": Lazy(
        "bench:bench", "Run the papers' tables and figures again, beside ours; or check a speed table.", WORKSHOP
    ),
    "doctor": Lazy("doctor:doctor_command", "Check this machine, and say what to do.", WORKSHOP),
}


class Commands(LazyGroup):
    lazy = COMMANDS


app = typer.Typer(
    name="heliograph",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Start with `heliograph demo`. Exit codes: 0 done, 1 failed, 2 usage, 3 some input rejected, 4 environment.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"heliograph {__version__}")
        raise typer.Exit


@app.callback()
def heliograph(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help=f"Show tracebacks of failures (also {DEBUG}=1).")] = False,
) -> None:
    """Publish/subscribe for graph-shaped data: filter documents, watch evolving graphs, route events."""
    if debug:
        os.environ[DEBUG] = "1"


def main() -> None:
    """The process that `heliograph` starts."""
    hide_pandas()
    app(prog_name="heliograph")
