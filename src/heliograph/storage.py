"""Saved folders: flat arrays, Arrow tables and a manifest, written whole or not at all and opened by mapping.

A save is `heliograph.json` (kind, version, plain metadata, the size and checksum of each file, and a digest of all
this), one `.npy` per array and one `.arrow` (IPC file) per table. Checksums are compared when a save is opened, so
that a damaged one is refused. Only files above `CHECKED_ON_LOAD` are left to `check_save` (`heliograph doctor
--check`), because a save is mapped in order not to be read whole. A CRC-32 runs at some 4 GB/s, SHA-256 at less than
half of that.

The laws: at every moment a path holds either the older save or the newer one, never a mixture; a folder that is no
save of ours is never replaced; nothing is unpickled; whatever is wrong with a save is a `StorageError`.

Work in progress is a *draft* beside its path. A process that writes a draft, or moves or removes it, holds its lock; a
lock ends with its process, however that ends. What a killed writer left is removed by the next save or load of that
path, and only what nobody holds is removed. Locks of another machine may not be seen here, so the name of a draft says
on which machine it was made: a draft of another machine, or one on storage without locks, counts as left behind only
when nothing in it has changed for a day.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from heliograph.errors import Place, StorageError

# --- locks on drafts ---

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ABANDONED_S = 86_400  # without a change for so long, what cannot be locked counts as left behind
PATIENCE_S = 10.0  # how long a writer waits for another one; a child process may keep a lock that nobody uses
_STEP_S = 0.01
_BUSY = {errno.EAGAIN, errno.EACCES}
_HOST = f"{zlib.crc32(socket.gethostname().encode()):08x}"
_MARK = re.compile(r"([0-9a-f]{8})-[0-9a-f]{8}")


def mark() -> str:
    """What makes the name of a draft unique, and says on which machine it was made."""
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
                remove_left(folder / name, here=found[1] == _HOST, ours=ours)


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


# --- saves ---

MANIFEST = "heliograph.json"
CHECKED_ON_LOAD = 1 << 30  # bytes; a file above is mapped without a look at its checksum, which takes some 0.3 s/GiB
_FORMAT = "heliograph save 2"
_DIGEST = re.compile(rb',\n "digest": "([0-9a-f]{64})"\n}\Z')
_CHUNK = 1 << 20
_TRIES = 20  # a reader begins again if the save was replaced meanwhile
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*\Z")
_SUFFIXES = {"arrays": ".npy", "tables": ".arrow"}
Found = TypeVar("Found")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Saved(NamedTuple):
    """An opened save. Arrays and tables are mapped, hence read-only and loaded as they are touched."""

    arrays: dict[str, np.ndarray[Any, Any]]
    tables: dict[str, pa.Table]
    meta: dict[str, Any]
    version: int


class Checked(NamedTuple):
    """A save that was found whole."""

    path: str
    kind: str
    version: int
    files: int
    bytes: int


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
    _clean_up(target)

    def new_draft() -> Path:
        draft = _beside(target, f"draft-{mark()}")
        draft.mkdir(parents=True)
        return draft

    with _writing(target):
        draft, lock = begin(new_draft)
        try:
            _write_files(draft, arrays, tables)
            _write_manifest(draft, {"kind": kind, "version": version, "meta": dict(meta)})
            _sync(*draft.iterdir(), draft)
            _swap(draft, target)
            _sync(target.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            lock.release()


def read_folder(path: str | Path, kind: str, versions: Collection[int]) -> Saved:
    """Opens a save of this kind; `versions` are those that the caller understands."""
    target = _absolute(path)
    _clean_up(target)
    return _steady(target, lambda folder: _read(folder, kind, versions))


def _read(folder: Path, kind: str, versions: Collection[int]) -> Saved:
    manifest = _read_manifest(folder)
    place = Place(str(folder))
    if manifest["kind"] != kind:
        fix = f"open it as a {manifest['kind']}, or give another path"
        raise StorageError("HG-803", f"a save of a {manifest['kind']}, not of a {kind}", place=place, fix=fix)
    if manifest["version"] not in versions:
        known = ", ".join(map(str, sorted(versions))) or "none"
        message = f"version {manifest['version']} of a saved {kind}; this release reads {known}"
        fix = "open it with the release that wrote it, or save it again with this one"
        raise StorageError("HG-804", message, place=place, fix=fix)
    for file, entry in _files(folder, manifest):
        _check_file(file, entry, up_to=CHECKED_ON_LOAD)
    try:
        arrays = {name: _open_array(folder, name) for name in manifest["files"]["arrays"]}
        tables = {name: _open_table(folder, name) for name in manifest["files"]["tables"]}
    except Exception as error:  # garbage makes the readers of NumPy and Arrow fail in many ways
        raise _damaged(folder, f"{type(error).__name__}, {error}") from error
    return Saved(arrays, tables, manifest["meta"], manifest["version"])


def check_save(path: str | Path) -> Checked:
    """Reads every byte of a save, of whatever kind and size; raises a StorageError if one is not as it was written."""

    def check(folder: Path) -> Checked:
        manifest = _read_manifest(folder)
        files = list(_files(folder, manifest))
        for file, entry in files:
            _check_file(file, entry, up_to=None)
        sizes = [file.stat().st_size for file, _ in files]
        return Checked(str(folder), manifest["kind"], manifest["version"], len(files), sum(sizes))

    return _steady(_absolute(path), check)


def find_saves(path: str | Path) -> list[Path]:
    """The save at a path, or all saves in the folders below it, in order."""
    if is_save(_whole(_absolute(path))):
        return [Path(path)]
    drafts = re.compile(r"\..*\.(?:draft-[0-9a-f-]+|previous)\Z")
    found = (each.parent for each in Path(path).rglob(MANIFEST))
    return sorted(each for each in found if not drafts.match(each.name))


def is_save(path: str | Path) -> bool:
    """Whether a folder looks like one that `write_folder` made."""
    return (Path(path) / MANIFEST).is_file()


def read_table(path: str | Path, name: str) -> pa.Table:
    """One table of a save. Its other files are not looked at."""

    def read(folder: Path) -> pa.Table:
        entry = _read_manifest(folder)["files"]["tables"].get(name)
        _check_file(_file(folder, "tables", name), entry, up_to=CHECKED_ON_LOAD)
        return _open_table(folder, name)

    return _steady(_absolute(path), read)


def kind_of(path: str | Path) -> str:
    """What was saved here."""
    return str(_steady(_absolute(path), _read_manifest)["kind"])


# --- writing ---


def _absolute(path: str | Path) -> Path:
    return Path(os.path.abspath(path))


def _beside(target: Path, role: str) -> Path:
    """A sibling, so that renaming it onto the target stays within one file system."""
    return target.with_name(f".{target.name}.{role}")


def _clean_up(target: Path) -> None:
    """Removes what killed writers left beside this path, and nothing that somebody writes or that is not ours."""
    sweep(target.parent, f".{target.name}.draft-", ours=_is_remains)
    aside = _beside(target, "previous")
    if aside.exists() and is_save(target):
        remove_left(aside, ours=lambda path: _is_remains(path) and is_save(target))


def _is_remains(path: Path) -> bool:
    """Whether a folder holds nothing that `write_folder` does not write."""
    with os.scandir(path) as entries:
        return all(
            entry.is_file(follow_symlinks=False)
            and (entry.name == MANIFEST or entry.name.endswith(tuple(_SUFFIXES.values())))
            for entry in entries
        )


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
        group: {part.stem: [part.stat().st_size, _checksum(part)] for part in sorted(folder.glob("*" + suffix))}
        for group, suffix in _SUFFIXES.items()
    }
    text = json.dumps({"format": _FORMAT, **content, "files": files}, indent=1, ensure_ascii=False).encode()
    (folder / MANIFEST).write_bytes(_signed(text))


def _signed(text: bytes) -> bytes:
    """A manifest with the digest of all the rest of it as its last entry."""
    return text.removesuffix(b"\n}") + b',\n "digest": "' + hashlib.sha256(text).hexdigest().encode() + b'"\n}'


def _checksum(file: Path) -> int:
    """The CRC-32 of a file, read rather than mapped, so that it does not count as memory of this process."""
    found, chunk = 0, bytearray(_CHUNK)
    view = memoryview(chunk)
    with open(file, "rb", buffering=0) as source:
        while size := source.readinto(chunk):
            found = zlib.crc32(view[:size], found)
    return found


def _sync(*paths: Path) -> None:
    """A rename must not reach the disk before what it names does."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _swap(draft: Path, target: Path) -> None:
    """Between the two renames the older save stands aside, where `read_folder` still finds it.

    A writer that moves a save holds its lock, so writers of one path take turns.
    """
    aside = _beside(target, "previous")
    for _ in range(_TRIES):
        with locked(target, PATIENCE_S):
            moved = target.exists()
            if moved:
                _remove(aside)
                os.rename(target, aside)
            try:
                os.rename(draft, target)
            except OSError:
                if draft.exists() and target.is_dir() and any(target.iterdir()):  # another writer was faster
                    continue
                if moved:
                    os.rename(aside, target)
                raise
        _remove(aside)
        return
    raise OSError(f"other writers replaced {target.name!r} {_TRIES} times")


