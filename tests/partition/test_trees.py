"""Whatever is grown, joined and cut: `difference` is exactly that."""

from __future__ import annotations

from random import Random

import pytest

from heliograph.partition.plan import PlanChange, Trees


def roots_of(trees: Trees) -> dict[int, int]:
    """Each node with its root, parents first."""
    found: dict[int, int] = {}
    for root in trees.roots:
        todo = [root]
        while todo:
            node = todo.pop()
            found[node] = root
            todo += trees.children_of(node)
    return dict(sorted(found.items()))


def join(trees: Trees, roots: list[int]) -> int:
    """A new root above some roots."""
    parent = trees.grow()
    for root in roots:
        trees.hang(root, parent)
    return parent


def difference(before: dict[int, int], now: dict[int, int]) -> PlanChange:
    """The change between two states, from scratch."""
    changed = {node: root for node, root in now.items() if before.get(node) != root}
    return PlanChange(
        tuple(node for node, root in changed.items() if root == node),
        tuple(node for node, root in changed.items() if before.get(node) == node),
        tuple((node, root) for node, root in changed.items() if root != node),
        tuple(node for node in before if node not in now),
    )


@pytest.mark.parametrize("seed", range(30))
def test_the_difference_is_what_changed(seed: int) -> None:
    random, trees, before = Random(seed), Trees(), dict[int, int]()
    for _ in range(40):
        for _ in range(random.randrange(4)):
            roots, action = list(trees.roots), random.random()
            if action < 0.4 or not roots:
                trees.grow()
            elif action < 0.7:
                join(trees, random.sample(roots, min(len(roots), random.randrange(1, 4))))
            else:
                trees.cut(random.choice(list(roots_of(trees))))
        now = roots_of(trees)
        assert trees.difference() == difference(before, now)
        for node, root in now.items():
            assert trees.root_of(node) == root
            assert (node in trees.roots) == (trees.parent_of(node) is None)
            assert all(trees.parent_of(child) == node for child in trees.children_of(node))
        before = now


def test_deep_trees_need_no_recursion() -> None:
    trees = Trees()
    top = leaf = trees.grow()
    for _ in range(1_500):
        top = join(trees, [top])
    trees.difference()
    assert trees.root_of(leaf) == top
