"""What the command line hides: pandas until something needs it, and what the JVM says unless somebody asks.

Where pandas is installed, PyArrow imports it at its first array from a list: a third of a second, for nothing that the
embedded engines do. Spark does need it. A JVM writes traces to the streams that it was started with; a command tells a
failure in one line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from heliograph.errors import SetupError

_STREAMS = (1, 2)  # standard output too: notifications may go there, and nothing else


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("the command line does without pandas", name=name)


def hide_pandas() -> None:
    sys.meta_path.insert(0, _NoPandas)


def show_pandas() -> None:
    """To be called before PyArrow has looked for it in vain."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not _NoPandas]


@contextmanager
def hushed(aloud: bool) -> Iterator[None]:
    """A JVM that is started in the block writes to a file that nobody sees. If it does not start, that says why."""
    if aloud:
        yield
        return
    import tempfile

    sys.stdout.flush()
    sys.stderr.flush()
    before = {stream: os.dup(stream) for stream in _STREAMS}
    with tempfile.TemporaryFile() as said:
        for stream in _STREAMS:
            os.dup2(said.fileno(), stream)
        try:
            yield
        except SetupError as error:
            said.seek(0)
            raise _explained(error, said.read().decode(errors="replace")) from error
        finally:
            for stream, kept in before.items():
                os.dup2(kept, stream)
                os.close(kept)


def _explained(error: SetupError, said: str) -> SetupError:
    """A JVM that ended at once has told why on its own."""
    from heliograph.spark.failures import reason_of

    reason = reason_of(said)
    if "JAVA_GATEWAY_EXITED" not in error.message or not reason:
        return error
    return SetupError(error.code, f"{error.message.partition(': ')[0]}: {reason}", fix=error.fix)
