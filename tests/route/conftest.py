"""The two halves of `auto`: what is small is walked in plain Python, what is large by the kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.route.strategy import AutoRouting


@pytest.fixture(scope="module", params=["walk", "lanes"])
def each_half(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the tests of a module twice: however little there is to do, by the one half and by the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AutoRouting, "_pays", lambda self, version: request.param == "lanes")
        yield request.param
