"""The embedded consumer protocol: the bytes in JoinGroup's metadata and in SyncGroup's assignments.

They begin with a version; what follows is declared below as Kafka declares it (`ConsumerProtocolSubscription.json`,
`ConsumerProtocolAssignment.json`; KIP-429 owned partitions, KIP-792 generation, KIP-881 rack). The coordinator reads
only which topics a group subscribes to (CP-4), test clients read and write the rest. Newer versions only append
fields, so a reader of an older version takes the prefix it knows and ignores what follows (CP-1).
"""

from collections.abc import Iterable
from struct import Struct as Layout
from typing import TypeVar

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema import Bytes, Int32, Message, Row, Str, field

NEWEST_VERSION = 3
_VERSION = Layout(">h")

M = TypeVar("M", bound=Message)


class TopicPartition(Row):
    """A topic with some of its partitions: `(topic, [partition, ...])`. Kafka's own name for it."""

    topic: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[Int32] = field("0+", entity="partitionIndex")


class ConsumerProtocolSubscription(Message, versions="0-3"):
    """What a member wants and has. v1: owned partitions; v2: the generation it owned them in; v3: rack (CP-2)."""

    topics: list[Str] = field("0+", entity="topicName")
    user_data: Bytes | None = field("0+", nullable="0+", default=None)
    owned_partitions: list[tuple[Str, list[Int32]]] = field("1+", row=TopicPartition, ignorable=True)
    generation_id: Int32 = field("2+", default=-1, ignorable=True, entity="generationId")
    rack_id: Str | None = field("3+", nullable="3+", default=None, ignorable=True)


class ConsumerProtocolAssignment(Message, versions="0-3"):
    """What a member got; the same layout in every version (CP-3)."""

    assigned_partitions: list[tuple[Str, list[Int32]]] = field("0+", row=TopicPartition)
    user_data: Bytes | None = field("0+", nullable="0+", default=None)


def encode_subscription(subscription: ConsumerProtocolSubscription, version: int = NEWEST_VERSION) -> bytes:
    """The metadata bytes of a member; fields that `version` lacks are left out. Raises WireError."""
    return _VERSION.pack(version) + subscription.encode(version)


def decode_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Read a member's metadata, of any version. Raises WireError."""
    return _decode(ConsumerProtocolSubscription, data, NEWEST_VERSION)


def encode_assignment(assignment: ConsumerProtocolAssignment, version: int = NEWEST_VERSION) -> bytes:
    """The bytes a leader sends for one member. Raises WireError."""
    return _VERSION.pack(version) + assignment.encode(version)


def decode_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Read an assignment; no bytes at all mean that nothing is assigned. Raises WireError."""
    return _decode(ConsumerProtocolAssignment, data, NEWEST_VERSION) if data else ConsumerProtocolAssignment()


def version_of(data: bytes) -> int:
    """The version in which metadata or an assignment is written, at most the newest known here. Raises WireError."""
    return min(_version(data), NEWEST_VERSION)


def assigned_partitions(data: bytes) -> dict[str, list[int]]:
    """What the bytes of an assignment assign: topic -> partitions. Raises WireError."""
    return {topic: list(indexes) for topic, indexes in decode_assignment(data).assigned_partitions}


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """The union of the topics in these subscriptions, or None if one of them cannot be read (EX-7).

    Like Kafka's `ClassicGroup.computeSubscribedTopics` this reads version 0 of each: topics and user data.
    """
    topics: set[str] = set()
    try:
        for data in metadata:
            topics.update(_decode(ConsumerProtocolSubscription, data, 0).topics)
    except WireError:
        return None
    return frozenset(topics)


def _decode(message: type[M], data: bytes, newest_version: int) -> M:
    """Read a version and, in the layout of that or of `newest_version`, what follows."""
    try:
        version = _version(data)
    except WireError as error:
        raise WireError(f"{message.kafka_name}: {error}") from None
    return message.decode(data, min(version, newest_version), _VERSION.size)[0]


def _version(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise WireError(f"{len(data)} bytes are too short for a version")
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise WireError(f"version {version}")
    return version
