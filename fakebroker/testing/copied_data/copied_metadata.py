"""The metadata of a Kafka: its newest snapshot, and the records of the metadata log after it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.batch import check_crc, parse_header, read_records, split_batches
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.metadata_records import read_metadata_record
from fakebroker.protocol.records.metadata_records_schema import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    RegisterBrokerRecord,
)
from fakebroker.protocol.records.quorum_records import SnapshotFooterRecord, SnapshotHeaderRecord, read_quorum_record
from fakebroker.protocol.schema import Message
from fakebroker.protocol.storage import names
from fakebroker.serve.storage.metadata_image import MetadataImage
from fakebroker.testing.copied_data.copied_directory import read_file, wrong

_SNAPSHOT: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class CopiedMetadata(NamedTuple):
    """What the metadata log of a directory says, up to `end_offset`; `written_ms` is the time of its last record.

    `supported` is the highest metadata.version that its brokers support, 0 if none has registered.
    """

    image: MetadataImage
    end_offset: int
    written_ms: int
    supported: int


def read_metadata(folder: Path, problems: list[str]) -> CopiedMetadata:
    """Read the newest snapshot that is whole, and the log after it. Raises InvalidArgument."""
    reader = _Reader(folder, problems)
    reader.read_snapshot()
    reader.read_log()
    return CopiedMetadata(reader.image, reader.end_offset, reader.written_ms, reader.supported)


class _Reader:
    def __init__(self, folder: Path, problems: list[str]) -> None:
        self.image = MetadataImage()
        self.end_offset = 0
        self.written_ms = -1
        self.supported = 0
        self._folder = folder
        self._problems = problems
        self._waiting: list[Message] | None = None  # records of a metadata transaction that has not ended

    def read_snapshot(self) -> None:
        """Apply the newest snapshot that has its last record."""
        found = [(_SNAPSHOT.fullmatch(path.name), path) for path in self._folder.iterdir()]
        for match, path in sorted(((match, path) for match, path in found if match), key=lambda each: each[1].name)[
            ::-1
        ]:
            batches = list(_whole_batches(path, read_file(path), self._problems))
            if batches and self._is_whole(path, batches[-1]):
                for batch in batches:
                    self._apply_batch(path, batch)
                self.end_offset = int(match[1])
                return
            self._problems.append(f"{path} is not used: it is not whole")

    def read_log(self) -> None:
        """Apply the records of all segments from the end of the snapshot on. Raises InvalidArgument."""
        offsets = [(names.offset_of(path.name, names.LOG), path) for path in self._folder.iterdir()]
        segments = sorted((offset, path) for offset, path in offsets if offset is not None)
        if not segments and not self.end_offset:
            raise wrong(self._folder, "has no log and no snapshot: the topics are not known without them")
        if segments and segments[0][0] > self.end_offset:
            text = f"begins at offset {segments[0][0]}, and no snapshot reaches so far: records are missing"
            raise wrong(self._folder, text)
        for _, path in segments:
            for batch in _whole_batches(path, read_file(path), self._problems):
                header = parse_header(batch)
                if header.last_offset >= self.end_offset:
                    self._apply_batch(path, batch)
                    self.end_offset = header.last_offset + 1

    def _is_whole(self, path: Path, last: bytes) -> bool:
        if not parse_header(last).is_control:
            return False
        try:
            return any(
                isinstance(read_quorum_record(each.key, each.value), SnapshotFooterRecord)
                for each in read_records(last)
            )
        except (WireError, InvalidRecord) as error:
            raise wrong(path, f"cannot be read: {error}") from None

    def _apply_batch(self, path: Path, batch: bytes) -> None:
        header = parse_header(batch)
        try:
            for record in read_records(batch):
                if header.is_control:
                    control = read_quorum_record(record.key, record.value)
                    if isinstance(control, SnapshotHeaderRecord):
                        self.written_ms = max(self.written_ms, control.last_contained_log_timestamp)
                else:
                    self._apply(read_metadata_record(record.value).message)
                    self.written_ms = max(self.written_ms, record.timestamp_ms)
        except (WireError, InvalidRecord) as error:
            raise wrong(path, f"cannot be read: the batch at offset {header.base_offset}: {error}") from None

    def _apply(self, message: Message) -> None:
        """Apply a record; those of a transaction when it ends, and never if it is aborted."""
        if isinstance(message, BeginTransactionRecord):
            self._waiting = []
        elif isinstance(message, AbortTransactionRecord):
            self._waiting = None
        elif isinstance(message, EndTransactionRecord):
            waiting, self._waiting = self._waiting or [], None
            for each in waiting:
                self._apply(each)
        elif self._waiting is not None:
            self._waiting.append(message)
        else:
            if isinstance(message, RegisterBrokerRecord):
                versions = [each.max_supported_version for each in message.features if each.name == "metadata.version"]
                self.supported = max([self.supported, *versions])
            self.image.apply(message)


def _whole_batches(path: Path, data: bytes, problems: list[str]) -> Iterator[bytes]:
    """The batches of a file up to the first that is cut off or damaged, which is a problem."""
    position = 0
    for batch in split_batches(data):
        try:
            check_crc(batch, parse_header(batch))
        except InvalidRecord as error:
            problems.append(f"{path} is read up to byte {position} only: {error.message}")
            return
        yield batch
        position += len(batch)
    if position < len(data):
        problems.append(f"{path} is read up to byte {position} only: the batch there is cut off")
