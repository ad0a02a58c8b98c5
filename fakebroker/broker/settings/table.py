"""The tables of all settings by name."""

from fakebroker.broker.settings import (
    broker_groups,
    broker_internal,
    client_metrics_scope,
    group_scope,
    logs,
    network,
    remote,
    removed_in_4,
    replication,
    security,
    share,
    topic_scope,
    transactions,
)
from fakebroker.broker.settings.declare import Setting

_MODULES = (broker_groups, logs, transactions, replication, network, security, remote, share, broker_internal)

BROKER_REMOVED_IN_4: dict[str, Setting] = {row.name: row for row in removed_in_4.BROKER_ROWS}
BROKER: dict[str, Setting] = {row.name: row for module in _MODULES for row in module.ROWS} | BROKER_REMOVED_IN_4
TOPIC: dict[str, Setting] = {row.name: row for row in topic_scope.ROWS}
TOPIC_BEFORE_4: dict[str, Setting] = {row.name: row for row in removed_in_4.TOPIC_ROWS_BEFORE_4}
GROUP: dict[str, Setting] = {row.name: row for row in group_scope.ROWS}
CLIENT_METRICS: dict[str, Setting] = {row.name: row for row in client_metrics_scope.ROWS}

# Where Kafka has several settings for one thing, the first that is set counts; their units differ.
FALLBACKS: dict[str, tuple[tuple[str, int], ...]] = {
    "log.retention.ms": (("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
    "log.roll.ms": (("log.roll.hours", 3_600_000),),
    "log.roll.jitter.ms": (("log.roll.jitter.hours", 3_600_000),),
    "log.flush.interval.ms": (("log.flush.scheduler.interval.ms", 1),),
    "log.dirs": (("log.dir", 1),),
}
