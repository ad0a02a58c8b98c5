"""Members of the classic protocol in a consumer group: their requests (CGM-5 to CGM-9).

Nobody leads and nobody waits: JoinGroup is a look at the target assignment as a heartbeat is, SyncGroup brings what the
member has after it, and Heartbeat tells when the next look is worth it.
Kafka: `GroupMetadataManager.classicGroupJoinToConsumerGroup` and its like for the other requests.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fakebroker.broker.core.groups.classic.classic_group import PROTOCOL_TYPE_CONSUMER
from fakebroker.broker.core.groups.classic.messages import (
    AnswerJoin,
    JoinAnswer,
    JoinRequest,
    Leaver,
    SyncAnswer,
    SyncRequest,
)
from fakebroker.broker.core.groups.classic.reasons import describe
from fakebroker.broker.core.groups.consumer.classic_subscriptions import assignment_bytes, topic_ids_in
from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.broker.core.groups.consumer.group_step import GroupStep
from fakebroker.broker.core.groups.consumer.leaving import remove_members
from fakebroker.broker.core.groups.consumer.member import ClassicMetadata, ConsumerMember, MemberMetadata
from fakebroker.broker.core.groups.consumer.migration import downgrade_for, is_last_of_consumer_protocol, policy
from fakebroker.broker.core.groups.consumer.states import MemberState
from fakebroker.broker.core.groups.consumer.static_members import check_holder
from fakebroker.broker.core.groups.host import GroupHost, may_be_stored
from fakebroker.broker.core.groups.modern.classic_replacement import replace_with_classic_group
from fakebroker.broker.core.groups.modern.heartbeats import JOIN_EPOCH, check_room, unknown_member
from fakebroker.broker.core.groups.modern.modern_group import failed_write
from fakebroker.protocol.errors import ErrorCode, KafkaError, WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.consumer_protocol import ConsumerProtocolSubscription, decode_subscription

# -- JoinGroup ---------------------------------------------------------------------------------------------------------


def join(group: ConsumerGroup, request: JoinRequest, answer: AnswerJoin, now: Instant) -> None:
    """JoinGroup: a member is answered at once; an Empty group becomes a classic one, which answers (CGM-2)."""
    if group.is_empty:
        replace_with_classic_group(group, group.host, request, answer, now)
        return
    try:
        answered = _join(group, request, now)
    except KafkaError as error:
        answered = JoinAnswer(error.code, "")
    answer(answered)


def _join(group: ConsumerGroup, request: JoinRequest, now: Instant) -> JoinAnswer:
    """The answer, after everything was stored. Raises KafkaError; then nothing has changed."""
    member_id = request.member_id or group.host.new_base64_id()
    max_size = group.host.settings.get_int("group.consumer.max.size")
    check_room(group, len(group.members), max_size, is_member=member_id in group.members)
    _check_protocols(group, request)
    if request.needs_member_id and not request.member_id and request.instance_id is None:
        return JoinAnswer(ErrorCode.MEMBER_ID_REQUIRED, member_id)
    step = _Join(group, request, member_id, now)
    member = step.downgrade() if step.is_downgrade else step.become_member()
    name, _ = request.protocols[0]
    return JoinAnswer(ErrorCode.NONE, member_id, member.epoch, PROTOCOL_TYPE_CONSUMER, name)


def _check_protocols(group: ConsumerGroup, request: JoinRequest) -> None:
    """Raises KafkaError INCONSISTENT_GROUP_PROTOCOL (CGM-4, CGM-5)."""
    classic = [member.metadata.classic for member in group.members.values() if member.metadata.classic is not None]
    offered = {name for name, _ in request.protocols}
    for each in classic:
        offered &= {name for name, _ in each.protocols}
    is_allowed = policy(group.host) != "disabled"
    if not is_allowed or request.protocol_type != PROTOCOL_TYPE_CONSUMER or not offered:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"protocols of {request.member_id} are not supported")


class _Join:
    """The step of a JoinGroup that passed the checks."""

    def __init__(self, group: ConsumerGroup, request: JoinRequest, member_id: str, now: Instant) -> None:
        """Tell what the member tells. Raises KafkaError for an instance id that is somebody else's, or malformed data.

        `is_downgrade` is whether the group becomes classic with it (CGM-11).
        """
        self._group, self._request, self._member_id, self._now = group, request, member_id, now
        self._step = GroupStep(group, now)
        self._holder: ConsumerMember | None = None
        self._subscription = _subscription_of(request, group.host)
        self._before = self._member_before()
        metadata = self._metadata()
        self._is_subscribed_anew = not metadata.subscribes_as(self._before.metadata)
        self._step.bump_if_needed(is_needed=self._step.tell(member_id, metadata))
        self.is_downgrade = self._holder is not None and is_last_of_consumer_protocol(group, self._holder)

    def become_member(self) -> ConsumerMember:
        """Look at the target assignment, write, and start the member's timers (CGM-6, CGM-8)."""
        self._step.update_target(self._member_id)
        self._reconcile()
        member = self._step.expect(self._member_id)
        stored = self._step.write(f"member {self._member_id} joined with JoinGroup")
        stored.rebalance_timers.end(self._member_id)
        stored.restart_session(self._member_id, self._request.session_timeout_ms, self._now)
        stored.start_sync_timer(member, self._now)
        return member

    def downgrade(self) -> ConsumerMember:
        """Write the classic group. The member keeps its assignment if that is its target, else it rebalances."""
        assert self._holder is not None
        if self._step.group_epoch == self._group.assignment_epoch:
            self._reconcile()
        member = self._step.expect(self._member_id)
        downgrade_for(self._step, self._holder, self._member_id, self._now)
        return member

    def _reconcile(self) -> None:
        owned = topic_ids_in(self._subscription.owned_partitions, self._group.host.topics)
        self._step.reconcile(self._member_id, owned, subscription_changed=self._is_subscribed_anew)

    def _member_before(self) -> ConsumerMember:
        """The member as it was. A static one without a member id takes the place of the holder of its instance id.

        The holder is kept, also if it is the member itself.
        """
        group, request, member_id = self._group, self._request, self._member_id
        if request.instance_id is None:
            return group.members.get(member_id) or ConsumerMember(member_id)
        holder = group.static_member(request.instance_id)
        if request.member_id:
            self._holder = check_holder(holder, member_id, request.instance_id)
            return self._holder
        if holder is None:
            return ConsumerMember(member_id)
        self._holder = holder
        self._step.replace_static(holder, member_id, JOIN_EPOCH)
        return self._step.expect(member_id)

    def _metadata(self) -> MemberMetadata:
        """The member's metadata so far, with that of its JoinGroup; a pattern and an assignor stay."""
        request, before = self._request, self._before.metadata
        rack_id = self._subscription.rack_id
        return MemberMetadata(
            before.instance_id if request.instance_id is None else request.instance_id,
            before.rack_id if rack_id is None else rack_id,
            request.client_id,
            request.client_host,
            tuple(sorted(dict.fromkeys(self._subscription.topics))),
            before.pattern,
            request.rebalance_timeout_ms,
            before.assignor,
            ClassicMetadata(request.session_timeout_ms, request.protocols),
        )


