"""The network: queries compiled, entered, found again and taken out, in arrays that kernels read.

Everything that several queries ask is kept once, so a query costs what it adds. What a query adds to a network over a
graph that is not empty must be populated before the next update: `fresh` tells what, `settled` that it was done.
What nobody asks any more leaves every chain at once; its rows stay behind as garbage until the network is made anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from heliograph.evolution.derived import Relation
from heliograph.kernels import network_layout as layout
from heliograph.kernels.network_layout import COUNT, G_EDGES, G_PARTS, G_SLOTS, MASK, NONE, Q_COUNT, Q_MISSING, Q_ROWS
from heliograph.network.compiling import Compiled, Customs, compiled
from heliograph.network.groups import Groups
from heliograph.network.judging import Tests
from heliograph.network.messages import Messages
from heliograph.network.nodes import Nodes
from heliograph.network.queries import Ints, Limits, Queries, Waited
from heliograph.network.questions import Intern, Virtual, question_of
from heliograph.network.sites import Sites
from heliograph.network.tables import Array, Pairs, Rows
from heliograph.network.weaving import Given, Weaver
from heliograph.syntax.query import Query
from heliograph.terms import RDF_TYPE, Term

_CLASSES = (Relation.TYPE, Relation.IS_A, Relation.SUBCLASS_OF)


class Fresh(NamedTuple):
    """What was added since it was last `settled`: messages with the bits to be populated, lowest level first, and
    components."""

    messages: tuple[tuple[int, int], ...]
    components: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.messages or self.components)


class Network:
    """All queries over one graph."""

    def __init__(self, intern: Intern, derived: Virtual | None, graph: Waited) -> None:
        self._intern, self._derived = intern, derived
        self.sites = Sites()
        self.messages = Messages(self.sites)
        self.nodes = Nodes(self.messages)
        self.groups = Groups(self.sites, self.messages, self.nodes)
        self.tests = Tests()
        self.queries = Queries(graph, self.groups)
        self.verdicts = Pairs()
        self._domains: Array = np.zeros((0, 2), np.float64)
        self._weaver = Weaver(self.messages, self.nodes, self.groups, self.tests)
        self._arrays: layout.Network | None = None
        properties = [intern(RDF_TYPE), *(derived.virtual(each) for each in _CLASSES if derived is not None)]
        self._customs = Customs(frozenset(2 * each for each in properties), Counter())

    # --- queries ------------------------------------------------------------------------------------------------

    def compile(self, query: Query, kind: int) -> Compiled:
        """What a query needs to be told by truth, count or rows; its `kind` is Q_ROWS where nothing else will do."""
        return compiled(query, question_of(query, self._intern, self._derived), kind, self._customs)

    def subscribe(self, number: int, wanted: Compiled) -> int:
        """Enters a query; its row. What it adds is `fresh`."""
        components = [] if wanted.never else self._components(wanted)
        row = self.queries.add(number, wanted.kind, () if wanted.never else wanted.concrete, components)
        if wanted.never:
            self.queries.rows.array[row, Q_MISSING] = 1
        return row

    def add_concrete(self, numbers: Sequence[int], kind: int, edges: Ints, owner: Ints) -> int:
        """Many queries that have edges between constants only, at once; the row of the first, the others follow.

        `edges` has rows (subject, predicate, object); `owner` says which of `numbers` an edge is of, ascending.
        """
        return self.queries.add_many(np.asarray(numbers, np.int64), kind, edges, owner)

    def unsubscribe(self, row: int) -> None:
        """Takes a query out, with everything that nobody else needs."""
        self.queries.remove(row)

    def set_limits(self, row: int, limits: Limits | None) -> None:
        """When a count holds; None asks to be told of every change of it."""
        self.queries.set_limits(row, limits)

    def component(self, row: int) -> int:
        """The component whose rows are those of a listing query; -1 if it never has any."""
        return next(iter(self.queries.components(row)), NONE)

    def _components(self, wanted: Compiled) -> list[int]:
        if wanted.listed is not None:
            return [self._weaver.listing(wanted.listed)]
        given = Given(COUNT if wanted.kind == Q_COUNT else MASK, wanted.constants, wanted.tests)
        found = [self._weaver.component(shape, given) for shape in wanted.shapes]
        return found if given.kind == COUNT else list(dict.fromkeys(found))  # the same twice is squared in counts

    # --- what is new, and what is left --------------------------------------------------------------------------

    @property
    def fresh(self) -> Fresh:
        """What is to be populated."""
        messages = sorted(self.messages.fresh.items(), key=lambda item: self.messages.level(item[0]))
        return Fresh(tuple(messages), tuple(self.groups.fresh))

    def settled(self) -> None:
        """Everything that was fresh is populated."""
        self.messages.settled()
        self.groups.settled()

    @property
    def dead_messages(self) -> list[int]:
        """Messages whose states nobody needs."""
        return self.messages.dead

    @property
    def widest(self) -> int:
        """As many slots, parts or core edges as a group may have."""
        rows = self.groups.rows.array[: self.groups.rows.used]
        return int(rows[:, [G_SLOTS, G_PARTS, G_EDGES]].max(initial=0))

    @property
    def garbage(self) -> int:
        """How many rows of links, components, fillings, messages and sites nobody needs."""
        groups = self.groups.dead + self.groups.fillings.dead
        return self.queries.dead_links + groups + len(self.messages.dead) + self.sites.dead

    def judge(self, test: int, term: Term) -> bool:
        """Whether a term in doubt passes a test."""
        return self.tests.judge(test, term)

    # --- arrays -------------------------------------------------------------------------------------------------

    @property
    def domains(self) -> Array:
        """By term: its coordinate and the code of its domain. Given by whoever knows the terms."""
        return self._domains

    @domains.setter
    def domains(self, domains: Array) -> None:
        self._domains, self._arrays = domains, None

    @property
    def arrays(self) -> layout.Network:
        """Everything as kernels read it; to be asked for again after every change of the network."""
        tables = self._tables()
        if self._arrays is None or self.sites.exchanged or any(table.exchanged for table in tables):
            for each in (*tables, self.sites):
                each.exchanged = False
            self._arrays = self._gathered()
        return self._arrays

    def _tables(self) -> list[Rows | Pairs]:
        messages, nodes, groups, queries, tests = self.messages, self.nodes, self.groups, self.queries, self.tests
        return [
            *(messages.rows, nodes.rows, nodes.ones, nodes.parts, nodes.maps, messages.users, self.sites.rows),
            *(self.sites.heads, messages.anchors, groups.rows, groups.edges, groups.steps, groups.starts),
            *(groups.constants, groups.constant_slots, groups.components, groups.bits, groups.values),
            *(groups.fillings.holes, groups.fillings.rows),
            *(queries.rows, queries.links, queries.limits, tests.offsets, tests.atoms, tests.banks, self.verdicts),
        ]

    def _gathered(self) -> layout.Network:
        messages, nodes, groups, queries, tests = self.messages, self.nodes, self.groups, self.queries, self.tests
        return layout.Network(
            messages=messages.rows.array,
            nodes=nodes.rows.array,
            ones=nodes.ones.array,
            parts=nodes.parts.array,
            maps=nodes.maps.array,
            users=messages.users.array,
            sites=self.sites.rows.array,
            site_slots=self.sites.slots,
            site_heads=self.sites.heads.array,
            anchors=messages.anchors.array,
            groups=groups.rows.array,
            edges=groups.edges.array,
            steps=groups.steps.array,
            starts=groups.starts.array,
            constants=groups.constants.array,
            constant_slots=groups.constant_slots.array,
            holes=groups.fillings.holes.array,
            fillings=groups.fillings.rows.array,
            components=groups.components.array,
            bits=groups.bits.array,
            values=groups.values.array,
            queries=queries.rows.array,
            links=queries.links.array,
            limits=queries.limits.array,
            tests=tests.offsets.array,
            atoms=tests.atoms.array,
            banks=tests.banks.array,
            domains=self._domains,
            verdicts=self.verdicts.array,
        )


def needs_rows(network: Network, query: Query) -> bool:
    """Whether a query can be answered by listing its solutions only."""
    return network.compile(query, layout.Q_TRUTH).kind == Q_ROWS
