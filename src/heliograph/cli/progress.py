"""A progress bar on stderr: only on a terminal, and only for work that takes a while."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 0.5  # seconds before a bar appears: less work than that needs none


class Bar:
    """Counts steps of work. `total` is None where nobody knows how much is to come."""

    def __init__(self, what: str, total: int | None = None) -> None:
        self._what, self._total, self._done = what, total, 0
        self._started = time.monotonic()
        self._wanted = sys.stderr.isatty()
        self._progress: Progress | None = None

    def advance(self, steps: int) -> None:
        self._done += steps
        if self._wanted and self._progress is None and time.monotonic() - self._started > PATIENCE:
            self._progress = self._show()
        if self._progress is not None:
            self._progress.update(self._task, completed=self._done)

    def _show(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = progress.add_task(self._what, total=self._total, completed=self._done)
        progress.start()
        return progress

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
