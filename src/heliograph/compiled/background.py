"""Kernels are compiled in another process, while plain Python goes on answering.

The law: whoever asks `ready` never waits. What is not in the cache is compiled by one process for each need, begun when
it is first asked for, never by an import; when that has ended well, `ready` says so, and loading the kernels is all
that is left to do. Where it fails (no process can be started, it is killed, nothing can be written), its failure is
logged, and the asker compiles itself as soon as its work would take longer than that.

The process ends with this one, however this one ends: it holds the other end of a pipe. Each kernel is kept as soon as
it is compiled, so what was cut short goes on where it was the next time.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import threading
from contextlib import suppress

from heliograph.compiled.compile import KERNELS, cache_dir, declared, is_warm

_LOG = logging.getLogger("heliograph")

# The kernel of each need that is compiled last: where it is in the cache, the others are too.
_LAST = {
    "filter": "filter.kernels.verify",
    "watch": "watch.network_kernels.run",
    "route": "route.kernels.route",
    "metrics": "watch.metrics.paths.keep_paths",
    "vocabulary": "vocabulary.kernels.enter",  # a part of what a filter needs
}
_NICE = 5  # on one processor, beside work that never pauses, it still gets a quarter of the time

_READY: set[str] = set()
_COMPILERS: dict[str, _Compiler] = {}
_LOCK = threading.Lock()


def ready(need: str, overdue: bool = False) -> bool:
    """Whether the kernels of a need can be used without compiling them; if not, another process compiles them.

    Where that has failed, it is true as soon as the work is `overdue`: then it takes longer than compiling here.
    """
    if need in _READY:
        return True
    with _LOCK:
        compiler = _COMPILERS.get(need)
        if compiler is None:
            if is_warm(_LAST[need]):
                _READY.add(need)
                return True
            compiler = _COMPILERS[need] = _Compiler(need)
    if compiler.done:
        _READY.add(need)
        return True
    return compiler.failed and overdue


def running() -> dict[str, int]:
    """The ids of the processes that are compiling now, by need."""
    with _LOCK:
        return {need: each.process.pid for need, each in _COMPILERS.items() if each.process and not each.ended}


class _Compiler:
    """A process that compiles the kernels of one need, and a thread that waits for its end."""

    def __init__(self, need: str) -> None:
        self.need = need
        self.done = self.failed = False
        self.process: subprocess.Popen[bytes] | None = None
        try:
            self.process = process = self._begin()
            threading.Thread(target=self._follow, args=(process,), name=f"compiling {need}", daemon=True).start()
        except (OSError, ValueError, RuntimeError, subprocess.SubprocessError) as error:
            self._fail(f"{type(error).__name__}, {error}")
        else:
            _LOG.info("compiling kernels (%s) in the background, once on this machine", need)

    @property
    def ended(self) -> bool:
        return self.done or self.failed

    def _begin(self) -> subprocess.Popen[bytes]:
        if not sys.executable or getattr(sys, "frozen", False):  # a packed program would start itself again
            raise RuntimeError("there is no interpreter to start")
        code = f"import sys; sys.path[:] = {sys.path!r}; from heliograph.compiled.background import compile_for_parent"
        return subprocess.Popen(
            [sys.executable, "-c", f"{code}; compile_for_parent({self.need!r})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache_dir().parent)},
            start_new_session=True,  # Ctrl-C is not for it
        )

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        """Waits for the end, so that no zombie is left, and says how it was."""
        assert process.stderr is not None
        said = process.stderr.read().decode(errors="replace").strip().splitlines()
        code = process.wait()
        if code == 0 and is_warm(_LAST[self.need]):
            self.done = True
        elif not _LEAVING.is_set():
            self._fail(f"signal {-code}" if code < 0 else said[-1] if said else f"exit code {code}")

    def _fail(self, why: str) -> None:
        self.failed = True
        _LOG.warning(
            "compiling kernels (%s) in the background failed: %s; plain Python goes on, and compiles when that pays",
            self.need,
            why,
        )

    def end(self) -> None:
        """Ends the process."""
        if self.process is not None and not self.ended:
            self.process.kill()
            self.process.wait()

    def forget(self) -> None:
        """In a child of this process, which has neither the process nor the thread: lets the pipe go."""
        if self.process is not None and self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()


_LEAVING = threading.Event()


@atexit.register
def _leave() -> None:
    _LEAVING.set()
    for compiler in list(_COMPILERS.values()):
        compiler.end()


def _after_fork() -> None:
    """A child begins its own processes, if it asks."""
    global _LOCK
    _LOCK = threading.Lock()
    for compiler in _COMPILERS.values():
        compiler.forget()
    _COMPILERS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# --- in the other process -------------------------------------------------------------------------------------------


def compile_for_parent(need: str) -> None:
    """Compiles the kernels of a need, unless whoever began it ends first."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICE)
    last = f"heliograph.{_LAST[need]}"
    kernels = declared([need if need in KERNELS else "filter"])
    if need not in KERNELS:
        kernels = {name: entry for name, entry in kernels.items() if name.startswith(f"heliograph.{need}.")}
    for name in sorted(kernels, key=lambda name: name == last):
        for signature in kernels[name].signatures:
            kernels[name].dispatcher.compile(signature)


def _end_with_parent() -> None:
    """Nothing is ever written into the pipe; it ends when the last process that could has ended."""
    while os.read(0, 1):
        pass
    os._exit(1)
