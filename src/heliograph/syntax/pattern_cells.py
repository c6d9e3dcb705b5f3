"""The cells of pattern tables: which nodes they spell. A reader remembers the last thousands, so that the terms of
subscriptions that come one by one are read once and kept once."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.cells import Text
from heliograph.errors import TermError
from heliograph.syntax.constraints import Constraints
from heliograph.syntax.query import Node
from heliograph.terms import PLAIN, PREFIXES, Position, Term, TermKind, Variable, iri, parse_node

_REMEMBERED = 16_384  # cells of one position
_NOT_NAMES = frozenset({"a", "true", "false"})


class Reader:
    """Reads cells under some prefixes; one for all tables of an engine."""

    def __init__(self, prefixes: Mapping[str, str] = PREFIXES) -> None:
        self.prefixes = prefixes
        self.constraints = Constraints(prefixes)
        self._nodes: dict[Position, dict[Text, Node]] = {position: {} for position in Position}

    def node(self, text: Text, position: Position) -> Node:
        """The node that a cell spells; a blank node is a variable that nobody sees."""
        known = self._nodes[position]
        found = known.get(text)
        if found is None:
            found = _read(text, position, self.prefixes)
            if len(known) >= _REMEMBERED:
                known.clear()
            known[text] = found
        return found


def _read(text: Text, position: Position, prefixes: Mapping[str, str]) -> Node:
    if isinstance(text, str) and text.isidentifier() and text.isascii() and text not in _NOT_NAMES:
        return iri(PLAIN + text)  # what parse_node would say of so simple a name, in a third of its time
    if isinstance(text, bytes):
        raise TermError("HG-108", f"text that is not UTF-8: {text[:60]!r}", fix="save the table as UTF-8")
    node = parse_node(text, position, prefixes)
    return Variable(f"_:{node.value}") if isinstance(node, Term) and node.kind is TermKind.BLANK else node
