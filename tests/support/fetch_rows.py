"""Rows of Fetch requests."""

from typing import Any

ROOM_BYTES = 1 << 20


def row_of(partition: int) -> tuple[Any, ...]:
    """A partition of a Fetch from its first offset on."""
    return (partition, -1, 0, -1, -1, ROOM_BYTES, bytes(16), 2**63 - 1)
