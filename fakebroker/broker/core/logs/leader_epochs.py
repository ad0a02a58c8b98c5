"""The history of leader epochs of one partition: which epoch began at which offset (KIP-101, KIP-279; LE, OE).

Kafka: `LeaderEpochFileCache`.
"""

from bisect import bisect_left, bisect_right
from operator import itemgetter

_epoch = itemgetter(0)
_start = itemgetter(1)


class LeaderEpochs:
    """The leader epochs of a log, each with the first offset written (or to be written) in it. Both grow together."""

    __slots__ = ("_entries", "latest")

    def __init__(self) -> None:
        self._entries: list[tuple[int, int]] = []  # (epoch, start offset)
        self.latest = -1  # the last entry's epoch, -1 when there is none; an attribute, for every append needs it

    def begin(self, epoch: int, offset: int) -> None:
        """`epoch` leads from `offset` on. Earlier epochs that begin there or later led nothing: they go (LE-3)."""
        if self._entries and epoch <= self.latest:
            return
        self._keep_below(offset)
        self._entries.append((epoch, offset))
        self.latest = epoch

    def first(self) -> int:
        """The epoch of the first entry, -1 when there is none."""
        return self._entries[0][0] if self._entries else -1

    def end_of(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) for a requested epoch: where the next one begins (LE-2, OE-2, OE-4).

        An epoch that is not in the history gets the one before it, or itself with the first start if it is older than
        all; (-1, -1) if it is newer than all, or -1.
        """
        entries = self._entries
        if not entries or epoch == -1 or epoch > self.latest:
            return -1, -1
        if epoch == self.latest:
            return epoch, log_end_offset
        index = bisect_right(entries, epoch, key=_epoch)
        return entries[index - 1][0] if index else epoch, entries[index][1]

    def cut_start(self, offset: int) -> None:
        """The log now starts at `offset`: older epochs are forgotten, the one in force there begins there (OE-7)."""
        count = bisect_right(self._entries, offset, key=_start)
        if count:
            self._entries[:count] = [(self._entries[count - 1][0], offset)]

    def cut_end(self, offset: int) -> None:
        """The log was truncated to end at `offset`: epochs that began at or after it are forgotten."""
        self._keep_below(offset)
        self.latest = self._entries[-1][0] if self._entries else -1

    def entries(self) -> list[tuple[int, int]]:
        """All (epoch, start offset), oldest first."""
        return list(self._entries)

    def _keep_below(self, offset: int) -> None:
        del self._entries[bisect_left(self._entries, offset, key=_start) :]
