"""Broker settings of transactions and producer ids."""

from fakebroker.settings.declare import (
    BOOLEAN,
    CLUSTER_WIDE,
    INT,
    READ_ONLY,
    SHORT,
    Range,
    Setting,
)

ROWS = (
    Setting("add.partitions.to.txn.retry.backoff.max.ms", INT, 100, Range(0), READ_ONLY, ""),
    Setting("add.partitions.to.txn.retry.backoff.ms", INT, 20, Range(1), READ_ONLY, ""),
    Setting("producer.id.expiration.ms", INT, 86_400_000, Range(1), CLUSTER_WIDE, ""),
    Setting("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, 10000, Range(1), READ_ONLY, ""),
    Setting("transaction.max.timeout.ms", INT, 900_000, Range(1), READ_ONLY, ""),
    Setting("transaction.partition.verification.enable", BOOLEAN, True, None, CLUSTER_WIDE, ""),
    Setting("transaction.remove.expired.transaction.cleanup.interval.ms", INT, 3_600_000, Range(1), READ_ONLY, ""),
    Setting("transaction.state.log.load.buffer.size", INT, 5_242_880, Range(1), READ_ONLY, ""),
    Setting("transaction.state.log.min.isr", INT, 2, Range(1), READ_ONLY, ""),
    Setting("transaction.state.log.num.partitions", INT, 50, Range(1), READ_ONLY, ""),
    Setting("transaction.state.log.replication.factor", SHORT, 3, Range(1), READ_ONLY, ""),
    Setting("transaction.state.log.segment.bytes", INT, 104_857_600, Range(1), READ_ONLY, ""),
    Setting("transaction.two.phase.commit.enable", BOOLEAN, False, None, READ_ONLY, ""),
    Setting("transactional.id.expiration.ms", INT, 604_800_000, Range(1), READ_ONLY, ""),
)
