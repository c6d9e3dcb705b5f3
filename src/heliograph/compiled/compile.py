"""Where compiled kernels are kept, so that each is compiled once on a machine, in a read-only install too.

The first of these that can be written is used: what NUMBA_CACHE_DIR says, the package's own `__pycache__`, the user's
cache folder, a private folder among the temporary files. Kernels compiled into a package that has since become
read-only are copied from there, not compiled again.

Each kernel module has a folder there, whose name holds a digest of its source and of all kernel sources that it
imports: Numba notices a changed file, but not a change in another file that the first one calls. Numba unpickles what
it finds, so among the temporary files only a folder that nobody else may write to is used.

With the environment variable HELIOGRAPH_CHECK=1 every access to an array is checked, and one beyond its end raises an
IndexError: slow, and compiled into folders of its own. The fuzz tests use it.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from heliograph import storage as locks

_LOG = logging.getLogger("heliograph")
_PACKAGE = Path(__file__).parents[1]
_CACHE = Path(__file__).parent / "__pycache__"  # the package's own folder for compiled kernels
_FUNCTION = TypeVar("_FUNCTION", bound=Callable[..., Any])
_KERNELS: dict[str, Declared] = {}
CHECKED = os.environ.get("HELIOGRAPH_CHECK", "0") not in ("", "0")


class Declared(NamedTuple):
    """A compiled function and the signatures it is called with."""

    dispatcher: Any
    signatures: tuple[tuple[Any, ...], ...]


class Status(NamedTuple):
    """The cache as it is on disk."""

    path: Path
    writable: bool
    kernels: int


class WarmReport(NamedTuple):
    """What `warm` did: kernels by name, how many signatures had to be compiled rather than loaded, and the time."""

    path: Path
    kernels: tuple[str, ...]
    compiled: int
    loaded: int
    took_ns: int


def kernel(
    *signatures: tuple[Any, ...], allocates: bool = False, inline: bool = False
) -> Callable[[_FUNCTION], _FUNCTION]:
    """Declares a kernel: `njit(cache=True, nogil=True)`, compiled at its first call or by `warm`.

    A signature is a tuple of argument types without a result: under just that key a call looks into the cache.
    Without any signature it is a part of other kernels, which Python cannot call: it is compiled with them (how,
    `linking` says), and the code that would take a dozen arrays out of Python objects is left out. So is the counting
    of references, an atomic operation for every array that is taken out of a tuple: a part only works on arrays that
    its caller keeps, unless it `allocates` some itself. `inline` ones are copied into their callers, which saves
    handing over large tuples on the hottest paths and takes longer to compile.
    """
    from numba import njit

    from heliograph.compiled.linking import KernelCompiler, PartCompiler, links

    part: Any = {"pipeline_class": PartCompiler} if links() else {}
    whole: Any = {"pipeline_class": KernelCompiler} if links() else {}
    if CHECKED:
        part["boundscheck"] = whole["boundscheck"] = True
    if not signatures:
        options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": allocates, "forceinline": inline}
        return cast("Callable[[_FUNCTION], _FUNCTION]", njit(nogil=True, **options, **part))

    def declare(function: _FUNCTION) -> _FUNCTION:
        with _numba_cache(module_dir(function.__module__.removeprefix("heliograph."))):
            dispatcher = njit(cache=True, nogil=True, **whole)(function)
        _announce_compiling()
        _KERNELS[f"{function.__module__}.{function.__qualname__}"] = Declared(dispatcher, signatures)
        return cast(_FUNCTION, dispatcher)

    return declare


@contextmanager
def _numba_cache(path: Path) -> Iterator[None]:
    """Numba asks for its cache folder when a function is decorated; other users of Numba keep theirs."""
    config: Any = importlib.import_module("numba.core.config")
    before = config.CACHE_DIR
    config.CACHE_DIR = str(path)
    try:
        yield
    finally:
        config.CACHE_DIR = before


# The modules that hold kernels, by what needs them. Those of a verb are compiled ahead, the rest at first use.
KERNELS = {
    "filter": ("vocabulary.kernels", "filter.kernels"),
    "watch": ("watch.graph_kernels", "watch.network_kernels"),
    "route": ("predicate.kernels", "route.kernels"),
    "metrics": (
        "watch.metrics.simple_graph",
        "watch.metrics.degree",
        "watch.metrics.clustering",
        "watch.metrics.cliques",
        "watch.metrics.betweenness",
        "watch.metrics.dense",
        "watch.metrics.density",
        "watch.metrics.paths",
    ),
    "predicate index": ("predicate.index_kernels",),
    "papers": ("papers.route",),
}
VERBS = ("filter", "watch", "route")
MODULES = tuple(module for modules in KERNELS.values() for module in modules)


def declared(needs: Iterable[str] = tuple(KERNELS)) -> dict[str, Declared]:
    """The kernels that these need, by their full names. Imports Numba."""
    modules = {f"heliograph.{module}" for need in needs for module in KERNELS[need]}
    for module in sorted(modules):
        importlib.import_module(module)
    return {name: entry for name, entry in _KERNELS.items() if entry.dispatcher.py_func.__module__ in modules}


def warm(needs: Iterable[str] = tuple(KERNELS)) -> WarmReport:
    """Compiles the kernels that the cache lacks. Another process begins at the other end, if there is a processor for
    it: what one has compiled, the other loads."""
    start, before, needs = time.perf_counter_ns(), _overloads(), tuple(needs)
    other = _begin_backwards(needs) if (os.cpu_count() or 1) > 1 else None
    kernels = compile_all(needs)
    if other is not None:
        other.wait()
    compiled = _overloads() - before
    signatures = sum(len(entry.signatures) for entry in kernels.values())
    return WarmReport(cache_dir(), tuple(kernels), compiled, signatures - compiled, time.perf_counter_ns() - start)


def _begin_backwards(needs: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """Another process that compiles into the same folder."""
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(cache_dir().parent)}
    code = f"from heliograph.compiled.compile import compile_all; compile_all({needs!r}, backwards=True)"
    return subprocess.Popen([sys.executable, "-c", code], env=variables)


def _overloads() -> int:
    """How many kernels the cache holds, each signature counted."""
    return sum(1 for _ in cache_dir().rglob("*.nbc"))


def compile_all(needs: Iterable[str] = tuple(KERNELS), backwards: bool = False) -> dict[str, Declared]:
    """Compiles or loads the kernels that these need, from the first to the last or the other way."""
    kernels = declared(needs)
    _announced.update(entry.dispatcher.py_func.__module__ for entry in kernels.values())  # it is being waited for
    for entry in reversed(list(kernels.values())) if backwards else kernels.values():
        for signature in entry.signatures:
            entry.dispatcher.compile(signature)
    return kernels


_announced: set[str] = set()  # the modules of which was said that they are being compiled


@cache
def _announce_compiling() -> None:
    """From now on a line says, once for each module, that its kernels are being compiled."""
    event: Any = importlib.import_module("numba.core.event")

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            function = event.data["dispatcher"].py_func
            module = function.__module__
            if f"{module}.{function.__qualname__}" in _KERNELS and module not in _announced:
                _announced.add(module)
                _LOG.warning(
                    "compiling kernels (%s), once on this machine; `heliograph doctor --warm-all` does it ahead",
                    module.removeprefix("heliograph."),
                )

        def on_end(self, event: Any) -> None: ...

    event.register("numba:compile", Listener())


def is_warm(name: str = "filter.kernels.verify") -> bool:
    """Whether a kernel, one of the largest, need not be compiled. Does not import Numba."""
    module, _, kernel = name.rpartition(".")
    return any(module_dir(module).rglob(f"{module.rpartition('.')[2]}.{kernel}-*.nbi"))


def status() -> Status:
    """Where the cache is and how many kernels it holds. Does not import Numba."""
    path = cache_dir()
    folders = [module_dir(module) for module in MODULES]
    return Status(path, _writable(path), sum(1 for folder in folders for _ in folder.rglob("*.nbi")))


@cache
def cache_dir() -> Path:
    """The folder for compiled kernels, chosen once a process."""
    bases = (_chosen(), _CACHE, _user_cache())
    return (next((base for base in bases if base is not None and _writable(base)), None) or _temporary()) / "kernels"


@cache
def module_dir(module: str) -> Path:
    """Where the kernels of one module are kept, for as long as no source that they are compiled from changes."""
    path = cache_dir() / f"{module}-{_digest(module)}{'-checked' if CHECKED else ''}"
    _copy_missing(_CACHE / "kernels" / path.name, path)
    return path


def _chosen() -> Path | None:
    path = os.environ.get("NUMBA_CACHE_DIR")
    return Path(path) if path else None


def _digest(module: str) -> str:
    digest = hashlib.sha256()
    for name in sorted(_sources(module)):
        digest.update(name.encode() + b"\0" + _read(name)[0].encode() + b"\0")
    return digest.hexdigest()[:16]


def _sources(module: str) -> set[str]:
    """The module and all that its kernels may be made of: the kernel modules that it imports, directly or not, and the
    modules that those import directly, whose constants they take in."""
    found, waiting = {module}, [module]
    while waiting:
        name = waiting.pop()
        if name == module or _may_be_compiled(name):
            more = _read(name)[1] - found
            found |= more
            waiting += more
    return found


def _may_be_compiled(module: str) -> bool:
    return module in MODULES or module.startswith("compiled.") or module.endswith("layout")


_IMPORT = re.compile(r"from heliograph(?:\.([\w.]+))? import (\([^)]*\)|[^\n]*)")


@cache
def _read(module: str) -> tuple[str, set[str]]:
    """The source of a module, and the modules that it imports itself."""
    path = _PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
    text = path.read_text() if path.is_file() else ""
    names = set()
    for home, several in _IMPORT.findall(text):
        names.add(home)
        names |= {f"{home}.{each.split()[0]}" for each in several.strip("()").split(",") if each.strip()}
    return text, names


def _user_cache() -> Path | None:
    root = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(root or Path.home() / ".cache") / "heliograph"
    except RuntimeError:  # no home at all
        return None


def _writable(path: Path) -> bool:
    """Whether files can be made there: tried, because permission bits do not tell of read-only mounts."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False


