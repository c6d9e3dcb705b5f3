"""`heliograph doctor`: looks at the machine and says what to do; `--warm` compiles kernels, `--check` reads a save."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from heliograph._version import __version__
from heliograph.cli.guard import Exit
from heliograph.cli.machine import Check, State, checks
from heliograph.errors import StorageError

_STYLES = {State.OK: "green", State.WARNING: "yellow", State.FAILED: "bold red"}
_SIGNS = {State.OK: "✓", State.WARNING: "!", State.FAILED: "✗"}


def doctor_command(
    check: Annotated[
        str | None, typer.Option("--check", metavar="PATH", help="Check every byte of the saves there, and no machine.")
    ] = None,
    warm: Annotated[bool, typer.Option("--warm", help="Compile the kernels now, so that no run waits for it.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> int:
    """Check this machine, and say what to do."""
    warmed = _warm() if warm else None
    found = list(checks() if check is None else _saves(check))
    if as_json:
        print(json.dumps({"heliograph": __version__, "checks": [asdict(each) for each in found]}, indent=2))
    else:
        _print([each for each in found if not (quiet and each.state is State.OK)], None if quiet else warmed)
    if any(each.state is State.FAILED for each in found):
        return Exit.ENVIRONMENT if check is None else Exit.FAILED
    return Exit.DONE


def _saves(path: str) -> Iterator[Check]:
    """The save at a path, or all below it."""
    from heliograph.storage import check_save, find_saves

    for save in find_saves(path) or [Path(path)]:
        try:
            found = check_save(save)
        except StorageError as error:
            yield Check("save", State.FAILED, f"{error.code}: {error.message} ({save})", error.fix)
        else:
            text = (
                f"{save}: a {found.kind} of version {found.version}, {found.files} files, {found.bytes:,} bytes, whole"
            )
            yield Check("save", State.OK, text)


def _warm() -> str:
    from heliograph.kernels.cache import warm

    report = warm()
    return f"kernels: {report.compiled} compiled, {report.loaded} already there, in {report.took_ns / 1e9:.1f} s"


def _print(found: list[Check], warmed: str | None) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    for check in found:
        text = Text.assemble(
            (f"{_SIGNS[check.state]} ", _STYLES[check.state]), (f"{check.name:<13}", "bold"), check.found
        )
        if check.fix:
            text.append(f"\n{'':<15}{check.fix}", "cyan")
        console.print(text)
    if warmed:
        console.print(warmed)
