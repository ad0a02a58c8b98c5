"""Records of `__transaction_state`."""

from typing import Final

from fakebroker.analysis.pipeline.contract import Column, Table
from fakebroker.analysis.pipeline.recipe import Recipe, listed

TABLE = Table(
    name="transaction_records",
    layer="bronze",
    about="Every record of `__transaction_state`: a transactional id and its transaction, as the coordinator stored it",
    columns=(
        Column("at", "timestamp", "the timestamp of the record", True),
        Column("transactional_id", "string", "the transactional id"),
        Column("state", "string", "the state, by Kafka's name; null for a tombstone, which forgets the id", True),
        Column("producer_id", "long", "the producer id; null for a tombstone", True),
        Column("producer_epoch", "int", "the producer epoch; null for a tombstone", True),
        Column("timeout_ms", "int", "the transaction timeout; null for a tombstone", True),
        Column("partitions", "int", "how many partitions are in the transaction; null for a tombstone", True),
        Column("topics", "strings", "their topics, sorted; null for a tombstone", True),
        Column("started_at", "timestamp", "when the transaction began; null if none did", True),
        Column("updated_at", "timestamp", "when the coordinator made the record; null for a tombstone", True),
        Column(
            "client_version",
            "int",
            "2 if the client uses transaction protocol 2 (KIP-890), else 0; null for a tombstone",
            True,
        ),
        Column("source", "string", "the name of the log"),
        Column("log_partition", "int", "the partition of `__transaction_state`"),
        Column("log_offset", "long", "the record's offset in that partition"),
    ),
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
