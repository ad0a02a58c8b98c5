"""Records of `__transaction_state`."""

from typing import Final

from fakebroker.analysis.pipeline.contract import Table, columns
from fakebroker.analysis.pipeline.recipe import Recipe, listed

TABLE = Table(
    name="transaction_records",
    layer="bronze",
    about="Every record of `__transaction_state`: a transactional id and its transaction, as the coordinator stored it",
    columns=columns("""
        at timestamp?: the timestamp of the record
        transactional_id string: the transactional id
        state string?: the state, by Kafka's name; null for a tombstone, which forgets the id
        producer_id long?: the producer id; null for a tombstone
        producer_epoch int?: the producer epoch; null for a tombstone
        timeout_ms int?: the transaction timeout; null for a tombstone
        partitions int?: how many partitions are in the transaction; null for a tombstone
        topics strings?: their topics, sorted; null for a tombstone
        started_at timestamp?: when the transaction began; null if none did
        updated_at timestamp?: when the coordinator made the record; null for a tombstone
        client_version int?: 2 if the client uses transaction protocol 2 (KIP-890), else 0; null for a tombstone
        source string: the name of the log
        log_partition int: the partition of `__transaction_state`
        log_offset long: the record's offset in that partition
    """),
    key=("source", "log_partition", "log_offset"),
)

_PLACE: Final = listed(TABLE.key)


def recipe() -> Recipe:
    """A row for each record; of a record that is in several files one."""
    return Recipe(f"""
        SELECT {listed(TABLE.column_names)}
        FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY {_PLACE} ORDER BY file) AS number FROM transaction_log
        ) AS numbered
        WHERE number = 1
    """)
