"""Requests about transactions that a good client does not send, as steps of a random history."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.transaction_history import TransactionHistory


def send_odd_request(history: "TransactionHistory") -> None:
    """One of them, with its answer."""
    history.chance.choice(ODD)(history)


def _without_id(history: "TransactionHistory") -> None:
    api = history.chance.choice(["InitProducerId", "AddOffsetsToTxn", "EndTxn"])
    own: dict[str, dict[str, Any]] = {
        "InitProducerId": {"transaction_timeout_ms": 1000},
        "AddOffsetsToTxn": {"group_id": "g"},
        "EndTxn": {},
    }
    answer = history.client.request(api, 3, transactional_id="", **own[api])
    history.tell(f"{api} of the empty id", answer.error_code)


def _half_a_producer(history: "TransactionHistory") -> None:
    """Only one of producer id and epoch."""
    producer = history.some_producer()
    half = history.chance.choice([{"producer_id": 5}, {"producer_epoch": 0}])
    timeout_ms = history.chance.choice([1000, 0])
    answer = history.client.request(
        "InitProducerId", 4, transactional_id=producer.name, transaction_timeout_ms=timeout_ms,
        **{"producer_id": -1, "producer_epoch": -1, **half},
    )  # fmt: skip
    history.tell(f"InitProducerId with {half}", (answer.error_code, answer.producer_id, answer.producer_epoch))


def _odd_partitions(history: "TransactionHistory") -> None:
    """No partitions at all, the same ones twice, one that does not exist."""
    producer = history.some_producer()
    claimed = history.claimed(producer)
    topic = history.topics[0]
    indexes = history.chance.choice([[], [0, 0], [0, 99], [-1]])
    topics = history.chance.choice([[], [{"name": topic, "partitions": indexes}]])
    answer = history.client.request(
        "AddPartitionsToTxn", 3, v3_and_below_transactional_id=producer.name, v3_and_below_producer_id=claimed[0],
        v3_and_below_producer_epoch=claimed[1], v3_and_below_topics=topics,
    )  # fmt: skip
    answered = [
        sorted((each.partition_index, each.partition_error_code) for each in topic.results_by_partition)
        for topic in answer.results_by_topic_v3_and_below
    ]
    history.tell(f"AddPartitionsToTxn {producer.name} {history.named(claimed)} {topics}", answered)


def _odd_offsets(history: "TransactionHistory") -> None:
    """The empty group, members that nobody knows, partitions that do not exist."""
    producer = history.some_producer()
    claimed = history.claimed(producer)
    odd: dict[str, Any] = history.chance.choice(
        [{"group_id": ""}, {"generation_id": 5, "member_id": "m"}, {"generation_id": 5}, {"member_id": "m"}]
    )
    version = 5 if producer.is_tv2 else history.chance.choice([2, 3, 4])
    if version < 3:
        odd = {key: value for key, value in odd.items() if key == "group_id"}
    topic = history.chance.choice([history.topics[0], f"{history.topics[0]}-missing"])
    place = {"partition_index": history.chance.choice([0, 99]), "committed_offset": 1, "committed_metadata": ""}
    fields = {"group_id": history.groups[0], **odd}
    answer = history.client.request(
        "TxnOffsetCommit", version, transactional_id=producer.name, producer_id=claimed[0], producer_epoch=claimed[1],
        topics=[{"name": topic, "partitions": [place]}], **fields,
    )  # fmt: skip
    answered = [(each.partition_index, each.error_code) for topic in answer.topics for each in topic.partitions]
    what = f"{producer.name} {history.named(claimed)} {topic} {place['partition_index']} {odd}"
    history.tell(f"TxnOffsetCommit v{version} {what}", answered)


def _odd_descriptions(history: "TransactionHistory") -> None:
    answer = history.client.request("DescribeTransactions", 0, transactional_ids=["", "nobody"])
    answered = sorted((each.error_code, each.transactional_id) for each in answer.transaction_states)
    history.tell("DescribeTransactions of nobody", answered)
    names = [history.topics[0], "missing", "!"]
    topics = [{"name": history.chance.choice(names), "partition_indexes": [history.chance.choice([0, 99])]}]
    described = history.client.request("DescribeProducers", 0, topics=topics)
    (found,) = described.topics[0].partitions
    history.tell(f"DescribeProducers {topics}", (found.error_code, len(found.active_producers)))


def _filtered_list(history: "TransactionHistory") -> None:
    filters: dict[str, Any] = history.chance.choice(
        [{}, {"state_filters": ["Ongoing", "Nonsense"]}, {"state_filters": ["Empty"]}, {"duration_filter": 100_000_000}]
    )
    version = history.chance.choice([0, 1]) if "duration_filter" not in filters else 1
    answer = history.client.request("ListTransactions", version, **filters)
    mine = {producer.name for producer in history.producers}
    answered = sorted(
        (each.transactional_id, each.transaction_state)
        for each in answer.transaction_states
        if each.transactional_id in mine
    )
    history.tell(f"ListTransactions v{version} {filters}", (answer.error_code, answer.unknown_state_filters, answered))


def _list_offsets(history: "TransactionHistory") -> None:
    topic, index = history.chance.choice(history.partitions)
    timestamp = history.chance.choice([-1, -2, -3, 0, history.a_time_ms(), 2**62])
    isolation_level = history.chance.choice([0, 1])
    answer = history.client.request(
        "ListOffsets", 7, replica_id=-1, isolation_level=isolation_level,
        topics=[{"name": topic, "partitions": [(index, -1, timestamp, 1)]}],
    )  # fmt: skip
    (found,) = answer.topics[0].partitions
    _, code, _, found_ms, offset, _ = found
    answered = (code, history.time_of(found_ms), offset)
    history.tell(f"ListOffsets {topic}-{index} at {timestamp}, isolation level {isolation_level}", answered)


def _write_markers(history: "TransactionHistory") -> None:
    """A marker from outside, of a producer's own epoch or the one before: as an operator ends what hangs."""
    producer = history.some_producer()
    epoch = producer.epoch - history.chance.choice([0, 0, 1])
    if producer.producer_id < 0 or epoch < 0:
        return
    topic, index = history.chance.choice([*history.partitions, (f"{history.topics[0]}-missing", 0)])
    is_commit = history.chance.random() < 0.5
    marker = {
        "producer_id": producer.producer_id,
        "producer_epoch": epoch,
        "transaction_result": is_commit,
        "topics": [{"name": topic, "partition_indexes": [index]}],
        "coordinator_epoch": history.chance.choice([0, 0, -1]),
    }
    answer = history.client.request("WriteTxnMarkers", 1, markers=[marker])
    answered = [
        (each.partition_index, each.error_code)
        for one in answer.markers
        for topic in one.topics
        for each in topic.partitions
    ]
    what = f"{topic}-{index} {'commit' if is_commit else 'abort'} by coordinator epoch {marker['coordinator_epoch']}"
    history.tell(f"WriteTxnMarkers {history.named((producer.producer_id, epoch))} {what}", answered)


ODD: list[Callable[["TransactionHistory"], None]] = [
    _without_id,
    _half_a_producer,
    _odd_partitions,
    _odd_offsets,
    _odd_descriptions,
    _filtered_list,
    _list_offsets,
    _list_offsets,
    _write_markers,
]
