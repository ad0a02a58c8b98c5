"""Streams groups."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fakebroker.protocol.errors import ErrorCode
from tools.differential.chapters.chapter import Chapter, Json
from tools.differential.chapters.share_groups import group_configs
from tools.differential.pair import Asked, Exchange

Tasks = list[Json]

MAKING_MS = 700  # in which internal topics are made


class StreamsGroups(Chapter):
    """Members of two processes with tasks of one or two subtopologies, without internal topics to be made.

    Topologies that need changelogs are asked for, too: those groups are not ready until their topics are made.
    """

    needs: ClassVar[Sequence[str]] = ("StreamsGroupHeartbeat",)
    actions: ClassVar[Mapping[str, int]] = {
        "beat": 8, "join": 6, "leave": 2, "change": 1, "describe": 2, "classic_describe": 1, "commit": 2, "fetch": 1,
        "delete": 1, "shut_down": 1,
    }  # fmt: skip
    partitions = 3
    session_ms: ClassVar[str] = ""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.group_id = f"{self.name}-g"
        self.epochs: dict[str, int] = {}
        self.endpoint_epochs: dict[str, int] = {}
        self.owned: dict[str, dict[str, Tasks]] = {}

    def first(self) -> list[Asked]:
        """Sessions, where they are to end."""
        if not self.session_ms:
            return []
        return [group_configs(self.group_id, {"streams.session.timeout.ms": self.session_ms})]

    def member(self) -> str:
        """One of three members."""
        return f"{self.name}-m{self.pick([0, 1, 2])}"

    def _topology(self) -> Json:
        first, second = (each.name for each in self.topics)
        one, other = _subtopology("s0", [first]), _subtopology("s1", [second])
        missing, odd = _subtopology("s0", [f"{self.name}-none"]), _subtopology("s0", [])
        stored = _subtopology("s0", [first])
        stored["StateChangelogTopics"] = [
            {"Name": f"{self.name}-changelog", "Partitions": 0, "ReplicationFactor": 0, "TopicConfigs": []}
        ]
        parts = self.pick([[one]] * 10 + [[one, other]] * 2 + [[missing], [odd], [stored], []])
        return {"Epoch": self.pick([0] * 15 + [1]), "Subtopologies": parts}

    def join(self) -> Asked | None:
        """A member joins, or joins again."""
        number = self.pick([0, 1, 2])
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "MemberId": f"{self.name}-m{number}",
            "MemberEpoch": 0,
            "EndpointInformationEpoch": 0,
            "InstanceId": self.pick([None] * 15 + ["i"]),
            "RackId": self.mostly(None, "r"),
            "RebalanceTimeoutMs": self.pick([60_000] * 11 + [-1]),
            "Topology": self._topology(),
            "ActiveTasks": [],
            "StandbyTasks": [],
            "WarmupTasks": [],
            "ProcessId": self.pick([f"p{number % 2}", "p0", "p1"]),
            "UserEndpoint": self.mostly(None, {"Host": "h", "Port": 80 + number}),
            "ClientTags": self.mostly([], [{"Key": "zone", "Value": "a"}]),
        }
        return self._with_topology(request)

    def _with_topology(self, request: dict[str, Json]) -> Asked | None:
        parts = (request.get("Topology") or {}).get("Subtopologies", ())
        then_ms = MAKING_MS if any(each["StateChangelogTopics"] for each in parts) else 0
        return self.ask("m", "StreamsGroupHeartbeat", request, is_plain=True, then_ms=then_ms)

    def beat(self) -> Asked | None:
        """A heartbeat, mostly with the tasks that the member has."""
        member = self.member()
        epoch = self.epochs.get(member, 0) + self.pick([0] * 10 + [-1, 1])
        if epoch <= 0:
            return None
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "MemberId": member,
            "MemberEpoch": epoch,
            "EndpointInformationEpoch": self.endpoint_epochs.get(member, 0),
        }
        if self.pick([True, True, True, False]):
            request |= self.owned.get(member, _NO_TASKS)
        return self.ask("m", "StreamsGroupHeartbeat", request, is_plain=True)

    def change(self) -> Asked | None:
        """A member says something else of itself."""
        member = self.member()
        fields: Json = self.pick(
            [
                {"RackId": "r2"},
                {"ClientTags": [{"Key": "zone", "Value": "b"}]},
                {"RebalanceTimeoutMs": 70_000},
                {"ProcessId": "p1"},
                {"UserEndpoint": {"Host": "h", "Port": 99}},
                {"ActiveTasks": [{"SubtopologyId": "s0", "Partitions": [0, 9]}]},
                {"Topology": self._topology()},
            ]
        )
        epoch = self.epochs.get(member, 0)
        if epoch <= 0:
            return None
        request: dict[str, Json] = {"GroupId": self.group_id, "MemberId": member, "MemberEpoch": epoch, **fields}
        return self._with_topology(request)

    def leave(self) -> Asked | None:
        """For good."""
        request = {"GroupId": self.group_id, "MemberId": self.member(), "MemberEpoch": self.pick([-1, -1, -1, -2, -3])}
        return self.ask("m", "StreamsGroupHeartbeat", request, is_plain=True)

    def shut_down(self) -> Asked | None:
        """A member wants the application to end."""
        member = self.member()
        epoch = self.epochs.get(member, 0)
        if epoch <= 0:
            return None
        request = {"GroupId": self.group_id, "MemberId": member, "MemberEpoch": epoch, "ShutdownApplication": True}
        return self.ask("m", "StreamsGroupHeartbeat", request, is_plain=True)

    def describe(self) -> Asked | None:
        """What administrators see."""
        return self.ask("m", "StreamsGroupDescribe", {"GroupIds": [self.group_id]}, is_plain=True)

    def classic_describe(self) -> Asked | None:
        """What old tools see."""
        return self.ask("m", "DescribeGroups", {"Groups": [self.group_id]}, is_plain=True)

    def commit(self) -> Asked | None:
        """A member commits."""
        member, topic = self.member(), self.topics[0]
        partition = {"PartitionIndex": 0, "CommittedOffset": self.pick([1, 2]), "CommittedMetadata": ""}
        request = {
            "GroupId": self.group_id,
            "MemberId": self.mostly(member, ""),
            "GenerationIdOrMemberEpoch": self.epochs.get(member, 0) + self.pick([0] * 8 + [-1, 1]),
            "Topics": [{"Name": topic.name, "TopicId": topic.topic_id, "Partitions": [partition]}],
        }
        return self.ask("m", "OffsetCommit", request, is_plain=True)

    def fetch(self) -> Asked | None:
        """What the group has."""
        request = {"GroupId": self.group_id, "Topics": None, "Groups": [{"GroupId": self.group_id, "Topics": None}]}
        return self.ask("m", "OffsetFetch", request, least=2, is_plain=True)

    def delete(self) -> Asked | None:
        """The group, if it may be."""
        return self.ask("m", "DeleteGroups", {"GroupsNames": [self.group_id]}, is_plain=True)

    def note(self, exchange: Exchange) -> None:
        answer, request = exchange.answer, exchange.asked.request
        if exchange.asked.api != "StreamsGroupHeartbeat" or not answer:
            return
        member = request["MemberId"]
        if answer["ErrorCode"]:
            if answer["ErrorCode"] in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
                self.epochs.pop(member, None)
            return
        self.epochs[member] = max(0, answer["MemberEpoch"])
        self.endpoint_epochs[member] = answer["EndpointInformationEpoch"]
        if answer["ActiveTasks"] is not None:
            self.owned[member] = {kind: answer[kind] for kind in _NO_TASKS}


_NO_TASKS: Mapping[str, Tasks] = {"ActiveTasks": [], "StandbyTasks": [], "WarmupTasks": []}


class StreamsTimers(StreamsGroups):
    """The same with sessions that end."""

    actions: ClassVar[Mapping[str, int]] = {**StreamsGroups.actions, "pass_session": 2}
    needs = ("StreamsGroupHeartbeat", "IncrementalAlterConfigs")
    session_ms = "1500"
    longest: ClassVar[int] = 30

    def pass_session(self) -> int:
        """Every session ends that began before."""
        return 2_400


def _subtopology(name: str, sources: list[str]) -> dict[str, Json]:
    empty = (
        "SourceTopicRegex", "StateChangelogTopics", "RepartitionSinkTopics", "RepartitionSourceTopics",
        "CopartitionGroups",
    )  # fmt: skip
    return {"SubtopologyId": name, "SourceTopics": sources, **{each: [] for each in empty}}
