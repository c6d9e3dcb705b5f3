"""Where the stories are told: text, pictures and tables that read well on a terminal and in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from heliograph.model import Explanation

WIDTH = 92


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, and how its cells are shown. A fixed column is never broken into lines."""

    name: str
    style: str = ""
    fixed: bool = False


class Stage:
    """Prints a story, piece by piece."""

    def __init__(self) -> None:
        terminal = Console(file=sys.stdout)
        width = min(WIDTH, terminal.width) if terminal.is_terminal else WIDTH
        self._console = Console(file=sys.stdout, width=width, highlight=False)

    def title(self, number: int, verb: str, question: str) -> None:
        self._console.print()
        heading = Text.assemble((f" {number} ", "bold reverse"), (f" {verb}", "bold cyan"), f"  {question}")
        self._console.print(Panel(heading, box=box.HEAVY, border_style="cyan", padding=(0, 1)))

    def say(self, text: str) -> None:
        self._console.print(Text(text))

    def picture(self, text: str) -> None:
        self._console.print()
        for line in text.strip("\n").splitlines():
            self._console.print(Text(f"  {line}", "blue"), soft_wrap=True)
        self._console.print()

    def code(self, language: str, text: str) -> None:
        code = Syntax(text.strip("\n"), language, theme="ansi_dark", background_color="default")
        self._console.print(Panel(code, box=box.ROUNDED, border_style="dim", title=language, title_align="left"))

    def table(self, title: str | None, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        drawn = Table(title=title, title_style="bold", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for column in columns:
            drawn.add_column(column.name, style=column.style, no_wrap=column.fixed)
        for row in rows:
            drawn.add_row(*(Text(cell) for cell in row))
        self._console.print(drawn)

    def why_not(self, question: str, explanation: Explanation) -> None:
        text = Text(explanation.summary)
        for step in explanation.held:
            text.append(f"\n  ✓ {step}", "green")
        if explanation.failed:
            text.append(f"\n  ✗ {explanation.failed}", "red")
        title = f"Why not? {question}"
        self._console.print(Panel(text, box=box.ROUNDED, border_style="yellow", title=title, title_align="left"))

    def commands(self, title: str, lines: Sequence[str]) -> None:
        """Lines to copy: a long one is folded as a shell allows, and nothing else is broken."""
        self._console.print(Text(f"\n{title}", "bold"))
        for line in lines:
            folded = line.replace(" --", " \\\n      --") if len(line) > WIDTH else line
            self._console.print(Text(f"  {folded}", "green"), soft_wrap=True)
