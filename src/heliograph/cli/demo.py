"""`heliograph demo`: three small stories on shipped data; `--write` hands the data over, with commands to run."""

from __future__ import annotations

import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from heliograph.cli.main import show_pandas
from heliograph.errors import UsageError

STORIES = ("feeds", "exchange", "social")
SPARK = "spark"  # takes as long to start as the others to be told, so it is told when asked for

# To be run in the folder that `--write` made.
_FEEDS = "--subscriptions feeds/queries --publications feeds/documents --taxonomy feeds/taxonomy.csv"
_EXCHANGE = "--nodes exchange/nodes.csv --edges exchange/edges.csv --events exchange/events.ndjson"
_SOCIAL = "--subscriptions social/queries.csv --updates social/updates.csv"
COMMANDS = {
    "feeds": (
        f"heliograph filter {_FEEDS} --bindings 1",
        f"heliograph explain filter {_FEEDS} --subscription by-arno --publication urn:heliograph:paper-18",
    ),
    "exchange": (
        f"heliograph route {_EXCHANGE} --subscribers-only --rank cost",
        f"heliograph route {_EXCHANGE} --what-if exchange/changes.csv",
        f"heliograph explain route {_EXCHANGE} --subscription Adv2 --publication visit-1",
    ),
    "social": (
        f"heliograph watch {_SOCIAL} --witness",
        f"heliograph explain watch {_SOCIAL} --subscription circle --publication 4",
    ),
}


def demo_command(
    stories: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STORY]...", help="feeds, exchange, social, spark; none means the first three."),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write", metavar="DIR", help="Write the stories' data to a folder and print commands to run on it."
        ),
    ] = None,
) -> None:
    """Three small stories on shipped data, in a few seconds."""
    every = (*STORIES, SPARK)
    unknown = [story for story in stories or () if story not in every]
    if unknown:
        raise UsageError("HG-035", f"there is no story {unknown[0]!r}", fix=f"the stories are {', '.join(every)}")
    chosen = [story for story in every if story in (stories or STORIES)]
    if write is not None:
        _write(write, [story for story in chosen if story in STORIES])
    else:
        _tell(chosen)


def _tell(stories: list[str]) -> None:
    from heliograph.demo.stories import Stage

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(
            errors="replace"
        )  # a terminal without box characters shows question marks, not a traceback
    if SPARK in stories:
        show_pandas()
    stage = Stage()
    for story in stories:
        getattr(import_module("heliograph.demo.stories"), f"tell_{story}")(stage)
    hand_over = "heliograph demo --write heliograph-demo && cd heliograph-demo"
    stage.commands(
        "Next, try it yourself, and then put your own files in their place:",
        [hand_over, COMMANDS.get(stories[0], COMMANDS["feeds"])[0]],
    )


def _write(folder: Path, stories: list[str]) -> None:
    """Copies the data. Files that are there already are left alone."""
    from heliograph.demo import DATA
    from heliograph.demo.stories import Stage

    if folder.exists() and not folder.is_dir():
        raise UsageError("HG-025", f"{folder} is a file", fix="give a folder")
    for source in sorted(path for story in stories for path in (DATA / story).rglob("*") if path.is_file()):
        target = folder / source.relative_to(DATA)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.write_bytes(source.read_bytes())
    stage = Stage()
    stage.commands(
        f"The stories' data is in {folder}. Change it as you like, and run:", [f"cd {shlex.quote(str(folder))}"]
    )
    for story in stories:
        stage.commands(f"# {story}", COMMANDS[story])
