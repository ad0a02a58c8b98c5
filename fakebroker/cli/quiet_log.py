"""The log of the package, silent for a while."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_log() -> Iterator[None]:
    """Log nothing below CRITICAL: brokers that close connections are part of a play."""
    log = logging.getLogger("fakebroker")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)
