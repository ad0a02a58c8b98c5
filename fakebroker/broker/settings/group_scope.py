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

# A duration as Java reads it, without signs inside: P, days, then T and hours, minutes, seconds, at least one of them.
_TIMES = r"[Tt](?=\d)(\d+[Hh])?(\d+[Mm])?(\d+([.,]\d{0,9})?[Ss])?"
_DURATION = rf"\+?[Pp](?=\d|[Tt])(\d+[Dd])?({_TIMES})?"
_RESET = Form(rf"latest|earliest|by_duration:{_DURATION}", "latest, earliest or by_duration:<ISO 8601 duration>")

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
