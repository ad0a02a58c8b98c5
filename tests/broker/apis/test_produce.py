"""Tests of Produce: who may write where, and what is answered in which version."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from fakebroker.broker.apis import produce
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import CloseConnection, ErrorCode
from fakebroker.protocol.records.batch import read_records, with_times
from fakebroker.protocol.records.batch_format import LOG_APPEND_TIME_BIT
from fakebroker.protocol.records.message_set import build_message_set
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.support.log_apis import NOW, LogApis, batch
from tests.support.time import T0

Make = Callable[..., Call]
EVERYTHING = 1 << 60


def request_of(
    *parts: tuple[int, bytes | None], acks: int = -1, name: str = "t", topic_id: bytes = bytes(16), **fields: Any
) -> ProduceRequest:
    """A request for partitions of one topic."""
    data = [PartitionProduceData(index=index, records=records) for index, records in parts]
    topic = TopicProduceData(name=name, topic_id=topic_id, partition_data=data)
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic], **fields)


def send(
    lab: LogApis, records: bytes | None, version: int = 9, index: int = 0, **fields: Any
) -> PartitionProduceResponse:
    """The answer for the one partition written to; names or ids as the version wants."""
    node_id = fields.pop("node_id", 1)
    topic_id = fields.pop("topic_id", lab.topic.id if version >= 13 else bytes(16))
    request = request_of((index, records), topic_id=topic_id, **fields)
    response: ProduceResponse = lab.ask(produce, request, version, node_id)
    ((answer,),) = [topic.partition_responses for topic in response.responses]
    return answer


def outcome(answer: PartitionProduceResponse) -> tuple[int, int, int]:
    return answer.error_code, answer.base_offset, answer.log_start_offset


def with_codec(data: bytes, codec: int) -> bytes:
    """The same batch with another compression id, and a checksum to match."""
    return with_times(data, attributes=codec, max_timestamp_ms=T0)


@pytest.mark.rules("PD-2", "PD-9")
@pytest.mark.parametrize("version", range(3, 14))
def test_every_version_appends(make_call: Make, version: int) -> None:
    """Base offset, log append time and log start of each version's answer."""
    lab = LogApis(make_call)
    lab.append(T0, T0)
    answer = send(lab, batch(T0, T0), version)

    assert outcome(answer) == (0, 2, 0 if version >= 5 else -1)
    assert answer.log_append_time_ms == -1
    assert lab.log.log_end_offset == 4


@pytest.mark.rules("PD-9")
def test_log_append_time(make_call: Make) -> None:
    """The broker's time with LogAppendTime."""
    lab = LogApis(make_call, message_timestamp_type="LogAppendTime")

    assert send(lab, batch(T0)).log_append_time_ms == NOW.wall_ms


@pytest.mark.rules("PD-3")
@pytest.mark.parametrize("acks", [2, -2, 7])
def test_acks_must_be_legal(make_call: Make, acks: int) -> None:
    """Anything but -1, 0 and 1 is 21, and nothing is appended."""
    lab = LogApis(make_call)

    assert outcome(send(lab, batch(T0), acks=acks)) == (ErrorCode.INVALID_REQUIRED_ACKS, -1, -1)
    assert lab.log.log_end_offset == 0


@pytest.mark.rules("PD-4", "PD-5", "PD-24")
def test_acks_0(make_call: Make) -> None:
    """No answer when all is well; the end of the connection when anything is not, what was good is appended."""
    lab = LogApis(make_call)
    call, response = lab.call(produce, request_of((0, batch(T0)), acks=0), 9)
    assert response is None
    assert cast(Any, call.connection).replies == [None]

    with pytest.raises(CloseConnection, match="UNKNOWN_TOPIC_OR_PARTITION"):
        lab.call(produce, request_of((9, batch(T0)), (0, batch(T0)), acks=0), 9)
    assert lab.log.log_end_offset == 2


