"""How an event loop hears of signals, with handlers of its own and without."""

import signal
import subprocess
import sys

import pytest

from tests.support.image import ROOT
from tests.support.windows_like import windows_like

IDLE = """
import asyncio
from fakebroker.platform.signals import call_at_signals

async def wait():
    came = asyncio.get_running_loop().create_future()
    call_at_signals(asyncio.get_running_loop(), came.set_result)
    print("waiting", flush=True)
    return await came

with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
    print(runner.run(wait()).name)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", [[sys.executable, "-c", IDLE], windows_like(IDLE)], ids=["unix", "windows"])
def test_a_signal_wakes_up_an_idle_loop(command: list[str], number: signal.Signals) -> None:
    """Also where a signal does not end the wait for sockets, and the loop has no timer."""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "waiting\n"
            process.send_signal(number)
            assert process.communicate(timeout=30)[0] == f"{number.name}\n"
        finally:
            process.kill()
