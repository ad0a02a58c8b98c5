"""The history of leader epochs of one partition: which epoch began at which offset (LE, OE)."""

from sortedcontainers import SortedDict


class LeaderEpochs:
    """Epoch -> the first offset written (or to be written) in it. Both grow together."""

    __slots__ = ("_latest", "_starts")

    def __init__(self) -> None:
        self._starts: SortedDict[int, int] = SortedDict()
        self._latest = -1  # beside the dict, since every append looks at it

    def begin(self, epoch: int, offset: int) -> None:
        """`epoch` leads from `offset` on; an older entry with the same start led nothing and goes (LE-3)."""
        starts = self._starts
        if starts and epoch <= self._latest:
            return
        while starts and starts.values()[-1] >= offset:
            starts.popitem()
        starts[epoch] = offset
        self._latest = epoch

    def latest(self) -> int:
        """The latest epoch, -1 when there is none."""
        return self._latest

    def first(self) -> int:
        """The epoch of the first entry, -1 when there is none."""
        return self._starts.keys()[0] if self._starts else -1

    def end_of(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) for a requested epoch: LE-2, OE-2, OE-4; (-1, -1) is "unknown"."""
        starts = self._starts
        if not starts or epoch == -1 or epoch > starts.keys()[-1]:
            return -1, -1
        if epoch == starts.keys()[-1]:
            return epoch, log_end_offset
        index = starts.bisect_right(epoch)
        if index == 0:
            return epoch, starts.values()[0]
        return starts.keys()[index - 1], starts.values()[index]

    def cut_start(self, offset: int) -> None:
        """The log now starts at `offset`: older epochs are forgotten, the one in force there begins there (OE-7)."""
        starts = self._starts
        last = None
        while starts and starts.values()[0] <= offset:
            last = starts.popitem(0)[0]
        if last is not None:
            starts[last] = offset

    def cut_end(self, offset: int) -> None:
        """The log was truncated to end at `offset`: epochs that began at or after it are forgotten."""
        starts = self._starts
        while starts and starts.values()[-1] >= offset:
            starts.popitem()
        self._latest = starts.keys()[-1] if starts else -1

    def entries(self) -> list[tuple[int, int]]:
        """All (epoch, start offset), oldest first."""
        return list(self._starts.items())