def _remove(aside: Path) -> None:
    """Removes what stands aside as soon as nobody else moves it."""
    if aside.exists():
        with locked(aside, PATIENCE_S):
            shutil.rmtree(aside, ignore_errors=True)


# --- reading ---


def _steady(target: Path, read: Callable[[Path], Found]) -> Found:
    """What is read of one save. Where a writer replaced it meanwhile, its files are of two, and it is read again."""
    for _ in range(_TRIES):
        folder = _whole(target)
        with _pinned(folder) as before:
            try:
                found = read(folder)
            except StorageError:
                if _whole(target) == folder and _identity(folder) == before:
                    raise
            else:
                if _identity(folder) == before:
                    return found
    return read(_whole(target))


@contextmanager
def _pinned(folder: Path) -> Iterator[tuple[int, int] | None]:
    """What distinguishes a folder; while it is open, no new folder can be given its number."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # there is none, or the system opens no folders
        yield _identity(folder)
        return
    try:
        opened = os.fstat(handle)
        yield opened.st_dev, opened.st_ino
    finally:
        os.close(handle)


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _whole(target: Path) -> Path:
    aside = _beside(target, "previous")
    if is_save(target) or not is_save(aside):
        return target
    return aside


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        raw = (folder / MANIFEST).read_bytes()
        manifest = json.loads(raw.decode("utf-8"))
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
    tail = _DIGEST.search(raw)
    if tail is None or hashlib.sha256(raw[: tail.start()] + b"\n}").hexdigest().encode() != tail[1]:
        raise _damaged(folder, f"{MANIFEST} is not as it was written")
    return dict(manifest)


def _well_formed(manifest: Any) -> bool:
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        return False
    types = {"kind": str, "version": int, "meta": dict, "files": dict}
    if not all(isinstance(manifest.get(name), type_) for name, type_ in types.items()):
        return False
    return all(isinstance(manifest["files"].get(group), dict) for group in _SUFFIXES)


def _files(folder: Path, manifest: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Each file of a save with its size and its checksum."""
    for group in _SUFFIXES:
        for name, entry in manifest["files"][group].items():
            yield _file(folder, group, name), entry


