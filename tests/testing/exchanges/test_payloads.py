"""Redacted payloads: same sizes, same equalities, nothing readable left, and batches that a broker takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.records.batch import (
    build_batch,
    check_crc,
    parse_header,
    plain_records,
    read_records,
    split_batches,
)
from fakebroker.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from fakebroker.protocol.records.markers import build_marker
from fakebroker.protocol.records.message_set import build_message_set, read_message_set, unwrap
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchResponse, OffsetFetchResponseTopic
from fakebroker.protocol.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from fakebroker.testing.exchanges.payloads import Payloads

PAYLOADS = Payloads(b"a key")
RECORDS = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp_ms=st.integers(0, 2**40),
        key=st.none() | st.binary(max_size=40),
        value=st.none() | st.binary(max_size=200),
        headers=st.lists(st.tuples(st.binary(max_size=9), st.none() | st.binary(max_size=9)), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=5,
).map(lambda records: [record._replace(offset=n) for n, record in enumerate(records)])


def size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


@given(st.binary(max_size=200))
def test_filler_has_the_length_and_depends_on_the_key(data: bytes) -> None:
    """The same value becomes the same letters within a recording, and others in another one."""
    filler = PAYLOADS.filler(data)

    assert len(filler) == len(data)
    assert filler == PAYLOADS.filler(data)
    assert filler.isalnum() or not filler
    if len(data) > 12:
        assert filler != Payloads(b"another").filler(data)


@given(RECORDS, st.sampled_from([0, 1, 2, 3, 4]))
def test_redacted_batches_are_whole_and_as_long(records: list[Record], codec: int) -> None:
    """Offsets, times and sizes stay in every record, the checksum is right, uncompressed bytes are as many."""
    batch = build_batch(records, codec=codec, producer_id=7, producer_epoch=1, base_sequence=3)

    redacted = PAYLOADS.records(batch)

    (one,) = split_batches(redacted)
    header = parse_header(one)
    check_crc(one, header)
    assert header._replace(crc=0, length=0) == parse_header(batch)._replace(crc=0, length=0)
    assert codec or len(redacted) == len(batch)
    for before, after in zip(records, read_records(one), strict=True):
        assert (after.offset, after.timestamp_ms) == (before.offset, before.timestamp_ms)
        assert (size(after.key), size(after.value)) == (size(before.key), size(before.value))
        assert [(len(n), size(v)) for n, v in after.headers] == [(len(n), size(v)) for n, v in before.headers]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1])
def test_old_formats_are_redacted(magic: int, codec: int) -> None:
    """Message sets keep their offsets and sizes, wrapped or not."""
    data = build_message_set(plain_records([(b"key 1", b"secret"), (None, b"secret")], 5), magic, codec=codec)

    redacted = [one for outer in read_message_set(PAYLOADS.records(data)) for one in unwrap(outer)]

    assert [(one.offset, size(one.key), size(one.value)) for one in redacted] == [(0, 5, 6), (1, -1, 6)]
    assert redacted[0].value == redacted[1].value != b"secret"


def test_control_batches_stay() -> None:
    """The markers of transactions are no payload."""
    marker = build_marker(1, 0, commit=True, coordinator_epoch=0, timestamp_ms=1)

    assert PAYLOADS.records(marker) == marker


@given(st.binary(max_size=300))
def test_bytes_that_are_no_records_are_left_out(data: bytes) -> None:
    """What cannot be read is not written either, and nothing is raised."""
    batch = build_batch(plain_records([(b"k", b"v")], 5))

    assert PAYLOADS.records(batch + data[:16]) == PAYLOADS.records(batch)
    assert data not in PAYLOADS.records(data) or len(data) < 4


def test_user_data_of_members_is_replaced_and_topics_stay() -> None:
    """Subscriptions and assignments stay readable; the metadata of another protocol is replaced as a whole."""
    subscription = encode_subscription(ConsumerProtocolSubscription(topics=["orders"], user_data=b"secret"), 1)
    assignment = encode_assignment(ConsumerProtocolAssignment(assigned_partitions=[("t", [1])], user_data=b"secret"))
    join = JoinGroupRequest(
        group_id="g",
        protocols=[
            JoinGroupRequestProtocol(name=str(n), metadata=data)
            for n, data in enumerate((subscription, b"secret", b""))
        ],
    )
    sync = SyncGroupRequest(
        group_id="g", assignments=[SyncGroupRequestAssignment(member_id="m", assignment=assignment)]
    )

    PAYLOADS.redact(join)
    PAYLOADS.redact(sync)

    first, third, fourth = [one.metadata for one in join.protocols]
    second = sync.assignments[0].assignment
    assert decode_subscription(first).topics == ["orders"]
    assert decode_assignment(second).assigned_partitions == [("t", [1])]
    assert [len(one) for one in (first, second, third)] == [len(subscription), len(assignment), 6]
    assert fourth == b""
    assert not any(b"secret" in one for one in (first, second, third))


def test_metadata_of_offsets_in_rows_is_replaced() -> None:
    """OffsetFetch answers keep it in tuples."""
    answer = OffsetFetchResponse(
        topics=[OffsetFetchResponseTopic(name="t", partitions=[(0, 5, -1, "secret", 0), (1, 6, -1, None, 0)])]
    )

    PAYLOADS.redact(answer)

    (first, second) = answer.topics[0].partitions
    assert first[:3] == (0, 5, -1)
    assert first[3] is not None
    assert len(first[3]) == 6
    assert first[3] != "secret"
    assert second == (1, 6, -1, None, 0)
