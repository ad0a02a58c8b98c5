"""Online upgrade and downgrade: a classic group becomes a consumer group, and back (CGM-3, CGM-4, CGM-10, CGM-11).

Members, assignments and committed offsets stay. Empty groups change their kind without any of this (CGM-1, CGM-2).
Kafka: `GroupMetadataManager.convertToConsumerGroup`, `convertToClassicGroup`, `ConsumerGroup.fromClassicGroup`,
`ClassicGroup.fromConsumerGroup`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from fakebroker.broker.core.groups.classic import rebalance
from fakebroker.broker.core.groups.classic.classic_group import PROTOCOL_TYPE_CONSUMER, ClassicGroup
from fakebroker.broker.core.groups.classic.members import Member
from fakebroker.broker.core.groups.classic.messages import JoinAnswer, SyncAnswer
from fakebroker.broker.core.groups.classic.reasons import Reason, became_classic
from fakebroker.broker.core.groups.consumer import records
from fakebroker.broker.core.groups.consumer.classic_subscriptions import assignment_bytes, topic_ids_in
from fakebroker.broker.core.groups.consumer.consumer_group import ConsumerGroup
from fakebroker.broker.core.groups.consumer.member import (
    ClassicMetadata,
    ConsumerMember,
    CurrentAssignment,
    MemberMetadata,
)
from fakebroker.broker.core.groups.consumer.states import MemberState
from fakebroker.broker.core.groups.host import GroupsHost, may_be_stored
from fakebroker.broker.core.groups.modern.assignments import closed, opened
from fakebroker.broker.core.groups.modern.member_table import MemberTable
from fakebroker.broker.core.groups.modern.metadata_hash import metadata_hash_of
from fakebroker.broker.core.groups.modern.modern_group import failed_write
from fakebroker.broker.core.java_hash import hash_map_order
from fakebroker.protocol.errors import ErrorCode, KafkaError, WireError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.consumer_protocol import decode_assignment, decode_subscription
from fakebroker.protocol.records.group_records import GroupRecord
from fakebroker.protocol.records.offsets_topic import GroupEntry, GroupValue, MemberValue

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.consumer.group_step import GroupStep
    from fakebroker.broker.core.groups.modern.assignments import Assignment

T = TypeVar("T")
_UPGRADES: Final = ("upgrade", "bidirectional")
_DOWNGRADES: Final = ("downgrade", "bidirectional")
_NO_TIME: Final = 0  # of the first target assignment: the assignment interval does not hold up the next one (CGM-3)


def policy(host: GroupsHost) -> str:
    """Which groups may become which, in small letters: disabled, upgrade, downgrade or bidirectional."""
    return host.settings.get_str("group.consumer.migration.policy").lower()


# -- upgrade -----------------------------------------------------------------------------------------------------------


class Upgrade:
    """A classic group with members that becomes a consumer group, with the heartbeat of a member that joins it.

    Attributes:
        group: the consumer group as it is before that heartbeat; it is not stored.
        records: what makes it out of the classic group (CGB-6); those of the heartbeat come after them.
    """

    def __init__(self, classic: ClassicGroup, host: GroupsHost, now: Instant) -> None:
        """Raises KafkaError if the group stays classic (CGM-4).

        What members reported and have is looked at last, when parked requests are answered already, as in Kafka.
        """
        _check_upgrade(classic, host)
        self._now = now
        self._parked = _take_parked(classic)
        self.group = ConsumerGroup(classic.group_id, host, now)
        try:
            for record in _upgrade_records(classic, host, hash_map_order(classic.members)):
                self.group.replay(record, now)
        except KafkaError:
            self._end()
            raise
        self.group.members = _set_once(self.group.members)
        self.records: list[GroupRecord | GroupEntry] = [
            GroupEntry(classic.group_id, None),
            *_upgrade_records(classic, host, self.group.member_ids()),
        ]

    def during(self, heartbeat: Callable[[], T]) -> T:
        """Take the heartbeat's step, which stores both, and start the sessions of the members that were there.

        Requests that the classic group had parked are answered with REBALANCE_IN_PROGRESS in any case. Raises what
        `heartbeat` raises; then the group is a classic one as before.
        """
        try:
            answer = heartbeat()
            stored = self.group.host.group(self.group.group_id)
            if isinstance(stored, ConsumerGroup):
                for member in stored.members.values():
                    if member.is_classic:
                        stored.restart_session(member.member_id, stored.session_timeout_ms(member), self._now)
            return answer
        finally:
            self._end()

    def _end(self) -> None:
        """Answer what was parked, and let go of the group: what is stored is another, and its parts refer to it.

        Left to the collector, which comes rarely, each heartbeat that is refused could leave some MB of names.
        """
        for answer in self._parked:
            answer()
        self.group.end_timers()
        vars(self.group).clear()


def _set_once(members: MemberTable[ConsumerMember]) -> MemberTable[ConsumerMember]:
    """The same members, each set once, as Kafka makes the group: its table grows with each time (CGA-17)."""
    table: MemberTable[ConsumerMember] = MemberTable()
    for member_id, member in members.items():
        table[member_id] = member
    return table


def upgrade_of(host: GroupsHost, group_id: str, now: Instant) -> Upgrade | None:
    """The upgrade that a joining member needs: None unless the group is a classic one with members.

    Raises KafkaError if it stays classic.
    """
    found = host.group(group_id)
    return Upgrade(found, host, now) if isinstance(found, ClassicGroup) and not found.is_empty else None


def _check_upgrade(classic: ClassicGroup, host: GroupsHost) -> None:
    if policy(host) not in _UPGRADES:
        raise _stays_classic(classic, "online upgrade is disabled")
    if classic.protocol_type != PROTOCOL_TYPE_CONSUMER:
        raise _stays_classic(classic, "the group does not use the consumer embedded protocol")
    if len(classic.members) > host.settings.get_int("group.consumer.max.size"):
        raise _stays_classic(classic, "the group size exceeds the consumer group maximum size")


def _stays_classic(classic: ClassicGroup, reason: str) -> KafkaError:
    text = f"Cannot upgrade classic group {classic.group_id} to consumer group because {reason}."
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, text)


def _upgrade_records(classic: ClassicGroup, host: GroupsHost, member_ids: Iterable[str]) -> Iterator[GroupRecord]:
    """All members keep what they have, in one target assignment of the epoch that was the generation (CGM-3).

    `member_ids` are all members, in the order of their records. Kafka makes the group of them in the order of the
    classic group's table, and stores it in that of the new one (CGA-17). Raises KafkaError:
    before the first generation no protocol is chosen, and Kafka fails to look for it.
    """
    if classic.protocol is None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    group_id, epoch = classic.group_id, classic.generation
    in_order = [classic.members[member_id] for member_id in member_ids]
    size_bytes = sum(len(each.metadata(classic.protocol)) + len(each.assignment) for each in in_order)
    if not may_be_stored(host, size_bytes):
        raise failed_write(ErrorCode.MESSAGE_TOO_LARGE)
    metadata = {member.member_id: _metadata_of(classic, member) for member in in_order}
    targets = {member.member_id: _assignment_of(classic, member, host) for member in in_order}
    topics = {name for each in metadata.values() for name in each.topic_names}
    for member_id, classic_metadata in metadata.items():
        yield records.member_record(group_id, member_id, classic_metadata)
    yield records.epoch_record(group_id, epoch, metadata_hash_of(topics, host.topics))
    for member_id, target in targets.items():
        yield records.target_record(group_id, member_id, target)
    yield records.target_metadata_record(group_id, epoch, _NO_TIME)
    for member_id, target in targets.items():
        assigned = {topic_id: dict.fromkeys(indexes, epoch) for topic_id, indexes in target.items()}
        current = CurrentAssignment(epoch, epoch, MemberState.STABLE, assigned, {})
        yield records.current_record(group_id, member_id, current)


def _metadata_of(classic: ClassicGroup, member: Member) -> MemberMetadata:
    """What a classic member reported with its JoinGroup, as a member of a consumer group. Raises KafkaError."""
    try:
        subscription = decode_subscription(member.metadata(classic.protocol))
    except WireError as error:
        raise _stays_classic(classic, "the embedded consumer protocol is malformed") from error
    return MemberMetadata(
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=tuple(sorted(dict.fromkeys(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMetadata(member.session_timeout_ms, tuple(member.protocols)),
    )


def _assignment_of(classic: ClassicGroup, member: Member, host: GroupsHost) -> "Assignment":
    """What the leader assigned to a member, of existing topics, in the order of Java's tables. Raises KafkaError."""
    try:
        assignment = decode_assignment(member.assignment)
    except WireError as error:
        raise _stays_classic(classic, "the embedded consumer protocol is malformed") from error
    if assignment.user_data:
        raise _stays_classic(classic, "a custom assignor with userData is in use")
    return closed(opened(topic_ids_in(assignment.assigned_partitions, host.topics)))


