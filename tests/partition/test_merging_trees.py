"""Whatever is grown, joined and cut: `settle` tells exactly the difference."""

from __future__ import annotations

from random import Random

import pytest

from heliograph.partition.merging import Trees
from heliograph.partition.plan import Change


def roots_of(trees: Trees, upto: int) -> dict[int, int]:
    """Each node with its root."""
    return {node: trees.root_of(node) for node in range(upto) if node in trees}


def difference(before: dict[int, int], now: dict[int, int]) -> Change:
    """The change between two states, from scratch."""
    changed = {node: root for node, root in now.items() if before.get(node) != root}
    return Change(
        tuple(node for node, root in changed.items() if root == node),
        tuple(node for node, root in changed.items() if before.get(node) == node),
        tuple((node, root) for node, root in changed.items() if root != node),
        tuple(node for node in before if node not in now),
    )


def check_shape(trees: Trees, upto: int) -> None:
    standing = [node for node in range(upto) if node in trees]
    assert sorted(trees.roots()) == [node for node in standing if trees.root_of(node) == node]
    assert trees.width == len(list(trees.roots()))
    assert sorted(node for root in trees.roots() for node in trees.below(root)) == standing
    for node in standing:
        assert trees.is_root(node) == (trees.parent_of(node) is None)
        assert all(trees.parent_of(child) == node for child in trees.children_of(node))


@pytest.mark.parametrize("seed", range(30))
def test_settling_tells_exactly_the_difference(seed: int) -> None:
    random, trees, before, grown = Random(seed), Trees(), dict[int, int](), 0
    for _ in range(40):
        for _ in range(random.randrange(4)):
            roots = list(trees.roots())
            standing = list(roots_of(trees, grown))
            action = random.random()
            if action < 0.4 or not roots:
                trees.grow()
                grown += 1
            elif action < 0.7:
                trees.join(random.sample(roots, min(len(roots), random.randrange(1, 4))))
                grown += 1
            else:
                trees.cut(random.choice(standing))
        check_shape(trees, grown)
        now = roots_of(trees, grown)
        assert trees.settle() == difference(before, now)
        before = now


def test_what_came_and_went_in_between_is_not_told() -> None:
    trees = Trees()
    trees.cut(trees.grow())
    assert trees.settle() == Change()


def test_a_node_that_leaves_the_front_and_returns_is_not_told() -> None:
    trees = Trees()
    nodes = [trees.grow(), trees.grow()]
    trees.settle()
    trees.cut(trees.join(nodes))
    assert trees.settle() == Change()


def test_deep_trees_need_no_recursion() -> None:
    trees = Trees()
    top = leaf = trees.grow()
    for _ in range(1_500):
        top = trees.join([top])
    assert trees.root_of(leaf) == top
    assert len(list(trees.below(top))) == 1_501
