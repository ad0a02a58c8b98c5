"""Commands with --follow, driven without waiting: what happens in each of their pauses, and a signal at the end."""

import signal
from collections.abc import Callable, Sequence

import pytest
from click.testing import CliRunner, Result

from fakebroker.cli import following
from fakebroker.cli.main import main
from fakebroker.platform.signals import SIGNALS


def follow(monkeypatch: pytest.MonkeyPatch, words: Sequence[object], pauses: Sequence[Callable[[], object]]) -> Result:
    """Run a command; in its n-th pause the n-th thing is done, and in the one after the last a signal comes."""
    coming = iter(pauses)
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def pause(_seconds: float) -> None:
        for each in coming:
            each()
            return
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(following, "pause", pause)
    try:
        return CliRunner().invoke(main, [*map(str, words), "--follow"], catch_exceptions=False)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
