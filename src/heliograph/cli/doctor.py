"""`heliograph doctor`: looks at the machine and at saves, says what to do; `--warm` fills the kernel cache.

A check fails only where the embedded engines cannot run without the thing; what Spark alone needs is a warning.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata, util
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Annotated

from heliograph import __version__
from heliograph.cli.main import Exit
from heliograph.cli.options import option
from heliograph.errors import StorageError
from heliograph.spark.environment import JAVA_NEEDED, find_java

# --- what this machine offers ---

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


class CheckState(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: what was found, and what to do if that is not enough."""

    name: str
    state: CheckState
    found: str
    fix: str | None = None


def checks() -> Iterator[Check]:
    for check in (_python, _packages, _java, _spark, _cores, _memory, _kernels):
        yield check()


def _python() -> Check:
    found = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info >= PYTHON_NEEDED:
        return Check("Python", CheckState.OK, found)
    return Check("Python", CheckState.FAILED, found, "install Python 3.11 or later and make the environment with it")


def _packages() -> Check:
    missing = _missing(ESSENTIAL)
    if missing:
        return Check("packages", CheckState.FAILED, f"missing: {' '.join(missing)}", f"pip install {' '.join(missing)}")
    return Check("packages", CheckState.OK, ", ".join(f"{name} {_version(name)}" for name in ESSENTIAL))


def _java() -> Check:
    if java := find_java():
        return Check("Java", CheckState.OK, f"{java[1]} ({java[0]})")
    found = f"no Java {JAVA_NEEDED} or later; everything but Spark works without it"
    fix = "for Spark: apt-get install openjdk-17-jre-headless (Debian), or set JAVA_HOME"
    return Check("Java", CheckState.WARNING, found, fix)


def _spark() -> Check:
    missing = " ".join(_missing(SPARK))
    if missing:
        fix = "for Spark: pip install 'heliograph[spark]'"
        return Check("Spark", CheckState.WARNING, f"missing: {missing}", fix)
    return Check("Spark", CheckState.OK, ", ".join(f"{name} {_version(name)}" for name in SPARK))


def _cores() -> Check:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Check("cores", CheckState.OK, f"{usable} usable, {platform.machine()}, {platform.system()}")


def _memory() -> Check:
    total = memory_bytes()
    if total is None:
        return Check("memory", CheckState.OK, "size unknown on this system")
    found = f"{total / (1 << 30):.1f} GiB usable"
    if total >= SMALL_MEMORY:
        return Check("memory", CheckState.OK, found)
    return Check("memory", CheckState.WARNING, found, "large inputs may not fit; give 2 GiB or more")


def _kernels() -> Check:
    from heliograph.compiled.compile import status

    path, writable, kernels = status()
    found = f"{kernels} compiled in {path}"
    if not writable:
        fix = "set NUMBA_CACHE_DIR to a folder of yours that can be written"
        return Check("kernel cache", CheckState.WARNING, found + ", not writable", fix)
    if not kernels:
        fix = "run `heliograph doctor --warm` once; big inputs start faster"
        return Check("kernel cache", CheckState.WARNING, found, fix)
    return Check("kernel cache", CheckState.OK, found)


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
    sizes: list[int] = []
    with suppress(ValueError, OSError, AttributeError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError):
            text = Path(path).read_text().strip()
            sizes += [int(text)] if text.isdigit() else []
            break
    return min((size for size in sizes if size), default=None)


# --- the command ---

_SIGNS = {CheckState.OK: ("✓", "green"), CheckState.WARNING: ("!", "yellow"), CheckState.FAILED: ("✗", "bold red")}


def doctor_command(
    check: Annotated[str | None, option("--check PATH", "Check every byte of the saves there, and no machine.")] = None,
    warm: Annotated[
        bool, option("--warm", "Compile the kernels of the three verbs now, so that no run waits for it.")
    ] = False,
    warm_all: Annotated[
        bool, option("--warm-all", "Compile all kernels: metrics, predicate index, papers' algorithms too.")
    ] = False,
    quiet: Annotated[bool, option("--quiet -q", "Print problems only.")] = False,
    as_json: Annotated[bool, option("--json", "Print the checks as JSON.")] = False,
) -> int:
    """Check this machine, and say what to do."""
    warmed = None
    if warm or warm_all:
        from heliograph.compiled import compile as kernels

        report = kernels.warm(kernels.KERNELS if warm_all else kernels.VERBS)
        counts = f"{report.compiled} compiled, {report.loaded} already there"
        warmed = f"kernels: {counts}, in {report.took_ns / 1e9:.1f} s"
    found = list(checks() if check is None else _saves(check))
    if as_json:
        print(json.dumps({"heliograph": __version__, "checks": [asdict(each) for each in found]}, indent=2))
    else:
        _print([each for each in found if not (quiet and each.state is CheckState.OK)], None if quiet else warmed)
    if any(each.state is CheckState.FAILED for each in found):
        return Exit.ENVIRONMENT if check is None else Exit.FAILED
    return Exit.DONE


def _saves(path: str) -> Iterator[Check]:
    """The save at a path, or all below it."""
    from heliograph.storage import check_save, find_saves

    for save in find_saves(path) or [Path(path)]:
        try:
            found = check_save(save)
        except StorageError as error:
            yield Check("save", CheckState.FAILED, f"{error.code}: {error.message} ({save})", error.fix)
        else:
            size = f"{found.files} files, {found.bytes:,} bytes"
            yield Check("save", CheckState.OK, f"{save}: a {found.kind} of version {found.version}, {size}, whole")


def _print(found: list[Check], warmed: str | None) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    for check in found:
        sign, style = _SIGNS[check.state]
        text = Text.assemble((f"{sign} ", style), (f"{check.name:<13}", "bold"), check.found)
        if check.fix:
            text.append(f"\n{'':<15}{check.fix}", "cyan")
        console.print(text)
    if warmed:
        console.print(warmed)
