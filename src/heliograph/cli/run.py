"""One run of a verb: batches in; notifications, what was rejected and the measurements out.

The laws: what a batch gave is written before the next one is read, so memory is bounded by the batch and a pipe sees
its answers at once; every rejected item is reported once; Ctrl-C ends the run between two batches, all of it written.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa

from heliograph.cli.batches import Batch, Pace
from heliograph.cli.guard import Exit
from heliograph.cli.interrupt import Interrupts
from heliograph.cli.options import Output
from heliograph.cli.progress import Bar
from heliograph.errors import TableError, UsageError
from heliograph.model import Notifications, Rejected, Slow, Stats, slowest, told
from heliograph.tables.reader import read_all
from heliograph.tables.reads import Read
from heliograph.tables.sources import find_sources
from heliograph.tables.writer import StreamWriter, Writer, open_writer

_REMEMBERED = 10_000  # refused items that are kept in mind


class Intake:
    """Whether anything came of an input. A file that cannot be read at all is refused without naming an item of it."""

    def __init__(self, option: str) -> None:
        self._option, self._items, self._unread = option, 0, False

    def note(self, items: int, rejected: Iterable[Rejected]) -> None:
        for entry in rejected:
            items += entry.item is not None
            self._unread = self._unread or entry.item is None
        self._items += items

    def check(self) -> None:
        """Fails the run if files could not be read and nothing else came."""
        if self._unread and not self._items:
            fix = "see what was rejected, and why"
            raise TableError("HG-210", f"nothing could be read from {self._option}", fix=fix)


class Run:
    """Opens the outputs before any work is done, so that a wrong path is noticed at once."""

    def __init__(self, output: Output, table: str = "notifications") -> None:
        _check_stats(output.stats)
        _check_apart(output)
        self._stats_path = output.stats
        self._out = open_writer(table, output.out)
        self._refusals: Writer = (
            open_writer("rejected", output.rejected) if output.rejected else StreamWriter("rejected", sys.stderr.buffer)
        )
        self._rejected = 0
        self.refused: dict[str, Rejected] = {}
        """The first refused items by their id."""
        self._interrupted = False
        self._load_ns = 0
        self.stats = Stats()
        self._slow: tuple[Slow, ...] = ()
        self.details: dict[str, Any] = {}
        """What else belongs to the statistics, by key."""
        self.pace = Pace()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """A failed run leaves no output behind, but what was rejected stays: it says why."""
        self._refusals.__exit__(None, None, None)
        self._out.__exit__(kind, error, trace)
        if kind is None and not self.stats.complete:
            self._tell_cut()
        if kind is None and self._stats_path is not None:
            stats = replace(self.stats, rejected=self._rejected, load_ns=self._load_ns)
            _write_stats(self._stats_path, stats, self._slow, self.details)

    def _tell_cut(self) -> None:
        """Says that a limit or a guard cut something, unless that would stand among refused items on a pipe."""
        if sys.stderr.isatty() or not isinstance(self._refusals, StreamWriter):
            print(f"a limit cut the answer: {self.stats.truncated:,} or more are left out", file=sys.stderr)

    # --- going in -----------------------------------------------------------------------------------------------

    @contextmanager
    def loading(self) -> Iterator[None]:
        """What is done here counts as loading."""
        started = time.perf_counter_ns()
        yield
        self._load_ns += time.perf_counter_ns() - started

    def subscribed(self, count: int) -> None:
        """How many subscriptions the engine has, should nothing be published at all."""
        self.stats += Stats(subscriptions=count)

    def checked(self, option: str, reads: Iterable[Read]) -> Iterator[Read]:
        """The same reads; if all there was could not be read, the run fails."""
        intake = Intake(option)
        for read in reads:
            intake.note(read.table.num_rows, read.rejected)
            yield read
        intake.check()

    def whole(self, option: str, name: str, spec: str) -> Read:
        """A whole table at once, with what was refused of it: the engine that takes it reports that too."""
        sources = find_sources(spec)
        found = read_all(name, sources)
        try:
            rows = [part.rows for part in self.checked(option, found.parts)]
        except TableError:
            self.reject(found.rejected, spec)  # no engine will come to report it
            raise
        numbers = np.concatenate(rows) if rows else np.empty(0, np.int64)
        return Read(sources[0].name if len(sources) == 1 else spec, found.table, 1, found.rejected, numbers)

    def publish_all(self, what: str, batches: Iterable[Batch], publish: Callable[[Any], Notifications]) -> None:
        """Publishes batch by batch until there are no more, nobody reads any more, or Ctrl-C is pressed."""
        with Bar(what) as bar, Interrupts() as interrupts:
            try:
                for batch in self._timed(batches):
                    started = time.monotonic()
                    with interrupts.batch():
                        self.reject(batch.rejected)
                        wanted = self.report(publish(batch.items))
                    self.pace.took(time.monotonic() - started)
                    bar.advance(batch.size)
                    if not wanted:
                        break
            except KeyboardInterrupt:
                self._interrupted = True

    def _timed(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches; getting them counts as parsing, waiting for them (on a pipe) does not."""
        coming = iter(batches)
        while True:
            wall, busy = time.perf_counter_ns(), time.process_time_ns()
            batch = next(coming, None)
            spent = min(time.perf_counter_ns() - wall, time.process_time_ns() - busy)
            self.stats += Stats(subscriptions=self.stats.subscriptions, parse_ns=spent)
            if batch is None:
                return
            yield batch

    # --- coming out ---------------------------------------------------------------------------------------------

    def report(self, notifications: Notifications) -> bool:
        """Writes what a call gave; False once nobody reads any more."""
        self.stats += notifications.stats
        if self._stats_path is not None:
            self._slow = slowest((*self._slow, *notifications.slow))
        self.reject(notifications.rejected)
        return self._out.write(notifications.table)

    def write(self, table: pa.Table) -> bool:
        return self._out.write(table)

    def reject(self, rejected: Iterable[Rejected], source: str | None = None) -> None:
        """Writes what was refused; `source` stands in where an item does not know its own."""
        items = told(entry if entry.source or not source else replace(entry, source=source) for entry in rejected)
        if items:
            self._rejected += items.total
            if len(self.refused) < _REMEMBERED:
                self.refused.update((entry.item, entry) for entry in items if entry.item)
            self._refusals.write(items.table)

    def refused_elsewhere(self, count: int) -> None:
        """So many items were refused and are written already."""
        self._rejected += count

    def interrupted(self) -> None:
        """Ctrl-C was pressed; what was written stays."""
        self._interrupted = True

    @property
    def exit_code(self) -> Exit:
        if self._interrupted:
            return Exit.INTERRUPTED
        return Exit.REJECTED if self._rejected else Exit.DONE


def _check_stats(path: str | None) -> None:
    if path is not None and not Path(path).absolute().parent.is_dir():
        folder = Path(path).parent
        raise UsageError("HG-025", f"no folder {folder} for {path}", fix=f"make it: mkdir -p {folder}")


def _check_apart(output: Output) -> None:
    """Refuses to write two things to one file, where the last would take the place of the others."""
    given = (output.out, output.rejected, output.stats)
    paths = [os.path.realpath(path) for path in given if path is not None and Path(path).suffix]
    if len(set(paths)) < len(paths):
        raise UsageError("HG-036", "two outputs to one file", fix="give --out, --rejected and --stats a file each")


def _write_stats(path: str, stats: Stats, slow: Iterable[Slow], details: Mapping[str, Any]) -> None:
    text = json.dumps({**stats, **details, "slow": [entry._asdict() for entry in slow]}, indent=2) + "\n"
    target = Path(path)
    if target.exists() and not target.is_file():  # a device or a named pipe
        target.write_text(text)
        return
    part = target.with_name(f".{target.name}.part")
    part.write_text(text)
    os.replace(part, target)
