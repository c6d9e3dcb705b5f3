"""The rules of the house that a machine can check. Each rule is also shown to fail on a small bad tree."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from heliograph.compiled.compile import KERNELS, MODULES, declared
from tests.house import checks, layers, trace

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "heliograph"
TREE = checks.read_tree(SOURCE)

pytestmark = pytest.mark.xdist_group("house")  # so that one process parses the tree, once

SHALLOW_FOR_A_REASON: dict[str, str] = {}  # modules of a few lines with one importer that stay apart, and why


# --- the tree ---------------------------------------------------------------------------------------------------


def test_the_size_of_the_house() -> None:
    lines = sum(text.count("\n") for text in TREE.values())
    print(f"{len(TREE)} source files, {lines:,} lines")
    assert len(TREE) <= 161
    assert lines <= 72_400  # the goal is 60,000: lower this with every redesign


def test_layers_import_downwards_only() -> None:
    assert checks.upward_imports(TREE) == []
    assert checks.upward_imports({"terms": "from heliograph.filter.engine import Filter"}) == ["terms → filter.engine"]
    assert checks.upward_imports({"terms": "from heliograph import spark"}) == ["terms → spark"]
    assert checks.upward_imports({"attic.box": ""}) == ["attic.box: no layer"]


def test_kernels_stand_only_where_they_are_declared() -> None:
    assert checks.stray_kernels(TREE, set(MODULES)) == []
    assert checks.stray_kernels({"cli.x": "@kernel()\ndef f(): ..."}, set(MODULES)) == ["cli.x"]
    assert checks.stray_kernels({"cli.x": "from numba import njit"}, set(MODULES)) == ["cli.x"]


def test_every_listed_home_of_kernels_has_some() -> None:
    kernels = declared()
    assert [home for home in MODULES if not any(name.startswith(f"heliograph.{home}.") for name in kernels)] == []
    assert set(KERNELS) >= {"filter", "watch", "route"}


def test_entry_kernels_have_a_twin() -> None:
    assert checks.without_twin(MODULES, lambda path: (ROOT / path).read_text()) == []
    assert checks.without_twin(["watch.metrics.pagerank"], lambda path: "") == ["watch.metrics.pagerank"]
    assert checks.without_twin(["route.kernels"], lambda path: "def test_it_runs(): ...") == ["route.kernels"]


def test_no_module_is_a_crumb_of_its_only_importer() -> None:
    assert checks.shallow_modules(TREE) == sorted(SHALLOW_FOR_A_REASON)
    crumbs = {"watch.crumb": "x = 1", "watch.engine": "from heliograph.watch.crumb import x\n" + "y = 1\n" * 50}
    assert checks.shallow_modules(crumbs) == ["watch.crumb"]


def test_modules_are_nouns_and_class_names_stand_for_one_thing() -> None:
    assert checks.activities(TREE) == []
    assert checks.activities({"watch.telling": ""}) == ["watch.telling"]
    assert checks.repeated_classes(TREE) == []
    twice = {"filter.encode": "class Batch: ...", "route.events": "class Batch: ..."}
    assert checks.repeated_classes(twice) == ["Batch: filter.encode, route.events"]


def test_no_engine_loads_the_papers_algorithms() -> None:
    assert checks.papers_in_engines(TREE) == []
    assert checks.papers_in_engines({"route.engine": "from heliograph.papers import route"}) == ["route.engine"]


def test_every_module_can_be_imported_first() -> None:
    """No module relies on another one having been imported before it."""
    assert checks.import_cycles(TREE) == []
    circle = {
        "filter.engine": "from heliograph.partition import plan",
        "partition.plan": "from heliograph.filter.engine import Filter",
    }
    assert set(checks.import_cycles(circle)) == set(circle)
    later = {**circle, "filter.engine": "def f():\n    from heliograph.partition import plan"}
    assert checks.import_cycles(later) == []
    for name in TREE:
        if name not in ("__init__", "__main__"):
            importlib.import_module(f"heliograph.{name}")


def test_contributing_shows_the_map() -> None:
    assert layers.table() in (ROOT / "CONTRIBUTING.md").read_text()


# --- the path of one datum --------------------------------------------------------------------------------------


def test_one_document_passes_few_files_and_calls() -> None:
    found = trace.one_document()
    assert len(found.files) <= 15, sorted(found.files)
    assert found.calls <= 900


def test_one_document_with_bindings_passes_few_files() -> None:
    assert len((found := trace.one_document(bindings=1)).files) <= 20, sorted(found.files)


def test_one_update_passes_few_files_and_calls() -> None:
    found = trace.one_update()
    assert len(found.files) <= 22, sorted(found.files)
    assert found.calls <= 200


def test_one_event_passes_few_files_and_calls() -> None:
    found = trace.one_event()
    assert len(found.files) <= 10, sorted(found.files)
    assert found.calls <= 80


def test_one_filter_command_passes_few_files(tmp_path: Path) -> None:
    """From the options to the file of notifications."""
    found = trace.one_command(tmp_path)
    assert len(found.files) <= 30, sorted(found.files)


def test_a_trace_counts_files_and_calls() -> None:
    from heliograph.terms import plain_name

    found = trace.trace(lambda: plain_name("x"))
    assert found.files == {"/terms.py"}
    assert found.calls >= 2


# --- what is committed ------------------------------------------------------------------------------------------


def test_nothing_is_pickled() -> None:
    pickles = re.compile(r"^\s*(import|from) (pickle|dill|cloudpickle)", re.M)
    assert [name for name, text in TREE.items() if pickles.search(text)] == []


@pytest.mark.parametrize("name", ["requirements-install.lock", "requirements.lock", "requirements-dev.lock"])
def test_the_locks_have_hashes_and_no_addresses(name: str) -> None:
    lock = (ROOT / name).read_text()
    requirements = re.findall(r"^\S+==\S+.*?(?=^\S+==|\Z)", lock, re.M | re.S)
    assert requirements
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
    used = {code for text in TREE.values() for code in re.findall(r"\"(HG-\d{3})\"", text)}
    documented = set(re.findall(r"^\| `(HG-\d{3})` \|", (ROOT / "docs" / "errors.md").read_text(), re.M))
    assert used - documented == set()
    assert documented - used == set()
