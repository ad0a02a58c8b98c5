"""Records of a topic."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tools.differential.chapters.chapter import Chapter, Json
from tools.differential.pair import Asked, Exchange

BASE_MS = 1_700_000_000_000
LATE_MS = 4_000_000_000_000


class Log(Chapter):
    """Records: produced plain, compressed, idempotent and wrong; fetched; searched by offset and time; deleted."""

    needs: ClassVar[Sequence[str]] = ("Produce", "Fetch", "ListOffsets")
    actions: ClassVar[Mapping[str, int]] = {
        "produce": 5, "produce_idempotent": 3, "produce_many": 1, "fetch": 4, "list_offsets": 3, "delete_records": 1,
        "epoch_end": 1, "producers": 1,
    }  # fmt: skip
    own_topics = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.producer = (-1, -1)
        self.sequences: dict[tuple[int, int, int], int] = {}  # producer id, epoch, partition -> next sequence
        self.clock_ms = 0
        self.none = {
            "Name": f"{self.name}-none",
            "Topic": f"{self.name}-none",
            "TopicId": "00000000-0000-0000-0000-0000000000bb",
        }

    def topic(self) -> dict[str, Json]:
        """The name and the id of a topic; rarely of one that is not there."""
        named = [{"Name": each.name, "Topic": each.name, "TopicId": each.topic_id} for each in self.topics]
        return self.pick([named[0]] * 13 + [named[-1]] * 2 + [self.none])

    def partition(self) -> int:
        """A partition; rarely one that is not there."""
        return self.pick([0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 9, -1])

    def produce(self) -> Asked | None:
        """A batch, often plain."""
        self.clock_ms += self.pick([0, 5, 100, -50, 1, 2])
        records: Json = self._records()
        batch: dict[str, Json] = {"records": records, "timestamp": BASE_MS + self.clock_ms}
        odd: dict[str, Json] = self.pick(
            [
                *[{}] * 12,
                {"crc": 1}, {"count": 9}, {"count": 0}, {"last_offset_delta": 7}, {"attributes": 8}, {"attributes": 32},
                {"magic": 1}, {"magic": 3}, {"base_offset": 5}, {"leader_epoch": 3}, {"attributes": 5},
                {"attributes": 16}, {"max_timestamp": BASE_MS}, {"timestamp": -1}, {"timestamp": LATE_MS},
                {"records": []},
            ]
        )  # fmt: skip
        return self._produce([{"batch": {**batch, **odd}}])

    def produce_many(self) -> Asked | None:
        """Two batches for a partition, or one for each of two, or nothing at all.

        Null records are left out: Kafka never answers (docs/reference/found.md).
        """
        batch = {"batch": {"records": self._records(), "timestamp": BASE_MS + self.clock_ms}}
        two = {"batches": [batch["batch"], batch["batch"]]}
        return self._produce(self.pick([[two], [batch, batch], [{"hex": ""}], [{"hex": "00" * 20}]]))

    def _records(self) -> list[Json]:
        size, by_ms = self.pick([1, 2, 3, 7]), self.pick([0, 1, 10, -1])
        value: str | None = self.mostly("v", None, "")
        headers: list[Json] = self.mostly([], [["h", "1"]])
        key: str | None = self.mostly("k", None)
        return [[key, value and value * (number + 1), number * by_ms, headers] for number in range(size)]

    def _produce(self, records: Sequence[Json], **fields: Json) -> Asked | None:
        partitions = [{"Index": self.partition(), "Records": each} for each in records]
        request: dict[str, Json] = {
            "TransactionalId": None,
            "Acks": self.pick([-1] * 8 + [1] * 2 + [2]),
            "TimeoutMs": 1000,
            "TopicData": [{**self.topic(), "PartitionData": partitions}],
            **fields,
        }
        return self.ask("p", "Produce", request, is_plain=True)

    def produce_idempotent(self) -> Asked | None:
        """A batch with a sequence, mostly the right one; at first a producer id."""
        if self.producer[0] < 0 or self.is_rare(12):
            request = {"TransactionalId": None, "TransactionTimeoutMs": 60_000}
            return self.ask("p", "InitProducerId", request, is_plain=True)
        producer_id, epoch = self.producer
        index = self.pick([0, 1])
        sequence = self.sequences.get((producer_id, epoch, index), 0) + self.pick([0] * 8 + [-1, 1, 5, -2])
        batch: dict[str, Json] = {
            "records": [["k", "v"]] * self.pick([1, 2, 3]),
            "timestamp": BASE_MS + self.clock_ms,
            "pid": producer_id,
            "epoch": epoch + self.pick([0] * 12 + [1, -1]),
            "seq": max(-1, sequence),
        }
        partition: dict[str, Json] = {"Index": index, "Records": {"batch": batch}}
        topic = self.topics[0]
        topics: list[Json] = [{"Name": topic.name, "TopicId": topic.topic_id, "PartitionData": [partition]}]
        fields: dict[str, Json] = {"TransactionalId": None, "Acks": -1, "TimeoutMs": 1000, "TopicData": topics}
        return self.ask("p", "Produce", fields, least=3, is_plain=True)

    def fetch(self) -> Asked | None:
        """Without a session."""
        partitions: list[dict[str, Json]] = [
            {
                "Partition": self.partition(),
                "FetchOffset": self.pick([0, 1, 2, 3, 5, 8, 100, -5]),
                "PartitionMaxBytes": self.mostly(1 << 20, 100, 1, 0),
                "CurrentLeaderEpoch": self.mostly(-1, 0, 7),
                "LastFetchedEpoch": self.mostly(-1, 0, 3),
            }
            for _ in range(self.mostly(1, 2))
        ]
        if len({each["Partition"] for each in partitions}) < len(partitions):
            partitions = partitions[:1]
        request: dict[str, Json] = {
            "ReplicaId": -1,
            "MaxWaitMs": 0,
            "MinBytes": self.pick([0, 1]),
            "MaxBytes": self.mostly(1 << 24, 60, 0),
            "IsolationLevel": self.pick([0, 1]),
            "SessionEpoch": -1,
            "Topics": [{**self.topic(), "Partitions": partitions}],
        }
        return self.ask("f", "Fetch", request, is_plain=True)

    def list_offsets(self) -> Asked | None:
        """By times, and by the times that stand for something else."""
        times = [-1, -2, BASE_MS, BASE_MS + 5, BASE_MS + 100, BASE_MS + 10**9, -3, 0, BASE_MS - 40, -4, -5, -6, -9]
        partitions = [
            {
                "PartitionIndex": self.partition(),
                "Timestamp": self.pick(times),
                "CurrentLeaderEpoch": self.mostly(-1, 0, 7),
                "MaxNumOffsets": self.mostly(1, 3),
            }
            for _ in range(self.mostly(1, 2))
        ]
        request: dict[str, Json] = {
            "ReplicaId": -1,
            "IsolationLevel": self.pick([0, 1]),
            "TimeoutMs": 1000,
            "Topics": [{**self.topic(), "Partitions": partitions}],
        }
        return self.ask("f", "ListOffsets", request)

    def delete_records(self) -> Asked | None:
        """Up to an offset."""
        partition = {"PartitionIndex": self.partition(), "Offset": self.pick([0, 1, 2, -1, 100, -2])}
        request = {"Topics": [{**self.topic(), "Partitions": [partition]}], "TimeoutMs": 1000}
        return self.ask("f", "DeleteRecords", request)

    def epoch_end(self) -> Asked | None:
        """The end of a leader epoch."""
        partition = {
            "Partition": self.partition(),
            "CurrentLeaderEpoch": self.mostly(-1, 0, 5),
            "LeaderEpoch": self.pick([0, 0, 1, 5, -1]),
        }
        request = {"ReplicaId": -1, "Topics": [{**self.topic(), "Partitions": [partition]}]}
        return self.ask("f", "OffsetForLeaderEpoch", request)

    def producers(self) -> Asked | None:
        """Who writes."""
        topics = [{**self.topic(), "PartitionIndexes": self.pick([[0], [0, 1], [9]])}]
        return self.ask("f", "DescribeProducers", {"Topics": topics})

    def note(self, exchange: Exchange) -> None:
        answer = exchange.answer
        if not answer:
            return
        if exchange.asked.api == "InitProducerId" and not answer["ErrorCode"]:
            self.producer = answer["ProducerId"], answer["ProducerEpoch"]
        if exchange.asked.api == "Produce":
            self.note_sequences(exchange)

    def note_sequences(self, exchange: Exchange) -> None:
        """The sequences that follow what was accepted."""
        data, answers = exchange.asked.request["TopicData"], exchange.answer["Responses"]
        for topic, answer in zip(data, answers, strict=False):
            for partition, one in zip(topic["PartitionData"], answer["PartitionResponses"], strict=False):
                batch = (partition["Records"] or {}).get("batch", {})
                if "pid" in batch and not one["ErrorCode"]:
                    key = batch["pid"], batch["epoch"], partition["Index"]
                    self.sequences[key] = batch["seq"] + len(batch["records"])
