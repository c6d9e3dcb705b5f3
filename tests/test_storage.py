"""A save is whole or it is not there, and whatever is wrong with one is a StorageError that says so."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import storage
from heliograph.errors import StorageError
from heliograph.storage import MANIFEST, read_folder, write_folder

ARRAYS: dict[str, np.ndarray[Any, Any]] = {
    "numbers": np.arange(1000, dtype=np.int32),
    "none": np.zeros(0, np.float64),
    "grid": np.arange(6).reshape(2, 3),
    "part.flags": np.array([True, False]),
}
TABLES = {"names": pa.table({"name": ["a", None, "é"]}), "empty": pa.table({"x": pa.array([], pa.int64())})}
META = {"key": 2**60, "list": [1, "ü"], "none": None}


def _write(path: Path, version: int = 1, **changes: Any) -> None:
    write_folder(path, "thing", version, **{"arrays": ARRAYS, "tables": TABLES, "meta": META, **changes})


def _code(path: Path, kind: str = "thing", versions: tuple[int, ...] = (1,)) -> str:
    with pytest.raises(StorageError) as caught:
        read_folder(path, kind, versions)
    assert caught.value.fix
    assert str(path.parent) in str(caught.value)
    return caught.value.code


def test_what_was_written_is_read(tmp_path: Path) -> None:
    _write(tmp_path / "save")
    saved = read_folder(tmp_path / "save", "thing", {1, 2})
    assert saved.version == 1
    assert saved.meta == META
    assert saved.tables == TABLES
    assert saved.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(saved.arrays[name], array)
        assert saved.arrays[name].dtype == array.dtype
        assert not saved.arrays[name].flags.writeable
    base: Any = saved.arrays["numbers"]
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base, np.memmap)


def test_an_empty_save(tmp_path: Path) -> None:
    write_folder(tmp_path / "save", "thing", 3)
    assert read_folder(tmp_path / "save", "thing", {3}) == ({}, {}, {}, 3)


def test_a_later_save_replaces_an_earlier_one_whole(tmp_path: Path) -> None:
    _write(tmp_path / "save")
    before = read_folder(tmp_path / "save", "thing", {1})
    write_folder(tmp_path / "save", "other", 2, arrays={"x": np.ones(2)})
    assert list(read_folder(tmp_path / "save", "other", {2}).arrays) == ["x"]
    np.testing.assert_array_equal(before.arrays["numbers"], ARRAYS["numbers"])  # an open save stays readable
    assert [path.name for path in tmp_path.iterdir()] == ["save"]


def test_saving_over_the_save_one_reads_from(tmp_path: Path) -> None:
    _write(tmp_path / "save")
    saved = read_folder(tmp_path / "save", "thing", {1})
    write_folder(tmp_path / "save", "thing", 2, arrays=saved.arrays, tables=saved.tables, meta=saved.meta)
    again = read_folder(tmp_path / "save", "thing", {2})
    np.testing.assert_array_equal(again.arrays["numbers"], ARRAYS["numbers"])
    assert again.tables == TABLES


def test_parents_are_made_and_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "deep" / "er", tmp_path / "empty"):
        _write(path)
        assert storage.is_save(path)


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch])
def test_what_is_no_save_is_never_replaced(tmp_path: Path, make: Callable[[Path], None]) -> None:
    target = tmp_path / "mine"
    make(target)
    if target.is_dir():
        (target / "diary.txt").write_text("dear diary")
    with pytest.raises(StorageError) as caught:
        _write(target)
    assert caught.value.code == "HG-806"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


# --- interrupted writes ---


@pytest.mark.parametrize("step", ["_write_files", "_write_manifest", "_sync", "_swap"])
def test_a_failed_write_leaves_the_older_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    _write(tmp_path / "save")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage, step, fail)
    with pytest.raises(StorageError, match="No space left") as caught:
        _write(tmp_path / "save", 2)
    assert caught.value.code == "HG-807"
    assert read_folder(tmp_path / "save", "thing", {1}).meta == META
    assert [path.name for path in tmp_path.iterdir()] == ["save"]


@pytest.mark.parametrize(("older", "failing"), [(True, 1), (True, 2), (False, 1)])
def test_a_failed_rename_puts_the_older_save_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, older: bool, failing: int
) -> None:
    if older:
        _write(tmp_path / "save")
        (tmp_path / ".save.previous").mkdir()  # left by a crash
        (tmp_path / ".save.previous" / "junk").touch()
    calls = 0
    rename = os.rename

    def renaming(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", renaming)
    with pytest.raises(StorageError):
        _write(tmp_path / "save", 2)
    if older:
        assert read_folder(tmp_path / "save", "thing", {1}).version == 1
    assert [path.name for path in tmp_path.iterdir()] == ["save"] * older


class _Crash(BaseException):
    """The power goes."""


def test_a_crash_between_the_renames_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "save")
    rename = os.rename

    def crash(source: Path, target: Path) -> None:
        if "draft" in source.name:
            raise _Crash
        rename(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", crash)
        with pytest.raises(_Crash):
            _write(tmp_path / "save", 2)
    assert not (tmp_path / "save").exists()
    assert read_folder(tmp_path / "save", "thing", {1}).meta == META
    _write(tmp_path / "save", 2)
    assert read_folder(tmp_path / "save", "thing", {2}).meta == META
    assert [path.name for path in tmp_path.iterdir()] == ["save"]


def test_a_parent_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError) as caught:
        _write(tmp_path / "file" / "save")
    assert caught.value.code == "HG-807"


def test_a_bad_name_is_refused_before_anything_is_replaced(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        write_folder(tmp_path / "save", "thing", 1, arrays={"../x": np.ones(1)})
    assert list(tmp_path.iterdir()) == []


def test_objects_are_never_pickled(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        write_folder(tmp_path / "save", "thing", 1, arrays={"x": np.array([object()])})
    assert list(tmp_path.iterdir()) == []


# --- wrong saves ---


def test_no_save_there(tmp_path: Path) -> None:
    assert _code(tmp_path / "nothing") == "HG-801"
    (tmp_path / "folder").mkdir()
    assert _code(tmp_path / "folder") == "HG-802"
    (tmp_path / "file").touch()
    assert _code(tmp_path / "file") == "HG-801"


def test_an_unknown_version_is_refused_with_the_versions_known(tmp_path: Path) -> None:
    _write(tmp_path / "save", 7)
    assert _code(tmp_path / "save", kind="other") == "HG-803"
    with pytest.raises(StorageError, match="version 7 of a saved thing; this release reads 1, 2") as caught:
        read_folder(tmp_path / "save", "thing", {2, 1})
    assert caught.value.code == "HG-804"
    assert "save it again" in str(caught.value.fix)


BROKEN_MANIFESTS: dict[str, Any] = {
    "empty": "",
    "no JSON": "{",
    "too deep": "[" * 100_000,
    "a list": "[]",
    "foreign": '{"format": "something else"}',
    "not UTF-8": b"\xff\xfe",
    "no files": '{"format": "heliograph save 2", "kind": "thing", "version": 1, "meta": {}}',
    "files of no group": '{"format": "heliograph save 2", "kind": "thing", "version": 1, "meta": {}, "files": {}}',
    "version as text": '{"format": "heliograph save 2", "kind": "thing", "version": "1", "meta": {}, "files": {}}',
}


@pytest.mark.parametrize("name", BROKEN_MANIFESTS)
def test_a_garbled_manifest(tmp_path: Path, name: str) -> None:
    _write(tmp_path / "save")
    content = BROKEN_MANIFESTS[name]
    (tmp_path / "save" / MANIFEST).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert _code(tmp_path / "save") == "HG-802"


def _resign(save: Path, **arrays: Any) -> None:
    """Changes what a manifest says of arrays, with the digest that goes with it."""
    manifest = json.loads((save / MANIFEST).read_text())
    del manifest["digest"]
    manifest["files"]["arrays"] |= arrays
    (save / MANIFEST).write_bytes(storage._signed(json.dumps(manifest, indent=1).encode()))


def test_a_manifest_cannot_point_outside(tmp_path: Path) -> None:
    _write(tmp_path / "save")
    file = tmp_path / "secret.npy"
    np.save(file, np.ones(3))
    _resign(tmp_path / "save", **{"../secret": [file.stat().st_size, zlib.crc32(file.read_bytes())]})
    with pytest.raises(StorageError, match="is no name for a part"):
        read_folder(tmp_path / "save", "thing", {1})


@pytest.mark.parametrize("entry", [None, 5, [], [1], [1, 2, 3], ["a", "b"]])
def test_a_manifest_without_a_checksum_is_refused(tmp_path: Path, entry: Any) -> None:
    _write(tmp_path / "save")
    _resign(tmp_path / "save", numbers=entry)
    assert _code(tmp_path / "save") == "HG-805"


def test_a_large_file_is_left_to_check_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "save")
    assert storage.check_save(tmp_path / "save")[1:4] == ("thing", 1, 6)
    _flip(tmp_path / "save" / "numbers.npy", -1)
    assert _code(tmp_path / "save") == "HG-805"
    size = (tmp_path / "save" / "numbers.npy").stat().st_size
    monkeypatch.setattr(storage, "CHECKED_ON_LOAD", size)
    assert _code(tmp_path / "save") == "HG-805"
    monkeypatch.setattr(storage, "CHECKED_ON_LOAD", size - 1)
    read_folder(tmp_path / "save", "thing", {1})
    with pytest.raises(StorageError, match=r"the content of numbers\.npy is not as it was written"):
        storage.check_save(tmp_path / "save")


def test_one_table_is_checked_alone(tmp_path: Path) -> None:
    _write(tmp_path / "save")
    _flip(tmp_path / "save" / "numbers.npy", -1)
    assert storage.read_table(tmp_path / "save", "names") == TABLES["names"]
    _flip(tmp_path / "save" / "names.arrow", 300)
    with pytest.raises(StorageError, match=r"names\.arrow"):
        storage.read_table(tmp_path / "save", "names")
    with pytest.raises(StorageError, match="no checksum of other"):
        storage.read_table(tmp_path / "save", "other")


def _flip(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.unlink()  # it may be mapped
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["numbers.npy", "names.arrow"])
def test_a_missing_or_shortened_file(tmp_path: Path, name: str) -> None:
    _write(tmp_path / "save")
    file = tmp_path / "save" / name
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert _code(tmp_path / "save") == "HG-805"
    file.write_bytes(b"\0" * len(whole))
    assert _code(tmp_path / "save") == "HG-805"
    file.unlink()
    assert _code(tmp_path / "save") == "HG-805"


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damage") / "save"
    _write(path)
    return path


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_anywhere_is_refused_or_changes_nothing(victim: Path, data: Any) -> None:
    file = victim / data.draw(st.sampled_from(["numbers.npy", "none.npy", "names.arrow", "empty.arrow", MANIFEST]))
    whole = file.read_bytes()
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, min(len(content), 2000) - 1))] = data.draw(st.integers(0, 255))
    file.unlink()  # an older example may still have it mapped
    file.write_bytes(content)
    try:
        saved = read_folder(victim, "thing", {1})
    except StorageError:
        assert content != whole
    else:
        assert (saved.meta, saved.tables, saved.version) == (META, TABLES, 1)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(saved.arrays[name], array)
    finally:
        file.unlink()
        file.write_bytes(whole)
