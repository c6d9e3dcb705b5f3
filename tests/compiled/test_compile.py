"""Compiled kernels are kept somewhere writable, and found again, however little of the machine is."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import heliograph
from heliograph import storage as locks
from heliograph.compiled import compile as cache

# Tests may run as root, who can write everywhere. A read-only package is one where no file can be made.
_READ_ONLY = """
import tempfile
make = tempfile.TemporaryFile
def refuse(*arguments, dir=None, **options):
    if dir is not None and str(dir).startswith({package!r}):
        raise PermissionError(13, "Permission denied", str(dir))
    return make(*arguments, dir=dir, **options)
tempfile.TemporaryFile = refuse
"""
_USE = """
import pyarrow as pa
from heliograph.vocabulary import mapped
from heliograph.compiled import compile as cache
from heliograph.terms import Position
from heliograph.vocabulary import Vocabulary
mapped.pays = lambda count: True
vocabulary = Vocabulary()
column = pa.array(["a", "5", "b"])
vocabulary.intern_cells(column, Position.OBJECT)
loaded = Vocabulary.unpack(vocabulary.pack())
assert loaded.intern_cells(column, Position.OBJECT).ids.tolist() == [0, 1, 2]
used = [entry.dispatcher.stats for entry in cache.declared().values()]
assert any(stats.cache_hits for stats in used)
assert not any(stats.cache_misses for stats in used), used
"""
_WARM = """
import json
from heliograph.compiled import compile as cache
before = cache.status()
report = cache.warm()
after = cache.status()
print(json.dumps([str(report.path), report.compiled, report.loaded, before.kernels, after.kernels, after.writable]))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package in a place of its own, with few of its kernels: all of them take minutes to compile."""
    copy = tmp_path / "site" / "heliograph"
    shutil.copytree(Path(heliograph.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    compiling = copy / "compiled" / "compile.py"
    text = compiling.read_text()
    few = text.replace(
        text[text.index("KERNELS = {") : text.index("MODULES = ")], 'KERNELS = {"filter": ("vocabulary.kernels",)}\n'
    )
    compiling.write_text(few)
    return copy


def _run(package: Path, tmp_path: Path, *, read_only: bool, use: str = "") -> list[Any]:
    nowhere = tmp_path / "file"
    nowhere.touch()
    (tmp_path / "tmp").mkdir(exist_ok=True)
    script = (_READ_ONLY.format(package=str(package)) if read_only else "") + use + _WARM
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(nowhere / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def test_a_read_only_install_without_a_home_compiles_once(package: Path, tmp_path: Path) -> None:
    path, compiled, loaded, before, after, writable = _run(package, tmp_path, read_only=True)
    assert Path(path).parent == tmp_path / "tmp" / f"heliograph-{os.getuid()}"
    assert (compiled > 0, loaded, before, after == compiled, writable) == (True, 0, 0, True, True)
    again = _run(package, tmp_path, read_only=True, use=_USE)
    assert again == [path, 0, compiled, after, after, True]
    assert not list(package.rglob("*.nbi"))


def test_a_warmed_install_that_became_read_only_compiles_nothing(package: Path, tmp_path: Path) -> None:
    path, compiled, *_ = _run(package, tmp_path, read_only=False)
    assert Path(path).parent == package / "compiled" / "__pycache__"
    elsewhere, none, loaded, *_ = _run(package, tmp_path, read_only=True, use=_USE)
    assert Path(elsewhere).is_relative_to(tmp_path / "tmp")
    assert (none, loaded) == (0, compiled)


# --- the choice of a folder -------------------------------------------------------------------------------------


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """The package's own folder cannot be written, and nothing has been chosen yet."""
    nowhere = tmp_path / "file"
    nowhere.touch()
    monkeypatch.setattr(cache, "_CACHE", nowhere / "cache")
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))  # type: ignore[attr-defined]
    (tmp_path / "tmp").mkdir()
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(nowhere / "home"))
    return monkeypatch


def _choice() -> Path:
    return cache.cache_dir.__wrapped__()


def test_numbas_own_setting_comes_first(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fresh.setenv("NUMBA_CACHE_DIR", str(tmp_path / "mine"))
    assert _choice() == tmp_path / "mine" / "kernels"


def test_then_the_package(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fresh.setattr(cache, "_CACHE", tmp_path / "package")
    fresh.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "no"))
    assert _choice() == tmp_path / "package" / "kernels"


@pytest.mark.parametrize(("name", "below"), [("HOME", ".cache/heliograph"), ("XDG_CACHE_HOME", "heliograph")])
def test_then_the_users_cache(fresh: pytest.MonkeyPatch, tmp_path: Path, name: str, below: str) -> None:
    fresh.setenv(name, str(tmp_path / "user"))
    assert _choice() == tmp_path / "user" / below / "kernels"


