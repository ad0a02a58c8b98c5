"""The brokers of another Kafka as the nodes of a snapshot."""

from collections.abc import Sequence
from typing import Final

_BLOCK: Final = 1000  # producer ids that a broker takes at once


def beginning_nodes(node_ids: Sequence[int]) -> tuple[int, ...]:
    """The nodes that the broker of a snapshot begins with: all if their ids are consecutive, else the first only.

    The others count as added later.
    """
    is_row = list(node_ids) == list(range(node_ids[0], node_ids[0] + len(node_ids)))
    return tuple(node_ids if is_row else node_ids[:1])


def next_producer_id(block: int, highest: int) -> int:
    """The first producer id that no producer has: of the next block that is free, above the highest that was seen."""
    return max(block, -(-(highest + 1) // _BLOCK) * _BLOCK)
