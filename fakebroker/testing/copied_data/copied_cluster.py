"""The cluster in the data directories of a Kafka: topics, settings and users of its metadata, and all of its logs.

Its time is that of the last record of the metadata log: an active controller writes one each half
second. So the broker goes on at the moment at which the Kafka was stopped.
"""

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from fakebroker.broker.core.cluster_state import ClusterState, PartitionState, TopicState
from fakebroker.broker.release import METADATA_VERSION, RELEASES, release
from fakebroker.protocol.storage import names
from fakebroker.protocol.storage.names import PartitionFolder
from fakebroker.serve.storage.metadata_state import cluster_state_of
from fakebroker.testing.copied_data.copied_directory import CopiedDirectory, log_directories, wrong
from fakebroker.testing.copied_data.copied_logs import CopiedLog, read_log
from fakebroker.testing.copied_data.copied_metadata import CopiedMetadata, read_metadata
from fakebroker.testing.imported.nodes import beginning_nodes, next_producer_id

# The highest metadata.version of releases in KRaft mode; that of later ones is among their features.
_OLDER_VERSIONS: Final = {"3.3.2": 7, "3.6.2": 14, "3.9.1": 21}


class CopiedState(NamedTuple):
    """What is in data directories: the cluster, the release of its brokers, and when the last record was written."""

    cluster: ClusterState
    release: str
    beginning_nodes: tuple[int, ...]  # that the broker of a snapshot begins with
    written_ms: int


class CopiedCluster:
    """Reads directories. `problems` has a sentence about each file that could not be used."""

    def __init__(self, paths: Iterable[str | PathLike[str]]) -> None:
        """Raises InvalidArgument for directories that are none of Kafka, or of several clusters; Unavailable."""
        self.problems: list[str] = []
        self._directories = [
            CopiedDirectory(each, self.problems) for path in paths for each in log_directories(Path(path))
        ]
        self._check_clusters()
        self._highest_producer_id = -1

    def read(self) -> CopiedState:
        """What the directories have, without static settings of the brokers, which are in no data directory.

        Raises InvalidArgument for a cluster without metadata or of a newer release, and for files that cannot be read.
        """
        metadata = self._metadata()
        if not metadata.image.brokers:
            raise wrong(self._directories[0].path, "has metadata without a broker: none has ever registered")
        name = self._release(metadata)
        cluster_id = self._directories[0].properties.cluster_id
        cluster = cluster_state_of(metadata.image, cluster_id, release(name), "0", None)
        topics = self._topics(cluster)
        cluster = cluster._replace(
            topics=topics,
            nodes=tuple(sorted(cluster.nodes)),
            next_producer_id=next_producer_id(metadata.image.next_producer_id, self._highest_producer_id),
        )
        return CopiedState(cluster, name, beginning_nodes(sorted(metadata.image.brokers)), max(metadata.written_ms, 0))

    def _check_clusters(self) -> None:
        first = self._directories[0]
        for each in self._directories[1:]:
            if each.properties.cluster_id != first.properties.cluster_id:
                text = f"is of cluster {each.properties.cluster_id}, but {first.path} of {first.properties.cluster_id}"
                raise wrong(each.path, text)

    # -- metadata ------------------------------------------------------------------------------------------------

    def _metadata(self) -> CopiedMetadata:
        """The longest metadata log of all directories."""
        folders = [each.metadata_folder for each in self._directories if each.metadata_folder.is_dir()]
        if not folders:
            text = "has no __cluster_metadata-0: give the directory of a controller, too"
            raise wrong(self._directories[0].path, text)
        found = [read_metadata(folder, self.problems) for folder in folders]
        return max(found, key=lambda each: each.end_offset)

    def _release(self, metadata: CopiedMetadata) -> str:
        """The release that the brokers have; the newest here for a later one that has not finalized its version."""
        highest = {name: _highest_version(name) for name in RELEASES}
        finalized, newest = metadata.image.features.get(METADATA_VERSION, 0), highest[RELEASES[-1]]
        if finalized > newest:
            text = f"has metadata.version {finalized}; the newest that is read is {newest}, of Kafka {RELEASES[-1]}"
            raise wrong(self._directories[0].path, text)
        supported = max(metadata.supported, finalized)
        return next((name for name in RELEASES if highest[name] >= supported), RELEASES[-1])

    # -- logs ----------------------------------------------------------------------------------------------------

    def _topics(self, cluster: ClusterState) -> tuple[TopicState, ...]:
        folders: dict[PartitionFolder, list[tuple[CopiedDirectory, Path]]] = {}
        for directory in self._directories:
            for name, path in directory.partitions().items():
                folders.setdefault(name, []).append((directory, path))
        missing: list[str] = []
        topics = []
        for topic in cluster.topics:
            partitions = []
            for index, partition in enumerate(topic.partitions):
                name = PartitionFolder(topic.name, index)
                log = self._log(name, topic.id, partition, folders.pop(name, []))
                if log is None:
                    missing.append(names.folder_name(*name))
                partitions.append(_led(partition)._replace(log=None if log is None else log.state))
            topics.append(topic._replace(partitions=tuple(partitions)))
        self.problems += [f"{path} is not used: it is of no topic" for copies in folders.values() for _, path in copies]
        if missing:
            self.problems.append(_without_files(missing))
        return tuple(topics)

    def _log(
        self,
        name: PartitionFolder,
        topic_id: bytes,
        partition: PartitionState,
        copies: Sequence[tuple[CopiedDirectory, Path]],
    ) -> CopiedLog | None:
        """The log of the leader, or else of the replica that has most; None without files."""
        logs = {}
        for directory, path in copies:
            found = directory.topic_id(path)
            if found is not None and found != topic_id:
                self.problems.append(f"{path} is not used: it is of a topic that was deleted")
                continue
            start, cleaned = directory.log_starts.get(name), directory.cleaned.get(name, 0)
            logs[directory.properties.node_id] = read_log(path, start, cleaned, self.problems)
        if not logs:
            return None
        longest = max(logs.values(), key=lambda each: each.state.log_end_offset)
        log = logs.get(partition.leader, longest)
        self._highest_producer_id = max(self._highest_producer_id, log.highest_producer_id)
        return log


def _highest_version(name: str) -> int:
    """The highest metadata.version that a release supports, 0 for one without KRaft."""
    return release(name).features.get(METADATA_VERSION, (0, _OLDER_VERSIONS.get(name, 0)))[1]


def _without_files(partitions: Sequence[str]) -> str:
    if len(partitions) == 1:
        return f"{partitions[0]} has no files in these directories: the partition is empty"
    return f"{len(partitions)} partitions, such as {partitions[0]}, have no files in these directories: they are empty"


def _led(partition: PartitionState) -> PartitionState:
    """The partition with a leader, as when the brokers start: a replica in sync, or an eligible one if there is none.

    A stop that is clean leaves the partitions of an only broker without a leader, and from Kafka 4.1 on also without a
    replica in sync.
    """
    if partition.leader >= 0 or not (partition.isr or partition.elr):
        return partition
    leader = (partition.isr or partition.elr)[0]
    return partition._replace(
        leader=leader,
        leader_epoch=partition.leader_epoch + 1,
        isr=partition.isr or (leader,),
        elr=tuple(each for each in partition.elr if each != leader),
        last_known_elr=(),
    )
