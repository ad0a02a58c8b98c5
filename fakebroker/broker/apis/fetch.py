"""Fetch, key 1, v0-v18: records of partitions, with long poll and sessions (FT, FS).

v0-v1 message sets of format 0, v2-v3 of format 1 (MS-3); v0-v2 hard limits (FT-30; KIP-74); v4 isolation level
(KIP-98); v5 log start offset; v7 sessions (KIP-227); v9 current leader epoch (KIP-320); v10 zstd (KIP-110, FT-17); v11
rack, preferred replica, followers answer (KIP-392, CLU-52); v12 flexible, last fetched epoch, diverging epoch
(KIP-595); v13 topic ids (KIP-516); v15 replica state (KIP-903); v16 names the leader beside NOT_LEADER_OR_FOLLOWER and
FENCED_LEADER_EPOCH (KIP-951).
"""

from collections.abc import Generator

from fakebroker.broker.apis.call import Call, Repeat, RequestQuota, Steps
from fakebroker.broker.apis.fetch_answer import partition_data
from fakebroker.broker.apis.fetch_request import (
    PARTITIONS_PER_STEP,
    TARGETS_PER_STEP,
    FullFetch,
    IncrementalFetch,
    MayRead,
)
from fakebroker.broker.apis.isolation_levels import READ_COMMITTED, check_isolation_level
from fakebroker.broker.apis.repeated_fetch import RepeatedFullFetch, RepeatedIncrementalFetch
from fakebroker.broker.core.logs.fetch_sessions import FINAL_EPOCH, FULL_EPOCH, FetchSession, Key, name_of
from fakebroker.broker.core.logs.fetching import FetchParams, LogReadResult, PartitionFetch
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from fakebroker.protocol.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse


def handle(call: Call, request: FetchRequest, may_read: MayRead | None = None) -> FetchResponse | None:
    """Read at once, or wait until there is enough.

    A request may have a million partitions, and so may its session, so it goes in steps. Between two of them another
    connection may change the session, and topics are made: `may_read` is asked where each partition is looked up
    (AU-6). None: everybody may.
    """
    return call.work(_in_steps(call, request, may_read))


def _in_steps(call: Call, request: FetchRequest, may_read: MayRead | None) -> Steps[FetchResponse]:
    pace, params = call.pace(PARTITIONS_PER_STEP), _params(call, request)
    fetches = yield from _partition_fetches(call, request, pace)
    full, incremental = (FullFetch, IncrementalFetch) if call.quota is None else _in_quota(call.quota, params)
    if request.session_epoch in (FINAL_EPOCH, FULL_EPOCH):
        if request.session_id:
            call.node.fetch_sessions.close(request.session_id, str(call.principal))
        return (yield from _answer(request, full(call, params, fetches, request.session_epoch), may_read, pace))
    try:
        session = _resume_session(call, request, fetches)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)
    if not session.partitions:  # it ends, and the request counts as one without a session (FS-8)
        call.node.fetch_sessions.close(session.id, session.owner)
        return (yield from _answer(request, full(call, params, fetches, FINAL_EPOCH), may_read, pace))
    session.learn_names(call.cluster.topics)
    return (yield from _answer(request, incremental(call, params, session, fetches), may_read, pace))


def _answer(
    request: FetchRequest, fetch: FullFetch | IncrementalFetch, may_read: MayRead | None, pace: Pace
) -> Steps[FetchResponse]:
    """Read. An unknown isolation level counts where there is a partition to read (FT-14)."""
    yield from fetch.look_up_all(may_read, pace)
    if request.isolation_level not in (0, READ_COMMITTED):
        is_used = bool(fetch.targets or fetch.caught_up())
        check_isolation_level(fetch.call, request.isolation_level, is_used=is_used)
    return fetch.answer_or_wait()


def _in_quota(quota: RequestQuota, params: FetchParams) -> tuple[type[FullFetch], type[IncrementalFetch]]:
    """How to fetch where the client may be throttled (FT-19). `params` are cut to what it may get at once."""
    from fakebroker.broker.apis.fetch_in_quota import FullFetchInQuota, IncrementalFetchInQuota

    quota_bytes = quota.fetch_bytes
    if quota_bytes is not None:
        params.max_bytes = min(params.max_bytes, quota_bytes)
        params.min_bytes = min(params.min_bytes, params.max_bytes)
    return FullFetchInQuota, IncrementalFetchInQuota


