"""What members say of themselves, and get, in the bytes of the consumer protocol, as journals and records have them."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records import consumer_protocol

CONSUMER: Final = "consumer"
"""The protocol type of groups whose bytes these are."""


def bytes_of(value: Any) -> bytes | None:
    """The bytes that stand as {"hex": ...} or as hex text; None for none, and for those that were cut."""
    if isinstance(value, dict):
        value = value.get("hex") if "bytes" not in value else None
    try:
        return bytes.fromhex(value) if isinstance(value, str) else None
    except ValueError:
        return None


def subscribed_topics(subscriptions: Iterable[Any]) -> list[str] | None:
    """The topics of these subscriptions together, sorted; None if one of them cannot be read (EX-7)."""
    topics: set[str] = set()
    for value in subscriptions:
        data = bytes_of(value)
        found = None if data is None else _topics_of(data)
        if found is None:
            return None
        topics |= found
    return sorted(topics)


@lru_cache(maxsize=4096)
def _topics_of(data: bytes) -> frozenset[str] | None:
    """The topics of one subscription; members say the same again and again."""
    return consumer_protocol.subscribed_topics([data])


def assigned_partitions(assignment: Any) -> list[tuple[str, int]]:
    """The partitions of an assignment, each once; none if it cannot be read."""
    data = bytes_of(assignment)
    try:
        found = {} if data is None else consumer_protocol.assigned_partitions(data)
    except WireError:
        return []
    return list(dict.fromkeys((topic, partition) for topic, partitions in found.items() for partition in partitions))
