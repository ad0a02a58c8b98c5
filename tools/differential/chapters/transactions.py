"""Transactions."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tools.differential.chapters.chapter import Json
from tools.differential.chapters.log import BASE_MS, Log
from tools.differential.pair import Asked, Exchange

MARKED_MS = 60  # in which Kafka writes the markers of a transaction that has ended, after it has answered


class Transactions(Log):
    """Transactions of two producers, one of which may fence the other: records, offsets, ends, and what is seen."""

    needs: ClassVar[Sequence[str]] = ("InitProducerId", "EndTxn", "AddPartitionsToTxn")
    actions: ClassVar[Mapping[str, int]] = {
        "init": 3, "init_again": 1, "add_partitions": 2, "add_many": 1, "produce_in": 4, "add_offsets": 1,
        "commit_offsets": 2, "end": 4, "fetch": 2, "list_offsets": 1, "describe": 1, "list_transactions": 1,
        "producers": 1, "committed": 1,
    }  # fmt: skip
    versions_of_clients: ClassVar[Mapping[str, int]] = {
        "Produce": 11, "EndTxn": 4, "AddPartitionsToTxn": 3, "AddOffsetsToTxn": 4, "TxnOffsetCommit": 4,
    }  # fmt: skip
    timeout_ms: ClassVar[int] = 60_000

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ids: dict[str, tuple[int, int]] = {}

    def most(self, api: str) -> int:
        """The newest version that these clients speak."""
        return self.versions_of_clients.get(api, 99)

    def producer_of(self) -> tuple[str, int, int]:
        """A transactional id with producer id and epoch, rarely a wrong one."""
        name = self.mostly(f"{self.name}-x0", f"{self.name}-x1")
        producer_id, epoch = self.ids.get(name, (-1, -1))
        other_id, _ = self.ids.get(f"{self.name}-x1", (-1, -1))
        epoch += self.pick([0] * 12 + [1, -1])
        return name, self.pick([producer_id] * 15 + [other_id]), epoch

    def of_producer(self) -> dict[str, Json]:
        """The same as fields."""
        name, producer_id, epoch = self.producer_of()
        return {"TransactionalId": name, "ProducerId": producer_id, "ProducerEpoch": epoch}

    def init(self) -> Asked | None:
        """A producer begins."""
        name, _, _ = self.producer_of()
        request: dict[str, Json] = {
            "TransactionalId": self.pick([name] * 19 + [""]),
            "TransactionTimeoutMs": self.pick([self.timeout_ms] * 10 + [0, 10**9]),
        }
        return self.ask("x", "InitProducerId", request, most=5, is_plain=True, then_ms=MARKED_MS)

    def init_again(self) -> Asked | None:
        """A producer wants a new epoch after an error."""
        request: dict[str, Json] = {**self.of_producer(), "TransactionTimeoutMs": self.timeout_ms}
        return self.ask("x", "InitProducerId", request, least=3, most=5, is_plain=True, then_ms=MARKED_MS)

    def some_partitions(self) -> list[int]:
        """Partitions to add."""
        return self.pick([[0], [1], [0, 1], [0], [0, 1], [9]])

    def add_partitions(self) -> Asked | None:
        """To a transaction of one producer."""
        fields = {f"V3AndBelow{name}": value for name, value in self.of_producer().items()}
        topics = [{"Name": self.topic()["Name"], "Partitions": self.some_partitions()}]
        return self.ask("x", "AddPartitionsToTxn", fields | {"V3AndBelowTopics": topics}, most=3)

    def add_many(self) -> Asked | None:
        """As brokers do."""
        transactions = [
            {
                **self.of_producer(),
                "VerifyOnly": self.pick([False, True]),
                "Topics": [{"Name": self.topic()["Name"], "Partitions": self.some_partitions()}],
            }
            for _ in range(self.mostly(1, 2))
        ]
        if len({each["TransactionalId"] for each in transactions}) < len(transactions):
            transactions = transactions[:1]
        return self.ask("x", "AddPartitionsToTxn", {"Transactions": transactions}, least=4, is_plain=True)

    def produce_in(self) -> Asked | None:
        """A record in a transaction, mostly with the right sequence."""
        name, producer_id, epoch = self.producer_of()
        if producer_id < 0:
            return None
        index = self.pick([0, 1])
        batch: dict[str, Json] = {
            "records": [["k", "v"]] * self.pick([1, 2]),
            "timestamp": BASE_MS,
            "pid": producer_id,
            "epoch": epoch,
            "seq": self.sequences.get((producer_id, epoch, index), 0) + self.pick([0] * 15 + [1]),
            "attributes": self.pick([16] * 15 + [0]),
        }
        topic = self.topics[0]
        partitions = [{"Index": index, "Records": {"batch": batch}}]
        request = {
            "TransactionalId": self.pick([name] * 15 + [None]),
            "Acks": -1,
            "TimeoutMs": 1000,
            "TopicData": [{"Name": topic.name, "TopicId": topic.topic_id, "PartitionData": partitions}],
        }
        return self.ask("p", "Produce", request, least=3, most=self.most("Produce"), is_plain=True)

    def add_offsets(self) -> Asked | None:
        """A group's offsets to a transaction."""
        request = {**self.of_producer(), "GroupId": f"{self.name}-g"}
        return self.ask("x", "AddOffsetsToTxn", request, most=self.most("AddOffsetsToTxn"))

    def commit_offsets(self) -> Asked | None:
        """In a transaction."""
        partition = {
            "PartitionIndex": self.pick([0, 1, 9]),
            "CommittedOffset": self.pick([1, 2, 3]),
            "CommittedMetadata": self.mostly("", "x" * 4097),
        }
        request = {
            **self.of_producer(),
            "GroupId": f"{self.name}-g",
            "GenerationId": self.pick([-1] * 15 + [4]),
            "MemberId": self.pick([""] * 15 + ["m"]),
            "Topics": [{"Name": self.topic()["Name"], "Partitions": [partition]}],
        }
        return self.ask("x", "TxnOffsetCommit", request, most=self.most("TxnOffsetCommit"), is_plain=True)

    def end(self) -> Asked | None:
        """Commit or abort."""
        request = {**self.of_producer(), "Committed": self.pick([True, False])}
        is_old = "DescribeCluster" not in self.versions
        if is_old:  # with a later epoch Kafka 2.1 begins to end the transaction, and never finishes
            _, latest = self.ids.get(request["TransactionalId"], (-1, -1))
            request["ProducerEpoch"] = min(request["ProducerEpoch"], latest)
        return self.ask("x", "EndTxn", request, most=self.most("EndTxn"), is_plain=is_old, then_ms=MARKED_MS)

    def describe(self) -> Asked | None:
        """What administrators see."""
        ids = [f"{self.name}-x0", *self.mostly([], [f"{self.name}-x1"], [f"{self.name}-none"])]
        return self.ask("x", "DescribeTransactions", {"TransactionalIds": ids})

    def list_transactions(self) -> Asked | None:
        """By producer id, so that those of other histories are not there."""
        ids = [producer_id for producer_id, _ in self.ids.values()]
        if not ids:
            return None
        request = {
            "StateFilters": self.mostly([], ["Ongoing"], ["odd"], ["Empty", "CompleteCommit"]),
            "ProducerIdFilters": ids,
            "DurationFilter": self.mostly(-1, 0, 10**9),
            "TransactionalIdPattern": self.mostly(None, "", f"{self.name}.*", "no", "("),
        }
        return self.ask("x", "ListTransactions", request, is_plain=True)

    def committed(self) -> Asked | None:
        """What the group has."""
        request: dict[str, Json] = {
            "GroupId": f"{self.name}-g",
            "Topics": None,
            "Groups": [{"GroupId": f"{self.name}-g", "Topics": None}],
            "RequireStable": self.pick([False, True]),
        }
        return self.ask("x", "OffsetFetch", request, least=7, is_plain=True)

    def note(self, exchange: Exchange) -> None:
        answer, request = exchange.answer, exchange.asked.request
        if not answer:
            return
        name = request.get("TransactionalId") or ""
        if exchange.asked.api == "InitProducerId" and not answer["ErrorCode"] and name:
            self.ids[name] = answer["ProducerId"], answer["ProducerEpoch"]
        elif exchange.asked.api == "Produce":
            self.note_sequences(exchange)
        elif exchange.asked.api == "EndTxn" and not answer["ErrorCode"] and answer.get("ProducerId", -1) >= 0:
            self.ids[name] = answer["ProducerId"], answer["ProducerEpoch"]


class NewTransactions(Transactions):
    """The same by clients of transactions of version 2: epochs grow with each end, partitions are added by Produce."""

    actions: ClassVar[Mapping[str, int]] = {
        name: times for name, times in Transactions.actions.items() if name not in ("add_partitions", "add_offsets")
    }
    versions_of_clients: ClassVar[Mapping[str, int]] = {}
    needs: ClassVar[Sequence[str]] = (
        "InitProducerId",
        "EndTxn",
        "ListTransactions",
        "ShareFetch",
    )  # which releases with version 2 serve


class TransactionTimers(Transactions):
    """The same with timeouts that run out: the coordinator aborts and fences."""

    actions: ClassVar[Mapping[str, int]] = {**Transactions.actions, "pass_timeout": 2}
    timeout_ms: ClassVar[int] = 700
    longest: ClassVar[int] = 24

    def pass_timeout(self) -> int:
        """Every transaction ends that began before."""
        return self.timeout_ms + 1200
