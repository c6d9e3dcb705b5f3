"""LIKE patterns as functions: % stands for any text, _ for one character.

A pattern is split at its % into fixed-length pieces. The first and the last are anchored, and the others are found
from left to right, each at its leftmost place: a later place never helps, since % absorbs the difference. So there is
no backtracking, and the time is at most length of text × length of pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

Matcher = Callable[[str], bool]


def ends_in_escape(pattern: str, escape: str) -> bool:
    """Whether an escape character at the end of the pattern has nothing left to escape."""
    place = 0
    while place < len(pattern):
        if pattern[place] == escape:
            place += 1
            if place == len(pattern):
                return True
        place += 1
    return False


@lru_cache(maxsize=65536)
def matcher(pattern: str, escape: str | None, fold: bool) -> Matcher:
    """A function that says whether a text is LIKE the pattern (ILIKE: both in lower case)."""
    pieces = _pieces(pattern, escape, fold)
    matches = _exact(pieces[0]) if len(pieces) == 1 else _spread(pieces)
    return (lambda text: matches(text.lower())) if fold else matches


def _pieces(pattern: str, escape: str | None, fold: bool) -> list[re.Pattern[str]]:
    """The stretches between % as regular expressions of fixed length; an escaped character stands for itself."""
    pieces: list[list[str]] = [[]]
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            character = next(characters, "")
            pieces[-1].append(_literal(character, fold))
        elif character == "%":
            pieces.append([])
        else:
            pieces[-1].append("." if character == "_" else _literal(character, fold))
    return [re.compile("".join(piece), re.DOTALL) for piece in pieces]


def _literal(character: str, fold: bool) -> str:
    return re.escape(character.lower() if fold else character)


def _exact(piece: re.Pattern[str]) -> Matcher:
    return lambda text: piece.fullmatch(text) is not None


def _spread(pieces: list[re.Pattern[str]]) -> Matcher:
    first, *middle, last = pieces
    tail = re.compile(f"(?:{last.pattern})\\Z", re.DOTALL)

    def matches(text: str) -> bool:
        found = first.match(text)
        for piece in middle:
            if found is None:
                return False
            found = piece.search(text, found.end())
        return found is not None and tail.search(text, found.end()) is not None

    return matches
