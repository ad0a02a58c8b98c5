"""DeleteShareGroupOffsets, key 92, v0: forget topics of a share group that has no members (KIP-932, SGO-5)."""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.groups.share.offsets import TopicCodes, delete_offsets
from fakebroker.broker.core.topics import Topic
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)

_NO_TOPIC_ID = bytes(16)


def handle(call: Call, request: DeleteShareGroupOffsetsRequest) -> DeleteShareGroupOffsetsResponse | None:
    """Delete each topic's states, and answer when the share coordinator has done so."""
    if not request.group_id:
        return DeleteShareGroupOffsetsResponse(error_code=ErrorCode.INVALID_GROUP_ID, error_message="no group id")
    topics = {entry.topic_name: call.cluster.topics.get(entry.topic_name) for entry in request.topics}

    def deleted(codes: TopicCodes, _now: Instant) -> None:
        call.reply(
            DeleteShareGroupOffsetsResponse(responses=[_topic(name, topic, codes) for name, topic in topics.items()])
        )

    topic_ids = [topic.id for topic in topics.values() if topic is not None]
    try:
        delete_offsets(call.shard(request.group_id), request.group_id, topic_ids, deleted, call.now)
    except KafkaError as error:
        return DeleteShareGroupOffsetsResponse(error_code=error.code, error_message=error.message)
    return None


def _topic(name: str, topic: Topic | None, codes: TopicCodes) -> DeleteShareGroupOffsetsResponseTopic:
    """The answer for one topic; one that does not exist or has no state is answered without its id, as in Kafka."""
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None or topic.id not in codes else codes[topic.id]
    if not code:
        return DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic.id if topic else _NO_TOPIC_ID)
    what = "the topic does not exist" if topic is None else "the group has no start offsets for it"
    message = f"{name}: {what if topic is None or topic.id not in codes else code.name}"
    topic_id = topic.id if topic is not None and topic.id in codes else _NO_TOPIC_ID
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=name, topic_id=topic_id, error_code=code, error_message=message
    )
