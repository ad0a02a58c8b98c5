"""Produce, key 0, v0-v13: append batches (PD).

v0-v2 carry message sets of formats 0 and 1, for releases before 4.0; they are stored as one batch (PD-30). v3 record
batches (KIP-98); v5 log start offset; v7 zstd (KIP-110); v8 errors of single records (KIP-467); v9 flexible (KIP-482);
v10 names the leader beside NOT_LEADER_OR_FOLLOWER (KIP-951); v11 knows TRANSACTION_ABORTABLE (KIP-890); v12 the
partition joins its transaction by itself (KIP-890); v13 topic ids (KIP-516).
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.broker.apis.call import Call, Repeat, Steps
from fakebroker.broker.apis.leader_hint import name_leader
from fakebroker.broker.apis.produce_transactions import ProducedTransaction
from fakebroker.broker.core.logs.appends import AppendError, AppendErrorContent, BadRecords
from fakebroker.broker.core.logs.bad_records import BadRecordsOfRequest
from fakebroker.broker.core.logs.delayed_produce import DelayedProduce, ProduceTarget, target_of
from fakebroker.broker.core.logs.log import Appended
from fakebroker.broker.core.logs.produce_validation import (
    append,
    append_at_once,
    check_readable,
    extract_batch,
    first_request_error,
    is_header_truncated,
    is_message_set,
    is_single_batch,
    is_single_batch_of_open_transaction,
)
from fakebroker.broker.core.logs.request_scans import SHORT_BATCH_BYTES, RequestScans
from fakebroker.broker.core.logs.unloaded_segments import before_append, has_unloaded
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.record_scan import LongScan
from fakebroker.protocol.wire.layout import AnswerTemplate
from fakebroker.protocol.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition, Topic

# Errors found where the log is at hand; with all others log_start_offset is -1 (PD-14, CLU-60).
_KNOWS_LOG_START = frozenset(
    {
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.NOT_ENOUGH_REPLICAS,
    }
)

_NO_LEADER = LeaderIdAndEpoch()  # shared, never changed

PARTITIONS_PER_STEP = 5_000  # with batches that cost nothing, such as empty ones


_Topics = dict[tuple[str, bytes], "Topic | None"]
"""What the topics of a request stand for, by name and id."""


class _Part(NamedTuple):
    """One partition of a request: where its batch goes, or the error for it (then `partition` is None)."""

    partition_index: int
    partition: "Partition | None" = None
    batch: bytes | None = None
    error: AppendErrorContent | None = None


class _Plan(NamedTuple):
    """What to do: for each topic its entry and the parts of its partitions."""

    entries: list[TopicProduceData]
    parts: list[list[_Part]]

    def failed(self, error: AppendErrorContent) -> "_Plan":
        """The same with this error for every partition."""
        return _Plan(
            self.entries, [[_Part(part.partition_index, error=error) for part in topic] for topic in self.parts]
        )


def handle(call: Call, request: ProduceRequest) -> ProduceResponse | None:
    """Append to each partition on its own: an error of one leaves the others as they are (PD-24)."""
    # In one step, and before any other: the client's rights were judged by what the topics' ids stand for now.
    topics = {(entry.name, entry.topic_id): _topic(call, entry) for entry in request.topic_data}
    return call.work(_in_steps(call, request, topics), must_finish=True)


def _in_steps(call: Call, request: ProduceRequest, topics: _Topics) -> Steps[ProduceResponse]:
    """Plan, and append.

    For transactional batches the transaction coordinator may have to be asked first; the request is parked meanwhile.
    """
    plan = yield from _plan(call, request, topics)
    if request.transactional_id is None:
        return (yield from _each_partition(call, request, plan))
    batches = [(part.partition, part.batch) for topic in plan.parts for part in topic if part.partition is not None]
    transaction = ProducedTransaction(call, request.transactional_id, batches)
    if not transaction.has_several_producers:
        steps = _each_partition(call, request, plan, transaction)
        return (yield from _after_question(call, transaction, steps))
    failure = AppendErrorContent(
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        "the request has batches of several producers",
        show_message=True,
    )
    return (yield from _each_partition(call, request, plan.failed(failure), transaction))


def repeat(call: Call, request: ProduceRequest, response: ProduceResponse) -> Repeat | None:
    """The next batches of a producer for one partition, of whatever size: only the batch and the log are asked anew.

    Whatever is not a single short batch that can be appended and answered at once starts over on the general way.
    """
    if call.version < 7 or len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1:
        return None  # before v7 a batch may not be compressed with zstd (PD-13)
    entry, answered = request.topic_data[0], response.responses[0].partition_responses[0]
    topic = _topic(call, entry)
    partition = topic.partition(answered.index) if topic is not None else None
    if partition is None or answered.error_code:
        return None
    topics, node_id, acks = call.cluster.topics, call.node.id, request.acks
    changes, producers = topics.changes, partition.log.producers
    is_appendable: Callable[[bytes | None], bool] = is_single_batch
    if request.transactional_id is not None:
        is_appendable = partial(is_single_batch_of_open_transaction, producers=producers)
    body = response.encode(call.version)
    template = AnswerTemplate(body, ProduceResponse.locator(call.version)(body, 0))

    def answer(call: Call, values: tuple[Any, ...]) -> bytes | list[bytes] | None:
        (records,) = values
        if topics.changes != changes or partition.is_lagging or not is_appendable(records):
            return None
        try:
            appended = append_at_once(partition, node_id, records, acks, call.now)
        except (AppendError, LongScan):
            return None
        return template.fill(*appended)

    return answer


def _plan(call: Call, request: ProduceRequest, topics: _Topics) -> Generator[None, None, _Plan]:
    """What to append where, after the checks of the request as a whole and of each partition's records; in steps.

    If a partition comes twice, its last batch is appended (PD-26).
    """
    pace = call.pace(PARTITIONS_PER_STEP)
    entries = yield from _merged(request.topic_data, pace)
    if call.cluster.behaviours.unreadable_requests_close:
        yield from check_readable((data.records for entry in entries for data in entry.partition_data), pace)
    request_error = yield from first_request_error(
        (data.records for entry in entries for data in entry.partition_data),
        pace,
        has_transactional_id=request.transactional_id is not None,
    )
    parts: list[list[_Part]] = []
    is_any_truncated = False
    for entry in entries:
        topic = topics[entry.name, entry.topic_id]
        parts.append([])
        for index, records in {data.index: data.records for data in entry.partition_data}.items():  # the last of each
            part = _part(call, topic, index, records) if request_error is None else _Part(index, error=request_error)
            is_any_truncated = is_any_truncated or is_header_truncated(part.batch)
            parts[-1].append(part)
            if pace.is_over():
                yield
    plan = _Plan(entries, parts)
    if is_any_truncated:
        return plan.failed(AppendErrorContent(ErrorCode.UNKNOWN_SERVER_ERROR, "the batch has no producer id"))
    return plan


def _each_partition(
    call: Call, request: ProduceRequest, plan: _Plan, transaction: ProducedTransaction | None = None
) -> Steps[ProduceResponse]:
    """Partition by partition. An append is one step; the scan of a long batch before it, and the load of the segment,
    take more of them.
    """
    response, pace = ProduceResponse(), call.pace(PARTITIONS_PER_STEP)
    scans, refusals = RequestScans(call.in_line), _Refusals(call, response, pace)
    targets: list[ProduceTarget] = []
    for entry, topic in zip(plan.entries, plan.parts, strict=True):
        answers = []
        for part in topic:
            if call.cluster.storage is not None and part.partition is not None and _is_unloaded(call, part.partition):
                yield from before_append(part.partition.log, pace)
            answer = yield from _answer(call, part, request.acks, refusals, scans, transaction)
            answers.append(answer)
            if request.acks < 0 and part.partition is not None and not answer.error_code:
                targets += _unreplicated(call, part.partition, answer, response)
            if scans.is_pause_due() or pace.is_over():
                yield
        response.responses.append(
            TopicProduceResponse(name=entry.name, topic_id=entry.topic_id, partition_responses=answers)
        )
    if targets:
        waiting = DelayedProduce(targets, lambda: call.reply(response))
        call.on_close(lambda _now: waiting.stop())
        waiting.begin(call.cluster.timers, request.timeout_ms, call.now)
    elif request.acks != 0:
        return response
    else:
        _without_answer(call, response)
    return None


def _after_question(
    call: Call, transaction: ProducedTransaction, steps: Steps[ProduceResponse]
) -> Steps[ProduceResponse]:
    """Take the steps after the coordinator has answered. It is asked for all partitions at once, which need their logs
    then; to make very many takes long.
    """
    pace = call.pace(PARTITIONS_PER_STEP)
    for _ in transaction.logs():
        if pace.is_over():
            yield
    transaction.ask(lambda: call.connection.work(call, steps, must_finish=True))
    return (yield from steps) if transaction.is_answered else None


def _unreplicated(
    call: Call, partition: "Partition", answer: PartitionProduceResponse, response: ProduceResponse
) -> list[ProduceTarget]:
    """What the answer of a partition has to wait for, if for anything. An error leaves its base offset (CLU-61)."""

    def settle(code: ErrorCode) -> None:
        answer.error_code, answer.log_append_time_ms, answer.log_start_offset = code, -1, partition.log.log_start_offset
        if code == ErrorCode.NOT_LEADER_OR_FOLLOWER and call.version >= 10:
            name_leader(call, partition, answer, response, leader=LeaderIdAndEpoch, endpoint=NodeEndpoint)

    target = target_of(partition, call.node.id, settle)
    return [] if target is None else [target]


def _merged(entries: list[TopicProduceData], pace: Pace) -> Generator[None, None, list[TopicProduceData]]:
    """Entries of the same topic as one new entry, without those that name no partition (PD-26); in steps."""
    if len(entries) == 1 and entries[0].partition_data:
        return entries
    topics: dict[tuple[str, bytes], list[PartitionProduceData]] = {}
    for entry in entries:
        if entry.partition_data:
            topics.setdefault((entry.name, entry.topic_id), []).extend(entry.partition_data)
        if pace.is_over():
            yield
    return [
        TopicProduceData(name=name, topic_id=topic_id, partition_data=data) for (name, topic_id), data in topics.items()
    ]


def _topic(call: Call, entry: TopicProduceData) -> "Topic | None":
    topics = call.cluster.topics
    return topics.by_id(entry.topic_id) if call.version >= 13 else topics.get(entry.name)


def _part(call: Call, topic: "Topic | None", index: int, records: bytes | None) -> _Part:
    partition = topic.partition(index) if topic is not None else None
    if partition is None:
        unknown_id = topic is None and call.version >= 13
        code = ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return _Part(index, error=AppendErrorContent(code, None))
    try:
        batch = extract_batch(records, old_formats=call.version < 3, zstd_allowed=call.version >= 7)
    except AppendError as error:
        return _Part(index, error=error.append_content)
    return _Part(index, partition, batch)


def _is_unloaded(call: Call, partition: "Partition") -> bool:
    """Whether an append would use a segment that is not in memory."""
    log = partition.used_log
    return log is not None and has_unloaded(log) and not partition.error_for_access(call.node.id)


def _answer(
    call: Call,
    part: _Part,
    acks: int,
    refusals: "_Refusals",
    scans: RequestScans,
    transaction: ProducedTransaction | None,
) -> Generator[None, None, PartitionProduceResponse]:
    partition, error_content = part.partition, part.error
    if transaction is not None and partition is not None:
        error_content = transaction.error_of(partition)
    if partition is None or error_content is not None:
        assert error_content is not None
        return _error_response(part.partition_index, error_content, _code(call, error_content), -1)
    try:
        appended = yield from _append(call, partition, part.batch, acks, scans, transaction)
        return _accepted(part.partition_index, appended)
    except AppendError as error:
        refused, bad_records = error.append_content, error.bad_records
    if bad_records is not None:
        named = yield from refusals.named(refused, bad_records)
        if named is None:
            scans.is_again = True
            answer = yield from _answer(call, part, acks, refusals, scans, transaction)
            scans.is_again = False
            return answer
        refused = named
    return refusals.answer(partition, refused)


class _Refusals:
    """The answers for the partitions of one request whose batches are refused."""

    def __init__(self, call: Call, response: ProduceResponse, pace: Pace) -> None:
        self._call = call
        self._response = response
        self._pace = pace
        self._bad_records = BadRecordsOfRequest()

    def named(
        self, refused: AppendErrorContent, bad_records: BadRecords
    ) -> Generator[None, None, AppendErrorContent | None]:
        """The error with the records that are wrong; None if there are none."""
        return (yield from self._bad_records.content(refused, bad_records, self._pace))

    def answer(self, partition: "Partition", refused: AppendErrorContent) -> PartitionProduceResponse:
        """The answer for a partition whose batch is refused."""
        code = _code(self._call, refused)
        log_start_offset = partition.log.log_start_offset if _tells_log_start(self._call, code) else -1
        answer = _error_response(partition.index, refused, code, log_start_offset)
        if refused.code == ErrorCode.NOT_LEADER_OR_FOLLOWER and self._call.version >= 10:
            name_leader(self._call, partition, answer, self._response, leader=LeaderIdAndEpoch, endpoint=NodeEndpoint)
        return answer


def _append(
    call: Call,
    partition: "Partition",
    batch: bytes | None,
    acks: int,
    scans: RequestScans,
    transaction: ProducedTransaction | None,
) -> Generator[None, None, Appended | None]:
    """Append one batch, a long one after a scan in steps; None if it is an empty message set. Raises AppendError."""
    _check_exists(call, partition)
    if transaction is not None:
        transaction.check(partition)
    if batch is None or len(batch) <= SHORT_BATCH_BYTES:
        try:
            return append(partition, call.node.id, batch, acks, call.now, scans.scan_short)
        except LongScan:
            assert batch is not None
    if is_message_set(batch):  # converting it needs its records at once
        return append(partition, call.node.id, batch, acks, call.now, scans.scan_any)
    scan_batch = yield from scans.scan_ahead(batch, partition.log.config, partition.log.name)
    _check_exists(call, partition)
    if transaction is not None:
        transaction.check(partition)
    return append(partition, call.node.id, batch, acks, call.now, scan_batch)


def _check_exists(call: Call, partition: "Partition") -> None:
    """Raise AppendError(UNKNOWN_TOPIC_OR_PARTITION) for a topic that was deleted between the steps of the request."""
    if call.cluster.topics.by_id(partition.topic.id) is not partition.topic:
        raise AppendError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted")


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


def _code(call: Call, error: AppendError | AppendErrorContent) -> ErrorCode:
    """The code of an error in this release."""
    return call.cluster.behaviours.invalid_record_error if error.code == ErrorCode.INVALID_RECORD else error.code


def _tells_log_start(call: Call, code: ErrorCode) -> bool:
    """Whether the log start stands beside an error (PD-14)."""
    if code == ErrorCode.INVALID_TIMESTAMP and not call.cluster.behaviours.invalid_times_tell_log_start:
        return False
    return code in _KNOWS_LOG_START


def _error_response(
    index: int, error: AppendErrorContent, code: ErrorCode, log_start_offset: int
) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=code,
        base_offset=-1,
        log_start_offset=log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=text)
            for at, text in error.record_errors
        ],
        error_message=error.message if error.show_message else None,
    )


def _without_answer(call: Call, response: ProduceResponse) -> None:
    """acks 0: no response if all went well (PD-4), else raise CloseConnection, as Kafka signals errors (PD-5)."""
    for topic in response.responses:
        for answer in topic.partition_responses:
            if answer.error_code:
                code = ErrorCode(answer.error_code).name
                raise CloseConnection(f"Produce with acks 0 failed: {topic.name or topic.topic_id.hex()} {code}")
    call.no_response()
