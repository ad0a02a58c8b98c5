"""ShareFetch, key 78, v1-v2: acquire records for a member of a share group, acknowledge others (KIP-932, SGF).

v2: `max_records` as a hard limit (KIP-1206), locks can be renewed (KIP-1222).
"""

from collections.abc import Generator, Mapping

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.fetch_answer import throttle_ms, together
from fakebroker.broker.apis.leader_hint import name_leader
from fakebroker.broker.apis.share_requests import (
    PARTITIONS_PER_STEP,
    Acknowledged,
    AcknowledgeError,
    Acknowledgements,
    MayRead,
    acknowledged,
    are_valid_ids,
    everything,
    find_partition,
)
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.logs.fetching import longest_wait_ms
from fakebroker.broker.core.share_partitions.acquisition import AcquireMode
from fakebroker.broker.core.share_partitions.group_settings import ShareGroupSettings
from fakebroker.broker.core.share_partitions.sessions import (
    CLOSING_EPOCH,
    OPENING_EPOCH,
    ShareSession,
    TopicIdPartition,
)
from fakebroker.broker.core.share_partitions.share_fetch import FetchedRecords, ShareFetch, ShareFetchParams
from fakebroker.broker.core.topics import Partition
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.wire.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)


def handle(call: Call, request: ShareFetchRequest, may_read: MayRead = everything) -> ShareFetchResponse | None:
    """Open, continue or close the session; acknowledge; fetch."""
    group_id, member_id = request.group_id, request.member_id
    if (
        group_id is None
        or member_id is None
        or not are_valid_ids(group_id, member_id)
        or not _is_renewal_valid(request)
    ):
        return ShareFetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    wanted = _acknowledged(request)
    if request.share_session_epoch == OPENING_EPOCH and wanted:
        return ShareFetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    try:
        session = _session(call, request, group_id, member_id)
    except KafkaError as error:
        if error.code == ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            return _answer_later(call, request.max_wait_ms, ShareFetchResponse(error_code=error.code))
        return ShareFetchResponse(error_code=error.code)
    if request.share_acquire_mode not in tuple(AcquireMode):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"unknown acquire mode {request.share_acquire_mode}")
    return call.work(_ShareFetchRequest(call, request, session, may_read).in_steps(wanted), must_finish=True)


def _is_renewal_valid(request: ShareFetchRequest) -> bool:
    """A request that renews locks fetches nothing (SGK-9)."""
    wants_records = request.max_wait_ms or request.min_bytes or request.max_bytes or request.max_records
    return not (request.is_renew_ack and wants_records)


def _acknowledged(request: ShareFetchRequest) -> list[Acknowledged]:
    """Of a partition that comes twice the last entry counts."""
    entries = {
        (topic.topic_id, each.partition_index): acknowledged(each.acknowledgement_batches)
        for topic in request.topics
        for each in topic.partitions
    }
    return [(key, batches) for key, batches in entries.items() if batches]


def _session(call: Call, request: ShareFetchRequest, group_id: str, member_id: str) -> ShareSession:
    """The session that the request opens, continues or closes. Raises KafkaError as `ShareSessions` does."""
    manager, epoch = call.node.share_partitions, request.share_session_epoch
    listed = [(topic.topic_id, each.partition_index) for topic in request.topics for each in topic.partitions]
    if epoch == OPENING_EPOCH:
        connection_id = call.connection_id
        session = manager.open_session(group_id, member_id, connection_id, listed)
        call.at_end(manager, lambda now: manager.connection_closed(connection_id, now))
        return session
    session = manager.sessions.resume(group_id, member_id, epoch)
    if epoch != CLOSING_EPOCH:
        session.update(
            listed, [(topic.topic_id, i) for topic in request.forgotten_topics_data for i in topic.partitions]
        )
    return session


