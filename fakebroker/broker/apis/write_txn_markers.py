"""WriteTxnMarkers, key 27, v0-v2: a transaction coordinator ends transactions in partitions (KIP-98, WM).

v1 flexible; v2 the transaction version by which a marker's epoch is checked (KIP-1228, WM-2). Coordinators of this
cluster do the same without a request (broker/core/transactions/completion.py); this is for clients such as
`kafka-transactions abort`.
"""

from collections.abc import Callable, Generator

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.logs.delayed_produce import DelayedProduce, ProduceTarget, target_of
from fakebroker.broker.core.logs.unloaded_segments import before_append
from fakebroker.broker.core.topics import Partition, Topic
from fakebroker.broker.core.transactions.producer import Producer
from fakebroker.broker.core.transactions.transaction_markers import write_marker
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

MARKERS_PER_STEP = 2_000
_FIRST_TV2 = 2
_Codes = dict[int, dict[str, dict[int, ErrorCode]]]
"""By producer id, topic and partition index: several markers of one producer are answered together (WM-1)."""


def handle(call: Call, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse | None:
    """Write each marker into each of its partitions, then wait until replicas have them, as Kafka does."""
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: WriteTxnMarkersRequest) -> Steps[WriteTxnMarkersResponse]:
    pace = call.pace(MARKERS_PER_STEP)
    found: dict[str, Topic | None] = {}  # at the first look: one that is made anew meanwhile is another
    codes: _Codes = {}
    targets: list[ProduceTarget] = []
    for marker in request.markers:
        for topic in marker.topics:
            named = found.setdefault(topic.name, call.cluster.topics.get(topic.name))
            if pace.is_over():
                yield
            if not topic.partition_indexes:
                continue  # what names no partition is not answered
            results = codes.setdefault(marker.producer_id, {}).setdefault(topic.name, {})
            for index in dict.fromkeys(topic.partition_indexes):
                partition = None if named is None else named.partition(index)
                results[index] = yield from _write(call, marker, partition, pace)
                if partition is not None and not results[index]:
                    target = target_of(partition, call.node.id, _settling(results, index))
                    targets += [] if target is None else [target]
                if pace.is_over():
                    yield
    if not targets:
        return _response(codes)
    waiting = DelayedProduce(targets, lambda: call.reply(_response(codes)))
    call.on_close(lambda _now: waiting.stop())
    waiting.begin(call.cluster.timers, call.node.settings.get_int("request.timeout.ms"), call.now)
    return None


def _write(
    call: Call, marker: WritableTxnMarker, partition: Partition | None, pace: Pace
) -> Generator[None, None, ErrorCode]:
    """Append a marker to a partition that this broker leads; the error, or NONE."""
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    code = partition.error_for_access(call.node.id)
    if code or call.node.id in partition.stale_views:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if marker.producer_id < 0 or marker.producer_epoch < 0:  # Kafka fails to build such a batch
        return ErrorCode.UNKNOWN_SERVER_ERROR
    try:
        yield from before_append(partition.log, pace)
        write_marker(
            call.cluster,
            partition,
            Producer(marker.producer_id, marker.producer_epoch),
            commit=marker.transaction_result,
            coordinator_epoch=marker.coordinator_epoch,
            now=call.now,
            is_tv2=marker.transaction_version >= _FIRST_TV2,
        )
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def _settling(results: dict[int, ErrorCode], index: int) -> Callable[[ErrorCode], None]:
    def settle(code: ErrorCode) -> None:
        results[index] = code

    return settle


def _response(codes: _Codes) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
                            for index, code in results.items()
                        ],
                    )
                    for name, results in topics.items()
                ],
            )
            for producer_id, topics in codes.items()
        ]
    )
