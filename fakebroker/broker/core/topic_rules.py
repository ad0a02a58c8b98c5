"""What a topic may be called, and where its partitions may be (NT, NP)."""

import re
from collections.abc import Sequence

from fakebroker.protocol.errors import ErrorCode, KafkaError

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")

LARGEST_CHANGE = 10_000
"""Records that Kafka's controller writes for one request: each topic, each partition, each own config is one."""


LONGEST_FOLDER = 255
"""Characters of a file's name on usual file systems."""


def check_name(name: str) -> None:
    """Raises KafkaError(INVALID_TOPIC_EXCEPTION) for a name that no topic can have (NT-4)."""
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"{name!r} is not a valid topic name: use 1 to 249 of a-z A-Z 0-9 . _ -, but not '.' or '..'",
        )


def collision_key(name: str) -> str:
    """Two names with the same key differ only in "." and "_", and cannot both be topics (NT-4)."""
    return name.replace(".", "_")


def check_assignments(assignments: Sequence[Sequence[int]], node_ids: Sequence[int], length: int) -> None:
    """Raises KafkaError(INVALID_REPLICA_ASSIGNMENT) unless each is `length` distinct known brokers (NT-7, NP-2).

    The texts are Kafka's. They name one broker, not all: an assignment may be longer than a text can be.
    """
    known = set(node_ids)
    for replicas in assignments:
        if not replicas:
            raise _bad("includes an empty replica list.")
        previous = None
        for node_id in sorted(replicas):
            if node_id not in known:
                raise _bad(f"includes broker {node_id}, but no such broker is registered.")
            if node_id == previous:
                raise _bad(f"includes the broker {node_id} more than once.")
            previous = node_id
        if len(replicas) != length:
            raise _bad(
                f"includes a partition with {len(replicas)} replica(s), but this is not consistent with previous "
                f"partitions, which have {length} replica(s)."
            )


def assign_replicas(
    first: int, count: int, replication_factor: int, live: Sequence[int], stopped: Sequence[int] = ()
) -> list[list[int]]:
    """Replicas of the partitions `first` to `first + count - 1`: in turn, so partition 0 is led by the first broker.

    Brokers that are stopped get replicas only where the live ones are too few, and never the first (Kafka's
    `StripedReplicaPlacer`). MOCK: Kafka begins at a random broker. Raises KafkaError without any live broker.
    """
    if not live:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "no broker that could lead a partition is alive")
    return [
        _in_turn(live, p, min(replication_factor, len(live))) + _in_turn(stopped, p, replication_factor - len(live))
        for p in range(first, first + count)
    ]


def _in_turn(node_ids: Sequence[int], first: int, count: int) -> list[int]:
    return [node_ids[(first + i) % len(node_ids)] for i in range(count)]


def _bad(problem: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment {problem}")


def check_counts(partitions: int, replication_factor: int, brokers: int) -> None:
    """Raises KafkaError for numbers of partitions and replicas that no topic can have on so many brokers (NT-5)."""
    if replication_factor < 1:
        text = f"the replication factor has to be 1 or more, or -1 for the default, not {replication_factor}"
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, text)
    if partitions < 1:
        text = f"the number of partitions has to be 1 or more, or -1 for the default, not {partitions}"
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, text)
    if replication_factor > brokers:
        text = f"replication factor {replication_factor} is larger than the number of brokers, {brokers}"
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, text)


def check_most_partitions(count: int, configs: int) -> None:
    """Raises KafkaError(POLICY_VIOLATION) for more partitions than Kafka's controller makes at once.

    `configs` is how many settings of its own the topic has.
    """
    most = LARGEST_CHANGE - 1 - configs
    if count > most:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"{count} partitions are too many: a topic can be created with {most} at most"
        )


def check_folders(name: str, partitions: int) -> None:
    """Raises KafkaError(INVALID_PARTITIONS) if a file system could not name the folder of the last partition.

    MOCK: Kafka takes such partitions, and its log directory is offline then. Only a topic with a very long name and
    100,000 partitions has some.
    """
    folder = f"{name}-{partitions - 1}"
    if len(folder) > LONGEST_FOLDER:
        text = f"partition {partitions - 1} would have a folder with a name of more than {LONGEST_FOLDER} characters"
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, text)


def check_total(partitions: int) -> None:
    """Raises KafkaError(POLICY_VIOLATION) for more partitions than one CreateTopics may ask for."""
    if partitions > LARGEST_CHANGE:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def too_large_change() -> KafkaError:
    """The error of a CreateTopics that takes more than `LARGEST_CHANGE` records."""
    return KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
