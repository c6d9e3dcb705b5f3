"""A group of commands whose modules are imported only when one of them runs.

The law: listing the commands (`--help`, completion, near misses) imports none of them. Each is known by its
summary until it is called; a test holds every summary to the first line of the real command's help.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from heliograph.cli.guard import guarded


class Lazy(NamedTuple):
    """Where a command lives (`module:name`), its summary, and the panel of the help it stands in."""

    home: str
    summary: str
    panel: str


class LazyGroup(TyperGroup):
    """Subclasses list their commands in `lazy`, in the order of the help."""

    lazy: Mapping[str, Lazy] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: _summary(name, entry) for name, entry in self.lazy.items()}

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
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(add_completion=False)
        found.command(name)(function)
    command = get_command(found)
    command.name = name
    return command


def _summary(name: str, entry: Lazy) -> Any:
    return TyperCommand(name, help=entry.summary, rich_help_panel=entry.panel)