def test_then_a_private_temporary_folder(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = _choice()
    assert path == tmp_path / "tmp" / f"heliograph-{os.getuid()}" / "kernels"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert _choice() == path


def test_nobody_elses_temporary_folder_is_trusted(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Numba unpickles what it finds: a folder that others may write to would let them run code."""
    name = tmp_path / "tmp" / f"heliograph-{os.getuid()}"
    fresh.setattr(cache.tempfile, "tempdir", str(tmp_path / "tmp"))  # type: ignore[attr-defined]
    name.mkdir()
    name.chmod(0o777)
    assert _choice().parent != name
    name.rmdir()
    name.symlink_to(tmp_path)
    assert _choice().parent != name
    name.unlink()
    name.touch()
    assert _choice().parent != name


def test_no_home_at_all(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    fresh.setattr(Path, "home", homeless)
    assert _choice().is_relative_to(tmp_path / "tmp")


def test_kernels_are_not_copied_over_others(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    (source / "a.nbi").write_text("new")
    cache._copy_missing(source, target)
    assert (target / "a.nbi").read_text() == "new"
    (source / "a.nbi").write_text("newer")
    cache._copy_missing(source, target)
    assert (target / "a.nbi").read_text() == "new"
    cache._copy_missing(source, tmp_path / "file" / "no")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "source", "target", "tmp"]


def test_a_copy_that_a_killed_process_left_is_removed(fresh: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "cache"
    source.mkdir()
    (source / "a.nbi").write_text("new")
    living, left = (folder / f"target.{locks.mark()}" for _ in range(2))
    for draft in (living, left, folder / "target.mine"):
        (draft / "sub").mkdir(parents=True)
    with locks.locked(living):
        cache._copy_missing(source, folder / "target")
    assert sorted(path.name for path in folder.iterdir()) == sorted([living.name, "target", "target.mine"])
    assert (folder / "target" / "a.nbi").read_text() == "new"


def test_a_changed_source_changes_the_folders_of_those_that_import_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cache, "_PACKAGE", tmp_path)
    monkeypatch.setattr(cache, "_read", cache._read.__wrapped__)
    monkeypatch.setattr(cache, "MODULES", ("a.one", "a.two", "a.three", "b.four"))
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "one.py").write_text("x = 1")
    (tmp_path / "a" / "two.py").write_text("from heliograph.a.one import x")
    (tmp_path / "a" / "three.py").write_text("from heliograph.a import (\n    one,\n    two as second,\n)")
    (tmp_path / "b" / "four.py").write_text("y = 1")
    before = {name: cache._digest(name) for name in cache.MODULES}
    (tmp_path / "a" / "one.py").write_text("x = 2")
    assert {name for name in before if cache._digest(name) != before[name]} == {"a.one", "a.two", "a.three"}


def test_every_import_of_a_kernel_module_counts() -> None:
    """The pattern that finds imports, against Python's own parser."""
    for module in cache.MODULES:
        found = set()
        for node in ast.walk(ast.parse(cache._read(module)[0])):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("heliograph."):
                home = str(node.module).removeprefix("heliograph.")
                found |= {home} | {f"{home}.{each.name}" for each in node.names}
        assert {name for name in found if cache._may_be_compiled(name)} <= cache._sources(module)
        assert len(cache._sources(module)) > 1


def test_other_users_of_numba_keep_their_cache_folder() -> None:
    import numba.core.config as config

    before = config.CACHE_DIR  # type: ignore[attr-defined]

    @cache.kernel(())
    def nothing() -> None:
        return None

    assert before == config.CACHE_DIR  # type: ignore[attr-defined]
    assert str(cache.cache_dir()) in nothing._cache.cache_path  # type: ignore[attr-defined]
    cache._KERNELS.pop(f"{nothing.__module__}.{nothing.__qualname__}")


_BEYOND = """
import numpy as np
from numba import int64
from heliograph.compiled.compile import kernel
from heliograph.compiled.arrays import NEW_INT64S, array_at

first = array_at(0, int64)

@kernel()
def part(table, place):
    return first(table)[place]

@kernel((NEW_INT64S, int64))
def given(array, place):
    return array[place]

@kernel((NEW_INT64S, int64))
def addressed(table, place):
    return part(table, place)

array = np.arange(4)
for kernel, table in ((given, array), (addressed, np.array([array.ctypes.data, len(array)]))):
    assert kernel(table, 3) == 3
    try:
        kernel(table, 4)
    except IndexError as error:
        print(error)
"""


def test_accesses_beyond_an_array_are_found_where_they_are_checked(tmp_path: Path) -> None:
    program = tmp_path / "beyond.py"
    program.write_text(_BEYOND)
    for checked, found in (("1", ["index is out of bounds"] * 2), ("0", [])):
        variables = {**os.environ, "HELIOGRAPH_CHECK": checked, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run([sys.executable, program], env=variables, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == found
        assert "compiling kernels (__main__)" in done.stderr  # a line says what is waited for


def test_what_a_verb_needs_is_not_everything() -> None:
    needed, everything = cache.declared(cache.VERBS), cache.declared()
    assert set(needed) < set(everything)
    assert not [name for name in needed if ".metrics." in name or ".papers." in name]
    assert all(any(name.startswith(f"heliograph.{module}.") for name in everything) for module in cache.MODULES)
