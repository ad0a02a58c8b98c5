"""The start of a broker on a data directory that has a cluster already."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from fakebroker.broker.core import elections
from fakebroker.broker.core.cluster_state import build_cluster
from fakebroker.broker.core.topics import INTERNAL_TOPICS, Partition
from fakebroker.broker.release import Release
from fakebroker.broker.settings import Settings
from fakebroker.platform.files import names_in_place, regular_bytes
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.metadata_records import encode_metadata_record
from fakebroker.protocol.records.metadata_records_schema import NoOpRecord
from fakebroker.protocol.storage import names
from fakebroker.protocol.storage.names import PartitionFolder
from fakebroker.protocol.storage.properties import decode_partition_metadata
from fakebroker.serve.storage.cluster_store import ClusterStore
from fakebroker.serve.storage.data_directory import DataDirectory
from fakebroker.serve.storage.loading import LoadedSegments, complete_changes, fill_log, load_segments
from fakebroker.serve.storage.log_directory import unusable, wrong
from fakebroker.serve.storage.metadata_log import METADATA
from fakebroker.serve.storage.metadata_state import cluster_state_of, unsupported_features
from fakebroker.serve.storage.partition_files import PartitionFiles

if TYPE_CHECKING:
    from fakebroker.broker.core.cluster import Cluster

log = logging.getLogger("fakebroker")
_TOKEN_KEY = "delegation.token.secret.key"


def load_cluster(
    data: DataDirectory, settings: Settings, release: Release, seed: int, now: Instant
) -> tuple["Cluster", ClusterStore]:
    """The cluster of a directory whose metadata was read, with its logs; groups are not loaded yet.

    Raises InvalidArgument.
    """
    for name, level, highest in unsupported_features(data.image, release.features):
        known = f"Kafka {release.name} knows levels up to {highest}"
        raise wrong(data.path, f"has {name} {level}, but {known}; choose a newer release with --as")
    token_key = None if settings.is_null(_TOKEN_KEY) else settings.get_str(_TOKEN_KEY)
    starts = next(iter(data.metadata.values())).end_offset
    state = cluster_state_of(data.image, data.cluster_id, release, f"{seed} {starts}", token_key)
    cluster = build_cluster(state, settings, release, now, seed)
    store = ClusterStore(data, cluster)
    try:
        _Loading(data, store, now).load_logs(cluster)
    except OSError as error:
        raise unusable(data.path, "cannot be read", error) from None
    for topic in cluster.topics:
        for partition in topic.partitions:
            if partition.leader < 0 or len(partition.isr) < len(partition.replicas):
                elections.broker_started(partition, now)
    store.append_metadata([encode_metadata_record(NoOpRecord())], now)
    return cluster, store


def newest_record_ms(store: ClusterStore) -> int:
    """The time of the newest record that a coordinator wrote, -1 without any: the broker's clock was there."""
    logs = [each.log for each in store.stored_logs() if each.log.partition.topic.name in INTERNAL_TOPICS]
    return max((each.active_segment.largest_timestamp_ms for each in logs), default=-1)


