"""Queries compiled into a network that their kernels keep up to date; see `kernels.network_layout` for its arrays.

    network = Network(vocabulary.intern, derived, graph)      # graph: what edges are waited for in, a FlatGraph
    wanted = network.compile(query, Q_TRUTH)                  # .kind is Q_ROWS where truth cannot be told otherwise
    for relation, kind in wanted.wants: ...                   # derived edges that must be there before it is populated
    row = network.subscribe(number, wanted)                   # or add_concrete(…) for many at once
    network.fresh                                             # messages with bits, lowest level first, and components
    network.settled()                                         # after they were populated
    network.unsubscribe(row)
    network.arrays                                            # ask again after every change

What kernels rely on beyond the layout:

- Places: S_PLACE is the number of a core edge within its group; T_EDGE, T_OTHER and U_PART are rows. Every group has
  its starts, but for a listed one those from slots are empty. LINK of an edge is PRESENT and 2 * (1 + its first link).
- A group or node hears each message once: where it asks the same thing at two slots, or twice in a count, the second
  message is a twin of the first with states of its own.
- Every message on a node is kept for all tags in `ones`. A tag that was given up is never given again in that node or
  anchor set: states may hold its bit. A message that was given up never comes back under its number.
- Q_MISSING counts absent concrete edges and, for truth only, components without a place. `fresh` components were
  entered with the value 0 and are counted as missing until they are populated.
- Tests of truth and rows stand in banks (PART_TESTS, the tag is the place), those of counts alone (PART_TEST).
- A row query's component tells its rows: `network.component(row)`; `Compiled.slots` are its variables in their order.
"""

from __future__ import annotations

from heliograph.network.compiling import Compiled
from heliograph.network.groups import NO_BIT
from heliograph.network.queries import Limits
from heliograph.network.store import Fresh, Network, needs_rows

__all__ = ["NO_BIT", "Compiled", "Fresh", "Limits", "Network", "needs_rows"]