def _subscription_of(request: JoinRequest, host: GroupHost) -> ConsumerProtocolSubscription:
    """The subscription in the metadata of the first protocol. Raises KafkaError if it cannot be read or stored."""
    _, metadata = request.protocols[0]
    if not may_be_stored(host, len(metadata)):
        raise failed_write(ErrorCode.MESSAGE_TOO_LARGE)
    try:
        return decode_subscription(metadata)
    except WireError as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the embedded consumer protocol is malformed") from error


# -- SyncGroup and Heartbeat -------------------------------------------------------------------------------------------


def sync(group: ConsumerGroup, request: SyncRequest, now: Instant) -> SyncAnswer:
    """SyncGroup: what the member has; assignments in the request are not looked at (CGM-7)."""
    try:
        member, classic = _member_of_generation(group, request.member_id, request.instance_id, request.generation)
    except KafkaError as error:
        return SyncAnswer(error.code)
    name, subscription = classic.protocols[0]
    if request.protocol_type not in (None, PROTOCOL_TYPE_CONSUMER) or request.protocol not in (None, name):
        return SyncAnswer(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    is_behind = member.epoch < group.assignment_epoch
    if is_behind and member.current.state is not MemberState.UNREVOKED_PARTITIONS:
        group.start_join_timer(member, now)
        return SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)
    group.sync_timers.end(member.member_id)
    group.restart_session(member.member_id, classic.session_timeout_ms, now)
    assigned = {topic_id: tuple(stamped) for topic_id, stamped in member.current.assigned.items()}
    encoded = assignment_bytes(assigned, group.host.topics, subscription)
    return SyncAnswer(ErrorCode.NONE, request.protocol_type, request.protocol, encoded)


