"""Signals while Spark works: a stream is asked to end, anything else is cancelled and then is the interrupt."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from heliograph.cli.spark import Stopping


class Job:
    """Something that Spark does until it is cancelled."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def run(self, *signals: signal.Signals) -> None:
        for number in signals:
            os.kill(os.getpid(), number)
        if self.cancelled.wait(10):
            raise RuntimeError("Job 7 cancelled")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_batch_is_cancelled_and_what_fails_by_that_is_the_interrupt(number: signal.Signals) -> None:
    stopping, job, before = Stopping(), Job(), signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), stopping.listening(job.cancelled.set):
        job.run(number)
    assert signal.getsignal(number) is before


def test_a_stream_is_asked_first_and_cancelled_then() -> None:
    stopping, job = Stopping(), Job()
    with stopping.listening(job.cancelled.set), stopping.gently():
        os.kill(os.getpid(), signal.SIGINT)
        assert (stopping.asked, job.cancelled.is_set()) == (True, False)
    with pytest.raises(KeyboardInterrupt), stopping.listening(job.cancelled.set), stopping.gently():
        job.run(signal.SIGINT, signal.SIGINT)
    assert job.cancelled.is_set()


def test_a_failure_without_a_signal_stays_what_it_is() -> None:
    stopping = Stopping()
    with pytest.raises(ValueError, match="bad"), stopping.listening(bool):
        raise ValueError("bad")
    assert not stopping.asked


def test_another_thread_changes_no_handlers() -> None:
    seen = []
    before = signal.getsignal(signal.SIGTERM)

    def work() -> None:
        with Stopping().listening(bool):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
