"""Commands that go on until a signal: in rounds, with a pause between them."""

import signal
from collections.abc import Callable
from time import monotonic, sleep
from types import FrameType
from typing import Final

import click

from fakebroker.platform.signals import SIGNALS
from fakebroker.protocol.errors import Unavailable

PAUSE_S: Final = 1.0
"""The shortest pause. A round is followed by one as long as itself, so that half of a processor is left."""


class _Signals:
    """Remembers a signal that would end the process."""

    def __init__(self) -> None:
        self.has_come = False
        for number in SIGNALS:
            signal.signal(number, self._came)

    def _came(self, _number: int, _frame: FrameType | None) -> None:
        self.has_come = True


def follow(take: Callable[[], None]) -> None:
    """Call `take` again and again; after SIGINT or SIGTERM once more, and return.

    What is Unavailable in a later round is said once, and tried again. Other errors, and those of the first round, are
    raised.
    """
    signals, reported = _Signals(), ""
    take()
    while True:
        is_last, began_s = signals.has_come, monotonic()
        try:
            take()
            reported = ""
        except Unavailable as error:
            if is_last:
                raise
            if str(error) != reported:
                reported = str(error)
                click.echo(f"{reported}; trying again", err=True)
        if is_last:
            return
        pause(max(PAUSE_S, monotonic() - began_s))


def pause(seconds: float) -> None:
    """Wait. A signal is noticed afterwards."""
    sleep(seconds)
