"""Clients that make a real Kafka write every kind of record it keeps in `__consumer_offsets`."""

import time
from contextlib import closing
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from tests.support.group_heartbeats import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    ShareGroupHeartbeatRequest,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TopicInfo,
    Topology,
    ask,
)
from tests.support.real_kafka import RealKafka

# Groups have partitions at once. Nothing else that shows in the records.
SETTINGS = {"group.initial.rebalance.delay.ms": 0, "group.streams.initial.rebalance.delay.ms": 0}
TOPICS = {"orders": 3, "payments": 1}
# kafka-python 3.0.12 was seen to send nothing more, not even heartbeats, after it joined again for want of metadata.
ATTEMPTS = (1, 2)
WAIT_S = 60.0


def make_traffic(kafka: RealKafka) -> None:
    """Groups of all kinds that commit, rebalance, leave, and are deleted; transactions that end either way."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for made in admin.create_topics([NewTopic(name, count, 1) for name, count in TOPICS.items()]).values():
        made.result(WAIT_S)
    _classic_groups(kafka)
    _kafka_python(kafka)
    _consumer_groups(kafka)
    _upgraded_group(kafka)
    _transactions(kafka)
    _scripted_commits(kafka)
    _share_group(kafka)
    _streams_group(kafka)
    for deleted in admin.delete_consumer_groups(["python", "simple"]).values():
        deleted.result(WAIT_S)


def consumer(kafka: RealKafka, group_id: str, **settings: Any) -> Consumer:
    """A consumer of confluent-kafka that commits when it is told to."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    common = {"bootstrap.servers": kafka.bootstrap, "group.id": group_id, "enable.auto.commit": False}
    return Consumer({**common, "auto.offset.reset": "earliest", "client.id": f"client of {group_id}", **named})


def await_assignments(*members: Consumer) -> None:
    """Poll all these members of a group until each has partitions: one may have to give up what another gets."""
    end_s = time.monotonic() + WAIT_S
    while not all(member.assignment() for member in members):
        assert time.monotonic() < end_s, "a consumer got no partitions"
        for member in members:
            member.poll(0.05)


def _classic_groups(kafka: RealKafka) -> None:
    for group_id, settings in (("billing-ü", {}), ("static", {"group_instance_id": "one"})):
        reader = consumer(kafka, group_id, **settings)
        reader.subscribe(["orders", "payments"])
        await_assignments(reader)
        offsets = [TopicPartition("orders", 0, 7, metadata="half € way"), TopicPartition("payments", 0, 1)]
        reader.commit(offsets=offsets, asynchronous=False)
        reader.close()


def _kafka_python(kafka: RealKafka) -> None:
    from kafka import TopicPartition as Partition
    from kafka.structs import OffsetAndMetadata

    for attempt in ATTEMPTS:
        with closing(_kafka_python_reader(kafka)) as reader:
            if _has_partitions(reader):
                reader.commit({Partition("orders", 1): OffsetAndMetadata(3, "p", -1)})
                return
        print(f"kafka-python got no partitions, attempt {attempt} of {ATTEMPTS[-1]}")
    raise AssertionError("kafka-python got no partitions")


def _kafka_python_reader(kafka: RealKafka) -> Any:
    from kafka import KafkaConsumer

    return KafkaConsumer("orders", bootstrap_servers=kafka.bootstrap, group_id="python", enable_auto_commit=False)


def _has_partitions(reader: Any) -> bool:
    end_s = time.monotonic() + WAIT_S
    while not reader.assignment() and time.monotonic() < end_s:
        reader.poll(100)
    return bool(reader.assignment())


def _consumer_groups(kafka: RealKafka) -> None:
    one = consumer(kafka, "modern", group_protocol="consumer")
    two = consumer(kafka, "modern", group_protocol="consumer", group_instance_id="two")
    one.subscribe(["orders"])
    two.subscribe(["^pay.*", "orders"])
    await_assignments(one, two)
    _commit(one, TopicPartition("orders", 2, 20, metadata="new"))
    two.close()
    one.close()
    only_pattern = consumer(kafka, "pattern", group_protocol="consumer", group_remote_assignor="range")
    only_pattern.subscribe(["^ord.*"])
    await_assignments(only_pattern)
    only_pattern.close()


