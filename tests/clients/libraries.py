"""The Python client libraries behind one small interface (see story.py). Each is imported when it is first used."""

import asyncio
import importlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from tests.clients.story import QUICK, Polled, Sent
from tests.support.librdkafka import close

# A rebalance overtook the commit: the records come again to whoever gets the partition.
OVERTAKEN = ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "_NO_OFFSET")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMEOUT_S = 60


class Confluent:
    """confluent-kafka, on librdkafka."""

    name, codecs = "confluent-kafka", CODECS
    strategies = {each: each for each in ("range", "roundrobin", "cooperative-sticky")}

    def produce(self, bootstrap: str, topic: str, records: list[Sent], codec: str) -> None:
        kafka = importlib.import_module("confluent_kafka")
        producer = kafka.Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 5})
        self._send(producer, topic, records)

    @staticmethod
    def _send(producer: Any, topic: str, records: list[Sent]) -> None:
        failures: list[Any] = []
        for r in records:
            producer.produce(
                topic, r.value, r.key, r.partition, timestamp=r.timestamp_ms, headers=list(r.headers),
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )  # fmt: skip
            producer.poll(0)
        assert producer.flush(TIMEOUT_S) == 0
        assert failures == []

    def transaction(
        self, bootstrap: str, topic: str, transactional_id: str, records: list[Sent], *, commit: bool
    ) -> None:
        kafka = importlib.import_module("confluent_kafka")
        producer = kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        self._send(producer, topic, records)
        (producer.commit_transaction if commit else producer.abort_transaction)(TIMEOUT_S)

    def consumer(self, bootstrap: str, topic: str, group: str, **options: Any) -> Polled:
        return ConfluentConsumer(bootstrap, topic, group, options)

    def offsets_for_time(self, bootstrap: str, topic: str, partitions: int, timestamp_ms: int) -> dict[int, int | None]:
        kafka = importlib.import_module("confluent_kafka")
        consumer = kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "times"})
        asked = [kafka.TopicPartition(topic, p, timestamp_ms) for p in range(partitions)]
        found = consumer.offsets_for_times(asked, timeout=20)
        consumer.close()
        assert all(p.error is None for p in found)
        return {p.partition: p.offset if p.offset >= 0 else None for p in found}


class ConfluentConsumer:
    def __init__(self, bootstrap: str, topic: str, group: str, options: dict[str, Any]) -> None:
        kafka = importlib.import_module("confluent_kafka")
        renamed = {k.replace("_", "."): v for k, v in {**QUICK, **options}.items()}
        self._consumer = kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **renamed,
            }
        )
        self._consumer.subscribe([topic])

    def poll(self) -> Iterable[Sent]:
        for m in self._consumer.consume(500, timeout=0.1):
            assert m.error() is None, m.error()
            yield Sent(m.partition(), m.key(), m.value(), tuple(m.headers() or ()), m.timestamp()[1])

    def commit(self) -> None:
        try:
            self._consumer.commit(asynchronous=False)
        except importlib.import_module("confluent_kafka").KafkaException as error:
            if error.args[0].name() not in OVERTAKEN:
                raise

    def close(self) -> None:
        close(self._consumer)


class KafkaPython:
    """kafka-python, pure Python."""

    name, codecs = "kafka-python", CODECS
    strategies = {each: each for each in ("range", "roundrobin", "sticky", "cooperative-sticky")}

    def produce(self, bootstrap: str, topic: str, records: list[Sent], codec: str) -> None:
        kafka = importlib.import_module("kafka")
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, compression_type=None if codec == "none" else codec, linger_ms=5
        )
        self._send(producer, topic, records)
        producer.close()

    @staticmethod
    def _send(producer: Any, topic: str, records: list[Sent]) -> None:
        sent = [
            producer.send(
                topic, r.value, r.key, headers=list(r.headers), partition=r.partition, timestamp_ms=r.timestamp_ms
            )
            for r in records
        ]
        producer.flush(TIMEOUT_S)
        assert all(future.succeeded() for future in sent)

    def transaction(
        self, bootstrap: str, topic: str, transactional_id: str, records: list[Sent], *, commit: bool
    ) -> None:
        kafka = importlib.import_module("kafka")
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id)
        producer.init_transactions()
        producer.begin_transaction()
        self._send(producer, topic, records)
        (producer.commit_transaction if commit else producer.abort_transaction)()
        producer.close()

    def consumer(self, bootstrap: str, topic: str, group: str, **options: Any) -> Polled:
        return KafkaPythonConsumer(bootstrap, topic, group, options)

    def offsets_for_time(self, bootstrap: str, topic: str, partitions: int, timestamp_ms: int) -> dict[int, int | None]:
        kafka = importlib.import_module("kafka")
        consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap)
        found = consumer.offsets_for_times({kafka.TopicPartition(topic, p): timestamp_ms for p in range(partitions)})
        consumer.close()
        return {tp.partition: at.offset if at else None for tp, at in found.items()}


