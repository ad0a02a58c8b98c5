"""Locators find the values of varying fields in the bytes of a message."""

from collections.abc import Iterator
from struct import unpack_from
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.schema import Int32, Message, Str, Struct, field
from fakebroker.protocol.schema.emit_locate import has_varying_bytes
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import COMPACT_LENGTH, FIXED_LENGTH, ArrayOf
from fakebroker.protocol.wire.messages.fetch import FetchRequest, FetchResponse
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest
from fakebroker.protocol.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.protocol.schema.strategies import messages
from tests.protocol.wire.vectors import MESSAGES
from tests.support.chance import examples_of_each
from tests.support.failing import failing


def varying(declaration: type[Declaration], value: Any, version: int) -> Iterator[Any]:
    """The values that are not null of the varying fields in a struct or row, in wire order."""
    for index, spec in enumerate(declaration.fields):
        if not spec.is_plain(version):
            continue
        part = value[index] if declaration.is_row else getattr(value, spec.name)
        kind = spec.type.element if isinstance(spec.type, ArrayOf) else spec.type
        if isinstance(kind, type):
            for each in (part or ()) if isinstance(spec.type, ArrayOf) else [part]:
                if each is not None:
                    yield from varying(kind, each, version)
        elif spec.varies and part is not None:
            yield part


def places_hold_the_values(message: type[Message], data: st.DataObject) -> None:
    version = data.draw(st.integers(message.versions.first, message.versions.last), label="version")
    value = data.draw(messages(message, version), label="message")
    encoded = b"123" + value.encode(version)

    places = message.locator(version)(encoded, 3)

    found = [unpack_from(">" + place.char, encoded, place.position)[0] for place in places]
    assert found == list(varying(message, value, version))


@pytest.mark.random
def test_places_hold_the_values() -> None:
    """In every message of every version the places are those of the varying fields, in wire order, and of nothing else;
    where the message begins makes no difference.
    """

    def holds(message: type[Message]) -> None:
        @examples_of_each()
        @given(data=st.data())
        def of_this_message(data: st.DataObject) -> None:
            places_hold_the_values(message, data)

        of_this_message()

    assert failing(MESSAGES, holds, lambda message: message.kafka_name) == {}


@given(records=st.binary(max_size=300), version=st.integers(0, 13))
def test_bytes_say_how_their_length_is_written(records: bytes, version: int) -> None:
    """What ends where the bytes begin is an int32, or in flexible versions a varint."""
    partition = PartitionProduceData(records=records)
    encoded = ProduceRequest(topic_data=[TopicProduceData(partition_data=[partition])]).encode(version)

    (place,) = ProduceRequest.locator(version)(encoded, 0)

    assert place.char == f"{len(records)}s"
    assert place.length == (COMPACT_LENGTH if version >= 9 else FIXED_LENGTH)
    if version < 9:
        assert unpack_from(">i", encoded, place.position - 4) == (len(records),)


def test_which_messages_differ_in_length() -> None:
    """Those with records in them, in both directions."""
    assert [has_varying_bytes(each, 3) for each in (ProduceRequest, FetchResponse)] == [True, True]
    others = (HeartbeatRequest, OffsetCommitRequest, FetchRequest, ProduceResponse)
    assert [has_varying_bytes(each, 3) for each in others] == [False] * 4


@pytest.mark.parametrize(
    ("annotation", "facts"),
    [(Str, {}), (list[Int32], {}), (Int32, {"tag": 0})],
    ids=["a string", "an array", "a tagged field"],
)
def test_what_cannot_vary(annotation: Any, facts: dict[str, Any]) -> None:
    """A field that a locator could not find is refused when it is declared."""
    with pytest.raises(TypeError, match="can vary"):
        type("Wrong", (Struct,), {"__annotations__": {"x": annotation}, "x": field("0+", varies=True, **facts)})
