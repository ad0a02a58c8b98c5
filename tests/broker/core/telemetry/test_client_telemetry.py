"""What is kept of pushed metrics."""

import pytest

from fakebroker.broker.core.telemetry import client_telemetry
from fakebroker.broker.core.telemetry.client_telemetry import Push
from tests.support.engine import SimEngine

LIMIT = 100_000


@pytest.mark.parametrize(("client_id", "payload"), [("c" * 30_000, b"m"), ("c", b"m" * 30_000)])
def test_all_that_a_push_keeps_is_counted(client_id: str, payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go when there is more than the limit, and what they had counts no more."""
    monkeypatch.setattr(client_telemetry, "MAX_PUSHED_BYTES", LIMIT)
    telemetry = SimEngine().cluster.telemetry
    for number in range(20):
        telemetry.keep(Push(bytes(16), client_id, "User:alice", 1, number, False, payload))
    assert [push.wall_ms for push in telemetry] == [17, 18, 19]
    telemetry.clear()
    telemetry.keep(Push(bytes(16), client_id, "User:alice", 1, 20, False, payload))
    assert [push.wall_ms for push in telemetry] == [20]
