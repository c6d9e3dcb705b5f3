"""What Spark needs of a machine: Java, and three packages in versions that work together.

The law: whatever is missing or unfit is told in one sentence before anything of PySpark is imported.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib import metadata

from heliograph.errors import SetupError

JAVA_NEEDED = 17
PACKAGES = {"pyspark": ((4, 3), (5,)), "pandas": ((2, 2), (3,)), "protobuf": ((6,), (99,))}
"""The first version that works, and the first that no longer does; pandas is what Spark's state goes through."""


def check_environment() -> None:
    """Raises where Spark cannot run."""
    for name, (first, beyond) in PACKAGES.items():
        _check_package(name, first, beyond)
    if not _has_java():
        raise SetupError(
            "HG-902",
            f"Spark needs Java {JAVA_NEEDED} or later, and there is none",
            fix="install one (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME; "
            "the embedded engines need no Java",
        )


def _check_package(name: str, first: tuple[int, ...], beyond: tuple[int, ...]) -> None:
    wanted = f"{name} {_spelled(first)} or later, below {_spelled(beyond)}"
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError as error:
        fix = "pip install 'heliograph[spark]'"
        raise SetupError("HG-903", f"Spark needs {wanted}, and there is none", fix=fix) from error
    numbers = tuple(int(number) for number in re.findall(r"\d+", found)[:3])
    if not first <= numbers < beyond:
        fix = f"pip install '{name}>={_spelled(first)},<{_spelled(beyond)}'"
        raise SetupError("HG-903", f"{name} {found} cannot work here: it needs {wanted}", fix=fix)


def _spelled(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


@cache
def _has_java() -> bool:
    return find_java() is not None


def find_java() -> tuple[str, int] | None:
    """The first Java that is new enough, where `tools/java.sh` looks too: JAVA_HOME, PATH, the system's folder."""
    for candidate in _java_candidates():
        version = _java_version(candidate)
        if version is not None and version >= JAVA_NEEDED:
            return candidate, version
    return None


def _java_candidates() -> Iterator[str]:
    home = os.environ.get("JAVA_HOME")
    found = [os.path.join(home, "bin", "java") if home else None, shutil.which("java")]
    for path in (*found, *sorted(glob.glob("/usr/lib/jvm/*/bin/java"))):
        if path and os.access(path, os.X_OK):
            yield path


def _java_version(java: str) -> int | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if match is None:
        return None
    return int(match[2] or 0) if match[1] == "1" else int(match[1])  # Java 8 calls itself 1.8
