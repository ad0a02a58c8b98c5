"""What a broker that was replaced and does not know it goes by: a zombie (CLU-40 to CLU-45)."""

from typing import TYPE_CHECKING

from fakebroker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakebroker.broker.core.logs.log import PartitionLog


class StaleView:
    """A partition as one broker last heard of it, from before the leader changed.

    What it appends as the leader that it believes to be is never replicated: only the offsets are counted, the records
    are lost (CLU-44).
    """

    __slots__ = ("high_watermark", "isr", "last_stable_offset", "leader", "leader_epoch", "log_end_offset")

    def __init__(self, leader: int, leader_epoch: int, isr: "Sequence[int]", log: "PartitionLog | None") -> None:
        """`log` is the partition's, None if it was not used yet."""
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr = list(isr)
        self.log_end_offset = 0 if log is None else log.log_end_offset
        self.high_watermark = 0 if log is None else log.high_watermark
        self.last_stable_offset = 0 if log is None else log.last_stable_offset

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