@pytest.mark.rules("PD-6")
def test_unknown_places(make_call: Make) -> None:
    """Unknown topic or partition 3; an unknown id 100, also the zero id; a known id's unknown partition 3."""
    lab = LogApis(make_call)
    assert outcome(send(lab, batch(T0), name="nope")) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    for index in (2, -1):
        assert outcome(send(lab, batch(T0), index=index)) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
        assert send(lab, batch(T0), 13, index).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for topic_id in (bytes(16), b"x" * 16):
        assert outcome(send(lab, batch(T0), 13, topic_id=topic_id)) == (ErrorCode.UNKNOWN_TOPIC_ID, -1, -1)


@pytest.mark.rules("PD-7")
@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state", "__share_group_state"])
def test_internal_topics(make_call: Make, name: str) -> None:
    """Nobody writes to them by Produce, not even Kafka's `__admin_client`."""
    for client_id in ("test", "__admin_client"):
        lab = LogApis(partial(make_call, client_id=client_id))
        lab.cluster.topics.internal(name)

        assert outcome(send(lab, batch(T0), name=name)) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1, -1)


@pytest.mark.rules("PD-8")
@pytest.mark.parametrize("version", [9, 10, 13])
def test_not_the_leader(make_call: Make, version: int) -> None:
    """6; from v10 with the leader's id, epoch and address."""
    lab = LogApis(make_call, nodes=2)
    lab.cluster.nodes[2].settings.set_own("broker.rack", "b")
    lab.partition.lead(2, NOW)
    lab.topic.partitions[1].lead(2, NOW)
    topic_id = lab.topic.id if version >= 13 else bytes(16)
    response = lab.ask(produce, request_of((0, batch(T0)), (1, batch(T0)), topic_id=topic_id), version)
    answers = response.responses[0].partition_responses

    assert [outcome(answer) for answer in answers] == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)] * 2
    expected = (2, lab.partition.leader_epoch) if version >= 10 else (-1, -1)
    assert [(a.current_leader.leader_id, a.current_leader.leader_epoch) for a in answers] == [expected] * 2
    endpoints = [(each.node_id, each.host, each.port, each.rack) for each in response.node_endpoints]
    assert endpoints == ([(2, "127.0.0.1", 9093, "b")] if version >= 10 else [])


@pytest.mark.rules("PD-10")
def test_the_order_of_checks(make_call: Make) -> None:
    """Unknown partition, form of the batch, acks, internal topic, leader, in-sync replicas, the batch itself."""
    lab = LogApis(make_call, nodes=2, min_insync_replicas=2)
    lab.cluster.topics.internal("__consumer_offsets")
    bad = batch(T0, base_offset=1)
    lab.partition.lead(2, NOW)
    lab.partition.isr = [2]
    assert send(lab, bad * 2, index=9, acks=7).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert send(lab, bad * 2, acks=7).error_code == ErrorCode.INVALID_RECORD
    assert send(lab, bad, acks=7, name="__consumer_offsets").error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert send(lab, bad, name="__consumer_offsets", node_id=2).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert send(lab, bad).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert send(lab, bad, node_id=2).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert send(lab, bad, node_id=2, acks=1).error_code == ErrorCode.INVALID_RECORD


@pytest.mark.rules("PD-23", "CLU-60")
def test_in_sync_replicas(make_call: Make) -> None:
    """acks -1 needs min.insync.replicas of them, at most as many as there are replicas; acks 1 does not."""
    lab = LogApis(make_call, nodes=3, min_insync_replicas=2)
    lab.append(T0, T0)
    lab.log.advance_log_start(1, NOW)
    lab.partition.isr = [1]
    assert outcome(send(lab, batch(T0))) == (ErrorCode.NOT_ENOUGH_REPLICAS, -1, 1)
    assert lab.log.log_end_offset == 2
    assert send(lab, batch(T0), acks=1).error_code == 0
    lab.partition.isr = [1, 3]
    assert send(lab, batch(T0)).error_code == 0
    assert send(LogApis(make_call, min_insync_replicas=2), batch(T0)).error_code == 0


