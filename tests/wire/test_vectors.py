"""Both directions of every codec against bytes and values from an independent implementation."""

import pytest

from fakebroker.errors import WireError
from fakebroker.schema import Message
from fakebroker.schema.jsonable import from_json, to_json
from tests.wire.vectors import MESSAGES, vectors

BY_NAME = pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kafka_name)


def test_every_version_has_vectors() -> None:
    """The recorded vectors hold three values of every version of every message."""
    for message in MESSAGES:
        cases = {(vector.version, vector.case) for vector in vectors(message)}
        versions = range(message.versions.first, message.versions.last + 1)
        assert cases == {(version, case) for version in versions for case in ("defaults", "full", "edges")}


@pytest.mark.rules("GEN-1", "GEN-2", "GEN-4", "GEN-5", "GEN-7")
@BY_NAME
def test_decodes_the_recorded_bytes(message: type[Message]) -> None:
    """Recorded bytes are read to the end, and give the recorded value."""
    for vector in vectors(message):
        decoded, end = message.decode(b"head" + vector.data + b"tail", vector.version, 4)

        assert end == 4 + len(vector.data)
        assert to_json(decoded, vector.version) == vector.json


@pytest.mark.rules("GEN-1", "GEN-2", "GEN-3", "GEN-4", "GEN-5")
@BY_NAME
def test_encodes_the_recorded_values(message: type[Message]) -> None:
    """Recorded values, and what was decoded from recorded bytes, become exactly the recorded bytes."""
    for vector in vectors(message):
        made = from_json(message, vector.version, vector.json)
        decoded, _ = message.decode(vector.data, vector.version)

        assert made.encode(vector.version) == vector.data
        assert made == decoded
        assert decoded.encode(vector.version) == vector.data


@pytest.mark.rules("AV-4")
@BY_NAME
def test_every_prefix_is_refused(message: type[Message]) -> None:
    """Bytes cut short anywhere raise WireError."""
    for vector in vectors(message):
        if vector.case != "edges":
            for length in range(len(vector.data)):
                with pytest.raises(WireError, match=rf"^{message.kafka_name} v{vector.version}"):
                    message.decode(vector.data[:length], vector.version)
