"""Random histories of share groups: members that come, go and subscribe otherwise, partitions that become ready.

answers = ShareHistory(clients, seed=7, topic_ids=TopicIds()).play()
"""

from collections.abc import Callable, Mapping
from typing import Any

from fakebroker.protocol.records.share_group_schema import (
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupStatePartitionMetadataValue,
)
from tests.group_histories.history import INTERVAL_MS, LONG_MS, Answered, GroupHistory

SETTINGS: Mapping[str, object] = {
    "group.share.assignment.interval.ms": 0,
    "group.share.min.assignment.interval.ms": 0,
    "group.share.min.session.timeout.ms": 500,
    "group.share.max.session.timeout.ms": 10 * LONG_MS,
    "group.share.session.timeout.ms": LONG_MS,
    "group.share.min.heartbeat.interval.ms": 100,
    "group.share.heartbeat.interval.ms": INTERVAL_MS,
}
PARTITION_STATES = 15  # the type of the records that say which partitions have a state


class Member:
    """A client of the history."""

    def __init__(self, member_id: str, topics: list[str]) -> None:
        self.member_id, self.topics = member_id, topics
        self.epoch, self.epoch_before = 0, 0


class ShareHistory(GroupHistory):
    """One history."""

    kind = protocol = "share"

    def play(self) -> list[Answered]:
        self.members: list[Member] = []
        self.gone: list[Member] = []
        self.most = self.chance.choice([3, 6, 20])
        return super().play()

    def await_coordinator(self) -> None:
        """Also until a share group gets partitions: with the first one the broker makes its topic of states."""
        super().await_coordinator()
        group_id, self.group_id = self.group_id, f"{self.name}-first"
        member = Member("first", [self.make_topic(1)])
        self._heartbeat(member, 0, subscribed_topic_names=member.topics)
        for _ in range(400):
            self.pass_time(100)
            answer = self._ask(member, 0, subscribed_topic_names=member.topics)
            if answer.assignment.topic_partitions:
                break
        else:
            raise AssertionError(f"no partition becomes ready: {answer}")
        self.group_id = group_id
        self.answers.clear()

    def actions(self) -> Mapping[Callable[[], None], float]:
        return {
            self.join: 10,
            self.go_on: 24,
            self.subscribe_otherwise: 6,
            self.rejoin: 3,
            self.leave: 5,
            self.claim_another_epoch: 4,
            self.be_a_stranger: 2,
            self.be_silent: 0.7,
            self.make_another_topic: 0.7,
            self.add_partitions: 1.5,
            self.look: 5,
            self.everybody_goes_on: 3,
        }

    # -- heartbeats ----------------------------------------------------------------------------------------------------

    def join(self) -> None:
        """Somebody new, or somebody who was there before."""
        if len(self.members) < self.most:
            if self.gone and self.chance.random() < 0.2:
                member = self.gone.pop()
                member.epoch = 0
            else:
                member = Member(self.some_name("m"), self._some_topics())
            if self._heartbeat(member, 0, subscribed_topic_names=member.topics) == 0:
                self.members.append(member)

    def go_on(self) -> None:
        """A heartbeat without fields."""
        if member := self._some_member():
            self._heartbeat(member, member.epoch)

    def everybody_goes_on(self) -> None:
        """Until nothing changes any more."""
        for _ in range(2):
            for member in self.members:
                self._heartbeat(member, member.epoch)

    def subscribe_otherwise(self) -> None:
        """Other topics, or the same ones again."""
        if member := self._some_member():
            member.topics = self._some_topics()
            self._heartbeat(member, member.epoch, subscribed_topic_names=member.topics)

    def rejoin(self) -> None:
        """A known member with epoch 0."""
        if member := self._some_member():
            self._heartbeat(member, 0, subscribed_topic_names=member.topics)

    def leave(self) -> None:
        """For good."""
        if member := self._some_member():
            self._heartbeat(member, -1)
            self._forget(member)

    def claim_another_epoch(self) -> None:
        """Epochs of the past and of the future."""
        if member := self._some_member():
            epoch = self.chance.choice([member.epoch_before, member.epoch + 1, member.epoch - 1])
            self._heartbeat(member, max(epoch, 1))

    def be_a_stranger(self) -> None:
        """Somebody that nobody knows."""
        self._heartbeat(Member("stranger", []), self.chance.choice([1, -1]))

    def be_silent(self) -> None:
        """A member's session ends; those of the others do not."""
        if member := self._some_member():
            self._heartbeat(member, member.epoch)
            self.end_session(lambda: self._ask(member, member.epoch))
            self._heartbeat(member, member.epoch)
            self._forget(member)

    def _forget(self, member: Member) -> None:
        self.members.remove(member)
        self.gone.append(member)

    # -- what can be seen ----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """What administrators see."""
        answer = self.client.request("ShareGroupDescribe", 1, group_ids=[self.group_id])
        (group,) = answer.groups
        members = sorted(
            (
                each.member_id, each.rack_id, each.member_epoch, sorted(each.subscribed_topic_names),
                self.by_name(each.assignment.topic_partitions),
            )
            for each in group.members
        )  # fmt: skip
        answers = (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name)
        self.tell("ShareGroupDescribe", (*answers, "".join(f"\n      {each}" for each in members)))

    def comparable(self, value: Any) -> Any:
        """Topics come in the order of Java tables that nothing else depends on."""
        if isinstance(value, ShareGroupStatePartitionMetadataValue):
            for topics in (value.initializing_topics, value.initialized_topics, value.deleting_topics):
                topics.sort(key=lambda topic: topic.topic_id)
        elif isinstance(value, ShareGroupCurrentMemberAssignmentValue):
            value.assigned_partitions.sort(key=lambda topic: topic.topic_id)
            for topic in value.assigned_partitions:
                topic.partitions.sort()
        return value

    # -- how it is asked -----------------------------------------------------------------------------------------------

    def _heartbeat(self, member: Member, epoch: int, **fields: Any) -> int:
        answer = self._ask(member, epoch, **fields)
        assigned = None if answer.assignment is None else self.by_name(answer.assignment.topic_partitions)
        answers = (answer.error_code, answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms, assigned)
        self.tell(f"Heartbeat {member.member_id} {epoch} {fields}", answers)
        if answer.error_code == 0 and epoch >= 0 and answer.member_epoch != member.epoch:
            member.epoch_before, member.epoch = member.epoch, answer.member_epoch
        self._settle()
        return int(answer.error_code)

    def _ask(self, member: Member, epoch: int, **fields: Any) -> Any:
        return self.client.request(
            "ShareGroupHeartbeat", 1, group_id=self.group_id, member_id=member.member_id, member_epoch=epoch, **fields
        )

    def _settle(self) -> None:
        """Wait until every partition that a state is made for has it."""
        for _ in range(400):
            states = [each.value for batch in self.batches() for each in batch if each.type == PARTITION_STATES]
            if not states or states[-1] is None or not states[-1].initializing_topics:
                return
            self.pass_time(20)
        raise AssertionError("a state is never made:\n" + "\n".join(map(str, self.answers[-20:])))

    def _some_member(self) -> Member | None:
        return self.chance.choice(self.members) if self.members else None

    def _some_topics(self) -> list[str]:
        return sorted(self.topics) if self.chance.random() < 0.6 else self.some_topics()
