"""One run of a verb: batches in; notifications, rejected items and measurements out; Ctrl-C between batches.

The laws: what a batch gave is written before the next one is read, so memory is bounded by the batch and a pipe sees
its answers at once; every rejected item is reported once. A batch that was begun is finished and its notifications are
written before an interrupt is raised; everywhere else the interrupt is raised at once, and a second Ctrl-C does not
wait. How publications are cut into batches changes no notification; it only says how soon they appear and how long
Ctrl-C waits. So a batch is made as large as a fraction of a second allows.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pyarrow as pa

from heliograph.cli.main import Exit
from heliograph.cli.options import OutputOptions
from heliograph.errors import TableError, UsageError
from heliograph.io.sources import find_sources
from heliograph.io.tables import TableRows, read_all
from heliograph.io.write import StreamWriter, Writer, open_writer
from heliograph.model import Notifications, Rejected, Rejections, Stats, SubscriptionCost, rejection_report, slowest

if TYPE_CHECKING:
    from rich.progress import Progress


# --- a progress bar on stderr: only on a terminal, and only for work that takes a while ---

PATIENCE = 0.5  # seconds before a bar appears: less work than that needs none


class Bar:
    """Counts steps of work. `total` is None where nobody knows how much is to come."""

    def __init__(self, what: str, total: int | None = None) -> None:
        self._what, self._total, self._done = what, total, 0
        self._started = time.monotonic()
        self._wanted = sys.stderr.isatty()
        self._progress: Progress | None = None

    def advance(self, steps: int) -> None:
        self._done += steps
        if self._wanted and self._progress is None and time.monotonic() - self._started > PATIENCE:
            self._progress = self._show()
        if self._progress is not None:
            self._progress.update(self._task, completed=self._done)

    def _show(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = progress.add_task(self._what, total=self._total, completed=self._done)
        progress.start()
        return progress

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()


# --- Ctrl-C between batches ---


class Interrupts:
    """Holds Ctrl-C back while a batch is under way. Without effect outside the main thread."""

    def __init__(self) -> None:
        self._busy = False
        self._asked = False
        self._mine = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._mine:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        if self._mine:
            signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """The block runs to its end; an interrupt that came meanwhile is raised after it."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._asked:
            raise KeyboardInterrupt

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._busy and not self._asked:
            self._asked = True
            return
        raise KeyboardInterrupt


# --- batches ---

FIRST, MOST = 16, 1024  # publications or events in a batch
MOST_UPDATES = 1 << 17  # a batch has costs of its own, as high as those of a thousand updates
_SHORT, _LONG = 0.2, 0.8  # seconds: a batch that takes less is followed by a larger one, more by a smaller one


class InputBatch(NamedTuple):
    """The items, how many publications or rows that is, and what was rejected on the way."""

    items: Any
    size: int
    rejected: Iterable[Rejected] = ()


