"""The worked examples of [B], graph constraints in content-based publish/subscribe: figures 1, 4, 7, 9 and 10.

The scans keep the figures' labels, tables and sentences, but not the edges that were drawn. The edges below are
reconstructed so that every set and every sentence of the text comes out; where the text leaves a choice, one is made.
"""

from __future__ import annotations

import pytest

from heliograph.route import Route

Edges = dict[str, str]  # from a node to the ids of its children, in one string
Labels = dict[str, str]  # from a node to its labels, one letter each
Sets = tuple[set[str], set[str], set[str]]


def node_sets(edges: Edges, labels: Labels, start: str, match: str) -> Sets:
    """N_V, N_R and the result of [B] section 2 for Q = {A, B, C}.

    The valid nodes are those that a start connected to every node reaches in one step; the reachable ones are the
    children of the start and of the results.
    """
    nodes = [{"node_id": node, "labels": list(own)} for node, own in labels.items()]
    links = [(source, target) for source, targets in edges.items() for target in targets.split()]
    event = {"event_id": "q", "publisher": start, "attributes": {"labels": ["A", "B", "C"]}}
    exchange = Route(nodes, links, match=match)
    star = Route(nodes, [(start, node) for node in labels], match=match)
    valid = {found.subscription_id for found in star.publish(event, hops=1)}
    result = {found.subscription_id for found in exchange.publish(event)}
    reachable = {target for source, target in links if source == start or source in result}
    return valid, reachable, result


# --- figure 1: a sample exchange --------------------------------------------------------------------------------

# "the fact that the three advertising networks are connected allows the three publishers to have access to the four
# available advertisers". Net1 is described in the text; the other labels are the drawing's, each given to a node for
# which the sentences hold. Adv2 accepts an age of 35, so it must lie behind Net3, which does not.
NODES_1 = [
    *({"node_id": name} for name in ("Pub1", "Pub2", "Pub3")),
    {"node_id": "Net1", "targeting": "age > 30 AND topic IN ('Sports', 'Finance')"},
    {"node_id": "Net2", "targeting": "topic IN ('Sports', 'Local News')"},
    {"node_id": "Net3", "targeting": "age > 40 AND topic IN ('World News', 'Finance')"},
    {"node_id": "Adv1", "targeting": "topic IN ('Sports')"},
    {"node_id": "Adv2", "targeting": "age BETWEEN 30 AND 60"},
    {"node_id": "Adv3"},
    {"node_id": "Adv4"},
]
EDGES_1 = [
    *(("Pub1", "Net1"), ("Pub2", "Net2"), ("Pub3", "Net3")),
    *(("Net1", "Net2"), ("Net2", "Net1"), ("Net1", "Net3"), ("Net3", "Net1")),
    *(("Net2", "Adv1"), ("Net3", "Adv2"), ("Net3", "Adv3"), ("Net3", "Adv4")),
]
VISIT = {"topic": "Sports", "age": 35}


def test_figure_1_networks_and_advertiser() -> None:
    """ "networks Net1 and Net2 and advertiser Adv1 would satisfy the targeting and graph constraints" """
    found = Route(NODES_1, EDGES_1).route("Pub1", VISIT)
    assert [item.subscription_id for item in found] == ["Net1", "Net2", "Adv1"]


def test_figure_1_only_advertiser() -> None:
    """ "Therefore Adv1 would be the only valid advertiser for the event." """
    found = Route(NODES_1, EDGES_1).route("Pub1", VISIT, subscribers_only=True)
    assert [item.subscription_id for item in found] == ["Adv1"]


@pytest.mark.parametrize("publisher", ["Pub1", "Pub2", "Pub3"])
def test_figure_1_every_publisher_has_access_to_every_advertiser(publisher: str) -> None:
    untargeted = Route([{"node_id": node["node_id"]} for node in NODES_1], EDGES_1)
    found = untargeted.route(publisher, VISIT, subscribers_only=True)
    assert [item.subscription_id for item in found] == ["Adv1", "Adv2", "Adv3", "Adv4"]


def test_figure_1_why_not_the_others() -> None:
    event = {"event_id": "visit", "publisher": "Pub1", "attributes": VISIT}
    explanation = Route(NODES_1, EDGES_1).explain("Adv2", event)
    assert explanation.failed == "node Net3: age > 40 (age is 35)"
    assert explanation.held[-1].startswith("Net1")


# --- figure 4: a DAG, match is subset ---------------------------------------------------------------------------

