"""What lines carry: messages come back, frames stay what they are."""

from pathlib import Path

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from fakebroker.testing.exchanges.messages import answer_of, frame_of, request_of
from fakebroker.testing.exchanges.writing import LineFile
from tests.testing.exchanges.sessions import HEAD, exchanged, lines_in


def test_messages_come_back(tmp_path: Path) -> None:
    """A decoded message becomes the message again; what stands beside the records' bytes is only for reading."""
    heartbeat = {"GroupId": "g", "GenerationId": 3, "MemberId": "m", "GroupInstanceId": None}
    produce = {
        "Acks": -1,
        "TimeoutMs": 1,
        "TransactionalId": None,
        "TopicData": [{"Name": "t", "PartitionData": [{"Index": 0, "Records": {"hex": "00ff", "batches": [{}]}}]}],
    }

    request = request_of(exchanged(message=heartbeat))
    produced = request_of(exchanged(api="Produce", api_key=ApiKey.PRODUCE, version=9, message=produce))
    answer = answer_of(exchanged("answer", message={"ThrottleTimeMs": 0, "ErrorCode": 27}))

    assert request is not None
    assert answer is not None
    assert produced is not None
    assert request.generation_id == 3  # type: ignore[attr-defined]
    assert answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS  # type: ignore[attr-defined]
    assert produced.topic_data[0].partition_data[0].records == b"\x00\xff"  # type: ignore[attr-defined]


def test_long_frames_become_messages_when_they_are_asked_for(tmp_path: Path) -> None:
    """What was not decoded because it is long is decoded when it is read, and only then."""
    writer = LineFile(tmp_path / "s")
    writer.write(HEAD)
    sent = HeartbeatRequest(group_id="g" * 5000, generation_id=1, member_id="m")
    got = HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    writer.write_long(exchanged(), encode_request(sent, 4, 7, "svc"))
    writer.write_long(exchanged("answer"), b"\0\0\0\x07\0" + got.encode(4))
    writer.close()

    _, request, answer = lines_in(tmp_path / "s")

    assert request_of(request) == sent
    assert answer_of(answer) == got


def test_bytes_that_are_no_hexadecimal_are_reported() -> None:
    """A line that was edited wrongly does not end in a stranger's exception."""
    with pytest.raises(ValueError, match="hexadecimal"):
        frame_of(exchanged(hex="xy"))
