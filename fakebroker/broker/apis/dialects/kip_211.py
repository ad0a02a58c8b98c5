"""OffsetCommit v4 as the text of KIP-211 has it: without retention_time, otherwise as the released one (DR-13).

Kafka dropped retention_time in v5.
"""

from fakebroker.broker.apis import offset_commit
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.records.batch_format import NO_TIMESTAMP
from fakebroker.protocol.records.offsets_topic import NO_EPOCH
from fakebroker.protocol.wire.drafts import Kip211OffsetCommitRequest
from fakebroker.protocol.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)


def handle(call: Call, request: Kip211OffsetCommitRequest) -> OffsetCommitResponse | None:
    """OffsetCommit without retention_time: the broker's own retention applies to every offset."""
    topics = [
        OffsetCommitRequestTopic(
            name=topic.name,
            partitions=[
                (index, offset, NO_EPOCH, NO_TIMESTAMP, metadata) for index, offset, metadata in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return offset_commit.handle(
        call,
        OffsetCommitRequest(
            group_id=request.group_id,
            generation_id_or_member_epoch=request.generation_id,
            member_id=request.member_id,
            topics=topics,
        ),
    )
