"""The Python client libraries behind one small interface (see story.py). Each is imported when it is first used."""

import asyncio
import importlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from tests.clients.story import Adapter, Polled, Sent
from tests.support.librdkafka import close

# A rebalance overtook the commit: the records come again to whoever gets the partition.
OVERTAKEN = ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "_NO_OFFSET")
QUICK = {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 200}


class Confluent:
    """confluent-kafka, on librdkafka."""

    codecs = ("none", "gzip", "snappy", "lz4", "zstd")

    def produce(self, bootstrap: str, topic: str, records: list[Sent], codec: str) -> None:
        kafka = importlib.import_module("confluent_kafka")
        failures: list[Any] = []
        producer = kafka.Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 5})
        for r in records:
            producer.produce(
                topic, r.value, r.key, r.partition, timestamp=r.timestamp_ms, headers=list(r.headers),
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )  # fmt: skip
            producer.poll(0)
        assert producer.flush(60) == 0
        assert failures == []

    def consumer(self, bootstrap: str, topic: str, group: str, **options: str) -> Polled:
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
    def __init__(self, bootstrap: str, topic: str, group: str, options: dict[str, str]) -> None:
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

    codecs = ("none", "gzip", "snappy", "lz4", "zstd")

    def produce(self, bootstrap: str, topic: str, records: list[Sent], codec: str) -> None:
        kafka = importlib.import_module("kafka")
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, compression_type=None if codec == "none" else codec, linger_ms=5
        )
        sent = [
            producer.send(
                topic, r.value, r.key, headers=list(r.headers), partition=r.partition, timestamp_ms=r.timestamp_ms
            )
            for r in records
        ]
        producer.flush(60)
        assert all(future.succeeded() for future in sent)
        producer.close()

    def consumer(self, bootstrap: str, topic: str, group: str, **options: str) -> Polled:
        return KafkaPythonConsumer(bootstrap, topic, group, options)

    def offsets_for_time(self, bootstrap: str, topic: str, partitions: int, timestamp_ms: int) -> dict[int, int | None]:
        kafka = importlib.import_module("kafka")
        consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap)
        found = consumer.offsets_for_times({kafka.TopicPartition(topic, p): timestamp_ms for p in range(partitions)})
        consumer.close()
        return {tp.partition: at.offset if at else None for tp, at in found.items()}


class KafkaPythonConsumer:
    def __init__(self, bootstrap: str, topic: str, group: str, options: dict[str, str]) -> None:
        kafka = importlib.import_module("kafka")
        self._retriable = importlib.import_module("kafka.errors").CommitFailedError
        self._consumer = kafka.KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            **QUICK,
            **options,
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

    codecs = ("none", "gzip", "snappy", "lz4", "zstd")

    def produce(self, bootstrap: str, topic: str, records: list[Sent], codec: str) -> None:
        async def send_all() -> None:
            aiokafka = importlib.import_module("aiokafka")
            compression = None if codec == "none" else codec
            async with aiokafka.AIOKafkaProducer(
                bootstrap_servers=bootstrap, compression_type=compression, linger_ms=5
            ) as producer:
                sent = [
                    await producer.send(topic, r.value, r.key, r.partition, r.timestamp_ms, list(r.headers))
                    for r in records
                ]
                await asyncio.gather(*sent)

        asyncio.run(send_all())

    def consumer(self, bootstrap: str, topic: str, group: str, **options: str) -> Polled:
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

    def __init__(self, bootstrap: str, topic: str, group: str, options: dict[str, str]) -> None:
        aiokafka = importlib.import_module("aiokafka")
        self._retriable = importlib.import_module("aiokafka.errors").CommitFailedError
        self._runner = asyncio.Runner()

        async def start() -> Any:
            consumer = aiokafka.AIOKafkaConsumer(
                topic,
                bootstrap_servers=bootstrap,
                group_id=group,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                **QUICK,
                **options,
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


LIBRARIES: dict[str, Adapter] = {"confluent": Confluent(), "kafka-python": KafkaPython(), "aiokafka": Aiokafka()}
