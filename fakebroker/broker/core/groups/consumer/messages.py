"""What goes into a consumer group and what comes out: heartbeats without wire versions, and their answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fakebroker.protocol.errors import ErrorCode

LEAVE_EPOCH = -1  # a heartbeat with this epoch leaves the group for good (CGH-30)
STATIC_LEAVE_EPOCH = -2  # a static member is away and will be back (CGH-31)

TopicPartitions = Mapping[bytes, Sequence[int]]  # topic id -> partition indexes


class HeartbeatRequest(NamedTuple):
    """A ConsumerGroupHeartbeat that passed the checks of its fields (CGH-2 to CGH-4).

    None, and -1 as `rebalance_timeout_ms`, mean: as in the last heartbeat (CGH-11). `owned` are the partitions that the
    member says it owns; None is no news (CGR-4). An empty `pattern` ends the subscription by pattern (CGX-1).
    `may_describe` says which topics the client may know of, where there are rights: patterns match no others.
    """

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topic_names: Sequence[str] | None = None
    pattern: str | None = None
    assignor: str | None = None
    owned: TopicPartitions | None = None
    client_id: str = ""
    client_host: str = ""
    may_describe: Callable[[str], bool] | None = None

    @property
    def is_full(self) -> bool:
        """Whether the answer has to carry the assignment in any case (CGH-40)."""
        return self.member_epoch == 0 or (
            self.rebalance_timeout_ms != -1
            and (self.topic_names is not None or self.pattern is not None)
            and self.owned is not None
        )


class HeartbeatAnswer(NamedTuple):
    """The answer (CGH-40); of an error only `code` and `message` are set (CGH-5).

    `assignment` is what the member may own now, None: it has not changed. Partitions of a topic are in ascending order.
    """

    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: TopicPartitions | None = None
