"""A segment on disk, whose batches are read when something asks for them first: a start reads no records."""

import logging
from collections.abc import Generator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from fakebroker.broker.core.logs.segment import Segment
from fakebroker.platform.files import regular_file
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace
from fakebroker.serve.storage.segment_content import CheckedContent, SegmentContent

log = logging.getLogger("fakebroker")
_NO_PAUSE = 1 << 62  # batches


class StoredSegment(Segment):
    """A segment that reads its file on the first use of an attribute that it does not have yet.

    The slots of `Segment` are empty until then, and Python calls `__getattr__` for an empty slot: a segment that was
    loaded, or never was on disk, costs nothing more than without this. Whoever can wait has it loaded in steps first
    (core's unloaded_segments.py). Nothing of it is seen before all of it was read.
    """

    __slots__ = (
        "_index_interval_bytes",
        "_largest_ms",
        "_reading",
        "file_bytes",
        "next_offset",
        "path",
        "stored_count",
    )

    def __init__(
        self,
        path: Path,
        base_offset: int,
        file_bytes: int,
        modified_ms: int,
        index_interval_bytes: int,
        largest_ms: int | None = None,
        next_offset: int | None = None,
    ) -> None:
        """`largest_ms` is what the time index says, `next_offset` that no batch begins at or after; None: not known."""
        self.path = path
        self.base_offset = base_offset
        self.file_bytes = file_bytes
        self.created_ms = self.modified_ms = modified_ms
        self.stored_count = -1  # batches that were in the file; -1 before they are read
        self._index_interval_bytes = index_interval_bytes
        self._largest_ms = largest_ms
        self.next_offset = next_offset
        self._reading: SegmentContent | None = None  # what was read so far; all who wait for it go on with the same

    def __getattr__(self, name: str) -> Any:
        if name not in Segment.__slots__ or self.is_loaded:
            raise AttributeError(name)
        self._read_on(Pace(_NO_PAUSE))
        return getattr(self, name)

    def load(self) -> None:
        """Load all of it at once. Raises as `load_in_steps` does."""
        if not self.is_loaded:
            self._read_on(Pace(_NO_PAUSE))

    def load_in_steps(self, pace: Pace) -> Generator[None, None, None]:
        """See Segment. Raises KafkaError(KAFKA_STORAGE_ERROR) for a file that cannot be read."""
        while not self.is_loaded:
            if not self._read_on(pace):
                yield

    def checked(self, content: CheckedContent) -> None:
        """Be as a check has found the file."""
        self.file_bytes, self._largest_ms, self.next_offset = content.size_bytes, content.largest_ms, content.end_offset

    @property
    def is_loaded(self) -> bool:
        """Whether its batches are in memory."""
        return self.stored_count >= 0

    @property
    def size_bytes(self) -> int:
        """Bytes of all batches."""
        return super().size_bytes if self.is_loaded else self.file_bytes

    @property
    def is_empty(self) -> bool:
        """Whether there is no batch in it."""
        return super().is_empty if self.is_loaded else not self.file_bytes

    @property
    def knows_largest_timestamp(self) -> bool:
        """Whether `largest_timestamp_ms` is known without the batches."""
        return self.is_loaded or self._largest_ms is not None

    @property
    def largest_timestamp_ms(self) -> int:
        """The largest timestamp; BEFORE_EVERY_TIMESTAMP when no search may find anything in it."""
        if self.is_loaded or self._largest_ms is None:
            return super().largest_timestamp_ms
        return self._largest_ms

    def bytes_between(self, offset: int, end: int) -> int:
        """As `Segment.bytes_between`; as long as the batches are not in memory, at most so many."""
        return super().bytes_between(offset, end) if self.is_loaded else self.file_bytes

    def _read_on(self, pace: Pace) -> bool:
        """Go on reading until the pace is over; returns whether all is read and in memory.

        Raises KafkaError(KAFKA_STORAGE_ERROR) for a file that cannot be read.
        """
        content = self._reading
        if content is None:
            content = self._reading = SegmentContent(self.base_offset, self._index_interval_bytes)
        try:
            with regular_file(self.path, "rb") as file, mapped(file.fileno(), self.path.stat().st_size) as data:
                while cost := content.read_on(data):
                    if pace.is_over(cost):
                        return False
        except OSError as error:
            self._reading = None
            log.error("cannot read %s: %s", self.path, error.strerror or error)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.path}: {error.strerror or error}") from None
        self._have(content)
        return True

    def _have(self, content: SegmentContent) -> None:
        if content.problem is not None:
            log.error("%s: %s; what follows is not served", self.path, content.problem)
        self._reading = None
        self.stored_count = len(content.batches)
        content.put_into(self)


class mapped:  # noqa: N801 - used like a function
    """The content of an open file as a buffer, while the block lasts. An empty file cannot be mapped."""

    def __init__(self, fd: int, size_bytes: int) -> None:
        self._map = mmap(fd, size_bytes, access=ACCESS_READ) if size_bytes else None

    def __enter__(self) -> "bytes | mmap":
        return b"" if self._map is None else self._map

    def __exit__(self, *_error: object) -> None:
        if self._map is not None:
            self._map.close()
