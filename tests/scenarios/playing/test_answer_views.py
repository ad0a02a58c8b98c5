"""Answers as scenarios speak of them."""

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.wire.messages.fetch import FetchResponse
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatResponse
from fakebroker.protocol.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitResponse
from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.playing.answer_views import answer_view, message_json


def test_errors_have_their_names() -> None:
    """Beside each code; at the top that of the answer, or the first inside, or NONE."""
    assert answer_view(HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), 4)["error"] == "UNKNOWN_MEMBER_ID"
    partitions = [(0, 0), (1, 12)]
    topics = [{"name": "orders", "partitions": partitions}]
    view = answer_view(built(OffsetCommitResponse, {"topics": topics}), 8)
    assert view["error"] == "OFFSET_METADATA_TOO_LARGE"
    assert [each["error"] for each in view["topics"][0]["partitions"]] == ["NONE", "OFFSET_METADATA_TOO_LARGE"]
    assert answer_view(OffsetCommitResponse(), 8)["error"] == "NONE"


def test_only_the_fields_of_the_version() -> None:
    """What a version lacks is not there to be expected."""
    assert "throttle_time_ms" not in answer_view(HeartbeatResponse(), 0)
    assert "throttle_time_ms" in answer_view(HeartbeatResponse(), 1)


def test_subscriptions_are_read() -> None:
    """Bytes of members are what they say; what cannot be read is text or hexadecimal."""
    good = encode_subscription(ConsumerProtocolSubscription(topics=["orders"]))
    members = [JoinGroupResponseMember(member_id=str(n), metadata=data) for n, data in enumerate([good, b"x", b"\xff"])]
    view = answer_view(JoinGroupResponse(members=members), 5)

    assert [each["metadata"] for each in view["members"]] == [{"topics": ["orders"]}, "x", {"hex": "ff"}]


def test_records_are_lists() -> None:
    """Batches are shown as their records; damaged ones as hexadecimal."""
    batch = build_batch([Record(5, 9, b"k", None, [(b"h", b"1")])])
    row = {"offset": 5, "timestamp_ms": 9, "key": "k", "value": None, "headers": {"h": "1"}}
    partition = {"partition_index": 0, "records": batch}
    answer = built(FetchResponse, {"responses": [{"topic": "orders", "partitions": [partition]}]})

    assert answer_view(answer, 11)["responses"][0]["partitions"][0]["records"] == [row]
    assert message_json(answer, 11)["Responses"][0]["Partitions"][0]["Records"] == [row]
    answer.responses[0].partitions[0].records = batch[:61] + b"\x7f" * (len(batch) - 61)
    assert "hex" in answer_view(answer, 11)["responses"][0]["partitions"][0]["records"]


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_answer_has_a_view(api: object) -> None:
    """Of every API in every version, with all defaults."""
    for version in range(api.response.versions.first, api.response.versions.last + 1):  # type: ignore[attr-defined]
        assert answer_view(api.response(), version)["error"] == ErrorCode.NONE.name  # type: ignore[attr-defined]
