"""Produce like the one before: the same answers and the same log as on the general way."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fakebroker.broker.apis import produce
from fakebroker.broker.apis.call import Call, Repeat
from fakebroker.protocol.records.batch import assemble, build_batch, parse_header
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.support.engine import SimEngine
from tests.support.fetches import Fetches
from tests.support.time import T0

Make = Callable[..., Call]

good = build_batch([Record(n, T0 + n, None, b"v" * 20) for n in range(6)])
idempotent = [
    build_batch([Record(0, T0, b"k", b"v")], producer_id=7, producer_epoch=0, base_sequence=sequence)
    for sequence in range(3)
]
batches = st.sampled_from(
    [
        good,
        *(build_batch([Record(0, T0 + size, b"k", bytes(size))]) for size in (0, 63, 64, 8192)),
        *idempotent,
        b"",
        good[:-1],
        good + good,
        good[:-1] + b"w",
        good[:16] + b"\1" + good[17:],
        assemble(parse_header(good)._replace(attributes=16), good[61:]),
        assemble(parse_header(good)._replace(attributes=8), good[61:]),
        assemble(parse_header(good)._replace(records_count=3), good[61:]),
        build_batch([Record(0, T0 + 10**10, None, b"")]),
        build_batch([Record(0, T0, b"k", b"v" * 2000)], codec=4),
        build_batch([Record(0, T0, b"k", b"v" * 2000)]),
    ]
)


def one_batch(lab: Fetches, version: int, acks: int, records: bytes) -> ProduceRequest:
    data = [PartitionProduceData(index=1, records=records)]
    topic = TopicProduceData(name="t", topic_id=lab.topic.id if version >= 13 else bytes(16), partition_data=data)
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic])


class Producer:
    """Sends batches to one broker; with `by_layout` those that are like the one before go to `repeat`'s function."""

    def __init__(self, make_call: Make, version: int, acks: int, config: dict[str, str], *, by_layout: bool) -> None:
        self.lab = Fetches(make_call)
        self.lab.topic.config.replace(config)
        self.make_call, self.version, self.acks, self.by_layout = make_call, version, acks, by_layout
        self.answer: Repeat | None = None

    def send(self, records: bytes) -> str:
        """What came of it."""
        call = self.make_call(self.lab.cluster, self.version, now=self.lab.now)
        body = None if self.answer is None else self.answer(call, (records,))
        if body is not None:
            assert isinstance(body, bytes)
            return body.hex()
        request = one_batch(self.lab, self.version, self.acks, records)
        response = produce.handle(call, request)
        if response is None:
            return repr(cast(Any, call.connection).replies)
        if self.by_layout:
            self.answer = produce.repeat(call, request, response)
        return response.encode(self.version).hex()


@pytest.mark.rules("PD-2", "PD-10", "PD-24")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sent=st.lists(batches, min_size=2, max_size=8),
    version=st.integers(3, 13),
    acks=st.sampled_from([1, -1, 2]),
    config=st.sampled_from(
        [
            {},
            {"cleanup.policy": "compact"},
            {"max.message.bytes": "200"},
            {"message.timestamp.type": "LogAppendTime"},
            {"compression.type": "lz4"},
            {"min.insync.replicas": "2"},
        ]
    ),
)
@example(sent=[good, *idempotent, idempotent[1], good[:-1] + b"w", good], version=9, acks=1, config={})
def test_the_way_makes_no_difference(
    make_call: Make, sent: list[bytes], version: int, acks: int, config: dict[str, str]
) -> None:
    """The same answers and the same log, request after request."""
    fast, general = (Producer(make_call, version, acks, config, by_layout=by_layout) for by_layout in (True, False))
    for records in sent:
        assert fast.send(records) == general.send(records)
        assert list(fast.lab.log(1).batches()) == list(general.lab.log(1).batches())


def test_topics_that_changed_are_looked_up_anew(make_call: Make) -> None:
    """After any change of topics nothing is appended to a partition that may be gone."""
    producer = Producer(make_call, 9, 1, {}, by_layout=True)
    producer.send(good)
    answer = producer.answer
    assert answer is not None
    producer.lab.cluster.topics.delete("t", producer.lab.now)
    assert answer(make_call(producer.lab.cluster, 9, now=producer.lab.now), (good,)) is None


def test_only_what_was_good_is_repeated(make_call: Make) -> None:
    """Several partitions, versions whose batches need a look at their compression, and errors stay general."""
    lab = Fetches(make_call)
    call = make_call(lab.cluster, 9, now=lab.now)
    request = one_batch(lab, 9, 1, good)
    response = produce.handle(call, request)
    assert response is not None
    assert produce.repeat(call, request, response) is not None
    assert produce.repeat(make_call(lab.cluster, 6, now=lab.now), request, response) is None
    request.topic_data[0].partition_data *= 2
    assert produce.repeat(call, request, response) is None
    wrong = one_batch(lab, 9, 1, good[:-1] + b"w")
    refused = produce.handle(call, wrong)
    assert refused is not None
    assert produce.repeat(call, wrong, refused) is None


@pytest.mark.parametrize(("version", "acks", "producer_id"), [(7, 1, -1), (9, 1, -1), (9, -1, 7), (13, -1, 7)])
def test_batches_of_changing_size_are_not_decoded(
    monkeypatch: pytest.MonkeyPatch, version: int, acks: int, producer_id: int
) -> None:
    """A producer's second request makes the layout, and all that follow are answered by it; idempotent ones' too."""
    sim, general = SimEngine(), []
    handle = produce.handle

    def counted(call: Call, request: Any) -> ProduceResponse | None:
        general.append(request)
        return handle(call, request)

    monkeypatch.setattr(produce, "handle", counted)
    client = sim.client()
    client.ask(
        "CreateTopics", 2, topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)], timeout_ms=1000
    )
    topic = sim.cluster.topics.get("t")
    assert topic is not None
    offsets = []
    for number, size in enumerate((1, 100, 20_000, 64, 300_000, 5)):
        sequence: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": number}
        batch = build_batch([Record(0, T0, None, bytes(size))], **(sequence if producer_id >= 0 else {}))
        data = [PartitionProduceData(index=0, records=batch)]
        named: dict[str, Any] = {"topic_id": topic.id} if version >= 13 else {"name": "t"}
        asked = [TopicProduceData(**named, partition_data=data)]
        answered = client.ask("Produce", version, acks=acks, timeout_ms=1000, topic_data=asked)
        offsets.append(answered.responses[0].partition_responses[0].base_offset)

    assert offsets == list(range(6))
    assert len(general) == 2
