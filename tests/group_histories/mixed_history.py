"""Random histories of consumer groups with members of both protocols, which become classic groups and back again.

told = MixedHistory(clients, seed=7, topic_ids=TopicIds()).play()
"""

from collections.abc import Callable, Mapping
from typing import Any

from fakebroker.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    assigned_partitions,
    encode_assignment,
    encode_subscription,
)
from fakebroker.testclient.scripted_client import PendingStep
from tests.group_histories.consumer_history import ConsumerHistory, Member, Owned
from tests.group_histories.history import LONG_MS, Told


class ClassicMember:
    """A client that joins with JoinGroup, on a connection of its own."""

    def __init__(self, client: Any, member_id: str, instance_id: str | None, topics: list[str]) -> None:
        self.client, self.member_id, self.instance_id, self.topics = client, member_id, instance_id, topics
        self.generation = -1
        self.assigned: Owned = {}


class MixedHistory(ConsumerHistory):
    """One history."""

    kind = "mixed"

    def play(self) -> list[Told]:
        self.classic: list[ClassicMember] = []
        return super().play()

    def actions(self) -> Mapping[Callable[[], None], float]:
        return {
            **super().actions(),
            self.be_silent: 0.3,
            self.revoke_too_slowly: 0.3,
            self.classic_join: 8,
            self.classic_rejoin: 10,
            self.classic_sync: 4,
            self.classic_heartbeat: 14,
            self.classic_leave: 3,
            self.classic_commit: 2,
            self.claim_another_generation: 2,
            self.switch_protocol: 1,
            self.downgrade_and_upgrade: 0.7,
        }

    # -- members of the classic protocol -------------------------------------------------------------------------------

    def classic_join(self) -> None:
        """Somebody new."""
        if len(self.classic) < 4 and self._has_both():
            instance_id = self.some_name("i") if self.chance.random() < 0.3 else None
            member = ClassicMember(self.another_client(), self.some_name("c"), instance_id, self._some_topics())
            if self._classic_join(member, {}) == 0:
                self.classic.append(member)

    def classic_rejoin(self) -> None:
        """As after a heartbeat that said so: it still owns what it had, or gave it up; it may want other topics."""
        if member := self._some_classic():
            if self.chance.random() < 0.1:
                member.topics = self._some_topics()
            self._classic_join(member, self.chance.choice([{}, member.assigned]))
            self._sync(member)

    def classic_sync(self) -> None:
        """Asking for the assignment again."""
        if member := self._some_classic():
            self._sync(member)

    def classic_heartbeat(self) -> None:
        """Which says whether it has to join again."""
        if member := self._some_classic():
            self._classic_heartbeat(member, member.generation)

    def claim_another_generation(self) -> None:
        """One of the past or the future."""
        if member := self._some_classic():
            self._classic_heartbeat(member, member.generation + self.chance.choice([-1, 1]))

    def classic_leave(self) -> None:
        """By member id, or by instance id alone."""
        if member := self._some_classic():
            by_instance = member.instance_id is not None and self.chance.random() < 0.5
            self._classic_leave(member, "" if by_instance else member.member_id)
            self.classic.remove(member)

    def classic_commit(self) -> None:
        """With its generation, or another one."""
        if member := self._some_classic():
            topic = self.chance.choice(list(self.topics))
            generation = member.generation + self.chance.choice([0, 0, -1, 1])
            answer = member.client.request(
                "OffsetCommit", 8, group_id=self.group_id, generation_id_or_member_epoch=generation,
                member_id=member.member_id, group_instance_id=member.instance_id,
                topics=[{"name": topic, "partitions": [(0, 5, -1, -1, "")]}],
            )  # fmt: skip
            self.tell(f"OffsetCommit {member.member_id} {generation} {topic}", list(answer.topics[0].partitions))

    def switch_protocol(self) -> None:
        """A member of the classic protocol joins with the other one, by its member id."""
        if (member := self._some_classic()) and member.instance_id is None:
            self.classic.remove(member)
            self._join(Member(member.member_id, None, member.topics))

    # -- conversions ---------------------------------------------------------------------------------------------------

    def downgrade_and_upgrade(self) -> None:
        """The last members of the consumer protocol leave; the others rebalance; then somebody joins with it again."""
        if not self.classic or not self._has_both():
            return
        for member in list(self.members):
            self._leave(member, -1)
        if any(self._consumer_members()):
            return  # static members that are away
        for classic in self.classic:
            self._classic_heartbeat(classic, classic.generation)
        self._rebalance()
        for classic in self.classic:
            self._classic_heartbeat(classic, classic.generation)
        self._join(Member(self.some_name("m"), None, self._some_topics()))

    def _rebalance(self) -> None:
        """The group is a classic one: everybody joins, the leader gives all partitions to one of them, all sync."""
        joins = [(member, self._send_join(member, member.assigned)) for member in self.classic]
        joined = [(member, step.result()) for member, step in joins]
        for member, answer in joined:
            leads = answer.leader == answer.member_id
            self.tell(f"JoinGroup {member.member_id}", (answer.error_code, answer.generation_id, leads))
            member.generation = answer.generation_id
        everything = ConsumerProtocolAssignment(
            assigned_partitions=[(name, list(range(count))) for name, count in sorted(self.topics.items())]
        )
        nothing = ConsumerProtocolAssignment(assigned_partitions=[])
        leaders = [member for member, answer in joined if answer.leader == answer.member_id]
        plan = [
            {"member_id": member.member_id, "assignment": encode_assignment(everything if number == 0 else nothing, 1)}
            for number, member in enumerate(self.classic)
        ]
        syncs = [(member, self._send_sync(member, plan if member in leaders else [])) for member in self.classic]
        for member, step in syncs:
            self._hear_sync(member, step.result())

    # -- how it is asked -----------------------------------------------------------------------------------------------

    def _classic_join(self, member: ClassicMember, owned: Owned) -> int:
        answer = self._send_join(member, owned).result()
        told = (
            answer.error_code, answer.generation_id, answer.protocol_name, answer.leader, answer.member_id,
            len(answer.members),
        )  # fmt: skip
        self.tell(f"JoinGroup {member.member_id} {member.instance_id} {member.topics} {owned}", told)
        if answer.error_code == 0:
            member.generation = answer.generation_id
        return int(answer.error_code)

    def _send_join(self, member: ClassicMember, owned: Owned) -> PendingStep[Any]:
        subscription = ConsumerProtocolSubscription(topics=member.topics, owned_partitions=sorted(owned.items()))
        return self._send(
            member, "JoinGroup", 9, session_timeout_ms=LONG_MS, rebalance_timeout_ms=LONG_MS,
            member_id=member.member_id, group_instance_id=member.instance_id, protocol_type="consumer",
            protocols=[{"name": "range", "metadata": encode_subscription(subscription, 1)}],
        )  # fmt: skip

    def _sync(self, member: ClassicMember) -> None:
        self._hear_sync(member, self._send_sync(member, []).result())

    def _send_sync(self, member: ClassicMember, assignments: list[dict[str, Any]]) -> PendingStep[Any]:
        return self._send(
            member, "SyncGroup", 5, generation_id=member.generation, member_id=member.member_id,
            group_instance_id=member.instance_id, protocol_type="consumer", protocol_name="range",
            assignments=assignments,
        )  # fmt: skip

    def _hear_sync(self, member: ClassicMember, answer: Any) -> None:
        assigned: Owned = {}
        if answer.error_code == 0 and answer.assignment:
            listed = assigned_partitions(answer.assignment)
            assigned = {name: sorted(partitions) for name, partitions in sorted(listed.items())}
            member.assigned = assigned
        self.tell(f"SyncGroup {member.member_id} {member.generation}", (answer.error_code, assigned))

    def _classic_heartbeat(self, member: ClassicMember, generation: int) -> None:
        answer = member.client.request(
            "Heartbeat", 4, group_id=self.group_id, generation_id=generation, member_id=member.member_id,
            group_instance_id=member.instance_id,
        )  # fmt: skip
        self.tell(f"Heartbeat {member.member_id} {generation}", answer.error_code)

    def _classic_leave(self, member: ClassicMember, member_id: str) -> None:
        answer = member.client.request(
            "LeaveGroup", 5, group_id=self.group_id,
            members=[{"member_id": member_id, "group_instance_id": member.instance_id}],
        )  # fmt: skip
        told = (answer.error_code, [each.error_code for each in answer.members])
        self.tell(f"LeaveGroup {member_id} {member.instance_id}", told)

    def _send(self, member: ClassicMember, api: str, version: int, **fields: Any) -> PendingStep[Any]:
        client = member.client
        step: PendingStep[Any] = client.start(client.steps.request(api, version, group_id=self.group_id, **fields))
        return step

    def _some_classic(self) -> ClassicMember | None:
        """One of them, if the group is not a classic one: there requests may wait for those of others."""
        if self.classic and not self._has_both():
            for member in self.classic:
                self._classic_leave(member, member.member_id)
            self.classic.clear()
        return self.chance.choice(self.classic) if self.classic else None

    def _has_both(self) -> bool:
        """Whether somebody in the group speaks the consumer protocol."""
        return any(self._consumer_members())

    def _consumer_members(self) -> list[str]:
        (group,) = self.client.request("ConsumerGroupDescribe", 1, group_ids=[self.group_id]).groups
        return [each.member_id for each in group.members if each.member_type == 1]
