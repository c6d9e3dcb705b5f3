"""Saved folders: flat arrays, Arrow tables and a manifest, written whole or not at all and opened by mapping.

The laws: at every moment a path holds either the older save or the newer one, never a mixture; a folder that is no
save of ours is never replaced; nothing is unpickled; whatever is wrong with a save is a `StorageError`.

A save is `heliograph.json` (kind, version, the sizes of its files, and plain metadata), one `.npy` per array and one
`.arrow` (IPC file) per table.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.errors import Place, StorageError

MANIFEST = "heliograph.json"
_FORMAT = "heliograph save"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*\Z")
_SUFFIXES = {"arrays": ".npy", "tables": ".arrow"}
_SAVE_AGAIN = "save it again"
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Saved(NamedTuple):
    """An opened save. Arrays and tables are mapped, hence read-only and loaded as they are touched."""

    arrays: dict[str, np.ndarray[Any, Any]]
    tables: dict[str, pa.Table]
    meta: dict[str, Any]
    version: int


def write_folder(
    path: str | Path,
    kind: str,
    version: int,
    *,
    arrays: Mapping[str, np.ndarray[Any, Any]] = _NOTHING,
    tables: Mapping[str, pa.Table] = _NOTHING,
    meta: Mapping[str, Any] = _NOTHING,
) -> None:
    """Saves everything under `path`, replacing an older save there in one step."""
    target = _absolute(path)
    _refuse_foreign(target)
    with _writing(target):
        draft = _beside(target, f"draft-{secrets.token_hex(4)}")
        try:
            draft.mkdir(parents=True)
            _write_files(draft, arrays, tables)
            _write_manifest(draft, {"kind": kind, "version": version, "meta": dict(meta)})
            _sync(*draft.iterdir(), draft)
            _swap(draft, target)
            _sync(target.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def read_folder(path: str | Path, kind: str, versions: Collection[int]) -> Saved:
    """Opens a save of this kind; `versions` are those that the caller understands."""
    folder = _whole(_absolute(path))
    manifest = _read_manifest(folder)
    _check(folder, manifest, kind, versions)
    try:
        arrays = {name: _open_array(folder, name) for name in manifest["files"]["arrays"]}
        tables = {name: _open_table(folder, name) for name in manifest["files"]["tables"]}
    except Exception as error:  # garbage makes the readers of NumPy and Arrow fail in many ways
        raise _damaged(folder, f"{type(error).__name__}, {error}") from error
    return Saved(arrays, tables, manifest["meta"], manifest["version"])


def is_save(path: str | Path) -> bool:
    """Whether a folder looks like one that `write_folder` made."""
    return (Path(path) / MANIFEST).is_file()


def kind_of(path: str | Path) -> str:
    """What was saved here."""
    return str(_read_manifest(_whole(_absolute(path)))["kind"])


# --- writing ----------------------------------------------------------------------------------------------------


def _absolute(path: str | Path) -> Path:
    return Path(os.path.abspath(path))


def _beside(target: Path, role: str) -> Path:
    """A sibling, so that renaming it onto the target stays within one file system."""
    return target.with_name(f".{target.name}.{role}")


def _refuse_foreign(target: Path) -> None:
    """Somebody else's files must survive a mistyped path."""
    ours = is_save(target) or (target.is_dir() and not any(target.iterdir()))
    if os.path.lexists(target) and not ours:
        raise StorageError(
            "HG-806",
            f"{target.name!r} exists and is no Heliograph save, so it is not replaced",
            place=Place(str(target)),
            fix="choose another path or remove it first",
        )


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            "HG-807",
            f"cannot write the save: {error.strerror or error}",
            place=Place(str(target)),
            fix="check that the parent folder is writable and the disk has room",
        ) from error


