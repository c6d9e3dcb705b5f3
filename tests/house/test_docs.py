"""The code of the README and of the docs runs, and prints what stands below it.

A ```python block is run; a ```text block right after it is what it must print. The blocks of one page share a
namespace and a working folder. A ```console block holds `$ heliograph …` lines, which are run the same way; the text
below such a line, if any, is its output.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "metrics").glob("*.md"))]
BLOCK = re.compile(r"^```(python|text|console)\n(.*?)^```$", re.M | re.S)


def run_python(code: str, namespace: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<docs>", "exec"), namespace)
    return printed.getvalue()


def run_console(block: str) -> None:
    from heliograph.cli.main import app

    for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, expected = step.replace("\\\n", " ").partition("\n")
        program, *arguments = shlex.split(command, comments=True)
        assert program == "heliograph", command
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code in (0, 3), (command, result.output, result.exception)
        assert expected.strip() in result.output, (command, result.output)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    blocks = BLOCK.findall(page.read_text())
    for (kind, code), (next_kind, expected) in pairwise([*blocks, ("", "")]):
        if kind == "python":
            printed = run_python(code, namespace)
            assert next_kind != "text" or printed.strip() == expected.strip()
        elif kind == "console":
            run_console(code)


def test_the_readme_is_short_and_has_few_pictures() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 150
    assert len(re.findall(r"!\[[^\]]*\]\([^)]+\)", text)) == 4  # what it is, and each verb beside its peers


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []
