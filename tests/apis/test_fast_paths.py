"""Produce answers the ordinary request on the fast path as on the general one."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakebroker.apis import produce
from fakebroker.apis.call import Call
from fakebroker.errors import KafkaError
from fakebroker.records.batch import assemble, build_batch, parse_header
from fakebroker.records.record_codec import Record
from fakebroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.support.fetches import Fetches
from tests.support.time import T0

Make = Callable[..., Call]


def outcome(way: Callable[[Call, Any], Any], call: Call, request: Any) -> str:
    """What became of a request on one path: the answer, or what was raised in its place."""
    try:
        response = way(call, request)
        return repr(call.connection.replies) if response is None else response.encode(call.version).hex()
    except KafkaError as error:
        return repr(error)


good = build_batch([Record(n, T0 + n, None, b"v" * 20) for n in range(6)])
idempotent = build_batch([Record(0, T0, b"k", b"v")], producer_id=7, producer_epoch=0, base_sequence=0)
batches = st.sampled_from(
    [
        None,
        b"",
        good,
        good[:-1],
        good + good,
        good[:-1] + b"w",
        good[:16] + b"\1" + good[17:],
        idempotent,
        assemble(parse_header(good)._replace(attributes=16), good[61:]),
        assemble(parse_header(good)._replace(attributes=8), good[61:]),
        assemble(parse_header(good)._replace(records_count=3), good[61:]),
        build_batch([Record(0, T0 + 10**10, None, b"")]),
        build_batch([Record(0, T0, b"k", b"v" * 2000)], codec=4),
        build_batch([Record(0, T0, b"k", b"v" * 2000)]),
    ]
)


def general_path(call: Call, request: ProduceRequest) -> Any:
    """Produce without the fast path."""
    return call.work(produce._each_partition(call, request))


@pytest.mark.rules("PD-2", "PD-10", "PD-24")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    requests=st.lists(
        st.tuples(batches, st.integers(3, 13), st.sampled_from([1, -1, 2]), st.integers(-1, 4), st.booleans()),
        min_size=1,
        max_size=5,
    ),
    config=st.sampled_from(
        [
            {},
            {"cleanup_policy": "compact"},
            {"max_message_bytes": 200},
            {"message_timestamp_type": "LogAppendTime"},
            {"compression_type": "lz4"},
            {"min_insync_replicas": 2},
        ]
    ),
)
def test_produce(make_call: Make, requests: list[tuple], config: dict[str, Any]) -> None:
    """The same answers and the same log, request after request."""
    labs = [Fetches(make_call) for _ in range(2)]
    for lab in labs:
        lab.topic.config.replace({name.replace("_", "."): str(value) for name, value in config.items()})
    for records, version, acks, index, is_known in requests:
        answers = []
        for lab, way in zip(labs, (produce.handle, general_path), strict=True):
            topic_id = lab.topic.id if is_known and version >= 13 else bytes(16)
            data = [PartitionProduceData(index=index, records=records)]
            topic = TopicProduceData(name="t" if is_known else "u", topic_id=topic_id, partition_data=data)
            request = ProduceRequest(acks=acks, topic_data=[topic])
            answers.append(outcome(way, make_call(lab.cluster, version, now=lab.now), request))
        assert answers[0] == answers[1]
        assert [list(labs[0].log(n).batches()) for n in range(4)] == [list(labs[1].log(n).batches()) for n in range(4)]
