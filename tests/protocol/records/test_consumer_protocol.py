"""The embedded consumer protocol (CP)."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    subscribed_topics,
)

texts = st.text(max_size=5)
bodies = st.none() | st.binary(max_size=5)
int32s = st.integers(-(2**31), 2**31 - 1)
partitions = st.lists(st.tuples(texts, st.lists(int32s, max_size=3)), max_size=3)
subscriptions = st.builds(
    ConsumerProtocolSubscription,
    topics=st.lists(texts, max_size=3),
    user_data=bodies,
    owned_partitions=partitions,
    generation_id=int32s,
    rack_id=st.none() | texts,
)
# Two topics, one of them owned, as the Java client 4.3.1 writes it: version 3, no rack.
JAVA = bytes.fromhex("0003 00000002 0001 61 0001 62 ffffffff 00000001 0001 61 00000002 00000000 00000001 00000007 ffff")


@pytest.mark.rules("CP-1", "CP-2")
@given(subscriptions, st.integers(0, 3))
def test_subscriptions_round_trip(subscription: ConsumerProtocolSubscription, version: int) -> None:
    """What a version has comes back, what it lacks has its default."""
    read = decode_subscription(encode_subscription(subscription, version))

    assert read == ConsumerProtocolSubscription(
        topics=subscription.topics,
        user_data=subscription.user_data,
        owned_partitions=subscription.owned_partitions if version >= 1 else [],
        generation_id=subscription.generation_id if version >= 2 else -1,
        rack_id=subscription.rack_id if version >= 3 else None,
    )


@pytest.mark.rules("CP-1", "CP-2")
def test_an_older_version_leaves_out_what_it_lacks() -> None:
    """A member that owns partitions, knows a generation and a rack can write each version."""
    subscription = ConsumerProtocolSubscription(
        topics=["a"], owned_partitions=[("a", [0])], generation_id=7, rack_id="r"
    )
    read = [decode_subscription(encode_subscription(subscription, version)) for version in range(4)]

    assert [each.owned_partitions for each in read] == [[], [("a", [0])], [("a", [0])], [("a", [0])]]
    assert [each.generation_id for each in read] == [-1, -1, 7, 7]
    assert [each.rack_id for each in read] == [None, None, None, "r"]


@pytest.mark.rules("CP-2")
def test_a_subscription_of_the_java_client() -> None:
    """The bytes are those the clients exchange."""
    subscription = ConsumerProtocolSubscription(topics=["a", "b"], owned_partitions=[("a", [0, 1])], generation_id=7)

    assert decode_subscription(JAVA) == subscription
    assert encode_subscription(subscription) == JAVA


@pytest.mark.rules("CP-1")
def test_newer_versions_only_append() -> None:
    """A reader takes the prefix it knows, of an unknown newer version too."""
    assert decode_subscription(b"\0\x09" + JAVA[2:] + b"more").topics == ["a", "b"]
    assert subscribed_topics([b"\0\x09" + JAVA[2:] + b"more"]) == frozenset({"a", "b"})


@pytest.mark.rules("CP-3")
@given(partitions, bodies)
def test_assignments_round_trip(assigned: list[tuple[str, list[int]]], user_data: bytes | None) -> None:
    """Every assignment comes back as it was."""
    assignment = ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=user_data)

    assert decode_assignment(encode_assignment(assignment)) == assignment


@pytest.mark.rules("CP-3")
def test_no_bytes_are_no_partitions() -> None:
    """An empty assignment is legal and assigns nothing."""
    assert decode_assignment(b"") == ConsumerProtocolAssignment()


@pytest.mark.rules("CP-1")
@given(st.binary(max_size=60))
def test_any_bytes_decode_or_raise_wire_error(data: bytes) -> None:
    """Nothing but WireError comes out of bytes that are something else."""
    for decode in (decode_subscription, decode_assignment):
        with suppress(WireError):
            decode(data)
    subscribed_topics([data])


@pytest.mark.rules("CP-2", "CP-3")
def test_every_truncation_is_an_error() -> None:
    """Each cut names what ended too early."""
    assigned = encode_assignment(ConsumerProtocolAssignment(assigned_partitions=[("topic", [1, 2])], user_data=b"x"))
    for data, decode in ((JAVA, decode_subscription), (assigned, decode_assignment)):
        for end in range(1, len(data)):
            with pytest.raises(WireError):
                decode(data[:end])


@pytest.mark.parametrize(
    "data",
    [
        "ffff 00000000",
        "0000 7fffffff",
        "0000 ffffffff",
        "0000 00000001 ffff",
        "0000 00000001 fffe",
        "0000 00000001 0001 ff",
    ],
)
def test_bad_values(data: str) -> None:
    """Negative versions and lengths, huge counts, nulls and broken UTF-8 are errors, and allocate nothing."""
    with pytest.raises(WireError):
        decode_subscription(bytes.fromhex(data))


def test_a_name_that_does_not_fit() -> None:
    """A topic name has at most 32,767 bytes."""
    with pytest.raises(WireError, match="32767"):
        encode_subscription(ConsumerProtocolSubscription(topics=["x" * 32768]))


@pytest.mark.rules("EX-7")
def test_subscribed_topics() -> None:
    """The union over the members; one that cannot be read makes the whole unknown; nobody subscribes to nothing."""
    a, b = (encode_subscription(ConsumerProtocolSubscription(topics=[name, "both"]), 0) for name in "ab")

    assert subscribed_topics([a, b]) == frozenset({"a", "b", "both"})
    assert subscribed_topics([]) == frozenset()
    assert subscribed_topics([a, b""]) is None
    assert subscribed_topics([a, b[:8]]) is None
