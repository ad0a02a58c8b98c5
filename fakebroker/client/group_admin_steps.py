"""What a scripted client asks as an administrator of consumer, share and streams groups."""

from collections.abc import Mapping, Sequence
from typing import Any

from fakebroker.client.requesting import Flow, Requesting, by_topic
from fakebroker.protocol.arguments.checks import check_partitions


class GroupAdminSteps(Requesting):
    """Steps that name their group first. They return the answers as they are."""

    def describe_consumer_group(self, group_id: str) -> Flow[Any]:
        """The ConsumerGroupDescribe answer for one group: its state, epochs and members with their assignments."""
        return self.request("ConsumerGroupDescribe", group_ids=[group_id])

    def describe_share_group(self, group_id: str) -> Flow[Any]:
        """The ShareGroupDescribe answer for one group: its state, epochs and members."""
        return self.request("ShareGroupDescribe", group_ids=[group_id])

    def describe_streams_group(self, group_id: str) -> Flow[Any]:
        """The StreamsGroupDescribe answer for one group: its topology, and members with their tasks."""
        return self.request("StreamsGroupDescribe", group_ids=[group_id])

    def share_group_offsets(self, group_id: str, partitions: Sequence[tuple[str, int]] | None = None) -> Flow[Any]:
        """The DescribeShareGroupOffsets answer: the start offsets of a share group, for these partitions or for all.

        Raises InvalidArgument unless they are a list such as [("orders", 0)].
        """
        topics = None
        if partitions is not None:
            check_partitions("partitions", partitions)
            rows = by_topic(dict.fromkeys(partitions, 0))
            topics = [{"topic_name": topic, "partitions": [index for index, _ in each]} for topic, each in rows.items()]
        return self.request("DescribeShareGroupOffsets", groups=[{"group_id": group_id, "topics": topics}])

    def alter_share_group_offsets(self, group_id: str, offsets: Mapping[tuple[str, int], int]) -> Flow[Any]:
        """Set the start offsets of a share group without members (AlterShareGroupOffsets).

        Raises InvalidArgument unless the offsets are a mapping such as {("orders", 0): 42}.
        """
        check_partitions("offsets", offsets)
        topics = [
            {
                "topic_name": topic,
                "partitions": [{"partition_index": index, "start_offset": offset} for index, offset in rows],
            }
            for topic, rows in by_topic(offsets).items()
        ]
        return self.request("AlterShareGroupOffsets", group_id=group_id, topics=topics)

    def delete_share_group_offsets(self, group_id: str, topics: Sequence[str]) -> Flow[Any]:
        """Delete the offsets of a share group without members for these topics (DeleteShareGroupOffsets)."""
        rows = [{"topic_name": topic} for topic in topics]
        return self.request("DeleteShareGroupOffsets", group_id=group_id, topics=rows)
