"""Regular expressions of interests: RE2, which matches in linear time, with `i` as the only flag.

RE2 has no backreferences and no look-around; both are named when a pattern uses them. Its time is linear in the text,
but a step costs up to as much as the pattern is large once its automaton no longer fits its memory, hence the limits.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

FLAGS = ("", "i")

# Instructions of the compiled pattern: about 1,000 words as alternatives. A pattern of this size takes 2 s on a text of
# 1 MB at worst; `[ab].?(a.?b?){600}b{40}`, of 7,254, took 228 s with the 8 MB of memory that are RE2's default.
MAX_PROGRAM = 10_000
_LARGE = 1_000  # instructions from which on RE2 may have more memory than its default of 8 MB
_MEMORY = 64 << 20  # bytes, of which a pattern takes what the texts that it meets make it take

_BEYOND = {
    "lookahead": re.compile(r"\(\?[=!]"),
    "lookbehind": re.compile(r"\(\?<[=!]"),
    "atomic group": re.compile(r"\(\?>"),
    "backreference": re.compile(r"(?<!\\)(?:\\\\)*\\(?:[1-9]|k[<{'])"),
}


def compile_regex(pattern: str, flags: str = "") -> Any:
    """The compiled pattern; raises `re2.error`. Use `.search`, as SPARQL's REGEX matches anywhere in the text."""
    found = _compile(pattern, flags)
    return found if found.programsize <= _LARGE else _compile_large(pattern, flags)


@lru_cache(maxsize=4096)
def _compile(pattern: str, flags: str, memory: int | None = None) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = "i" not in flags
    options.never_capture = True  # nobody asks for groups, and 20,000 of them took 4.8 GB
    if memory is not None:
        options.max_mem = memory
    return re2.compile(pattern, options)


@lru_cache(maxsize=512)  # so that they take no more memory than 4,096 of the others may; to compile one takes ms
def _compile_large(pattern: str, flags: str) -> Any:
    return _compile.__wrapped__(pattern, flags, _MEMORY)


class RegexProblem(NamedTuple):
    message: str
    fix: str


@lru_cache(maxsize=65536)
def regex_problem(pattern: str, flags: str = "") -> RegexProblem | None:
    """What is wrong with a pattern, partly in RE2's words, or None when it may be used."""
    import re2

    try:
        size = _compile(pattern, flags).programsize
    except re2.error as error:
        words = error.args[0] if error.args else ""
        said = words.decode(errors="replace") if isinstance(words, bytes) else str(words)
        fix = "patterns follow the syntax of RE2, which matches in linear time"
        return RegexProblem(f"not a regular expression: {_beyond(pattern)}{said}", fix)
    if size > MAX_PROGRAM:
        message = f"a regular expression of {size:,} steps, written out; at most {MAX_PROGRAM:,} are taken"
        return RegexProblem(message, "shorten it, lower its repetitions {n}, or use several conditions")
    return None


def _beyond(pattern: str) -> str:
    names = [name for name, sign in _BEYOND.items() if sign.search(pattern)]
    return f"RE2 has no {' and no '.join(names)}: " if names else ""
