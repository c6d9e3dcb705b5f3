"""Ctrl-C between batches, never inside one.

The law: a batch that was begun is finished and its notifications are written before an interrupt is raised;
everywhere else the interrupt is raised at once. A second Ctrl-C does not wait.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self


class Interrupts:
    """Holds Ctrl-C back while a batch is under way. Without effect outside the main thread."""

    def __init__(self) -> None:
        self._busy = False
        self._asked = False
        self._mine = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._mine:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._mine:
            signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """The block runs to its end; an interrupt that came meanwhile is raised after it."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._asked:
            raise KeyboardInterrupt

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._busy and not self._asked:
            self._asked = True
            return
        raise KeyboardInterrupt
