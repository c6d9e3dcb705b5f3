"""Where terms lie, for the tests of queries: kept up to date as the vocabulary grows.

A kernel decides nearly every test by a term's domain and coordinate. A term in doubt (a rounded coordinate, an
xsd:float) is judged here, once for each test, as is one that ties with the rounded end of a test.
"""

from __future__ import annotations

import numpy as np

from heliograph.index.domains import Domain, places_of
from heliograph.index.interests import ROUNDED
from heliograph.kernels.evolution_layout import Floats, Int64s
from heliograph.kernels.filter_layout import ATOM_FLAGS, COORDINATE, DOMAIN, DOMAIN_CODE, HIGH, LOW, ROUNDED_CODE
from heliograph.network import Network
from heliograph.vocabulary import Vocabulary


class Judge:
    """The domains of all terms, and verdicts on those in doubt."""

    def __init__(self, network: Network, vocabulary: Vocabulary) -> None:
        self._network, self._vocabulary = network, vocabulary
        self._terms = 0  # up to which terms are known
        self._tests = 0
        self._rounded: list[int] = []  # tests with ends that are
        self._doubtful: Int64s = np.empty(0, np.int64)

    def extend(self) -> None:
        """Takes in new terms and new tests."""
        tests, terms = len(self._network.tests), len(self._vocabulary)
        if not tests or (tests == self._tests and terms == self._terms):
            return
        fresh = self._place(terms)
        doubtful = fresh[self._is_doubtful(fresh)]
        for test in range(self._tests) if len(doubtful) else ():
            self._judge(test, doubtful)
        for test in self._rounded:
            self._judge(test, self._ties(test, self._terms))
        for test in range(self._tests, tests):
            self._meet(test)
        self._tests, self._terms = tests, terms

    def _meet(self, test: int) -> None:
        """Judges for a new test all terms that are in doubt there."""
        self._judge(test, self._doubtful)
        if len(self._ends(test)):
            self._rounded.append(test)
            self._judge(test, self._ties(test, 0))

    def _place(self, terms: int) -> Int64s:
        """Places terms up to a number; returns the new ones."""
        known, first = self._network.domains, self._terms
        if terms > len(known):
            larger = np.zeros((max(terms, 2 * len(known)), 2), np.float64)
            larger[: len(known)] = known
            self._network.domains = known = larger
        if terms > first:
            places = places_of(self._vocabulary, first, terms)
            known[first:terms, COORDINATE] = places.coordinate
            known[first:terms, DOMAIN_CODE] = places.domain + ROUNDED_CODE * places.rounded
        fresh = np.arange(first, terms)
        self._doubtful = np.concatenate((self._doubtful, fresh[self._is_doubtful(fresh)]))
        return fresh

    def _is_doubtful(self, terms: Int64s) -> np.ndarray:
        codes = self._network.domains[terms, DOMAIN_CODE]
        doubtful: np.ndarray = (codes >= ROUNDED_CODE) | (codes == Domain.FLOAT)
        return doubtful

    def _ties(self, test: int, first: int) -> Int64s:
        """The terms from `first` on that tie with a rounded end of a test."""
        rounded = self._ends(test)
        known = self._network.domains[first : len(self._vocabulary)]
        ends = np.isin(known[:, COORDINATE], rounded[:, [LOW, HIGH]])
        return first + np.flatnonzero(ends & np.isin(known[:, DOMAIN_CODE] % ROUNDED_CODE, rounded[:, DOMAIN]))

    def _ends(self, test: int) -> Floats:
        """The atoms of a test that have rounded ends."""
        tests = self._network.tests
        atoms = tests.atoms.array[tests.offsets.array[test] : tests.offsets.array[test + 1]]
        rounded: Floats = atoms[(atoms[:, ATOM_FLAGS].astype(np.int64) & ROUNDED) != 0]
        return rounded

    def _judge(self, test: int, terms: Int64s) -> None:
        for term in terms.tolist():
            verdict = self._network.judge(test, self._vocabulary.term(term))
            self._network.verdicts.put(test, term, int(verdict))
