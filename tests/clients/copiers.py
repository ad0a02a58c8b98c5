"""Exactly-once copiers of each Python library: records go to another topic with their offsets, or not at all."""

import asyncio
import importlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from tests.support.librdkafka import close

QUICK = {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 200}
BATCH = 40  # records of a transaction at most
TIMEOUT_S = 30


class Copy(NamedTuple):
    """What a copier copies, and by what names."""

    bootstrap: str
    source: str
    target: str
    group: str
    transactional_id: str


class Copier(Protocol):
    """A consumer in a group and a transactional producer. Its producer has been initialized, which fences others."""

    def begin(self) -> int:
        """Poll, begin a transaction, send what was polled and the offsets behind it; returns how many records."""
        ...

    def end(self, *, commit: bool) -> None:
        """End the transaction."""
        ...

    def refused(self) -> str:
        """Try to commit, which must fail: the name of the error."""
        ...

    def leave(self) -> None:
        """The consumer leaves the group; the producer stays as it is."""
        ...

    def close(self) -> None:
        """The producer ends, too."""
        ...


class ConfluentCopier:
    """confluent-kafka, on librdkafka."""

    options: Mapping[str, object] = {name.replace("_", "."): value for name, value in QUICK.items()}  # of its consumer

    def __init__(self, copy: Copy) -> None:
        self.copy, self.kafka = copy, importlib.import_module("confluent_kafka")
        bootstrap = {"bootstrap.servers": copy.bootstrap, "log_level": 0}
        self.producer = self.kafka.Producer({**bootstrap, "transactional.id": copy.transactional_id})
        self.producer.init_transactions(TIMEOUT_S)
        own = {"group.id": copy.group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self.consumer = self.kafka.Consumer({**bootstrap, **own, **self.options, "isolation.level": "read_committed"})
        self.consumer.subscribe([copy.source])

    def begin(self) -> int:
        while not (messages := self.consumer.consume(BATCH, timeout=0.2)):
            pass
        assert [each.error() for each in messages if each.error()] == []
        self.producer.begin_transaction()
        for each in messages:
            self.producer.produce(self.copy.target, each.value(), each.key())
        behind = {each.partition(): each.offset() + 1 for each in messages}
        offsets = [self.kafka.TopicPartition(self.copy.source, index, offset) for index, offset in behind.items()]
        self.producer.send_offsets_to_transaction(offsets, self.consumer.consumer_group_metadata(), TIMEOUT_S)
        assert self.producer.flush(TIMEOUT_S) == 0
        return len(messages)

    def end(self, *, commit: bool) -> None:
        (self.producer.commit_transaction if commit else self.producer.abort_transaction)(TIMEOUT_S)

    def refused(self) -> str:
        try:
            self.producer.commit_transaction(TIMEOUT_S)
        except self.kafka.KafkaException as error:
            return str(error.args[0].name())
        raise AssertionError("the commit was accepted")

    def leave(self) -> None:
        close(self.consumer)

    def close(self) -> None:
        with suppress(self.kafka.KafkaException):  # of a producer that was fenced
            self.producer.flush(TIMEOUT_S)


class ConfluentServerSideCopier(ConfluentCopier):
    """The same in a group whose partitions the broker assigns."""

    options: Mapping[str, object] = {"group.protocol": "consumer"}


class KafkaPythonCopier:
    """kafka-python, pure Python."""

    def __init__(self, copy: Copy) -> None:
        self.copy, self.kafka = copy, importlib.import_module("kafka")
        self.producer = self.kafka.KafkaProducer(
            bootstrap_servers=copy.bootstrap, transactional_id=copy.transactional_id
        )
        self.producer.init_transactions()
        self.consumer = self.kafka.KafkaConsumer(
            copy.source,
            bootstrap_servers=copy.bootstrap,
            group_id=copy.group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            **QUICK,
        )
        self.consumer.partitions_for_topic(copy.source)  # as in libraries.py

    def begin(self) -> int:
        while not (polled := self.consumer.poll(timeout_ms=200, max_records=BATCH)):
            pass
        self.producer.begin_transaction()
        for records in polled.values():
            for each in records:
                self.producer.send(self.copy.target, each.value, each.key)
        behind = {
            partition: self.kafka.OffsetAndMetadata(records[-1].offset + 1, "", -1)
            for partition, records in polled.items()
        }
        self.producer.send_offsets_to_transaction(behind, self.consumer.group_metadata())
        self.producer.flush(TIMEOUT_S)
        return sum(map(len, polled.values()))

    def end(self, *, commit: bool) -> None:
        (self.producer.commit_transaction if commit else self.producer.abort_transaction)()

    def refused(self) -> str:
        try:
            self.producer.commit_transaction()
        except self.kafka.errors.KafkaError as error:
            return type(error).__name__
        raise AssertionError("the commit was accepted")

    def leave(self) -> None:
        self.consumer.close()

    def close(self) -> None:
        self.producer.close(timeout=1)


class AiokafkaCopier:
    """aiokafka, in a loop of its own that goes on while somebody waits for it."""

    def __init__(self, copy: Copy) -> None:
        self.copy, self.kafka = copy, importlib.import_module("aiokafka")
        self._runner = asyncio.Runner()
        self.producer, self.consumer = self._runner.run(self._started())

    async def _started(self) -> tuple[Any, Any]:
        copy = self.copy
        producer = self.kafka.AIOKafkaProducer(bootstrap_servers=copy.bootstrap, transactional_id=copy.transactional_id)
        await producer.start()
        consumer = self.kafka.AIOKafkaConsumer(
            copy.source,
            bootstrap_servers=copy.bootstrap,
            group_id=copy.group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            **QUICK,
        )
        await consumer.start()
        return producer, consumer

    def begin(self) -> int:
        return self._runner.run(self._begun())

    async def _begun(self) -> int:
        while not (polled := await self.consumer.getmany(timeout_ms=200, max_records=BATCH)):
            pass
        await self.producer.begin_transaction()
        for records in polled.values():
            for each in records:
                await self.producer.send(self.copy.target, each.value, each.key)
        behind: Mapping[Any, int] = {partition: records[-1].offset + 1 for partition, records in polled.items()}
        await self.producer.send_offsets_to_transaction(behind, self.copy.group)
        await self.producer.flush()
        return sum(map(len, polled.values()))

    def end(self, *, commit: bool) -> None:
        self._runner.run(self.producer.commit_transaction() if commit else self.producer.abort_transaction())

    def refused(self) -> str:
        try:
            self._runner.run(self.producer.commit_transaction())
        except importlib.import_module("aiokafka.errors").KafkaError as error:
            return type(error).__name__
        raise AssertionError("the commit was accepted")

    def leave(self) -> None:
        self._runner.run(self.consumer.stop())

    def close(self) -> None:
        self._runner.run(self.producer.stop())
        self._runner.close()


COPIERS: dict[str, Callable[[Copy], Copier]] = {
    "confluent-kafka": ConfluentCopier,
    "confluent-kafka-server-side": ConfluentServerSideCopier,
    "kafka-python": KafkaPythonCopier,
    "aiokafka": AiokafkaCopier,
}
