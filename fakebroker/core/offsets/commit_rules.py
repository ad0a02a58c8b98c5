"""Who may commit offsets to a group, and delete them (OC-6..OC-9, OC-16, OC-18, OD-2..OD-5)."""

from fakebroker.core.groups.classic_group import PROTOCOL_TYPE_CONSUMER, ClassicGroup
from fakebroker.core.groups.states import State
from fakebroker.errors import ErrorCode


def refusal_to_commit(group: ClassicGroup, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
    """Why an OffsetCommit is refused (OC-7, OC-8), or NONE."""
    state = group.state
    if generation < 0 and state is State.EMPTY:
        return ErrorCode.NONE
    refusal = group.refusal(member_id, instance_id, generation)
    if not refusal and state is State.COMPLETING:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return refusal


def is_named(member_id: str, instance_id: str | None, generation: int) -> bool:
    """Does a commit claim to come from a member? A simple consumer says nothing."""
    return generation >= 0 or bool(member_id) or instance_id is not None


def refusal_to_commit_in_transaction(
    group: ClassicGroup, member_id: str, instance_id: str | None, generation: int
) -> ErrorCode:
    """Why a TxnOffsetCommit is refused (OC-16), or NONE: a rebalance is no obstacle, and nobody need be named."""
    if group.state is State.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if not is_named(member_id, instance_id, generation) or (generation < 0 and group.state is State.EMPTY):
        return ErrorCode.NONE
    return group.refusal(member_id, instance_id, generation)


def refusal_to_delete_offsets(group: ClassicGroup) -> ErrorCode:
    """Why no offset at all may be deleted (OD-2, OD-5), or NONE."""
    if group.state is State.DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is State.EMPTY or group.protocol_type == PROTOCOL_TYPE_CONSUMER:
        return ErrorCode.NONE
    return ErrorCode.NON_EMPTY_GROUP


def is_subscribed(group: ClassicGroup, topic: str) -> bool:
    """Does a member read the topic, as far as is known (OD-4)? If that is unknown, yes."""
    if group.state is State.EMPTY:
        return False
    return group.subscribed_topics is None or topic in group.subscribed_topics
