"""Broker settings of transactions and producer ids."""

from fakebroker.broker.settings.declare import (
    BOOLEAN,
    CLUSTER_WIDE,
    INT,
    READ_ONLY,
    SHORT,
    Range,
    Setting,
)

# fmt: off
ROWS = (
    Setting("add.partitions.to.txn.retry.backoff.max.ms", INT, 100, Range(0), READ_ONLY,
            "longest total time of these attempts (TX-13)", has_effect=True),
    Setting("add.partitions.to.txn.retry.backoff.ms", INT, 20, Range(1), READ_ONLY,
            "pause between attempts of AddPartitionsToTxn inside the broker (TX-13)", has_effect=True),
    Setting("producer.id.expiration.ms", INT, 86_400_000, Range(1), CLUSTER_WIDE,
            "how long the sequence numbers of an idle producer are kept (ID-11)", has_effect=True),
    Setting("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, 10000, Range(1), READ_ONLY,
            "interval of the check for timed-out transactions (TX-23)", has_effect=True),
    Setting("transaction.max.timeout.ms", INT, 900_000, Range(1), READ_ONLY,
            "longest transaction timeout that a producer may set (PI-5)", has_effect=True),
    Setting("transaction.partition.verification.enable", BOOLEAN, True, None, CLUSTER_WIDE,
            "whether a partition must be in the transaction before records are appended (TX-6)", has_effect=True),
    Setting("transaction.remove.expired.transaction.cleanup.interval.ms", INT, 3_600_000, Range(1), READ_ONLY,
            "interval of the check for expired transactional ids (TX-24)", has_effect=True),
    Setting("transaction.state.log.load.buffer.size", INT, 5_242_880, Range(1), READ_ONLY,
            "batch size when reading transactions into the cache"),
    Setting("transaction.state.log.min.isr", INT, 2, Range(1), READ_ONLY,
            "min.insync.replicas of `__transaction_state`", has_effect=True),
    Setting("transaction.state.log.num.partitions", INT, 50, Range(1), READ_ONLY,
            "partitions of `__transaction_state` (TS-1)", has_effect=True),
    Setting("transaction.state.log.replication.factor", SHORT, 3, Range(1), READ_ONLY,
            "replicas of each partition of `__transaction_state`, at most one per broker", has_effect=True),
    Setting("transaction.state.log.segment.bytes", INT, 104_857_600, Range(1), READ_ONLY,
            "segment size of `__transaction_state`", has_effect=True),
    Setting("transaction.two.phase.commit.enable", BOOLEAN, False, None, READ_ONLY,
            "whether producers may take part in a two-phase commit"),
    Setting("transactional.id.expiration.ms", INT, 604_800_000, Range(1), READ_ONLY,
            "how long an idle transactional id is kept (TX-24)", has_effect=True),
)
# fmt: on
