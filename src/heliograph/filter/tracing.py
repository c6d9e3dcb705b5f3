"""What the index does about one subscription and one publication, step by step, read from a segment's own arrays.

The path is that of the kernels: the way in → edges up to the gate, in the order of verification → conditions → the
other edges. The law: a subscription is refused here only where the kernels refuse it. What they find out while
searching is found out anew by the plain solver, one prefix of the edges after another.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from heliograph.baselines.solve import Plan, Solution, World
from heliograph.filter.matcher import Located
from heliograph.index.atoms import spell_atom, suits
from heliograph.index.compiling import edge_variables
from heliograph.index.interests import COMPLEX, INEXACT, Atom
from heliograph.kernels import filter_layout as layout
from heliograph.publications import Publications
from heliograph.subscriptions import Subscription
from heliograph.syntax.query import Node, Query, TriplePattern
from heliograph.syntax.spelling import spell_node, spell_pattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term, Variable

_MOST = 1000  # solutions at the gate that are looked at
_DEEPER = 50  # accepted ones that are followed beyond it
_EXAMPLES = 3  # values shown for a condition that refused them

_ANY = Variable("")


def trace(
    located: Located, subscription: Subscription, publications: Publications, world: World, taxonomy: Taxonomy
) -> tuple[str, ...]:
    """The path of the one publication of a batch through the index, as lines; its ids are the index's."""
    return tuple(_Trace.of(located, subscription, publications, world, taxonomy).lines())


class _Conjunct(NamedTuple):
    variable: Variable
    atoms: tuple[Atom, ...]
    place: str  # where it is asked


class _Asked(NamedTuple):
    """What became of the conditions: a line each, and the solutions that satisfy all of them."""

    lines: tuple[str, ...]
    accepted: Sequence[Solution]


