"""Reads the text fixtures of semantics cases; `README.txt` beside them says how a case is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "fixtures" / "semantics"
_HEAD = re.compile(r"(case|subscription|publication|taxonomy|expected|bindings|oracle):[ \t]*(.*)")


@dataclass(slots=True)
class Case:
    """One case: what is subscribed and published, and what is to come out."""

    name: str
    file: str
    parts: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"

    @property
    def subscription(self) -> str:
        return "\n".join(self.parts["subscription"])

    @property
    def triples(self) -> list[tuple[str, ...]]:
        return _rows(self.parts["publication"])

    @property
    def taxonomy(self) -> list[tuple[str, ...]]:
        return _rows(self.parts.get("taxonomy", []))

    @property
    def expected(self) -> str:
        return self.parts["expected"][0]

    @property
    def bindings(self) -> list[dict[str, str]] | None:
        if "bindings" not in self.parts:
            return None
        return [dict(_pair(cell) for cell in _split(line, " | ")) for line in self.parts["bindings"]]

    @property
    def oracle_differs(self) -> bool:
        return "differs" in self.parts.get("oracle", [])


def _rows(lines: list[str]) -> list[tuple[str, ...]]:
    return [_split(line, " | ") for line in lines]


def _split(text: str, sign: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(sign))


def _pair(cell: str) -> tuple[str, str]:
    name, value = _split(cell, " = ")
    return name, value


def read_cases() -> list[Case]:
    return [case for path in sorted(FOLDER.glob("*.txt")) if path.stem != "README" for case in _read(path)]


def _read(path: Path) -> Iterator[Case]:
    case, part = None, ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        head = _HEAD.match(line)
        if head and head[1] == "case":
            if case is not None:
                yield case
            case = Case(head[2], path.stem)
        elif case is not None and head:
            part = head[1]
            case.parts[part] = [head[2]] if head[2] else []
        elif case is not None and line.startswith("  "):
            case.parts[part].append(line.strip())
        elif line.strip() and not line.startswith("#"):
            raise ValueError(f"{path.name}, line {number}: not a case: {line!r}")
    if case is not None:
        yield case
