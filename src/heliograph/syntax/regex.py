"""Regular expressions of interests: RE2, which matches in linear time, with `i` as the only flag.

RE2 has no backreferences and no look-around; both are named when a pattern uses them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

FLAGS = ("", "i")

_BEYOND = {
    "lookahead": re.compile(r"\(\?[=!]"),
    "lookbehind": re.compile(r"\(\?<[=!]"),
    "atomic group": re.compile(r"\(\?>"),
    "backreference": re.compile(r"(?<!\\)(?:\\\\)*\\(?:[1-9]|k[<{'])"),
}


@lru_cache(maxsize=4096)
def compile_regex(pattern: str, flags: str = "") -> Any:
    """The compiled pattern; raises `re2.error`. Use `.search`, as SPARQL's REGEX matches anywhere in the text."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = "i" not in flags
    return re2.compile(pattern, options)


@lru_cache(maxsize=65536)
def regex_problem(pattern: str, flags: str = "") -> str | None:
    """What is wrong with a pattern, in RE2's words, or None when it compiles."""
    import re2

    try:
        compile_regex(pattern, flags)
    except re2.error as error:
        words = error.args[0] if error.args else ""
        return _beyond(pattern) + (words.decode(errors="replace") if isinstance(words, bytes) else str(words))
    return None


def _beyond(pattern: str) -> str:
    names = [name for name, sign in _BEYOND.items() if sign.search(pattern)]
    return f"RE2 has no {' and no '.join(names)}: " if names else ""
