"""One Spark session for all tests here; without Java they say so and do not run.

The tests are one group for pytest-xdist, so that one process starts one session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from heliograph.spark.environment import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_JAVA = "Spark needs Java 17 or later, and there is none on this machine"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/spark/" in item.nodeid:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    if find_java() is None:
        pytest.skip(NO_JAVA)
    from heliograph.spark import session

    started = session("local[2]", {"spark.default.parallelism": 2})
    yield started
    started.stop()
