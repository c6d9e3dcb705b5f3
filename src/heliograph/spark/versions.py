"""Interests as numbered versions in a folder that all workers see, and what a worker keeps open of them.

The laws:
- A version appears whole and never changes. All tasks of a micro-batch use one version, the latest when the first of
  them asked: it is pinned in a file that only one of them can make. So a task that is run again, or a batch that is run
  again after a restart, uses the same version.
- Spark's Python workers live on between tasks, and keep the globals of modules that can be imported. Whatever a worker
  keeps here can be made again from storage, so nothing depends on which worker a task is given to.
- `Plans`, `Watchers` and `Exchanges` change in the same way: each change writes a version, changes within `together`
  write one, and what was refused is kept. A stream that runs takes a version up with its next micro-batch.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

from heliograph.errors import Place, StorageError, UsageError
from heliograph.model import Receipt, Rejections
from heliograph.partition.plan import MOST_SHARDS
from heliograph.storage import is_save

_VERSION = re.compile(r"version-(\d{8})\Z")
_KEPT_PINS = 100  # pins of a query that are kept: Spark looks back as many batches


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of one thing, such as a plan or an exchange."""

    folder: str

    @classmethod
    def at(cls, folder: str | Path) -> Self:
        """The versions in a folder, wherever a worker stands."""
        return cls(str(Path(folder).absolute()))

    def latest(self) -> int:
        """The newest version; raises where there is none."""
        numbers = self.numbers()
        if not numbers:
            fix = "save a version there before it is used"
            raise StorageError("HG-801", "no version in this folder", place=Place(self.folder), fix=fix)
        return numbers[-1]

    def numbers(self) -> list[int]:
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        found = ((match, name) for name in names if (match := _VERSION.match(name)))
        return sorted(int(match[1]) for match, name in found if is_save(Path(self.folder, name)))

    def path(self, number: int) -> Path:
        return Path(self.folder, f"version-{number:08d}")

    def add(self, save: Callable[[Path], None]) -> int:
        """The number of a new version, which `save` writes to the path that it is given."""
        number = (self.numbers() or [0])[-1] + 1
        save(self.path(number))
        return number

    def pinned(self, query: str, batch: int) -> int:
        """The version that a micro-batch of a streaming query uses."""
        folder = Path(self.folder, "pins", re.sub(r"[^A-Za-z0-9-]", "-", query))
        pin = folder / f"{batch:020d}"
        if not pin.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _make_pin(pin, str(self.latest()))
            # Drafts that killed tasks left begin with a dot, and go with the pins of their time.
            for old in sorted(folder.iterdir(), key=lambda path: path.name.lstrip("."))[:-_KEPT_PINS]:
                old.unlink(missing_ok=True)
        for _ in range(100):
            text = pin.read_text()
            if text:
                return int(text)
            time.sleep(0.05)
        raise StorageError("HG-805", "a pin without a version", place=Place(str(pin)), fix="remove the file")


def _make_pin(pin: Path, text: str) -> None:
    """Makes a file with its text in one step, unless another task did."""
    draft = pin.with_name(f".{pin.name}.{secrets.token_hex(4)}")
    draft.write_text(text)
    try:
        os.link(draft, pin)
    except FileExistsError:
        pass
    except OSError:  # storage without links: the first task writes, the others wait for the text
        with suppress(FileExistsError), open(pin, "x") as file:
            file.write(text)
    finally:
        draft.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Pointer:
    """Which version a task is to open: a certain one, or the one that its micro-batch is pinned to."""

    versions: Versions
    number: int | None

    def path(self) -> Path:
        return self.versions.path(self.resolved())

    def resolved(self) -> int:
        if self.number is not None:
            return self.number
        from pyspark import TaskContext

        context = TaskContext.get()
        query = context and context.getLocalProperty("sql.streaming.queryId")
        batch = context and context.getLocalProperty("streaming.sql.batchId")
        return self.versions.pinned(str(query or "none"), int(batch or 0))


def task_number() -> int:
    """Which of its stage's tasks this is."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0


# --- what a worker keeps from one task to the next ----------------------------------------------------------------

Opened = TypeVar("Opened")

MOST = 32  # shards of the present version and of the one before, as far as a worker meets them

_KEPT: OrderedDict[Hashable, Any] = OrderedDict()


def opened(key: Hashable, open: Callable[[], Opened]) -> Opened:
    """What is kept under a key, opened when it is first wanted."""
    if key not in _KEPT:
        keep(key, open())
    _KEPT.move_to_end(key)
    found: Opened = _KEPT[key]
    return found


def keep(key: Hashable, value: Any) -> None:
    """Keeps something under a key; what was not wanted for longest is let go."""
    _KEPT.pop(key, None)
    while len(_KEPT) >= MOST:
        _KEPT.popitem(last=False)
    _KEPT[key] = value


def take(key: Hashable) -> Any:
    """What is kept under a key, or None; it is not kept any longer."""
    return _KEPT.pop(key, None)


# --- what the driver holds ----------------------------------------------------------------------------------------


class VersionedInterests(ABC):
    """Interests that the driver holds and changes, and that workers open as versions in a folder."""

    versions: Versions
    rejected: Rejections
    """What was refused so far."""

    def __init__(self, folder: str | Path) -> None:
        self.versions, self.rejected = Versions.at(folder), Rejections()
        self._lock, self._waiting = threading.Lock(), False

    @property
    @abstractmethod
    def size(self) -> int:
        """How many interests there are now."""

    @abstractmethod
    def _write(self) -> None:
        """Writes a version of what the driver holds."""

    @contextmanager
    def together(self) -> Iterator[Self]:
        """All changes within become one version."""
        self._waiting = True
        try:
            yield self
        finally:
            self._waiting = False
        self._write()

    def _changed(self, receipt: Receipt) -> Receipt:
        self.rejected += receipt.rejected
        if not self._waiting:
            self._write()
        return receipt

    def pointer(self, streaming: bool) -> Pointer:
        """What says to a task which version to open: a stream follows the versions, a batch has one."""
        return Pointer(self.versions, None if streaming else self.versions.latest())


def check_shards(shards: Any) -> int:
    """How many shards are wanted; one where nothing is said."""
    if shards is None:
        return 1
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= MOST_SHARDS:
        raise UsageError("HG-051", f"shards is {shards!r}", fix=f"give how many, from 1 to {MOST_SHARDS}")
    return shards


# --- where versions are kept --------------------------------------------------------------------------------------


@cache
def _root() -> Path:
    folder = tempfile.mkdtemp(prefix="heliograph-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def own_folder(given: str | Path | None, what: str) -> str:
    """A new folder for the interests of one run, inside the one that was given: a later run finds none of them."""
    if given is None:
        return storage_folder(None, what)
    own = Path(given).absolute() / f"{what}-{secrets.token_hex(4)}"
    own.mkdir(parents=True)
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return str(own)


def storage_folder(given: str | Path | None, what: str) -> str:
    """The folder that was given, or a new one of this machine, gone when the program ends.

    A cluster has no such folder that all of it sees, so there it must be named.
    """
    if given is not None:
        return str(Path(given).absolute())
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and not str(running.conf.get("spark.master", "local")).startswith("local"):
        fix = "give folder=… on storage that driver and workers share"
        raise UsageError("HG-081", f"no folder for what the workers of this cluster open ({what})", fix=fix)
    return tempfile.mkdtemp(prefix=f"{what}-", dir=_root())
