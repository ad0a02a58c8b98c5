"""Fetch, key 1, v0-v18: records of partitions, with long poll and sessions (FT, FS).

v0-v1 message sets of format 0, v2-v3 of format 1 (MS-3); v0-v2 hard limits (FT-30; KIP-74); v4 isolation level
(KIP-98); v5 log start offset; v7 sessions (KIP-227); v9 current leader epoch (KIP-320); v10 zstd (KIP-110, FT-17); v11
rack, preferred replica, followers answer (KIP-392, CLU-52); v12 flexible, last fetched epoch, diverging epoch
(KIP-595); v13 topic ids (KIP-516); v15 replica state (KIP-903); v16 names the leader beside NOT_LEADER_OR_FOLLOWER and
FENCED_LEADER_EPOCH (KIP-951).

Left out: quotas (FT-19), aborted transactions (FT-15: the list is empty until there are transactions), padding of
converted answers (MS-5). A batch that does not fit is left out, where Kafka sends its beginning.
"""

from collections.abc import Sequence
from typing import cast

from fakebroker.apis.call import Call
from fakebroker.apis.leader_hint import name_leader
from fakebroker.core.logs.fetch_sessions import FINAL_EPOCH, FULL_EPOCH, FetchSession, Key, name_of
from fakebroker.core.logs.fetching import (
    DelayedFetch,
    FetchParams,
    FetchTarget,
    LogReadResult,
    PartitionFetch,
    read_all,
    read_partition,
)
from fakebroker.core.topics import Topic
from fakebroker.errors import ErrorCode, KafkaError
from fakebroker.instant import Instant
from fakebroker.records.conversion import message_set_from_batch
from fakebroker.records.faults import InvalidRecord
from fakebroker.wire.framing import LARGE_BYTES, Pieces
from fakebroker.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)

_NOT_DIVERGING, _NO_LEADER, _NO_SNAPSHOT = EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId()  # shared, never changed
_HINTED = {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH}


def handle(call: Call, request: FetchRequest) -> FetchResponse | None:
    """Read at once, or wait until there is enough."""
    return _single_partition(call, request) or _every_partition(call, request)


def _single_partition(call: Call, request: FetchRequest) -> FetchResponse | None:
    """The fast path: one partition, no session, and enough to read at once.

    Returns None if the request is not of this kind; `_every_partition` then starts over.
    """
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1 or call.version < 10:
        return None
    if request.session_epoch != FINAL_EPOCH or request.session_id or request.isolation_level not in (0, 1):
        return None
    (fetch,) = _partition_fetches(call, request)
    partition = call.cluster.topics.partition(fetch.topic, fetch.partition)
    if partition is None:
        return None
    params = _params(call, request)
    read = read_partition(call.cluster, fetch, partition, params, min(fetch.max_bytes, params.max_bytes))
    if not read.batches or (params.min_bytes > 1 and sum(map(len, read.batches)) < params.min_bytes):
        return None
    answer = FetchableTopicResponse(
        topic=fetch.topic, topic_id=fetch.topic_id, partitions=[_partition_data(fetch.partition, read)]
    )
    return FetchResponse(responses=[answer], node_endpoints=[])


def _every_partition(call: Call, request: FetchRequest) -> FetchResponse | None:
    if request.isolation_level not in (0, 1):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"isolation level {request.isolation_level}")
    try:
        fetches, session = _resume_session(call, request)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)
    return _Fetch(call, request, fetches, session).answer_or_wait()


def error_response(request: FetchRequest, version: int, code: ErrorCode) -> FetchResponse:
    """`code` at the top level; before v13 also for every partition, as clients may not know the first (AV-10)."""
    return FetchResponse(error_code=code, responses=partition_errors(request, code) if version < 13 else [])


def partition_errors(request: FetchRequest, code: ErrorCode) -> list[FetchableTopicResponse]:
    """The entries of an answer in which every partition of the request failed with `code`."""
    return [
        FetchableTopicResponse(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[_partition_data(row[0], LogReadResult(code, aborted=[])) for row in topic.partitions],
        )
        for topic in request.topics
    ]


