"""Ctrl-C while Spark works."""

import logging
import signal
from typing import Any

import pytest

from fakebroker.analysis.pipeline.interrupts import quiet_interrupts


class FakeContext:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def setLogLevel(self, level: str) -> None:
        """As of a context."""
        self.asked.append(level)

    def cancelAllJobs(self) -> None:
        """As of a context whose connection broke."""
        self.asked.append("cancel")
        raise ConnectionError


def test_an_interrupt_cancels_what_spark_does_and_goes_on() -> None:
    """It stays a KeyboardInterrupt though the Java process answers no more; PySpark's handler has no part in it."""
    session: Any = type("Session", (), {"sparkContext": FakeContext()})()

    def of_pyspark(*_: object) -> None:
        raise AssertionError("talks to Java while a command is under way")

    before = signal.signal(signal.SIGINT, of_pyspark)
    try:
        with pytest.raises(KeyboardInterrupt), quiet_interrupts(session):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is of_pyspark
    finally:
        signal.signal(signal.SIGINT, before)
    assert session.sparkContext.asked == ["OFF", "cancel"]


def test_py4j_is_not_heard_meanwhile(caplog: pytest.LogCaptureFixture) -> None:
    """Its stack traces go to the root logger; those of others are still heard."""
    session: Any = object()
    trace = logging.LogRecord("root", logging.ERROR, "/site-packages/py4j/java_gateway.py", 1, "trace", None, None)
    other = logging.LogRecord("root", logging.ERROR, "/somewhere/else.py", 1, "other", None, None)
    with quiet_interrupts(session):
        for each in (trace, other):
            logging.getLogger().handle(each)
        logging.getLogger("py4j.clientserver").error("trace")
    logging.getLogger("py4j.clientserver").error("after")

    assert [each.getMessage() for each in caplog.records] == ["other", "after"]
    assert logging.getLogger().filter(trace)
