"""The three verbs with `--engine spark`: interests are read here, inputs by the workers, on files and folders.

The path of a command: the input is checked → a session is started → interests become versions in a folder → the verb
gives a DataFrame → it is delivered: to a folder by the workers, a part for each batch; to a file or a pipe by the
driver, batch by batch. Where driver and workers are on one machine a batch comes in files that the workers write, not
as rows of the JVM.

The laws of Ctrl-C and SIGTERM: nothing is raised inside a call to the JVM, which would leave the connection in pieces.
A stream that is asked to stop ends the micro-batch under way first, so that all of it is delivered; a second signal
does not wait, and neither does a batch: then the jobs are cancelled, and whatever fails by that is the interrupt.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from heliograph import errors
from heliograph.cli.main import DEBUG, hushed, show_pandas
from heliograph.cli.options import OutputOptions, SparkOptions
from heliograph.cli.run import Bar, CommandRun
from heliograph.errors import HeliographError, UsageError
from heliograph.io.sources import PIPE, find_sources
from heliograph.model import NOTIFICATIONS_SCHEMA, REJECTED_SCHEMA, Rejected, Rejections, Stats
from heliograph.spark.environment import is_loss, reason_of
from heliograph.spark.frames import batch_counts, progress_table, read, suffixes_of
from heliograph.spark.output import REFUSED, write
from heliograph.spark.versions import own_folder, storage_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from heliograph.cli.filter import FilterCommand
    from heliograph.cli.route import RouteCommand
    from heliograph.cli.watch import WatchCommand

# --- the verbs ----------------------------------------------------------------------------------------------------


def filter_on_spark(options: FilterCommand) -> int:
    check_input("--publications", "publications", options.publications, options.cluster)
    if options.algorithm != "auto":
        raise UsageError("HG-037", "--algorithm with --engine spark", fix="leave it out; the answer is the same")
    with _started(options.output, options.cluster) as run, connected(options.cluster) as spark:
        from heliograph.cli.inputs import read_context, subscribe
        from heliograph.spark import Plans, filter

        with run.loading():
            prefixes, taxonomy = read_context(options.interests, run)
            given: Any = {**options.division.arguments(), "taxonomy": taxonomy, "prefixes": prefixes}
            plans = Plans(own_folder(options.cluster.folder, "filter"), **given)
            with plans.together():
                subscribe(plans, options.interests, run)
            run.subscribed(plans.size)
            outline = plans.outline()
            if outline is not None:
                run.details["plan"] = asdict(outline)
            plans.rejected = Rejections()  # reported with the names of their files already
        rows = read(spark, "publications", options.publications, follow=options.cluster.streaming)
        deliver(filter(rows, plans, bindings=options.bindings), run, options.output, options.cluster)
    return run.exit_code


def watch_on_spark(options: WatchCommand) -> int:
    evolution = options.evolution
    check_input("--updates", "updates", evolution.updates, options.cluster)
    with _started(options.output, options.cluster) as run, connected(options.cluster) as spark:
        from heliograph.cli.inputs import read_context, subscribe
        from heliograph.spark import Watchers, watch

        with run.loading():
            prefixes, taxonomy = read_context(options.interests, run)
            watchers = Watchers(
                storage_folder(options.cluster.folder, "watch"),
                fixed=True,
                shards=options.shards,
                graph=None if evolution.graph is None else _read_graph(evolution.graph, run),
                mode=evolution.mode,
                initial=evolution.initial,
                window=evolution.window,
                window_updates=evolution.window_updates,
                witness=options.witness,
                taxonomy=taxonomy,
                prefixes=prefixes,
            )
            with watchers.together():
                subscribe(watchers, options.interests, run)
                reported = len(watchers.rejected)
            run.reject(watchers.rejected[reported:], evolution.graph)  # which only writing a version reports
            run.subscribed(watchers.size)
            watchers.rejected = Rejections()  # reported already
        rows = read(spark, "updates", evolution.updates, follow=options.cluster.streaming)
        deliver(watch(rows, watchers), run, options.output, options.cluster)
    return run.exit_code


def _read_graph(spec: str, run: CommandRun) -> pa.Table:
    """What a graph holds at the start, as one table."""
    from heliograph.cli.inputs import read_graph
    from heliograph.io.publications import Publications
    from heliograph.io.schemas import table_schema
    from heliograph.terms import Position
    from heliograph.vocabulary import Vocabulary

    vocabulary, tables = Vocabulary(), [table_schema("graph").empty()]
    for items, _, rejected in read_graph(spec, vocabulary):
        run.reject(rejected)
        if isinstance(items, Publications):
            places = (Position.SUBJECT, Position.PROPERTY, Position.OBJECT)
            cells = [vocabulary.spell(*column) for column in zip(items.triples, places, strict=True)]
            tables.append(pa.Table.from_arrays(cells, ["subject", "property", "object"]))
        else:
            tables.append(items.table)
    return pa.concat_tables(tables, promote_options="default")


def route_on_spark(options: RouteCommand) -> int:
    check_input("--events", "events", options.events, options.cluster)
    if options.what_if is not None or options.algorithm != "auto":
        given = "--algorithm" if options.what_if is None else "--what-if"
        raise UsageError("HG-037", f"{given} with --engine spark", fix="leave it out, or use --engine embedded")
    with _started(options.output, options.cluster) as run, connected(options.cluster) as spark:
        from heliograph.cli.route import read_exchange
        from heliograph.spark import Exchanges, route

        folder = own_folder(options.cluster.folder, "route")
        tables = read_exchange(options.exchange, run)
        with run.loading():
            exchanges = Exchanges(
                folder, tables.nodes, tables.edges, match=options.exchange.match, shards=options.shards
            )
            run.reject(exchanges.rejected)
            run.subscribed(exchanges.size)
            exchanges.rejected = Rejections()  # reported already
        rows = read(spark, "events", options.events, follow=options.cluster.streaming)
        deliver(route(rows, exchanges, **asdict(options.results)), run, options.output, options.cluster)
    return run.exit_code


# --- what is checked before anything is started -------------------------------------------------------------------


def check_input(option: str, name: str, spec: str, cluster: SparkOptions) -> None:
    """Refuses what cannot be read."""
    if cluster.streaming and not os.path.isdir(spec):
        raise UsageError("HG-037", f"{option} {spec} is no folder to follow", fix="give a folder, or drop --follow")
    if not cluster.streaming and any(source.is_pipe for source in find_sources(spec, suffixes_of(name))):
        raise UsageError("HG-037", f"{option} {spec}: Spark reads no pipe", fix="give files, or --engine embedded")


def check_going_on(output: OutputOptions, cluster: SparkOptions) -> None:
    """A file is written anew by each start, so a stream that goes on from a checkpoint would lose what it had."""
    begun = cluster.checkpoint is not None and Path(cluster.checkpoint, "offsets").exists()
    if begun and output.out != PIPE and not is_folder(output):
        fix = "give --out a folder, or -, or another --checkpoint"
        raise UsageError("HG-037", f"--out {output.out} is a file, and the stream goes on from a checkpoint", fix=fix)


def is_folder(output: OutputOptions) -> bool:
    """Whether the workers write the notifications themselves."""
    return output.out != PIPE and not Path(output.out).suffix


def _started(output: OutputOptions, cluster: SparkOptions) -> CommandRun:
    """The run of a command. Where the workers write a folder, the driver writes only which interests were refused, as
    the batch before the first."""
    check_going_on(output, cluster)
    if not is_folder(output):
        return CommandRun(output)
    if output.rejected is None:
        return CommandRun(replace(output, out=PIPE))
    if Path(output.rejected).suffix:
        fix = "give --rejected a folder as well"
        raise UsageError("HG-037", f"--out {output.out} is a folder, --rejected {output.rejected} a file", fix=fix)
    refused = Path(output.rejected, "batch=-1")
    refused.mkdir(parents=True, exist_ok=True)
    return CommandRun(replace(output, out=PIPE, rejected=str(refused / "interests.parquet")))


# --- the session, its end and its failures ------------------------------------------------------------------------

_CODE = re.compile(r"(HG-\d{3}): ([^\n]+)")


@contextmanager
def connected(cluster: SparkOptions) -> Iterator[SparkSession]:
    """A session for one command. Whatever fails in it is reported in the words of the user's input."""
    show_pandas()
    if cluster.traceback:
        os.environ[DEBUG] = "1"
    from heliograph.spark import session

    chosen = {"spark.driver.maxResultSize": "0"}
    for text in cluster.conf or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError("HG-031", f"--conf {text} sets nothing", fix="write --conf spark.executor.memory=4g")
        chosen[name] = value
    with hushed(cluster.traceback):
        spark = session(cluster.master, chosen)
    try:
        with STOPPING.listening(spark.sparkContext.cancelAllJobs):
            yield spark
    except HeliographError:
        raise
    except Exception as error:
        raise translated(error) from error
    finally:
        spark.stop()