def _resume_session(call: Call, request: FetchRequest) -> tuple[list[PartitionFetch], FetchSession | None]:
    """The partitions to read, and the session if the request is an incremental one (FS-1, FS-4, FS-8).

    Raises KafkaError as `FetchSessions.resume` does.
    """
    fetches = _partition_fetches(call, request)
    epoch = request.session_epoch
    if epoch in (FINAL_EPOCH, FULL_EPOCH):
        if request.session_id:
            call.node.fetch_sessions.close(request.session_id)
        return fetches, None
    sessions = call.node.fetch_sessions
    session = sessions.resume(request.session_id, epoch, call.version >= 13)
    session.update(fetches, _forgotten(request))
    if not session.partitions:
        sessions.close(session.id)
        return fetches, None
    sessions.advance(session, call.now.mono_ms)
    return session.partition_fetches(call.cluster.topics), session


def _partition_fetches(call: Call, request: FetchRequest) -> list[PartitionFetch]:
    """The partitions of the request; of one that comes twice the last entry counts, at the first's position (FT-21)."""
    fetches: list[PartitionFetch] = []
    for entry in request.topics:
        name = name_of(call.cluster.topics, entry.topic_id) if call.version >= 13 else entry.topic
        for index, leader_epoch, offset, last_epoch, _, max_bytes, *_ in entry.partitions:
            fetches.append(PartitionFetch(name, entry.topic_id, index, offset, max_bytes, leader_epoch, last_epoch))
    if len(fetches) > 1:
        return list({(one.topic_id, one.topic, one.partition): one for one in fetches}.values())
    return fetches


