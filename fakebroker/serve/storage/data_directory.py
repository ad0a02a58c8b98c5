"""A data directory: the log directories of all brokers of a cluster, which are locked, named and read together.

With one broker it is a log directory of Kafka (`log.dirs`); with several it has one for each, named by their ids.
"""

import logging
import os
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path

from fakebroker.platform.files import refuse_link
from fakebroker.protocol.errors import WireError
from fakebroker.protocol.storage import names
from fakebroker.protocol.storage.properties import MetaProperties, decode_uuid, encode_uuid
from fakebroker.serve.storage.log_directory import LogDirectory, unusable, wrong
from fakebroker.serve.storage.metadata_image import MetadataImage
from fakebroker.serve.storage.metadata_log import MetadataLog
from fakebroker.serve.storage.replacement import Replacement, contents
from fakebroker.serve.storage.spare_descriptors import SpareDescriptors

log = logging.getLogger("fakebroker")


class DataDirectory:
    """The log directories by node id, from `open` to `close`.

    `cluster_id` is that of the cluster that is kept here, "" before there is one. `image` is what the metadata log
    says. `was_stopped_cleanly` says whether its files can be trusted.
    """

    def __init__(self, path: str | os.PathLike[str], node_ids: Sequence[int]) -> None:
        self.path = Path(path)
        self._has_folders = len(node_ids) > 1
        self.directories = {
            node_id: LogDirectory(self.path / str(node_id) if self._has_folders else self.path, node_id)
            for node_id in node_ids
        }
        self.ids: dict[int, bytes] = {}  # of the log directories
        self.metadata: dict[int, MetadataLog] = {}
        self.image = MetadataImage()
        self.spare = SpareDescriptors(self._close_files)
        self.cluster_id = ""
        self.was_stopped_cleanly = False
        self._replacement = Replacement(self.path, self.directories.values())

    def open(self) -> None:
        """Lock it, and read which cluster it is of. Raises InvalidArgument; then nothing is locked."""
        try:
            self._check_layout()
            for directory in self.directories.values():
                directory.open()
            self._replacement.go_on()
            self._read_properties()
            stops = [each.take_clean_shutdown() for each in self.directories.values()]
            self.was_stopped_cleanly = all(stops)
        except OSError as error:
            self.close()
            raise unusable(self.path, "cannot be used", error) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all files, and unlock it."""
        self.spare.close()
        for directory in self.directories.values():
            directory.close()

    def _close_files(self) -> None:
        for directory in self.directories.values():
            directory.disk.close()

    def forget(self) -> None:
        """In a forked child: the directory stays with the parent."""
        self.spare.close()
        for directory in self.directories.values():
            directory.forget()

    @property
    def is_open(self) -> bool:
        """Whether it is locked by this broker."""
        return all(each.is_open for each in self.directories.values())

    def _check_layout(self) -> None:
        """Raises InvalidArgument if it is of one broker, and of several now, or of other ones; OSError for a link."""
        if self._has_folders and any((each / names.META_PROPERTIES).exists() for each in contents(self.path)):
            raise wrong(self.path, "is the directory of one broker, not of several; use --nodes 1")
        for directory in self.directories.values():
            if self._has_folders:
                refuse_link(directory.path)
        if self.path.is_dir():
            nodes = sorted(int(each.name) for each in self.path.iterdir() if each.name.isdecimal() and each.is_dir())
            if nodes and nodes != sorted(self.directories):
                raise self._of_others(nodes)

    def _of_others(self, nodes: Iterable[int]) -> Exception:
        return wrong(self.path, f"has the brokers {listed(nodes)}, but is used for {listed(self.directories)}")

    def _read_properties(self) -> None:
        read = {node_id: each.read_properties() for node_id, each in self.directories.items()}
        found = {node_id: each for node_id, each in read.items() if each is not None}
        clusters = sorted({each.cluster_id for each in found.values()})
        if len(clusters) > 1:
            raise wrong(self.path, f"has brokers of several clusters, {listed(clusters)}: the directories are mixed up")
        missing = [node_id for node_id in self.directories if node_id not in found]
        if found and missing:
            raise wrong(self.path, f"has no data of the brokers {listed(missing)}")
        self.cluster_id = clusters[0] if clusters else ""
        try:
            self.ids = {node_id: decode_uuid(each.directory_id or "A" * 22) for node_id, each in found.items()}
        except WireError as error:
            raise wrong(self.path, f"has a wrong directory.id: {error}") from None

    def create(self, cluster_id: str, ids: dict[int, bytes], now_ms: int) -> None:
        """Let the directory, which is empty, be that of a cluster; `ids` are those of the log directories.

        Raises OSError.
        """
        self.image, self.metadata = MetadataImage(), {}
        for node_id, directory in self.directories.items():
            self.metadata[node_id] = MetadataLog(directory)
            self.metadata[node_id].create(list(self.directories), now_ms)
            directory.write_properties(MetaProperties(cluster_id, node_id, encode_uuid(ids[node_id])))
        self.ids, self.cluster_id = ids, cluster_id

    def read_metadata(self) -> int:
        """Read the metadata log into `image`; returns the time of its newest record. Raises InvalidArgument.

        After a kill the copies of several brokers may differ by the last records: the longest counts.
        """
        self.metadata = {node_id: MetadataLog(each) for node_id, each in self.directories.items()}
        for each in self.metadata.values():
            each.read()
        longest = max(self.metadata.values(), key=lambda each: each.end_offset)
        self.image = longest.image
        if not self.image.brokers:
            text = f"names no broker: {longest.problem or 'the first start on the directory was not completed'}"
            raise wrong(longest.path, text)
        if sorted(self.image.brokers) != sorted(self.directories):
            raise self._of_others(self.image.brokers)
        try:
            for each in self.metadata.values():
                each.cut_off_rest()
            for each in self.metadata.values():
                if each is not longest:
                    longest.copy_to(each)
                each.directory.remove_deleted()
        except OSError as error:
            raise unusable(self.path, "cannot be written", error) from None
        self._leave_out_incomplete_topics(longest.path)
        return longest.last_timestamp_ms

    def _leave_out_incomplete_topics(self, path: Path) -> None:
        """Leave out topics that do not have all partitions up to their last: a kill cut their creation short."""
        for topic_id, topic in list(self.image.topics.items()):
            missing = next(index for index in count() if index not in topic.partitions)
            if missing == 0 or missing < len(topic.partitions):
                log.warning("%s: topic %r has no partition %d; it is left out", path, topic.name, missing)
                del self.image.topics[topic_id]

    # Replacing all of it

    def begin_replacement(self) -> "DataDirectory":
        """A directory, which is never locked, for what is to take the place of all that is here. Raises OSError."""
        return DataDirectory(self._replacement.begin(), list(self.directories))

    def give_up_replacement(self, new: "DataDirectory") -> None:
        """All that is here stays."""
        new.close()
        self._replacement.give_up()

    def decide_for(self, new: "DataDirectory") -> None:
        """From now on the replacement counts, which the disk has stored if it replaces anything. Raises OSError."""
        new.close()
        self._replacement.decide(flush=self.cluster_id != "")

    def take(self, new: "DataDirectory") -> None:
        """Put what was decided for in the place of all that is here. Raises OSError."""
        self._close_files()
        self._replacement.finish(flush=self.cluster_id != "")
        self.image, self.ids, self.cluster_id, self.metadata = new.image, new.ids, new.cluster_id, new.metadata
        for node_id, each in self.metadata.items():
            each.move_to(self.directories[node_id])

    def sizes(self) -> list[int]:
        """The sizes of the metadata logs: another broker that used the directory has written to them."""
        return [each.path.stat().st_size if each.path.exists() else 0 for each in self.metadata.values()]


def listed(names_or_ids: Iterable[object]) -> str:
    """Ids or names in a text."""
    return ", ".join(map(str, names_or_ids))
