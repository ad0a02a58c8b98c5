"""Random histories of consumer groups: members that reconcile quickly, slowly or never, static ones, timeouts, offsets.

answers = ConsumerHistory(clients, seed=7, topic_ids=TopicIds()).play()
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakebroker.protocol.records.consumer_group_schema import ConsumerGroupCurrentMemberAssignmentValue
from tests.group_histories.history import INTERVAL_MS, LONG_MS, SHORT_MS, Answered
from tests.group_histories.offset_steps import OffsetSteps

SETTINGS: Mapping[str, object] = {
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.min.assignment.interval.ms": 0,
    "group.consumer.min.session.timeout.ms": 500,
    "group.consumer.max.session.timeout.ms": 10 * LONG_MS,
    "group.consumer.session.timeout.ms": LONG_MS,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": INTERVAL_MS,
    "group.initial.rebalance.delay.ms": 0,
}

Owned = dict[str, list[int]]


class Member:
    """A client of the history: what it is, and what it believes."""

    def __init__(self, member_id: str, instance_id: str | None, topics: list[str]) -> None:
        self.member_id, self.instance_id, self.topics = member_id, instance_id, topics
        self.epoch, self.epoch_before = 0, 0
        self.assigned: Owned = {}  # as last answered
        self.owned: Owned = {}  # what it works on: what it was told to give up, it may not have given up yet
        self.is_away = False

    def learn(self, epoch: int, assigned: Owned | None) -> None:
        """Believe an answer without error."""
        if epoch != self.epoch:
            self.epoch_before, self.epoch = self.epoch, epoch
        if assigned is not None:
            self.assigned = assigned
            for topic, partitions in assigned.items():
                self.owned[topic] = sorted({*self.owned.get(topic, ()), *partitions})


class ConsumerHistory(OffsetSteps):
    """One history."""

    kind = protocol = "consumer"

    def play(self) -> list[Answered]:
        self.members: list[Member] = []
        self.gone: list[Member] = []
        self.most = self.chance.choice([3, 6, 14])
        return super().play()

    def actions(self) -> Mapping[Callable[[], None], float]:
        return {
            self.join: 10,
            self.reconcile: 24,
            self.say_nothing: 8,
            self.own_still: 5,
            self.say_everything: 4,
            self.subscribe_otherwise: 4,
            self.leave: 4,
            self.go_away: 3,
            self.come_back: 4,
            self.rejoin: 2,
            self.claim_another_epoch: 4,
            self.claim_another_identity: 3,
            self.be_silent: 1,
            self.revoke_too_slowly: 1,
            self.make_another_topic: 0.7,
            self.add_partitions: 1,
            self.delete_topic: 0.5,
            self.commit: 4,
            self.fetch_offsets: 2,
            self.look: 5,
            self.everybody_reconciles: 3,
        }

    # -- heartbeats ----------------------------------------------------------------------------------------------------

    def join(self) -> None:
        """Somebody new."""
        if len(self.members) >= self.most:
            return self.reconcile()
        instance_id = self.some_name("i") if self.chance.random() < 0.3 else None
        member = Member(self.some_name("m"), instance_id, self._some_topics())
        self._join(member)
        return None

    def _join(self, member: Member, **fields: Any) -> int:
        code = self._heartbeat(
            member, 0, rebalance_timeout_ms=LONG_MS, subscribed_topic_names=member.topics, topic_partitions=[],
            server_assignor=self.chance.choice([None, None, None, "uniform", "range"]), **fields,
        )  # fmt: skip
        if code == 0 and member not in self.members:
            self.members.append(member)
        return code

    def reconcile(self) -> None:
        """A member gives up and takes what it got, and says so."""
        if member := self._some_member():
            self._reconcile(member)

    def _reconcile(self, member: Member) -> None:
        member.owned = dict(member.assigned)
        self._heartbeat(member, member.epoch, topic_partitions=self.by_id(member.owned))

    def everybody_reconciles(self) -> None:
        """Until nothing changes any more."""
        for _ in range(3):
            for member in self._present():
                self._reconcile(member)

    def say_nothing(self) -> None:
        """A heartbeat without fields."""
        if member := self._some_member():
            self._heartbeat(member, member.epoch)

    def own_still(self) -> None:
        """A member that has not given up anything yet."""
        if member := self._some_member():
            self._heartbeat(member, member.epoch, topic_partitions=self.by_id(member.owned))

    def say_everything(self) -> None:
        """All fields, as after a failed request: the answer has the assignment."""
        if member := self._some_member():
            self._heartbeat(
                member, member.epoch, topic_partitions=self.by_id(member.assigned), rebalance_timeout_ms=LONG_MS,
                subscribed_topic_names=member.topics, rack_id=self.chance.choice([None, "r1"]),
            )  # fmt: skip

    def subscribe_otherwise(self) -> None:
        """Other topics; perhaps none."""
        if member := self._some_member():
            member.topics = self._some_topics()
            self._heartbeat(member, member.epoch, subscribed_topic_names=member.topics)

    def rejoin(self) -> None:
        """A known member with epoch 0."""
        if member := self._some_member():
            member.owned = {}
            self._join(member)

    def leave(self) -> None:
        """For good, whatever its epoch."""
        if member := self._some_member():
            epoch = self.chance.choice([-1, -1, -1, -2 if member.instance_id else -1])
            self._leave(member, epoch)

    def go_away(self) -> None:
        """A static member that will be back."""
        if member := self._some_member(static=True):
            self._leave(member, -2)

    def _leave(self, member: Member, epoch: int) -> None:
        if self._heartbeat(member, epoch) == 0:
            self.members.remove(member)
            member.is_away = epoch == -2
            self.gone.append(member)

    def come_back(self) -> None:
        """Somebody who left: with its old member id, or a new one."""
        if not self.gone:
            return
        member = self.chance.choice(self.gone)
        self.gone.remove(member)
        if self.chance.random() < 0.7:
            member.member_id = self.some_name("m")
        if self.chance.random() < 0.3:
            member.topics = self._some_topics()
        member.epoch, member.owned, member.assigned = 0, {}, {}
        if self._join(member) != 0:
            self.gone.append(member)

    def claim_another_epoch(self) -> None:
        """Epochs of the past and of the future, with and without partitions."""
        if member := self._some_member():
            epoch = self.chance.choice([member.epoch_before, member.epoch_before, member.epoch + 1, member.epoch - 1])
            owned = self.chance.choice([None, [], self.by_id(member.owned), self.by_id(member.assigned)])
            self._heartbeat(member, max(epoch, 1), topic_partitions=owned)

    def claim_another_identity(self) -> None:
        """Member ids and instance ids that do not belong together, and those of others."""
        member = self._some_member() or Member("nobody", None, ["t"])
        instance_id = self.chance.choice(
            [None, "stranger", *(each.instance_id for each in [*self.members, *self.gone] if each.instance_id)]
        )
        member_id = self.chance.choice([member.member_id, "stranger"])
        epoch = self.chance.choice([member.epoch, 0, -1, *([-2] if instance_id else [])])
        known = [each for each in self.members if each.member_id == member_id]
        if epoch == 0 or (known and epoch < 0):
            epoch = 7  # who joins and leaves is reported elsewhere
        other = Member(member_id, instance_id, member.topics)
        self._heartbeat(other, epoch)

    # -- timeouts ------------------------------------------------------------------------------------------------------

    def be_silent(self) -> None:
        """A member's session ends; those of the others do not."""
        member = self._some_member()
        if member is None:
            return
        self._heartbeat(member, member.epoch)
        self.end_session(lambda: self._ask(member, member.epoch))
        self._heartbeat(member, member.epoch)
        self._forget(member)

    def revoke_too_slowly(self) -> None:
        """A member has a second to give partitions up, and does not."""
        member = self._some_member()
        if member is None:
            return
        self._heartbeat(member, member.epoch, rebalance_timeout_ms=SHORT_MS)
        self._join(Member(self.some_name("m"), None, member.topics))
        self._heartbeat(member, member.epoch, topic_partitions=self.by_id(member.owned))
        self.pass_time(SHORT_MS + 700)
        self.look()
        code = self._heartbeat(
            member, member.epoch, rebalance_timeout_ms=LONG_MS, topic_partitions=self.by_id(member.assigned)
        )
        if code:
            self._forget(member)

    def _forget(self, member: Member) -> None:
        self.members.remove(member)
        self.gone.append(member)

    # -- what can be seen ----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """What administrators see."""
        answer = self.client.request("ConsumerGroupDescribe", 1, group_ids=[self.group_id])
        (group,) = answer.groups
        members = sorted(
            (
                each.member_id, each.instance_id, each.rack_id, each.member_epoch, sorted(each.subscribed_topic_names),
                each.subscribed_topic_regex, self.by_name(each.assignment.topic_partitions),
                self.by_name(each.target_assignment.topic_partitions), each.member_type,
            )
            for each in group.members
        )  # fmt: skip
        answers = (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name)
        self.tell("ConsumerGroupDescribe", (*answers, "".join(f"\n      {each}" for each in members)))
        listed = self.client.request("ListGroups", 5, states_filter=[], types_filter=[])
        states = [each.group_state for each in listed.groups if each.group_id == self.group_id]
        self.tell("ListGroups", states)

    def delete_topic(self) -> None:
        """Also wait until nobody has anything of it: Kafka's coordinator hears of it after those who read metadata."""
        super().delete_topic()
        for _ in range(200):
            (group,) = self.client.request("ConsumerGroupDescribe", 1, group_ids=[self.group_id]).groups
            assignments = [each for member in group.members for each in (member.assignment, member.target_assignment)]
            if all(topic.topic_name in self.topics for each in assignments for topic in each.topic_partitions):
                return
            self.pass_time(50)
        raise AssertionError(f"a deleted topic is still assigned: {group}")

    def comparable(self, value: Any) -> Any:
        """Partitions of current assignments (type 8) come in an order of Java tables on which nothing else depends."""
        if isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
            for topics in (value.assigned_partitions, value.partitions_pending_revocation):
                topics.sort(key=lambda topic: topic.topic_id)
                for topic in topics:
                    rows = sorted(zip(topic.partitions, topic.assignment_epochs or [], strict=True))
                    topic.partitions = [partition for partition, _ in rows]
                    topic.assignment_epochs = [epoch for _, epoch in rows]
        return value

    def claimed(self) -> list[tuple[str, int]]:
        member = self._some_member() or Member("nobody", None, [])
        return [
            (member.member_id, each) for each in (member.epoch, member.epoch, member.epoch_before, member.epoch + 1, -1)
        ]

    # -- how it is asked -----------------------------------------------------------------------------------------------

    def _heartbeat(self, member: Member, epoch: int, **fields: Any) -> int:
        answer = self._ask(member, epoch, **fields)
        assigned = None if answer.assignment is None else self.by_name(answer.assignment.topic_partitions)
        answers = (answer.error_code, answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms, assigned)
        if fields.get("topic_partitions"):
            fields["topic_partitions"] = [
                (self.names[each["topic_id"]], each["partitions"]) for each in fields["topic_partitions"]
            ]
        self.tell(f"Heartbeat {member.member_id} {member.instance_id} {epoch} {fields}", answers)
        if answer.error_code == 0 and epoch >= 0:
            member.learn(answer.member_epoch, None if assigned is None else dict(assigned))
        return int(answer.error_code)

    def _ask(self, member: Member, epoch: int, **fields: Any) -> Any:
        return self.client.request(
            "ConsumerGroupHeartbeat", 1, group_id=self.group_id, member_id=member.member_id, member_epoch=epoch,
            instance_id=member.instance_id, **fields,
        )  # fmt: skip

    def _present(self) -> Sequence[Member]:
        return list(self.members)

    def _some_member(self, *, static: bool = False) -> Member | None:
        candidates = [member for member in self.members if member.instance_id or not static]
        return self.chance.choice(candidates) if candidates else None

    def _some_topics(self) -> list[str]:
        chance = self.chance.random()
        if chance < 0.05:
            return []
        return sorted(self.topics) if chance < 0.6 else self.some_topics()
