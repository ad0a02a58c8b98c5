"""Requests as they travel, and what a broker sends cut into frames."""

from struct import pack, unpack_from
from typing import Any

from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.protocol.wire.messages.join_group import JoinGroupRequestProtocol
from fakebroker.protocol.wire.registry import api

JOIN: dict[str, Any] = {
    "group_id": "g",
    "session_timeout_ms": 30_000,
    "rebalance_timeout_ms": 30_000,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [JoinGroupRequestProtocol(name="range", metadata=b"m")],
}

_TIMEOUT = {"timeout_ms": 60_000}
USUAL: dict[str, dict[str, Any]] = {"CreatePartitions": _TIMEOUT, "DeleteTopics": _TIMEOUT}
"""What clients always send where the protocol's default makes a request fail (AD-5)."""

OffsetRow = tuple[int, int, int, int, str | None]
"""A partition in an OffsetCommit: index, offset, leader epoch, commit time, metadata."""


def long_poll(max_wait_ms: int, fetch_offset: int = 0, topic: str = "t", correlation_id: int = 1) -> bytes:
    """A Fetch that waits for a record of a topic that exists; one without topics is answered at once."""
    row = (0, -1, fetch_offset, -1, -1, 1000, bytes(16), 2**63 - 1)
    asked = FetchTopic(topic=topic, partitions=[row])
    return request("Fetch", 4, correlation_id, max_wait_ms=max_wait_ms, min_bytes=1, topics=[asked])


def framed(frame: bytes) -> bytes:
    """A frame with its length in front."""
    return pack(">i", len(frame)) + frame


def request(name: str, version: int, correlation_id: int = 1, client_id: str | None = "test", **fields: Any) -> bytes:
    """A request as it travels."""
    return framed(encode_request(api(name).request(**USUAL.get(name, {}) | fields), version, correlation_id, client_id))


def frames(data: bytes) -> list[bytes]:
    """Cut what a broker sent; it must be whole frames."""
    found = []
    while data:
        (size,) = unpack_from(">i", data)
        assert len(data) >= 4 + size, "half an answer"
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found


def correlation_ids(data: bytes) -> list[int]:
    return [unpack_from(">i", frame)[0] for frame in frames(data)]
