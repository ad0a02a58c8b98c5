"""How long a part of a message is about, without writing it."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.schema.sizes import size_of
from fakebroker.protocol.wire.messages.metadata import MetadataResponse, MetadataResponseTopic
from tests.protocol.schema.samples import Everything
from tests.protocol.schema.strategies import messages

ENDLESS = 1 << 40


@given(message=st.integers(0, 3).flatmap(lambda version: messages(Everything, version)))
def test_a_size_is_near_to_what_is_written(message: Any) -> None:
    """Lengths and tags are guessed, all else counts; a text that is not ASCII counts three times at most."""
    message.unknown_tags = None
    written = max(_written(message), default=0)
    found = size_of(Everything, message, ENDLESS)
    assert written / 2 <= found
    assert found <= 3 * written + 100


def _written(message: Any) -> list[int]:
    """The sizes in the versions that can have the message."""
    sizes = []
    for version in range(4):
        try:
            sizes.append(len(message.encode(version)))
        except Exception:
            continue
    return sizes


def test_what_is_very_long_is_not_looked_at_to_its_end() -> None:
    """The walk ends soon after `most_bytes`: an answer may have millions of entries."""
    looked_at = 0

    class Looked(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            nonlocal looked_at
            for each in super().__iter__():
                looked_at += 1
                yield each

    topics = [MetadataResponseTopic(name="x" * 100) for _ in range(1_000)]
    assert size_of(MetadataResponse, MetadataResponse(topics=Looked(topics)), 5_000) >= 5_000
    assert looked_at <= 50
    assert size_of(MetadataResponse, MetadataResponse(topics=topics), ENDLESS) > 100_000
