"""Groups of the consumer protocol."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fakebroker.protocol.errors import ErrorCode
from tools.differential.chapters.chapter import Chapter, Json
from tools.differential.chapters.share_groups import group_configs
from tools.differential.pair import Asked, Exchange

MEMBERS = ("m0", "m1", "m2", "s0", "s1", "s0b")
INSTANCES = {"s0": "i0", "s1": "i1", "s0b": "i0"}
RESOLVING_MS = 150  # in which a broker finds the topics of a pattern


class ConsumerGroups(Chapter):
    """Groups of the consumer protocol (KIP-848): members that reconcile, go, come back and claim epochs.

    A member subscribes to one topic: how partitions of several are spread depends on the order of topic ids. Members s0
    and s1 are static, and s0b may take the place of s0. No member changes its instance id: Kafka never forgets the old
    one (docs/reference/found.md).
    """

    needs: ClassVar[Sequence[str]] = ("ConsumerGroupHeartbeat",)
    actions: ClassVar[Mapping[str, int]] = {
        "beat": 8, "join": 5, "leave": 2, "subscribe": 1, "commit": 2, "fetch": 1, "fetch_stale": 1, "describe": 2,
        "classic_describe": 1, "delete": 1, "classic_join": 1, "delete_offsets": 1,
    }  # fmt: skip
    partitions = 3

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.group_id = f"{self.name}-g"
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, list[Json]] = {}

    def member(self) -> str:
        """One of the members."""
        return f"{self.name}-{self.pick(MEMBERS)}"

    def join(self) -> Asked | None:
        """A member joins, or joins again."""
        name = self.pick(MEMBERS)
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "MemberId": self.pick([f"{self.name}-{name}"] * 14 + [""]),
            "MemberEpoch": 0,
            "InstanceId": INSTANCES.get(name),
            "RackId": self.mostly(None, "r"),
            "RebalanceTimeoutMs": self.pick([60_000] * 11 + [-1]),
            **self._subscription(),
            "ServerAssignor": self.mostly(None, "uniform", "range", "odd"),
            "TopicPartitions": self.pick([[]] * 7 + [None]),
        }
        return self.ask("m", "ConsumerGroupHeartbeat", request, is_plain=True)

    def _subscription(self) -> dict[str, Json]:
        first, second = (each.name for each in self.topics)
        names = self.mostly([first], [second], [f"{self.name}-none"], [])
        return {"SubscribedTopicNames": names}

    def beat(self) -> Asked | None:
        """A heartbeat, with what the member owns."""
        member = self.member()
        epoch = self.epochs.get(member, 0) + self.pick([0] * 10 + [-1, 1])
        request: dict[str, Json] = {"GroupId": self.group_id, "MemberId": member, "MemberEpoch": epoch}
        instance_id = INSTANCES.get(member.rpartition("-")[2])
        if instance_id is not None and (epoch <= 0 or self.pick([True, True, True, False])):
            request["InstanceId"] = instance_id
        if self.pick([True, True, True, False]):
            request["TopicPartitions"] = self.owned.get(member, [])
        if epoch <= 0:
            names = [self.topics[0].name]
            request |= {"RebalanceTimeoutMs": 60_000, "SubscribedTopicNames": names, "TopicPartitions": []}
        return self.ask("m", "ConsumerGroupHeartbeat", request, is_plain=True)

    def subscribe(self) -> Asked | None:
        """A member wants something else."""
        member = self.member()
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "MemberId": member,
            "MemberEpoch": self.epochs.get(member, 0),
            **self._subscription(),
            "RebalanceTimeoutMs": self.pick([-1, 60_000, 70_000]),
            "TopicPartitions": self.owned.get(member, []) if self.epochs.get(member) else [],
        }
        if self.is_rare(3):
            pattern = self.mostly(f"{self.topics[0].name}", f"{self.topics[0].name[:-1]}[a-z]", "(", "", None)
            request |= {"SubscribedTopicRegex": pattern, "SubscribedTopicNames": self.pick([None, []])}
            return self.ask("m", "ConsumerGroupHeartbeat", request, is_plain=True, then_ms=RESOLVING_MS)
        return self.ask("m", "ConsumerGroupHeartbeat", request, is_plain=True)

    def leave(self) -> Asked | None:
        """For good, or as a static member for a while."""
        name = self.pick(MEMBERS)
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "MemberId": f"{self.name}-{name}",
            "MemberEpoch": self.pick([-1, -1, -2, -2, -3]),
            "InstanceId": self.mostly(INSTANCES.get(name), None, "i0"),
        }
        return self.ask("m", "ConsumerGroupHeartbeat", request, is_plain=True)

    def commit(self) -> Asked | None:
        """A member commits."""
        member, topic = self.member(), self.topics[0]
        partition = {
            "PartitionIndex": self.pick([0, 1, 9]),
            "CommittedOffset": self.pick([1, 2, 3]),
            "CommittedMetadata": "",
        }
        request = {
            "GroupId": self.group_id,
            "MemberId": self.mostly(member, ""),
            "GenerationIdOrMemberEpoch": self.epochs.get(member, 0) + self.pick([0] * 8 + [-1, 1]),
            "Topics": [{"Name": topic.name, "TopicId": topic.topic_id, "Partitions": [partition]}],
        }
        return self.ask("m", "OffsetCommit", request)

    def fetch(self) -> Asked | None:
        """What the group has."""
        request = {"GroupId": self.group_id, "Topics": None, "Groups": [{"GroupId": self.group_id, "Topics": None}]}
        return self.ask("m", "OffsetFetch", request, least=2, is_plain=True)

    def fetch_stale(self) -> Asked | None:
        """The same by a member, with its epoch."""
        member = self.member()
        epoch = self.epochs.get(member, 0) + self.pick([0] * 6 + [-1, 1])
        groups = [{"GroupId": self.group_id, "Topics": None, "MemberId": member, "MemberEpoch": epoch}]
        return self.ask("m", "OffsetFetch", {"Groups": groups}, least=9, is_plain=True)

    def describe(self) -> Asked | None:
        """What administrators see."""
        return self.ask("m", "ConsumerGroupDescribe", {"GroupIds": [self.group_id]}, is_plain=True)

    def classic_describe(self) -> Asked | None:
        """What old tools see."""
        return self.ask("m", "DescribeGroups", {"Groups": [self.group_id]}, is_plain=True)

    def delete(self) -> Asked | None:
        """The group, if it may be."""
        return self.ask("m", "DeleteGroups", {"GroupsNames": [self.group_id]}, is_plain=True)

    def delete_offsets(self) -> Asked | None:
        """Of a topic that may be subscribed to."""
        topics = [{"Name": self.pick([each.name for each in self.topics]), "Partitions": [{"PartitionIndex": 0}]}]
        return self.ask("m", "OffsetDelete", {"GroupId": self.group_id, "Topics": topics})

    def classic_join(self) -> Asked | None:
        """A client of the old protocol with metadata that cannot be read: it is not let in."""
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "SessionTimeoutMs": 45_000,
            "RebalanceTimeoutMs": 60_000,
            "MemberId": "",
            "ProtocolType": self.mostly("connect", "consumer"),
            "Protocols": [{"Name": "range", "Metadata": {"hex": "ff"}}],
        }
        if not self.epochs:
            return None
        return self.ask("old", "JoinGroup", request, least=4, is_plain=True, can_wait=True)

    def note(self, exchange: Exchange) -> None:
        answer, request = exchange.answer, exchange.asked.request
        if exchange.asked.api != "ConsumerGroupHeartbeat" or not answer:
            return
        member = request["MemberId"]
        if answer["ErrorCode"]:
            if answer["ErrorCode"] in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
                self.epochs.pop(member, None)
            return
        self.epochs[member] = max(0, answer["MemberEpoch"])
        if answer["Assignment"] is not None:
            self.owned[member] = answer["Assignment"]["TopicPartitions"]
        if answer["MemberEpoch"] < 0:
            self.epochs.pop(member, None)
            self.owned.pop(member, None)


class ConsumerTimers(ConsumerGroups):
    """The same with sessions that end, and members that do not give up partitions in time."""

    actions: ClassVar[Mapping[str, int]] = {**ConsumerGroups.actions, "pass_session": 2}
    needs = ("ConsumerGroupHeartbeat", "IncrementalAlterConfigs")
    longest: ClassVar[int] = 30

    def first(self) -> list[Asked]:
        """Short sessions."""
        return [group_configs(self.group_id, {"consumer.session.timeout.ms": "1500"})]

    def pass_session(self) -> int:
        """Every session ends that began before."""
        return 2_400
