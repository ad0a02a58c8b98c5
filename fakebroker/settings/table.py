"""The tables of all settings by name."""

from fakebroker.settings import (
    group_rows,
    groups,
    logs,
    metrics_rows,
    network,
    older,
    own,
    remote,
    replication,
    security,
    share,
    topic_rows,
    transactions,
)
from fakebroker.settings.declare import Setting

_MODULES = (groups, logs, transactions, replication, network, security, remote, share, own)

BROKER_OLDER: dict[str, Setting] = {row.name: row for row in older.BROKER_ROWS}
BROKER: dict[str, Setting] = {row.name: row for module in _MODULES for row in module.ROWS} | BROKER_OLDER
TOPIC: dict[str, Setting] = {row.name: row for row in topic_rows.ROWS}
TOPIC_BEFORE_4: dict[str, Setting] = {row.name: row for row in older.TOPIC_ROWS_BEFORE_4}
GROUP: dict[str, Setting] = {row.name: row for row in group_rows.ROWS}
CLIENT_METRICS: dict[str, Setting] = {row.name: row for row in metrics_rows.ROWS}

# Where Kafka has several settings for one thing, the first that is set counts; their units differ.
FALLBACKS: dict[str, tuple[tuple[str, int], ...]] = {
    "log.retention.ms": (("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
    "log.roll.ms": (("log.roll.hours", 3_600_000),),
    "log.roll.jitter.ms": (("log.roll.jitter.hours", 3_600_000),),
    "log.flush.interval.ms": (("log.flush.scheduler.interval.ms", 1),),
    "log.dirs": (("log.dir", 1),),
}
