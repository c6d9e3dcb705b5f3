"""What this machine offers: one check for each thing Heliograph can use, with what to do where it is missing.

A check fails only where the embedded engines cannot run without the thing; what Spark alone needs is a warning.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata, util
from importlib.machinery import PathFinder
from pathlib import Path

from heliograph.spark.environment import JAVA_NEEDED, find_java

PYTHON_NEEDED = (3, 11)
ESSENTIAL = {
    "numpy": "numpy",
    "pyarrow": "pyarrow",
    "pyoxigraph": "pyoxigraph",
    "google-re2": "re2",
    "numba": "numba",
    "typer": "typer",
    "rich": "rich",
}
SPARK = {"pyspark": "pyspark", "pandas": "pandas", "protobuf": "google.protobuf"}
SMALL_MEMORY = 2 << 30


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: what was found, and what to do if that is not enough."""

    name: str
    state: State
    found: str
    fix: str | None = None


def checks() -> Iterator[Check]:
    for check in (_python, _packages, _java, _spark, _cores, _memory, _kernels):
        yield check()


def _python() -> Check:
    found = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info >= PYTHON_NEEDED:
        return Check("Python", State.OK, found)
    return Check("Python", State.FAILED, found, "install Python 3.11 or later and make the environment with it")


def _packages() -> Check:
    missing = _missing(ESSENTIAL)
    if missing:
        return Check("packages", State.FAILED, f"missing: {' '.join(missing)}", f"pip install {' '.join(missing)}")
    return Check("packages", State.OK, ", ".join(f"{name} {_version(name)}" for name in ESSENTIAL))


def _java() -> Check:
    found = find_java()
    if found:
        return Check("Java", State.OK, f"{found[1]} ({found[0]})")
    return Check(
        "Java",
        State.WARNING,
        f"no Java {JAVA_NEEDED} or later; everything but Spark works without it",
        "for Spark: apt-get install openjdk-17-jre-headless (Debian), or set JAVA_HOME",
    )


def _spark() -> Check:
    missing = _missing(SPARK)
    if missing:
        return Check(
            "Spark", State.WARNING, f"missing: {' '.join(missing)}", "for Spark: pip install 'heliograph[spark]'"
        )
    return Check("Spark", State.OK, ", ".join(f"{name} {_version(name)}" for name in SPARK))


def _cores() -> Check:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Check("cores", State.OK, f"{usable} usable, {platform.machine()}, {platform.system()}")


def _memory() -> Check:
    total = memory_bytes()
    if total is None:
        return Check("memory", State.OK, "size unknown on this system")
    found = f"{total / (1 << 30):.1f} GiB usable"
    if total >= SMALL_MEMORY:
        return Check("memory", State.OK, found)
    return Check("memory", State.WARNING, found, "large inputs may not fit; give 2 GiB or more")


def _kernels() -> Check:
    from heliograph.kernels.cache import status

    path, writable, kernels = status()
    found = f"{kernels} compiled in {path}"
    if not writable:
        fix = "set NUMBA_CACHE_DIR to a folder of yours that can be written"
        return Check("kernel cache", State.WARNING, found + ", not writable", fix)
    if not kernels:
        return Check(
            "kernel cache", State.WARNING, found, "run `heliograph doctor --warm` once; big inputs start faster"
        )
    return Check("kernel cache", State.OK, found)


def _missing(packages: dict[str, str]) -> list[str]:
    return [name for name, module in packages.items() if not _importable(module)]


def _importable(module: str) -> bool:
    """Whether a module can be found; by the path alone, since the command line hides pandas from itself."""
    top, _, rest = module.partition(".")
    try:
        return PathFinder.find_spec(top) is not None and (not rest or util.find_spec(module) is not None)
    except ImportError:
        return False


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "?"


def memory_bytes() -> int | None:
    """What this process may use: the machine's memory, or the container's limit where that is lower."""
    sizes = [size for size in (_physical(), _container()) if size]
    return min(sizes, default=None)


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _container() -> int | None:
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        return int(text) if text.isdigit() else None
    return None