@pytest.mark.rules("PD-12", "PD-13", "PD-14")
def test_the_log_start_of_refusals(make_call: Make) -> None:
    """Known to the refusals of the log itself, -1 for those before it."""
    lab = LogApis(make_call)
    lab.append(T0, T0)
    lab.log.advance_log_start(1, NOW)
    corrupt = batch(T0)[:-1] + b"\1"

    assert outcome(send(lab, batch(T0), acks=7)) == (ErrorCode.INVALID_REQUIRED_ACKS, -1, -1)
    assert outcome(send(lab, b"")) == (ErrorCode.INVALID_RECORD, -1, -1)
    assert outcome(send(lab, batch(T0, codec=4), 6)) == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, -1, -1)
    assert outcome(send(lab, corrupt)) == (ErrorCode.CORRUPT_MESSAGE, -1, -1)
    assert outcome(send(lab, batch(*[T0] * 200_000))) == (ErrorCode.MESSAGE_TOO_LARGE, -1, -1)
    assert outcome(send(lab, batch(T0, base_offset=1))) == (ErrorCode.INVALID_RECORD, -1, 1)
    assert outcome(send(lab, batch(T0 + 9_000_000))) == (ErrorCode.INVALID_TIMESTAMP, -1, 1)
    send(lab, batch(T0, producer_id=1, producer_epoch=1, base_sequence=0))
    assert outcome(send(lab, with_codec(batch(T0), 5))) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1, 1)
    assert outcome(send(lab, batch(T0, producer_id=1, producer_epoch=1, base_sequence=5))) == (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        -1,
        1,
    )
    assert outcome(send(lab, batch(T0, producer_id=1, producer_epoch=0, base_sequence=5))) == (
        ErrorCode.INVALID_PRODUCER_EPOCH,
        -1,
        1,
    )
    lab.append(T0, producer_id=2, producer_epoch=0, base_sequence=0, transactional=True)
    assert outcome(send(lab, batch(T0, producer_id=2, producer_epoch=0, base_sequence=1))) == (
        ErrorCode.INVALID_TXN_STATE,
        -1,
        1,
    )


@pytest.mark.rules("PD-16", "PD-17")
@pytest.mark.parametrize("version", [7, 8, 13])
def test_bad_records_are_named(make_call: Make, version: int) -> None:
    """Every one, from v8 on, with a message for the whole; before only the code."""
    lab = LogApis(make_call, cleanup_policy="compact")
    answer = send(lab, batch(T0, T0, key=None), version)

    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [e.batch_index for e in answer.record_errors] == ([0, 1] if version >= 8 else [])
    assert (answer.error_message is not None) == (version >= 8)


@pytest.mark.rules("PD-17")
def test_other_refusals_tell_nothing(make_call: Make) -> None:
    """No text and no records for faults of the whole batch, but for a magic that does not exist."""
    lab = LogApis(make_call)
    answer = send(lab, batch(T0, base_offset=1))
    assert (answer.error_message, answer.record_errors) == (None, [])
    strange = bytearray(batch(T0))
    strange[16] = 3
    assert "magic" in (send(lab, bytes(strange)).error_message or "")


@pytest.mark.rules("PD-12")
def test_what_fails_a_whole_request(make_call: Make) -> None:
    """A magic or size that cannot be is 2, a batch without room for a producer id -1, on all partitions (as 4.3.1)."""
    lab = LogApis(make_call)
    strange, short = bytearray(batch(T0)), bytearray(batch(T0)[:50])
    strange[16] = 3
    short[8:12] = (38).to_bytes(4, "big")
    for bad, code in (
        (strange, ErrorCode.CORRUPT_MESSAGE),
        (b"\0" * 20, ErrorCode.CORRUPT_MESSAGE),
        (short, ErrorCode.UNKNOWN_SERVER_ERROR),
    ):
        request = request_of((7, batch(T0)), (0, batch(T0)), (1, bytes(bad)))
        answers = lab.ask(produce, request, 9).responses[0].partition_responses
        assert [outcome(a) for a in answers] == [(code, -1, -1)] * 3
        assert all((a.error_message is not None) == (code == ErrorCode.CORRUPT_MESSAGE) for a in answers)
    assert lab.log.log_end_offset == 0


