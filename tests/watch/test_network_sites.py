"""Chains of sites: found under their keys, in order of level, however they come and go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import SITE_CORE, SITE_MESSAGE
from heliograph.watch.network import ANYWHERE, JOIN_LEVEL, Sites
from heliograph.watch.network_kernels import Progress, World

Operation = tuple[int, int, int]  # vertex, key and level, or (-9, which, 0) to remove one


def chain(sites: Sites, vertex: int, key: int) -> list[int]:
    head = sites.find(vertex, key)
    found = []
    site = int(sites.heads.array["first"][head]) if head >= 0 else -1
    while site >= 0:
        found.append(site)
        site = int(sites.rows.array["next"][site])
    return found


def check_chain(sites: Sites, vertex: int, key: int, expected: set[int]) -> None:
    found = chain(sites, vertex, key)
    levels = sites.rows.array["level"][found].tolist()
    assert set(found) == expected
    assert len(found) == len(expected)
    assert levels == sorted(levels, reverse=True)
    assert sites.rows.array["previous"][found].tolist() == [-1, *found][: len(found)]
    head = sites.find(vertex, key)
    assert head < 0 or sites.heads.array["last"][head] == (found[-1] if found else -1)


added = st.one_of(
    st.tuples(st.just(ANYWHERE), st.integers(-1, 3), st.integers(0, 4) | st.just(JOIN_LEVEL)),
    st.tuples(st.integers(0, 40), st.integers(-3, 3), st.just(JOIN_LEVEL)),
)
removed = st.tuples(st.just(-9), st.integers(0, 20), st.just(0))


@given(st.lists(st.one_of(added, added, removed), max_size=60))
def test_chains_run_from_the_highest_level_to_the_lowest(operations: list[Operation]) -> None:
    sites, alive = Sites(World({"graph": FlatGraph().arrays, "progress": Progress()})), {}
    for vertex, key, level in operations:
        if vertex != -9:
            kind = SITE_CORE if level == JOIN_LEVEL else SITE_MESSAGE
            alive[sites.add((kind, 0, -1), level, vertex, key)] = (vertex, key)
        elif alive:
            site = sorted(alive)[key % len(alive)]
            sites.remove(site)
            del alive[site]
    for place in {(vertex, key) for vertex, key, _ in operations if vertex != -9}:
        check_chain(sites, *place, {site for site, where in alive.items() if where == place})
    assert sites.find(999, 0) == -1
