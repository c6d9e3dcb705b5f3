"""The command line at its edges."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("verb", ["filter", "watch"])
def test_without_an_accepted_subscription_nothing_waits_on_the_pipe(verb: str, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("subscription_id,query\nq,NONSENSE\n")
    rows = {"filter": "--publications", "watch": "--updates"}[verb]
    reading, writing = os.pipe()  # nobody writes to it, and nobody closes it
    try:
        command = [sys.executable, "-m", "heliograph", verb, "-s", "s.csv", rows, "-"]
        done = subprocess.run(
            command, check=False, cwd=tmp_path, stdin=reading, capture_output=True, text=True, timeout=60
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert done.returncode == 1
    assert "HG-504" in done.stderr
    assert '"item":"q"' in done.stderr
