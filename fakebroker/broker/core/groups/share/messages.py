"""What goes into a share group and what comes out: heartbeats without wire versions, and their answers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fakebroker.protocol.errors import ErrorCode

LEAVE_EPOCH = -1  # a heartbeat with this epoch leaves the group (SGH-7)


class HeartbeatRequest(NamedTuple):
    """A ShareGroupHeartbeat that passed the checks of its fields (SGH-1).

    None means: as in the last heartbeat.
    """

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None = None
    topic_names: Sequence[str] | None = None
    client_id: str = ""
    client_host: str = ""


class HeartbeatAnswer(NamedTuple):
    """The answer (SGH-14); of an error only `code` and `message` are set.

    `assignment` is what the member may fetch from, by topic id; None: unchanged.
    """

    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Mapping[bytes, Sequence[int]] | None = None
