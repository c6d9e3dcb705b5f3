"""The evolving graph's slow twin: a dictionary, scanned whole whenever something may have expired."""

from __future__ import annotations

from dataclasses import dataclass, field

Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Step:
    """One row of an updates table, in plain text; `at` is in seconds."""

    op: str
    subject: str
    predicate: str | None = None
    object: str | None = None
    at: int | None = None

    @property
    def triple(self) -> Triple:
        return (self.subject, str(self.predicate), str(self.object))


@dataclass
class NaiveGraph:
    """The contract's words, one by one. An edge is (its time, the number of the update that added or renewed it)."""

    span: int | None = None
    last: int | None = None
    edges: dict[Triple, tuple[int | None, int]] = field(default_factory=dict)
    number: int = 0
    clock: int | None = None

    def expire(self, step: Step) -> None:
        self.number += 1
        if step.at is not None:
            self.clock = step.at if self.clock is None else max(self.clock, step.at)
        self.edges = {triple: edge for triple, edge in self.edges.items() if not self._too_old(*edge)}

    def apply(self, step: Step) -> None:
        getattr(self, {"+": "_add", "-": "_remove", "=": "_set"}[step.op])(step)

    def _too_old(self, at: int | None, number: int) -> bool:
        by_time = self.span is not None and at is not None and self.clock is not None and at <= self.clock - self.span
        return by_time or (self.last is not None and number <= self.number - self.last)

    def _add(self, step: Step) -> None:
        known = self.edges.get(step.triple)
        later = step.at if known is None or known[0] is None or step.at is None else max(known[0], step.at)
        self.edges[step.triple] = (later, self.number)

    def _remove(self, step: Step) -> None:
        if step.predicate is None:
            self.edges = {t: edge for t, edge in self.edges.items() if step.subject not in (t[0], t[2])}
        else:
            self.edges.pop(step.triple, None)

    def _set(self, step: Step) -> None:
        same = (step.subject, step.predicate)
        self.edges = {t: edge for t, edge in self.edges.items() if t[:2] != same or t == step.triple}
        self._add(step)
