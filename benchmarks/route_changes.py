"""Changing an exchange while events are routed: what one change costs, exact at once.

Each change is one call with one item, followed by an event whose answer is held against the model's. The cost is the
processor's time of all threads but for the events', so that what is put off to the background counts too.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import NamedTuple

from benchmarks.filter_workloads import WrongAnswer, check
from benchmarks.route_script import Script, Step
from benchmarks.route_workloads import Size, loaded
from heliograph import Route
from heliograph.workloads.route import generate_route, sizes

FULL = Size()
SELECTIVITY = 0.25


class Changing(NamedTuple):
    """Microseconds: a change on average, the longest call for one, and an event on average."""

    change_us: float
    longest_us: float
    event_us: float


def measure_change(seed: int, size: Size = FULL) -> float:
    """Microseconds a change, amortised."""
    return change(seed, size).change_us


def measure_longest_change(seed: int, size: Size = FULL) -> float:
    """Microseconds of the longest call."""
    return change(seed, size).longest_us


def measure_event(seed: int, size: Size = FULL) -> float:
    """Microseconds an event that follows a change."""
    return change(seed, size).event_us


@lru_cache(maxsize=1)
def change(seed: int, size: Size) -> Changing:
    """Loads an exchange and changes it step by step."""
    tables = generate_route(seed, scale=size.scale, events=size.events, selectivity=SELECTIVITY)
    steps = list(Script(tables, sizes(size.scale), seed, SELECTIVITY).steps(size.changes))
    engine = loaded(tables)
    check(engine.publish(tables["events"]), tables["expected"])
    return _through(engine, steps)


def _through(engine: Route, steps: list[Step]) -> Changing:
    longest = events = 0.0
    started = time.process_time()
    for step in steps:
        before = time.thread_time()
        getattr(engine, step.call)(step.item)
        between = time.thread_time()
        _ask(engine, step)
        events += time.thread_time() - between
        longest = max(longest, between - before)
    changes = time.process_time() - started - events
    return Changing(*(seconds * 1e6 for seconds in (changes / len(steps), longest, events / len(steps))))


def _ask(engine: Route, step: Step) -> None:
    found = engine.publish([step.event])
    answer = "\n".join(sorted(map(str, found.table["subscription_id"].to_pylist())))
    if found.rejected or answer != step.answer:
        raise WrongAnswer(f"after {step.call} {step.item}: {len(found)} nodes that are not those of the model")