def _temporary() -> Path:
    """A folder of this user among the temporary files; a fresh one if somebody else holds its name."""
    path = Path(tempfile.gettempdir()) / f"heliograph-{_user_id()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        if _is_private(path) and _writable(path):
            return path
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="heliograph-"))


def _user_id() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_private(path: Path) -> bool:
    found = path.lstat()
    others = stat.S_IWGRP | stat.S_IWOTH
    return stat.S_ISDIR(found.st_mode) and found.st_uid == _user_id() and not found.st_mode & others


def _copy_missing(source: Path, target: Path) -> None:
    """Takes over kernels compiled into the package before it became read-only; removes what a killed process left."""
    if target.exists() or not source.is_dir():
        return
    locks.sweep(target.parent, f"{target.name}.")

    def make() -> Path:
        draft = target.with_name(f"{target.name}.{locks.mark()}")
        draft.mkdir(parents=True)
        return draft

    try:
        draft, lock = locks.begin(make)
    except OSError:  # the folder cannot be written: kernels are then compiled
        return
    try:
        shutil.copytree(source, draft, copy_function=shutil.copyfile, dirs_exist_ok=True)
        os.rename(draft, target)
    except OSError:  # another process was first, or the disk is full
        shutil.rmtree(draft, ignore_errors=True)
    finally:
        lock.release()