def translated(error: Exception) -> HeliographError:
    """What went wrong in a worker or in Spark, without its trace."""
    text = str(error)
    known = _CODE.search(text)
    if known is not None:
        kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, HeliographError)]
        found = (kind for kind in kinds if known[1].startswith(kind.family) and kind.family != "HG-0")
        return next(found, HeliographError)(known[1], known[2].strip())
    if is_loss(text):
        fix = "let workers have more (--conf spark.executor.memoryOverhead=2g), or less to do (--shards)"
        return errors.SetupError("HG-909", "a worker of Spark died, most likely for lack of memory", fix=fix)
    reason = reason_of(text) or type(error).__name__
    return errors.SetupError("HG-908", f"Spark gave up: {reason}", fix="--traceback shows all")


class Stopping:
    """Whether the command was asked to end. There is one of this, since signals are the process's."""

    def __init__(self) -> None:
        self.asked = False
        self._gently = False
        self._cancel: Callable[[], Any] = bool

    @contextmanager
    def listening(self, cancel: Callable[[], Any]) -> Iterator[None]:
        """Takes signals while the block runs; `cancel` ends what Spark does. Without effect outside the main thread."""
        self.asked, self._cancel = False, cancel
        mine = threading.current_thread() is threading.main_thread()
        signals = (signal.SIGINT, signal.SIGTERM) if mine else ()
        before = {number: signal.signal(number, self._on_signal) for number in signals}
        try:
            yield
        except Exception:
            if self.asked:
                raise KeyboardInterrupt from None
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def gently(self) -> Iterator[None]:
        """In the block the first signal only sets `asked`."""
        self._gently = True
        try:
            yield
        finally:
            self._gently = False

    def _on_signal(self, number: int, frame: object) -> None:
        again, self.asked = self.asked, True
        if again or not self._gently:
            threading.Thread(target=self._cancel, daemon=True).start()  # by a connection of its own