def _commit(reader: Consumer, offset: TopicPartition) -> None:
    """Commit, once more if the member's epoch has changed meanwhile."""
    end_s = time.monotonic() + WAIT_S
    while True:
        try:
            reader.commit(offsets=[offset], asynchronous=False)
            return
        except KafkaException as error:
            if error.args[0].code() != KafkaError.STALE_MEMBER_EPOCH or time.monotonic() > end_s:
                raise
            reader.poll(0.1)


def _upgraded_group(kafka: RealKafka) -> None:
    """A classic group that a member of the new kind joins: a consumer group with a classic member."""
    old = consumer(kafka, "upgraded", session_timeout_ms=45_000)
    old.subscribe(["orders"])
    await_assignments(old)
    new = consumer(kafka, "upgraded", group_protocol="consumer")
    new.subscribe(["orders"])
    await_assignments(old, new)
    old.close()
    new.close()


def _transactions(kafka: RealKafka) -> None:
    reader = consumer(kafka, "exactly-once")
    reader.subscribe(["orders"])
    await_assignments(reader)
    for number, ends in enumerate(("commit", "abort", "commit", "open")):
        settings = {"bootstrap.servers": kafka.bootstrap, "transactional.id": f"tx-{number}"}
        producer = Producer(settings)
        producer.init_transactions(WAIT_S)
        for round_number in range(2):
            producer.begin_transaction()
            offsets = [TopicPartition("orders", number % 3, 100 + round_number, metadata=ends)]
            producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), WAIT_S)
            if ends == "open":
                break
            (producer.commit_transaction if ends == "commit" else producer.abort_transaction)(WAIT_S)
    reader.close()


def _scripted_commits(kafka: RealKafka) -> None:
    """Commits with a retention of their own, without a group, and offsets that are deleted."""
    clients = ScriptedClients(TcpDriver(kafka.host, kafka.port))
    client = clients.client("script")
    topics = [{"name": "orders", "partitions": [(0, 5, -1, -1, "m"), (1, 6, -1, -1, None)]}]
    for version, fields in ((2, {"retention_time_ms": 86_400_000}), (9, {})):
        answer = client.request("OffsetCommit", version, group_id="simple", topics=topics, **fields)
        assert [error for topic in answer.topics for _, error in topic.partitions] == [0, 0]
    deleted = [{"name": "orders", "partitions": [{"partition_index": 0}]}]
    assert client.request("OffsetDelete", 0, group_id="simple", topics=deleted).error_code == 0
    clients.close()


def _heartbeats(kafka: RealKafka, joining: Any, version: int, wanted_epoch: int) -> None:
    """Join, heartbeat until the member is in that epoch of its group, and leave."""
    beat, end_s = joining, time.monotonic() + WAIT_S
    while True:
        error, epoch = ask(kafka, beat, version)
        assert error == 0, epoch
        assert time.monotonic() < end_s, epoch
        if epoch >= wanted_epoch:
            break
        beat = type(joining)(group_id=joining.group_id, member_id=joining.member_id, member_epoch=epoch)
        time.sleep(0.1)
    leaving = type(joining)(group_id=joining.group_id, member_id=joining.member_id, member_epoch=-1)
    assert ask(kafka, leaving, version)[0] == 0


def _share_group(kafka: RealKafka) -> None:
    joining = ShareGroupHeartbeatRequest(
        group_id="shared", member_id="c2hhcmUtbWVtYmVyLTAwMQ", subscribed_topic_names=["orders"], rack_id="a"
    )
    _heartbeats(kafka, joining, 1, 3)


def _streams_group(kafka: RealKafka) -> None:
    changelog = TopicInfo(
        name="app-store-changelog",
        replication_factor=1,
        topic_configs=[KeyValue(key="cleanup.policy", value="compact")],
    )
    part = Subtopology(
        subtopology_id="0",
        source_topics=["orders"],
        state_changelog_topics=[changelog],
        copartition_groups=[CopartitionGroup(source_topics=[0])],
    )
    joining = StreamsGroupHeartbeatRequest(
        group_id="app",
        member_id="c3RyZWFtcy1tZW1iZXItMQ",
        rebalance_timeout_ms=60_000,
        topology=Topology(epoch=1, subtopologies=[part]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="process-1",
        user_endpoint=Endpoint(host="app.example", port=65_000),
        client_tags=[KeyValue(key="zone", value="a")],
    )
    _heartbeats(kafka, joining, 0, 3)
