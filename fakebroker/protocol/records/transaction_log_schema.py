"""Layouts of the keys and values in `__transaction_state` (TS-2).

A key or value begins with its version as int16, which is not part of these.
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Int64, Message, Str, Struct, field


class TransactionLogKey(Message, versions="0", names="lowerCamel"):
    """Which transactional id."""

    transactional_id: Str = field("0")


class PartitionsSchema(Struct, names="lowerCamel"):
    """The partitions of one topic that a transaction has."""

    topic: Str = field("0+")
    partition_ids: list[Int32] = field("0+")


class TransactionLogValue(Message, versions="0-1", flexible="1+", names="lowerCamel"):
    """What a coordinator knows of a transactional id. v1 (transaction.version 1): the tagged fields.

    Fields that version 0 lacks are lost in it.
    """

    producer_id: Int64 = field("0+")
    previous_producer_id: Int64 = field("1+", tag=0, default=-1, ignorable=True)
    next_producer_id: Int64 = field("1+", tag=1, default=-1, ignorable=True)
    producer_epoch: Int16 = field("0+")
    next_producer_epoch: Int16 = field("1+", tag=3, default=-1, ignorable=True)
    transaction_timeout_ms: Int32 = field("0+")
    transaction_status: Int8 = field("0+")
    transaction_partitions: list[PartitionsSchema] | None = field("0+", nullable="0+")
    transaction_last_update_timestamp_ms: Int64 = field("0+")
    transaction_start_timestamp_ms: Int64 = field("0+")
    client_transaction_version: Int16 = field("1+", tag=2, default=0, ignorable=True)
