"""What a scripted client does as a member of a consumer group (KIP-848): each step is one ConsumerGroupHeartbeat.

A member that has to give partitions up keeps its epoch until a heartbeat says that it no longer owns them.
`reconcile` is that heartbeat; a test that leaves it out has a member that revokes slowly, or never.
"""

from collections.abc import Sequence
from typing import Any

from fakebroker.client.group_membership import JOINING, LEAVING, LEAVING_FOR_A_WHILE, GroupMembershipSteps
from fakebroker.client.requesting import Flow
from fakebroker.client.topic_ids import Partitions
from fakebroker.protocol.errors import ErrorCode

KIND = "consumer"


class ConsumerGroupSteps(GroupMembershipSteps):
    """Joining, staying in, and leaving a consumer group. Each step but the first needs a group that was joined."""

    def join_consumer_group(
        self,
        group_id: str,
        topics: Sequence[str] = (),
        *,
        topic_regex: str | None = None,
        group_instance_id: str | None = None,
        rack_id: str | None = None,
        server_assignor: str | None = None,
        rebalance_timeout_ms: int = 300_000,
        member_id: str | None = None,
    ) -> Flow[Any]:
        """Join or rejoin a consumer group, owning nothing: a heartbeat with epoch 0.

        The client keeps its member id unless `member_id` is given.
        """
        membership = self._membership_from(KIND, group_id, member_id)
        membership.instance_id = group_instance_id
        fields: dict[str, Any] = {
            "member_epoch": JOINING,
            "rack_id": rack_id,
            "rebalance_timeout_ms": rebalance_timeout_ms,
            "subscribed_topic_names": list(topics),
            "server_assignor": server_assignor,
            "topic_partitions": [],
        }
        if topic_regex is not None:
            fields["subscribed_topic_regex"] = topic_regex
        return self._consumer_heartbeat(fields)

    def consumer_group_heartbeat(
        self,
        *,
        owned: Partitions | None = None,
        topics: Sequence[str] | None = None,
        topic_regex: str | None = None,
        rack_id: str | None = None,
        server_assignor: str | None = None,
        rebalance_timeout_ms: int = -1,
        member_epoch: int | None = None,
    ) -> Flow[Any]:
        """Send a heartbeat as the current member. Omitted fields keep their previous values.

        `owned` are the partitions to report as owned, by topic; None reports nothing. The epoch is the member's unless
        `member_epoch` is given.
        """
        membership = self._membership_in(KIND)
        fields: dict[str, Any] = {
            "member_epoch": membership.member_epoch if member_epoch is None else member_epoch,
            "rack_id": rack_id,
            "rebalance_timeout_ms": rebalance_timeout_ms,
            "subscribed_topic_names": None if topics is None else list(topics),
            "server_assignor": server_assignor,
        }
        if topic_regex is not None:
            fields["subscribed_topic_regex"] = topic_regex
        return self._consumer_heartbeat(fields, owned)

    def reconcile(self) -> Flow[Any]:
        """Give up revoked partitions, take assigned ones, and report it: a heartbeat that owns the assignment."""
        return self.consumer_group_heartbeat(owned=self._membership_in(KIND).assignment)

    def leave_consumer_group(self, *, is_temporary: bool = False) -> Flow[Any]:
        """Leave the group; a static member may leave temporarily (`is_temporary`) and keep its partitions."""
        membership = self._membership_in(KIND)
        epoch = LEAVING_FOR_A_WHILE if is_temporary else LEAVING
        answer = yield from self._consumer_heartbeat({"member_epoch": epoch})
        if answer.error_code == ErrorCode.NONE:
            membership.end(epoch)
        return answer

    def _consumer_heartbeat(self, fields: dict[str, Any], owned: Partitions | None = None) -> Flow[Any]:
        membership = self._membership_in(KIND)
        if owned is not None:
            fields["topic_partitions"] = yield from self._rows_with_ids(owned)
        answer = yield from self.request(
            "ConsumerGroupHeartbeat",
            group_id=membership.group_id,
            member_id=membership.member_id,
            instance_id=membership.instance_id,
            **fields,
        )
        yield from self._take_partitions(membership, answer)
        return answer