def repeat(call: Call, request: FetchRequest, response: FetchResponse) -> Repeat | None:
    """The next fetches of the same partitions, if all of them were read, and at once: in a session, or without one."""
    if call.version < 10 or response.error_code or request.forgotten_topics_data:
        return None
    if any(data.error_code for entry in response.responses for data in entry.partitions):
        return None
    count, params = sum(len(entry.partitions) for entry in request.topics), _params(call, request)
    if count > TARGETS_PER_STEP:
        return None
    fetches = finished(_partition_fetches(call, request, AT_ONCE))
    if len(fetches) < count:  # one comes twice
        return None
    if request.session_epoch == FINAL_EPOCH and not request.session_id:
        partitions = [call.cluster.topics.partition(fetch.topic, fetch.partition) for fetch in fetches]
        targets = [(fetch, found) for fetch, found in zip(fetches, partitions, strict=True) if found is not None]
        return RepeatedFullFetch(call, params, targets)
    session = call.node.fetch_sessions.get(request.session_id, str(call.principal))
    if session is None or request.session_epoch <= FULL_EPOCH or session.params is None:
        return None
    return RepeatedIncrementalFetch(call, session.params, session, fetches)


def error_response(request: FetchRequest, version: int, code: ErrorCode) -> Generator[None, None, FetchResponse]:
    """`code` at the top level; before v13 also for every partition, as clients may not know the first (AV-10)."""
    responses = (yield from partition_errors(request, code)) if version < 13 else []
    return FetchResponse(error_code=code, session_id=request.session_id, responses=responses)


def partition_errors(request: FetchRequest, code: ErrorCode) -> Generator[None, None, list[FetchableTopicResponse]]:
    """The entries of an answer in which every partition of the request failed with `code`."""
    responses, pace = [], Pace(TARGETS_PER_STEP)
    for topic in request.topics:
        partitions = []
        for row in topic.partitions:
            partitions.append(partition_data(row[0], LogReadResult(code, aborted=[])))
            if pace.is_over():
                yield
        responses.append(FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=partitions))
        if pace.is_over():
            yield
    return responses


def _resume_session(call: Call, request: FetchRequest, fetches: list[PartitionFetch]) -> FetchSession:
    """The session of an incremental request, with what the request changes (FS-4, FS-10).

    Raises KafkaError as `FetchSessions.resume` does.
    """
    sessions = call.node.fetch_sessions
    session = sessions.resume(request.session_id, str(call.principal), request.session_epoch, call.version >= 13)
    session.update(fetches, _forgotten(request))
    if session.partitions:
        sessions.advance(session, call.now)
    return session


def _partition_fetches(call: Call, request: FetchRequest, pace: Pace) -> Generator[None, None, list[PartitionFetch]]:
    """The partitions of the request; of one that comes twice the last entry counts, at the first's position (FT-21).

    In steps.
    """
    fetches: dict[tuple[bytes, str, int], PartitionFetch] = {}
    for entry in request.topics:
        topic_id = entry.topic_id
        name = name_of(call.cluster.topics, topic_id) if call.version >= 13 else entry.topic
        for index, leader_epoch, offset, last_epoch, _, max_bytes, *_ in entry.partitions:
            one = PartitionFetch(name, topic_id, index, offset, max_bytes, leader_epoch, last_epoch)
            fetches[topic_id, name, index] = one
            if pace.is_over():
                yield
    return [*fetches.values()]


def _forgotten(request: FetchRequest) -> list[Key]:
    return [
        (topic.topic_id if any(topic.topic_id) else topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]


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
        read_committed=request.isolation_level == READ_COMMITTED,
        replica_id=request.replica_state.replica_id if version >= 15 else request.replica_id,
        from_followers=version >= 11,
        hard_limits=version < 3,
        rack=request.rack_id if request.rack_id and _selects_by_rack(call) else "",
        takes_zstd=version >= 10,
    )


def _selects_by_rack(call: Call) -> bool:
    """Whether replica.selector.class names Kafka's rack aware one (FT-18); others cannot be loaded here."""
    return str(call.node.settings.value("replica.selector.class")).endswith(".RackAwareReplicaSelector")
