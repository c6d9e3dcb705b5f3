"""A Python with Heliograph, all it needs and its compiled kernels, as one archive that runs wherever it is unpacked.

    python tools/pack_environment.py environment.tar.gz

For `spark.archives`: executors unpack it and need no Python of their own, only the same kind of machine and C library.
PySpark is left out, since executors have that of their cluster. What is packed: this interpreter with its standard
library, and of its packages those that Heliograph asks for. Kernels are found in their cache by the path of their
sources, so `sitecustomize` enters them under the path where these come to lie.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path

PACKAGES = ("pandas", "protobuf")  # what Spark's workers need beside what Heliograph does
_LEFT_OUT = ("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "site-packages", "__pycache__", "config-*")
_CUSTOM = '''"""Enters the packed kernels under the path where they lie now; see tools/pack_environment.py."""

import contextlib
import hashlib
import os
from pathlib import Path

_own = Path(os.path.abspath(__file__)).parent / "heliograph"
for _cache in (_own / "compiled" / "__pycache__" / "kernels").glob("*"):
    _folder = _own.joinpath(*_cache.name.rpartition("-")[0].split(".")[:-1])
    _wanted = _cache / f"{_folder.name}_{hashlib.sha1(os.fsencode(_folder)).hexdigest()}"
    for _packed in [] if _wanted.exists() else sorted(_cache.glob(f"{_folder.name}_*"))[:1]:
        with contextlib.suppress(OSError):
            os.symlink(_packed.name, _wanted)
'''


def main(target: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        library = copy_interpreter(home)
        for name in sorted(needed("heliograph", *PACKAGES)):
            copy_distribution(name, library / "site-packages")
        copy_own(library / "site-packages")
        pack(home, target)
    print(f"{target}: {os.path.getsize(target) >> 20} MB")


def copy_interpreter(home: Path) -> Path:
    """The interpreter and its standard library; it finds the one by where the other lies."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    base, library = Path(sys.base_prefix), home / "lib" / version
    shutil.copytree(base / "lib" / version, library, ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=True)
    (library / "site-packages").mkdir()
    (home / "bin").mkdir()
    shutil.copy2((base / "bin" / version).resolve(), home / "bin" / version)
    (home / "bin" / "python").symlink_to(version)
    shared = Path(sysconfig.get_config_var("LIBDIR") or "") / (sysconfig.get_config_var("INSTSONAME") or "-")
    if shared.suffix != ".a" and shared.is_file():
        shutil.copy2(shared, home / "lib")
    return library


def needed(*names: str) -> set[str]:
    """These packages and those that they ask for, without extras."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found or name == "pyspark":
            continue
        found.add(name)
        asked = [text for text in metadata.requires(name) or () if not re.search(r";.*\bextra\b", text)]
        names_of = (re.match(r"[\w.-]+", text) for text in asked)
        waiting += [match[0] for match in names_of if match and is_installed(match[0])]
    return found - {"heliograph"}


def is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:  # asked for on other systems only
        return False
    return True


def copy_distribution(name: str, folder: Path) -> None:
    for file in metadata.files(name) or ():
        source, target = Path(str(file.locate())), folder / file
        if ".." not in file.parts and source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def copy_own(folder: Path) -> None:
    """Heliograph as it is imported here, with the kernels that its cache holds."""
    import heliograph
    from heliograph.compiled.compile import cache_dir

    own = Path(heliograph.__file__).parent
    shutil.copytree(own, folder / "heliograph", ignore=shutil.ignore_patterns("__pycache__"))
    cache = cache_dir()
    shutil.copytree(cache, folder / "heliograph" / "compiled" / "__pycache__" / cache.name)
    (folder / "sitecustomize.py").write_text(_CUSTOM)


def pack(home: Path, target: str) -> None:
    names = sorted(path.name for path in home.iterdir())
    subprocess.run(["tar", "-czf", os.path.abspath(target), "-C", str(home), *names], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
