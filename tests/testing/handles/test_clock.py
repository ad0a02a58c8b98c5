"""The broker's clock as a test moves it: both directions, absolute times, and what is refused."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.broker.core.events import ClockMoved
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.handles.clock import ClockHandle

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_MS = 1_772_366_400_000


@pytest.fixture
def broker() -> FakeBroker:
    """Not running, so only the test moves its frozen clock."""
    broker = FakeBroker()
    broker.clock.freeze()
    broker.clock.set(NOON)
    return broker


def test_the_clock_is_set_to_any_time(broker: FakeBroker) -> None:
    """Forwards and back, by a datetime of any zone or by milliseconds."""
    clock = broker.clock
    assert (clock.now, clock.now_ms, clock.is_frozen) == (NOON, NOON_MS, True)
    clock.set(NOON_MS + 1)
    assert clock.now == NOON + timedelta(milliseconds=1)
    clock.set(datetime(2026, 3, 1, 13, 30, tzinfo=timezone(timedelta(hours=2))))
    assert clock.now == NOON - timedelta(minutes=30)
    for when in (0, 253_402_300_799_999, NOON_MS):
        clock.set(when)
        assert clock.now_ms == when


def test_steps_back_add_up(broker: FakeBroker) -> None:
    """Days, hours, minutes, seconds and milliseconds; the journal has each step."""
    clock = broker.clock
    clock.step_back(days=1, hours=1, minutes=1, seconds=1, ms=1)
    assert NOON_MS - clock.now_ms == 90_061_001
    clock.run_until(NOON)

    (set_to_noon, back, on) = [recorded.event for recorded in broker.journal.events("clock_moved")]
    assert isinstance(set_to_noon, ClockMoved)
    assert set_to_noon.to_ms == NOON_MS
    assert back == ClockMoved(NOON_MS, NOON_MS - 90_061_001, "stepped back")
    assert on == ClockMoved(NOON_MS - 90_061_001, NOON_MS, "advanced")
    assert "the clock stepped back: 2026-03-01 12:00 -> 2026-02-28 10:58:58" in broker.story()


def test_what_was_committed_before_a_step_back_expires_when_its_time_comes_again() -> None:
    """On a broker that serves clients; a member stays alive meanwhile."""
    with FakeBroker() as broker:
        broker.create_topic("orders", partitions=2)
        live = broker.client("live")
        live.join("live", ["orders"])
        live.sync()
        live.commit({("orders", 0): 1}, group_id="simple")
        broker.clock.step_back(days=30)
        live.commit({("orders", 1): 2}, group_id="simple")
        broker.clock.advance(days=8)
        assert broker.group("simple").offsets == {("orders", 0): 1}
        broker.clock.advance(days=30)
        assert broker.group("simple").offsets == {}
        assert live.heartbeat().error_code == 0


def test_a_duration_may_be_a_text(broker: FakeBroker) -> None:
    """As in ctl and in scenarios: "1d 2h", in both directions."""
    broker.clock.advance("1d 2h")
    assert broker.clock.now == NOON + timedelta(days=1, hours=2)
    broker.clock.step_back("26h")
    assert broker.clock.now == NOON


def test_a_duration_of_nothing_is_one(broker: FakeBroker) -> None:
    """A computed number may be 0."""
    broker.clock.advance(days=0)
    broker.clock.step_back(timedelta(0))
    broker.clock.advance("0s")
    assert broker.clock.now == NOON


WRONG: list[tuple[Callable[[ClockHandle], Any], str, str]] = [
    (lambda clock: clock.advance(days=-1), "days", "days: should be a number, 0 or more, not -1"),
    (lambda clock: clock.step_back(hours=-2), "hours", "hours: should be a number, 0 or more, not -2"),
    (lambda clock: clock.advance(seconds=float("nan")), "seconds", "seconds: should be a finite number, not nan"),
    (lambda clock: clock.advance(minutes=float("inf")), "minutes", "minutes: should be a finite number, not inf"),
    (lambda clock: clock.advance(seconds=1e307), "seconds", "beyond the year 9999"),
    (lambda clock: clock.step_back(minutes=1e308, hours=1e308), "hours", "before 1970"),
    (lambda clock: clock.advance(ms=10**400), "ms", "ms: should be a whole number that fits into 64 bits"),
    (lambda clock: clock.advance(seconds=10**400), "seconds", "seconds: should be a finite number, not 1000"),
    (lambda clock: clock.advance(days="1"), "days", "days: should be a number, 0 or more, not '1'"),  # type: ignore[arg-type]
    (lambda clock: clock.advance(days=True), "days", "days: should be a number, 0 or more, not True"),
    (lambda clock: clock.advance(days=1e300 - 1), "days", "days="),
    (lambda clock: clock.advance(days=3e6), "days", "days=3000000.0 leads beyond the year 9999"),
    (lambda clock: clock.step_back(days=36_500), "days", "days=36500 leads to before 1970"),
    (
        lambda clock: clock.advance(),
        "days",
        "advance() needs a duration: days=8, hours=, minutes=, seconds=, ms=, or in",
    ),
    (lambda clock: clock.step_back(), "days", "step_back() needs a duration: days=8, "),
    (lambda clock: clock.advance(timers=True), "days", "advance() needs a duration"),
    (
        lambda clock: clock.advance("8 days"),
        "by",
        "advance('8 days'): '8 days' is not a duration, such as 250ms, 10s, 1h 10m or 3d",
    ),
    (lambda clock: clock.advance("8d", days=1), "by", "advance('8d'): it cannot be combined with days="),
    (lambda clock: clock.advance([8]), "by", "by: should be a timedelta or a text"),  # type: ignore[arg-type]
    (lambda clock: clock.step_back(8), "by", "a number takes its unit: days=8"),  # type: ignore[arg-type]
    (lambda clock: clock.set(datetime(2026, 1, 1)), "when", "has no time zone"),
    (lambda clock: clock.set("2026-01-01"), "when", "when: should be a time (2026"),  # type: ignore[arg-type]
    (lambda clock: clock.set(1.5), "when", "or a whole number, not 1.5"),  # type: ignore[arg-type]
    (lambda clock: clock.set(-1), "when", "when=-1 leads to before 1970"),
    (lambda clock: clock.set(253_402_300_800_000), "when", "beyond the year 9999"),
    (lambda clock: clock.run_until(NOON - timedelta(seconds=1)), "when", "has passed"),
    (
        lambda clock: setattr(clock, "rate", "fast"),
        "rate",
        "should be a number from 0.000001 to 1000000",
    ),
    (lambda clock: setattr(clock, "rate", float("nan")), "rate", "should be a finite number, not nan"),
]


@pytest.mark.parametrize(("wrong", "field", "message"), WRONG)
def test_what_cannot_be_is_refused(
    broker: FakeBroker, wrong: Callable[[ClockHandle], Any], field: str, message: str
) -> None:
    """The error names field and value, and the clock stands as before."""
    with pytest.raises(InvalidArgument) as raised:
        wrong(broker.clock)

    assert raised.value.field == field
    assert message in str(raised.value)
    assert (broker.clock.now, broker.clock.rate) == (NOON, 1)
