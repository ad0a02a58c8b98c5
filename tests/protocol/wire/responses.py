"""Answers as a broker sends them. The engine writes their header itself, so the package has no function for it."""

from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.frame import has_tagged_response_header


def encode_response(response: Message, version: int, correlation_id: int) -> bytes:
    """A response with its header."""
    tags = b"\0" if has_tagged_response_header(response.api_key, version) else b""
    return correlation_id.to_bytes(4, "big") + tags + response.encode(version)
