"""What members of the classic protocol send and get, as the coordinator of a consumer group reads and writes it (CP).

They name topics, a consumer group knows them by their ids.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fakebroker.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    encode_assignment,
    version_of,
)

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.modern.assignments import Assignment
    from fakebroker.broker.core.topics import Topics


def topic_ids_in(partitions: Iterable[tuple[str, Sequence[int]]], topics: "Topics") -> "Assignment":
    """Partitions by topic id, of pairs of a topic's name and partitions; topics that do not exist are left out."""
    found = ((topics.get(name), indexes) for name, indexes in partitions)
    return {topic.id: tuple(indexes) for topic, indexes in found if topic is not None}


def assignment_bytes(assignment: "Assignment", topics: "Topics", subscription: bytes) -> bytes:
    """An assignment as SyncGroup answers it, in the version of the member's subscription (CGM-7).

    Topics that do not exist any more are left out.
    """
    named = ((topics.by_id(topic_id), indexes) for topic_id, indexes in assignment.items())
    assigned = [(topic.name, sorted(indexes)) for topic, indexes in named if topic is not None]
    return encode_assignment(ConsumerProtocolAssignment(assigned_partitions=assigned), version_of(subscription))