def _check_file(file: Path, entry: Any, up_to: int | None) -> None:
    try:
        size, checksum = entry
        found = file.stat().st_size
        if found != size:
            raise _damaged(file.parent, f"{file.name} holds {found} bytes instead of {size}")
        if (up_to is None or size <= up_to) and _checksum(file) != checksum:
            raise _damaged(file.parent, f"the content of {file.name} is not as it was written")
    except OSError as error:
        why = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror or error}"
        raise _damaged(file.parent, f"{file.name} {why}") from error
    except (TypeError, ValueError) as error:
        raise _damaged(file.parent, f"{MANIFEST} has no checksum of {file.name}") from error


def _open_array(folder: Path, name: str) -> np.ndarray[Any, Any]:
    return np.asarray(np.load(_file(folder, "arrays", name), mmap_mode="r", allow_pickle=False))


def _open_table(folder: Path, name: str) -> pa.Table:
    with pa.memory_map(str(_file(folder, "tables", name))) as source:
        table = pa.ipc.open_file(source).read_all()
    table.validate(full=True)  # bad offsets would crash a later reader
    return table


def _no_save(folder: Path, why: str) -> StorageError:
    fix = "give the folder that `save` wrote"
    return StorageError("HG-802", f"{folder.name!r} is no save: {why}", place=Place(str(folder)), fix=fix)


def _damaged(folder: Path, why: str) -> StorageError:
    return StorageError("HG-805", f"a damaged save: {why}", place=Place(str(folder)), fix="save it again")
