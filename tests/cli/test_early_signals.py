"""Signals that come before the event loop has handlers of its own."""

import signal
import subprocess
import sys

import pytest

TIMEOUT_S = 60

# A signal in the callback of a weak reference, as imports have: Python ignores what the handler raises there.
IGNORED = """
import os, sys, weakref
from fakebroker.cli import main

class Lock: pass

def signalled(*arguments):
    lock = Lock()
    dropped = weakref.ref(lock, lambda _: [os.kill(os.getpid(), {number}), *range(100)])
    del lock
    return taken(*arguments)

taken, main._take_ports = main._take_ports, signalled
main.main(["serve", "--listen", "127.0.0.1:0"])
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_whose_handler_is_ignored_ends_the_broker(number: int) -> None:
    """A broker that gets a signal while it starts ends with status 0, wherever in Python the signal arrives."""
    code = IGNORED.format(number=int(number))
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=TIMEOUT_S, check=False)
    assert ended.returncode == 0
    assert b"Exception ignored" in ended.stderr
