"""What the records of `__transaction_state` mean, and their bytes: both versions of the value are read (TS-1..TS-3).

The transaction coordinator works with these values. Kafka: `TransactionLog` and `TransactionLogValue`.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.batch_format import NO_TIMESTAMP
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.transaction_log_schema import PartitionsSchema, TransactionLogKey, TransactionLogValue

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
EMPTY_STATUS: Final = 0  # the one status that is written without partitions, as null (TS-3)

_INT16 = Struct(">h")
_KEY_VERSION: Final = 0


class TransactionValue(NamedTuple):
    """What is stored of a transactional id: the value of a record (TS-3).

    The last four fields are tagged fields of value version 1; read from version 0 they have their defaults.
    """

    producer_id: int
    producer_epoch: int  # of Prepare* states with transaction protocol 2: the raised one, as in the markers
    timeout_ms: int
    status: int  # the number of a transaction's state
    partitions: tuple[TopicPartition, ...]  # topics in the order of their first partition; () in Empty and Complete*
    last_update_ms: int
    start_ms: int = NO_TIMESTAMP  # -1: no transaction was begun since the last InitProducerId
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID  # while an ending transaction exhausts the epochs of its producer id (TX-15)
    next_producer_epoch: int = NO_PRODUCER_EPOCH  # for two-phase commit (KIP-939) only
    client_transaction_version: int = 0  # 2: the client uses transaction protocol 2 (KIP-890)


class TransactionEntry(NamedTuple):
    """A record about a transactional id; `value` None is a tombstone: the id is forgotten (TX-24)."""

    transactional_id: str
    value: TransactionValue | None


def transaction_key(transactional_id: str) -> bytes:
    """The key of the records of a transactional id (TS-2)."""
    return _INT16.pack(_KEY_VERSION) + TransactionLogKey(transactional_id=transactional_id).encode(0)


def transaction_value(value: TransactionValue, version: int = 1) -> bytes:
    """The value as bytes: in version 1 with transaction.version >= 1, else in 0, which loses the tagged fields (TS-2).

    Partitions are written by topic. Raises WireError for numbers that do not fit their fields.
    """
    return _INT16.pack(version) + TransactionLogValue(
        producer_id=value.producer_id,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        producer_epoch=value.producer_epoch,
        next_producer_epoch=value.next_producer_epoch,
        transaction_timeout_ms=value.timeout_ms,
        transaction_status=value.status,
        transaction_partitions=None if value.status == EMPTY_STATUS else _by_topic(value.partitions),
        transaction_last_update_timestamp_ms=value.last_update_ms,
        transaction_start_timestamp_ms=value.start_ms,
        client_transaction_version=value.client_transaction_version,
    ).encode(version)


def read_transaction(key: bytes | None, value: bytes | None) -> TransactionEntry | None:
    """What a record says; None for a key of a version unknown here, which Kafka skips.

    Raises WireError for a record without a key, and for bytes that cannot be read.
    """
    if key is None:
        raise WireError("a record of __transaction_state has no key")
    if _version(key, "key") != _KEY_VERSION:
        return None
    transactional_id = TransactionLogKey.decode(key, 0, _INT16.size)[0].transactional_id
    return TransactionEntry(transactional_id, None if value is None else _read_value(value))


def _read_value(data: bytes) -> TransactionValue:
    value, _ = TransactionLogValue.decode(data, _version(data, "value"), _INT16.size)
    return TransactionValue(
        value.producer_id,
        value.producer_epoch,
        value.transaction_timeout_ms,
        value.transaction_status,
        _partitions(value),
        value.transaction_last_update_timestamp_ms,
        value.transaction_start_timestamp_ms,
        value.previous_producer_id,
        value.next_producer_id,
        value.next_producer_epoch,
        value.client_transaction_version,
    )


def _by_topic(partitions: Iterable[TopicPartition]) -> list[PartitionsSchema]:
    """The partitions grouped by topic, in the order in which topics and partitions first appear."""
    indexes: dict[str, list[int]] = {}
    for topic, partition in partitions:
        indexes.setdefault(topic, []).append(partition)
    return [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in indexes.items()]


def _partitions(value: TransactionLogValue) -> tuple[TopicPartition, ...]:
    """The partitions of a stored value; Kafka does not look at those of an Empty one."""
    if value.transaction_status == EMPTY_STATUS:
        return ()
    topics = value.transaction_partitions or ()
    return tuple(TopicPartition(each.topic, partition) for each in topics for partition in each.partition_ids)


def _version(data: bytes, what: str) -> int:
    if len(data) < _INT16.size:
        raise WireError(f"the {what} of a record of __transaction_state is too short for a version: {len(data)} bytes")
    version: int = _INT16.unpack_from(data)[0]
    if version < 0:
        raise WireError(f"the {what} of a record of __transaction_state has an unknown version: {version}")
    return version
