"""What a scripted client can do, as steps that a test takes one by one: join, commit, produce, fetch and so on.

Every step is a flow: a generator that yields a request that it has sent (`Pending`) and is resumed with the answer. The
caller that runs it does the input and output and decides how to wait: a simulation in virtual time, a scripted client
over TCP. Steps return the answers as they are, with their error codes; only MEMBER_ID_REQUIRED is followed by a second
JoinGroup (KIP-394).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fakebroker.client.admin_steps import AdminSteps
from fakebroker.client.consumer_group_steps import ConsumerGroupSteps
from fakebroker.client.group_admin_steps import GroupAdminSteps
from fakebroker.client.group_membership import GroupMembership
from fakebroker.client.login_steps import LoginSteps
from fakebroker.client.requesting import Flow, Offsets, by_topic
from fakebroker.client.share_group_steps import ShareGroupSteps
from fakebroker.client.streams_group_steps import StreamsGroupSteps
from fakebroker.client.transaction_steps import TransactionSteps
from fakebroker.protocol.arguments.checks import check_partitions, check_whole
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, InvalidArgument
from fakebroker.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    assigned_partitions,
    encode_assignment,
    encode_subscription,
)
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest
from fakebroker.protocol.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from fakebroker.protocol.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from fakebroker.protocol.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from fakebroker.protocol.wire.registry import newest_for_one


@dataclass
class Membership:
    """What the client knows of its membership in a group. `join_request` is also what `rejoin` sends."""

    join_request: JoinGroupRequest
    member_id: str = ""
    generation_id: int = -1
    protocol_name: str | None = None
    leader: str = ""
    members: dict[str, bytes] = field(default_factory=dict)  # the leader's view: member id -> metadata
    assignment: dict[str, list[int]] = field(default_factory=dict)  # topic -> partitions

    @property
    def is_leader(self) -> bool:
        """Whether the coordinator chose this member to assign partitions."""
        return bool(self.member_id) and self.leader == self.member_id


class ClientSteps(
    TransactionSteps, ConsumerGroupSteps, ShareGroupSteps, StreamsGroupSteps, AdminSteps, GroupAdminSteps, LoginSteps
):
    """A client on one connection.

    `versions` pins APIs to versions, e.g. {"JoinGroup": 4}. It is a member of at most one group: `membership` is
    for the classic protocol, `group_membership` for the others.
    """

    def __init__(
        self, client_id: str | None = "consumer", versions: Mapping[str, int] | None = None, number: int = 0
    ) -> None:
        super().__init__(client_id, versions)
        self.number = number
        self.membership: Membership | None = None

    def join(
        self,
        group_id: str,
        topics: Sequence[str] = (),
        *,
        protocols: Sequence[str] = ("range",),
        metadata: bytes | None = None,
        session_timeout_ms: int = 45_000,
        rebalance_timeout_ms: int = 300_000,
        group_instance_id: str | None = None,
        protocol_type: str = "consumer",
    ) -> Flow[JoinGroupResponse]:
        """Join a group as a new member. `metadata` replaces the subscription to `topics`."""
        data = encode_subscription(ConsumerProtocolSubscription(topics=list(topics))) if metadata is None else metadata
        join_request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            member_id="",
            group_instance_id=group_instance_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name in protocols],
        )
        self.membership, self.group_membership = Membership(join_request), None
        return (yield from self.rejoin())

    def rejoin(self) -> Flow[JoinGroupResponse]:
        """Join again with the same protocols and timeouts, as the member this client is."""
        membership = self._membership()
        answer = yield from self._join_once(membership)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            answer = yield from self._join_once(membership)
        return answer

    def sync(self, assignments: Mapping[str, Mapping[str, Sequence[int]]] | None = None) -> Flow[Any]:
        """Send SyncGroup. The leader passes the assignments of all members: member id -> topic -> partitions."""
        membership = self._membership()
        entries = [
            SyncGroupRequestAssignment(member_id=member_id, assignment=_assignment_bytes(partitions))
            for member_id, partitions in (assignments or {}).items()
        ]
        answer = yield from self.ask(
            SyncGroupRequest(
                group_id=membership.join_request.group_id,
                generation_id=membership.generation_id,
                member_id=membership.member_id,
                group_instance_id=membership.join_request.group_instance_id,
                protocol_type=membership.join_request.protocol_type,
                protocol_name=membership.protocol_name,
                assignments=entries,
            )
        )
        if answer.error_code == ErrorCode.NONE:
            membership.assignment = assigned_partitions(answer.assignment)
        return answer

    def heartbeat(self) -> Flow[Any]:
        """Send a Heartbeat as the member this client is."""
        membership = self._membership()
        return self.ask(
            HeartbeatRequest(
                group_id=membership.join_request.group_id,
                generation_id=membership.generation_id,
                member_id=membership.member_id,
                group_instance_id=membership.join_request.group_instance_id,
            )
        )

    def leave(self) -> Flow[Any]:
        """Leave the group; the client may join again."""
        membership = self._membership()
        request = LeaveGroupRequest(group_id=membership.join_request.group_id)
        version = yield from self.version_of(request)
        if version <= newest_for_one(ApiKey.LEAVE_GROUP):
            request.member_id = membership.member_id
        else:
            instance_id = membership.join_request.group_instance_id
            request.members = [MemberIdentity(member_id=membership.member_id, group_instance_id=instance_id)]
        answer = yield from self.ask(request, version)
        membership.member_id, membership.generation_id, membership.assignment = "", -1, {}
        return answer

    def commit(self, offsets: Offsets, metadata: str = "", group_id: str | None = None) -> Flow[Any]:
        """Commit offsets as the member this client is; with `group_id`, as no member (generation -1, no member id).

        Raises InvalidArgument for what is no offset by topic and partition: {("orders", 0): 42}.
        """
        _check_commit(offsets)
        topics = [
            OffsetCommitRequestTopic(
                name=topic, partitions=[(index, offset, -1, -1, metadata) for index, offset in rows]
            )
            for topic, rows in by_topic(offsets).items()
        ]
        if group_id is not None:
            return self.ask(OffsetCommitRequest(group_id=group_id, topics=topics))
        return self.ask(OffsetCommitRequest(**self._committer(), topics=topics))

    def committed(self, group_id: str, partitions: Sequence[tuple[str, int]] | None = None) -> Flow[Any]:
        """The OffsetFetch answer for these partitions, or for everything the group has committed.

        Raises InvalidArgument unless it is a list of topics and partitions: [("orders", 0)].
        """
        topics = None
        if partitions is not None:
            check_partitions("partitions", partitions)
            wanted = by_topic(dict.fromkeys(partitions, 0))
            topics = [
                OffsetFetchRequestTopic(name=topic, partition_indexes=[index for index, _ in rows])
                for topic, rows in wanted.items()
            ]
        return self.ask(OffsetFetchRequest(group_id=group_id, topics=topics))

    def _join_once(self, membership: Membership) -> Flow[JoinGroupResponse]:
        membership.join_request.member_id = membership.member_id
        answer: JoinGroupResponse = yield from self.ask(membership.join_request)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            membership.member_id = answer.member_id
        elif answer.error_code == ErrorCode.NONE:
            membership.member_id = answer.member_id
            membership.generation_id = answer.generation_id
            membership.protocol_name = answer.protocol_name
            membership.leader = answer.leader
            membership.members = {member.member_id: member.metadata for member in answer.members}
        return answer

    def _committer(self) -> dict[str, Any]:
        """The fields of an OffsetCommit that say who commits: of a member of any kind of group."""
        modern = self.group_membership
        if modern is not None:
            return {
                "group_id": modern.group_id,
                "generation_id_or_member_epoch": modern.member_epoch,
                "member_id": modern.member_id,
                "group_instance_id": modern.instance_id,
            }
        membership = self._membership()
        return {
            "group_id": membership.join_request.group_id,
            "generation_id_or_member_epoch": membership.generation_id,
            "member_id": membership.member_id,
            "group_instance_id": membership.join_request.group_instance_id,
        }

    def _membership_from(self, kind: str, group_id: str, member_id: str | None) -> GroupMembership:
        self.membership = None
        return super()._membership_from(kind, group_id, member_id)

    def _membership(self) -> Membership:
        if self.membership is None:
            raise FakebrokerError("this client has joined no group")
        return self.membership


def _check_commit(offsets: object) -> None:
    """As `check_offsets`, but any number that a request can carry: what is wrong with it, the broker is to answer."""
    if not isinstance(offsets, Mapping):
        text = f'offsets={offsets!r} does not map topic and partition to an offset, such as {{("orders", 0): 42}}'
        raise InvalidArgument("offsets", offsets, text)
    check_partitions("offsets", offsets)
    for offset in offsets.values():
        check_whole("offsets", offset)


def _assignment_bytes(partitions: Mapping[str, Sequence[int]]) -> bytes:
    """What a leader sends for one member: topic -> partitions."""
    rows = [(topic, list(indexes)) for topic, indexes in partitions.items()]
    return encode_assignment(ConsumerProtocolAssignment(assigned_partitions=rows))
