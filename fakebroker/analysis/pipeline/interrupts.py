"""Ctrl-C while Spark works: it ends at once, without the stack traces of those who talk to the Java process."""

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def quiet_interrupts(session: "SparkSession") -> Iterator[None]:
    """Let an interrupt in the block be a KeyboardInterrupt and nothing more; what Spark does then is cancelled.

    PySpark's own handler talks to Java on a connection that may be in use at that moment, which ends in stack traces.
    """
    root, py4j = logging.getLogger(), logging.getLogger("py4j")  # it writes to both
    level = py4j.level
    root.addFilter(_is_not_of_py4j)
    py4j.setLevel(logging.CRITICAL)
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.default_int_handler) if is_main else None
    try:
        yield
    except KeyboardInterrupt:
        with suppress(Exception):
            session.sparkContext.setLogLevel("OFF")  # tasks that end in the middle say so at length
            session.sparkContext.cancelAllJobs()
        raise
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)
        py4j.setLevel(level)
        root.removeFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname
