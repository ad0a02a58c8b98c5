"""Settings of groups that contradict each other are refused when a broker starts."""

import pytest

from fakebroker.broker.settings import Settings
from fakebroker.broker.settings.group_bounds import check_group_bounds
from fakebroker.protocol.errors import SettingError
from fakebroker.testing.broker import FakeBroker

KINDS = pytest.mark.parametrize("kind", ["consumer", "share", "streams"])

# What the constructor of Kafka 4.3.1's configuration said, for each kind of group; `x` stands before "=".
REFUSED = [
    {"min.heartbeat.interval.ms": 16000},
    {"max.heartbeat.interval.ms": 4000},
    {"min.heartbeat.interval.ms": 6000},
    {"heartbeat.interval.ms": 4999},
    {"heartbeat.interval.ms": 15001},
    {"min.session.timeout.ms": 46000},
    {"max.session.timeout.ms": 44999},
    {"session.timeout.ms": 44999},
    {"session.timeout.ms": 60001},
    {"min.session.timeout.ms": 1000, "session.timeout.ms": 5000},
    {"max.heartbeat.interval.ms": 100000, "heartbeat.interval.ms": 45000},
    {"min.assignment.interval.ms": 20000},
    {"min.assignment.interval.ms": 1001},
    {"max.assignment.interval.ms": 999},
    {"assignment.interval.ms": 15001},
]
TAKEN = [
    {},
    {"min.heartbeat.interval.ms": 5000},
    {"max.heartbeat.interval.ms": 5000},
    {"heartbeat.interval.ms": 15000},
    {"min.session.timeout.ms": 45000, "max.session.timeout.ms": 45000},
    {"session.timeout.ms": 60000},
    {"min.session.timeout.ms": 1000, "session.timeout.ms": 5001},
    {"max.heartbeat.interval.ms": 100000, "heartbeat.interval.ms": 44999},
    {"max.assignment.interval.ms": 500, "assignment.interval.ms": 500},
    {"assignment.interval.ms": 0},
]
REFUSED_OF_ONE: list[dict[str, object]] = [
    {"group.streams.num.standby.replicas": 3},
    {"group.streams.num.standby.replicas": 1, "group.streams.max.standby.replicas": 0},
    {"group.share.record.lock.duration.ms": 14999},
    {"group.share.record.lock.duration.ms": 60001},
    {"group.share.max.share.sessions": 199},
    {"group.coordinator.rebalance.protocols": "consumer,streams"},
]
TAKEN_OF_ONE: list[dict[str, object]] = [
    {"group.streams.num.standby.replicas": 2},
    {"group.share.min.record.lock.duration.ms": 30000},
    {"group.share.max.share.sessions": 200},
    {"group.min.session.timeout.ms": 2_000_000},
    {"group.coordinator.rebalance.protocols": "classic"},
]


def is_taken(values: dict[str, object]) -> bool:
    try:
        check_group_bounds(Settings(values))
    except SettingError:
        return False
    return True


@KINDS
@pytest.mark.rules("CGC-5")
def test_bounds_of_every_kind(kind: str) -> None:
    """Least, default and largest have their order, and a heartbeat comes before its session ends."""

    def named(values: dict[str, int]) -> dict[str, object]:
        return {f"group.{kind}.{name}": value for name, value in values.items()}

    assert [values for values in REFUSED if is_taken(named(values))] == []
    assert [values for values in TAKEN if not is_taken(named(values))] == []


@pytest.mark.rules("CGC-5")
def test_bounds_of_one_kind() -> None:
    """Those that one kind alone has; classic groups have none."""
    assert [values for values in REFUSED_OF_ONE if is_taken(values)] == []
    assert [values for values in TAKEN_OF_ONE if not is_taken(values)] == []


@pytest.mark.rules("CGC-5")
def test_a_broker_does_not_start_with_them() -> None:
    """The error names both settings and their values."""
    with pytest.raises(SettingError, match=r"consumer\.min\.session\.timeout\.ms is 45000; it may not be above .*1000"):
        FakeBroker(config={"group.consumer.session.timeout.ms": 1000})
