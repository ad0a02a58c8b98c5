"""What a group does with a JoinGroup that passed the common checks, state by state (JG-14..JG-21, JG-26)."""

from fakebroker.broker.core.groups.classic import rebalance
from fakebroker.broker.core.groups.classic.group_metadata import GroupMetadata
from fakebroker.broker.core.groups.classic.members import Member
from fakebroker.broker.core.groups.classic.messages import AnswerJoin, JoinAnswer, JoinRequest
from fakebroker.broker.core.groups.classic.reasons import Reason
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

NEW_MEMBER_TIMEOUT_MS = 300_000  # TM-3; a constant in Kafka too (NewMemberJoinTimeoutMs)

# -- not yet members ---------------------------------------------------------------------------------------------------


def require_member_id(group: GroupMetadata, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
    """Answer MEMBER_ID_REQUIRED with a new member id, with which the client must join again (KIP-394, JG-16)."""
    member_id = group.host.new_member_id(request.client_id)
    group.pending_join_members.add(member_id, request.session_timeout_ms, group, now)
    answer(JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, member_id))


def add(group: GroupMetadata, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
    """PreparingRebalance: add a member to the running rebalance (JG-26)."""
    if group.in_initial_delay and (group.generation == 0 or group.host.behaviours.every_initial_delay_is_extended):
        group.new_member_added = True  # JG-32
    _add(group, request, answer, now)
    rebalance.complete_unless_delayed(group, now)


def add_and_start(group: GroupMetadata, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
    """Empty, CompletingRebalance, Stable: add a member and start a rebalance (JG-26)."""
    member = _add(group, request, answer, now)
    rebalance.start(group, now, Reason.JOINED.of(f"member {member.member_id}", request.reason))


def _add(group: GroupMetadata, request: JoinRequest, answer: AnswerJoin, now: Instant) -> Member:
    """Add the member with its JoinGroup parked; the first member decides the protocol type (ST-3) and leads."""
    member_id = request.member_id or group.host.new_member_id(request.instance_id or request.client_id)
    group.pending_join_members.discard(member_id)
    member = Member(
        member_id,
        instance_id=request.instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocols=request.protocols,
        on_timeout=group.on_session_timeout,
    )
    if not group.members:
        group.protocol_type = request.protocol_type
    group.members.add(member)
    group.members.park_join(member, answer)
    if group.leader is None:
        group.leader = member_id
    group.arm(member.session, now, NEW_MEMBER_TIMEOUT_MS)
    return member


# -- members -----------------------------------------------------------------------------------------------------------


def rejoin(group: GroupMetadata, member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
    """PreparingRebalance: the member takes part in the running rebalance."""
    _update(group, member, request, answer)
    rebalance.complete_unless_delayed(group, now)


def rejoin_completing(
    group: GroupMetadata, member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    """CompletingRebalance: with the same protocols answer with the current generation; else start a rebalance.

    A client that sends the same again probably missed the answer (JG-18).
    """
    if _has_same_protocols(member, request):
        answer(rebalance.current_generation(group, member))
    else:
        _rejoin_and_rebalance(group, member, request, answer, now)


def rejoin_stable(group: GroupMetadata, member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
    """Stable: a follower with the same protocols is answered with the current generation; else start a rebalance.

    The leader can always ask for a rebalance this way, for instance when it sees that a topic has more partitions.
    """
    if member.member_id != group.leader and _has_same_protocols(member, request):
        answer(rebalance.current_generation(group, member))
    else:
        _rejoin_and_rebalance(group, member, request, answer, now)


def _rejoin_and_rebalance(
    group: GroupMetadata, member: Member, request: JoinRequest, answer: AnswerJoin, now: Instant
) -> None:
    what = Reason.REJOINED if _has_same_protocols(member, request) else Reason.METADATA_CHANGED
    who = "the leader" if member.member_id == group.leader else f"member {member.member_id}"
    _update(group, member, request, answer)
    rebalance.start(group, now, what.of(who, request.reason))


def _has_same_protocols(member: Member, request: JoinRequest) -> bool:
    """Whether names, order and metadata of the protocols are those the member sent last; timeouts do not matter."""
    return member.protocols == request.protocols


def _update(group: GroupMetadata, member: Member, request: JoinRequest, answer: AnswerJoin) -> None:
    group.members.update_member(member, request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
    group.members.park_join(member, answer)
