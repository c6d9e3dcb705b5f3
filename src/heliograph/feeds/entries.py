"""Feed items as rows of ids.

RSS 2.0 and Atom are mapped to the vocabulary of RSS 1.0. An item is
    <item> rdf:type rss:item ; rss:title … ; rss:link … ; rss:description … ; dc:date … ; dc:creator … ; dc:subject … ;
           dc:identifier … ; content:encoded … .
and its channel, as RSS 1.0 writes it,
    <channel> rdf:type rss:channel ; rss:title … ; rss:link … ; rss:items _:items .
    _:items   rdf:type rdf:Seq ; rdf:_1 <item> .
All values are plain strings, links too, as they are in RSS 1.0; dates are xsd:dateTime where they can be read as such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heliograph.feeds.assembly import Numbers, Rows
from heliograph.feeds.channel import Channel
from heliograph.feeds.dates import as_datetime
from heliograph.terms import PREFIXES, RDF, RDF_TYPE, Term, TermKind, blank, iri
from heliograph.values import XSD_DATETIME, XSD_STRING

if TYPE_CHECKING:
    from heliograph.vocabulary import Vocabulary

_RSS, _DC = PREFIXES["rss"], PREFIXES["dc"]
_LITERAL = TermKind.LITERAL
_new = tuple.__new__

ITEM = iri(_RSS + "item")
TITLE = iri(_RSS + "title")
LINK = iri(_RSS + "link")
DESCRIPTION = iri(_RSS + "description")
DATE = iri(_DC + "date")
CREATOR = iri(_DC + "creator")
CONTRIBUTOR = iri(_DC + "contributor")
SUBJECT = iri(_DC + "subject")
IDENTIFIER = iri(_DC + "identifier")
RIGHTS = iri(_DC + "rights")
SOURCE = iri(_DC + "source")
ENCODED = iri(PREFIXES["content"] + "encoded")

CHANNEL = iri(_RSS + "channel")
ITEMS = iri(_RSS + "items")
SEQ = iri(RDF + "Seq")
_FIRST = iri(RDF + "_1")


def text(value: str) -> Term:
    """A plain string."""
    return _new(Term, (_LITERAL, value, XSD_STRING, ""))


def date(value: str) -> Term:
    """A dateTime, or the text where it is none."""
    written = as_datetime(value)
    return text(value) if written is None else _new(Term, (_LITERAL, written, XSD_DATETIME, ""))


class Entry(NamedTuple):
    """A mapped item: its id, its node, and what is said of it; predicates are codes that `Entries` gave."""

    id: str
    subject: Term
    predicates: list[int]
    objects: list[Term]


class Entries:
    """Mapped items, collected for one reading. Terms are interned a few items at a time, while still in the cache."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._ids: list[str] = []
        self._counts: list[int] = []
        self._predicates: list[int] = []
        self._codes: dict[Term, int] = {}
        self._terms: list[Term] = []  # not yet interned: of each item its node, then the objects
        self._interned: list[int] = []

    def code(self, predicate: Term) -> int:
        """The code of a predicate."""
        return self._codes.setdefault(predicate, len(self._codes))

    def add(self, entry: Entry) -> None:
        self._ids.append(entry.id)
        self._counts.append(len(entry.objects))
        self._predicates += entry.predicates
        self._terms.append(entry.subject)
        self._terms += entry.objects

    def flush(self) -> None:
        """Interns what was added."""
        self._interned += self._vocabulary.intern_many(self._terms)
        self._terms = []

    def rows(self, channel: Channel) -> tuple[list[str], Numbers, Rows]:
        """All rows, each with the number of its item; the channel's come last."""
        self.flush()
        counts = np.array(self._counts, np.int64)
        terms = np.array(self._interned, np.int32)
        nodes = np.cumsum(counts + 1) - counts - 1
        subjects = terms[nodes]
        own = np.empty((len(self._predicates), 3), np.int32)
        own[:, 0] = np.repeat(subjects, counts)
        own[:, 1] = np.array(self._vocabulary.intern_many(list(self._codes)), np.int32)[self._predicates]
        own[:, 2] = np.delete(terms, nodes)
        shared = self._channel(channel)
        width = len(shared)
        shared = np.tile(shared, (len(subjects), 1))
        shared[width - 1 :: width, 2] = subjects
        items = np.arange(len(subjects))
        numbers = np.concatenate((np.repeat(items, counts), np.repeat(items, width)))
        return self._ids, numbers, np.concatenate((own, shared))

    def _channel(self, channel: Channel) -> Rows:
        """What every item says of its channel; the last object stands for the item."""
        node, items = channel.node, blank("items")
        facts = [(node, RDF_TYPE, CHANNEL)]
        facts += [(node, TITLE, text(channel.title))] if channel.title else []
        facts += [(node, LINK, text(channel.link))] if channel.link else []
        facts += [(node, ITEMS, items), (items, RDF_TYPE, SEQ), (items, _FIRST, items)]
        terms = [term for fact in facts for term in fact]
        return np.array(self._vocabulary.intern_many(terms), np.int32).reshape(-1, 3)
