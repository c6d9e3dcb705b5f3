"""What went wrong in Spark, in one sentence: the innermost cause, without the traces around it."""

from __future__ import annotations

import re

_PYTHON = re.compile(r"^([A-Za-z_]\w*(?:Error|Exception|Interrupt)): ?(.*)$", re.M)
_CAUSE = re.compile(r"^(?:Caused by|): ([\w.$]+)(?:: ?(.*))?$", re.M)
_JAVA = re.compile(r"^(?:Exception in thread \S+ )?([a-z]\w*(?:\.[\w$]+)+(?:Error|Exception)): (.+)$", re.M)
_SENDER = re.compile(r"^An error occurred while calling [^\n]*\n?")
_LOST = re.compile(r"Python worker exited unexpectedly|ExecutorLostFailure|OutOfMemoryError|exit(?:ed with)? code 137")
_NOISE = ("WARNING: Using incubator modules", "Error occurred during initialization of VM", "Error: Could not create")
_LONGEST = 300


def reason_of(text: str) -> str:
    """The innermost cause that a failure names: an error of Python, else one of the JVM, else its first line."""
    python: list[tuple[str, str]] = _PYTHON.findall(text)
    if python:
        return ": ".join(filter(None, python[-1]))[:_LONGEST]
    java: list[tuple[str, str]] = _CAUSE.findall(text) or _JAVA.findall(text)
    if java:
        name, message = java[-1]
        return (message.strip() or name.rpartition(".")[2])[:_LONGEST]
    lines = [line.strip() for line in _SENDER.sub("", text).splitlines()]
    return next((line for line in lines if line and not line.startswith(_NOISE)), "")[:_LONGEST]


def is_loss(text: str) -> bool:
    """Whether a worker or an executor died, which most often is for lack of memory."""
    return _LOST.search(text) is not None
