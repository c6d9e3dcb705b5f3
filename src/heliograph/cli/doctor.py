"""`heliograph doctor`: looks at the machine and at saves, says what to do; `--warm` fills the kernel cache."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata, util
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Annotated

import typer

from heliograph._version import __version__
from heliograph.cli.main import Exit
from heliograph.errors import StorageError
from heliograph.spark.environment import JAVA_NEEDED, find_java

# ----------------------------------------------------------------------------------------------------------------------
# What this machine offers: one check for each thing Heliograph can use, with what to do where it is missing.
#
# A check fails only where the embedded engines cannot run without the thing; what Spark alone needs is a warning.
# ----------------------------------------------------------------------------------------------------------------------

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
    from heliograph.compiled.compile import status

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


# ----------------------------------------------------------------------------------------------------------------------
# `heliograph doctor`: looks at the machine and says what to do; `--warm` compiles kernels, `--check` reads a save.
# ----------------------------------------------------------------------------------------------------------------------

_STYLES = {State.OK: "green", State.WARNING: "yellow", State.FAILED: "bold red"}
_SIGNS = {State.OK: "✓", State.WARNING: "!", State.FAILED: "✗"}


def doctor_command(
    check: Annotated[
        str | None, typer.Option("--check", metavar="PATH", help="Check every byte of the saves there, and no machine.")
    ] = None,
    warm: Annotated[
        bool, typer.Option("--warm", help="Compile the kernels of the three verbs now, so that no run waits for it.")
    ] = False,
    warm_all: Annotated[
        bool, typer.Option("--warm-all", help="Compile all kernels: metrics, predicate index, papers' algorithms too.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> int:
    """Check this machine, and say what to do."""
    warmed = _warm(warm_all) if warm or warm_all else None
    found = list(checks() if check is None else _saves(check))
    if as_json:
        print(json.dumps({"heliograph": __version__, "checks": [asdict(each) for each in found]}, indent=2))
    else:
        _print([each for each in found if not (quiet and each.state is State.OK)], None if quiet else warmed)
    if any(each.state is State.FAILED for each in found):
        return Exit.ENVIRONMENT if check is None else Exit.FAILED
    return Exit.DONE


def _saves(path: str) -> Iterator[Check]:
    """The save at a path, or all below it."""
    from heliograph.storage import check_save, find_saves

    for save in find_saves(path) or [Path(path)]:
        try:
            found = check_save(save)
        except StorageError as error:
            yield Check("save", State.FAILED, f"{error.code}: {error.message} ({save})", error.fix)
        else:
            text = (
                f"{save}: a {found.kind} of version {found.version}, {found.files} files, {found.bytes:,} bytes, whole"
            )
            yield Check("save", State.OK, text)


def _warm(everything: bool) -> str:
    from heliograph.compiled.compile import KERNELS, VERBS, warm

    report = warm(KERNELS if everything else VERBS)
    return f"kernels: {report.compiled} compiled, {report.loaded} already there, in {report.took_ns / 1e9:.1f} s"


def _print(found: list[Check], warmed: str | None) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    for check in found:
        text = Text.assemble(
            (f"{_SIGNS[check.state]} ", _STYLES[check.state]), (f"{check.name:<13}", "bold"), check.found
        )
        if check.fix:
            text.append(f"\n{'':<15}{check.fix}", "cyan")
        console.print(text)
    if warmed:
        console.print(warmed)
