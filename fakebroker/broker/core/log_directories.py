"""The log directories of one broker (`log.dirs`): which of them has a replica, and what is wrong with their disks.

Kafka: `LogManager`, `ReplicaManager.handleLogDirFailure`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition


class LogDirectory:
    """One entry of `log.dirs`, and the state of its disk.

    `is_online`: the broker uses it. One that failed stays offline until the broker starts again, as in Kafka, whatever
    becomes of its disk meanwhile.
    """

    __slots__ = ("flush_ms", "free_bytes", "is_online", "is_unusable", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_online = True
        self.free_bytes: int | None = None  # None: no limit
        self.is_unusable = False  # every read and write fails
        self.flush_ms = 0  # how long it takes to flush a file

    @property
    def has_fault(self) -> bool:
        """Whether its disk is full or nearly so, unusable or slow."""
        return self.is_unusable or self.free_bytes is not None or self.flush_ms > 0

    def take(self, size_bytes: int) -> bool:
        """Write so many bytes. False if they do not fit: from then on nothing does."""
        if self.free_bytes is None:
            return True
        is_taken = size_bytes <= self.free_bytes
        self.free_bytes = self.free_bytes - size_bytes if is_taken else 0
        return is_taken

    def heal(self) -> None:
        """End all faults of its disk. A directory that is offline stays so."""
        self.free_bytes, self.is_unusable, self.flush_ms = None, False, 0


class LogDirectories:
    """The directories of one broker, in the order of `log.dirs`, and the replicas in each."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.all = [LogDirectory(path) for path in dict.fromkeys(paths)]
        self._places: dict[Partition, LogDirectory] = {}
        self._counts = dict.fromkeys(self.all, 0)  # of replicas

    def of(self, partition: "Partition") -> LogDirectory:
        """The directory that has the replica of a partition.

        A new replica goes to the directory online that has the fewest, the first of several (see `place`).
        """
        if len(self.all) == 1:
            return self.all[0]
        directory = self._places.get(partition)
        if directory is None:
            directory = self._places[partition] = min(self.online or self.all, key=self._counts.__getitem__)
            self._counts[directory] += 1
        return directory

    def named(self, path: str) -> LogDirectory | None:
        """The directory of that path, or None."""
        return next((each for each in self.all if each.path == path), None)

    def move(self, partition: "Partition", directory: LogDirectory) -> None:
        """Have the replica of a partition in another directory."""
        if len(self.all) > 1:
            self._counts[self.of(partition)] -= 1
            self._places[partition] = directory
            self._counts[directory] += 1

    def place(self, partitions: "Iterable[Partition]") -> None:
        """Give every one of the broker's replicas a directory; those that are not named are gone.

        It is called before anything asks or changes where they are, so that their order is that of their creation.
        """
        there = dict.fromkeys(partitions)
        for gone in [each for each in self._places if each not in there]:
            self._counts[self._places.pop(gone)] -= 1
        for each in there:
            self.of(each)

    @property
    def online(self) -> list[LogDirectory]:
        """Those that the broker uses."""
        return [each for each in self.all if each.is_online]

    @property
    def can_start(self) -> bool:
        """Whether a broker can start with them: Kafka needs one that can be used, and none that is full (LR-6)."""
        return bool(self.online) and all(each.free_bytes != 0 for each in self.online)

    def start(self) -> None:
        """The broker starts: every directory is online whose disk can be used."""
        for each in self.all:
            each.is_online = not each.is_unusable
