"""What holds for every message and version, whatever the values and whatever the bytes."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema import Message
from tests.protocol.schema.strategies import messages
from tests.protocol.wire.vectors import MESSAGES, vectors
from tests.support.chance import IS_FUZZING, examples_of_each
from tests.support.failing import failing

# Mutants per example: fuzzing makes millions.
MUTANTS = 50 if IS_FUZZING else 3


def failing_messages(check: Callable[[type[Message], st.DataObject], None]) -> dict[str, str]:
    """The messages for which a property does not hold, with the example that shows it."""

    def holds(message: type[Message]) -> None:
        @examples_of_each()
        @given(data=st.data())
        def of_this_message(data: st.DataObject) -> None:
            check(message, data)

        of_this_message()

    return failing(MESSAGES, holds, lambda message: message.kafka_name)


def decodes_to_the_same(message: type[Message], data: st.DataObject) -> None:
    version = data.draw(st.integers(message.versions.first, message.versions.last), label="version")
    value = data.draw(messages(message, version), label="message")

    encoded = value.encode(version)
    decoded, end = message.decode(encoded, version)

    assert end == len(encoded)
    assert decoded == value
    assert decoded.encode(version) == encoded


@pytest.mark.random
@pytest.mark.rules("GEN-3", "GEN-4", "GEN-5")
def test_what_is_encoded_decodes_to_the_same() -> None:
    """decode(encode(m)) == m for every message, and encoding that again gives the same bytes."""
    assert failing_messages(decodes_to_the_same) == {}


def decodes_or_refuses(message: type[Message], version: int, data: bytes) -> None:
    """Any bytes decode or raise WireError; what decodes is a message like any other."""
    try:
        decoded, end = message.decode(data, version)
    except WireError:
        return
    assert end <= len(data)
    encoded = decoded.encode(version)
    again, end = message.decode(encoded, version)
    assert end == len(encoded)
    assert again.encode(version) == encoded  # values may differ from themselves: a quota may be NaN


def random_bytes(message: type[Message], data: st.DataObject) -> None:
    version = data.draw(st.integers(message.versions.first, message.versions.last), label="version")

    decodes_or_refuses(message, version, data.draw(st.binary(max_size=60), label="bytes"))


@pytest.mark.random
@pytest.mark.rules("AV-4", "AV-11")
def test_random_bytes_decode_or_raise_wire_error() -> None:
    """No bytes raise anything but WireError."""
    assert failing_messages(random_bytes) == {}


def mutants(message: type[Message], data: st.DataObject) -> None:
    chance = random.Random(data.draw(st.integers(0, 2**32), label="seed"))
    valid = [vector for vector in vectors(message) if vector.case == "full"]
    for _ in range(MUTANTS):
        vector = chance.choice(valid)

        decodes_or_refuses(message, vector.version, mutated(vector.data, chance))


@pytest.mark.random
@pytest.mark.rules("AV-4", "AV-11")
def test_mutated_messages_decode_or_raise_wire_error() -> None:
    """A valid message with a few bytes changed, put in or left out decodes or raises WireError."""
    assert failing_messages(mutants) == {}


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The bytes with up to four places changed, often to what begins another length."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        position = chance.randint(0, len(out))
        byte = chance.choice([0, 1, 2, 127, 128, 255, chance.randint(0, 255)])
        out[position : position + chance.randint(0, 2)] = bytes([byte] * chance.randint(0, 2))
    return bytes(out)
