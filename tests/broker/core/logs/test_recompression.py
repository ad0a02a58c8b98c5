"""Batches that are stored in the compression of their topic: in steps where it takes long."""

from dataclasses import replace
from typing import Any

import pytest

from fakebroker.broker.core.logs import recompression
from fakebroker.broker.core.logs.log import PartitionLog
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch, parse_header, read_records
from fakebroker.protocol.records.batch_format import HEADER_BYTES
from fakebroker.protocol.records.compression import GZIP, PACKED_PER_STEP_BYTES, ZSTD, compress
from fakebroker.protocol.records.message_set import build_message_set
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.engine import Client, SimEngine
from tests.support.frames import request
from tests.support.time import T0
from tests.support.turns_of_request import turns
from tests.support.work_counter import calls_of

SIZE = 300_000
STEPS = SIZE // PACKED_PER_STEP_BYTES
VALUE = bytes(number * number % 251 for number in range(SIZE))


def batch(codec: int = 0, value: bytes = VALUE) -> bytes:
    return build_batch([Record(0, T0, b"k", value), Record(1, T0 + 5, None, b"")], codec=codec)


def lab_with(as_release: str = "4.3", **configs: str) -> tuple[SimEngine, Client]:
    """A broker with a topic `t` of these configs, underscores for dots."""
    lab = SimEngine(as_release=as_release)
    client = lab.client()
    listed = [CreatableTopicConfig(name=name.replace("_", "."), value=value) for name, value in configs.items()]
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1, assignments=[], configs=listed)
    assert client.ask("CreateTopics", 5, topics=[topic], timeout_ms=1).topics[0].error_code == ErrorCode.NONE
    return lab, client


def produce(records: bytes, topic: str = "t") -> dict[str, Any]:
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])
    return {"transactional_id": None, "acks": 1, "timeout_ms": 1, "topic_data": [data]}


def log_of(lab: SimEngine) -> PartitionLog:
    topic = lab.engine.cluster.topics.get("t")
    assert topic is not None
    return topic.partitions[0].log


def stored(lab: SimEngine) -> list[bytes]:
    return log_of(lab).read(0, 1 << 30, log_of(lab).log_end_offset)


@pytest.mark.rules("PD-22")
@pytest.mark.parametrize("sent", [0, ZSTD, GZIP])
@pytest.mark.parametrize(("name", "codec", "level"), [("gzip", GZIP, "9"), ("zstd", ZSTD, "5")])
@pytest.mark.parametrize("times", ["CreateTime", "LogAppendTime"])
def test_a_long_batch_is_packed_in_steps(sent: int, name: str, codec: int, level: str, times: str) -> None:
    """Others are served after each piece, also the second time that a producer sends one; records are as sent."""
    if sent == codec:
        return
    lab, client = lab_with(
        **{"compression_type": name, f"compression_{name}_level": level, "message_timestamp_type": times}
    )
    for number in range(2):
        taken = sum(1 for _ in turns(lab, client.socket.connection, request("Produce", 8, **produce(batch(sent)))))
        lab.network.flush()
        assert taken > STEPS
        found = stored(lab)[number]
        header = parse_header(found)
        assert header.codec == codec
        assert header.is_log_append_time == (times == "LogAppendTime")
        assert header.max_timestamp_ms == (T0 + 5 if times == "CreateTime" else lab.network.now.wall_ms)
        plain = batch()[HEADER_BYTES:]
        assert found[HEADER_BYTES:] == compress(codec, plain, int(level))
        assert [(each.key, each.value) for each in read_records(found)] == [(b"k", VALUE), (None, b"")]
    assert lab.engine.errors == []


@pytest.mark.rules("PD-22")
def test_the_topic_changes_while_a_batch_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the topic wants at the append counts; too much for one step is refused then."""
    for most, code, codecs in ((SIZE + 100, ErrorCode.NONE, [ZSTD]), (SIZE, ErrorCode.MESSAGE_TOO_LARGE, [])):
        lab, client = lab_with(compression_type="gzip")
        monkeypatch.setattr(recompression, "MAX_BYTES_AT_ONCE", most)
        work = turns(lab, client.socket.connection, request("Produce", 8, **produce(batch())))
        next(work)
        changed = replace(log_of(lab).config, compression_type="zstd")
        with monkeypatch.context() as patch:
            patch.setattr(PartitionLog, "config", changed)
            assert sum(1 for _ in work) > STEPS
        lab.network.flush()
        answer = client.answer("Produce", 8)
        assert answer.responses[0].partition_responses[0].error_code == code
        assert [parse_header(each).codec for each in stored(lab)] == codecs


def test_only_large_batches_are_packed_one_after_the_other() -> None:
    """A small one is packed beside them, and a batch that has to be unpacked alone waits for no packing."""
    lab, client = lab_with(compression_type="gzip")
    lab.cluster.topics.create("plain", 1)
    packing = [lab.client() for _ in range(3)]
    small, unpacking = client, lab.client()
    for each in packing:
        each.socket.connection.receive(request("Produce", 8, **produce(batch(ZSTD))), lab.network.now)
    small.socket.connection.receive(request("Produce", 8, **produce(batch(ZSTD, VALUE[:40_000]))), lab.network.now)
    many = batch(ZSTD, bytes(2 << 20))
    unpacking.socket.connection.receive(request("Produce", 8, **produce(many, "plain")), lab.network.now)
    order: list[Client] = []
    while lab.engine.works:
        lab.engine.step(lab.network.now)
        waiting = {each for each in (small, unpacking, *packing) if each.socket.connection.is_parked}
        order += [each for each in (small, unpacking, *packing) if each not in waiting and each not in order]

    assert {*order[:2]} == {small, unpacking}
    assert order[2:] == packing
    assert lab.engine.errors == []


@pytest.mark.parametrize("steps", [0, 1, 10])
def test_a_broker_that_stops_packs_nothing(steps: int) -> None:
    """What waits in a line, or is at work there, ends: it could take minutes. Other works come to their end."""
    lab, _ = lab_with(compression_type="gzip")
    clients = [lab.client() for _ in range(3)]
    for each in clients:
        each.socket.connection.receive(request("Produce", 8, **produce(batch())), lab.network.now)
    for _ in range(steps):
        lab.engine.step(lab.network.now)
    for each in clients:
        each.socket.connection.closed(lab.network.now)
    calls = calls_of(lambda: lab.engine.end_works(lab.network.now))

    assert not lab.engine.works
    assert calls < 1_000
    assert (stored(lab), lab.engine.errors) == ([], [])


@pytest.mark.rules("PD-22")
@pytest.mark.parametrize(("level", "most"), [("6", 2 * SIZE), ("7", SIZE)])
def test_a_message_of_an_old_format_is_recompressed_at_once(
    monkeypatch: pytest.MonkeyPatch, level: str, most: int
) -> None:
    """A long one is refused, sooner for a slow level: converting it cannot pause."""
    monkeypatch.setattr(recompression, "MAX_BYTES_AT_ONCE", 2 * SIZE)
    monkeypatch.setattr(recompression, "MAX_SLOW_BYTES_AT_ONCE", SIZE)
    _, client = lab_with("3.9", compression_type="gzip", compression_gzip_level=level)
    for size, code in ((most - 100, ErrorCode.NONE), (most, ErrorCode.MESSAGE_TOO_LARGE)):
        message = build_message_set([Record(0, T0, None, bytes(size))], magic=1)
        answer = client.ask("Produce", 2, **produce(message))
        assert answer.responses[0].partition_responses[0].error_code == code