class Pace:
    """How many publications go into the next batch."""

    def __init__(self, size: int = FIRST, most: int = MOST) -> None:
        self.size = size
        self.most = most

    def took(self, seconds: float) -> None:
        """Learns from the time that a batch took."""
        if seconds < _SHORT:
            self.size = min(self.most, self.size * 2)
        elif seconds > _LONG:
            self.size = max(1, self.size // 2)


def cut(read: TableRows, starts: Sequence[int], pace: Pace) -> Iterator[InputBatch]:
    """The rows of a read, so many of its parts at a time; `starts` are the rows where the parts begin.

    What was refused of the read comes with the first rows.
    """
    starts = starts or [0]
    number, end = 0, len(starts)
    while number < end:
        following = min(number + pace.size, end)
        first, last = starts[number], starts[following] if following < end else read.table.num_rows
        rejected = read.rejected if first == 0 else Rejections()
        rows = TableRows(read.source, read.table.slice(first, last - first), rejected, read.rows[first:last])
        yield InputBatch(rows, last - first)
        number = following


# --- the run ---

_REMEMBERED = 10_000  # refused items that are kept in mind


class InputCheck:
    """Whether anything came of an input. A file that cannot be read at all is refused without naming an item of it."""

    def __init__(self, option: str) -> None:
        self._option, self._items, self._unread = option, 0, False

    def note(self, items: int, rejected: Iterable[Rejected]) -> None:
        for entry in rejected:
            items += entry.item is not None
            self._unread = self._unread or entry.item is None
        self._items += items

    def noted(self, batches: Iterable[InputBatch]) -> Iterator[InputBatch]:
        """The same batches, noted."""
        for batch in batches:
            self.note(batch.size, batch.rejected)
            yield batch

    def check(self) -> None:
        """Fails the run if files could not be read and nothing else came."""
        if self._unread and not self._items:
            fix = "see what was rejected, and why"
            raise TableError("HG-210", f"nothing could be read from {self._option}", fix=fix)


class CommandRun:
    """Opens the outputs before any work is done, so that a wrong path is noticed at once."""

    def __init__(self, output: OutputOptions, table: str = "notifications") -> None:
        if output.stats is not None and not Path(output.stats).absolute().parent.is_dir():
            folder = Path(output.stats).parent
            raise UsageError("HG-025", f"no folder {folder} for {output.stats}", fix=f"make it: mkdir -p {folder}")
        given = (output.out, output.rejected, output.stats)
        paths = [os.path.realpath(path) for path in given if path is not None and Path(path).suffix]
        if len(set(paths)) < len(paths):  # the last would take the place of the others
            raise UsageError("HG-036", "two outputs to one file", fix="give --out, --rejected and --stats a file each")
        self._stats_path = output.stats
        self._out = open_writer(table, output.out)
        self._refusals: Writer = (
            open_writer("rejected", output.rejected) if output.rejected else StreamWriter("rejected", sys.stderr.buffer)
        )
        self.rejected = 0
        """How many items were refused."""
        self.refused: dict[str, Rejected] = {}
        """The first refused items by their id."""
        self.interrupted = False
        """Whether Ctrl-C was pressed; what was written stays."""
        self._load_ns = 0
        self.stats = Stats()
        self._slow: tuple[SubscriptionCost, ...] = ()
        self.details: dict[str, Any] = {}
        """What else belongs to the statistics, by key."""
        self.pace = Pace()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """A failed run leaves no output behind, but what was rejected stays: it says why."""
        self._refusals.__exit__(None)
        self._out.__exit__(kind)
        among_refusals = not sys.stderr.isatty() and isinstance(self._refusals, StreamWriter)
        if kind is None and not self.stats.complete and not among_refusals:
            print(f"a limit cut the answer: {self.stats.truncated:,} or more are left out", file=sys.stderr)
        if kind is None and self._stats_path is not None:
            self._write_stats(Path(self._stats_path))

    def _write_stats(self, target: Path) -> None:
        stats = replace(self.stats, rejected=self.rejected, load_ns=self._load_ns)
        slow = [entry._asdict() for entry in self._slow]
        text = json.dumps({**stats, **self.details, "slow": slow}, indent=2) + "\n"
        if target.exists() and not target.is_file():  # a device or a named pipe
            target.write_text(text)
            return
        part = target.with_name(f".{target.name}.part")
        part.write_text(text)
        os.replace(part, target)

    # --- going in ---

    @contextmanager
    def loading(self) -> Iterator[None]:
        """What is done here counts as loading."""
        started = time.perf_counter_ns()
        yield
        self._load_ns += time.perf_counter_ns() - started

    def subscribed(self, count: int) -> None:
        """How many subscriptions the engine has, should nothing be published at all."""
        self.stats += Stats(subscriptions=count)

    def checked(self, option: str, reads: Iterable[TableRows]) -> Iterator[TableRows]:
        """The same reads; if all there was could not be read, the run fails."""
        intake = InputCheck(option)
        for read in reads:
            intake.note(read.table.num_rows, read.rejected)
            yield read
        intake.check()

    def whole(self, option: str, name: str, spec: str) -> TableRows:
        """A whole table at once, with what was refused of it: the engine that takes it reports that too."""
        sources = find_sources(spec)
        found = read_all(name, sources)
        intake = InputCheck(option)
        intake.note(found.table.num_rows, found.rejected)
        try:
            intake.check()
        except TableError:
            self.reject(found.rejected, spec)  # no engine will come to report it
            raise
        source = sources[0].name if len(sources) == 1 else spec
        return found._replace(source=source, parts=(), ends=())

    def publish_all(self, what: str, batches: Iterable[InputBatch], publish: Callable[[Any], Notifications]) -> None:
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
                self.interrupted = True

    def _timed(self, batches: Iterable[InputBatch]) -> Iterator[InputBatch]:
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

    # --- coming out ---

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
        items = rejection_report(
            entry if entry.source or not source else replace(entry, source=source) for entry in rejected
        )
        if items:
            self.rejected += items.total
            if len(self.refused) < _REMEMBERED:
                self.refused.update((entry.item, entry) for entry in items if entry.item)
            self._refusals.write(items.table)

    @property
    def exit_code(self) -> Exit:
        if self.interrupted:
            return Exit.INTERRUPTED
        return Exit.REJECTED if self.rejected else Exit.DONE
