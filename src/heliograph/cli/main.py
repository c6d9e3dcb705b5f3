"""The command line: `heliograph COMMAND`. Nothing but typer is imported before a command is chosen."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from heliograph._version import __version__
from heliograph.cli.group import Lazy, LazyGroup
from heliograph.cli.guard import DEBUG
from heliograph.cli.hiding import hide_pandas

VERBS = "The three verbs"
UNDERSTAND = "Look closer"
WORKSHOP = "Workshop"

COMMANDS = {
    "filter": Lazy(
        "heliograph.cli.filter:filter_command", "Which graph-pattern subscriptions does each document match?", VERBS
    ),
    "watch": Lazy(
        "heliograph.cli.watch:watch_command",
        "Which queries over an evolving graph does each update make true or false?",
        VERBS,
    ),
    "route": Lazy(
        "heliograph.cli.route:route_command", "Which subscribers can each event reach along a valid path?", VERBS
    ),
    "explain": Lazy(
        "heliograph.cli.explain:explain_app", "Why a subscription matched a publication, or why not.", UNDERSTAND
    ),
    "lint": Lazy(
        "heliograph.cli.lint:lint_command", "Find subscriptions, nodes and edges that look wrong.", UNDERSTAND
    ),
    "demo": Lazy(
        "heliograph.cli.demo:demo_command", "Three small stories on shipped data, in a few seconds.", UNDERSTAND
    ),
    "generate": Lazy(
        "heliograph.cli.generate:generate_app",
        "Write a seeded workload of any size, with the expected answer where the construction knows it.",
        WORKSHOP,
    ),
    "bench": Lazy(
        "heliograph.cli.bench:bench",
        "Run the papers' tables and figures again, beside ours; or check a speed table.",
        WORKSHOP,
    ),
    "doctor": Lazy("heliograph.cli.doctor:doctor_command", "Check this machine, and say what to do.", WORKSHOP),
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
