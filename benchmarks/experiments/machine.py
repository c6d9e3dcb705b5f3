"""On what and with what something was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from heliograph import __version__

PACKAGES = (
    "duckdb",
    "networkit",
    "networkx",
    "numba",
    "numpy",
    "pyarrow",
    "pyoxigraph",
    "pyspark",
    "rdflib",
)
ROOT = Path(__file__).resolve().parents[2]


def machine() -> dict[str, Any]:
    """The machine, and how busy it is."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """Of Heliograph, of Python and of what is measured with or beside it."""
    found = {"heliograph": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """The commit of the source tree; with a plus where files of it have been changed."""
    return _git("rev-parse", "--short=12", "HEAD") + ("+" if _git("status", "--porcelain", "src", "benchmarks") else "")


def _git(*arguments: str) -> str:
    try:
        told = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return told.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()
