"""The rules of the house as functions over a tree of sources, so that each can be shown to fail on a small bad tree."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
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


def imports(text: str, tree: Tree, at_run_time: bool = True) -> set[str]:
    """The modules of the tree that a source imports: at run time only, or for type checkers too."""
    parsed = ast.parse(text)
    guarded = {
        id(child)
        for node in ast.walk(parsed)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    found: set[str] = set()
    for node in ast.walk(parsed):
        if at_run_time and id(node) in guarded:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "heliograph":
            home = (node.module or "").removeprefix("heliograph").lstrip(".")
            for alias in node.names:
                inner = f"{home}.{alias.name}".lstrip(".")
                found.add(inner if inner in tree else home or alias.name)
        elif isinstance(node, ast.Import):
            found |= {
                each.name.removeprefix("heliograph.") for each in node.names if each.name.startswith("heliograph.")
            }
    return found


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
    "route.kernels": "tests/route/test_hopping.py",
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
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    several = {name: where for name, where in homes.items() if len(where) > 1 and name not in CONNECTIVES}
    return sorted(f"{name}: {', '.join(sorted(where))}" for name, where in several.items())


def papers_in_engines(tree: Tree) -> list[str]:
    """Modules outside `papers`, `lint` and the command line that import the papers' algorithms when they are loaded."""
    found = []
    for name, text in tree.items():
        tops = [n for n in ast.parse(text).body if isinstance(n, ast.Import | ast.ImportFrom)]
        if not name.startswith("papers") and any("heliograph.papers" in ast.unparse(node) for node in tops):
            found.append(name)
    return sorted(found)
