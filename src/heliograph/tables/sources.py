"""Where input comes from: a file, a folder, a glob, or a pipe, resolved to the files to read.

The law: a source's name is its path relative to what was given. It is the path itself for a file or a glob's match, the
path below the folder for a folder, and `-` for standard input. The order is that of the names.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from heliograph.errors import UsageError

TABLE_SUFFIXES = (".parquet", ".csv", ".ndjson", ".jsonl")
DOCUMENT_SUFFIXES = (".nt", ".nq", ".ttl", ".trig", ".rdf", ".jsonld")
FEED_SUFFIXES = (".rss", ".atom", ".xml")
QUERY_SUFFIXES = (".rq",)

PIPE = "-"
_SEVERAL = re.compile(r"(?<![^/])\*\*(?:/+\*\*)+(?![^/])")  # parts of a glob, `**` in a row


class Source(NamedTuple):
    """One file to read, or standard input where `path` is None; `data` is what it holds, where that is known."""

    path: Path | None
    name: str
    data: bytes | None = None

    @property
    def suffix(self) -> str:
        """The suffix that decides how it is read, in lower case; empty for a pipe."""
        return "" if self.path is None else os.path.splitext(self.path)[1].lower()

    @property
    def is_pipe(self) -> bool:
        """Standard input, a named pipe or a device: read once, as it comes."""
        return self.path is None or (self.data is None and is_special(self.path))


def find_sources(spec: str | os.PathLike[str], suffixes: Collection[str] = TABLE_SUFFIXES) -> list[Source]:
    """The files that `spec` means, in order; raises `UsageError` where there is none that fits."""
    text = os.fspath(spec)
    if text == PIPE:
        return [Source(None, PIPE)]
    path = Path(text)
    if os.path.isdir(text):
        return _some(_folder(path, suffixes), f"no fitting file in the folder {text}", suffixes)
    if os.path.exists(text):
        return [_file(path, text, suffixes)]
    if glob.has_magic(text):
        return _some(_glob(text, suffixes), f"nothing that fits matches {text}", suffixes)
    raise UsageError("HG-021", f"no such file: {text}", fix=_near(path, suffixes))


def is_special(path: Path) -> bool:
    """Whether this is a named pipe or a device: neither a file nor a folder, but there."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _fits(path: Path | str, suffixes: Collection[str]) -> bool:
    return os.path.splitext(path)[1].lower() in suffixes


def _file(path: Path, text: str, suffixes: Collection[str]) -> Source:
    """A single file, given by name; a named pipe needs no suffix."""
    if not _fits(path, suffixes) and not is_special(path):
        raise UsageError(
            "HG-022",
            f"{text} ends in {path.suffix or 'no suffix'}",
            fix=f"give a file that ends in {_listed(suffixes)}",
        )
    return Source(path, text)


def _folder(folder: Path, suffixes: Collection[str]) -> list[Source]:
    found = [Source(folder / name, name) for name in _below(folder) if _fits(name, suffixes)]
    return sorted(found, key=lambda source: source.name)


def _below(folder: Path) -> Iterator[str]:
    """Names of the regular files below a folder; `.x` and `_x` are other programs' leavings (Spark's `_SUCCESS`)."""
    waiting = [""]  # no recursion, as folders may lie thousands deep
    while waiting:
        parent = waiting.pop()
        with suppress(OSError), os.scandir(os.path.join(folder, parent)) as entries:  # where we may not look is nothing
            for entry in entries:
                name = os.path.join(parent, entry.name)
                if entry.name.startswith((".", "_")):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)
                elif entry.is_file():
                    yield name.replace(os.sep, "/")


def _glob(pattern: str, suffixes: Collection[str]) -> list[Source]:
    """Files that match, and what lies in folders that match, each once."""
    found: dict[str, Source] = {}
    for text in _matching(pattern):
        if os.path.isdir(text):
            inside = [Source(source.path, os.path.join(text, source.name)) for source in _folder(Path(text), suffixes)]
            found |= {os.path.normpath(source.name): source for source in inside}
        elif _fits(text, suffixes) and os.path.isfile(text):
            found[os.path.normpath(text)] = Source(Path(text), text)
    return sorted(found.values(), key=lambda source: source.name)


def _matching(pattern: str) -> list[str]:
    """What a glob matches; Python looks for each part of it inside of the look for the part before.

    `**` in a row mean what one does, but Python would come to a folder in as many ways as they divide its path.
    """
    try:
        return list(glob.iglob(_SEVERAL.sub("**", pattern), recursive=True))
    except RecursionError as error:
        fix = "give the folder itself, of which everything is read"
        raise UsageError("HG-023", f"a glob over too many folders in each other: {pattern[:60]}…", fix=fix) from error


def _some(sources: list[Source], problem: str, suffixes: Collection[str]) -> list[Source]:
    if not sources:
        raise UsageError("HG-023", problem, fix=f"a file that fits ends in {_listed(suffixes)}")
    return sources


def _near(path: Path, suffixes: Collection[str]) -> str:
    """The nearest name beside the missing file, or the first folder of its path that is missing too."""
    parent = path.parent
    if not os.path.isdir(parent):
        return f"there is no folder {parent} either"
    try:
        beside = [entry.name for entry in os.scandir(parent) if entry.is_dir() or _fits(entry.name, suffixes)]
    except OSError:
        return "check the spelling"
    near = [name for name in beside if Path(name).stem == path.stem]
    near = near or difflib.get_close_matches(path.name[:255], beside, 1, 0.6)
    return f"did you mean {parent / near[0]}?" if near else "check the spelling"


def _listed(suffixes: Iterable[str]) -> str:
    return " ".join(suffixes)
