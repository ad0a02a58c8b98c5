"""What a scripted client knows of its membership in a group of a newer protocol (KIP-848, KIP-932, KIP-1071).

Such a group is joined, kept and left by one request, a heartbeat, whose answer brings the assignment. The member id is
made by the client, once for its life.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from fakebroker.client.requesting import Flow
from fakebroker.client.topic_ids import TopicIds
from fakebroker.protocol.errors import ErrorCode, FakebrokerError

MAX_ID_CHARACTERS = 36
JOINING, LEAVING, LEAVING_FOR_A_WHILE = 0, -1, -2  # epochs with a meaning of their own


@dataclass
class GroupMembership:
    """A membership, or one that ended: then the epoch is below 0. `kind` is "consumer", "share" or "streams"."""

    kind: str
    group_id: str
    member_id: str
    instance_id: str | None = None
    member_epoch: int = JOINING
    heartbeat_interval_ms: int = 0
    assignment: dict[str, list[int]] = field(default_factory=dict)  # topic -> partitions
    active_tasks: dict[str, list[int]] = field(default_factory=dict)  # subtopology -> partitions
    standby_tasks: dict[str, list[int]] = field(default_factory=dict)
    endpoint_epoch: int = -1

    def end(self, epoch: int) -> None:
        """It has left with this epoch, and has nothing any more."""
        self.member_epoch = epoch
        self.assignment, self.active_tasks, self.standby_tasks = {}, {}, {}


class GroupMembershipSteps(TopicIds):
    """What the steps of members of consumer, share and streams groups share.

    `number` tells clients of the same client id apart whose member ids are made here.
    """

    def __init__(self, client_id: str | None = "consumer", versions: Mapping[str, int] | None = None) -> None:
        super().__init__(client_id, versions)
        self.number = 0
        self.group_membership: GroupMembership | None = None

    @property
    def own_member_id(self) -> str:
        """The member id that this client makes for itself: "a-member-1" for the first client of client id "a".

        Kafka's clients make random ones; a broker takes any of up to 36 characters (SGH-1). Of a client id too long for
        that a hash is taken.
        """
        client_id = self.connection.client_id or "client"
        member_id = f"{client_id}-member-{self.number + 1}"
        if len(member_id) <= MAX_ID_CHARACTERS:
            return member_id
        return f"{sha256(client_id.encode()).hexdigest()[:16]}-member-{self.number + 1}"

    def _membership_in(self, kind: str) -> GroupMembership:
        """Its membership in a group of this kind. Raises FakebrokerError if it has joined none."""
        if self.group_membership is None or self.group_membership.kind != kind:
            raise FakebrokerError(f"this client has joined no {kind} group")
        return self.group_membership

    def _membership_from(self, kind: str, group_id: str, member_id: str | None) -> GroupMembership:
        """A membership that begins with a join; `member_id` None is the client's own."""
        chosen = self.own_member_id if member_id is None else member_id
        self.group_membership = GroupMembership(kind, group_id, chosen)
        return self.group_membership

    def _take_answer(self, membership: GroupMembership, answer: Any) -> bool:
        """Keep what the answer to a heartbeat says of the member; whether it is one of success."""
        if answer.error_code != ErrorCode.NONE:
            if answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID:
                self._forget_topic_ids()
            return False
        membership.member_id = answer.member_id or membership.member_id
        membership.member_epoch = answer.member_epoch
        membership.heartbeat_interval_ms = answer.heartbeat_interval_ms
        return True

    def _take_partitions(self, membership: GroupMembership, answer: Any) -> Flow[None]:
        """Keep what the answer says of member and partitions; an answer without assignment changes no partitions."""
        if self._take_answer(membership, answer) and answer.assignment is not None:
            membership.assignment = yield from self._partitions_by_name(answer.assignment.topic_partitions)
