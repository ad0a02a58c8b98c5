"""Records of share groups: acquired, acknowledged, delivered again."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fakebroker.protocol.errors import ErrorCode
from tools.differential.chapters.chapter import Json
from tools.differential.chapters.log import Log
from tools.differential.chapters.share_groups import READY_MS, group_configs
from tools.differential.pair import Asked, Exchange

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
TYPES = (ACCEPT, RELEASE, ACCEPT, RELEASE, REJECT, GAP, RENEW, 9)
LOST_MS = 250  # in which a broker notices that a connection is gone
WAIT_MS = 200


class ShareRecords(Log):
    """Three members with connections and sessions of their own on one share partition."""

    needs = ("ShareFetch", "ShareAcknowledge", "IncrementalAlterConfigs")
    actions: ClassVar[Mapping[str, int]] = {
        "produce_some": 4, "share_fetch": 8, "acknowledge": 6, "claim": 1, "close_session": 1, "lose": 1,
        "delete_records": 1, "share_offsets": 1, "odd_fetch": 1, "forget": 1,
    }  # fmt: skip
    topic_count = 1
    partitions = 1
    configs: ClassVar[Mapping[str, str]] = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": "3"}

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.group_id = f"{self.name}-g"
        self.epochs: dict[str, int] = {}  # of sessions, by connection
        self.held: dict[str, list[int]] = {}
        self.produced = 0

    def first(self) -> list[Asked]:
        """The group's settings, a member for which the partition becomes ready, and a session that stays open."""
        joined = {
            "GroupId": self.group_id,
            "MemberId": self._member("w"),
            "MemberEpoch": 0,
            "SubscribedTopicNames": [self.topics[0].name],
        }
        fetch = {**self._session("w"), "MaxWaitMs": READY_MS, "MinBytes": 1, "Topics": self._topics([])}
        return [
            group_configs(self.group_id, self.configs),
            Asked("m", "ShareGroupHeartbeat", 1, joined, then_ms=READY_MS),
            Asked("m", "ShareGroupHeartbeat", 1, joined),
            Asked("w", "ShareFetch", 1, fetch | {"MaxRecords": 0, "BatchSize": 1}, can_wait=True, then_ms=READY_MS),
        ]

    def _member(self, connection: str) -> str:
        return f"{self.name}-{connection}"

    def client(self) -> str:
        """A connection."""
        return self.pick(["a", "b", "c"])

    def _session(self, connection: str, epoch_off: int = 0) -> dict[str, Json]:
        return {
            "GroupId": self.group_id,
            "MemberId": self._member(connection),
            "ShareSessionEpoch": self.epochs.get(connection, 0) + epoch_off,
        }

    def _topics(self, batches: list[Json]) -> list[Json]:
        partition = {"PartitionIndex": 0, "PartitionMaxBytes": 1 << 20, "AcknowledgementBatches": batches}
        return [{"TopicId": self.topics[0].topic_id, "Partitions": [partition]}]

    def produce_some(self) -> Asked | None:
        """A batch of records."""
        size = self.pick([1, 2, 3, 5, 8])
        records = {"batch": {"records": [["k", "v"]] * size, "timestamp": 1_700_000_000_000}}
        topic = self.topics[0]
        topics: list[Json] = [
            {"Name": topic.name, "TopicId": topic.topic_id, "PartitionData": [{"Index": 0, "Records": records}]}
        ]
        request: dict[str, Json] = {"Acks": -1, "TimeoutMs": 1000, "TransactionalId": None, "TopicData": topics}
        return self.ask("p", "Produce", request, least=9, is_plain=True)

    def share_fetch(self) -> Asked | None:
        """Records, with acknowledgements now and then."""
        connection = self.client()
        batches = self._batches(self.held.get(connection, [])) if self.is_rare(5) else []
        request = {
            **self._session(connection, self.pick([0] * 15 + [1])),
            "MaxWaitMs": WAIT_MS,
            "MinBytes": 1,
            "MaxBytes": self.mostly(1 << 20, 0, 100),
            "MaxRecords": self.pick([500, 1, 2, 5, 10]),
            "BatchSize": self.pick([500, 1, 2, 5]),
            "ShareAcquireMode": self.pick([0, 0, 1]),
            "IsRenewAck": self.pick([False] * 7 + [True]),
            "Topics": self._topics(batches) if self.pick([True, True, False]) or batches else [],
        }
        return self.ask(connection, "ShareFetch", request, is_plain=True)

    def odd_fetch(self) -> Asked | None:
        """Of a partition or a topic that is not there."""
        connection = self.client()
        partition = {"PartitionIndex": self.pick([7, -1, 0]), "AcknowledgementBatches": []}
        topic_id = self.pick([self.topics[0].topic_id, "00000000-0000-0000-0000-0000000000cc"])
        topics = [{"TopicId": topic_id, "Partitions": [partition]}]
        request = {**self._session(connection), "MaxWaitMs": WAIT_MS, "MaxRecords": 5, "BatchSize": 5, "Topics": topics}
        return self.ask(connection, "ShareFetch", request)

    def forget(self) -> Asked | None:
        """The session no longer has the partition."""
        connection = self.client()
        forgotten = [{"TopicId": self.topics[0].topic_id, "Partitions": [0]}]
        request = {
            **self._session(connection),
            "MaxWaitMs": WAIT_MS,
            "MaxRecords": 5,
            "BatchSize": 5,
            "Topics": [],
            "ForgottenTopicsData": forgotten,
        }
        return self.ask(connection, "ShareFetch", request, is_plain=True)

    def _batches(self, offsets: list[int]) -> list[Json]:
        """Ranges of some of the offsets, with types for all or for each."""
        batches: list[Json] = []
        left = sorted(offsets)
        for _ in range(self.pick([1, 1, 2])):
            if not left:
                break
            first = left[self.pick([0, 0, 1, 2]) % len(left)]
            last = first
            for _ in range(self.pick([0, 1, 2, 9])):
                last += last + 1 in left
            size = last - first + 1 if self.is_rare(3) else 1
            kinds = [self.pick(TYPES) for _ in range(size)]
            batches.append({"FirstOffset": first, "LastOffset": last, "AcknowledgeTypes": kinds})
            left = [offset for offset in left if offset > last]
        return batches

    def _acknowledged(self, offsets: list[int]) -> Asked | None:
        connection = self.client()
        batches = self._batches(offsets or self.held.get(connection, []))
        request = {
            **self._session(connection, self.pick([0] * 15 + [1])),
            "IsRenewAck": self.pick([False, True]),
            "Topics": self._topics(batches),
        }
        return self.ask(connection, "ShareAcknowledge", request, is_plain=True)

    def acknowledge(self) -> Asked | None:
        """A member says something of what it acquired."""
        return self._acknowledged([])

    def claim(self) -> Asked | None:
        """A member says something of any records."""
        return self._acknowledged(list(range(self.produced + 2)))

    def close_session(self) -> Asked | None:
        """A member gives everything back."""
        connection = self.client()
        request = {**self._session(connection), "ShareSessionEpoch": -1, "Topics": []}
        return self.ask(connection, "ShareAcknowledge", request, is_plain=True, then_ms=LOST_MS)

    def lose(self) -> str:
        """A connection is lost."""
        connection = self.client()
        self.epochs.pop(connection, None)
        self.held.pop(connection, None)
        return connection

    def share_offsets(self) -> Asked | None:
        """Where the group stands."""
        topics = [{"TopicName": self.topics[0].name, "Partitions": [0]}]
        groups = [{"GroupId": self.group_id, "Topics": topics}]
        return self.ask("m", "DescribeShareGroupOffsets", {"Groups": groups}, is_plain=True)

    def note(self, exchange: Exchange) -> None:
        answer, request, connection = exchange.answer, exchange.asked.request, exchange.asked.connection
        if not answer:
            return
        if exchange.asked.api == "Produce":
            (row,) = answer["Responses"][0]["PartitionResponses"]
            if not row["ErrorCode"]:
                self.produced += len(request["TopicData"][0]["PartitionData"][0]["Records"]["batch"]["records"])
        if exchange.asked.api not in ("ShareFetch", "ShareAcknowledge"):
            return
        if request["ShareSessionEpoch"] < 0 or answer["ErrorCode"] in _BROKEN:
            self.epochs.pop(connection, None)
            self.held.pop(connection, None)
        elif not answer["ErrorCode"]:
            self.epochs[connection] = request["ShareSessionEpoch"] + 1
        for topic in answer["Responses"] if exchange.asked.api == "ShareFetch" else ():
            for partition in topic["Partitions"]:
                for each in partition["AcquiredRecords"]:
                    held = self.held.setdefault(connection, [])
                    held += range(each["FirstOffset"], each["LastOffset"] + 1)


_BROKEN = frozenset({ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH})


class ShareLocks(ShareRecords):
    """The same with locks that run out."""

    actions: ClassVar[Mapping[str, int]] = {**ShareRecords.actions, "pass_lock": 2}
    configs: ClassVar[Mapping[str, str]] = {**ShareRecords.configs, "share.record.lock.duration.ms": "1000"}
    longest: ClassVar[int] = 24

    def pass_lock(self) -> int:
        """Every lock ends that began before."""
        return 1_800