# The labels are the drawing's: five sets within {A, B, C} for the five valid nodes, and D thrice. Node 0's children and
# those of 5 and 6 follow from the growth of N_R in the table; 2 and 3 hang on the invalid node 1.
EDGES_4 = {"0": "1 4 5", "1": "2 3", "4": "7", "5": "6 7", "6": "8", "7": "8"}
LABELS_4 = {"0": "", "1": "D", "2": "AB", "3": "AB", "4": "D", "5": "AC", "6": "C", "7": "D", "8": "AB"}


def test_figure_4() -> None:
    valid, reachable, result = node_sets(EDGES_4, LABELS_4, "0", "subset")
    assert valid - {"0"} == {"2", "3", "5", "6", "8"}
    assert reachable == {"1", "4", "5", "6", "7", "8"}
    assert result == {"5", "6", "8"}


# --- figures 7 and 9: a cyclic graph, match is a non-empty intersection -----------------------------------------

# Figure 9 shows the same graph with ids component.node: 8, 1, 0 are 5.1, 5.2, 5.3, and the invalid 4 and 7 are 1.1 and
# 4.1 in some order, 2, 5, 6 are 2.1, 3.1, 3.2 in some order. The glyphs of both drawings repeat in one order, which
# gives the labels: D, AC, C, AB, D, AB, AB for 1.1, 2.1, 3.1, 3.2, 5.3, 5.2, 5.1, and D for 4.1. Within the order of
# components the edges are free except for the children of the start and of 8; the children of 1 add nothing to N_R.
IDS_9 = {"3": "0.0", "4": "1.1", "2": "2.1", "5": "3.1", "6": "3.2", "7": "4.1", "8": "5.1", "1": "5.2", "0": "5.3"}
EDGES_7 = {"3": "4 7 8", "4": "2", "2": "5", "5": "6", "6": "5 7", "7": "0", "8": "0 1", "1": "8", "0": "8"}
LABELS_7 = {"3": "", "4": "D", "2": "AC", "5": "C", "6": "AB", "7": "D", "8": "AB", "1": "AB", "0": "D"}


def test_figure_7() -> None:
    valid, reachable, result = node_sets(EDGES_7, LABELS_7, "3", "intersects")
    assert valid == {"1", "2", "5", "6", "8"}
    assert reachable == {"0", "1", "4", "7", "8"}
    assert result == {"1", "8"}


def test_figure_9() -> None:
    """The algorithm's own N_V leaves out valid nodes of components that it skips: 2.1, 3.1 and 3.2 here."""
    edges = {
        IDS_9[source]: " ".join(IDS_9[target] for target in targets.split()) for source, targets in EDGES_7.items()
    }
    labels = {IDS_9[node]: own for node, own in LABELS_7.items()}
    valid, reachable, result = node_sets(edges, labels, "0.0", "intersects")
    assert valid == {"2.1", "3.1", "3.2", "5.1", "5.2"}
    assert reachable == {"1.1", "4.1", "5.1", "5.2", "5.3"}
    assert {id.split(".")[0] for id in reachable} == {"1", "4", "5"}
    assert {id for id in valid if id.split(".")[0] in ("1", "4", "5")} == {"5.1", "5.2"}
    assert result == {"5.1", "5.2"}


def test_figure_9_components_are_in_topological_order() -> None:
    """ "either v and w lie in the same SCC, or the SCC id of v is strictly smaller than the SCC id of w" """
    links = [(IDS_9[source], IDS_9[target]) for source, targets in EDGES_7.items() for target in targets.split()]
    assert all(int(source[0]) <= int(target[0]) for source, target in links)


# --- figure 10: m nodes in one component, two assignments of ids ------------------------------------------------


@pytest.mark.parametrize("m", [2, 3, 10, 1500])
@pytest.mark.parametrize("worst", [True, False])
def test_figure_10(m: int, worst: bool) -> None:
    """ "all of the nodes are valid except for node 1.1": (a) runs from 1.m down to 1.1, (b) from 1.1 up to 1.m.

    A cycle through all makes them one component. 1,500 nodes in a row would overflow a recursive walk.
    """
    order = [f"1.{number}" for number in (range(m, 0, -1) if worst else range(1, m + 1))]
    links = [("0.0", order[0]), *zip(order, [*order[1:], order[0]], strict=True)]
    nodes = [{"node_id": node, "labels": ["A"]} for node in order[:-1]] + [{"node_id": order[-1], "labels": ["X"]}]
    found = Route(nodes, links, match="intersects").route("0.0", {"labels": ["A"]})
    assert [item.subscription_id for item in found] == order[:-1]
    assert order[-1] == ("1.1" if worst else f"1.{m}")
