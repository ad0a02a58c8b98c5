"""Share groups: their members, and their offsets."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fakebroker.protocol.errors import ErrorCode
from tools.differential.chapters.chapter import Chapter, Json
from tools.differential.pair import Asked, Exchange

READY_MS = 700  # in which the first partitions of a group become ready


class ShareGroups(Chapter):
    """Members that come, go and claim epochs; offsets that are described, altered and deleted.

    Topics have one partition: which of several a member gets depends on the hash of the topic's id. A partition becomes
    ready some time after the first member subscribes, so a witness does that first.
    """

    needs: ClassVar[Sequence[str]] = ("ShareGroupHeartbeat", "IncrementalAlterConfigs")
    actions: ClassVar[Mapping[str, int]] = {
        "beat": 7, "join": 5, "leave": 2, "subscribe": 1, "describe": 2, "classic_describe": 1, "offsets": 2,
        "alter_offsets": 2, "delete_offsets": 1, "delete": 1, "commit": 1, "witness_leaves": 1, "witness_joins": 1,
    }  # fmt: skip
    partitions = 1
    session_ms: ClassVar[str] = ""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.group_id = f"{self.name}-g"
        self.epochs: dict[str, int] = {}

    def first(self) -> list[Asked]:
        """Settings of the group, and a member whose topic becomes ready."""
        configs = {"share.auto.offset.reset": "earliest"}
        if self.session_ms:
            configs |= {"share.session.timeout.ms": self.session_ms}
        return [group_configs(self.group_id, configs), self._joined("w", READY_MS), self._joined("w", 0)]

    def _joined(self, member: str, then_ms: int) -> Asked:
        request = {
            "GroupId": self.group_id,
            "MemberId": f"{self.name}-{member}",
            "MemberEpoch": 0,
            "SubscribedTopicNames": [self.topics[0].name],
        }
        return Asked("m", "ShareGroupHeartbeat", 1, request, then_ms=then_ms)

    def member(self) -> str:
        """One of three members, or the witness."""
        return f"{self.name}-{self.pick(['m0', 'm1', 'm2', 'm0', 'm1', 'm2', 'w'])}"

    def join(self) -> Asked | None:
        """A member joins, or joins again."""
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "MemberId": self.pick([self.member()] * 15 + [""]),
            "MemberEpoch": 0,
            "RackId": self.mostly(None, "r"),
            "SubscribedTopicNames": self.mostly([self.topics[0].name], [f"{self.name}-none"], [], None),
        }
        return self.ask("m", "ShareGroupHeartbeat", request, is_plain=True)

    def beat(self) -> Asked | None:
        """A heartbeat."""
        member = self.member()
        epoch = self.epochs.get(member, 0) + self.pick([0] * 10 + [-1, 1])
        request: dict[str, Json] = {"GroupId": self.group_id, "MemberId": member, "MemberEpoch": epoch}
        if epoch <= 0:
            request["SubscribedTopicNames"] = [self.topics[0].name]
        return self.ask("m", "ShareGroupHeartbeat", request)

    def subscribe(self) -> Asked | None:
        """A member wants something else."""
        member = self.member()
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "MemberId": member,
            "MemberEpoch": self.epochs.get(member, 0),
            "SubscribedTopicNames": self.pick([[self.topics[0].name], [f"{self.name}-none"], []]),
        }
        return self.ask("m", "ShareGroupHeartbeat", request, is_plain=True)

    def leave(self) -> Asked | None:
        """For good."""
        request = {"GroupId": self.group_id, "MemberId": self.member(), "MemberEpoch": self.pick([-1, -1, -1, -2])}
        return self.ask("m", "ShareGroupHeartbeat", request, is_plain=True)

    def witness_leaves(self) -> Asked | None:
        """So that the group may be empty."""
        request = {"GroupId": self.group_id, "MemberId": f"{self.name}-w", "MemberEpoch": -1}
        return self.ask("m", "ShareGroupHeartbeat", request, is_plain=True)

    def witness_joins(self) -> Asked:
        """And comes back; the group may be a new one."""
        return self._joined("w", READY_MS)

    def describe(self) -> Asked | None:
        """What administrators see."""
        return self.ask("m", "ShareGroupDescribe", {"GroupIds": [self.group_id]}, is_plain=True)

    def classic_describe(self) -> Asked | None:
        """What old tools see."""
        return self.ask("m", "DescribeGroups", {"Groups": [self.group_id]}, is_plain=True)

    def some_topics(self) -> list[Json] | None:
        """Topics with partitions to describe; Kafka takes 30 seconds for a partition that is not there."""
        first, second = (each.name for each in self.topics)
        return self.mostly(
            [{"TopicName": first, "Partitions": [0]}],
            None,
            [{"TopicName": second, "Partitions": [0]}],
            [{"TopicName": f"{self.name}-none", "Partitions": [0]}],
        )

    def offsets(self) -> Asked | None:
        """Where the group stands."""
        groups = [{"GroupId": self.group_id, "Topics": self.some_topics()}]
        return self.ask("m", "DescribeShareGroupOffsets", {"Groups": groups}, is_plain=True)

    def alter_offsets(self) -> Asked | None:
        """Where the group shall stand."""
        first, second = (each.name for each in self.topics)
        rows = [
            {"PartitionIndex": self.mostly(0, 9), "StartOffset": self.pick([0, 1, 5, -1])}
            for _ in range(self.mostly(1, 2))
        ]
        topics = [{"TopicName": self.mostly(first, second, f"{self.name}-none"), "Partitions": rows}]
        request = {"GroupId": self.group_id, "Topics": topics}
        return self.ask("m", "AlterShareGroupOffsets", request, is_plain=True, then_ms=50)

    def delete_offsets(self) -> Asked | None:
        """Of a topic."""
        first, second = (each.name for each in self.topics)
        topics = [{"TopicName": self.mostly(first, second, f"{self.name}-none")}]
        request = {"GroupId": self.group_id, "Topics": topics}
        return self.ask("m", "DeleteShareGroupOffsets", request, is_plain=True, then_ms=50)

    def delete(self) -> Asked | None:
        """The group, if it may be."""
        return self.ask("m", "DeleteGroups", {"GroupsNames": [self.group_id]}, is_plain=True)

    def commit(self) -> Asked | None:
        """As if it were another kind of group."""
        partition = {"PartitionIndex": 0, "CommittedOffset": 1, "CommittedMetadata": ""}
        topic = self.topics[0]
        topics = [{"Name": topic.name, "TopicId": topic.topic_id, "Partitions": [partition]}]
        request = {"GroupId": self.group_id, "GenerationIdOrMemberEpoch": self.pick([-1, 1]), "Topics": topics}
        return self.ask("m", "OffsetCommit", request, is_plain=True)

    def note(self, exchange: Exchange) -> None:
        answer, request = exchange.answer, exchange.asked.request
        if exchange.asked.api != "ShareGroupHeartbeat" or not answer:
            return
        if not answer["ErrorCode"]:
            self.epochs[request["MemberId"]] = max(0, answer["MemberEpoch"])
        elif answer["ErrorCode"] in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            self.epochs.pop(request["MemberId"], None)


class ShareTimers(ShareGroups):
    """The same with sessions that end."""

    actions: ClassVar[Mapping[str, int]] = {**ShareGroups.actions, "pass_session": 2}
    session_ms = "1500"
    longest: ClassVar[int] = 30

    def pass_session(self) -> int:
        """Every session ends that began before."""
        return 2_400


def group_configs(group_id: str, configs: Mapping[str, str]) -> Asked:
    """Set configs of a group; the coordinator hears of them a moment later."""
    rows = [{"Name": name, "ConfigOperation": 0, "Value": value} for name, value in configs.items()]
    resource = {"ResourceType": 32, "ResourceName": group_id, "Configs": rows}
    return Asked("m", "IncrementalAlterConfigs", 1, {"Resources": [resource], "ValidateOnly": False}, then_ms=400)