def _answer_later(call: Call, wait_ms: int, response: ShareFetchResponse) -> ShareFetchResponse | None:
    """Answer after a while (SGF-4)."""
    if wait_ms <= 0:
        return response
    deadline = Deadline(lambda _now: call.reply(response), call)
    call.on_close(lambda _now: deadline.end())
    call.cluster.timers.mono.arm(deadline, call.now.mono_ms + longest_wait_ms(call.cluster, wait_ms))
    return None


class _ShareFetchRequest:
    """One request on its way: acknowledgements begin, records are looked for, the acknowledgements are stored (SGF-19).

    The answer tells of both.
    """

    def __init__(self, call: Call, request: ShareFetchRequest, session: ShareSession, may_read: MayRead) -> None:
        self._call = call
        self._request = request
        self._session = session
        self._epoch = request.share_session_epoch
        self._may_read = may_read
        self._acknowledgements = Acknowledgements(call, session, may_renew=request.is_renew_ack, may_read=may_read)
        self._found: dict[TopicIdPartition, FetchedRecords] = {}
        self._has_unknown_topic = False
        self._waits_for = 2

    def in_steps(self, wanted: list[Acknowledged]) -> Steps[ShareFetchResponse]:
        """Acknowledge and fetch. Returns None: the answer is sent when both are done."""
        manager = self._call.node.share_partitions
        manager.begin_acknowledging(self._session)
        try:
            yield from self._acknowledgements.begin(wanted)
            if self._epoch == CLOSING_EPOCH or self._request.is_renew_ack:
                self._one_done(self._call.now)
            else:
                yield from self._fetch()
            yield from self._acknowledgements.store(self._acknowledged)
        finally:
            manager.end_acknowledging(self._session, self._call.now)
        return None

    def _acknowledged(self, now: Instant) -> None:
        if self._epoch == CLOSING_EPOCH:
            self._call.node.share_partitions.close_session(self._session, self._one_done, now)
        else:
            self._one_done(now)

    def _fetch(self) -> Generator[None, None, None]:
        """Fetch all partitions of the session, each time another one first."""
        call, targets, pace = (
            self._call,
            list[tuple[TopicIdPartition, Partition]](),
            self._call.pace(PARTITIONS_PER_STEP),
        )
        for key in self._session.served(max(self._epoch, 0)):
            if pace.is_over():
                yield
            partition, code = find_partition(call, key, self._may_read)
            if code == ErrorCode.UNKNOWN_TOPIC_ID:  # also of a topic that was deleted meanwhile
                self._has_unknown_topic = True
            elif partition is None:
                self._found[key] = FetchedRecords(code)
            else:
                targets.append((key, partition))
        if not targets or not self._request.max_records or not self._request.max_bytes:
            self._one_done(call.now)
            return
        fetch = ShareFetch(call.node.share_partitions, self._params(), targets, self._fetched)
        call.on_close(lambda _now: fetch.stop())
        fetch.begin(call.now)

    def _fetched(self, found: dict[TopicIdPartition, FetchedRecords], now: Instant) -> None:
        self._found.update(found)
        acquired = {key: records.acquired for key, records in found.items() if records.acquired}
        if acquired:
            release = self._call.node.share_partitions.release_acquired
            self._call.if_unsent(lambda now: release(self._session, acquired, now))
        self._one_done(now)

    def _params(self) -> ShareFetchParams:
        request, session = self._request, self._session
        quota = self._call.quota
        quota_bytes = None if quota is None else quota.fetch_bytes
        max_bytes = min(request.max_bytes, self._call.node.settings.get_int("fetch.max.bytes"))
        if quota_bytes is not None:
            max_bytes = min(max_bytes, quota_bytes)
        return ShareFetchParams(
            session.group_id,
            session.member_id,
            request.max_wait_ms,
            min(request.min_bytes, max_bytes),
            max_bytes,
            request.max_records,
            request.batch_size,
            AcquireMode(request.share_acquire_mode),
        )

    def _one_done(self, _now: Instant) -> None:
        self._waits_for -= 1
        if self._waits_for:
            return
        if self._has_unknown_topic:  # an accident of 4.3.1 (SGF-8)
            self._call.reply(ShareFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        response = self._call.work(self._response())
        if response is not None:
            self._call.reply(response)

    def _response(self) -> Steps[ShareFetchResponse]:
        found = yield from self._to_answer()
        if (yield from self._is_throttled(found)):
            found = {}
        elif self._epoch != OPENING_EPOCH:
            yield from self._note_answered(found)
        steps = share_fetch_response(self._call, self._session.group_id, found, self._acknowledgements.errors)
        return (yield from steps)

    def _to_answer(self) -> Generator[None, None, dict[TopicIdPartition, FetchedRecords]]:
        """What was found, without the partitions that the session says nothing of."""
        found, pace = dict[TopicIdPartition, FetchedRecords](), self._call.pace(PARTITIONS_PER_STEP)
        for key, records in self._found.items():
            if self._epoch == OPENING_EPOCH or self._session.is_answered(key, **_has(records)):
                found[key] = records
            if pace.is_over():
                yield
        return found

    def _is_throttled(self, found: Mapping[TopicIdPartition, FetchedRecords]) -> Generator[None, None, bool]:
        """Whether the client has to wait and gets nothing. What it acquired stays so, as in Kafka (SGF-20)."""
        if self._call.quota is None:
            return False
        response = yield from share_fetch_response(self._call, self._session.group_id, found, {})
        assert response is not None
        return (yield from throttle_ms(self._call, response)) > 0

    def _note_answered(self, found: Mapping[TopicIdPartition, FetchedRecords]) -> Generator[None, None, None]:
        pace = self._call.pace(PARTITIONS_PER_STEP)
        for key, records in found.items():
            self._session.answered(key, **_has(records))
            if pace.is_over():
                yield


def _has(records: FetchedRecords) -> dict[str, bool]:
    """What the session asks about a partition."""
    return {"has_records": bool(records.acquired), "has_error": bool(records.code)}


_NOTHING = FetchedRecords(ErrorCode.NONE)
_NOT_ACKNOWLEDGED: AcknowledgeError = (ErrorCode.NONE, None)


def share_fetch_response(
    call: Call,
    group_id: str,
    found: Mapping[TopicIdPartition, FetchedRecords],
    acknowledged: Mapping[TopicIdPartition, AcknowledgeError],
) -> Steps[ShareFetchResponse]:
    """The answer that lists the partitions of both, those of a topic by their index (SGF-10, SGF-15)."""
    pace = call.pace(PARTITIONS_PER_STEP)
    response = ShareFetchResponse(acquisition_lock_timeout_ms=ShareGroupSettings(call.node, group_id).lock_duration_ms)
    topics: dict[bytes, ShareFetchableTopicResponse] = {}
    size_bytes = 0
    for key in sorted({**found, **acknowledged}):
        topic_id, _ = key
        topic = topics.setdefault(topic_id, ShareFetchableTopicResponse(topic_id=topic_id, partitions=[]))
        records, error = found.get(key, _NOTHING), acknowledged.get(key, _NOT_ACKNOWLEDGED)
        data = _partition_data(key, records, error, size_bytes)
        size_bytes += len(data.records or b"")
        topic.partitions.append(data)
        partition, _ = find_partition(call, key)
        if ErrorCode.NOT_LEADER_OR_FOLLOWER in (records.code, error[0]) and partition is not None:
            name_leader(call, partition, data, response, leader=LeaderIdAndEpoch, endpoint=NodeEndpoint)
        if pace.is_over():
            yield
    response.responses = list(topics.values())
    return response


def _partition_data(
    key: TopicIdPartition, records: FetchedRecords, error: AcknowledgeError, before_bytes: int
) -> PartitionData:
    return PartitionData(
        partition_index=key[1],
        error_code=records.code,
        acknowledge_error_code=error[0],
        acknowledge_error_message=error[1],
        records=together(records.batches, before_bytes),
        acquired_records=[
            AcquiredRecords(first_offset=each[0], last_offset=each[1], delivery_count=each[2])
            for each in records.acquired
        ],
    )
