"""The SPARQL of the contract: text fixtures of what is accepted and what is refused, and where."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from heliograph.errors import SparqlError
from heliograph.sparql.templates import compile_sparql, parse_sparql
from tests.sparql.show import show

FIXTURES = Path(__file__).parent / "fixtures"


class Case(NamedTuple):
    verb: str
    text: str
    expected: str


def cases(name: str) -> list[Case]:
    """The cases of a fixture file; lines that begin with # before a case are remarks."""
    blocks = (FIXTURES / name).read_text(encoding="utf-8").split("\n===\n")
    return [_case(block) for block in blocks]


def _case(block: str) -> Case:
    lines = block.strip("\n").split("\n")
    while lines[0].startswith("#") or not lines[0]:
        del lines[0]
    verb = "watch" if lines[0] == "watch" else "filter"
    text, _, expected = "\n".join(lines[verb == "watch" :]).partition("\n---\n")
    return Case(verb, text, expected)


ACCEPTED = cases("accepted.txt")


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.text[:60])
def test_accepted(case: Case) -> None:
    """Alone, and when a parse is shared."""
    query = parse_sparql(case.text, verb=case.verb)
    assert show(query) == case.expected
    assert compile_sparql([case.text] * 3, verb=case.verb) == [query] * 3


REFUSED = cases("refused.txt")


def refusal(case: Case) -> str:
    with pytest.raises(SparqlError) as caught:
        parse_sparql(case.text, verb=case.verb)
    error = caught.value
    assert error.fix
    shown, carets = str(error.snippet).split("\n")
    underlined = "".join(letter for letter, mark in zip(shown, carets) if mark == "^") or "end"
    _, _, words = case.expected.partition(" // ")
    heard = words if words in error.describe() else error.describe()
    return f"{error.code} {error.line}:{error.column} {underlined} // {heard}"


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.text[:60])
def test_refused(case: Case) -> None:
    assert refusal(case) == case.expected


def test_every_refusal_is_met_and_names_a_code_of_its_family() -> None:
    codes = {case.expected.split()[0] for case in REFUSED}
    assert {f"HG-{number}" for number in range(410, 433)} <= codes
