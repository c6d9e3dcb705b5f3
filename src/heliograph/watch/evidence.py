"""What a notification shows: bindings, a value, and on request the edges that witness a match.

The law of whole columns: they are the texts that `evidence_text` makes of each match. A term is spelled once a batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.kernels.evolution_layout import Int32s, Int64s
from heliograph.syntax.query import ClassPattern, ClassRelation, Node, Pattern, Query
from heliograph.tables.cells import json_text
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Position, Term, Variable, sort_key, spell
from heliograph.vocabulary import Vocabulary
from heliograph.watch.encoding import NO_TERM
from heliograph.watch.modes import Match, Solution

Texts: TypeAlias = "pa.Array[Any]"  # of strings

_FEW = 64  # rows that are sooner spelled one by one
_REMEMBERED = 1 << 17  # terms; forgotten all at once when there are more
_SPECIAL = r'["\\\x00-\x1f]'  # what JSON escapes

_RELATIONS = {ClassRelation.IS_A: RDF_TYPE, ClassRelation.SUBCLASS_OF: RDFS_SUBCLASS_OF}


def evidence(query: Query, match: Match, witness: bool) -> dict[str, Any] | None:
    """The evidence of a match, or None where there is nothing to show."""
    shown: dict[str, Any] = {}
    proven = match.witness if witness else None
    bindings = named(query, proven) if match.bindings is None and proven is not None else match.bindings
    if bindings is not None:
        shown["bindings"] = {variable.name: spell(term) for variable, term in bindings.items()}
    if match.value is not None:
        shown["value"] = match.value
    shown |= match.more or {}
    if proven is not None:
        shown["edges"] = [edge(pattern, proven) for pattern in query.patterns] + shown.pop("edges", [])
    return shown or None


def evidence_text(query: Query, match: Match, witness: bool) -> str | None:
    shown = evidence(query, match, witness)
    return None if shown is None else json_text(shown)


def named(query: Query, solution: Solution) -> Solution:
    """The part of a solution that may be shown: blank nodes of a query have no name outside it."""
    return {variable: solution[variable] for variable in query.named_variables if variable in solution}


def edge(pattern: Pattern, solution: Solution) -> list[str]:
    """A pattern with its variables replaced, as `[s, p, o]`; an is-a form is the derived triple it stands for."""
    subject, predicate, object = _ends(pattern)
    places = ((subject, Position.SUBJECT), (predicate, Position.PROPERTY), (object, Position.OBJECT))
    return [_spelled(node, position, solution) for node, position in places]


def _ends(pattern: Pattern) -> tuple[Node, Node, Node]:
    if isinstance(pattern, ClassPattern):
        return pattern.subject, _RELATIONS[pattern.relation], pattern.object
    return pattern


def _spelled(node: Node, position: Position, solution: Solution) -> str:
    term = solution.get(node, node) if isinstance(node, Variable) else node
    return spell(term, position) if isinstance(term, Term) else str(term)


# --- whole columns ----------------------------------------------------------------------------------------------


class Book:
    """The terms of an engine as evidence has them: what JSON has for each, and their order."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._known: dict[int, str] = {}

    def quoted(self, id: int) -> str:
        text = self._known.get(id)
        if text is None:
            if len(self._known) >= _REMEMBERED:
                self._known = {}
            text = self._known[id] = _quote(spell(self._vocabulary.term(id)))
        return text

    def column(self, ids: Int32s) -> Texts:
        """A column of terms, each spelled once."""
        met, inverse = np.unique(ids, return_inverse=True)
        spelled: Any = self._vocabulary.spell(met)
        special = pc.match_substring_regex(spelled, _SPECIAL).to_numpy(zero_copy_only=False)
        quoted = _join('"', spelled, '"')
        if special.any():
            texts = [_quote(text) for text in spelled.filter(pa.array(special)).to_pylist()]
            quoted = pc.replace_with_mask(quoted, special, pa.array(texts, pa.string()))
        return quoted.take(inverse)

    def ranks(self, terms: Int32s) -> Int64s:
        """For each of the ids its place in the order of terms; one that is none comes first."""
        ids, inverse = np.unique(terms, return_inverse=True)
        known = ids[ids != NO_TERM].tolist()
        ordered = sorted(known, key=lambda id: sort_key(self._vocabulary.term(id)))
        places = dict(zip(ordered, range(1, len(ordered) + 1), strict=True))
        ranks = np.array([places.get(id, 0) for id in ids.tolist()], np.int64)
        return ranks[inverse].reshape(terms.shape)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def value_texts(values: Int64s) -> Texts:
    """The evidence of counts."""
    return _join('{"value":', pa.array(values).cast(pa.string()), "}")


def binding_texts(names: Sequence[str], terms: Int32s, book: Book) -> Texts:
    """The evidence of rows of bindings; NO_TERM is left out."""
    if len(terms) < _FEW or not names or (terms == NO_TERM).any():
        return pa.array([_bindings(names, row, book) for row in terms.tolist()], pa.string())
    pieces: list[Any] = []
    for place, name in enumerate(names):
        pieces += ["," if place else '{"bindings":{', f"{_quote(name)}:", book.column(terms[:, place])]
    return _join(*pieces, "}}")


def with_values(bindings: Texts, values: Iterable[Any]) -> Texts:
    """The evidence of bindings, each with a value besides."""
    opened = pc.utf8_slice_codeunits(bindings, 0, -1)
    return _join(opened, ',"value":', pa.array(map(json_text, values), pa.string()), "}")


def _join(*pieces: Any) -> Texts:
    """Columns and texts, one after the other."""
    join: Any = pc.binary_join_element_wise  # the stubs do not know that columns and texts may be mixed
    joined: Texts = join(*pieces, "")
    return joined


def _bindings(names: Sequence[str], row: list[int], book: Book) -> str:
    bound = [(name, id) for name, id in zip(names, row, strict=True) if id != NO_TERM]
    shown = ",".join(f"{_quote(name)}:{book.quoted(id)}" for name, id in bound)
    return f'{{"bindings":{{{shown}}}}}'