def _take_parked(classic: ClassicGroup) -> list[Callable[[], None]]:
    """Take out the requests that are parked in the group; each answers one with REBALANCE_IN_PROGRESS."""
    parked: list[Callable[[], None]] = []
    for member in classic.members.values():
        if (join := member.parked_join) is not None:
            classic.members.park_join(member, None)
            parked.append(partial(join, JoinAnswer(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)))
        if (sync := member.parked_sync) is not None:
            member.parked_sync = None
            parked.append(partial(sync, SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS)))
    return parked


# -- downgrade ---------------------------------------------------------------------------------------------------------


def becomes_classic(group: ConsumerGroup, gone: frozenset[str]) -> bool:
    """Whether the group becomes classic when these members are gone (CGM-10).

    Classic members must remain, and no others, not more than a classic group may have, and the policy has to allow it.
    """
    if policy(group.host) not in _DOWNGRADES:
        return False
    rest = [member for member in group.members.values() if member.member_id not in gone]
    fits = 0 < len(rest) <= group.host.settings.get_int("group.max.size")
    return fits and all(member.is_classic for member in rest)


def is_last_of_consumer_protocol(group: ConsumerGroup, holder: ConsumerMember) -> bool:
    """Whether the group becomes classic when a classic member takes the place of this static one (CGM-11)."""
    if holder.is_classic or policy(group.host) not in _DOWNGRADES:
        return False
    others = (member for member in group.members.values() if member.member_id != holder.member_id)
    return all(member.is_classic for member in others) and len(group.members) <= group.host.settings.get_int(
        "group.max.size"
    )


