"""Produce, key 0, v0-v13: append batches (PD).

v0-v2 carry message sets of formats 0 and 1, for releases before 4.0; they are stored as one batch (PD-30). v3 record
batches; v5 log start offset; v7 zstd; v8 errors of single records; v9 flexible; v10 names the new leader beside 6; v11
code 120; v12 the partition joins its transaction by itself; v13 topic ids.

Left out until there is a transaction coordinator: no partition is ever part of a transaction, so transactional batches
are refused, v3-v10 with 48, v11 with 120, v12+ with 49 (TX-6). The quota delay of PD-28 waits for quotas.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.apis.call import Call, Steps
from fakebroker.apis.leader_hint import name_leader
from fakebroker.core.logs import produce
from fakebroker.core.logs.appends import AppendError, AppendRefusal
from fakebroker.core.logs.log import Appended
from fakebroker.core.logs.looks import SHORT_BATCH_BYTES, Looks
from fakebroker.errors import CloseConnection, ErrorCode
from fakebroker.records.record_scan import LongScan
from fakebroker.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from fakebroker.core.topics import Partition, Topic

# Errors found where the log is at hand; with all others log_start_offset is -1 (PD-14, CLU-60).
_KNOWS_LOG_START = frozenset(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.NOT_ENOUGH_REPLICAS,
    }
)

_NO_LEADER = LeaderIdAndEpoch()  # shared, never changed


class _Part(NamedTuple):
    """One partition of a request: where its batch goes, or why it goes nowhere."""

    number: int
    partition: "Partition | None" = None
    batch: bytes | None = None
    refusal: AppendRefusal | None = None


def handle(call: Call, request: ProduceRequest) -> ProduceResponse | None:
    """Append to each partition for itself (PD-24)."""
    return _one_good_batch(call, request) or call.work(_each_partition(call, request), must_finish=True)


def _one_good_batch(call: Call, request: ProduceRequest) -> ProduceResponse | None:
    """What producers send nearly always, appended and answered at little cost; None leaves it to `_each_partition`.

    No answer but success is given here, and a refused batch has changed nothing, so that the long way may begin anew.
    """
    if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1:
        return None
    if call.version < 7 or not request.acks:
        return None
    entry = request.topic_data[0]
    data = entry.partition_data[0]
    topic = _topic(call, entry)
    partition = topic.partition(data.index) if topic is not None else None
    if partition is None or not produce.is_plain_batch(data.records):
        return None
    try:
        appended = produce.append(partition, call.node.id, data.records, request.acks, call.now)
    except (AppendError, LongScan):
        return None
    answer = TopicProduceResponse(
        name=entry.name, topic_id=entry.topic_id, partition_responses=[_accepted(data.index, appended)]
    )
    return ProduceResponse(responses=[answer], node_endpoints=[])


def _each_partition(call: Call, request: ProduceRequest) -> Steps[ProduceResponse]:
    """One append is done in one step; long looks at the batch before it may take more."""
    entries = _merged(request.topic_data)
    refusal = produce.refusal_of_all(
        (data.records for entry in entries for data in entry.partition_data),
        has_transactional_id=request.transactional_id is not None,
    )
    parts = [_parts(call, entry, refusal) for entry in entries]
    if refusal is None and any(produce.fails_all(part.batch) for topic in parts for part in topic):
        failure = AppendRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, "a batch without a producer id")
        parts = [_parts(call, entry, failure) for entry in entries]
    response, looks = ProduceResponse(), Looks()
    for entry, topic in zip(entries, parts, strict=True):
        answers = []
        for part in topic:
            answers.append((yield from _answer(call, part, request.acks, response, looks)))
            if looks.is_pause_due():
                yield
        response.responses.append(
            TopicProduceResponse(name=entry.name, topic_id=entry.topic_id, partition_responses=answers)
        )
    if request.acks != 0:
        return response
    _without_answer(call, response)
    return None


def _merged(entries: list[TopicProduceData]) -> list[TopicProduceData]:
    """Entries of the same topic as one."""
    if len(entries) < 2:
        return entries
    topics: dict[tuple[str, bytes], TopicProduceData] = {}
    for entry in entries:
        first = topics.setdefault((entry.name, entry.topic_id), entry)
        if first is not entry:
            first.partition_data += entry.partition_data
    return list(topics.values())


def _topic(call: Call, entry: TopicProduceData) -> "Topic | None":
    topics = call.cluster.topics
    return topics.by_id(entry.topic_id) if call.version >= 13 else topics.get(entry.name)


def _parts(call: Call, entry: TopicProduceData, refusal: AppendRefusal | None) -> list[_Part]:
    """What to do for each partition of a topic; of one that comes twice the last counts (PD-26)."""
    topic = _topic(call, entry)
    records = {data.index: data.records for data in entry.partition_data}
    if refusal is not None:
        return [_Part(index, refusal=refusal) for index in records]
    return [_part(call, topic, index, records[index]) for index in records]


def _part(call: Call, topic: "Topic | None", index: int, records: bytes | None) -> _Part:
    partition = topic.partition(index) if topic is not None else None
    if partition is None:
        unknown_id = topic is None and call.version >= 13
        code = ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return _Part(index, refusal=AppendRefusal(code, None))
    try:
        batch = produce.cut_out(records, old_formats=call.version < 3, zstd_allowed=call.version >= 7)
    except AppendError as error:
        return _Part(index, refusal=error.content)
    if produce.is_transactional(batch):
        return _Part(index, refusal=_no_transaction(call.version))
    return _Part(index, partition, batch)


def _answer(
    call: Call, part: _Part, acks: int, response: ProduceResponse, looks: Looks
) -> Generator[None, None, PartitionProduceResponse]:
    partition = part.partition
    if partition is None:
        assert part.refusal is not None
        return _refused(part.number, part.refusal, -1)
    try:
        return _accepted(part.number, (yield from _append(call, partition, part.batch, acks, looks)))
    except AppendError as error:
        log_start_offset = partition.log.log_start_offset if error.code in _KNOWS_LOG_START else -1
        answer = _refused(part.number, error.content, log_start_offset)
        if error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER and call.version >= 10:
            name_leader(call, partition, answer, response, leader=LeaderIdAndEpoch, endpoint=NodeEndpoint)
        return answer


def _append(
    call: Call, partition: "Partition", batch: bytes | None, acks: int, looks: Looks
) -> Generator[None, None, Appended | None]:
    """Raises AppendError."""
    if batch is None or len(batch) <= SHORT_BATCH_BYTES:
        try:
            return produce.append(partition, call.node.id, batch, acks, call.now, looks.short)
        except LongScan:
            assert batch is not None
    if produce.is_message_set(batch):  # converting it needs its records at once
        return produce.append(partition, call.node.id, batch, acks, call.now, looks.at_once)
    look = yield from looks.ahead(batch, partition.log.config, partition.log.name)
    if call.cluster.topics.by_id(partition.topic.id) is None:
        raise AppendError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted")
    return produce.append(partition, call.node.id, batch, acks, call.now, look)


def _accepted(index: int, appended: Appended | None) -> PartitionProduceResponse:
    if appended is None:  # an empty message set (PD-31)
        return PartitionProduceResponse(index=index, base_offset=-1)
    return PartitionProduceResponse(
        index=index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=appended.log_start_offset,
        record_errors=[],
        current_leader=_NO_LEADER,
    )


def _refused(index: int, refusal: AppendRefusal, log_start_offset: int) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=refusal.code,
        base_offset=-1,
        log_start_offset=log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=text)
            for at, text in refusal.record_errors
        ],
        error_message=refusal.message if refusal.told else None,
    )


def _no_transaction(version: int) -> AppendRefusal:
    """What a transactional batch gets while no transaction can have been begun (TX-6, TX-7)."""
    if version >= 12:
        return AppendRefusal(ErrorCode.INVALID_PRODUCER_ID_MAPPING, "the transactional id is not known")
    code = ErrorCode.TRANSACTION_ABORTABLE if version == 11 else ErrorCode.INVALID_TXN_STATE
    return AppendRefusal(code, "the partition is not part of the transaction", told=True)


def _without_answer(call: Call, response: ProduceResponse) -> None:
    """acks 0: silence, or the end of the connection if anything went wrong (PD-4, PD-5)."""
    for topic in response.responses:
        for answer in topic.partition_responses:
            if answer.error_code:
                code = ErrorCode(answer.error_code).name
                raise CloseConnection(f"Produce with acks 0 failed: {topic.name or topic.topic_id.hex()} {code}")
    call.no_response()
