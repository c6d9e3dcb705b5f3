"""Routing: events through the advertising exchange, on one core, as multiples of a plain walk and of [B]'s algorithms.

Every answer is checked before its time counts. Times are the processor's, of all threads, so that a busy machine does
not decide; the timings that make up a ratio are taken in turns, so that what slows it down falls on both. A workload
is drawn once a seed and then measured five times; another seed is another run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from benchmarks.filter_workloads import WrongAnswer
from benchmarks.route_walks import Walk, from_arguments, from_dicts
from benchmarks.route_workloads import Case, Single, Size, checked, make, singles, spelled_out

FULL = Size()
SAMPLES = 5
Samples = Sequence[float]

# Those of [B] that can route through an exchange with cycles; figures 3 and 5 need one without.
PAPER = ("general", "scc-skip", "index-bfs", "bfs")


# --- batches ----------------------------------------------------------------------------------------------------


def measure_walk(seed: int, selectivity: float, size: Size = FULL) -> Samples:
    """How many times as long a plain walk takes whose lambdas read a dict."""
    case = plain_case(seed, selectivity, size)
    return _against_walk(case, checked(from_dicts(case.tables), case.tables))


def measure_tuned_walk(seed: int, selectivity: float, size: Size = FULL) -> Samples:
    """How many times as long a plain walk takes whose lambdas take the attributes as arguments."""
    case = plain_case(seed, selectivity, size)
    return _against_walk(case, checked(from_arguments(case.tables), case.tables))


def measure_rate(seed: int, selectivity: float, size: Size = FULL) -> Samples:
    """Events a second."""
    return _rates(plain_case(seed, selectivity, size).seconds)


def measure_rate_with_table(seed: int, selectivity: float, size: Size = FULL) -> Samples:
    """Events a second where the table of notifications is made on the clock."""
    case = plain_case(seed, selectivity, size)
    return _rates(lambda: case.seconds(with_table=True))


def measure_walk_rate(seed: int, selectivity: float, size: Size = FULL) -> Samples:
    """Events a second of the plain walk whose lambdas read a dict."""
    return _rates(from_dicts(plain_case(seed, selectivity, size).tables).seconds)


def measure_spelled_out(seed: int, size: Size = FULL) -> Samples:
    """How many times as long a plain walk takes at selectivity 1 with targeting that always holds in place of none."""
    case = spelled_out(plain_case(seed, 1.0, size), seed)
    return _against_walk(case, checked(from_dicts(case.tables), case.tables))


@lru_cache(maxsize=1)
def plain_case(seed: int, selectivity: float, size: Size) -> Case:
    """The exchange of [B] table 1 with its events."""
    return make(seed, size, selectivity=selectivity)


def _against_walk(case: Case, walk: Walk) -> Samples:
    return [walk.seconds() / case.seconds() for _ in range(SAMPLES)]


def _rates(seconds: Callable[[], float]) -> Samples:
    return [1 / seconds() for _ in range(SAMPLES)]


# --- [B]'s algorithms -------------------------------------------------------------------------------------------


def measure_paper(seed: int, selectivity: float, size: Size = FULL) -> Samples:
    """How many times as long the fastest of [B]'s algorithms takes, on the same compiled predicates and arrays."""
    turns = paper_turns(seed, selectivity, size)
    return [min(turn[name] for name in PAPER) / turn["ours"] for turn in turns]


def measure_algorithm(seed: int, algorithm: str, selectivity: float, size: Size = FULL) -> Samples:
    """How many times as long one of them takes."""
    return [turn[algorithm] / turn["ours"] for turn in paper_turns(seed, selectivity, size)]


@lru_cache(maxsize=1)
def paper_turns(seed: int, selectivity: float, size: Size) -> Sequence[Mapping[str, float]]:
    """Seconds an event of every algorithm, in turns."""
    case = plain_case(seed, selectivity, size)
    cases = {"ours": case} | {name: case.running(name) for name in PAPER}
    return [{name: each.seconds() for name, each in cases.items()} for _ in range(SAMPLES)]


# --- the first result -------------------------------------------------------------------------------------------


def measure_first(seed: int, selectivity: float, size: Size = FULL) -> Samples:
    """What share of a streamed answer's time has passed when its first node is there, over all events together."""
    case = plain_case(seed, selectivity, size)
    events = singles(case.tables, size.streamed)
    return [first / whole for first, whole in (_streamed(case, events) for _ in range(SAMPLES))]


def measure_first_of_publish(seed: int, selectivity: float, size: Size = FULL) -> Samples:
    """The same as a share of what `publish` takes for one event, the table of its answer made."""
    case = plain_case(seed, selectivity, size)
    events = singles(case.tables, size.streamed)
    return [_streamed(case, events)[0] / _published(case, events) for _ in range(SAMPLES)]


def _streamed(case: Case, events: Sequence[Single]) -> tuple[float, float]:
    """The seconds until the first node and until the last, summed over the events."""
    first = whole = 0.0
    for event in events:
        started = time.process_time()
        found = case.engine.stream(event.item)
        nodes = [next(found).subscription_id]
        first += time.process_time() - started
        nodes += [notification.subscription_id for notification in found]
        whole += time.process_time() - started
        _check(event, nodes)
    return first, whole


def _published(case: Case, events: Sequence[Single]) -> float:
    took = 0.0
    for event in events:
        started = time.process_time()
        found = case.engine.publish([event.item]).table
        took += time.process_time() - started
        _check(event, [str(node) for node in found["subscription_id"].to_pylist()])
    return took


def _check(event: Single, nodes: Sequence[str]) -> None:
    if len(nodes) != len(event.nodes) or set(nodes) != event.nodes:
        raise WrongAnswer(f"{len(nodes)} nodes that are not the {len(event.nodes)} expected")


# --- larger graphs ----------------------------------------------------------------------------------------------


def measure_growth(seed: int, times: int, size: Size = FULL) -> Samples:
    """How many times as long a node of the answer takes in a graph so many times as large: [B] table 3.

    Answers grow with the graph there, so what is compared is the time of a batch divided by the nodes it reached.
    """
    case, base = make(seed, size, scale=size.scale * times), _base_case(seed, size)
    return [case.seconds_each() / base.seconds_each() for _ in range(SAMPLES)]


def measure_copies(seed: int, size: Size = FULL) -> Samples:
    """How many times as long an event takes where many exchanges stand side by side and the reach stays the same."""
    case, base = make(seed, size, copies=size.copies), _base_case(seed, size)
    return [case.seconds() / base.seconds() for _ in range(SAMPLES)]


@lru_cache(maxsize=1)
def _base_case(seed: int, size: Size) -> Case:
    return make(seed, size)