@pytest.mark.rules("PD-25")
def test_transactional_batches_need_a_transactional_id(make_call: Make) -> None:
    """Without one the whole request is refused with 53, good batches too."""
    lab = LogApis(make_call)
    transactional = batch(T0, producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    response = lab.ask(produce, request_of((0, batch(T0)), (1, transactional)), 9)

    assert [outcome(a) for a in response.responses[0].partition_responses] == [
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1, -1)
    ] * 2
    assert lab.log.log_end_offset == 0


@pytest.mark.rules("PD-26")
def test_null_records_and_doubles(make_call: Make) -> None:
    """Null records are 87; of a partition that comes twice, also in two entries, only the last batch is appended."""
    lab = LogApis(make_call)
    assert send(lab, None).error_code == ErrorCode.INVALID_RECORD
    request = request_of((0, batch(T0)), (0, batch(T0, T0)))
    request.topic_data.append(
        TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch(T0, T0, T0))])
    )
    response = lab.ask(produce, request, 9)
    assert [len(topic.partition_responses) for topic in response.responses] == [1]
    assert lab.log.log_end_offset == 3


@pytest.mark.rules("PD-27", "PD-24")
def test_nothing_and_many(make_call: Make) -> None:
    """No topics: an empty answer. Partitions do not depend on each other, and topics are answered in order."""
    lab = LogApis(make_call)
    assert lab.ask(produce, ProduceRequest(acks=1, timeout_ms=0), 9).responses == []
    request = request_of((0, batch(T0)), (1, b"junk"), (5, batch(T0)))
    request.topic_data.insert(0, TopicProduceData(name="nope", partition_data=request.topic_data[0].partition_data))
    response = lab.ask(produce, request, 9)
    assert [topic.name for topic in response.responses] == ["nope", "t"]
    assert [a.error_code for a in response.responses[1].partition_responses] == [
        0,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


@pytest.mark.rules("PD-30", "LO-29")
@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (2, 0)])
@pytest.mark.parametrize("codec", [0, 1, 3])
def test_message_sets_become_batches(make_call: Make, version: int, magic: int, codec: int) -> None:
    """One batch without producer; format 1 keeps its times, format 0 has none."""
    lab = LogApis(make_call, "3.9")
    records = [Record(n, T0 + n, b"k%d" % n, b"v") for n in range(3)]
    answer = send(lab, build_message_set(records, magic, codec=codec), version)
    (stored,) = lab.log.read(0, EVERYTHING, EVERYTHING)

    assert (answer.error_code, answer.base_offset) == (0, 0)
    assert [(r.offset, r.timestamp_ms, r.key) for r in read_records(stored)] == [
        (n, T0 + n if magic else -1, b"k%d" % n) for n in range(3)
    ]


@pytest.mark.rules("PD-31", "PD-30")
def test_odd_message_sets(make_call: Make) -> None:
    """Empty or incomplete: nothing, code 0. A wrong checksum 2, two formats 87, a new batch is taken as it is."""
    lab = LogApis(make_call, "3.9")
    one = build_message_set([Record(0, T0, b"k", b"v")], 1)
    other = build_message_set([Record(0, T0, b"k", b"v")], 0)
    for records in (None, b"", one[:-1]):
        assert outcome(send(lab, records, 2)) == (0, -1, -1)
    assert send(lab, one[:-1] + b"!", 2).error_code == ErrorCode.CORRUPT_MESSAGE
    assert send(lab, one + other, 2).error_code == ErrorCode.INVALID_RECORD
    assert send(lab, one + other, 2, acks=2).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert outcome(send(lab, batch(T0)[:-1], 2)) == (0, -1, -1)
    assert lab.log.log_end_offset == 0
    assert outcome(send(lab, batch(T0), 2)) == (0, 0, -1)
    assert send(lab, one, 3).error_code == ErrorCode.INVALID_RECORD


