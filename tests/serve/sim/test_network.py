"""The in-memory network: virtual time. That runs are the same byte by byte is in tests/test_determinism.py."""

from tests.support.engine import SimEngine
from tests.support.frames import correlation_ids, framed, frames, request
from tests.support.time import START

DAY_MS = 86_400_000


def test_time_passes_only_on_request() -> None:
    """Nothing moves by itself; both readings move together."""
    lab = SimEngine()
    lab.client().join()
    assert lab.network.now == START
    lab.network.advance(8 * DAY_MS)
    assert lab.network.now == START.plus(8 * DAY_MS)


def test_clients_hear_of_each_deadline_at_its_moment() -> None:
    """A parked join is answered the moment it is due, and the clock stands there when a condition is met."""
    lab = SimEngine({"group.initial.rebalance.delay.ms": 750}, profile="kafka")
    client = lab.client()
    client.join()
    heard: list[bytes] = []

    def has_heard() -> bool:
        heard.append(client.socket.take())
        return bool(heard[-1])

    assert lab.network.run_until(has_heard, within_ms=10_000)
    assert lab.network.now == START.plus(750)
    assert correlation_ids(b"".join(heard)) == [1]


def test_a_condition_that_does_not_come_true() -> None:
    """run_until says so, and the time has passed."""
    lab = SimEngine()
    assert not lab.network.run_until(lambda: False, within_ms=5_000)
    assert lab.network.now == START.plus(5_000)


def test_the_broker_may_close() -> None:
    """A client sees that it was closed; what it sends then goes nowhere."""
    client = SimEngine().client()
    client.socket.send(framed(b""))
    assert client.socket.is_closed
    client.socket.send(request("Heartbeat", 4))
    assert client.socket.take() == b""


def test_a_thousand_requests_in_one_piece_are_all_answered() -> None:
    """Turns follow one another without the client's doing."""
    client = SimEngine().client()
    client.socket.send(request("ApiVersions", 0) * 1000)
    assert len(frames(client.socket.take())) == 1000
