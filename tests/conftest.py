"""Settings of the whole suite: property tests have no deadline, because no test depends on how fast the machine is."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

# `make test-all` draws all examples that a test asks for, and more than usual where it asks for none.
settings.register_profile("everyday", deadline=None, max_examples=60)
settings.register_profile("thorough", deadline=None, max_examples=200)
PROFILE = os.environ.get("HELIOGRAPH_EXAMPLES", "everyday")
settings.load_profile(PROFILE)

FEW = 10  # examples, of which none are saved


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everyday runs draw half of the examples, to stay within a quarter of an hour; each run draws others."""
    if PROFILE == "everyday":
        tests = {getattr(item, "obj", None) for item in items} | {getattr(item, "cls", None) for item in items}
        for test in {getattr(test, "__func__", test) for test in tests}:  # a method is one function for all its cases
            halve(test)


def halve(test: Any) -> None:
    """Where Hypothesis, too, looks for settings: those of a function, and of the class of a state machine."""
    for name in ("_hypothesis_internal_use_settings", "settings"):
        chosen = getattr(test, name, None)
        if isinstance(chosen, settings) and chosen.max_examples > FEW:
            setattr(test, name, settings(chosen, max_examples=max(FEW, chosen.max_examples // 2)))
