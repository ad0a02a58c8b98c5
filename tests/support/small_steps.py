"""Steps of long work that are smaller, for tests whose requests are as much smaller than real ones."""

import pytest

from fakebroker.protocol import pace
from fakebroker.protocol.schema import emit_encode


def make_steps_smaller(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Divide what a step of a handler does, and how much of an answer is written in one."""
    plain = pace.Pace.__init__

    def shortened(self: pace.Pace, units_per_step: int, *time: pace.StepTime) -> None:
        plain(self, units_per_step // times, *time)

    monkeypatch.setattr(pace.Pace, "__init__", shortened)
    monkeypatch.setattr(emit_encode, "PIECES_PER_STEP", emit_encode.PIECES_PER_STEP // times)
