"""`heliograph doctor`: what it finds, what it says, and when it fails."""

from __future__ import annotations

import glob
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from heliograph.cli import doctor as machine
from heliograph.cli.doctor import Check, CheckState
from heliograph.compiled import compile as cache
from heliograph.route import Route
from heliograph.spark.environment import find_java
from tests.cli.conftest import Run


def find(name: str) -> Check:
    return next(check for check in machine.checks() if check.name == name)


def fake_java(folder: Path, banner: str) -> Path:
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{banner}' >&2\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_every_check_is_printed(run: Run) -> None:
    found = run("doctor")
    assert found.code == 0
    for name in ("Python", "packages", "Java", "Spark", "cores", "memory", "kernel cache"):
        assert name in found.out


def test_json(run: Run) -> None:
    told = json.loads(run("doctor", "--json").out)
    assert [check["name"] for check in told["checks"]][:2] == ["Python", "packages"]
    assert {check["state"] for check in told["checks"]} <= {"ok", "warning", "failed"}


def test_quiet_prints_problems_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Check("good", CheckState.OK, "fine"), Check("odd", CheckState.WARNING, "not so fine", "do this")]
    monkeypatch.setattr("heliograph.cli.doctor.checks", lambda: iter(found))
    shown = run("doctor", "--quiet")
    assert (shown.code, "good" in shown.out, "do this" in shown.out) == (0, False, True)


def test_a_failed_check_is_an_environment_problem(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(machine.ESSENTIAL, "unheard-of", "unheard_of")
    found = run("doctor")
    assert (found.code, "pip install unheard-of" in found.out) == (4, True)


def test_missing_java_and_spark_are_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "find_java", lambda: None)
    monkeypatch.setitem(machine.SPARK, "unheard-of", "unheard.of")
    assert (find("Java").state, find("Spark").state) == (CheckState.WARNING, CheckState.WARNING)


@pytest.mark.parametrize(
    ("banner", "version"),
    [('openjdk version "21.0.2" 2024-01-16', 21), ('java version "1.8.0_392"', None), ("no java at all", None)],
)
def test_java_is_judged_by_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, banner: str, version: int | None
) -> None:
    java = fake_java(tmp_path / "jdk", banner)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(glob, "glob", lambda pattern: [])
    assert find_java() == ((str(java), version) if version else None)


def test_a_java_that_cannot_run_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = fake_java(tmp_path / "jdk", "")
    java.write_bytes(b"\x7fELF nonsense")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(glob, "glob", lambda pattern: [])
    assert find_java() is None


def test_old_python_little_memory_and_an_unwritable_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    assert find("Python").state is CheckState.FAILED
    monkeypatch.setattr(machine, "memory_bytes", lambda: 1 << 30)
    assert find("memory").state is CheckState.WARNING
    monkeypatch.setattr(machine, "memory_bytes", lambda: None)
    assert find("memory").state is CheckState.OK
    for writable, kernels, state in (
        (False, 3, CheckState.WARNING),
        (True, 0, CheckState.WARNING),
        (True, 3, CheckState.OK),
    ):
        status = cache.Status(Path("cache"), writable, kernels)
        monkeypatch.setattr(cache, "status", lambda status=status: status)
        assert find("kernel cache").state is state


@pytest.mark.parametrize(
    ("physical", "container", "found"),
    [(8, "4", 4), (8, "max", 8), (8, None, 8), (None, "1024", 1024), (None, None, None)],
)
def test_memory_is_the_lower_of_machine_and_container(
    monkeypatch: pytest.MonkeyPatch, physical: int | None, container: str | None, found: int | None
) -> None:
    def pages(name: str) -> int:
        if physical is None:
            raise ValueError
        return physical if name == "SC_PHYS_PAGES" else 1

    def limit(self: Path) -> str:
        if container is None:
            raise FileNotFoundError
        return container

    monkeypatch.setattr(os, "sysconf", pages)
    monkeypatch.setattr(Path, "read_text", limit)
    assert machine.memory_bytes() == found


def test_warm_compiles_the_kernels(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    report = cache.WarmReport(Path("cache"), ("one",), 1, 2, 1_500_000_000)
    monkeypatch.setattr(cache, "warm", lambda *_: report)
    assert "1 compiled, 2 already there, in 1.5 s" in run("doctor", "--warm").out
    assert "compiled," not in run("doctor", "--warm", "--quiet").out


def test_pandas_is_found_though_the_command_line_hides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from heliograph.cli.main import _NoPandas

    monkeypatch.setattr(sys, "meta_path", [_NoPandas, *sys.meta_path])
    assert machine._importable("pandas")
    assert machine._importable("google.protobuf")
    assert not machine._importable("no_such_module")


def test_a_save_is_checked_byte_by_byte(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        Route([(name, "x = 1")]).save(tmp_path / "saves" / name)
    found = run("doctor", "--check", str(tmp_path / "saves"))
    assert (found.code, found.out.count("a route of version 2")) == (0, 2)
    assert "Python" not in found.out
    file = next((tmp_path / "saves" / "two").glob("*.npy"))
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    found = run("doctor", "--check", str(tmp_path / "saves"), "--quiet")
    assert (found.code, found.out.count("HG-805"), "save it again" in found.out) == (1, 1, True)
    assert f"the content of {file.name} is not as it was written" in found.out
    told = json.loads(run("doctor", "--check", str(tmp_path / "saves" / "one"), "--json").out)
    assert [check["state"] for check in told["checks"]] == ["ok"]
    nothing = run("doctor", "--check", str(tmp_path / "nothing"))
    assert (nothing.code, "HG-801" in nothing.out) == (1, True)