def downgrade(group: ConsumerGroup, gone: frozenset[str], now: Instant, reason: str) -> None:
    """Let the group become classic, without the members that are gone, and rebalance (CGM-10).

    Raises KafkaError if it cannot be stored.
    """
    members = [group.members[member_id] for member_id in group.member_ids() if member_id not in gone]
    targets = {member.member_id: group.target_of(member.member_id) for member in members}
    classic = _convert(group, group.tombstones(), members, targets, now)
    rebalance.start(classic, now, became_classic(reason))


def downgrade_for(step: "GroupStep", holder: ConsumerMember, member_id: str, now: Instant) -> None:
    """Let the group become classic because a classic static member took the place of `holder` (CGM-11).

    It need not rebalance if its target assignment is that of the present group epoch. Raises KafkaError if it cannot be
    stored.
    """
    group = step.group
    others = [group.members[each] for each in group.member_ids() if each != holder.member_id]
    members = [*others, step.expect(member_id)]
    targets = {member.member_id: group.target_of(member.member_id) for member in others}
    targets[member_id] = group.target_of(holder.member_id)
    ids = [member_id if each == holder.member_id else each for each in group.member_ids()]
    tombstones = records.group_tombstones(group.group_id, ids, group.patterns)
    classic = _convert(group, [*step.records, *tombstones], members, targets, now)
    if step.group_epoch > group.assignment_epoch:
        rebalance.start(classic, now, became_classic(Reason.JOINED.of(f"member {member_id}")))


def _convert(
    group: ConsumerGroup,
    first: "Sequence[GroupRecord | GroupEntry]",
    members: Sequence[ConsumerMember],
    targets: "Mapping[str, Assignment]",
    now: Instant,
) -> ClassicGroup:
    """Store the classic group with these members after the records `first`, and return it.

    Its record knows one protocol of each member only; here they keep all that they reported.
    """
    known = ((member.member_id, member.metadata.classic) for member in members)
    classic_metadata = {member_id: classic for member_id, classic in known if classic is not None}
    value = _classic_value(group, members, classic_metadata, targets, now)
    code = group.host.write_records(group.group_id, [*first, GroupEntry(group.group_id, value)], now)
    if code:
        raise failed_write(code)
    classic = group.host.group(group.group_id)
    assert isinstance(classic, ClassicGroup)
    for member_id, metadata in classic_metadata.items():
        member = classic.members[member_id]
        classic.members.update_member(
            member, metadata.protocols, metadata.session_timeout_ms, member.rebalance_timeout_ms
        )
    return classic


def _classic_value(
    group: ConsumerGroup,
    members: Sequence[ConsumerMember],
    classic_metadata: Mapping[str, ClassicMetadata],
    targets: "Mapping[str, Assignment]",
    now: Instant,
) -> GroupValue:
    """The record of the classic group: its generation is the group epoch, the first member leads."""
    protocol = _chosen_protocol(group, members, classic_metadata, now)

    def value_of(member: ConsumerMember) -> MemberValue:
        metadata, classic = member.metadata, classic_metadata[member.member_id]
        subscription = next(each for name, each in classic.protocols if name == protocol)
        return MemberValue(
            member_id=member.member_id,
            group_instance_id=metadata.instance_id,
            client_id=metadata.client_id,
            client_host=metadata.client_host,
            rebalance_timeout_ms=metadata.rebalance_timeout_ms,
            session_timeout_ms=classic.session_timeout_ms,
            subscription=subscription,
            assignment=assignment_bytes(targets[member.member_id], group.host.topics, subscription),
        )

    return GroupValue(
        protocol_type=PROTOCOL_TYPE_CONSUMER,
        generation=group.group_epoch,
        protocol=protocol,
        leader=members[0].member_id,
        state_ms=now.wall_ms,
        members=tuple(value_of(member) for member in members),
    )


def _chosen_protocol(
    group: ConsumerGroup,
    members: Iterable[ConsumerMember],
    classic_metadata: Mapping[str, ClassicMetadata],
    now: Instant,
) -> str:
    """The protocol that the members vote for, as in any classic group (JG-27)."""
    voters = ClassicGroup(group.group_id, group.host, now)
    for member in members:
        classic = classic_metadata[member.member_id]
        voters.members.add(
            Member(
                member.member_id,
                instance_id=member.instance_id,
                client_id=member.metadata.client_id,
                client_host=member.metadata.client_host,
                session_timeout_ms=classic.session_timeout_ms,
                rebalance_timeout_ms=member.metadata.rebalance_timeout_ms,
                protocols=classic.protocols,
                on_timeout=voters.on_session_timeout,
            )
        )
    return rebalance.choose_protocol(voters)
