"""Exceptions that are raised in other threads leave nothing behind."""

import subprocess
import sys

import pytest

BEGIN = """
import sys, threading
from fakebroker.testing.sweeps.relief import RunTooLong, forget_raised, raise_in

lock, raised = threading.Lock(), []
lock.acquire()

def wait():
    try:
        lock.acquire()
        while True:
            threading.Event().wait(0.01)
    except RunTooLong:
        raised.append("raised")

thread = threading.Thread(target=wait, daemon=True)
"""
WAITS_IN_C = """
thread.start()
raise_in(thread.ident, RunTooLong)
(lambda: None)()
lock.release()
thread.join(30)
print(raised)
"""
WAITS_FOR_EVER = """
thread.start()
raise_in(thread.ident, RunTooLong)
(lambda: None)()
print(["raised"])
"""
TAKES_IT_BACK = """
main = threading.get_ident()
raising = threading.Thread(target=raise_in, args=(main, RunTooLong))
try:
    raising.start()
    raising.join()
    forget_raised()
except RunTooLong:
    forget_raised()
(lambda: None)()
print(["raised"])
"""


@pytest.mark.parametrize("set_hook", ["", "sys.setprofile(lambda *_: None)", "sys.settrace(lambda *_: None)"])
@pytest.mark.parametrize("story", [WAITS_IN_C, WAITS_FOR_EVER, TAKES_IT_BACK])
def test_calls_begin_after_it(set_hook: str, story: str) -> None:
    """CPython 3.11 begins none while an exception waits for any thread: a profiler or coverage would spin for ever."""
    after = "sys.setprofile(lambda *_: None)\n(lambda: None)()\n"  # a later test
    script = f"{BEGIN}\n{set_hook}\n{story}\n{after}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("['raised']\n", "")
