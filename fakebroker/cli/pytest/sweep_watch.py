"""Ends the call of a test that takes too long in a sweep."""

import threading
from collections.abc import Generator
from contextlib import suppress
from typing import Any

import pytest

from fakebroker.cli.pytest.brokers import BROKERS
from fakebroker.testing.broker import FakeBroker
from fakebroker.testing.sweeps.limit import AGAIN_S
from fakebroker.testing.sweeps.relief import RunTooLong, disconnect_clients, forget_raised, raise_in, relieve


class Watch:
    """Gives a run up after its time limit: its brokers let go of their clients, and RunTooLong is raised in the test.

    The brokers go on, so that clients that wait in C come back. As long as the test is there all of it is done again,
    and connections are closed, too.
    """

    def __init__(self, timeout_s: float) -> None:
        self.has_fired = False
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._is_over = threading.Event()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Watch the call alone: in pytest's own code the exception would end the whole run."""
        thread_id = threading.get_ident()
        threading.Thread(target=self._watch, args=(thread_id, item), name="sweep's watch", daemon=True).start()
        try:
            return (yield)
        finally:
            self._end()

    def _end(self) -> None:
        """The test is over: what was raised in it and has yet to come is not raised in pytest's code."""
        while True:
            try:
                with self._lock:
                    self._is_over.set()
                if self.has_fired:
                    forget_raised()
                return
            except RunTooLong:  # it comes here
                pass

    def _watch(self, thread_id: int, item: pytest.Item) -> None:
        if self._is_over.wait(self._timeout_s) or not self._give_up(thread_id):
            return
        _for_brokers_of(item, relieve)
        while not self._is_over.wait(AGAIN_S) and self._give_up(thread_id):
            _for_brokers_of(item, relieve, disconnect_clients)

    def _give_up(self, thread_id: int) -> bool:
        """Raise the exception in the test; False if that is over."""
        with self._lock:
            if self._is_over.is_set():
                return False
            self.has_fired = True
            raise_in(thread_id, RunTooLong)
            return True


def _for_brokers_of(item: pytest.Item, *steps: Any) -> None:
    for broker in item.stash.get(BROKERS, []):
        if isinstance(broker, FakeBroker):  # another one is of the test's own thread
            for step in steps:
                with suppress(Exception):
                    step(broker)
