"""The log of `__cluster_metadata` in a data directory: the metadata of the cluster as Kafka's own records."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path

from fakebroker.platform.files import names_in_place, regular_bytes, regular_file
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.records.batch import build_batch, parse_header, plain_records, read_records
from fakebroker.protocol.records.faults import InvalidRecord
from fakebroker.protocol.records.metadata_records import read_metadata_record
from fakebroker.protocol.records.quorum_records import LeaderChangeMessage, QuorumVoter, encode_quorum_record
from fakebroker.protocol.storage import names
from fakebroker.protocol.storage.checkpoints import encode_leader_epochs
from fakebroker.protocol.storage.names import PartitionFolder, file_name
from fakebroker.protocol.storage.properties import encode_partition_metadata
from fakebroker.serve.storage.log_directory import LogDirectory, unusable, wrong
from fakebroker.serve.storage.metadata_image import MetadataImage
from fakebroker.serve.storage.segment_content import read_content
from fakebroker.serve.storage.stored_segment import mapped

METADATA = PartitionFolder("__cluster_metadata", 0)
_TOPIC_ID = bytes(15) + b"\x01"
_LEADER_EPOCH = 1
_BATCH_RECORDS = 5_000  # of a change that takes more records: a batch should not be much longer than a megabyte

log = logging.getLogger("fakebroker")


class MetadataLog:
    """The log in one log directory."""

    def __init__(self, directory: LogDirectory) -> None:
        self.move_to(directory)
        self.image = MetadataImage()
        self.end_offset = 0
        self.last_timestamp_ms = -1  # of its newest batch
        self.size_bytes = 0  # of the file, up to its last whole batch
        self.problem: str | None = None  # why reading ended before the end of the file
        self._unwritten = b""  # batches that are not in the file yet

    def move_to(self, directory: LogDirectory) -> None:
        """The log is in this directory now."""
        self.directory = directory
        self.folder = directory.path / names.folder_name(*METADATA)

    @property
    def path(self) -> Path:
        """The file of its only segment."""
        return self.folder / file_name(0, names.LOG)

    def create(self, node_ids: Sequence[int], now_ms: int) -> None:
        """Begin an empty log, whose voters are these nodes and whose leader is the first. Raises OSError."""
        disk = self.directory.disk
        self.folder.mkdir(exist_ok=True)
        disk.replace(self.folder / names.PARTITION_METADATA, encode_partition_metadata(_TOPIC_ID))
        disk.replace(self.folder / names.LEADER_EPOCHS, encode_leader_epochs([(_LEADER_EPOCH, 0)]))
        disk.replace(self.folder / "quorum-state", _quorum_state(node_ids))
        voters = [QuorumVoter(voter_id=node_id) for node_id in node_ids]
        change = LeaderChangeMessage(leader_id=node_ids[0], voters=voters, granting_voters=voters)
        records = plain_records([encode_quorum_record(change)], now_ms, 0)
        self.add(build_batch(records, leader_epoch=_LEADER_EPOCH, control=True), 1, now_ms)
        self.write()

    def read(self) -> None:
        """Read all whole batches. Raises InvalidArgument."""
        try:
            self._check_has_one_segment(names_in_place(self.folder))
            with regular_file(self.path, "rb") as file, mapped(file.fileno(), self.path.stat().st_size) as data:
                content = read_content(data, 0, check_crc=True)
        except FileNotFoundError:
            raise wrong(self.path, "is missing: the topics of the directory are not known without it") from None
        except OSError as error:
            raise unusable(self.path, "cannot be read", error) from None
        if not content.batches:
            raise wrong(self.path, f"has no metadata: {content.problem or 'it is empty'}")
        for batch in content.batches:
            self._apply(batch)
        self.end_offset, self.size_bytes, self.problem = content.end_offset, content.size_bytes, content.problem

    def cut_off_rest(self) -> None:
        """Let the file end after its last whole batch, with a warning if anything follows. Raises OSError."""
        if self.problem is not None:
            lost_bytes = self.path.stat().st_size - self.size_bytes
            log.warning("%s: %s; the last %d bytes are cut off", self.path, self.problem, lost_bytes)
            self.directory.disk.cut(self.path, self.size_bytes)
            self.problem = None

    def _check_has_one_segment(self, files: Sequence[str]) -> None:
        """Raises InvalidArgument for several segments: Kafka closes one after a week, and later removes it."""
        later = sorted(name for name in files if name.endswith(names.LOG) and name != self.path.name)
        if later:
            text = f"has the segment {later[0]}: only a metadata log of one segment can be continued; use --data-from"
            raise wrong(self.folder, text)

    def _apply(self, batch: bytes) -> None:
        header = parse_header(batch)
        self.last_timestamp_ms = max(self.last_timestamp_ms, header.max_timestamp_ms)
        if header.is_control:
            return
        try:
            for record in read_records(batch):
                self.image.apply(read_metadata_record(record.value).message)
        except (InvalidRecord, WireError) as error:
            raise wrong(self.path, f"the batch at offset {header.base_offset} cannot be read: {error}") from None

    def add(self, batches: bytes, count: int, now_ms: int) -> None:
        """Append batches of so many records, which `write` writes to the file."""
        self._unwritten += batches
        self.end_offset += count
        self.last_timestamp_ms = max(self.last_timestamp_ms, now_ms)

    def write(self) -> None:
        """Write what was appended. Raises OSError; then the next `write` writes it, too."""
        if self._unwritten:
            self.directory.disk.append(self.path, self.size_bytes, self._unwritten)
            self.size_bytes += len(self._unwritten)
            self._unwritten = b""

    def copy_to(self, other: "MetadataLog") -> None:
        """Let another directory have the same log. Raises OSError."""
        if not other.path.exists() or other.path.stat().st_size != self.size_bytes:
            if not other.folder.exists():
                other.folder.mkdir()
            other.directory.disk.release(other.path)
            other.directory.disk.replace(other.path, regular_bytes(self.path))
        other.end_offset, other.size_bytes = self.end_offset, self.size_bytes
        other.last_timestamp_ms = self.last_timestamp_ms


def batches_of(records: Sequence[bytes], offset: int, now_ms: int) -> bytes:
    """The batches of encoded records that `MetadataLog.add` appends at an offset."""
    batches = []
    for at in range(0, len(records), _BATCH_RECORDS):
        pairs = [(None, each) for each in records[at : at + _BATCH_RECORDS]]
        batches.append(build_batch(plain_records(pairs, now_ms, offset + at), leader_epoch=_LEADER_EPOCH))
    return b"".join(batches)


def _quorum_state(node_ids: Sequence[int]) -> bytes:
    state = {
        "clusterId": "",
        "leaderId": node_ids[0],
        "leaderEpoch": _LEADER_EPOCH,
        "votedId": -1,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": node_id} for node_id in node_ids],
        "data_version": 0,
    }
    return json.dumps(state, separators=(",", ":")).encode()
