"""What goes into a classic group and what comes out: requests without wire versions, and their answers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fakebroker.protocol.errors import ErrorCode

Protocols = tuple[tuple[str, bytes], ...]  # (name, metadata) in the member's order of preference


class JoinRequest(NamedTuple):
    """A JoinGroup. Handlers derive the two flags from the request's version."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    needs_member_id: bool = True  # v4+: a dynamic member must first get a member id (KIP-394, JG-16)
    may_skip_assignment: bool = True  # v9+: the client knows the field SkipAssignment (KIP-814, JG-23)
    reason: str = ""  # v8+ (KIP-800)


class JoinedMember(NamedTuple):
    """One member in the answer to the leader; the metadata is that for the chosen protocol (JG-28)."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class JoinAnswer(NamedTuple):
    """The answer to a JoinGroup; in an error only `code` and `member_id` differ from the defaults (JG-29)."""

    code: ErrorCode
    member_id: str
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: Sequence[JoinedMember] = ()
    skip_assignment: bool = False


class SyncRequest(NamedTuple):
    """A SyncGroup. `protocol_type` and `protocol` are None if the client did not send them (before v5, KIP-559)."""

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
    """One entry of a LeaveGroup (several since v3, KIP-345; the reason since v5, KIP-800)."""

    member_id: str
    instance_id: str | None = None
    reason: str = ""


AnswerJoin = Callable[[JoinAnswer], None]
AnswerSync = Callable[[SyncAnswer], None]
