"""The types of records in `__consumer_offsets`: the number that a key begins with, its name in Kafka, key and value."""

from typing import Final, NamedTuple

from fakebroker.protocol.records import consumer_group_schema as consumer
from fakebroker.protocol.records import offsets_schema as offsets
from fakebroker.protocol.records import share_group_schema as share
from fakebroker.protocol.records import streams_group_schema as streams
from fakebroker.protocol.schema import Message

LEGACY_OFFSET_COMMIT: Final = 0
OFFSET_COMMIT: Final = 1
GROUP_METADATA: Final = 2


class RecordType(NamedTuple):
    """A type of record. After the int16 with its number a key is laid out as version 0 of `key`; a value begins with
    its own version, of `value`."""

    number: int
    name: str
    key: type[Message]
    value: type[Message]


def _named(number: int, key: type[Message], value: type[Message]) -> RecordType:
    return RecordType(number, value.__name__.removesuffix("Value"), key, value)


# Kafka reads values under key 0 in version 0 only, which all releases that wrote this key also wrote.
_ALL: Final = (
    RecordType(LEGACY_OFFSET_COMMIT, "LegacyOffsetCommit", offsets.OffsetCommitKey, offsets.OffsetCommitValue),
    _named(OFFSET_COMMIT, offsets.OffsetCommitKey, offsets.OffsetCommitValue),
    _named(GROUP_METADATA, offsets.GroupMetadataKey, offsets.GroupMetadataValue),
    _named(3, consumer.ConsumerGroupMetadataKey, consumer.ConsumerGroupMetadataValue),
    _named(4, consumer.ConsumerGroupPartitionMetadataKey, consumer.ConsumerGroupPartitionMetadataValue),
    _named(5, consumer.ConsumerGroupMemberMetadataKey, consumer.ConsumerGroupMemberMetadataValue),
    _named(6, consumer.ConsumerGroupTargetAssignmentMetadataKey, consumer.ConsumerGroupTargetAssignmentMetadataValue),
    _named(7, consumer.ConsumerGroupTargetAssignmentMemberKey, consumer.ConsumerGroupTargetAssignmentMemberValue),
    _named(8, consumer.ConsumerGroupCurrentMemberAssignmentKey, consumer.ConsumerGroupCurrentMemberAssignmentValue),
    _named(10, share.ShareGroupMemberMetadataKey, share.ShareGroupMemberMetadataValue),
    _named(11, share.ShareGroupMetadataKey, share.ShareGroupMetadataValue),
    _named(12, share.ShareGroupTargetAssignmentMetadataKey, share.ShareGroupTargetAssignmentMetadataValue),
    _named(13, share.ShareGroupTargetAssignmentMemberKey, share.ShareGroupTargetAssignmentMemberValue),
    _named(14, share.ShareGroupCurrentMemberAssignmentKey, share.ShareGroupCurrentMemberAssignmentValue),
    _named(15, share.ShareGroupStatePartitionMetadataKey, share.ShareGroupStatePartitionMetadataValue),
    _named(16, consumer.ConsumerGroupRegularExpressionKey, consumer.ConsumerGroupRegularExpressionValue),
    _named(17, streams.StreamsGroupMetadataKey, streams.StreamsGroupMetadataValue),
    _named(19, streams.StreamsGroupMemberMetadataKey, streams.StreamsGroupMemberMetadataValue),
    _named(20, streams.StreamsGroupTargetAssignmentMetadataKey, streams.StreamsGroupTargetAssignmentMetadataValue),
    _named(21, streams.StreamsGroupTargetAssignmentMemberKey, streams.StreamsGroupTargetAssignmentMemberValue),
    _named(22, streams.StreamsGroupCurrentMemberAssignmentKey, streams.StreamsGroupCurrentMemberAssignmentValue),
    _named(23, streams.StreamsGroupTopologyKey, streams.StreamsGroupTopologyValue),
)

# 9 and 18 were used by releases that never were for production, and are not known to Kafka 4.3 either.
RECORD_TYPES: Final[dict[int, RecordType]] = {each.number: each for each in _ALL}
