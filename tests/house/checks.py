"""The rules of the house as functions over a tree of sources, so that each can be shown to fail on a small bad tree."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.house.layers import layer_of

Tree = Mapping[str, str]  # source text by module name below `heliograph`, such as "watch.metrics.degree"

SHALLOW = 40  # lines of code; a module below it with a single importer should be part of that importer
CONNECTIVES = {"And", "In", "Not", "Or"}  # class names for the same thing in SPARQL and in SQL
# Words in -ing that are nouns of the field, not activities.
NOUNS = {"clustering", "growing", "linking", "merging", "numbering", "ranking"}


def read_tree(source: Path) -> dict[str, str]:
    paths = {path.relative_to(source).with_suffix("").as_posix(): path for path in source.rglob("*.py")}
    return {
        name.replace("/", ".").removesuffix(".__init__") or "__init__": path.read_text() for name, path in paths.items()
    }


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def _imported(text: str) -> tuple[tuple[str, str, bool, bool], ...]:
    """What a source imports of the house: (module, name or "", when it is loaded, at run time at all)."""
    found: list[tuple[str, str, bool, bool]] = []
    waiting: list[tuple[ast.AST, bool, bool]] = [(_parsed(text), True, True)]
    while waiting:
        node, on_load, at_run_time = waiting.pop()
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "heliograph":
            home = (node.module or "").removeprefix("heliograph").lstrip(".")
            found += [(home, alias.name, on_load, at_run_time) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [each.name for each in node.names if each.name.startswith("heliograph.")]
            found += [(name.removeprefix("heliograph."), "", on_load, at_run_time) for name in names]
        on_load = on_load and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in (
            getattr(node.test, "id", ""),
            getattr(node.test, "attr", ""),
        ):
            on_load = at_run_time = False
        waiting += [(child, on_load, at_run_time) for child in ast.iter_child_nodes(node)]
    return tuple(found)


def imports(text: str, tree: Tree, at_run_time: bool = True, on_load: bool = False) -> set[str]:
    """The modules of the tree that a source imports: when it is loaded, at run time, or for type checkers too."""
    found: set[str] = set()
    for home, name, loads, runs in _imported(text):
        if (loads or not on_load) and (runs or not at_run_time):
            inner = f"{home}.{name}".strip(".")
            found.add(inner if inner in tree else home or name)
    return found


def import_cycles(tree: Tree) -> list[str]:
    """A circle of modules that import each other when they are loaded: then it matters which is imported first."""

    def needed(name: str, text: str) -> set[str]:
        """With the packages that an import runs on its way."""
        others = imports(text, tree, on_load=True)
        others |= {other.rpartition(".")[0] for other in others} & set(tree)
        return {other for other in others if not name.startswith(f"{other}.")} - {name}

    try:
        TopologicalSorter({name: needed(name, text) for name, text in tree.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def upward_imports(tree: Tree) -> list[str]:
    """Imports from a layer above, and modules that belong to no layer."""
    found = [f"{name}: no layer" for name in tree if name != "__init__" and layer_of(name.split(".")[0]) < 0]
    for name, text in tree.items():
        if name != "__init__":
            layer = layer_of(name.split(".")[0])
            found += [f"{name} → {other}" for other in imports(text, tree) if layer_of(other.split(".")[0]) > layer]
    return sorted(found)


def stray_kernels(tree: Tree, homes: set[str]) -> list[str]:
    """Modules that declare or compile kernels although they are not listed as a home of kernels."""
    uses = re.compile(r"^\s*@(?:kernel|njit|numba\.njit|jit)\b|\bnjit\(|^\s*(?:from|import) numba\b", re.M)
    return sorted(
        n for n, text in tree.items() if uses.search(text) and n not in homes and not n.startswith("compiled.")
    )


# Where the entries of each module with kernels are held against a slow, obvious twin, or an oracle nobody here wrote.
TWINS = {
    "vocabulary.kernels": "tests/vocabulary/test_interner_table.py",
    "filter.kernels": "tests/filter/test_kernels.py",
    "watch.graph_kernels": "tests/watch/test_graph_window.py",
    "watch.network_kernels": "tests/watch/test_network_states.py",
    "watch.metrics.simple_graph": "tests/watch/metrics/test_simple_graph.py",
    "watch.metrics.degree": "tests/watch/metrics/test_vertex_measures.py",
    "watch.metrics.clustering": "tests/watch/metrics/test_vertex_measures.py",
    "watch.metrics.cliques": "tests/watch/metrics/test_whole_measures.py",
    "watch.metrics.betweenness": "tests/watch/metrics/test_vertex_measures.py",
    "watch.metrics.dense": "tests/watch/metrics/test_dense.py",
    "watch.metrics.density": "tests/watch/metrics/test_density.py",
    "watch.metrics.paths": "tests/watch/metrics/test_distance.py",
    "predicate.kernels": "tests/predicate/test_truth.py",
    "predicate.index_kernels": "tests/predicate/test_index_laws.py",
    "route.kernels": "tests/route/test_oracle.py",
    "papers.route": "tests/papers/test_route_seed.py",
}


def without_twin(modules: Iterable[str], read: Callable[[str], str]) -> list[str]:
    """Modules with kernels whose test of TWINS is missing, or uses neither a naive twin nor an oracle."""
    oracle = re.compile(r"\b(naive\w*|networkx|pyoxigraph|duckdb|oracle|scipy)\b", re.I)
    return sorted(name for name in modules if name not in TWINS or not oracle.search(read(TWINS[name])))


def shallow_modules(tree: Tree) -> list[str]:
    """Modules of less than SHALLOW lines of code with a single importer."""
    importers: dict[str, set[str]] = defaultdict(set)
    for name, text in tree.items():
        for other in imports(text, tree, at_run_time=False):
            importers[other].add(name)
    return sorted(n for n, text in tree.items() if lines_of_code(text) < SHALLOW and len(importers[n] - {n}) == 1)


def lines_of_code(text: str) -> int:
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith(("#", "from ", "import ")))


def activities(tree: Tree) -> list[str]:
    """Modules that are named by an activity, where a noun of the field should stand."""
    return sorted(n for n in tree if n.rpartition(".")[2].endswith("ing") and n.rpartition(".")[2] not in NOUNS)


def repeated_classes(tree: Tree) -> list[str]:
    """Public class names that stand for several things."""
    homes: dict[str, list[str]] = defaultdict(list)
    for name, text in tree.items():
        for node in _parsed(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    several = {name: where for name, where in homes.items() if len(where) > 1 and name not in CONNECTIVES}
    return sorted(f"{name}: {', '.join(sorted(where))}" for name, where in several.items())


def papers_in_engines(tree: Tree) -> list[str]:
    """Modules outside `papers` that import the papers' algorithms when they are loaded."""
    loaded = {name: imports(text, tree, on_load=True) for name, text in tree.items() if not name.startswith("papers")}
    return sorted(name for name, others in loaded.items() if any(f"{other}.".startswith("papers.") for other in others))
