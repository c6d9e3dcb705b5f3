"""Locks on drafts: how work in progress is told from what a killed process left behind.

The laws: whoever writes a draft, or moves or removes it, holds its lock; a lock ends with its process, however that
ends; only what nobody holds is removed. Locks of another machine may not be seen here, so the name of a draft tells on
which machine it was made: a draft of another machine, or one on storage without locks, counts as left behind only when
nothing in it has changed for a day.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ABANDONED_S = 86_400  # without a change for so long, what cannot be locked counts as left behind
PATIENCE_S = 10.0  # how long a writer waits for another one; a child process may keep a lock that nobody uses
_STEP_S = 0.01
_BUSY = {errno.EAGAIN, errno.EACCES}
_HOST = f"{zlib.crc32(socket.gethostname().encode()):08x}"
_MARK = re.compile(r"(?:([0-9a-f]{8})-)?[0-9a-f]{8}")


def mark() -> str:
    """What makes the name of a draft unique, and tells the machine it was made on."""
    return f"{_HOST}-{secrets.token_hex(4)}"


class Lock:
    """A lock on a file or a folder, until `release` or until the process ends."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # for children too, which closing would not do
            os.close(descriptor)

    def __del__(self) -> None:
        self.release()


def begin(make: Callable[[], Path]) -> tuple[Path, Lock]:
    """Makes a draft and locks it. It is made again if it was taken for a left one before it was locked."""
    while True:
        path = make()
        lock, held = _lock(path, PATIENCE_S)
        if held is not False or path.exists():
            return path, lock


@contextmanager
def locked(path: Path, patience_s: float = 0.0) -> Iterator[bool | None]:
    """True if this holds it; False if somebody else does, or nothing is there; None where there are no locks."""
    lock, held = _lock(path, patience_s)
    try:
        yield held
    finally:
        lock.release()


def _lock(path: Path, patience_s: float) -> tuple[Lock, bool | None]:
    end = time.monotonic() + patience_s
    while True:
        try:
            lock, held = _try(path)
        except OSError as error:
            return Lock(), False if isinstance(error, FileNotFoundError) else None
        if held is not False or time.monotonic() >= end:
            return lock, held
        time.sleep(_STEP_S)


def _try(path: Path) -> tuple[Lock, bool | None]:
    if fcntl is None:
        return Lock(), None
    descriptor = os.open(path, os.O_RDONLY)
    lock = Lock(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.release()
        return Lock(), False if error.errno in _BUSY else None
    if os.path.samestat(os.fstat(descriptor), os.stat(path)):
        return lock, True
    lock.release()  # what stands there now is another one
    return Lock(), False


def sweep(folder: Path, before: str, after: str = "", *, ours: Callable[[Path], bool] = lambda _: True) -> None:
    """Removes the drafts in a folder, named `before` + a mark + `after`, that nobody writes. It never fails."""
    with suppress(OSError):
        for name in os.listdir(folder):
            found = _MARK.fullmatch(name[len(before) : len(name) - len(after)])
            if found and name.startswith(before) and name.endswith(after):
                remove_left(folder / name, here=found[1] in {None, _HOST}, ours=ours)


def remove_left(path: Path, *, here: bool = True, ours: Callable[[Path], bool] = lambda _: True) -> None:
    """Removes a draft of ours if nobody writes it. It never fails."""
    with suppress(OSError), locked(path) as held:
        if (
            held is not False
            and not path.is_symlink()
            and ours(path)
            and ((held and here) or _age_s(path) > ABANDONED_S)
        ):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _age_s(path: Path) -> float:
    """Since anything in it changed."""
    inside = [Path(root, name) for root, folders, files in os.walk(path) for name in (*folders, *files)]
    return time.time() - max(each.lstat().st_mtime for each in (path, *inside))
