"""Who may commit offsets to a group, and delete them (OC-6..OC-9, OC-16, OC-18, OD-2..OD-5).

Kafka: `ClassicGroup.validateOffsetCommit`, `validateOffsetDelete`, `isSubscribedToTopic`.
"""

from fakebroker.core.groups.classic.classic_group import PROTOCOL_TYPE_CONSUMER, ClassicGroup
from fakebroker.core.groups.classic.states import State
from fakebroker.errors import ErrorCode

# Read from the class at each commit, these would cost as much as a call (until Python 3.12).
_NONE, _EMPTY, _COMPLETING = ErrorCode.NONE, State.EMPTY, State.COMPLETING


def error_for_commit(group: ClassicGroup, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
    """The error that an OffsetCommit to the group is answered with (OC-7, OC-8), or NONE.

    A commit with generation -1 is accepted by an Empty group only, with any member id; others must come from a member
    of the current generation, and not while it waits for its assignment.
    """
    state = group.state
    if generation < 0 and state is _EMPTY:
        return _NONE
    code = group.error_for_member(member_id, instance_id, generation)
    if not code and state is _COMPLETING:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return code


def names_a_member(member_id: str, instance_id: str | None, generation: int) -> bool:
    """Whether a commit claims to come from a member. One of a simple consumer (`assign`) does not."""
    return generation >= 0 or bool(member_id) or instance_id is not None


def error_for_txn_commit(group: ClassicGroup, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
    """The error that a TxnOffsetCommit to the group is answered with (KIP-447, OC-16), or NONE.

    Unlike OffsetCommit it need not name a member, and a rebalance is no obstacle.
    """
    if group.state is State.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if not names_a_member(member_id, instance_id, generation) or (generation < 0 and group.state is State.EMPTY):
        return ErrorCode.NONE
    return group.error_for_member(member_id, instance_id, generation)


def error_for_offset_delete(group: ClassicGroup) -> ErrorCode:
    """The error that a whole OffsetDelete is answered with (OD-2, OD-5), or NONE.

    In a consumer group with members offsets can be deleted, partition by partition (`is_subscribed`); in a group of
    another protocol type the broker cannot know what its members read.
    """
    if group.state is State.DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is State.EMPTY or group.protocol_type == PROTOCOL_TYPE_CONSUMER:
        return ErrorCode.NONE
    return ErrorCode.NON_EMPTY_GROUP


def is_subscribed(group: ClassicGroup, topic: str) -> bool:
    """Whether a member subscribes to the topic (OD-4); true if the subscriptions are unknown."""
    if group.state is State.EMPTY:
        return False
    return group.subscribed_topics is None or topic in group.subscribed_topics