def heartbeat(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int, now: Instant
) -> ErrorCode:
    """Heartbeat: REBALANCE_IN_PROGRESS if the member has to join again (CGM-8)."""
    try:
        member, classic = _member_of_generation(group, member_id, instance_id, generation)
    except KafkaError as error:
        return error.code
    group.restart_session(member_id, classic.session_timeout_ms, now)
    if not _has_to_join(group, member):
        return ErrorCode.NONE
    group.start_join_timer(member, now)
    return ErrorCode.REBALANCE_IN_PROGRESS


class _ClassicMember(NamedTuple):
    member: ConsumerMember
    classic: ClassicMetadata


def _member_of_generation(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> _ClassicMember:
    """The classic member of that generation, which is its member epoch. Raises KafkaError (CGM-7, CGM-8)."""
    member = _member(group, member_id, instance_id)
    if member.metadata.classic is None:
        raise unknown_member(group, member_id)
    if member.epoch != generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    return _ClassicMember(member, member.metadata.classic)


def _member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    if instance_id is not None:
        return check_holder(group.static_member(instance_id), member_id, instance_id)
    member = group.members.get(member_id)
    if member is None:
        raise unknown_member(group, member_id)
    return member


def _has_to_join(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether another look at the target assignment would bring the member further (CGM-8)."""
    state = member.current.state
    if member.epoch < group.assignment_epoch or state is MemberState.UNREVOKED_PARTITIONS:
        return True
    return state is MemberState.UNRELEASED_PARTITIONS and not _waits_for_others(group, member)


def _waits_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether somebody has a partition that the member shall have and does not have."""
    return any(
        partition not in member.current.assigned.get(topic_id, ()) and partition in group.owners.get(topic_id, ())
        for topic_id, partitions in group.target_of(member.member_id).items()
        for partition in partitions
    )


# -- LeaveGroup --------------------------------------------------------------------------------------------------------


def leave(group: ConsumerGroup, leavers: Sequence[Leaver], now: Instant) -> list[ErrorCode]:
    """LeaveGroup of members of either protocol: one bump for all (CGM-9). Returns a code for each entry."""
    gone: dict[str, None] = {}
    codes = [_code_of_leaver(group, leaver, gone) for leaver in leavers]
    if gone:
        try:
            remove_members(group, list(gone), now, f"{describe(list(gone))} left with LeaveGroup")
        except KafkaError as error:
            return [code or error.code for code in codes]
    return codes


def _code_of_leaver(group: ConsumerGroup, leaver: Leaver, gone: dict[str, None]) -> ErrorCode:
    """The code of one entry; a member that leaves is added to `gone`. An instance id alone is enough."""
    member_id = leaver.member_id
    if not member_id and leaver.instance_id is not None:
        member_id = group.static.get(leaver.instance_id, "")
    try:
        gone[_member(group, member_id, leaver.instance_id).member_id] = None
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE
