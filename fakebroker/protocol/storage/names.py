"""The names of files and folders in a log directory. Kafka: `LogFileUtils`, `UnifiedLog.parseTopicPartitionName`."""

import re
from typing import Final, NamedTuple

from fakebroker.protocol.errors import InvalidArgument

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
PRODUCER_SNAPSHOT: Final = ".snapshot"
SEGMENT_SUFFIXES: Final = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
"""The files of a segment, which are replaced and deleted together."""

DELETED: Final = ".deleted"
"""After the name of a file that is to be removed."""

CLEANED: Final = ".cleaned"
"""After the name of a file that the cleaner has not finished."""

SWAP: Final = ".swap"
"""After the name of a file that the cleaner has finished, and that replaces others."""

LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
META_PROPERTIES: Final = "meta.properties"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
LOCK: Final = ".lock"

_OFFSET_DIGITS = 20
_DELETED_FOLDER = re.compile(r".+\.[0-9a-f]{32}-delete")
_MAX_FOLDER = 255  # characters of a name, in most file systems


class PartitionFolder(NamedTuple):
    """The topic and the partition that a folder belongs to."""

    topic: str
    partition: int


def file_name(offset: int, suffix: str) -> str:
    """The name of a file that begins with an offset: 00000000000000000042.log."""
    return f"{offset:0{_OFFSET_DIGITS}}{suffix}"


def offset_of(name: str, suffix: str) -> int | None:
    """The offset in the name of a file with that suffix; None for another file."""
    digits = name.removesuffix(suffix)
    if digits == name or len(digits) != _OFFSET_DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits)


def folder_name(topic: str, partition: int) -> str:
    """The name of a partition's folder: orders-0.

    Raises InvalidArgument for a topic whose folder would be elsewhere. No cluster has one: this is the last check
    before a folder is written or removed.
    """
    _check(topic)
    return f"{topic}-{partition}"


def parse_folder(name: str) -> PartitionFolder | None:
    """What a folder's name says; None if it is not that of a partition."""
    topic, dash, digits = name.rpartition("-")
    if not (topic and dash and digits.isascii() and digits.isdigit()) or str(int(digits)) != digits:
        return None
    return PartitionFolder(topic, int(digits))


def deleted_folder_name(topic: str, partition: int, unique_id: str) -> str:
    """The name of a partition's folder while it is removed; `unique_id` has 32 hexadecimal digits.

    A long topic is cut off so that the name has at most 255 characters. Raises InvalidArgument as `folder_name` does.
    """
    _check(topic)
    suffix = f"-{partition}.{unique_id}-delete"
    return topic[: _MAX_FOLDER - len(suffix)] + suffix


def stray_folder_name(name: str, number: int) -> str:
    """The name that a folder of no partition gets, cut off as that of a deleted one is."""
    suffix = f".{number:032x}-stray"
    return name[: _MAX_FOLDER - len(suffix)] + suffix


def is_deleted_folder(name: str) -> bool:
    """Whether the folder is one that is removed."""
    return _DELETED_FOLDER.fullmatch(name) is not None


def _check(topic: str) -> None:
    if not topic or any(each in topic for each in "/\\\0"):
        raise InvalidArgument("topic", topic, f"the topic name {topic!r:.60} cannot be that of a folder")
