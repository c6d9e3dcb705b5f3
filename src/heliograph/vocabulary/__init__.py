"""Terms as small integers: the vocabulary, the typed values beside its ids, and how it is saved."""

from heliograph.vocabulary.columns import NO_KIND, NO_ZONE, Typed
from heliograph.vocabulary.mapped import Packed
from heliograph.vocabulary.vocabulary import CellIds, Vocabulary

__all__ = ["NO_KIND", "NO_ZONE", "CellIds", "Packed", "Typed", "Vocabulary"]
