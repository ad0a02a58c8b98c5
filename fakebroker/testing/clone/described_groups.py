"""Groups as the admin APIs tell them, as records: for a Kafka whose internal topics may not be read.

The APIs do not tell when an offset was committed, nor generations and timeouts: each offset counts as committed at the
time of the clone. Members of classic groups are cloned with default timeouts; those of other groups are left out.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from fakebroker.client.cluster.asking import GROUP, Coordinator
from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.errors import AnsweredError
from fakebroker.protocol.records.consumer_group_schema import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from fakebroker.protocol.records.group_records import GroupRecord
from fakebroker.protocol.records.offsets_codec import Format, group_key, group_value, offset_key, offset_value
from fakebroker.protocol.records.offsets_topic import GroupValue, MemberValue, stored_offset
from fakebroker.protocol.records.share_group_schema import (
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    TopicPartitionsInfo,
)
from fakebroker.protocol.records.share_state_log import ShareStateEntry
from fakebroker.protocol.records.share_state_schema import ShareSnapshotValue
from fakebroker.protocol.records.streams_group_schema import StreamsGroupMetadataKey, StreamsGroupMetadataValue
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from fakebroker.protocol.wire.messages.describe_groups import DescribeGroupsRequest
from fakebroker.protocol.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequest
from fakebroker.protocol.wire.messages.share_group_describe import ShareGroupDescribeRequest
from fakebroker.protocol.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from fakebroker.protocol.wire.registry import newest_for_one
from fakebroker.testing.clone.source import ListedGroup

# What the APIs do not tell of members: the defaults of Kafka's consumer.
_SESSION_TIMEOUT_MS: Final = 45_000
_REBALANCE_TIMEOUT_MS: Final = 300_000
_GENERATION: Final = 1

KeyAndValue = tuple[bytes, bytes]


class DescribedGroups:
    """Asks for groups one by one."""

    def __init__(self, cluster: ClusterClient, now_ms: int) -> None:
        self._cluster = cluster
        self._now_ms = now_ms

    def records(self, group: ListedGroup) -> list[KeyAndValue]:
        """The records of `__consumer_offsets` that say what the APIs tell.

        Raises AnsweredError for a group that may not be read, ClusterError.
        """
        if group.kind == "share":
            return self._share_records(group.group_id)
        return [*self._group_records(group), *self._offsets(group.group_id)]

    def share_states(self, group_id: str) -> list[ShareStateEntry]:
        """Where a share group is in each partition, as snapshots; without acknowledgements.

        Raises AnsweredError, ClusterError.
        """
        return [
            ShareStateEntry(group_id, topic.topic_id, each.partition_index, self._snapshot(each))
            for topic in self._share_offsets(group_id)
            for each in topic.partitions
            if not each.error_code
        ]

    # -- records of groups ---------------------------------------------------------------------------------------

    def _group_records(self, group: ListedGroup) -> list[KeyAndValue]:
        if group.kind == "consumer":
            epoch = self._described(
                ConsumerGroupDescribeRequest(group_ids=[group.group_id]), group.group_id
            ).group_epoch
            key: Message = ConsumerGroupMetadataKey(group_id=group.group_id)
            return [_encoded(GroupRecord(3, key, ConsumerGroupMetadataValue(epoch=epoch)))]
        if group.kind == "streams":
            epoch = self._described(StreamsGroupDescribeRequest(group_ids=[group.group_id]), group.group_id).group_epoch
            key = StreamsGroupMetadataKey(group_id=group.group_id)
            return [_encoded(GroupRecord(17, key, StreamsGroupMetadataValue(epoch=epoch)))]
        return self._classic_records(group.group_id)

    def _classic_records(self, group_id: str) -> list[KeyAndValue]:
        found = self._described(DescribeGroupsRequest(groups=[group_id]), group_id)
        if not found.protocol_type:  # only offsets: no record says that there is such a group
            return []
        # Members of a rebalance have no protocol yet, and no record.
        members = tuple(map(_member, found.members)) if found.protocol_data else ()
        value = GroupValue(
            protocol_type=found.protocol_type,
            generation=_GENERATION,
            protocol=found.protocol_data or None,
            leader=members[0].member_id if members else None,
            state_ms=self._now_ms,
            members=members,
        )
        return [(group_key(group_id), group_value(value, Format()))]

    def _share_records(self, group_id: str) -> list[KeyAndValue]:
        epoch = self._described(ShareGroupDescribeRequest(group_ids=[group_id]), group_id).group_epoch
        records = [GroupRecord(11, ShareGroupMetadataKey(group_id=group_id), ShareGroupMetadataValue(epoch=epoch))]
        topics = [
            TopicPartitionsInfo(
                topic_id=topic.topic_id,
                topic_name=topic.topic_name,
                partitions=[each.partition_index for each in topic.partitions if not each.error_code],
            )
            for topic in self._share_offsets(group_id)
        ]
        if topics:
            key = ShareGroupStatePartitionMetadataKey(group_id=group_id)
            records.append(GroupRecord(15, key, ShareGroupStatePartitionMetadataValue(initialized_topics=topics)))
        return list(map(_encoded, records))

    # -- offsets -------------------------------------------------------------------------------------------------

    def _offsets(self, group_id: str) -> Iterator[KeyAndValue]:
        request = OffsetFetchRequest(group_id=group_id, topics=None)
        role = Coordinator(GROUP, group_id)
        answer = self._cluster.ask(request, role, newest_for_one(ApiKey.OFFSET_FETCH))
        if answer.error_code:
            raise AnsweredError(f"the offsets of group {group_id!r}", answer.error_code)
        for topic in answer.topics:
            for partition, offset, leader_epoch, metadata, code in topic.partitions:
                if not code and offset >= 0:
                    stored = stored_offset(
                        topic.name,
                        partition,
                        offset,
                        leader_epoch=leader_epoch,
                        metadata=metadata or "",
                        commit_ms=self._now_ms,
                    )
                    yield offset_key(group_id, topic.name, partition), offset_value(stored, Format())

    def _share_offsets(self, group_id: str) -> Sequence[Any]:
        request = DescribeShareGroupOffsetsRequest(
            groups=[DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)]
        )
        found = self._cluster.ask(request, Coordinator(GROUP, group_id)).groups[0]
        if found.error_code:
            raise AnsweredError(f"the offsets of group {group_id!r}", found.error_code, found.error_message)
        topics: Sequence[Any] = found.topics
        return topics

    def _snapshot(self, partition: Any) -> ShareSnapshotValue:
        return ShareSnapshotValue(
            leader_epoch=partition.leader_epoch,
            start_offset=partition.start_offset,
            create_timestamp=self._now_ms,
            write_timestamp=self._now_ms,
        )

    def _described(self, request: Message, group_id: str) -> Any:
        found = self._cluster.ask(request, Coordinator(GROUP, group_id)).groups[0]
        if found.error_code:
            raise AnsweredError(f"group {group_id!r}", found.error_code, found.error_message)
        return found


def _member(member: Any) -> MemberValue:
    return MemberValue(
        member.member_id,
        member.group_instance_id,
        member.client_id,
        member.client_host,
        _REBALANCE_TIMEOUT_MS,
        _SESSION_TIMEOUT_MS,
        bytes(member.member_metadata),
        bytes(member.member_assignment),
    )


def _encoded(record: GroupRecord) -> KeyAndValue:
    key, value = record.encode()
    assert value is not None, "no tombstone"
    return key, value