STOPPING = Stopping()

# --- what was found, to the outputs -------------------------------------------------------------------------------

_PATIENCE = 0.5  # seconds between two looks at a stream


def deliver(found: DataFrame, run: CommandRun, output: OutputOptions, cluster: SparkOptions) -> None:
    """Writes what a verb gave; of a stream, until it ends or is interrupted."""
    if found.isStreaming:
        _follow(found, run, output, cluster)
        return
    if is_folder(output):
        write(found, **_folders(output))
    elif str(found.sparkSession.sparkContext.master).startswith("local"):
        _take_files(found, run)
    else:
        _take(found, run)
    _add(batch_counts(found), run, output)


def _folders(output: OutputOptions) -> dict[str, Any]:
    """Where the workers write, by absolute paths, since they stand elsewhere; refusals lie beside by default."""
    refused = output.rejected or os.path.join(output.out, REFUSED)
    return {"notifications": os.path.abspath(output.out), "rejected": os.path.abspath(refused)}


def _take_files(found: DataFrame, run: CommandRun) -> None:
    """A batch to the outputs of the driver, through files of this machine."""
    with tempfile.TemporaryDirectory() as scratch:
        notified, refused = Path(scratch, "notified"), Path(scratch, "refused")
        write(found, notifications=f"file:{notified}", rejected=f"file:{refused}")
        for path in sorted(refused.glob("*/*.parquet")):
            entries: list[Any] = parquet.read_table(path, schema=REJECTED_SCHEMA, partitioning=None).to_pylist()
            run.reject(Rejected(**entry) for entry in entries)
        for path in sorted(notified.glob("*/*.parquet")):
            run.write(parquet.read_table(path, schema=NOTIFICATIONS_SCHEMA, partitioning=None))


def _take(frame: DataFrame, run: CommandRun) -> None:
    """One batch to the outputs of the driver, as rows."""
    table = frame.toArrow()
    refused: list[Any] = table["rejected"].drop_null().to_pylist()
    run.reject(Rejected(**entry) for entry in refused)
    notified = table.filter(table["rejected"].is_null()).select(NOTIFICATIONS_SCHEMA.names)
    run.write(notified.cast(NOTIFICATIONS_SCHEMA))


def _follow(found: DataFrame, run: CommandRun, output: OutputOptions, cluster: SparkOptions) -> None:
    trigger: dict[str, Any] = {"availableNow": True} if cluster.once else {}
    checkpoint = os.path.abspath(cluster.checkpoint) if cluster.checkpoint else None
    with tempfile.TemporaryDirectory() as scratch:
        if is_folder(output):
            query: Any = write(found, **_folders(output), checkpoint=checkpoint, **trigger)
        else:
            writer = found.writeStream.foreachBatch(lambda frame, batch: _take(frame, run))
            writer = writer.option("checkpointLocation", checkpoint or scratch)
            query = (writer.trigger(**trigger) if trigger else writer).start()
        _wait(query, run)
    table = progress_table(query)
    for counts in table.drop_columns(["batch"]).to_pylist():
        _add(counts, run, output)
    run.details["batches"] = table.to_pylist()


def _wait(query: Any, run: CommandRun) -> None:
    """Until the stream ends or is interrupted."""
    done, begun = -1, None
    try:
        with STOPPING.gently(), Bar("micro-batches") as bar:
            while not query.awaitTermination(_PATIENCE):
                last = query.lastProgress
                if last is not None and last.batchId > done:
                    bar.advance(last.batchId - done)
                    done = last.batchId
                if STOPPING.asked:
                    begun = done if begun is None else begun
                    if done > begun or not query.status["isTriggerActive"]:  # the micro-batch under way is done
                        run.interrupted = True
                        break
    finally:
        query.stop()


def _add(counts: Mapping[str, Any], run: CommandRun, output: OutputOptions) -> None:
    """What the workers counted; what they refused in a folder of their own is written already."""
    run.rejected += counts["rejected"] if is_folder(output) else 0
    run.stats += Stats(subscriptions=run.stats.subscriptions, complete=not counts["truncated"], **counts)
