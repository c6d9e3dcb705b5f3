"""Spark for the command line: which session, how inputs are read and followed, and how failures are told."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from heliograph import errors
from heliograph.cli.guard import DEBUG
from heliograph.cli.hiding import hushed, show_pandas
from heliograph.cli.options import Cluster
from heliograph.cli.stopping import STOPPING
from heliograph.errors import HeliographError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CODE = re.compile(r"(HG-\d{3}): ([^\n]+)")


@contextmanager
def connected(cluster: Cluster) -> Iterator[SparkSession]:
    """A session for one command. Whatever fails in it is told in the words of the user's input."""
    show_pandas()
    if cluster.traceback:
        os.environ[DEBUG] = "1"
    from heliograph.spark import session

    chosen = settings(cluster.conf)
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


def settings(given: list[str] | None) -> dict[str, str]:
    """The settings of `--conf k=v`."""
    pairs = [text.partition("=") for text in given or ()]
    wrong = [text for text, (name, equals, _) in zip(given or (), pairs, strict=True) if not name or not equals]
    if wrong:
        raise UsageError("HG-031", f"--conf {wrong[0]} sets nothing", fix="write --conf spark.executor.memory=4g")
    return {"spark.driver.maxResultSize": "0", **{name: value for name, _, value in pairs}}


def check_input(option: str, name: str, spec: str, cluster: Cluster) -> None:
    """Refuses what cannot be read, before anything is started."""
    from heliograph.spark.reading import suffixes_of
    from heliograph.tables.sources import find_sources

    if cluster.streaming and not os.path.isdir(spec):
        raise UsageError("HG-037", f"{option} {spec} is no folder to follow", fix="give a folder, or drop --follow")
    if not cluster.streaming and any(source.is_pipe for source in find_sources(spec, suffixes_of(name))):
        raise UsageError("HG-037", f"{option} {spec}: Spark reads no pipe", fix="give files, or --engine embedded")


def read_input(spark: SparkSession, name: str, spec: str, cluster: Cluster) -> DataFrame:
    """The rows of an input: of files as they are now, or of a folder as it goes on."""
    from heliograph.spark.reading import read

    return read(spark, name, spec, follow=cluster.streaming)


def translated(error: Exception) -> HeliographError:
    """What went wrong in a worker or in Spark, without its trace."""
    text = str(error)
    known = _CODE.search(text)
    if known is not None:
        kind = _family(known[1])
        return kind(known[1], known[2].strip())
    from heliograph.spark.failures import is_loss, reason_of

    if is_loss(text):
        fix = "let workers have more (--conf spark.executor.memoryOverhead=2g), or less to do (--shards)"
        return errors.SetupError("HG-909", "a worker of Spark died, most likely for lack of memory", fix=fix)
    reason = reason_of(text) or type(error).__name__
    return errors.SetupError("HG-908", f"Spark gave up: {reason}", fix="--traceback shows all")


def _family(code: str) -> type[HeliographError]:
    """The kind of error that a code belongs to."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, HeliographError)]
    return next((kind for kind in kinds if code.startswith(kind.family) and kind.family != "HG-0"), HeliographError)
