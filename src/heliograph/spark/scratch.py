"""Where versions are kept if nobody says: a folder of this machine, gone when the program ends.

A cluster has no such folder that all see, so there it must be named.
"""

from __future__ import annotations

import atexit
import secrets
import shutil
import tempfile
from functools import cache
from pathlib import Path

from heliograph.errors import UsageError


@cache
def _root() -> Path:
    folder = tempfile.mkdtemp(prefix="heliograph-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def own_folder(given: str | Path | None, what: str) -> str:
    """A new folder for the interests of one run, inside the one that was given: who comes later finds none of them."""
    if given is None:
        return storage_folder(None, what)
    own = Path(given).absolute() / f"{what}-{secrets.token_hex(4)}"
    own.mkdir(parents=True)
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return str(own)


def storage_folder(given: str | Path | None, what: str) -> str:
    """The folder that was given, or a new one here."""
    if given is not None:
        return str(Path(given).absolute())
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and not str(running.conf.get("spark.master", "local")).startswith("local"):
        fix = "give folder=… on storage that driver and workers share"
        raise UsageError("HG-081", f"no folder for what the workers of this cluster open ({what})", fix=fix)
    return tempfile.mkdtemp(prefix=f"{what}-", dir=_root())
