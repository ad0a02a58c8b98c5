"""What a topic may be called, and where its partitions may be (NT, NP)."""

import re
from collections.abc import Sequence

from fakebroker.errors import ErrorCode, KafkaError

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")

MOST_NEW_PARTITIONS = 10_000  # with the topic's own record the controller's batch of 10,000 is full


def check_name(name: str) -> None:
    """Raises KafkaError(INVALID_TOPIC_EXCEPTION) for a name that no topic can have (NT-4)."""
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"{name!r} cannot be a topic's name: 1 to 249 of a-z A-Z 0-9 . _ - are, but not '.' or '..'",
        )


def collision_key(name: str) -> str:
    """Two names with the same key differ only in "." and "_", and cannot both be topics (NT-4)."""
    return name.replace(".", "_")


def check_assignments(assignments: Sequence[Sequence[int]], node_ids: Sequence[int], length: int) -> None:
    """Raises KafkaError(INVALID_REPLICA_ASSIGNMENT) unless each is `length` distinct known brokers (NT-7, NP-2)."""
    for replicas in assignments:
        if not replicas or len(replicas) != length:
            raise _bad(f"{list(replicas)} has not the {length} replicas of the others")
        if len(set(replicas)) != len(replicas):
            raise _bad(f"{list(replicas)} names a broker twice")
        strangers = [node_id for node_id in replicas if node_id not in node_ids]
        if strangers:
            raise _bad(f"{list(replicas)} names {strangers[0]}, which is no broker; there are {list(node_ids)}")


def place(first: int, count: int, replication_factor: int, node_ids: Sequence[int]) -> list[list[int]]:
    """Replicas of the partitions `first` to `first + count - 1`: in turn, so partition 0 is led by the first broker.

    MOCK: Kafka begins at a random broker.
    """
    n = len(node_ids)
    return [[node_ids[(p + r) % n] for r in range(replication_factor)] for p in range(first, first + count)]


def _bad(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def check_request_size(new_partitions: int) -> None:
    """Refuse a request for so many partitions that Kafka's controller would not do it in one step."""
    if new_partitions >= MOST_NEW_PARTITIONS:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
