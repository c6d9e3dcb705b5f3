"""What lies under a vocabulary's own terms: a save, or another vocabulary as it was.

The law: it has the ids from 0 to its size, and says of them the same for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from heliograph.kernels.layout import Texts
from heliograph.kernels.lexicon_layout import Lexicon
from heliograph.publications import Ids
from heliograph.terms import Term
from heliograph.vocabulary.flat import Qualifiers
from heliograph.vocabulary.typed import Flags, Typed

if TYPE_CHECKING:
    from heliograph.vocabulary.vocabulary import Vocabulary


class Below(Protocol):
    """The terms under a vocabulary's own: a fixed number of them."""

    def __len__(self) -> int: ...

    def find_many(self, terms: Sequence[Term]) -> list[int]: ...

    def term(self, id: int) -> Term: ...

    def typed(self, ids: Ids | None = None) -> Typed: ...

    def textual(self, first: int, last: int) -> Flags: ...

    def texts(self, qualifiers: Qualifiers) -> Texts: ...


class Snapshot:
    """A vocabulary as it was when it held `size` terms."""

    def __init__(self, base: Vocabulary, size: int) -> None:
        self.base = base
        self._size = size

    def __len__(self) -> int:
        return self._size

    def find_many(self, terms: Sequence[Term]) -> list[int]:
        size = self._size
        return [id if id < size else -1 for id in self.base.find_many(terms)]

    def term(self, id: int) -> Term:
        return self.base.term(id)

    def typed(self, ids: Ids | None = None) -> Typed:
        return self.base.typed(np.arange(self._size, dtype=np.int32) if ids is None else ids)

    def textual(self, first: int, last: int) -> Flags:
        return self.base.textual(first, last)

    def texts(self, qualifiers: Qualifiers) -> Texts:
        return self.base.texts(qualifiers, self._size)

    def lexicon(self) -> Lexicon:
        return self.base.lexicon_upto(self._size)
