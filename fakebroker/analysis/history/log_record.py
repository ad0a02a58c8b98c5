"""What a reader of histories gives: records of `__consumer_offsets` as they stand in a log, and what it could not read.

Every reader (log segments, lines of a sink, Parquet, a live broker) gives the same two things, in the order in which it
finds them. `decode` says what a record means.
"""

from typing import IO, Literal, NamedTuple, Protocol


class Openable(Protocol):
    """What readers read: a Path, or what has been read of a file that is not of this machine. `str` is its name."""

    def open(self, mode: Literal["rb"], buffering: int = -1) -> IO[bytes]:
        """A stream of its bytes, in which `seek` works. Raises OSError."""


class LogRecord(NamedTuple):
    """One record of the log, not decoded yet.

    `position` is the first byte of the batch in a segment, the line of a text file or the row of Parquet, counted from
    1, or the offset of a live read. `at_ms` is None without a timestamp, `value` for a tombstone; Kafka writes no
    record without a key here. A marker has the producer whose transaction it ends. Sinks do not tell what is of a
    transaction: False. `control` is "commit" or "abort" for a marker, "unknown" for another control record.
    """

    source: str
    file: str
    position: int
    log_partition: int
    log_offset: int
    at_ms: int | None
    key: bytes | None
    value: bytes | None
    producer_id: int | None = None
    producer_epoch: int | None = None
    is_transactional: bool = False
    control: str | None = None

    def reject(self, reason: str, sample: str | None) -> "Reject":
        """What cannot be read of the record."""
        return Reject(*self[:5], reason, sample)


class Reject(NamedTuple):
    """Something that could not be read, and why: the columns of the table `rejects`."""

    source: str
    file: str
    position: int
    log_partition: int | None
    log_offset: int | None
    reason: str
    sample: str | None


class LogFile(NamedTuple):
    """A file of a log: where it is, the partition that its folder or name tells, if they do, and the log's name."""

    path: Openable
    log_partition: int | None
    source: str

    def reject(self, position: int, reason: str, sample: str | None = None, log_offset: int | None = None) -> Reject:
        """What cannot be read at a position of the file."""
        return Reject(self.source, str(self.path), position, self.log_partition, log_offset, reason, sample)


MAX_SAMPLE_BYTES = 48


def sample_of(data: bytes | str) -> str:
    """The beginning of what stood there: text as it is, bytes as hex."""
    if isinstance(data, str):
        return data[: 2 * MAX_SAMPLE_BYTES]
    return data[:MAX_SAMPLE_BYTES].hex()
