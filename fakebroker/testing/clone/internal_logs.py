"""The latest records of internal topics, read as their coordinators read them: committed ones only, the last of a key.

Kafka lets an administrator read `__consumer_offsets` and `__share_group_state`. They have what no answer tells: when an
offset was committed, and what members have stored.
"""

from collections.abc import Iterator
from typing import NamedTuple

from fakebroker.client.cluster.cluster_client import EARLIEST, LATEST, READ_COMMITTED, ClusterClient, Fetch
from fakebroker.client.cluster.offset_ranges import committed_entries, read_range
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.protocol.records.record_content import ReadRecord, records_of
from fakebroker.protocol.records.share_state_log import ShareStateEntry, read_share_state
from fakebroker.protocol.records.share_state_schema import ShareSnapshotValue


class StoredRecord(NamedTuple):
    """A record that counts."""

    timestamp_ms: int
    key: bytes
    value: bytes


def latest_records(cluster: ClusterClient, partition: TopicPartition) -> list[StoredRecord]:
    """The last record of each key that was not deleted, in the order of the log. Raises ClusterError."""
    found: dict[bytes, StoredRecord] = {}
    for record in _records(cluster, partition):
        if record.key is None:
            continue
        found.pop(record.key, None)
        if record.value is not None:
            found[record.key] = StoredRecord(record.timestamp_ms, record.key, record.value)
    return list(found.values())


def latest_share_states(cluster: ClusterClient, partition: TopicPartition) -> list[tuple[int, ShareStateEntry]]:
    """The last snapshot of each share partition and the updates after it, with their timestamps.

    Raises ClusterError, and WireError for a record that cannot be read.
    """
    found: dict[tuple[str, bytes, int], list[tuple[int, ShareStateEntry]]] = {}
    for record in _records(cluster, partition):
        entry = read_share_state(record.key, record.value)
        if entry is None:
            continue
        share_partition = entry[:3]
        if entry.value is None:
            found.pop(share_partition, None)
        elif isinstance(entry.value, ShareSnapshotValue):
            found[share_partition] = [(record.timestamp_ms, entry)]
        elif share_partition in found:
            found[share_partition].append((record.timestamp_ms, entry))
    return [each for entries in found.values() for each in entries]


def _records(cluster: ClusterClient, partition: TopicPartition) -> Iterator[ReadRecord]:
    """All committed records. An open transaction holds those after its first record back, as for every reader."""
    start = cluster.offsets({partition: EARLIEST})[partition].offset
    end = cluster.offsets({partition: LATEST}, READ_COMMITTED)[partition].offset
    for chunk in read_range(cluster, Fetch(partition, start, isolation=READ_COMMITTED), end):
        data = chunk.fetched.records
        for position, size_bytes, _ in committed_entries(chunk.fetched):
            yield from (each for each in records_of(data[position : position + size_bytes]) if each.offset < end)
