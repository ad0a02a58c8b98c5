"""Random histories of groups with members of both protocols: upgrades, downgrades, and what each sees of the others.

answers = MigrationHistory(clients, seed=7, topic_ids=TopicIds()).play()
"""

from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from fakebroker.client.scripted.scripted_client import PendingStep, ScriptedClient
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    assigned_partitions,
    encode_assignment,
    encode_subscription,
)
from tests.group_histories.consumer_history import ConsumerHistory, Member, Owned
from tests.group_histories.history import LONG_MS, Answered

MEMBER_ID_REQUIRED = ErrorCode.MEMBER_ID_REQUIRED


class ClassicMember:
    """A client of the classic protocol: what it is, and what it believes."""

    def __init__(self, client: ScriptedClient, instance_id: str | None, topics: list[str]) -> None:
        self.client, self.instance_id, self.topics = client, instance_id, topics
        self.member_id, self.generation = "", -1
        self.owned: Owned = {}


class MigrationHistory(ConsumerHistory):
    """One history."""

    kind = "migration"

    def play(self) -> list[Answered]:
        self.classics: list[ClassicMember] = []
        return super().play()

    def actions(self) -> Mapping[Callable[[], None], float]:
        kept = {
            each: chance
            for each, chance in super().actions().items()
            if each not in (self.be_silent, self.revoke_too_slowly, self.claim_another_identity, self.delete_topic)
        }
        return {
            **kept,
            self.join: 10,
            self.leave: 6,
            self.classic_joins: 7,
            self.classic_goes_on: 20,
            self.classic_beats: 8,
            self.classic_syncs: 3,
            self.classic_takes_a_place: 4,
            self.classic_subscribes_otherwise: 3,
            self.classic_leaves: 4,
            self.classic_changes_its_protocol: 3,
            self.consumer_becomes_classic: 3,
            self.many_leave: 2,
            self.everybody_of_both_goes_on: 4,
        }

    # -- members of the classic protocol -------------------------------------------------------------------------------

    def classic_joins(self) -> None:
        """Somebody new, in a group of either kind."""
        if len(self.classics) >= self.most:
            return self.classic_goes_on()
        instance_id = self.some_name("i") if self.chance.random() < 0.3 else None
        member = ClassicMember(self.another_client(), instance_id, self._some_topics() or sorted(self.topics))
        if self._is_consumer_group():
            member.member_id = "" if instance_id else self.some_name("k")
            self._join_classic(member)
        elif self._join_for_id(member):
            self._round()
        return None

    def classic_goes_on(self) -> None:
        """A member joins with what it has, and syncs; in a classic group all do."""
        if not self._is_consumer_group():
            self._round()
        elif member := self._some_classic():
            self._go_on(member)

    def everybody_of_both_goes_on(self) -> None:
        """Until nothing changes any more."""
        for _ in range(3):
            self.everybody_reconciles()
            if self._is_consumer_group():
                for member in list(self.classics):
                    self._go_on(member)
            else:
                self._round()
                break

    def _go_on(self, member: ClassicMember) -> None:
        if self._beat(member) == ErrorCode.REBALANCE_IN_PROGRESS and self._join_classic(member) == 0:
            self._sync(member)

    def classic_beats(self) -> None:
        """A heartbeat, of this generation or another."""
        if member := self._some_classic():
            self._beat(member, self.chance.choice([0, 0, 0, 1, -1]))

    def classic_syncs(self) -> None:
        """A SyncGroup without a reason."""
        member = self._some_classic()
        if member and self._is_consumer_group():
            self._sync(member, self.chance.choice([0, 0, 1]), self.chance.choice(["range", "range", "other"]))

    def classic_subscribes_otherwise(self) -> None:
        """Other topics, with the next JoinGroup."""
        member = self._some_classic()
        if member and self._is_consumer_group():
            member.topics = self._some_topics() or sorted(self.topics)
            if self._join_classic(member) == 0:
                self._sync(member)

    def classic_takes_a_place(self) -> None:
        """With an instance id that somebody has, of either protocol, but no member id."""
        everybody: list[Member | ClassicMember] = [*self.members, *self.gone, *self.classics]
        holders = [each for each in everybody if each.instance_id]
        if not holders or not self._is_consumer_group():
            return
        holder = self.chance.choice(holders)
        topics = holder.topics if self.chance.random() < 0.7 else self._some_topics()
        member = ClassicMember(self.another_client(), holder.instance_id, topics or sorted(self.topics))
        if self._join_classic(member) == 0:
            self._forget_holder(holder)
            if self._is_consumer_group():
                self._sync(member)

    def classic_leaves(self) -> None:
        """By its own LeaveGroup."""
        if member := self._some_classic():
            self._leave_group([(member.member_id, member.instance_id)])

    def many_leave(self) -> None:
        """A member of either protocol, by whatever names it, with one that is not there.

        Of several Kafka removes members in the order of the hashes of all that they reported.
        """
        present: list[Any] = [*self.members, *self.classics]
        if present:
            leaving = self.chance.choice(present)
            named = (leaving.member_id, self.chance.choice([None, leaving.instance_id]))
            self._leave_group([named, ("nobody", None)])

    def classic_changes_its_protocol(self) -> None:
        """A heartbeat that joins with the id of a classic member."""
        from tests.group_histories.consumer_history import Member

        member = self._some_classic()
        if member is None or not self._is_consumer_group():
            return
        other = Member(member.member_id, member.instance_id, member.topics)
        if self._join(other) == 0:
            self.classics.remove(member)

    def consumer_becomes_classic(self) -> None:
        """JoinGroup with the member id of one of the consumer protocol."""
        member = self._some_member()
        if member is None or not self._is_consumer_group():
            return
        classic = ClassicMember(self.another_client(), member.instance_id, member.topics or sorted(self.topics))
        classic.member_id, classic.owned = member.member_id, dict(sorted(member.assigned.items()))
        if self._join_classic(classic) == 0:
            self.members.remove(member)
            self._sync(classic)

    # -- a classic group -----------------------------------------------------------------------------------------------

    def _round(self) -> None:
        """All members join, the leader assigns, all sync."""
        members = list(self.classics)
        joins = {each: self._start_join(each) for each in members}
        self.pass_time(500)
        self.clients.advance()
        for member, pending in list(joins.items()):
            if pending.is_done and not all(each.is_done for each in joins.values()):
                joins[member] = self._start_join(member)  # it was answered before another one began the rebalance
        answers = [(each, pending.result()) for each, pending in joins.items()]
        found = []
        for member, answer in answers:
            self._believe(member, answer)
            found.append((member.member_id, answer.error_code, answer.generation_id, answer.protocol_name))
        self.tell("JoinGroup of all", sorted(found))
        for member in members:
            if member.generation < 0 and member in self.classics:
                self.classics.remove(member)
        leaders = {answer.leader for _, answer in answers if answer.error_code == 0}
        at = len(self.answers)
        for member in sorted(self.classics, key=lambda each: each.member_id not in leaders):
            self._sync(member, assignments=self._assigned_by_leader() if member.member_id in leaders else [])
        self.answers[at:] = sorted(self.answers[at:])  # which of several members leads is left to a broker (ST-12)

    def _start_join(self, member: ClassicMember) -> PendingStep[Any]:
        return member.client.start(member.client.steps.request("JoinGroup", 9, **self._joining(member)))

    def _assigned_by_leader(self) -> list[dict[str, Any]]:
        """All partitions of all topics in turns."""
        ids = sorted(each.member_id for each in self.classics)
        partitions = [(name, index) for name in sorted(self.topics) for index in range(self.topics[name])]
        assigned: dict[str, Owned] = {member_id: {} for member_id in ids}
        for turn, (name, index) in enumerate(partitions):
            assigned[ids[turn % len(ids)]].setdefault(name, []).append(index)
        return [
            {"member_id": member_id, "assignment": encode_assignment(_assignment(owned))}
            for member_id, owned in assigned.items()
        ]

    def _join_for_id(self, member: ClassicMember) -> bool:
        """The first JoinGroup to a classic group, which brings a dynamic member its id; a static one has to wait."""
        if member.instance_id is not None:
            member.instance_id = None
        answer: Any = None

        def ask() -> bytes:
            nonlocal answer
            answer = member.client.request("JoinGroup", 9, **self._joining(member))
            return _uuid_of(answer.member_id)

        self.topic_ids.make(ask)
        self.tell("JoinGroup without an id", (answer.error_code, len(answer.member_id)))
        member.member_id = answer.member_id
        if answer.error_code == MEMBER_ID_REQUIRED:
            self.classics.append(member)
        return bool(answer.error_code == MEMBER_ID_REQUIRED)

    # -- how it is asked -----------------------------------------------------------------------------------------------

    def _joining(self, member: ClassicMember) -> dict[str, Any]:
        subscription = ConsumerProtocolSubscription(topics=member.topics, owned_partitions=list(member.owned.items()))
        return {
            "group_id": self.group_id, "session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS,
            "member_id": member.member_id, "group_instance_id": member.instance_id, "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": encode_subscription(subscription)}], "reason": None,
        }  # fmt: skip

    def _join_classic(self, member: ClassicMember) -> int:
        """JoinGroup to a consumer group, which is answered at once."""
        answer: Any = None

        def ask() -> bytes:
            nonlocal answer
            answer = member.client.request("JoinGroup", 9, **self._joining(member))
            return _uuid_of(answer.member_id)

        asked = f"JoinGroup {member.member_id} {member.instance_id} {member.topics} {member.owned}"
        if member.member_id:
            ask()
        else:
            self.topic_ids.make(ask)
        found = (answer.error_code, answer.member_id, answer.generation_id, answer.protocol_name, answer.leader)
        self.tell(asked, (*found, len(answer.members)))
        if answer.error_code == 0 and member not in self.classics:
            self.classics.append(member)
        self._believe(member, answer)
        return int(answer.error_code)

    def _believe(self, member: ClassicMember, answer: Any) -> None:
        member.generation = answer.generation_id
        if answer.error_code == 0:
            member.member_id = answer.member_id
        elif (
            answer.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID) and member in self.classics
        ):
            self.classics.remove(member)

    def _sync(
        self, member: ClassicMember, other: int = 0, protocol: str = "range", assignments: list[Any] | None = None
    ) -> None:
        answer = member.client.request(
            "SyncGroup", 5, group_id=self.group_id, generation_id=member.generation + other,
            member_id=member.member_id, group_instance_id=member.instance_id, protocol_type="consumer",
            protocol_name=protocol, assignments=assignments or [],
        )  # fmt: skip
        assigned = {} if answer.error_code else assigned_partitions(answer.assignment)
        found = sorted((name, sorted(indexes)) for name, indexes in assigned.items())
        self.tell(f"SyncGroup {member.member_id} {member.generation + other} {protocol}", (answer.error_code, found))
        if answer.error_code == 0:
            member.owned = dict(found)

    def _beat(self, member: ClassicMember, other: int = 0) -> int:
        answer = member.client.request(
            "Heartbeat", 4, group_id=self.group_id, generation_id=member.generation + other,
            member_id=member.member_id, group_instance_id=member.instance_id,
        )  # fmt: skip
        self.tell(f"Heartbeat of classic {member.member_id} {member.generation + other}", answer.error_code)
        if answer.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID) and not other:
            self.classics.remove(member)
        return int(answer.error_code)

    def _leave_group(self, leaving: list[tuple[str, str | None]]) -> None:
        members = [
            {"member_id": member_id, "group_instance_id": instance_id, "reason": None}
            for member_id, instance_id in leaving
        ]
        answer = self.client.request("LeaveGroup", 5, group_id=self.group_id, members=members)
        codes = [each.error_code for each in answer.members]
        self.tell(f"LeaveGroup {leaving}", (answer.error_code, codes))
        gone = {member_id for (member_id, _), code in zip(leaving, codes, strict=False) if code == 0}
        self.members = [each for each in self.members if each.member_id not in gone]
        self.classics = [each for each in self.classics if each.member_id not in gone]

    # -- what there is -------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Also what is seen of a classic group."""
        super().look()
        (group,) = self.client.request("DescribeGroups", 5, groups=[self.group_id]).groups
        members = sorted(
            (each.member_id, each.group_instance_id, _shown_assignment(each.member_assignment))
            for each in group.members
        )
        self.tell("DescribeGroups", (group.error_code, group.group_state, group.protocol_type, members))

    def claimed(self) -> list[tuple[str, int]]:
        """Of classic members, too."""
        member = self._some_classic()
        if member is None or self.chance.random() < 0.5:
            return super().claimed()
        return [(member.member_id, each) for each in (member.generation, member.generation - 1, member.generation + 1)]

    def _is_consumer_group(self) -> bool:
        """Whether JoinGroup is answered at once: the group is a consumer group with members."""
        listed = self.client.request("ListGroups", 5, states_filter=[], types_filter=["consumer"])
        return any(each.group_id == self.group_id and each.group_state != "Empty" for each in listed.groups)

    def _some_classic(self) -> ClassicMember | None:
        return self.chance.choice(self.classics) if self.classics else None

    def _forget_holder(self, holder: Any) -> None:
        holders: tuple[list[Any], ...] = (self.members, self.gone, self.classics)
        for known in holders:
            if holder in known:
                known.remove(holder)


def _assignment(owned: Owned) -> ConsumerProtocolAssignment:
    return ConsumerProtocolAssignment(assigned_partitions=list(owned.items()))


def _shown_assignment(data: bytes) -> list[tuple[str, list[int]]]:
    return sorted((name, sorted(indexes)) for name, indexes in assigned_partitions(data).items())


def _uuid_of(member_id: str) -> bytes:
    """The UUID in a member id that the coordinator made; none if it made none."""
    if len(member_id) == 22:
        return urlsafe_b64decode(member_id + "==")
    return UUID(member_id[-36:]).bytes if len(member_id) > 36 else b""
