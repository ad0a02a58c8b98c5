"""What goes into a classic group and what comes out: requests without wire versions, and their answers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fakebroker.errors import ErrorCode

Protocols = tuple[tuple[str, bytes], ...]  # (name, metadata) in the member's order of preference


class JoinRequest(NamedTuple):
    """A JoinGroup. The two flags are what a handler derives from the request's version."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    needs_member_id: bool = True  # a dynamic member must first fetch an id (v4+, JG-16)
    may_skip_assignment: bool = True  # understands that it leads without having to assign (v9+, JG-23)
    reason: str = ""


class JoinedMember(NamedTuple):
    """One member as the leader is told of it: metadata is that of the chosen protocol (JG-28)."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class JoinAnswer(NamedTuple):
    """The answer to a JoinGroup; what an error leaves unsaid are the defaults (JG-29)."""

    code: ErrorCode
    member_id: str
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: Sequence[JoinedMember] = ()
    skip_assignment: bool = False


class SyncRequest(NamedTuple):
    """A SyncGroup. `protocol_type` and `protocol` None: the client did not say (before v5)."""

    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None
    protocol: str | None
    assignments: Sequence[tuple[str, bytes]]  # (member id, assignment)


class SyncAnswer(NamedTuple):
    """The answer to a SyncGroup (SG-8)."""

    code: ErrorCode
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


class Leaver(NamedTuple):
    """One entry of a LeaveGroup."""

    member_id: str
    instance_id: str | None = None
    reason: str = ""


AnswerJoin = Callable[[JoinAnswer], None]
AnswerSync = Callable[[SyncAnswer], None]
