"""What a broker that was replaced and does not know it goes by: a zombie (CLU-40 to CLU-45)."""

from typing import TYPE_CHECKING

from fakebroker.errors import ErrorCode

if TYPE_CHECKING:
    from fakebroker.core.topics import Partition


class StaleView:
    """A partition as one broker last heard of it, from before the leader changed.

    What it appends as the leader that it believes to be is never replicated: only the offsets are counted, the records
    are lost (CLU-44).
    """

    __slots__ = ("high_watermark", "isr", "last_stable_offset", "leader", "leader_epoch", "log_end_offset")

    def __init__(self, partition: "Partition") -> None:
        self.leader = partition.leader
        self.leader_epoch = partition.leader_epoch
        self.isr = list(partition.isr)
        has_log = partition.has_log
        self.log_end_offset = partition.log.log_end_offset if has_log else 0
        self.high_watermark = partition.log.high_watermark if has_log else 0
        self.last_stable_offset = partition.log.last_stable_offset if has_log else 0

    def append(self, count: int) -> int:
        """Append so many records to the broker's own copy of the log; the offset of the first."""
        base_offset = self.log_end_offset
        self.log_end_offset += count
        return base_offset


def epoch_error(leader_epoch: int, current: int) -> ErrorCode:
    """What a client with another leader epoch than the broker's is answered (KIP-320, CLU-53)."""
    if leader_epoch in (-1, current):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if leader_epoch < current else ErrorCode.UNKNOWN_LEADER_EPOCH
