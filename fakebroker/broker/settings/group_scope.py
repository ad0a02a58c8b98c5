"""Settings of single groups (DC-7, CGC-4)."""

from fakebroker.broker.settings.declare import (
    BOOLEAN,
    CLUSTER_WIDE,
    INT,
    STRING,
    Form,
    OneOf,
    Range,
    Setting,
)
from fakebroker.protocol.java_duration import duration_ms

BY_DURATION = "by_duration:"


def _read_reset(text: str) -> None:
    """Raises ValueError for a duration that Java does not read, or that is negative."""
    if text.startswith(BY_DURATION) and duration_ms(text.removeprefix(BY_DURATION)) < 0:
        raise ValueError(f"{text!r} is negative")


_RESET = Form(rf"latest|earliest|{BY_DURATION}.+", f"latest, earliest or {BY_DURATION}<ISO 8601 duration>", _read_reset)

# fmt: off
ROWS = (
    Setting("consumer.assignment.interval.ms", INT, 1000, Range(0), CLUSTER_WIDE,
            "shortest time between two assignments of the group",
            broker_name="group.consumer.assignment.interval.ms"),
    Setting("consumer.heartbeat.interval.ms", INT, 5000, Range(1), CLUSTER_WIDE,
            "heartbeat interval of the members", broker_name="group.consumer.heartbeat.interval.ms"),
    Setting("consumer.session.timeout.ms", INT, 45000, Range(1), CLUSTER_WIDE,
            "time without heartbeats after which a member is removed", broker_name="group.consumer.session.timeout.ms"),
    Setting("share.assignment.interval.ms", INT, 1000, Range(0), CLUSTER_WIDE,
            "shortest time between two assignments of the group", broker_name="group.share.assignment.interval.ms"),
    Setting("share.auto.offset.reset", STRING, "latest",
            _RESET, CLUSTER_WIDE,
            "the offset at which a new share group starts"),
    Setting("share.delivery.count.limit", INT, 5, Range(2), CLUSTER_WIDE,
            "highest number of deliveries of a record", broker_name="group.share.delivery.count.limit"),
    Setting("share.heartbeat.interval.ms", INT, 5000, Range(1), CLUSTER_WIDE,
            "heartbeat interval of the members", broker_name="group.share.heartbeat.interval.ms"),
    Setting("share.isolation.level", STRING, "read_uncommitted",
            OneOf(("read_committed", "read_uncommitted")), CLUSTER_WIDE,
            "whether records of open and aborted transactions are delivered"),
    Setting("share.partition.max.record.locks", INT, 2000, Range(100), CLUSTER_WIDE,
            "records of a partition that may be in delivery at a time",
            broker_name="group.share.partition.max.record.locks"),
    Setting("share.record.lock.duration.ms", INT, 30000, Range(1000), CLUSTER_WIDE,
            "how long a delivered record stays locked", broker_name="group.share.record.lock.duration.ms"),
    Setting("share.renew.acknowledge.enable", BOOLEAN, True, None, CLUSTER_WIDE,
            "whether members may renew the lock of a record"),
    Setting("share.session.timeout.ms", INT, 45000, Range(1), CLUSTER_WIDE,
            "time without heartbeats after which a member is removed", broker_name="group.share.session.timeout.ms"),
    Setting("streams.assignment.interval.ms", INT, 1000, Range(0), CLUSTER_WIDE,
            "shortest time between two assignments of the group", broker_name="group.streams.assignment.interval.ms"),
    Setting("streams.heartbeat.interval.ms", INT, 5000, Range(1), CLUSTER_WIDE,
            "heartbeat interval of the members", broker_name="group.streams.heartbeat.interval.ms"),
    Setting("streams.initial.rebalance.delay.ms", INT, 3000, Range(0), CLUSTER_WIDE,
            "how long the empty group waits for more members",
            broker_name="group.streams.initial.rebalance.delay.ms"),
    Setting("streams.num.standby.replicas", INT, 0, Range(0), CLUSTER_WIDE,
            "standby tasks of the group", broker_name="group.streams.num.standby.replicas"),
    Setting("streams.session.timeout.ms", INT, 45000, Range(1), CLUSTER_WIDE,
            "time without heartbeats after which a member is removed", broker_name="group.streams.session.timeout.ms"),
)
# fmt: on
