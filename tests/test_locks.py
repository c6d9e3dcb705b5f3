"""Drafts: what a killed process left is removed, what a living one writes is not, and strangers' files stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from heliograph import storage
from heliograph import storage as locks
from heliograph.errors import StorageError
from heliograph.io.write import open_writer
from heliograph.storage import read_folder, write_folder

_SAVING = """
import sys, time
from heliograph import storage
whole = getattr(storage, sys.argv[2])
def stopping(*given):
    if sys.argv[3] == "after":
        whole(*given)
    print("ready", flush=True)
    time.sleep(600)
setattr(storage, sys.argv[2], stopping)
import numpy as np
storage.write_folder(sys.argv[1], "thing", 2, arrays={"x": np.arange(10)})
"""

_WRITING = """
import sys, time
from pathlib import Path
from heliograph.io.write import open_writer
with open_writer("taxonomy", sys.argv[1]):
    print("ready", flush=True)
    time.sleep(600)
"""


def started(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A process that has come to the point where it waits."""
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def save(path: Path, version: int = 1) -> None:
    write_folder(path, "thing", version, arrays={"x": np.full(1000, version)})


@pytest.mark.parametrize("then", ["save", "load"])
@pytest.mark.parametrize(
    ("step", "when"), [("_write_files", "before"), ("_write_manifest", "after"), ("_swap", "before")]
)
def test_what_a_killed_writer_left_is_removed(tmp_path: Path, step: str, when: str, then: str) -> None:
    save(tmp_path / "save")
    process = started(_SAVING, str(tmp_path / "save"), step, when)
    drafts = [name for name in names(tmp_path) if name.startswith(".save.draft-")]
    assert len(drafts) == 1
    save(tmp_path / "save", 3)  # beside a living writer
    read_folder(tmp_path / "save", "thing", {3})
    assert names(tmp_path) == [*drafts, "save"]
    end(process)
    assert names(tmp_path) == [*drafts, "save"]
    if then == "save":
        save(tmp_path / "save", 4)
    assert read_folder(tmp_path / "save", "thing", {3, 4}).version == (4 if then == "save" else 3)
    assert names(tmp_path) == ["save"]


def test_a_first_save_that_was_killed_leaves_nothing(tmp_path: Path) -> None:
    end(started(_SAVING, str(tmp_path / "save"), "_write_manifest", "after"))
    assert len(names(tmp_path)) == 1
    with pytest.raises(StorageError, match="HG-801"):
        read_folder(tmp_path / "save", "thing", {1})
    assert names(tmp_path) == []


def test_a_previous_save_that_was_left_is_removed_where_the_newer_one_is_whole(tmp_path: Path) -> None:
    save(tmp_path / ".save.previous")
    assert read_folder(tmp_path / "save", "thing", {1}).version == 1  # it is all there is
    assert names(tmp_path) == [".save.previous"]
    save(tmp_path / "other", 2)
    (tmp_path / "other").rename(tmp_path / "save")
    assert read_folder(tmp_path / "save", "thing", {2}).version == 2
    assert names(tmp_path) == ["save"]


STRANGERS = [
    ".save.draft-notes",
    ".save.draft-0123456",
    ".save.draft-012345678",
    ".other.draft-01234567",
    "save.draft-01234567",
]


def test_folders_of_strangers_are_not_touched(tmp_path: Path) -> None:
    for name in STRANGERS:
        (tmp_path / name).mkdir()
    for name in (f".save.draft-{locks.mark()[:8]}-01234567", ".save.previous"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "diary.txt").write_text("dear diary")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f".save.draft-{locks.mark()[:8]}-89abcdef").symlink_to(tmp_path / "elsewhere")
    before = names(tmp_path)
    with pytest.raises(StorageError):
        read_folder(tmp_path / "save", "thing", {1})
    assert names(tmp_path) == before
    save(tmp_path / "elsewhere" / "save")
    (tmp_path / "elsewhere" / "save").rename(tmp_path / "save")
    read_folder(tmp_path / "save", "thing", {1})
    assert names(tmp_path) == sorted([*before, "save"])


@pytest.mark.parametrize("locking", [True, False])
def test_drafts_of_another_machine_are_removed_by_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locking: bool
) -> None:
    save(tmp_path / "save")
    other = f"{int(locks.mark()[:8], 16) ^ 1:08x}" if locking else locks.mark()[:8]
    if not locking:
        monkeypatch.setattr(locks, "fcntl", None)
    for token, age in (("00000001", locks.ABANDONED_S - 60), ("00000002", locks.ABANDONED_S + 60)):
        draft = tmp_path / f".save.draft-{other}-{token}"
        draft.mkdir()
        (draft / "x.npy").touch()
        then = time.time() - age
        os.utime(draft / "x.npy", (then, then))
        os.utime(draft, (0, 0))
    read_folder(tmp_path / "save", "thing", {1})
    assert names(tmp_path) == [f".save.draft-{other}-00000001", "save"]


def test_writers_and_readers_of_one_path_take_turns(tmp_path: Path) -> None:
    """A reader finds one save or another, never a mixture, and no writer fails because of another one."""
    path, errors, stop = tmp_path / "save", [], threading.Event()
    save(path)

    def write(version: int) -> None:
        try:
            for _ in range(20):
                save(path, version)
        except BaseException as error:
            errors.append(error)

    def read() -> None:
        try:
            while not stop.is_set():
                saved = read_folder(path, "thing", {1, 2, 3})
                assert (saved.arrays["x"] == saved.version).all()
        except BaseException as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(version,)) for version in (1, 2, 3)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert errors == []
    assert names(tmp_path) == ["save"]
    assert storage.check_save(path).files == 1


def test_a_part_of_an_output_that_was_left_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    process = started(_WRITING, str(path))
    (part,) = names(tmp_path)
    rows = pa.table({"child": ["a"], "parent": ["b"]})
    with open_writer("taxonomy", str(path)) as writer:
        writer.write(rows)
    assert names(tmp_path) == sorted([part, "out.parquet"])  # the other one lives
    end(process)
    (tmp_path / ".out.parquet.mine.part").touch()
    with open_writer("taxonomy", str(path)) as writer:
        writer.write(rows)
    assert names(tmp_path) == [".out.parquet.mine.part", "out.parquet"]
