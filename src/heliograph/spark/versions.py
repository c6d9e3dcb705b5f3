"""A folder of numbered versions on storage that all workers see, and what a worker keeps open of them."""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

from heliograph.errors import Place, StorageError, UsageError
from heliograph.storage import is_save

# ----------------------------------------------------------------------------------------------------------------------
# A folder of numbered versions on storage that all workers see, and which of them a batch is to use.
#
# The laws: a version appears whole and never changes. All tasks of a micro-batch use one version, the latest when the
# first of them asked: it is pinned in a file that only one of them can make, so a task that is run again, or a batch
# that is run again after a restart, uses the same.
# ----------------------------------------------------------------------------------------------------------------------

_VERSION = re.compile(r"version-(\d{8})\Z")
_KEPT = 100  # pins of a query that are kept: Spark looks back as many batches


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

    # --- pins ---------------------------------------------------------------------------------------------------

    def pinned(self, query: str, batch: int) -> int:
        """The version that a micro-batch of a streaming query uses."""
        folder = Path(self.folder, "pins", re.sub(r"[^A-Za-z0-9-]", "-", query))
        pin = folder / f"{batch:020d}"
        if not pin.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _make(pin, str(self.latest()))
            _tidy(folder)
        return int(_read(pin))


def _make(pin: Path, text: str) -> None:
    """Makes a file with its text in one step, unless somebody else did."""
    draft = pin.with_name(f".{pin.name}.{secrets.token_hex(4)}")
    draft.write_text(text)
    try:
        os.link(draft, pin)
    except FileExistsError:
        pass
    except OSError:  # storage without links: whoever is first writes, the others wait for the text
        _claim(pin, text)
    finally:
        draft.unlink(missing_ok=True)


def _claim(pin: Path, text: str) -> None:
    try:
        with open(pin, "x") as file:
            file.write(text)
    except FileExistsError:
        return


def _read(pin: Path) -> str:
    for _ in range(100):
        text = pin.read_text()
        if text:
            return text
        time.sleep(0.05)
    raise StorageError("HG-805", "a pin without a version", place=Place(str(pin)), fix="remove the file")


def _tidy(folder: Path) -> None:
    """Removes the oldest pins, and what tasks that were killed left of those: drafts begin with a dot."""
    pins = sorted(folder.iterdir(), key=lambda path: path.name.lstrip("."))
    for path in pins[:-_KEPT]:
        path.unlink(missing_ok=True)


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
        query, batch = micro_batch()
        return self.versions.pinned(query, batch)


def micro_batch() -> tuple[str, int]:
    """The streaming query and the micro-batch that this task belongs to."""
    from pyspark import TaskContext

    context = TaskContext.get()
    query = context and context.getLocalProperty("sql.streaming.queryId")
    batch = context and context.getLocalProperty("streaming.sql.batchId")
    return str(query or "none"), int(batch or 0)


def task_number() -> int:
    """Which of its stage's tasks this is."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0


# ----------------------------------------------------------------------------------------------------------------------
# What a Python worker keeps from one task to the next: opened versions, by their paths.
#
# Spark's workers live on between tasks, and keep the globals of modules that can be imported. The law: whatever is
# kept here can be opened again from storage, so nothing depends on which worker a task is given to.
# ----------------------------------------------------------------------------------------------------------------------

Opened = TypeVar("Opened")

MOST = 32  # shards of the present version and of the one before, as far as a worker meets them

_OPENED: OrderedDict[Hashable, Any] = OrderedDict()


def opened(key: Hashable, open: Callable[[], Opened]) -> Opened:
    """What is kept under a key, opened when it is first wanted; what was not wanted for longest is let go."""
    if key not in _OPENED:
        made = open()
        while len(_OPENED) >= MOST:
            _OPENED.popitem(last=False)
        _OPENED[key] = made
    _OPENED.move_to_end(key)
    found: Opened = _OPENED[key]
    return found


# ----------------------------------------------------------------------------------------------------------------------
# Where versions are kept if nobody says: a folder of this machine, gone when the program ends.
#
# A cluster has no such folder that all see, so there it must be named.
# ----------------------------------------------------------------------------------------------------------------------


@cache
def _root() -> Path:
    folder = tempfile.mkdtemp(prefix="heliograph-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def own_folder(given: str | Path | None, what: str) -> str:
    """A new folder for the interests of one run, inside the one that was given: who comes later finds none of them."""
    if given is None:
        return storage_folder(None, what)
    own = Path(given).absolute() / f"{what}-{secrets.token_hex(4)}"
    own.mkdir(parents=True)
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return str(own)


def storage_folder(given: str | Path | None, what: str) -> str:
    """The folder that was given, or a new one here."""
    if given is not None:
        return str(Path(given).absolute())
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and not str(running.conf.get("spark.master", "local")).startswith("local"):
        fix = "give folder=… on storage that driver and workers share"
        raise UsageError("HG-081", f"no folder for what the workers of this cluster open ({what})", fix=fix)
    return tempfile.mkdtemp(prefix=f"{what}-", dir=_root())
