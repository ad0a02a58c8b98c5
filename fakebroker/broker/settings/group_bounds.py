"""Broker settings of groups that contradict each other: Kafka does not start with them, nor do we.

Kafka: the constructors of `GroupCoordinatorConfig` and `ShareGroupConfig`. Classic groups have no such checks: a
smallest session timeout above the largest is accepted, and no member can join.
"""

from fakebroker.broker.settings.settings import Reader, SettingError

# Settings with a `min` and a `max` beside them, by kind of group. Each is checked as: min <= max, min <= it <= max.
_BOUNDED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("consumer", ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")),
    ("share", ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")),
    ("streams", ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")),
    ("share", ("record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks")),
)
# Pairs (name, bound): the first may not be above the second.
_AT_MOST: tuple[tuple[str, str], ...] = (
    ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
    ("group.share.max.size", "group.share.max.share.sessions"),
)
_PROTOCOLS = "group.coordinator.rebalance.protocols"


def check_group_bounds(settings: Reader) -> None:
    """Raise SettingError, as a broker that starts does, if settings of groups contradict each other (CGC-5)."""
    if "classic" not in settings.get_list(_PROTOCOLS):
        raise SettingError(f"{_PROTOCOLS}: classic cannot be left out")
    for kind, names in _BOUNDED:
        for name in names:
            value, low, high = (f"group.{kind}.{bound}{name}" for bound in ("", "min.", "max."))
            _check_order(settings, low, high)
            _check_order(settings, low, value)
            _check_order(settings, value, high)
    for kind, _ in _BOUNDED[:3]:
        heartbeat, session = f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms"
        if settings.get_int(heartbeat) >= settings.get_int(session):
            raise _contradiction(settings, heartbeat, "has to be below", session)
    for name, bound in _AT_MOST:
        _check_order(settings, name, bound)


def _check_order(settings: Reader, lower: str, upper: str) -> None:
    if settings.get_int(lower) > settings.get_int(upper):
        raise _contradiction(settings, lower, "may not be above", upper)


def _contradiction(settings: Reader, name: str, what: str, other: str) -> SettingError:
    values = {each: settings.get_int(each) for each in (name, other)}
    error = SettingError(f"{name} is {values[name]}; it {what} {other}, which is {values[other]}")
    error.value = values
    return error