@dataclass(frozen=True, slots=True)
class _Trace:
    located: Located
    structure: int
    names: tuple[Variable, ...]  # of the structure's variables, as the subscription calls them
    publications: Publications
    world: World

    @classmethod
    def of(
        cls,
        located: Located,
        subscription: Subscription,
        publications: Publications,
        world: World,
        taxonomy: Taxonomy,
    ) -> _Trace:
        segment, member = located.segment, located.member
        first = segment.index.structures[:, layout.FIRST_MEMBER]
        rows = slice(*segment.names.offsets[member : member + 2].tolist())
        own = zip(segment.names.numbers[rows].tolist(), edge_variables(subscription.query, taxonomy), strict=True)
        names = tuple(name for _, name in sorted(own))
        structure = int(np.searchsorted(first, member, side="right")) - 1
        return cls(located, structure, names, publications, world)

    def lines(self) -> Iterator[str]:
        candidate, way_in = self._way_in()
        yield way_in
        yield self._company()
        if candidate:
            yield from self._verified()
            yield from self._undecided()
        else:
            yield from _steps(self._edges(), 0, -1)

    # --- the way in ---------------------------------------------------------------------------------------------

    def _way_in(self) -> tuple[bool, str]:
        key = self._key()
        if key is None:
            return True, "looked up by no edge: it is a candidate for every publication"
        columns = self.publications.triples
        same = [column == part for column, part in zip(columns, key, strict=True) if part >= 0]
        found = int(np.logical_and.reduce(same).sum()) if same else len(columns.subject)
        edge = spell_pattern(TriplePattern(*(self._node(part) if part >= 0 else _ANY for part in key)))
        if not found:
            return False, f"looked up by {edge}: the publication has no such edge, so it is no candidate"
        return True, f"looked up by {edge}: the publication has {_counted(found, 'such edge')}, so it is a candidate"

    def _key(self) -> tuple[int, int, int] | None:
        """The parts of the access edge, -1 where it has none; None if there is no such edge."""
        keys = self.located.segment.keys
        places = np.flatnonzero(keys.postings == self.structure)
        if not len(places):
            return None
        key = int(np.searchsorted(keys.offsets, places[0], side="right")) - 1
        return int(keys.subject[key]), int(keys.predicate[key]), int(keys.object[key])

    def _company(self) -> str:
        others = int(self.located.segment.alive[self.structure]) - 1
        if not others:
            return "no other subscription of its segment has the same edges"
        return f"{_counted(others, 'other subscription')} of its segment with the same edges, verified together"

    # --- verification -------------------------------------------------------------------------------------------

    def _row(self, column: int) -> int:
        return int(self.located.segment.index.structures[self.structure, column])

    def _node(self, node: int) -> Node:
        return self.names[~node] if node < 0 else self.publications.vocabulary.term(node)

    def _edges(self) -> list[TriplePattern]:
        """The structure's edges in the order of verification."""
        first = self._row(layout.FIRST_STEP)
        rows = self.located.segment.index.steps[first : first + self._row(layout.STEPS), :3].tolist()
        return [TriplePattern(*(self._node(node) for node in row)) for row in rows]

    def _verified(self) -> Iterator[str]:
        edges, gate = self._edges(), self._row(layout.GATE) or self._row(layout.STEPS)
        held = self._held(edges[:gate])
        yield from _steps(edges[:gate], 0, held)
        if held < gate:
            yield from _steps(edges[gate:], gate, -1)
            return
        found = list(islice(_solutions(edges[:gate], self.world), _MOST))
        asked = self._asked(found)
        yield from asked.lines
        if len(found) == _MOST:
            yield f"only the first {_MOST} solutions up to here were looked at"
        yield from _steps(edges[gate:], gate, self._deeper(edges[gate:], asked.accepted))

    def _held(self, edges: Sequence[TriplePattern]) -> int:
        """How many of the edges, from the first on, hold together: what holds of them holds of fewer."""
        return bisect_left(
            range(1, len(edges) + 1),
            True,
            key=lambda count: next(_solutions(edges[:count], self.world), None) is None,
        )

    def _deeper(self, edges: Sequence[TriplePattern], accepted: Sequence[Solution]) -> int:
        """The most of the edges beyond the gate that hold under an accepted solution; -1 if there is none."""
        known = ([_bound(edge, solution) for edge in edges] for solution in accepted[:_DEEPER])
        return max((self._held(bound) for bound in known), default=-1)

    # --- conditions ---------------------------------------------------------------------------------------------

    def _asked(self, found: Sequence[Solution]) -> _Asked:
        """Asks each condition of the solutions that those before it accept."""
        lines = []
        for conjunct in self._conjuncts():
            accepted = [solution for solution in found if self._suits(conjunct, solution)]
            if not found:
                verdict = "not reached"
            else:
                verdict = f"{'accepted' if accepted else 'refused'} {_values(conjunct, accepted or found)}"
            lines.append(f"{conjunct.variable}: {self._spelled(conjunct)} ({conjunct.place}): {verdict}")
            found = accepted
        return _Asked(tuple(lines), found)

    def _suits(self, conjunct: _Conjunct, solution: Solution) -> bool:
        term, vocabulary = solution[conjunct.variable], self.publications.vocabulary
        return any(suits(atom, term, vocabulary, self.world.classes) for atom in conjunct.atoms)

    def _spelled(self, conjunct: _Conjunct) -> str:
        return " or ".join(spell_atom(atom, self.publications.vocabulary) for atom in conjunct.atoms) or "nothing"

    def _conjuncts(self) -> Iterator[_Conjunct]:
        index, member = self.located.segment.index, self.located.member
        for row in range(*index.members[member : member + 2, layout.FIRST_CONJUNCT].tolist()):
            variable = int(index.conjuncts[row, layout.VARIABLE])
            first, last = index.conjuncts[row : row + 2, layout.FIRST_ATOM].tolist()
            atoms = tuple(
                Atom(int(each[0]), each[1], each[2], int(each[3])) for each in index.atoms[first:last].tolist()
            )
            yield _Conjunct(self.names[variable], atoms, self._place(variable, atoms))

    def _place(self, variable: int, atoms: Sequence[Atom]) -> str:
        """The constraint table in which a condition is looked up, if its member stands there with it."""
        index, first = self.located.segment.index, self._row(layout.FIRST_TABLE)
        for table in range(first, first + self._row(layout.TABLES)):
            begin, end = index.tables[table : table + 2, layout.FIRST_ENTRY].tolist()
            about, domain = index.tables[table, : layout.FIRST_ENTRY].tolist()
            inside = self.located.member in index.entries[begin:end, layout.MEMBER]
            if inside and about == variable and any(atom.domain == domain for atom in atoms):
                return f"in a constraint table of {end - begin}"
        return "tried by itself"

    def _undecided(self) -> Iterator[str]:
        flags = int(self.located.segment.index.members[self.located.member, layout.FLAGS])
        if flags & COMPLEX:
            yield "the index only rules it out: where it does not, the whole query decides"
        elif flags & INEXACT:
            yield "the index only rules solutions out: of those it leaves, the query's own conditions decide"


def _solutions(edges: Sequence[TriplePattern], world: World) -> Iterator[Solution]:
    return Plan.of(Query(patterns=tuple(edges))).solutions(world)


def _bound(edge: TriplePattern, solution: Solution) -> TriplePattern:
    return TriplePattern(*(solution.get(node, node) if isinstance(node, Variable) else node for node in edge))


def _steps(edges: Sequence[TriplePattern], first: int, held: int) -> Iterator[str]:
    """A line for each edge: the first `held` did hold, the next one failed; with -1 none was reached."""
    for number, edge in enumerate(edges):
        verdict = "held" if number < held else "failed" if number == held else "not reached"
        yield f"edge {first + number + 1}: {spell_pattern(edge)}: {verdict}"


def _values(conjunct: _Conjunct, solutions: Sequence[Solution]) -> str:
    terms: dict[Term, None] = dict.fromkeys(solution[conjunct.variable] for solution in solutions)
    more = ", …" if len(terms) > _EXAMPLES else ""
    return ", ".join(spell_node(term) for term in islice(terms, _EXAMPLES)) + more


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
