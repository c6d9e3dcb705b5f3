"""Ctrl-C and SIGTERM while Spark works for a command.

The laws: nothing is raised inside a call to the JVM, which would leave the connection in pieces. A stream that is asked
to stop ends the micro-batch under way first, so that all of it is delivered; a second signal does not wait, and neither
does a batch: then the jobs are cancelled, and whatever fails by that is the interrupt. There is one of this, since
signals are the process's.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """Whether the command was asked to end."""

    def __init__(self) -> None:
        self.asked = False
        self._gently = False
        self._cancel: Callable[[], Any] = bool

    @contextmanager
    def listening(self, cancel: Callable[[], Any]) -> Iterator[None]:
        """Takes signals while the block runs; `cancel` ends what Spark does. Without effect outside the main thread."""
        self.asked, self._cancel = False, cancel
        mine = threading.current_thread() is threading.main_thread()
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS} if mine else {}
        try:
            yield
        except Exception:
            if self.asked:
                raise KeyboardInterrupt from None
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def gently(self) -> Iterator[None]:
        """In the block the first signal only sets `asked`."""
        self._gently = True
        try:
            yield
        finally:
            self._gently = False

    def _on_signal(self, number: int, frame: object) -> None:
        again, self.asked = self.asked, True
        if again or not self._gently:
            threading.Thread(target=self._cancel, daemon=True).start()  # by a connection of its own


STOPPING = Stopping()
