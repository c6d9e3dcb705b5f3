"""The `hg:` functions by name, and how each is written: the contract's table of metrics."""

from __future__ import annotations

from difflib import get_close_matches

SIGNATURES = {
    "degree": "hg:degree(?x) or hg:degree(?x, :property)",
    "indegree": "hg:indegree(?x) or hg:indegree(?x, :property)",
    "outdegree": "hg:outdegree(?x) or hg:outdegree(?x, :property)",
    "clustering": "hg:clustering(?x)",
    "transitivity": "hg:transitivity()",
    "averageClustering": "hg:averageClustering()",
    "distance": 'hg:distance(?a, ?b[, "undirected"][, "weight"][, :property…])',
    "cliques": "hg:cliques(k) with k from 1 to 5",
    "betweenness": "hg:betweenness(?x)",
    "density": "hg:density() or hg:density(?x, hops) with hops 0, 1, 2, …",
    "dense": "hg:dense(?x)",
    "steiner": "hg:steiner(?a, ?b, …[, hg:via(:property)…])",
    "steinerPoint": "hg:steinerPoint(?x, ?a, ?b, …)",
    "via": "hg:via(:property) among the arguments of hg:steiner",
}
_BY_LOWER = {name.lower(): name for name in SIGNATURES}


def bare_metric(word: str) -> str | None:
    """The function that a name without `hg:`, or with another prefix, most likely means."""
    return _BY_LOWER.get(word.rpartition(":")[2].lower())


def near_metric(name: str) -> str | None:
    """The function that a misspelt name comes close to."""
    close = get_close_matches(name.lower(), _BY_LOWER, n=1, cutoff=0.5)
    return _BY_LOWER[close[0]] if close else None