def _write_files(folder: Path, arrays: Mapping[str, np.ndarray[Any, Any]], tables: Mapping[str, pa.Table]) -> None:
    for name, array in arrays.items():
        with open(_file(folder, "arrays", name), "xb") as file:
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)
    for name, table in tables.items():
        with open(_file(folder, "tables", name), "xb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)


def _file(folder: Path, group: str, name: str) -> Path:
    if not _NAME.match(name):
        raise _damaged(folder, f"{name!r} is no name for a part of a save")
    return folder / (name + _SUFFIXES[group])


def _write_manifest(folder: Path, content: dict[str, Any]) -> None:
    files = {
        group: {part.stem: part.stat().st_size for part in sorted(folder.glob("*" + suffix))}
        for group, suffix in _SUFFIXES.items()
    }
    text = json.dumps({"format": _FORMAT, **content, "files": files}, indent=1, ensure_ascii=False)
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def _sync(*paths: Path) -> None:
    """A rename must not reach the disk before what it names does."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _swap(draft: Path, target: Path) -> None:
    """Between the two renames the older save stands aside, where `read_folder` still finds it."""
    aside = _beside(target, "previous")
    if target.exists():
        shutil.rmtree(aside, ignore_errors=True)
        os.rename(target, aside)
    try:
        os.rename(draft, target)
    except OSError:
        if aside.exists():
            os.rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


# --- reading ----------------------------------------------------------------------------------------------------


def _whole(target: Path) -> Path:
    aside = _beside(target, "previous")
    if is_save(target) or not is_save(aside):
        return target
    return aside


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except OSError as error:
        if folder.is_dir():
            raise _no_save(folder, f"it has no {MANIFEST}") from error
        raise StorageError(
            "HG-801",
            f"no save at {folder.name!r}: {error.strerror or error}",
            place=Place(str(folder)),
            fix="give the folder that `save` wrote",
        ) from error
    except (ValueError, RecursionError) as error:
        raise _no_save(folder, f"its {MANIFEST} is not JSON") from error
    if not _well_formed(manifest):
        raise _no_save(folder, f"its {MANIFEST} lacks what a save has")
    return dict(manifest)


def _well_formed(manifest: Any) -> bool:
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        return False
    files = manifest.get("files")
    return (
        isinstance(manifest.get("kind"), str)
        and isinstance(manifest.get("version"), int)
        and isinstance(manifest.get("meta"), dict)
        and isinstance(files, dict)
        and all(isinstance(files.get(group), dict) for group in _SUFFIXES)
    )


def _check(folder: Path, manifest: dict[str, Any], kind: str, versions: Collection[int]) -> None:
    if manifest["kind"] != kind:
        raise StorageError(
            "HG-803",
            f"a save of a {manifest['kind']}, not of a {kind}",
            place=Place(str(folder)),
            fix=f"open it as a {manifest['kind']}, or give another path",
        )
    if manifest["version"] not in versions:
        raise StorageError(
            "HG-804",
            f"version {manifest['version']} of a saved {kind}; this release reads {_listed(versions)}",
            place=Place(str(folder)),
            fix="open it with the release that wrote it, or save it again with this one",
        )
    for group in _SUFFIXES:
        for name, size in manifest["files"][group].items():
            _check_size(_file(folder, group, name), size)


def _check_size(file: Path, size: Any) -> None:
    try:
        found = file.stat().st_size
    except OSError as error:
        raise _damaged(file.parent, f"{file.name} is missing") from error
    if found != size:
        raise _damaged(file.parent, f"{file.name} holds {found} bytes instead of {size}")


def _listed(versions: Collection[int]) -> str:
    return ", ".join(map(str, sorted(versions))) or "none"


def _open_array(folder: Path, name: str) -> np.ndarray[Any, Any]:
    return np.asarray(np.load(_file(folder, "arrays", name), mmap_mode="r", allow_pickle=False))


def _open_table(folder: Path, name: str) -> pa.Table:
    with pa.memory_map(str(_file(folder, "tables", name))) as source:
        table = pa.ipc.open_file(source).read_all()
    table.validate(full=True)  # bad offsets would crash a later reader
    return table


def _no_save(folder: Path, why: str) -> StorageError:
    return StorageError(
        "HG-802",
        f"{folder.name!r} is no save: {why}",
        place=Place(str(folder)),
        fix="give the folder that `save` wrote",
    )


def _damaged(folder: Path, why: str) -> StorageError:
    return StorageError("HG-805", f"a damaged save: {why}", place=Place(str(folder)), fix=_SAVE_AGAIN)
