"""Files that workers write, on their way into the folder of their batch.

The laws: a file is written under a name that nobody else has, in a folder that readers pass over; only files that a
task which succeeded told of are taken; a batch appears whole, and replaces what an earlier run of it left. So attempts
that die, copies of a task that run beside it, and a driver that dies at any point leave nothing that is read, and the
batch can be run again. One writer at a time has an output.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyarrow as pa
from pyarrow import parquet

from heliograph.errors import Place, StorageError

STAGING = "_staging"  # a name that Spark's readers pass over
SUCCESS = "_SUCCESS"  # what Spark leaves in a folder that is complete


@dataclass(frozen=True, slots=True)
class Staging:
    """Where the tasks of one run leave files for an output: a folder of its own inside it."""

    output: str
    run: str

    @classmethod
    def begin(cls, output: str) -> Self:
        """A new run; what runs before it left behind is removed. An output that cannot be had fails here."""
        Path(output).mkdir(parents=True, exist_ok=True)
        shutil.rmtree(Path(output, STAGING), ignore_errors=True)
        return cls(output, secrets.token_hex(8))

    @property
    def folder(self) -> Path:
        return Path(self.output, STAGING, self.run)

    def draft(self, number: int) -> Path:
        """A new file for a task."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"part-{number:05d}-{secrets.token_hex(8)}.parquet"

    def commit(self, names: Iterable[str], schema: pa.Schema, batch: int) -> None:
        """Makes these files the batch; one without rows has an empty file, so that its columns are known."""
        ready = self.folder / f"ready-{secrets.token_hex(8)}"
        ready.mkdir(parents=True)
        for name in names:
            self._take(name, ready)
        if not os.listdir(ready):
            parquet.write_table(schema.empty_table(), ready / "part-00000.parquet", store_schema=False)
        (ready / SUCCESS).touch()
        self._replace(Path(self.output, f"batch={batch}"), ready)
        self.clear()

    def _take(self, name: str, ready: Path) -> None:
        try:
            os.rename(self.folder / name, ready / name)
        except FileNotFoundError as error:
            fix = "give a path that leads to the same folder on all machines, and to one query at a time"
            raise StorageError(
                "HG-811", "a file that a worker wrote is not here", place=Place(self.output), fix=fix
            ) from error

    def _replace(self, target: Path, ready: Path) -> None:
        """A folder with files cannot be replaced in one step: for a moment, or after a death then, there is none."""
        if target.exists():
            os.rename(target, self.folder / f"replaced-{secrets.token_hex(8)}")
        os.rename(ready, target)

    def clear(self) -> None:
        """Removes what is left of the run: files of attempts that nobody asked for, and the batch that was replaced."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):  # somebody's file is there still
            self.folder.parent.rmdir()
