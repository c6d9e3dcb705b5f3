"""On a machine where no kernel is compiled yet nobody waits: plain Python answers while another process compiles."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import heliograph

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")

_BEGIN = """
import json, os, signal, sys, time
from heliograph import Filter, Watch
from heliograph.compiled import background

engine = Filter()
engine.subscribe([(f"s{n}", f"ASK {{ ?x :p ?v FILTER(?v > {n % 10}) }}") for n in range(3_000)])

def ask():
    found = engine.publish(("d", [("a", "p", "5"), ("a", "q", "b")]))
    assert [each.subscription_id for each in found] == [f"s{n}" for n in range(3_000) if n % 10 < 5]

def is_plain():
    return "heliograph.filter.kernels" not in sys.modules

ask()
assert is_plain()
pid = background.running().get("filter")
"""
_CHANGE = """
answered = 1
deadline = time.monotonic() + 900
while is_plain() and time.monotonic() < deadline:
    ask()
    answered += is_plain()
    assert background.running() == {"filter": pid} or not background.running()  # one process, begun once
print(json.dumps([pid, answered, is_plain(), background.running(), os.path.exists(f"/proc/{pid}")]))
"""
_KILLED = """
os.kill(pid, signal.SIGKILL)
while background.running():
    time.sleep(0.01)
for _ in range(5):
    ask()
states = [background.ready("filter"), background.ready("filter", overdue=True)]
print(json.dumps([is_plain(), states, os.path.exists(f"/proc/{pid}")]))
"""
_NO_PROCESS = "import sys\nsys.executable = ''\n"
_STATES = "print(json.dumps([pid, background.ready('filter', overdue=True)]))"
_LEFT = "print(pid, flush=True)\nsys.stdin.read()\n"


@pytest.fixture
def cold(tmp_path: Path) -> dict[str, str]:
    """The environment of a fresh install: a copy of the package without any compiled kernel."""
    copy = tmp_path / "site" / "heliograph"
    shutil.copytree(Path(heliograph.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return {**os.environ, "PYTHONPATH": str(copy.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}


def run(program: str, variables: dict[str, str]) -> tuple[list[Any], str]:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def has_ended(pid: int) -> bool:
    """Whether a process has ended; one whose parent is gone may wait for somebody to take notice of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.long
def test_plain_answers_until_the_kernels_are_compiled(cold: dict[str, str]) -> None:
    (pid, answered, plain, running, left), said = run(_BEGIN + _CHANGE, cold)
    assert answered > 10  # while another process compiled
    assert not plain
    assert (running, left) == ({}, False)
    assert has_ended(pid)
    assert "compiling kernels" not in said  # nobody waited for it


def test_where_compiling_is_killed_plain_goes_on(cold: dict[str, str]) -> None:
    (plain, states, left), said = run(_BEGIN + _KILLED, cold)
    assert (plain, states, left) == (True, [False, True], False)
    assert "in the background failed: signal 9" in said


def test_where_no_process_can_be_started_it_is_compiled_here_when_that_pays(cold: dict[str, str]) -> None:
    (pid, overdue), said = run(_NO_PROCESS + _BEGIN + _STATES, cold)
    assert (pid, overdue) == (None, True)
    assert "in the background failed" in said


@pytest.mark.parametrize("killed", [False, True])
def test_compiling_ends_with_the_process_however_that_ends(killed: bool, cold: dict[str, str]) -> None:
    command = [sys.executable, "-c", _BEGIN + _LEFT]
    with subprocess.Popen(command, env=cold, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert not has_ended(pid)
        if killed:
            process.send_signal(signal.SIGKILL)
        process.stdin.close()
        assert process.wait() == (-signal.SIGKILL if killed else 0)
        if not killed:
            assert not Path(f"/proc/{pid}").exists()
    deadline = time.monotonic() + 60
    while not has_ended(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert has_ended(pid)
