"""What is imported when: heavy packages only where they are needed. Counted, never timed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import heliograph

HEAVY = ("numba", "pandas", "pyspark", "sqlglot", "duckdb", "pyoxigraph", "pyarrow", "numpy", "rich")


def imported(code: str, folder: Path) -> set[str]:
    """The top-level modules that a fresh process has after running some code."""
    program = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}}, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def calling(*arguments: str) -> str:
    return (
        "import sys\nfrom heliograph.cli.main import main\n"
        f"sys.argv = {['heliograph', *arguments]!r}\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code, ended.code"
    )


def test_importing_the_package_imports_nothing_heavy(tmp_path: Path) -> None:
    assert imported("import heliograph", tmp_path) & set(HEAVY) == set()
    assert imported("import heliograph.errors, heliograph.terms", tmp_path) & set(HEAVY) == set()


def test_help_imports_only_what_draws_it(tmp_path: Path) -> None:
    assert imported(calling("--help"), tmp_path) & set(HEAVY) == {"rich"}
    assert imported(calling("filter", "--help"), tmp_path) & set(HEAVY) == {"rich"}


@pytest.mark.parametrize("verb", ["filter", "watch", "route"])
def test_a_small_run_imports_neither_numba_nor_pandas(tmp_path: Path, verb: str) -> None:
    (tmp_path / "s.csv").write_text("subscription_id,query\ns,SELECT * { ?x :knows ?y }\n")
    (tmp_path / "p.csv").write_text("publication_id,subject,property,object\np,Ann,knows,Bob\n")
    (tmp_path / "u.csv").write_text("op,subject,property,object\n+,Ann,knows,Bob\n")
    (tmp_path / "n.csv").write_text("node_id,targeting\nA,\nB,age > 3\n")
    (tmp_path / "e.csv").write_text("source,target\nA,B\n")
    (tmp_path / "v.ndjson").write_text('{"event_id": "e", "publisher": "A", "attributes": {"age": 5}}\n')
    arguments = {
        "filter": ["-s", "s.csv", "-p", "p.csv"],
        "watch": ["-s", "s.csv", "-u", "u.csv"],
        "route": ["--nodes", "n.csv", "--edges", "e.csv", "--events", "v.ndjson"],
    }
    found = imported(calling(verb, *arguments[verb]), tmp_path)
    assert found & {"numba", "pandas", "pyspark", "duckdb"} == set()
    assert "pyarrow" in found


def test_every_name_is_there_and_typed() -> None:
    for name in heliograph.__all__:
        assert getattr(heliograph, name) is not None
    assert {"Filter", "Watch", "Route"} <= set(dir(heliograph))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        heliograph.Nothing  # noqa: B018


def test_the_module_runs_as_a_program(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "heliograph", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"heliograph {heliograph.__version__}\n"
