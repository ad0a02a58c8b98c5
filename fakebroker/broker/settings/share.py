"""Broker settings of the share coordinator."""

from fakebroker.broker.settings.declare import (
    CLUSTER_WIDE,
    INT,
    READ_ONLY,
    SHORT,
    Range,
    Setting,
)

# fmt: off
ROWS = (
    Setting("share.coordinator.append.linger.ms", INT, -1, Range(-1), READ_ONLY, "the share coordinator"),
    Setting("share.coordinator.cached.buffer.max.bytes", INT, 1_048_588, Range(524_288), CLUSTER_WIDE,
            "the share coordinator"),
    Setting("share.coordinator.load.buffer.size", INT, 5_242_880, Range(1), READ_ONLY,
            "the share coordinator"),
    Setting("share.coordinator.snapshot.update.records.per.snapshot", INT, 500, Range(0, 500), READ_ONLY,
            "updates of a share partition between two snapshots (SGB-4)", has_effect=True),
    Setting("share.coordinator.state.topic.compression.codec", INT, 0, None, READ_ONLY,
            "the topic `__share_group_state`"),
    Setting("share.coordinator.state.topic.min.isr", SHORT, 2, Range(1), READ_ONLY,
            "the topic `__share_group_state`"),
    Setting("share.coordinator.state.topic.num.partitions", INT, 50, Range(1), READ_ONLY,
            "the topic `__share_group_state`", has_effect=True),
    Setting("share.coordinator.state.topic.replication.factor", SHORT, 3, Range(1), READ_ONLY,
            "the topic `__share_group_state`", has_effect=True),
    Setting("share.coordinator.state.topic.segment.bytes", INT, 104_857_600, Range(1), READ_ONLY,
            "the topic `__share_group_state`", has_effect=True),
    Setting("share.coordinator.threads", INT, 1, Range(1), READ_ONLY, "the share coordinator"),
    Setting("share.coordinator.write.timeout.ms", INT, 5000, Range(1), READ_ONLY,
            "how long a write of the share coordinator waits for replicas", has_effect=True),
    Setting("share.fetch.purgatory.purge.interval.requests", INT, 1000, None, READ_ONLY,
            "purge interval of waiting requests, in requests"),
)
# fmt: on
