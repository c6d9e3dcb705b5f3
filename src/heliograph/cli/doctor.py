"""`heliograph doctor`: looks at the machine and says what to do; `--warm` fills the kernel cache."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from heliograph._version import __version__
from heliograph.cli.guard import Exit
from heliograph.cli.machine import Check, State, checks

_STYLES = {State.OK: "green", State.WARNING: "yellow", State.FAILED: "bold red"}
_SIGNS = {State.OK: "✓", State.WARNING: "!", State.FAILED: "✗"}


def doctor_command(
    warm: Annotated[bool, typer.Option("--warm", help="Compile the kernels now, so that no run waits for it.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> int:
    """Check this machine, and say what to do."""
    warmed = _warm() if warm else None
    found = list(checks())
    if as_json:
        print(json.dumps({"heliograph": __version__, "checks": [asdict(check) for check in found]}, indent=2))
    else:
        _print([check for check in found if not (quiet and check.state is State.OK)], None if quiet else warmed)
    return Exit.ENVIRONMENT if any(check.state is State.FAILED for check in found) else Exit.DONE


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