def _forgotten(request: FetchRequest) -> list[Key]:
    return [
        (topic.topic_id if any(topic.topic_id) else topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]


class _Fetch:
    """One request on its way to its answer, now or later."""

    def __init__(
        self, call: Call, request: FetchRequest, fetches: list[PartitionFetch], session: FetchSession | None
    ) -> None:
        self.call = call
        self.version = call.version
        self.session = session
        self.session_epoch = session.epoch if session else request.session_epoch
        self.params = _params(call, request)
        self.targets: list[FetchTarget] = []
        self.errors: list[tuple[PartitionFetch, LogReadResult]] = []
        for fetch in fetches:
            self._sort(fetch)

    def answer_or_wait(self) -> FetchResponse | None:
        """The response if there is enough to read or nothing to wait for (FT-5), else None: sent after the wait."""
        done = read_all(self.call.cluster, self.targets, self.params)
        params = self.params
        if params.max_wait_ms > 0 and self.targets and not done.ends_wait and done.size_bytes < params.min_bytes:
            waiting = DelayedFetch(self.call.cluster, self.targets, params, self._wait_is_over)
            if waiting.begin(self.call.now):
                self.call.on_close(lambda _now: waiting.stop())
                return None
        return self._response(done.reads, self.call.now)

    def _wait_is_over(self, now: Instant) -> None:
        done = read_all(self.call.cluster, self.targets, self.params)
        self.call.reply(self._response(done.reads, now))

    def _sort(self, fetch: PartitionFetch) -> None:
        """Add a partition to the targets, or to the errors if it cannot be read at all (FT-8, FS-7, FT-17)."""
        partition = self.call.cluster.topics.partition(fetch.topic, fetch.partition)
        if partition is None:
            unknown_id = self.version >= 13 and not fetch.topic
            code = ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            self.errors.append((fetch, LogReadResult(code, aborted=[])))
        elif self.version < 10 and _needs_zstd(self.call, partition.topic):
            self.errors.append((fetch, LogReadResult(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, aborted=[])))
        else:
            self.targets.append((fetch, partition))

    def _response(self, reads: list[LogReadResult], now: Instant) -> FetchResponse:
        answers = [(fetch, read) for (fetch, _), read in zip(self.targets, reads, strict=True)]
        answers += self.errors  # last, as in Kafka
        response = FetchResponse(responses=[], node_endpoints=[])
        if self.session is not None:
            if self.session.epoch != self.session_epoch:  # another connection went on with it meanwhile
                return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
            response.session_id = self.session.id
            answers = list(self.session.news(answers))
        elif self.version >= 7 and self.session_epoch == FULL_EPOCH:
            sessions = self.call.node.fetch_sessions
            response.session_id = sessions.create(answers, self.version >= 13, now.mono_ms)
        self._fill(response, answers)
        return response

    def _fill(self, response: FetchResponse, answers: list[tuple[PartitionFetch, LogReadResult]]) -> None:
        """Partitions in order, under one entry as long as the topic stays the same."""
        entry: FetchableTopicResponse | None = None
        for fetch, read in answers:
            if entry is None or (entry.topic, entry.topic_id) != (fetch.topic, fetch.topic_id):
                entry = FetchableTopicResponse(topic=fetch.topic, topic_id=fetch.topic_id, partitions=[])
                response.responses.append(entry)
            if self.version < 4:
                data = _old_partition_data(fetch, read, magic=0 if self.version < 2 else 1)
            else:
                data = _partition_data(fetch.partition, read)
            if read.code in _HINTED and self.version >= 16:
                self._name_leader(fetch, data, response)
            entry.partitions.append(data)

    def _name_leader(self, fetch: PartitionFetch, data: PartitionData, response: FetchResponse) -> None:
        """Who leads, if the partition still exists (FT-11)."""
        partition = self.call.cluster.topics.partition(fetch.topic, fetch.partition)
        if partition is not None:
            name_leader(self.call, partition, data, response, leader=LeaderIdAndEpoch, endpoint=NodeEndpoint)


def _params(call: Call, request: FetchRequest) -> FetchParams:
    version, node = call.version, call.node
    min_bytes, max_bytes, limit_bytes = request.min_bytes, request.max_bytes, node.settings.get_int("fetch.max.bytes")
    if max_bytes > limit_bytes:
        max_bytes = limit_bytes
    return FetchParams(
        node_id=node.id,
        max_wait_ms=request.max_wait_ms,
        min_bytes=min_bytes if min_bytes < max_bytes else max_bytes,
        max_bytes=max_bytes,
        read_committed=request.isolation_level == 1,
        replica_id=request.replica_state.replica_id if version >= 15 else request.replica_id,
        from_followers=version >= 11,
        hard_limits=version < 3,
        rack=request.rack_id if request.rack_id and _selects_by_rack(call) else "",
    )


def _selects_by_rack(call: Call) -> bool:
    """Whether replica.selector.class names Kafka's rack aware one (FT-18); others cannot be loaded here."""
    return str(call.node.settings.value("replica.selector.class")).endswith(".RackAwareReplicaSelector")


def _needs_zstd(call: Call, topic: Topic) -> bool:
    return call.cluster.behaviours.zstd_needs_fetch_v10 and topic.config.log.compression_type == "zstd"


def _partition_data(index: int, read: LogReadResult) -> PartitionData:
    batches = read.batches
    data = PartitionData(
        partition_index=index,
        error_code=read.code,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset,
        log_start_offset=read.log_start_offset,
        diverging_epoch=_NOT_DIVERGING,
        current_leader=_NO_LEADER,
        snapshot_id=_NO_SNAPSHOT,
        aborted_transactions=None,
        preferred_read_replica=read.preferred_replica,
        records=_together(batches),
    )
    if read.aborted is not None:
        data.aborted_transactions = [
            AbortedTransaction(producer_id=producer_id, first_offset=offset) for producer_id, offset in read.aborted
        ]
    if read.diverging is not None:
        data.diverging_epoch = EpochEndOffset(epoch=read.diverging[0], end_offset=read.diverging[1])
    if read.code and read.code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE:
        data.records = None
    return data


def _together(batches: Sequence[bytes]) -> bytes:
    """The batches joined. More than LARGE_BYTES are not copied: they stay the stored batches, as `Pieces`."""
    if len(batches) == 1:
        return batches[0]
    pieces = Pieces(batches)
    return b"".join(batches) if len(pieces) <= LARGE_BYTES else cast("bytes", pieces)


def _old_partition_data(fetch: PartitionFetch, read: LogReadResult, magic: int) -> PartitionData:
    """The same with the batches in message format 0 or 1 (MS-3, MS-4).

    UNSUPPORTED_COMPRESSION_TYPE if zstd would have to be converted, CORRUPT_MESSAGE for stored bytes that do not parse.
    """
    try:
        converted = [message_set_from_batch(batch, magic, fetch.offset) for batch in read.batches]
    except InvalidRecord as fault:
        unsupported = fault.code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return _partition_data(fetch.partition, LogReadResult(fault.code if unsupported else ErrorCode.CORRUPT_MESSAGE))
    return _partition_data(fetch.partition, read._replace(batches=converted))
