"""What histories are made of: each chapter reads small numbers as requests, with what was answered before.

A choice is one of three numbers from 0 to 7; which member, version, partition or odd value it stands for depends on the
request. Numbers near 0 are the plain cases, so that hypothesis shrinks towards them.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.consumer_protocol import ConsumerProtocolSubscription, encode_subscription
from tools.differential.mutation import mutated
from tools.differential.pair import Asked, Exchange

Json = Any
T = TypeVar("T")
Action = tuple[str, int, int, int]

SESSION_MS, REBALANCE_MS = 2_000, 2_000
PAST_TIMERS_MS = 3_200  # every session and rebalance that began before is over then
BASE_MS = 1_700_000_000_000
ODD_VALUES = 2  # of eight choices, so many are odd


def pick(values: Sequence[T], number: int) -> T:
    """The value that a number stands for."""
    return values[number % len(values)]


class Chapter:
    """One history's state. `name` makes its groups and ids its own; `topics` have two partitions on both brokers.

    `actions` are the names of methods, repeated as often as they shall come. `versions` are those that both brokers
    serve, by API.
    """

    actions: ClassVar[Sequence[str]]
    own_topics: ClassVar[bool] = False  # each history has a topic of its own
    needs: ClassVar[Sequence[str]] = ()  # APIs without which the chapter is not played

    def __init__(self, name: str, topics: Sequence[str], topic_ids: Sequence[Json], versions: dict[str, range]) -> None:
        self.name = name
        self.topics = topics
        self.topic_ids = topic_ids
        self.versions = versions

    def read(self, action: Action) -> Asked | int | str | None:
        """What an action is: a request, milliseconds to wait, a connection to close, or nothing now."""
        name, *numbers = action
        make: Callable[[int, int, int], Asked | int | str | None] = getattr(self, name)
        return make(*numbers)

    def note(self, exchange: Exchange) -> None:
        """Take in what the reference answered."""

    def ask(self, connection: str, api: str, number: int, request: dict[str, Json], **options: Any) -> Asked | None:
        """A request in one of the versions that both brokers serve; None if there is none.

        `least` and `most` bound the version; with an odd `number` of `mutation` a field has another value.
        """
        least, most = options.pop("least", 0), options.pop("most", 99)
        mutation = options.pop("mutation", 0)
        served = [version for version in self.versions.get(api, ()) if least <= version <= most]
        if not served:
            return None
        if mutation >= 8 - ODD_VALUES:
            request = mutated(request, number * 8 + mutation)
        return Asked(connection, api, served[-1 - number % len(served)], request, **options)

    def wait(self, a: int, b: int, c: int) -> int | None:
        """Rarely, let every timer pass."""
        return PAST_TIMERS_MS if a == b == c == 7 else None


class Offsets(Chapter):
    """Offsets that clients commit without being members: commits, fetches, deletions, odd partitions and metadata."""

    needs = ("OffsetCommit", "OffsetFetch")
    actions: ClassVar[Sequence[str]] = (
        "commit",
        "commit",
        "fetch",
        "fetch",
        "fetch_all",
        "delete_offsets",
        "delete_group",
        "describe",
        "find",
    )

    def group(self, number: int) -> str:
        return pick([f"{self.name}-g", f"{self.name}-g", f"{self.name}-h", f"{self.name}-h", "", "g" * 300], number)

    def topic(self, number: int) -> str:
        return pick([*self.topics[:2], self.topics[0], self.topics[0], f"{self.name}-none", ""], number)

    def commit(self, a: int, b: int, c: int) -> Asked | None:
        partitions = [
            {
                "PartitionIndex": index,
                "CommittedOffset": offset,
                "CommittedMetadata": pick(["", "m", None, "x" * 4097], c),
            }
            for index, offset in [[(0, b)], [(1, b * 7)], [(0, b), (1, c)], [(2, 5)], [(0, 1), (0, 2)], [(-1, 3)]][
                b % 6
            ]
        ]
        request = {"GroupId": self.group(a), "Topics": [{"Name": self.topic(c), "Partitions": partitions}]}
        return self.ask("c", "OffsetCommit", b + c, request, least=2, most=9, mutation=a)

    def fetch(self, a: int, b: int, c: int) -> Asked | None:
        topics = [{"Name": self.topic(b), "PartitionIndexes": pick([[0], [0, 1], [1, 5], [], [0, 0]], c)}]
        if a % 2:
            group = {"GroupId": self.group(a), "Topics": topics}
            return self.ask("c", "OffsetFetch", b, {"Groups": [group]}, least=8, most=9, mutation=c)
        return self.ask("c", "OffsetFetch", b, {"GroupId": self.group(a), "Topics": topics}, most=7, mutation=c)

    def fetch_all(self, a: int, b: int, c: int) -> Asked | None:
        if a % 2:
            groups = [{"GroupId": self.group(number), "Topics": None} for number in (b, c)]
            return self.ask("c", "OffsetFetch", c, {"Groups": groups}, least=8, most=9)
        return self.ask("c", "OffsetFetch", c, {"GroupId": self.group(b), "Topics": None}, least=2, most=7)

    def delete_offsets(self, a: int, b: int, c: int) -> Asked | None:
        topics = [
            {"Name": self.topic(b), "Partitions": [{"PartitionIndex": index} for index in pick([[0], [0, 1], [7]], c)]}
        ]
        return self.ask("c", "OffsetDelete", 0, {"GroupId": self.group(a), "Topics": topics}, mutation=c)

    def delete_group(self, a: int, b: int, c: int) -> Asked | None:
        return self.ask("c", "DeleteGroups", b, {"GroupsNames": [self.group(a), *([self.group(c)] if b % 2 else [])]})

    def describe(self, a: int, b: int, c: int) -> Asked | None:
        request: dict[str, Json] = {"Groups": [self.group(a), *([self.group(c)] if b % 2 else [])]}
        return self.ask("c", "DescribeGroups", b, request)

    def find(self, a: int, b: int, c: int) -> Asked | None:
        if a % 2:
            request: dict[str, Json] = {
                "CoordinatorKeys": [self.group(b), self.group(c)],
                "KeyType": pick([0, 0, 1, 2, 7], a),
            }
            return self.ask("c", "FindCoordinator", b, request, least=4)
        return self.ask("c", "FindCoordinator", b, {"Key": self.group(b)}, most=3, mutation=c)


class ClassicGroups(Chapter):
    """Classic groups of at most two members: which of three or more leads next is for Kafka to choose (ST-12)."""

    needs = ("JoinGroup", "SyncGroup")
    actions: ClassVar[Sequence[str]] = (
        "join", "join", "join", "sync", "sync", "heartbeat", "leave", "commit", "fetch", "describe", "delete", "close",
        "wait", "settle",
    )  # fmt: skip

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.group_id = f"{self.name}-g"
        self.members: dict[str, tuple[str, int]] = {}  # connection -> member id, generation
        self.protocol: dict[str, str] = {}
        self.listed: dict[str, list[str]] = {}  # connection of a leader -> members

    def client(self, number: int) -> str:
        return pick(["a", "b"], number)

    def of(self, connection: str, number: int) -> tuple[str, int]:
        """Member id and generation, now and then those of another, or wrong ones."""
        member_id, generation = self.members.get(connection, ("", -1))
        return pick(
            [(member_id, generation)] * 5 + [(member_id, generation - 1), ("unknown", generation), ("", generation)],
            number,
        )

    def join(self, a: int, b: int, c: int) -> Asked | None:
        connection = self.client(a)
        names = pick([["range"], ["range"], ["range", "sticky"], ["sticky", "range"], ["sticky"], []], b)
        metadata = encode_subscription(ConsumerProtocolSubscription(topics=[self.topics[0]]))
        member_id = pick([self.members.get(connection, ("", 0))[0]] * 6 + ["", "unknown"], c)
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "SessionTimeoutMs": SESSION_MS,
            "RebalanceTimeoutMs": REBALANCE_MS,
            "MemberId": member_id,
            "ProtocolType": "consumer",
            "Protocols": [{"Name": name, "Metadata": {"hex": metadata.hex()}} for name in names],
        }
        return self.ask(connection, "JoinGroup", a // 2, request, least=1, mutation=b, can_wait=True)

    def sync(self, a: int, b: int, c: int) -> Asked | None:
        connection = self.client(a)
        member_id, generation = self.of(connection, b)
        given = [
            {"MemberId": each, "Assignment": {"hex": f"{index:02x}"}}
            for index, each in enumerate(self.listed.get(connection, []))
        ]
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "GenerationId": generation,
            "MemberId": member_id,
            "Assignments": given if c < 6 else [],
        }
        return self.ask(connection, "SyncGroup", c, request, most=4, mutation=0, can_wait=True)

    def heartbeat(self, a: int, b: int, c: int) -> Asked | None:
        connection = self.client(a)
        member_id, generation = self.of(connection, b)
        request = {"GroupId": self.group_id, "GenerationId": generation, "MemberId": member_id}
        return self.ask(connection, "Heartbeat", c, request, mutation=c)

    def leave(self, a: int, b: int, c: int) -> Asked | None:
        connection = self.client(a)
        member_id, _ = self.of(connection, b)
        if c % 2:
            request: dict[str, Json] = {"GroupId": self.group_id, "Members": [{"MemberId": member_id}]}
            return self.ask(connection, "LeaveGroup", c, request, least=3, mutation=c)
        return self.ask(connection, "LeaveGroup", c, {"GroupId": self.group_id, "MemberId": member_id}, most=2)

    def commit(self, a: int, b: int, c: int) -> Asked | None:
        connection = self.client(a)
        member_id, generation = self.of(connection, b)
        partition = {"PartitionIndex": 0, "CommittedOffset": c, "CommittedMetadata": ""}
        request = {
            "GroupId": self.group_id,
            "GenerationIdOrMemberEpoch": generation,
            "MemberId": member_id,
            "Topics": [{"Name": self.topics[0], "Partitions": [partition]}],
        }
        return self.ask(connection, "OffsetCommit", c, request, least=2, most=9)

    def fetch(self, a: int, b: int, c: int) -> Asked | None:
        return self.ask("admin", "OffsetFetch", c, {"GroupId": self.group_id, "Topics": None}, least=2, most=7)

    def describe(self, a: int, b: int, c: int) -> Asked | None:
        return self.ask("admin", "DescribeGroups", c, {"Groups": [self.group_id]})

    def delete(self, a: int, b: int, c: int) -> Asked | None:
        return self.ask("admin", "DeleteGroups", c, {"GroupsNames": [self.group_id]}) if a > 4 else None

    def close(self, a: int, b: int, c: int) -> str | None:
        return self.client(a) if b == 7 else None

    def settle(self, a: int, b: int, c: int) -> Asked | None:
        """Whoever leads gives the others their share."""
        leader = next((each for each in self.listed if self.listed[each]), self.client(a))
        return self.sync("ab".index(leader), 0, c % 6)

    def note(self, exchange: Exchange) -> None:
        answer, connection = exchange.answer, exchange.asked.connection
        if exchange.asked.api == "JoinGroup" and answer and answer["ErrorCode"] in (0, ErrorCode.MEMBER_ID_REQUIRED):
            self.members[connection] = answer["MemberId"], answer["GenerationId"]
            self.listed[connection] = [each["MemberId"] for each in answer["Members"]]


class Log(Chapter):
    """Records: produced plain, idempotent and wrong; fetched; searched by offset and by time; deleted."""

    needs = ("Produce", "Fetch", "ListOffsets")
    actions: ClassVar[Sequence[str]] = (
        "produce", "produce", "produce", "produce_idempotent", "fetch", "fetch", "list_offsets", "list_offsets",
        "delete_records", "epoch_end",
    )  # fmt: skip
    own_topics = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.producer = (-1, -1)
        self.sequence = [0, 0]
        self.clock = 0

    def topic(self, number: int) -> str:
        return pick([self.topics[0]] * 7 + [f"{self.name}-none"], number)

    def produce(self, a: int, b: int, c: int) -> Asked | None:
        self.clock += pick([0, 5, 100, -50, 1, 2, 3, 7], a)
        batch: dict[str, Json] = {
            "records": [[f"k{n}", "v" * (n + b), n * (c % 3)] for n in range(1 + b % 4)],
            "timestamp": BASE_MS + self.clock,
        }
        odd = [
            {}, {}, {}, {}, {"crc": 1}, {"count": 9}, {"last_offset_delta": 7}, {"attributes": 8},
        ][c]  # fmt: skip
        return self._produce("p", a, b, {"batch": {**batch, **odd}})

    def _produce(self, connection: str, a: int, b: int, records: Json) -> Asked | None:
        partition: dict[str, Json] = {"Index": pick([0, 0, 0, 1, 1, 0, 0, 9], b), "Records": records}
        request: dict[str, Json] = {
            "Acks": pick([-1, -1, 1, -1, -1, 1, 2, -1], a),
            "TimeoutMs": 1000,
            "TopicData": [{"Name": self.topic(a), "PartitionData": [partition]}],
        }
        return self.ask(connection, "Produce", a, request, least=3, most=12)

    def produce_idempotent(self, a: int, b: int, c: int) -> Asked | None:
        if self.producer[0] < 0:
            return self.ask("p", "InitProducerId", a, {"TransactionalId": None, "TransactionTimeoutMs": 60_000})
        sequence = self.sequence[0] + pick([0, 0, 0, 0, 0, -1, 1, 5], c)
        batch: dict[str, Json] = {
            "records": [["k", "v"]] * (1 + b % 3),
            "timestamp": BASE_MS + self.clock,
            "pid": self.producer[0],
            "epoch": self.producer[1] + pick([0, 0, 0, 0, 0, 0, 1, -1], b),
            "seq": max(-1, sequence),
        }
        partition: dict[str, Json] = {"Index": 0, "Records": {"batch": batch}}
        topics = [{"Name": self.topics[0], "PartitionData": [partition]}]
        request = {"Acks": -1, "TimeoutMs": 1000, "TopicData": topics}
        return self.ask("p", "Produce", a, request, least=3, most=12)

    def fetch(self, a: int, b: int, c: int) -> Asked | None:
        partition = {
            "Partition": pick([0, 0, 0, 1, 1, 0, 0, 9], b),
            "FetchOffset": pick([0, 1, 2, 3, 5, 8, 100, -5], c),
            "PartitionMaxBytes": pick([1 << 20, 1 << 20, 100, 1, 1 << 20, 0], a),
            "CurrentLeaderEpoch": pick([-1, -1, -1, 0, -1, 7], b),
        }
        request: dict[str, Json] = {
            "ReplicaId": -1,
            "MaxWaitMs": 0,
            "MinBytes": pick([0, 1], b),
            "MaxBytes": pick([1 << 24, 1 << 24, 1 << 24, 60], a),
            "IsolationLevel": pick([0, 1], c),
            "SessionEpoch": -1,
            "Topics": [{"Topic": self.topic(a), "Partitions": [partition]}],
        }
        return self.ask("f", "Fetch", a + c, request, least=4, most=12)

    def list_offsets(self, a: int, b: int, c: int) -> Asked | None:
        time = pick([-1, -2, BASE_MS, BASE_MS + 5, BASE_MS + 100, BASE_MS + 10**9, -3, 0, -4, -5, -9], a + b)
        partition = {"PartitionIndex": pick([0, 0, 1, 0, 0, 0, 0, 9], c), "Timestamp": time}
        request: dict[str, Json] = {
            "ReplicaId": -1,
            "IsolationLevel": pick([0, 1], c),
            "Topics": [{"Name": self.topic(c), "Partitions": [partition]}],
        }
        return self.ask("f", "ListOffsets", a * 2 + c, request, least=1)

    def delete_records(self, a: int, b: int, c: int) -> Asked | None:
        partition = {"PartitionIndex": pick([0, 0, 1, 9], b), "Offset": pick([0, 1, 2, -1, 100, -2], c)}
        request = {"Topics": [{"Name": self.topic(a), "Partitions": [partition]}], "TimeoutMs": 1000}
        return self.ask("f", "DeleteRecords", b, request)

    def epoch_end(self, a: int, b: int, c: int) -> Asked | None:
        partition = {
            "Partition": pick([0, 0, 1, 9], b),
            "CurrentLeaderEpoch": pick([-1, -1, 0, 5], c),
            "LeaderEpoch": pick([0, 0, 1, 5, -1], a),
        }
        request = {"ReplicaId": -1, "Topics": [{"Topic": self.topic(a), "Partitions": [partition]}]}
        return self.ask("f", "OffsetForLeaderEpoch", b, request, least=2)

    def note(self, exchange: Exchange) -> None:
        answer = exchange.answer
        if exchange.asked.api == "InitProducerId" and answer and not answer["ErrorCode"]:
            self.producer, self.sequence = (answer["ProducerId"], answer["ProducerEpoch"]), [0, 0]
        if exchange.asked.api == "Produce" and answer:
            batch = exchange.asked.request["TopicData"][0]["PartitionData"][0]["Records"].get("batch", {})
            if "pid" in batch and answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"] == 0:
                self.sequence[0] = batch["seq"] + len(batch["records"])


class Transactions(Log):
    """Transactions of two producers, one of which may fence the other: records, offsets, ends, and what is seen."""

    needs = ("InitProducerId", "EndTxn", "AddPartitionsToTxn")
    actions: ClassVar[Sequence[str]] = (
        "init", "add_partitions", "produce_in", "produce_in", "add_offsets", "commit_offsets", "end", "end", "fetch",
        "list_offsets", "describe", "producers", "committed",
    )  # fmt: skip

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ids: dict[int, tuple[int, int]] = {}
        self.sequences: dict[tuple[int, int, int], int] = {}

    def transactional_id(self, number: int) -> str:
        return f"{self.name}-x{number % 2}"

    def state(self, number: int, odd: int = 0) -> tuple[int, int]:
        producer_id, epoch = self.ids.get(number % 2, (-1, -1))
        return pick([(producer_id, epoch)] * 6 + [(producer_id, epoch + 1), (producer_id, epoch - 1)], odd)

    def init(self, a: int, b: int, c: int) -> Asked | None:
        request: dict[str, Json] = {
            "TransactionalId": pick([self.transactional_id(a)] * 7 + [""], b),
            "TransactionTimeoutMs": pick([60_000] * 6 + [0, 10**9], c),
        }
        if a >= 6:
            producer_id, epoch = self.state(a, b)
            request |= {"ProducerId": producer_id, "ProducerEpoch": epoch}
            return self.ask("x", "InitProducerId", b, request, least=3, most=5)
        return self.ask("x", "InitProducerId", b, request, most=5)

    def add_partitions(self, a: int, b: int, c: int) -> Asked | None:
        producer_id, epoch = self.state(a, b)
        request = {
            "V3AndBelowTransactionalId": self.transactional_id(a),
            "V3AndBelowProducerId": producer_id,
            "V3AndBelowProducerEpoch": epoch,
            "V3AndBelowTopics": [{"Name": self.topic(c), "Partitions": pick([[0], [0, 1], [1], [0], [9]], c)}],
        }
        return self.ask("x", "AddPartitionsToTxn", c, request, most=3)

    def produce_in(self, a: int, b: int, c: int) -> Asked | None:
        producer_id, epoch = self.state(a, b)
        if producer_id < 0:
            return None
        sequence = self.sequences.get((producer_id, epoch, c % 2), 0)
        batch: dict[str, Json] = {
            "records": [["k", "v"]],
            "timestamp": BASE_MS,
            "pid": producer_id,
            "epoch": epoch,
            "seq": sequence,
            "attributes": 16,
        }
        partition = {"Index": c % 2, "Records": {"batch": batch}}
        request = {
            "TransactionalId": self.transactional_id(a),
            "Acks": -1,
            "TimeoutMs": 1000,
            "TopicData": [
                {"Name": self.topics[0], "PartitionData": [{"Index": partition, "Records": {"batch": batch}}]}
            ],
        }
        return self.ask("p", "Produce", c, request, least=3, most=11)

    def add_offsets(self, a: int, b: int, c: int) -> Asked | None:
        producer_id, epoch = self.state(a, b)
        request = {
            "TransactionalId": self.transactional_id(a),
            "ProducerId": producer_id,
            "ProducerEpoch": epoch,
            "GroupId": f"{self.name}-g",
        }
        return self.ask("x", "AddOffsetsToTxn", c, request, most=3)

    def commit_offsets(self, a: int, b: int, c: int) -> Asked | None:
        producer_id, epoch = self.state(a, b)
        partition = {"PartitionIndex": c % 2, "CommittedOffset": c, "CommittedMetadata": ""}
        request = {
            "TransactionalId": self.transactional_id(a),
            "GroupId": f"{self.name}-g",
            "ProducerId": producer_id,
            "ProducerEpoch": epoch,
            "Topics": [{"Name": self.topic(b), "Partitions": [partition]}],
        }
        return self.ask("x", "TxnOffsetCommit", c, request, most=4)

    def end(self, a: int, b: int, c: int) -> Asked | None:
        producer_id, epoch = self.state(a, b)
        request = {
            "TransactionalId": self.transactional_id(a),
            "ProducerId": producer_id,
            "ProducerEpoch": epoch,
            "Committed": c % 2 == 0,
        }
        return self.ask("x", "EndTxn", c, request, most=4)

    def describe(self, a: int, b: int, c: int) -> Asked | None:
        ids = [self.transactional_id(a), *([f"{self.name}-none"] if c > 5 else [])]
        return self.ask("x", "DescribeTransactions", 0, {"TransactionalIds": ids})

    def producers(self, a: int, b: int, c: int) -> Asked | None:
        topics = [{"Name": self.topic(c), "PartitionIndexes": pick([[0], [0, 1], [9]], c)}]
        return self.ask("x", "DescribeProducers", 0, {"Topics": topics})

    def committed(self, a: int, b: int, c: int) -> Asked | None:
        request: dict[str, Json] = {"GroupId": f"{self.name}-g", "Topics": None, "RequireStable": c % 2 == 1}
        return self.ask("x", "OffsetFetch", c, request, least=7 if c % 2 else 2, most=7)

    def note(self, exchange: Exchange) -> None:
        answer, request = exchange.answer, exchange.asked.request
        if not answer:
            return
        if exchange.asked.api == "InitProducerId" and not answer["ErrorCode"]:
            for number in (0, 1):
                if request["TransactionalId"] == self.transactional_id(number):
                    self.ids[number] = answer["ProducerId"], answer["ProducerEpoch"]
        elif exchange.asked.api == "Produce":
            part = request["TopicData"][0]["PartitionData"][0]
            if not answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"]:
                batch = part["Records"]["batch"]
                self.sequences[batch["pid"], batch["epoch"], part["Index"]] = batch["seq"] + 1
        elif exchange.asked.api == "EndTxn" and not answer["ErrorCode"] and "ProducerEpoch" in answer:
            for number in (0, 1):
                if request["TransactionalId"] == self.transactional_id(number) and answer["ProducerId"] >= 0:
                    self.ids[number] = answer["ProducerId"], answer["ProducerEpoch"]


class ConsumerGroups(Chapter):
    """Groups of the consumer protocol (KIP-848): members that reconcile, go, come back and claim epochs."""

    needs = ("ConsumerGroupHeartbeat",)
    actions: ClassVar[Sequence[str]] = (
        "beat", "beat", "beat", "beat", "join", "join", "leave", "commit", "fetch", "describe", "classic_describe",
        "delete",
    )  # fmt: skip

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.group_id = f"{self.name}-g"
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, list[Json]] = {}

    def member(self, number: int) -> str:
        return f"{self.name}-m{number % 3}"

    def join(self, a: int, b: int, c: int) -> Asked | None:
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "MemberId": self.member(a),
            "MemberEpoch": 0,
            "InstanceId": pick([None, None, None, None, f"i{a % 3}", "i0"], b),
            "RebalanceTimeoutMs": pick([60_000] * 7 + [-1], c),
            "SubscribedTopicNames": pick([self.topics[:1]] * 6 + [[f"{self.name}-none"], []], c),
            "ServerAssignor": pick([None, None, "uniform", "range", None, "odd"], b),
            "TopicPartitions": [],
        }
        return self.ask("m", "ConsumerGroupHeartbeat", c, request)

    def beat(self, a: int, b: int, c: int) -> Asked | None:
        member = self.member(a)
        epoch = self.epochs.get(member, 0) + pick([0, 0, 0, 0, 0, 0, -1, 1], b)
        request: dict[str, Json] = {"GroupId": self.group_id, "MemberId": member, "MemberEpoch": epoch}
        if c % 4 != 3:
            request["TopicPartitions"] = self.owned.get(member, [])
        if epoch <= 0:
            request |= {"RebalanceTimeoutMs": 60_000, "SubscribedTopicNames": self.topics[:1], "TopicPartitions": []}
        return self.ask("m", "ConsumerGroupHeartbeat", c, request)

    def leave(self, a: int, b: int, c: int) -> Asked | None:
        request: dict[str, Json] = {
            "GroupId": self.group_id,
            "MemberId": self.member(a),
            "MemberEpoch": pick([-1, -1, -2], b),
        }
        return self.ask("m", "ConsumerGroupHeartbeat", c, request)

    def commit(self, a: int, b: int, c: int) -> Asked | None:
        member = self.member(a)
        partition = {"PartitionIndex": c % 2, "CommittedOffset": c, "CommittedMetadata": ""}
        request = {
            "GroupId": self.group_id,
            "MemberId": member,
            "GenerationIdOrMemberEpoch": self.epochs.get(member, 0) + pick([0, 0, 0, 0, -1, 1], b),
            "Topics": [{"Name": self.topics[0], "Partitions": [partition]}],
        }
        return self.ask("m", "OffsetCommit", c, request, least=7, most=9)

    def fetch(self, a: int, b: int, c: int) -> Asked | None:
        member = self.member(a)
        group: dict[str, Json] = {"GroupId": self.group_id, "Topics": None}
        if c % 2:
            group |= {"MemberId": member, "MemberEpoch": self.epochs.get(member, 0) + pick([0, 0, 0, -1, 1], b)}
        return self.ask("m", "OffsetFetch", 0, {"Groups": [group]}, least=9, most=9)

    def describe(self, a: int, b: int, c: int) -> Asked | None:
        return self.ask("m", "ConsumerGroupDescribe", b, {"GroupIds": [self.group_id]})

    def classic_describe(self, a: int, b: int, c: int) -> Asked | None:
        return self.ask("m", "DescribeGroups", b, {"Groups": [self.group_id]})

    def delete(self, a: int, b: int, c: int) -> Asked | None:
        return self.ask("m", "DeleteGroups", b, {"GroupsNames": [self.group_id]}) if a > 5 else None

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


class Admin(Chapter):
    """Topics and their settings: created, grown, described, altered, deleted; names that are odd or taken."""

    needs = ("CreateTopics", "DeleteTopics", "DescribeConfigs")
    actions: ClassVar[Sequence[str]] = (
        "create", "create", "grow", "delete", "metadata", "metadata", "configs", "alter", "alter_old", "validate",
        "partitions",
    )  # fmt: skip

    def topic(self, number: int) -> str:
        return pick(
            [f"{self.name}-a", f"{self.name}-b", f"{self.name}-a", f"{self.name}.b", "", "..", "a b", "x" * 250], number
        )

    def create(self, a: int, b: int, c: int, *, only: bool = False) -> Asked | None:
        configs = [("retention.ms", "1000"), ("cleanup.policy", "odd"), ("no.such", "1"), ("segment.bytes", "-1")]
        name, value = pick(configs, b + c)
        topic: dict[str, Json] = {
            "Name": self.topic(a),
            "NumPartitions": pick([1, 2, -1, 1, 1, 3, 0, -5], b),
            "ReplicationFactor": pick([1, 1, -1, 1, 1, 1, 2, 0], c),
            "Assignments": [],
            "Configs": [{"Name": name, "Value": value}] if b > 3 else [],
        }
        request = {"Topics": [topic] * (2 if a == 7 else 1), "timeoutMs": 5000, "validateOnly": only}
        return self.ask("a", "CreateTopics", c, request, least=2)

    def validate(self, a: int, b: int, c: int) -> Asked | None:
        return self.create(a, b, c, only=True)

    def grow(self, a: int, b: int, c: int) -> Asked | None:
        topic = {"Name": self.topic(a), "Count": pick([2, 3, 4, 1, 0, -1], b), "Assignments": None}
        return self.ask("a", "CreatePartitions", c, {"Topics": [topic], "TimeoutMs": 5000, "ValidateOnly": c > 5})

    def delete(self, a: int, b: int, c: int) -> Asked | None:
        names = [self.topic(a), *([self.topic(b)] if c > 4 else [])]
        return self.ask("a", "DeleteTopics", c, {"TopicNames": names, "TimeoutMs": 5000}, most=5)

    def metadata(self, a: int, b: int, c: int) -> Asked | None:
        request: dict[str, Json] = {
            "Topics": [{"Name": self.topic(a)}, *([{"Name": self.topic(b)}] if c % 2 else [])],
            "AllowAutoTopicCreation": False,
        }
        return self.ask("a", "Metadata", c, request, least=4, most=9)

    def partitions(self, a: int, b: int, c: int) -> Asked | None:
        request: dict[str, Json] = {
            "Topics": [{"Name": self.topic(a)}],
            "ResponsePartitionLimit": pick([2000, 1, 0, -1], b),
        }
        return self.ask("a", "DescribeTopicPartitions", c, request)

    def configs(self, a: int, b: int, c: int) -> Asked | None:
        resource = {
            "ResourceType": pick([2, 2, 2, 2, 2, 4, 9], b),
            "ResourceName": self.topic(a),
            "ConfigurationKeys": pick([["retention.ms"], ["retention.ms", "segment.bytes"], [], ["no.such"]], c),
        }
        return self.ask("a", "DescribeConfigs", c, {"Resources": [resource], "IncludeSynonyms": c % 2 == 1}, least=1)

    def alter(self, a: int, b: int, c: int) -> Asked | None:
        config = {
            "Name": pick(["retention.ms", "segment.bytes", "cleanup.policy", "no.such", ""], b),
            "ConfigOperation": pick([0, 0, 0, 1, 2, 3, 9], c),
            "Value": pick(["2000", "5000", None, "odd", "-1"], a + c),
        }
        resource = {"ResourceType": 2, "ResourceName": self.topic(a), "Configs": [config]}
        return self.ask("a", "IncrementalAlterConfigs", c, {"Resources": [resource], "ValidateOnly": c > 5})

    def alter_old(self, a: int, b: int, c: int) -> Asked | None:
        config = {
            "Name": pick(["retention.ms", "segment.bytes", "no.such"], b),
            "Value": pick(["2000", "50000", None, "odd"], c),
        }
        resource = {"ResourceType": 2, "ResourceName": self.topic(a), "Configs": [config]}
        return self.ask("a", "AlterConfigs", c, {"Resources": [resource], "ValidateOnly": c > 5})


CHAPTERS: dict[str, type[Chapter]] = {
    "offsets": Offsets,
    "groups": ClassicGroups,
    "log": Log,
    "transactions": Transactions,
    "consumer groups": ConsumerGroups,
    "admin": Admin,
}