class KafkaPythonConsumer:
    def __init__(self, bootstrap: str, topic: str, group: str, options: dict[str, Any]) -> None:
        kafka = importlib.import_module("kafka")
        self._retriable = importlib.import_module("kafka.errors").CommitFailedError
        self._consumer = kafka.KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            enable_auto_commit=False,
            **_options("kafka.coordinator.assignors", options),
        )
        # A leader that learns of the topic's partitions only after its first join rejoins; kafka-python 3.0.12 never
        # finishes such a join if it outlasts a poll: no heartbeat and no fetch afterwards.
        self._consumer.partitions_for_topic(topic)

    def poll(self) -> Iterable[Sent]:
        for records in self._consumer.poll(timeout_ms=100, max_records=500).values():
            for r in records:
                yield Sent(r.partition, r.key, r.value, tuple(r.headers), r.timestamp)

    def commit(self) -> None:
        with suppress(self._retriable):  # a rebalance overtook it: the records come again to whoever gets the partition
            self._consumer.commit()

    def close(self) -> None:
        self._consumer.close()


class Aiokafka:
    """aiokafka, on asyncio."""

    name, codecs = "aiokafka", CODECS
    strategies = {each: each for each in ("range", "roundrobin", "sticky")}

    def produce(self, bootstrap: str, topic: str, records: list[Sent], codec: str) -> None:
        async def send_all() -> None:
            aiokafka = importlib.import_module("aiokafka")
            compression = None if codec == "none" else codec
            async with aiokafka.AIOKafkaProducer(
                bootstrap_servers=bootstrap, compression_type=compression, linger_ms=5
            ) as producer:
                await self._send(producer, topic, records)

        asyncio.run(send_all())

    @staticmethod
    async def _send(producer: Any, topic: str, records: list[Sent]) -> None:
        sent = [
            await producer.send(topic, r.value, r.key, r.partition, r.timestamp_ms, list(r.headers)) for r in records
        ]
        await asyncio.gather(*sent)

    def transaction(
        self, bootstrap: str, topic: str, transactional_id: str, records: list[Sent], *, commit: bool
    ) -> None:
        async def send_all() -> None:
            aiokafka = importlib.import_module("aiokafka")
            async with aiokafka.AIOKafkaProducer(
                bootstrap_servers=bootstrap, transactional_id=transactional_id
            ) as producer:
                await producer.begin_transaction()
                await self._send(producer, topic, records)
                await (producer.commit_transaction() if commit else producer.abort_transaction())

        asyncio.run(send_all())

    def consumer(self, bootstrap: str, topic: str, group: str, **options: Any) -> Polled:
        return AiokafkaConsumer(bootstrap, topic, group, options)

    def offsets_for_time(self, bootstrap: str, topic: str, partitions: int, timestamp_ms: int) -> dict[int, int | None]:
        async def ask() -> dict[int, int | None]:
            aiokafka = importlib.import_module("aiokafka")
            async with aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
                asked = {aiokafka.TopicPartition(topic, p): timestamp_ms for p in range(partitions)}
                found = await consumer.offsets_for_times(asked)
            return {tp.partition: at.offset if at else None for tp, at in found.items()}

        return asyncio.run(ask())


class AiokafkaConsumer:
    """Drives a loop of its own, turn by turn, from the member's thread."""

    def __init__(self, bootstrap: str, topic: str, group: str, options: dict[str, Any]) -> None:
        aiokafka = importlib.import_module("aiokafka")
        self._retriable = importlib.import_module("aiokafka.errors").CommitFailedError
        self._runner = asyncio.Runner()

        async def start() -> Any:
            consumer = aiokafka.AIOKafkaConsumer(
                topic,
                bootstrap_servers=bootstrap,
                group_id=group,
                enable_auto_commit=False,
                **_options("aiokafka.coordinator.assignors", options),
            )
            await consumer.start()
            return consumer

        self._consumer = self._runner.run(start())

    def poll(self) -> Iterable[Sent]:
        for records in self._runner.run(self._consumer.getmany(timeout_ms=100, max_records=500)).values():
            for r in records:
                yield Sent(r.partition, r.key, r.value, tuple(r.headers), r.timestamp)

    def commit(self) -> None:
        with suppress(self._retriable):  # a rebalance overtook it: the records come again to whoever gets the partition
            self._runner.run(self._consumer.commit())

    def close(self) -> None:
        self._runner.run(self._consumer.stop())
        self._runner.close()


_ASSIGNORS = {
    "range": ("range", "RangePartitionAssignor"),
    "roundrobin": ("roundrobin", "RoundRobinPartitionAssignor"),
    "sticky": ("sticky.sticky_assignor", "StickyPartitionAssignor"),
    "cooperative-sticky": ("cooperative_sticky", "CooperativeStickyAssignor"),
}


def _options(assignors: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a consumer of kafka-python and aiokafka, which take classes of their packages `assignors`."""
    made = {"auto_offset_reset": "earliest", **QUICK, **options}
    if "partition_assignment_strategy" in made:
        module, name = _ASSIGNORS[made["partition_assignment_strategy"]]
        made["partition_assignment_strategy"] = (getattr(importlib.import_module(f"{assignors}.{module}"), name),)
    return made


PYTHON_LIBRARIES = (Confluent(), KafkaPython(), Aiokafka())
