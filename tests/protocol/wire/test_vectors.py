"""Both directions of every codec against bytes and values from an independent implementation."""

from collections.abc import Callable

import pytest

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.jsonable import from_json, to_json
from tests.protocol.wire.vectors import MESSAGES, vectors
from tests.support.failing import failing


def failing_messages(check: Callable[[type[Message]], None]) -> dict[str, str]:
    """The messages for which a check fails, and how."""
    return failing(MESSAGES, check, lambda message: message.kafka_name)


def test_every_version_has_vectors() -> None:
    """The recorded vectors hold three values of every version of every message."""
    for message in MESSAGES:
        cases = {(vector.version, vector.case) for vector in vectors(message)}
        versions = range(message.versions.first, message.versions.last + 1)
        assert cases == {(version, case) for version in versions for case in ("defaults", "full", "edges")}


def decodes(message: type[Message]) -> None:
    for vector in vectors(message):
        decoded, end = message.decode(b"head" + vector.data + b"tail", vector.version, 4)

        assert end == 4 + len(vector.data)
        assert to_json(decoded, vector.version) == vector.json


@pytest.mark.rules("GEN-1", "GEN-2", "GEN-4", "GEN-5", "GEN-7")
def test_decodes_the_recorded_bytes() -> None:
    """Recorded bytes of every message are read to the end, and give the recorded value."""
    assert failing_messages(decodes) == {}


def encodes(message: type[Message]) -> None:
    for vector in vectors(message):
        made = from_json(message, vector.version, vector.json)
        decoded, _ = message.decode(vector.data, vector.version)

        assert made.encode(vector.version) == vector.data
        assert made == decoded
        assert decoded.encode(vector.version) == vector.data


@pytest.mark.rules("GEN-1", "GEN-2", "GEN-3", "GEN-4", "GEN-5")
def test_encodes_the_recorded_values() -> None:
    """Recorded values, and what was decoded from recorded bytes, become exactly the recorded bytes."""
    assert failing_messages(encodes) == {}


def refuses_prefixes(message: type[Message]) -> None:
    for vector in vectors(message):
        if vector.case != "edges":
            name = f"{message.kafka_name} v{vector.version}"
            for length in range(len(vector.data)):
                assert refusal(message, vector.data[:length], vector.version).startswith(name), (name, length)


def refusal(message: type[Message], data: bytes, version: int) -> str:
    """The text of the WireError that decoding raises; empty if it raises none."""
    try:
        message.decode(data, version)
    except WireError as error:
        return str(error)
    return ""


@pytest.mark.rules("AV-4")
def test_every_prefix_is_refused() -> None:
    """Bytes cut short anywhere raise a WireError that names the message and its version."""
    assert failing_messages(refuses_prefixes) == {}
