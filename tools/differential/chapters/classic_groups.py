"""Classic groups."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from tools.differential.chapters.chapter import Chapter, Json
from tools.differential.pair import Asked, Exchange


class ClassicGroups(Chapter):
    """Classic groups of at most two members: which of three or more leads next is for Kafka to choose (ST-12)."""

    needs = ("JoinGroup", "SyncGroup")
    actions: ClassVar[Mapping[str, int]] = {
        "join": 5, "sync": 3, "settle": 2, "heartbeat": 2, "leave": 1, "leave_batch": 1, "commit": 1, "fetch": 1,
        "describe": 2, "delete": 1, "close": 1,
    }  # fmt: skip
    session_ms: ClassVar[int] = 45_000
    rebalance_ms: ClassVar[int] = 60_000
    instances: ClassVar[bool] = False  # whether members are static

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.group_id = f"{self.name}-g"
        self.members: dict[str, tuple[str, int]] = {}  # connection -> member id, generation
        self.listed: dict[str, list[str]] = {}  # connection of a leader -> members

    def client(self) -> str:
        """The connection of a member."""
        return self.pick(["a", "b"])

    def instance(self, connection: str) -> str | None:
        """The instance id of its member."""
        return self.mostly(f"i{connection}", "ia", "ib", None) if self.instances else self.pick([None] * 15 + ["i"])

    def of(self, connection: str) -> tuple[str, int]:
        """Member id and generation, rarely those of another, or wrong ones."""
        member_id, generation = self.members.get(connection, ("", -1))
        other_id, _ = self.members.get("b" if connection == "a" else "a", ("", -1))
        return self.mostly(
            (member_id, generation),
            (member_id, generation - 1),
            ("unknown", generation),
            ("", generation),
            (other_id, generation),
        )

    def join(self) -> Asked | None:
        """A member joins, or joins again.

        It names no protocol twice: Kafka would never answer (docs/reference/found.md).
        """
        connection = self.client()
        names = self.mostly(["range"], ["range", "sticky"], ["sticky", "range"], ["sticky"], [])
        metadata = encode_subscription(ConsumerProtocolSubscription(topics=[self.topics[0].name]))
        member_id = self.mostly(self.members.get(connection, ("", 0))[0], "", "unknown")
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "SessionTimeoutMs": self.pick([self.session_ms] * 20 + [0, -1, 10**8]),
            "RebalanceTimeoutMs": self.rebalance_ms,
            "MemberId": member_id,
            "GroupInstanceId": self.instance(connection),
            "ProtocolType": self.pick(["consumer"] * 18 + ["connect", ""]),
            "Protocols": [{"Name": name, "Metadata": {"hex": metadata.hex()}} for name in names],
        }
        return self.ask(connection, "JoinGroup", request, least=1, is_plain=True, can_wait=True)

    def sync(self) -> Asked | None:
        """A member asks for its share; a leader gives the shares."""
        return self._sync(self.client())

    def settle(self) -> Asked | None:
        """The leader gives the shares."""
        return self._sync(next((each for each in self.listed if self.listed[each]), self.client()))

    def _sync(self, connection: str) -> Asked | None:
        member_id, generation = self.of(connection)
        given = [
            {"MemberId": each, "Assignment": {"hex": f"{index:02x}"}}
            for index, each in enumerate(self.listed.get(connection, []))
        ]
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "GenerationId": generation,
            "MemberId": member_id,
            "GroupInstanceId": self.instance(connection),
            "ProtocolType": self.mostly("consumer", None, "connect"),
            "ProtocolName": self.mostly("range", None, "sticky"),
            "Assignments": self.mostly(given, []),
        }
        return self.ask(connection, "SyncGroup", request, is_plain=True, can_wait=True)

    def heartbeat(self) -> Asked | None:
        """A member is alive."""
        connection = self.client()
        member_id, generation = self.of(connection)
        request = {"GroupId": self.group_id, "GenerationId": generation, "MemberId": member_id}
        return self.ask(connection, "Heartbeat", request | {"GroupInstanceId": self.instance(connection)})

    def leave(self) -> Asked | None:
        """A member leaves."""
        connection = self.client()
        return self.ask(
            connection, "LeaveGroup", {"GroupId": self.group_id, "MemberId": self.of(connection)[0]}, most=2
        )

    def leave_batch(self) -> Asked | None:
        """Members leave, by their ids or instance ids."""
        members: list[dict[str, Json]] = []
        for _ in range(self.mostly(1, 2, 0)):
            connection = self.client()
            members.append(
                {"MemberId": self.of(connection)[0], "GroupInstanceId": self.instance(connection), "Reason": "bye"}
            )
        return self.ask("admin", "LeaveGroup", {"GroupId": self.group_id, "Members": members}, least=3)

    def commit(self) -> Asked | None:
        """A member commits."""
        connection = self.client()
        member_id, generation = self.of(connection)
        partition = {"PartitionIndex": 0, "CommittedOffset": self.pick([1, 2, 3]), "CommittedMetadata": ""}
        topic = self.topics[0]
        request = {
            "GroupId": self.group_id,
            "GenerationIdOrMemberEpoch": generation,
            "MemberId": member_id,
            "GroupInstanceId": self.instance(connection),
            "Topics": [{"Name": topic.name, "TopicId": topic.topic_id, "Partitions": [partition]}],
        }
        return self.ask(connection, "OffsetCommit", request, least=1)

    def fetch(self) -> Asked | None:
        """What the group has committed."""
        request = {"GroupId": self.group_id, "Topics": None, "Groups": [{"GroupId": self.group_id, "Topics": None}]}
        return self.ask("admin", "OffsetFetch", request, least=2, is_plain=True)

    def describe(self) -> Asked | None:
        """What administrators see."""
        return self.ask("admin", "DescribeGroups", {"Groups": [self.group_id]}, is_plain=True)

    def delete(self) -> Asked | None:
        """The group, if it may be."""
        return self.ask("admin", "DeleteGroups", {"GroupsNames": [self.group_id]}, is_plain=True)

    def close(self) -> str:
        """A member's connection is lost."""
        return self.client()

    def note(self, exchange: Exchange) -> None:
        answer, connection = exchange.answer, exchange.asked.connection
        if exchange.asked.api == "JoinGroup" and answer and answer["ErrorCode"] in (0, ErrorCode.MEMBER_ID_REQUIRED):
            self.members[connection] = answer["MemberId"], answer["GenerationId"]
            self.listed[connection] = [each["MemberId"] for each in answer["Members"]]


class StaticMembers(ClassicGroups):
    """The same with instance ids: members that come back, replace each other and are fenced."""

    instances = True


class ClassicTimers(ClassicGroups):
    """The same with short timeouts that run out: members that are silent, late, or never join again."""

    actions: ClassVar[Mapping[str, int]] = {**ClassicGroups.actions, "pass_session": 3, "pass_half": 1}
    session_ms = rebalance_ms = 1_500
    longest: ClassVar[int] = 30

    def pass_session(self) -> int:
        """Every session and rebalance ends that began before."""
        return self.session_ms + 900

    def instance(self, connection: str) -> str | None:
        """Static members in a third of the histories' joins."""
        return self.pick([None, None, f"i{connection}"])

    def pass_half(self) -> int:
        """Too short for any timer."""
        return self.session_ms // 5