@pytest.mark.rules("PD-12", "PD-30")
@pytest.mark.parametrize("version", [0, 2, 3])
def test_two_batches_in_any_version(make_call: Make, version: int) -> None:
    """One batch of format 2 at most, in requests that could carry message sets, too; a part of a second is ignored."""
    lab = LogApis(make_call, "3.9")
    assert send(lab, batch(T0) * 2, version).error_code == ErrorCode.INVALID_RECORD
    assert outcome(send(lab, batch(T0) + batch(T0)[:-1], version)) == (0, 0, -1)
    assert lab.log.log_end_offset == 1


@pytest.mark.rules("PD-11", "PD-30")
def test_messages_are_measured_as_they_came(make_call: Make) -> None:
    """Each message of a set, or its wrapper, must fit; so must the batch that becomes of them (seen on 3.9.1)."""
    lab = LogApis(make_call, "3.9", max_message_bytes=120)
    small, large = Record(0, T0, b"k", b"v"), Record(0, T0, b"k", bytes(120))
    assert send(lab, build_message_set([small], 1), 2).error_code == 0
    assert send(lab, build_message_set([small, large], 1), 2).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert send(lab, build_message_set([small] * 8, 1), 2).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert send(lab, build_message_set([small] * 8, 1, codec=1), 2).error_code == 0


@pytest.mark.rules("ID-3")
def test_a_repetition_is_answered_like_the_first_time(make_call: Make) -> None:
    """Code 0, the old offset, and the old batch's time even with CreateTime."""
    lab = LogApis(make_call)
    sent = batch(T0, T0 + 5, producer_id=1, producer_epoch=0, base_sequence=0)
    assert outcome(send(lab, sent)) == (0, 0, 0)
    again = send(lab, sent)
    assert (outcome(again), again.log_append_time_ms) == ((0, 0, 0), T0 + 5)
    assert lab.log.log_end_offset == 2


@pytest.mark.rules("PD-10", "PD-12", "ID-7")
def test_errors_of_2_1(make_call: Make) -> None:
    """2.1.1 has no INVALID_RECORD: 2, which knows no log start; beside UNKNOWN_PRODUCER_ID it stands."""
    lab = LogApis(make_call, "2.1")
    nothing = (ErrorCode.CORRUPT_MESSAGE, -1, -1)

    assert outcome(send(lab, batch(T0) * 2, version=7)) == nothing
    assert outcome(send(lab, batch(T0, base_offset=1), version=7)) == nothing
    stamped = with_times(batch(T0), attributes=LOG_APPEND_TIME_BIT, max_timestamp_ms=T0)
    assert outcome(send(lab, stamped, version=7)) == (ErrorCode.INVALID_TIMESTAMP, -1, -1)
    unknown = batch(T0, producer_id=7, producer_epoch=0, base_sequence=1)
    assert outcome(send(lab, unknown, version=7)) == (ErrorCode.UNKNOWN_PRODUCER_ID, -1, 0)


@pytest.mark.rules("PD-12", "PD-31")
@pytest.mark.parametrize("version", [0, 3, 7])
@pytest.mark.parametrize("records", [None, b"", bytes(20), batch(T0)[:30], b"\xff" * 80], ids=range(5))
def test_records_that_2_1_cannot_read(make_call: Make, version: int, records: bytes | None) -> None:
    """2.1.1 closes the connection where there is no batch to begin with, also for an unknown partition."""
    lab = LogApis(make_call, "2.1")

    for index in (0, 9):
        with pytest.raises(CloseConnection, match="do not begin with a batch"):
            send(lab, records, version=version, index=index)
