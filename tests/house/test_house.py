"""The rules of the house that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "heliograph"
MODULES = sorted(SOURCE.rglob("*.py"))

# Lower layers first; a module imports only from its own layer or from layers before it.
LAYERS = (
    {"_version", "errors", "values", "terms"},
    {"model", "storage", "compiled"},
    {"vocabulary"},
    {"io", "taxonomy"},
    {"sparql", "predicate"},
    {"subscriptions"},
    {"filter", "partition", "watch", "route"},
    {"papers"},
    {"workloads", "lint", "demo", "spark"},
    {"cli", "__main__"},
)


def layer_of(part: str) -> int:
    return next((number for number, names in enumerate(LAYERS) if part in names), -1)


def heliograph_imports(path: Path) -> list[str]:
    """The first package part of each heliograph module imported at run time (not under TYPE_CHECKING)."""
    tree = ast.parse(path.read_text())
    guarded = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    names: list[str] = []
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "heliograph":
            names += [node.module] if "." in node.module else [f"heliograph.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names if alias.name.startswith("heliograph.")]
    return [name.split(".")[1] for name in names]


def test_every_module_belongs_to_a_layer() -> None:
    parts = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in MODULES} - {"__init__"}
    assert {part for part in parts if layer_of(part) < 0} == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_layers_import_downwards_only(path: Path) -> None:
    part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if part != "__init__":
        upward = [name for name in heliograph_imports(path) if layer_of(name) > layer_of(part)]
        assert upward == []


def test_kernels_are_the_only_home_of_njit() -> None:
    outside = [path for path in MODULES if "kernels" not in path.parts and "@njit" in path.read_text()]
    assert outside == []


def test_nothing_is_pickled() -> None:
    assert [
        path for path in MODULES if re.search(r"^\s*(import|from) (pickle|dill|cloudpickle)", path.read_text(), re.M)
    ] == []


def test_the_lock_has_hashes_and_no_addresses() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    requirements = re.findall(r"^\S+==\S+.*?(?=^\S+==|\Z)", lock, re.M | re.S)
    assert len(requirements) > 30
    assert [text.split()[0] for text in requirements if "--hash=sha256:" not in text] == []
    assert re.findall(r"https?://|--index-url|--find-links", lock) == []


def tracked_text() -> dict[str, str]:
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    paths = [ROOT / name for name in names if name]
    return {str(path.relative_to(ROOT)): path.read_text(errors="replace") for path in paths if path.is_file()}


def test_no_machine_paths() -> None:
    patterns = [f"/{folder}/" for folder in ("work", "farm", "root")]
    assert [name for name, text in tracked_text().items() if any(pattern in text for pattern in patterns)] == []


def test_importing_heliograph_is_light() -> None:
    code = (
        "import sys, heliograph; print(sorted(set(sys.modules) & {'numba', 'pyspark', 'pandas', 'sqlglot', 'pyarrow'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_error_codes_are_documented_and_used() -> None:
    used = {code for path in MODULES for code in re.findall(r"\"(HG-\d{3})\"", path.read_text())}
    documented = set(re.findall(r"^\| `(HG-\d{3})` \|", (ROOT / "docs" / "errors.md").read_text(), re.M))
    assert used - documented == set()
    assert documented - used == set()
