"""The command line, in this process: `run("filter", …)` gives the exit code, both streams and the rows of NDJSON."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from heliograph.cli.main import app


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def refused(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.err.splitlines() if line.startswith("{")]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(row["subscription_id"], row["publication_id"]) for row in self.rows]


Run = Callable[..., Outcome]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def run() -> Run:
    def invoke(*arguments: str | Path, input: str | bytes | None = None) -> Outcome:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return invoke


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a folder of its own, in which it stands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HELIOGRAPH_DEBUG", raising=False)
    return tmp_path


def write(name: str, text: str) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return name
