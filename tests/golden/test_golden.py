"""Whole outputs of the command line stay as they were frozen, by every strategy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.scenes import OUTPUTS, ROOT, SCENES, STRATEGIES, frozen, play

CASES: list[tuple[str, str | None]] = [(name, None) for name in SCENES]
CASES += [(name, each) for name in SCENES for each in STRATEGIES.get(name.partition("-")[0], ())]


@pytest.mark.parametrize(("name", "algorithm"), CASES)
def test_the_output_is_what_it_was(
    name: str, algorithm: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    more = () if algorithm is None else ("--algorithm", algorithm)
    assert frozen(play(name, tmp_path, *more)) == (OUTPUTS / f"{name}.ndjson").read_text()
