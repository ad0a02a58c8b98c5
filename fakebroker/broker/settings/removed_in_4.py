"""Settings that Kafka 4 no longer has: known, so that an old server.properties is read, and shown by older releases."""

from fakebroker.broker.settings.declare import (
    BOOLEAN,
    CLUSTER_WIDE,
    INT,
    LONG,
    LONG_MAX,
    READ_ONLY,
    SHORT,
    STRING,
    Allowed,
    Range,
    Setting,
)
from fakebroker.broker.settings.message_formats import format_versions
from fakebroker.broker.settings.topic_scope import ROWS as TOPIC_ROWS

_FORMAT = "3.0-IV1"

BROKER_ROWS = (
    Setting("auto.include.jmx.reporter", BOOLEAN, True, None, READ_ONLY, "JMX metrics; not supported"),
    Setting("broker.id.generation.enable", BOOLEAN, True, None, READ_ONLY, "broker ids made by ZooKeeper; not here"),
    Setting(
        "controlled.shutdown.max.retries", INT, 3, None, READ_ONLY, "attempts of a controlled shutdown; not needed here"
    ),
    Setting(
        "controlled.shutdown.retry.backoff.ms",
        LONG,
        5000,
        None,
        READ_ONLY,
        "pause between attempts of a controlled shutdown",
    ),
    Setting("inter.broker.protocol.version", STRING, "3.9-IV0", None, READ_ONLY, "brokers do not communicate here"),
    Setting(
        "leader.imbalance.per.broker.percentage", INT, 10, None, READ_ONLY, "when leaders are rebalanced; never here"
    ),
    Setting(
        "log.message.downconversion.enable",
        BOOLEAN,
        True,
        None,
        CLUSTER_WIDE,
        "default of the topic setting message.downconversion.enable",
    ),
    Setting(
        "log.message.format.version",
        STRING,
        _FORMAT,
        format_versions((3, 9)),
        READ_ONLY,
        "default of the topic setting message.format.version",
        has_effect=True,
    ),
    Setting(
        "log.message.timestamp.difference.max.ms",
        LONG,
        LONG_MAX,
        Range(0),
        CLUSTER_WIDE,
        "default of the topic setting message.timestamp.difference.max.ms",
        has_effect=True,
    ),
    Setting(
        "offsets.commit.required.acks", SHORT, -1, None, READ_ONLY, "replicas that must store a commit; here always all"
    ),
    Setting("reserved.broker.max.id", INT, 1000, Range(0), READ_ONLY, "highest configured broker id"),
    Setting("zookeeper.connect", STRING, None, None, READ_ONLY, "address of ZooKeeper; not needed here"),
    Setting("zookeeper.connection.timeout.ms", INT, None, None, READ_ONLY, "how long to wait for ZooKeeper"),
    Setting("zookeeper.max.in.flight.requests", INT, 10, Range(1), READ_ONLY, "requests to ZooKeeper at a time"),
    Setting("zookeeper.session.timeout.ms", INT, 18000, None, READ_ONLY, "session timeout with ZooKeeper"),
    Setting("zookeeper.set.acl", BOOLEAN, False, None, READ_ONLY, "whether ZooKeeper has ACLs"),
)

_MORE_TOPIC_ROWS = (
    Setting(
        "message.downconversion.enable",
        BOOLEAN,
        True,
        None,
        CLUSTER_WIDE,
        "whether records are converted for clients that only know old formats",
        broker_name="log.message.downconversion.enable",
    ),
    Setting(
        "message.format.version",
        STRING,
        _FORMAT,
        format_versions((3, 9)),
        CLUSTER_WIDE,
        "format in which new records are stored (LO-7); releases from 3.0 on ignore it",
        broker_name="log.message.format.version",
        has_effect=True,
    ),
    Setting(
        "message.timestamp.difference.max.ms",
        LONG,
        LONG_MAX,
        Range(0),
        CLUSTER_WIDE,
        "how far a record's timestamp may be from the broker's time, unless one-sided bounds are set (PD-18)",
        broker_name="log.message.timestamp.difference.max.ms",
        has_effect=True,
    ),
)
_OTHER_BOUNDS: dict[str, Allowed] = {"segment.bytes": Range(14)}  # 1 MiB since 4.0

TOPIC_ROWS_BEFORE_4 = tuple(
    sorted([*_MORE_TOPIC_ROWS, *(row._replace(allowed=_OTHER_BOUNDS.get(row.name, row.allowed)) for row in TOPIC_ROWS)])
)