class _Loading:
    """The folders that were found, and what the checkpoints say of them."""

    def __init__(self, data: DataDirectory, store: ClusterStore, now: Instant) -> None:
        self._data = data
        self._store = store
        self._now = now
        directories = data.directories
        self._folders = {node_id: each.folders() for node_id, each in directories.items()}
        self._points = {node_id: each.read_offsets(names.RECOVERY_POINTS) for node_id, each in directories.items()}
        self._starts = {node_id: each.read_offsets(names.LOG_STARTS) for node_id, each in directories.items()}
        self._cleaned = {node_id: each.read_offsets(names.CLEANER_OFFSETS) for node_id, each in directories.items()}

    def load_logs(self, cluster: "Cluster") -> None:
        """Load the logs of all partitions that have folders; folders of no partition are put aside. Raises OSError."""
        self._store.is_loading = True
        for topic in cluster.topics:
            for partition in topic.partitions:
                self._load_partition(partition)
        self._store.is_loading = False
        self._write_checkpoints()
        for node_id, left in self._folders.items():
            for name, path in left.items():
                if name != METADATA:
                    aside = self._data.directories[node_id].put_aside(path)
                    log.warning("%s is of no partition of this cluster: it was renamed to %s", path, aside.name)

    def _write_checkpoints(self) -> None:
        """Write the checkpoints anew if they name logs that are not there: a kill cut the deletion of topics short."""
        logs = (each.log.partition for each in self._store.stored_logs())
        there = {METADATA, *(PartitionFolder(each.topic.name, each.index) for each in logs)}
        offsets = [each for of_nodes in (self._points, self._starts, self._cleaned) for each in of_nodes.values()]
        if any(offset and name not in there for each in offsets for name, offset in each.items()):
            self._store.write_checkpoints(self._now)

    def _load_partition(self, partition: Partition) -> None:
        name = PartitionFolder(partition.topic.name, partition.index)
        found: dict[int, Path] = {}
        for node_id in dict.fromkeys([partition.leader, *partition.replicas]):
            path = self._folders.get(node_id, {}).get(name)
            if path is not None and _topic_id_in(path) == partition.topic.id:
                found[node_id] = path
                del self._folders[node_id][name]
        for node_id, path in found.items():
            config = partition.topic.config.log
            recovery_point = None if self._data.was_stopped_cleanly else self._points[node_id].get(name, 0)
            loaded = load_segments(path, config, recovery_point)
            if loaded.segments:
                self._fill(partition, node_id, loaded, path)
                self._warn_if_shorter(name, loaded.end_offset)
                return
        self._warn_if_shorter(name, 0)

    def _warn_if_shorter(self, name: PartitionFolder, end_offset: int) -> None:
        """Warn if a log ends before its recovery point: after a clean stop that is the end of the log."""
        stored_until = max(points.get(name, 0) for points in self._points.values())
        if self._data.was_stopped_cleanly and end_offset < stored_until:
            text = "%s ends at offset %d, but ended at %d at the clean stop: files in %s are missing or cut off"
            log.warning(text, names.folder_name(*name), end_offset, stored_until, self._data.path)

    def _fill(self, partition: Partition, node_id: int, loaded: LoadedSegments, path: Path) -> None:
        name = PartitionFolder(partition.topic.name, partition.index)
        partition_log = partition.log  # made now
        fill_log(partition_log, loaded, path, self._starts[node_id].get(name), self._now)
        expiration_ms = partition.topic.cluster.settings.get_int("producer.id.expiration.ms")
        partition_log.producers.expire(self._now.wall_ms, expiration_ms)
        partition_log.cleaned_until = self._cleaned[node_id].get(name, 0)
        copies = [self._copy(partition, each, node_id, loaded) for each in self._store.holders(partition)]
        stored = self._store.adopt(partition_log, copies)
        stored.stored_until(min(self._points[node_id].get(name, 0), loaded.end_offset))
        if any(not each.is_whole for each in copies):
            partition_log.wake(self._now)  # so that they are written

    def _copy(self, partition: Partition, node_id: int, source: int, loaded: LoadedSegments) -> PartitionFiles:
        """The files of one replica: those that were loaded, or equal ones; others are written anew."""
        directory, topic_id = self._data.directories[node_id], partition.topic.id
        if node_id != source:
            copy = PartitionFiles(directory, partition.log, topic_id)
            if not (copy.folder.exists() and _has_segments(copy.folder, loaded)):
                directory.remove_folder(copy.name, "0" * 32)
                return copy
        copy = PartitionFiles(directory, partition.log, topic_id, loaded.segments)
        if loaded.checked:
            copy.write_checked(loaded.checked)
        return copy


def _has_segments(folder: Path, loaded: LoadedSegments) -> bool:
    """Whether another copy has files of the same sizes, and no other segments; changes under way are completed first.

    Raises OSError, also for a symbolic link among them.
    """
    complete_changes(folder, names_in_place(folder))
    sizes = {each.path.name: each.file_bytes for each in loaded.segments}
    found = {name for name in names_in_place(folder) if name.endswith(names.LOG)}
    return found == sizes.keys() and all((folder / name).stat().st_size == sizes[name] for name in found)


def _topic_id_in(folder: Path) -> bytes | None:
    """The topic id that a partition's folder has; None if it has none, or a damaged one.

    Raises OSError if it cannot be read: its records may be whole.
    """
    try:
        return decode_partition_metadata(regular_bytes(folder / names.PARTITION_METADATA))
    except FileNotFoundError:
        log.warning("%s is missing", folder / names.PARTITION_METADATA)
        return None
    except WireError as error:
        log.warning("%s: %s", folder / names.PARTITION_METADATA, error)
        return None
