"""Produce of short batches that unpack to very many wrong records: no turn judges them all, and little is kept."""

import tracemalloc
from collections.abc import Sequence

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.engine import SimEngine
from tests.support.frames import request
from tests.support.turns_of_request import turns

GZIP = 1
TOO_LATE_MS = 1 << 50
MOST_CALLS = 200_000  # of a turn: some 40 ms
MOST_KEPT_BYTES = 10 << 20


def produce(batches: Sequence[bytes]) -> bytes:
    data = [PartitionProduceData(index=index, records=batch) for index, batch in enumerate(batches)]
    return request("Produce", 9, acks=-1, topic_data=[TopicProduceData(name="t", partition_data=data)])


def batch_of(*times_ms: int) -> bytes:
    return build_batch([Record(n, time_ms, b"k", b"") for n, time_ms in enumerate(times_ms)], codec=GZIP)


@pytest.mark.parametrize("count", [20_000, 90_000])
def test_turns_and_memory_are_bounded(count: int) -> None:
    """Two batches of them: at most the first names its records."""
    lab = SimEngine()
    lab.cluster.topics.create("t", 2)
    client = lab.client()
    frame = produce([batch_of(*[TOO_LATE_MS] * count)] * 2)
    longest = max(turns(lab, client.socket.connection, frame))
    lab.network.flush()
    answers = client.answer("Produce", 9).responses[0].partition_responses

    assert longest < MOST_CALLS
    assert {answer.error_code for answer in answers} == {ErrorCode.INVALID_TIMESTAMP}
    assert [len(answer.record_errors) for answer in answers] == [count if count == 20_000 else 0, 0]


def test_what_is_kept_for_the_answer_is_bounded() -> None:
    """Until the answer is written, for the batches together."""
    lab = SimEngine()
    lab.cluster.topics.create("t", 20)
    client = lab.client()
    frame = produce([batch_of(*[TOO_LATE_MS] * 9_000)] * 20)
    tracemalloc.start()
    try:
        client.socket.connection.receive(frame, lab.network.now)
        while lab.engine.works:
            lab.engine.step(lab.network.now)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak_bytes < MOST_KEPT_BYTES


@pytest.mark.rules("PD-18", "PD-19")
@pytest.mark.parametrize("early_ms", [0, 200])
def test_records_without_a_time_beside_others(early_ms: int) -> None:
    """They are judged in the same steps; a batch that is fine is stored then, once."""
    lab = SimEngine()
    topic = lab.cluster.topics.create("t", config={"message.timestamp.before.max.ms": "100"})
    client = lab.client()
    now_ms = lab.network.now.wall_ms
    frame = produce([batch_of(*[-1, now_ms] * 9_999, now_ms - early_ms)])
    longest = max(turns(lab, client.socket.connection, frame))
    lab.network.flush()
    (answer,) = client.answer("Produce", 9).responses[0].partition_responses

    assert longest < MOST_CALLS
    assert [error.batch_index for error in answer.record_errors] == ([19_998] if early_ms else [])
    assert topic.partitions[0].log.log_end_offset == (0 if early_ms else 19_999)
