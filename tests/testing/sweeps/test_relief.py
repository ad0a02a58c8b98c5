"""Exceptions that are raised in other threads leave nothing behind."""

import subprocess
import sys

import pytest

BLOCKED = """
import sys, threading
from fakebroker.testing.sweeps.relief import RunTooLong, raise_in, withdraw

lock = threading.Lock()
lock.acquire()
thread = threading.Thread(target=lock.acquire, daemon=True)
thread.start()
raise_in(thread.ident, RunTooLong)
withdraw(thread.ident)
"""
ENDED = """
import sys, threading
from fakebroker.testing.sweeps.relief import RunTooLong, raise_in, withdraw

try:
    raise_in(threading.get_ident(), RunTooLong)
    while True:
        pass
except RunTooLong:
    withdraw(threading.get_ident())
"""
PROFILED = """
calls = []
sys.setprofile(lambda *_: calls.append(1))
(lambda: None)()
sys.setprofile(None)
print(len(calls) > 0)
"""


@pytest.mark.parametrize("before", [BLOCKED, ENDED], ids=["a thread waits in C", "it was raised"])
def test_a_profiler_works_after_it(before: str) -> None:
    """CPython 3.11 never begins a call while an exception waits for a thread: the process would spin for ever."""
    done = subprocess.run(
        [sys.executable, "-c", before + PROFILED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
