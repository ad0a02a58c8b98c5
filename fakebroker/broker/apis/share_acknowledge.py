"""ShareAcknowledge, key 79, v1-v2: what became of acquired records (KIP-932, SGK).

v2: locks can be renewed (KIP-1222), and the answer carries their duration.
"""

from collections.abc import Callable

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.leader_hint import name_leader
from fakebroker.broker.apis.share_requests import (
    PARTITIONS_PER_STEP,
    Acknowledged,
    Acknowledgements,
    MayRead,
    acknowledged,
    are_valid_ids,
    everything,
    find_partition,
)
from fakebroker.broker.core.share_partitions.group_settings import ShareGroupSettings
from fakebroker.broker.core.share_partitions.sessions import CLOSING_EPOCH, OPENING_EPOCH, ShareSession
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)


def handle(
    call: Call, request: ShareAcknowledgeRequest, may_read: MayRead = everything
) -> ShareAcknowledgeResponse | None:
    """Apply the acknowledgements, then close the session if that is wanted (SGF-3, SGF-6)."""
    group_id, member_id = request.group_id, request.member_id
    if group_id is None or member_id is None or not are_valid_ids(group_id, member_id):
        return ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_REQUEST)
    epoch = request.share_session_epoch
    if epoch == OPENING_EPOCH:
        return ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    try:
        session = call.node.share_partitions.sessions.resume(group_id, member_id, epoch)
    except KafkaError as error:
        return ShareAcknowledgeResponse(error_code=error.code)
    acknowledgements = Acknowledgements(call, session, may_renew=request.is_renew_ack, may_read=may_read)
    entries = {  # of a partition that comes twice the last counts
        (topic.topic_id, each.partition_index): acknowledged(each.acknowledgement_batches)
        for topic in request.topics
        for each in topic.partitions
    }

    def reply(_now: Instant) -> None:
        response = call.work(_response(call, session, acknowledgements))
        if response is not None:
            call.reply(response)

    def done(now: Instant) -> None:
        if epoch == CLOSING_EPOCH:
            call.node.share_partitions.close_session(session, reply, now)
        else:
            reply(now)

    wanted: list[Acknowledged] = [(key, batches) for key, batches in entries.items() if batches]
    return call.work(_in_steps(call, session, acknowledgements, wanted, done), must_finish=True)


def _in_steps(
    call: Call,
    session: ShareSession,
    acknowledgements: Acknowledgements,
    wanted: list[Acknowledged],
    done: Callable[[Instant], None],
) -> Steps[ShareAcknowledgeResponse]:
    """Begin and store. Returns None: `done` sends the answer."""
    manager = call.node.share_partitions
    manager.begin_acknowledging(session)
    try:
        yield from acknowledgements.begin(wanted)
        yield from acknowledgements.store(done)
    finally:
        manager.end_acknowledging(session, call.now)
    return None


def _response(call: Call, session: ShareSession, acknowledgements: Acknowledgements) -> Steps[ShareAcknowledgeResponse]:
    pace = call.pace(PARTITIONS_PER_STEP)
    response = ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=ShareGroupSettings(call.node, session.group_id).lock_duration_ms
    )
    topics: dict[bytes, ShareAcknowledgeTopicResponse] = {}
    for key, (code, message) in acknowledgements.errors.items():
        topic_id, index = key
        topic = topics.setdefault(topic_id, ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=[]))
        data = PartitionData(partition_index=index, error_code=code, error_message=message)
        topic.partitions.append(data)
        partition, _ = find_partition(call, key)
        if code == ErrorCode.NOT_LEADER_OR_FOLLOWER and partition is not None:
            name_leader(call, partition, data, response, leader=LeaderIdAndEpoch, endpoint=NodeEndpoint)
        if pace.is_over():
            yield
    response.responses = list(topics.values())
    return response
