"""Static members of consumer groups (CGS): who holds an instance id, and who may take it over."""

from fakebroker.broker.core.groups.consumer.member import ConsumerMember, CurrentAssignment
from fakebroker.broker.core.groups.consumer.messages import STATIC_LEAVE_EPOCH, HeartbeatRequest
from fakebroker.protocol.errors import ErrorCode, KafkaError


def check_holder(holder: ConsumerMember | None, member_id: str, instance_id: str) -> ConsumerMember:
    """The holder of the instance id if it is the member that sends the request (CGS-4).

    Raises KafkaError UNKNOWN_MEMBER_ID if nobody holds it, FENCED_INSTANCE_ID if another member id does.
    """
    if holder is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"no member has the instance id {instance_id!r}")
    if holder.member_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"the instance id {instance_id!r} belongs to member {holder.member_id}, not {member_id}",
        )
    return holder


def check_released(holder: ConsumerMember, request: HeartbeatRequest) -> None:
    """Raise KafkaError UNRELEASED_INSTANCE_ID unless a member that joins may take over from the holder (CGS-1).

    It may when the holder has left with -2, or is one of the classic protocol (CGM-12).
    """
    if not holder.current.is_away and not holder.is_classic:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"the instance id {request.instance_id!r} still belongs to member {holder.member_id}",
        )


def away(current: CurrentAssignment) -> CurrentAssignment:
    """What a static member has while it is away: what it had to give up is free, the rest is kept for it (CGS-2)."""
    kept = {topic_id: dict.fromkeys(stamped, 0) for topic_id, stamped in current.assigned.items()}
    return current._replace(epoch=STATIC_LEAVE_EPOCH, assigned=kept, pending={})
