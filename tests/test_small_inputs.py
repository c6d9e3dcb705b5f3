"""Every small input ends: time grows with its size, not with the square of it, and nothing ends the process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.io.document_reading import read, read_files
from tests.small_inputs import CHAINS, INPUTS, seconds

ROOT = Path(__file__).resolve().parents[1]
MOST = 8  # times the time, for four times the size


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """Loads the compiled kernels, which is no reading."""
    seconds("TriG: graphs", 5000)


@pytest.mark.parametrize("name", INPUTS)
def test_time_grows_with_the_size(name: str) -> None:
    """At an eighth of the size; what takes less than a second tells nothing about growth, and the best of three tries
    tells more than one beside other tests."""
    size = INPUTS[name].size // 8
    large = seconds(name, size)
    if large > 1:
        large = min(large, seconds(name, size), seconds(name, size))
        assert large < MOST * max(seconds(name, size // 4) for _ in range(3))


@pytest.mark.long
@pytest.mark.parametrize("name", INPUTS)
def test_a_megabyte_takes_little_time_and_memory(name: str) -> None:
    """The same at full size, in a process of its own."""
    command = [sys.executable, "-m", "tests.small_inputs", name, str(INPUTS[name].size)]
    found = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    small, large, megabytes = json.loads(found.stdout)
    assert large < 1 or large < MOST * small
    assert megabytes < 1024


def test_no_chain_of_terms_ends_the_process() -> None:
    """All of them in one process, which ends with the first that overflows its stack."""
    code = (
        "from tests.small_inputs import CHAINS\n"
        "from tests.io.document_reading import read_files\n"
        "good = '<a:s> <a:p> <a:o> .'\n"
        "files = {f'{name}.jsonld': made.make(made.size) for name, made in CHAINS.items()}\n"
        "found = read_files({'a.nt': good, **files, 'z.nt': good})\n"
        "assert found.ids == ['a.nt', 'z.nt'], found.ids\n"
        "assert set(found.codes) == {'HG-304'}, found.rejected\n"
    )
    found = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=ROOT)
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("name", [name for name in CHAINS if name not in ("a circle", "a broken document", "reverse")])
def test_a_short_chain_is_read(name: str) -> None:
    made = CHAINS[name].make(100 if "contexts in" in name else 50)
    assert isinstance(made, str)
    assert read(made, "x.jsonld").codes == []


def test_every_link_of_a_chain_counts() -> None:
    """The limit is exact: 256 terms that need each other are read, 257 are not."""
    assert read(CHAINS["terms"].make(255), "x.jsonld").codes == []
    assert read(CHAINS["terms"].make(256), "x.jsonld").codes == ["HG-304"]


def test_a_literal_that_the_parser_cannot_hold_stops_no_other_file() -> None:
    long = "x" * (17 << 20)
    good = "<a:s> <a:p> <a:o> .\n"
    found = read_files(
        {"a.nt": good, "b.ttl": f'<a:s> <a:p> "{long}" .', "c.nt": f'<a:s> <a:p> "{long}" .\n{good}', "d.nt": good}
    )
    assert found.ids == ["a.nt", "c.nt", "d.nt"]
    assert [(refused.source, refused.item, refused.code) for refused in found.rejected] == [
        ("b.ttl", None, "HG-307"),
        ("c.nt", "1", "HG-307"),
    ]
    assert len(found.publications["c.nt"]) == 1
