"""What members say of themselves, and get, in the bytes of the consumer protocol, as journals and records have them."""

from collections.abc import Iterable
from typing import Any, Final

from fakebroker.errors import WireError
from fakebroker.records import consumer_protocol

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
    data = [bytes_of(value) for value in subscriptions]
    if None in data:
        return None
    topics = consumer_protocol.subscribed_topics(each for each in data if each is not None)
    return None if topics is None else sorted(topics)


def assigned_partitions(assignment: Any) -> list[tuple[str, int]]:
    """The partitions of an assignment, each once; none if it cannot be read."""
    data = bytes_of(assignment)
    try:
        found = {} if data is None else consumer_protocol.assigned_partitions(data)
    except WireError:
        return []
    return list(dict.fromkeys((topic, partition) for topic, partitions in found.items() for partition in partitions))
