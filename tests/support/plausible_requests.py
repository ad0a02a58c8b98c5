"""What clients that know the protocol would send next: the fields of the requests that need more than luck to be taken.

`Memory` keeps what the last answers said of members, sessions and producers; `plausible` makes fields of it. Fields
that are not named here keep their defaults.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages import add_partitions_to_txn as add_partitions
from fakebroker.protocol.wire.messages import consumer_group_heartbeat as consumer
from fakebroker.protocol.wire.messages import fetch, join_group, produce, share_fetch, sync_group
from fakebroker.protocol.wire.messages import streams_group_heartbeat as streams
from fakebroker.protocol.wire.messages.share_acknowledge import AcknowledgementBatch as Acknowledged
from fakebroker.protocol.wire.messages.share_acknowledge import AcknowledgePartition, AcknowledgeTopic

Fields = dict[str, Any]
NOW_MS = 1_700_000_000_000
MEMBERS = tuple(f"c5f6a5a0-0000-4000-8000-{number:012}" for number in range(4))
TRANSACTIONAL = "tx"
MAX_MS = 60_000


class Memory:
    """What answers said. Keys are the API and who it was about; values are what the next request needs."""

    def __init__(self, random: Random, topic_id: bytes) -> None:
        self.random = random
        self.topic_id = topic_id
        self.epochs: dict[tuple[str, str], int] = {}  # (API, member id) -> member epoch
        self.owned: dict[tuple[str, str], Any] = {}  # what the last heartbeat assigned
        self.classic: dict[str, int] = {}  # member id -> generation
        self.producer = (-1, -1)
        self.sequence = 0
        self.share_epochs: dict[str, int] = {}  # member id -> epoch of its share session
        self.acquired: list[tuple[int, int]] = []
        self.fetch_session = (0, 0)

    def note(self, name: str, request: Any, answer: Any) -> None:
        """Take in an answer and the request that it is for."""
        code = getattr(answer, "error_code", 0)
        if name.endswith("GroupHeartbeat"):
            self._note_heartbeat((name, request.member_id), answer, code)
        elif name == "JoinGroup" and answer.member_id:
            self.classic[answer.member_id] = answer.generation_id
        elif name == "InitProducerId" and not code:
            self.producer, self.sequence = (answer.producer_id, answer.producer_epoch), 0
        elif name in ("ShareFetch", "ShareAcknowledge"):
            self._note_share(name, request, answer, code)
        elif name == "Fetch":
            self.fetch_session = (answer.session_id, _after(request.session_epoch)) if answer.session_id else (0, 0)

    def _note_heartbeat(self, key: tuple[str, str], answer: Any, code: int) -> None:
        if code:
            self.epochs.pop(key, None)
            return
        self.epochs[key] = max(answer.member_epoch, 0)
        self.owned[key] = getattr(answer, "assignment", None) or getattr(answer, "active_tasks", None)

    def _note_share(self, name: str, request: Any, answer: Any, code: int) -> None:
        self.share_epochs[request.member_id] = 0 if code else _after(request.share_session_epoch)
        if name == "ShareFetch":
            found = [part for topic in answer.responses for part in topic.partitions if part.partition_index == 0]
            self.acquired = [(each.first_offset, each.last_offset) for part in found for each in part.acquired_records]

    def member(self) -> str:
        """The id of one of a few members."""
        return self.random.choice(MEMBERS)


def _after(epoch: int) -> int:
    """The next epoch of a session; after the largest comes 1."""
    return 1 if epoch == 2**31 - 1 else epoch + 1


def is_plausible(name: str) -> bool:
    """Whether `plausible` knows that API."""
    return name in _MAKERS


def plausible(name: str, memory: Memory) -> Fields | None:
    """Fields for a request of that API, None if chance alone makes good ones."""
    make = _MAKERS.get(name)
    return None if make is None else make(memory)


def _consumer(memory: Memory) -> Fields:
    member = memory.member()
    key = ("ConsumerGroupHeartbeat", member)
    epoch = memory.random.choice((memory.epochs.get(key, 0),) * 8 + (0, -1))
    fields: Fields = {"group_id": "consumer", "member_id": member, "member_epoch": epoch}
    if epoch <= 0:
        return fields | {
            "rebalance_timeout_ms": MAX_MS,
            "subscribed_topic_names": memory.random.choice((["t"], ["t", "u"], ["made"])),
            "topic_partitions": [],
        }
    assigned = memory.owned.get(key)
    if assigned is not None:
        fields["topic_partitions"] = [
            consumer.TopicPartitions(topic_id=each.topic_id, partitions=list(each.partitions))
            for each in assigned.topic_partitions
        ]
    return fields


def _share(memory: Memory) -> Fields:
    member = memory.member()
    epoch = memory.random.choice((memory.epochs.get(("ShareGroupHeartbeat", member), 0),) * 8 + (0, -1))
    topics = {"subscribed_topic_names": ["t"]} if epoch == 0 else {}
    return {"group_id": "share", "member_id": member, "member_epoch": epoch, **topics}


def _streams(memory: Memory) -> Fields:
    member = memory.member()
    key = ("StreamsGroupHeartbeat", member)
    epoch = memory.random.choice((memory.epochs.get(key, 0),) * 8 + (0, -1))
    fields: Fields = {"group_id": "streams", "member_id": member, "member_epoch": epoch}
    tasks = memory.owned.get(key) or []
    if epoch == 0:
        part = streams.Subtopology(subtopology_id="0", source_topics=["t"], state_changelog_topics=[])
        fields |= {"topology": streams.Topology(epoch=1, subtopologies=[part]), "process_id": member, "client_tags": []}
        fields |= {"rebalance_timeout_ms": MAX_MS}
        tasks = []
    owned = [streams.TaskIds(subtopology_id=each.subtopology_id, partitions=list(each.partitions)) for each in tasks]
    return fields | {"active_tasks": owned, "standby_tasks": [], "warmup_tasks": []}


def _join(memory: Memory) -> Fields:
    member = memory.random.choice(["", *memory.classic])
    protocol = join_group.JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff")
    return {
        "group_id": "classic",
        "session_timeout_ms": 30_000,
        "rebalance_timeout_ms": 30_000,
        "member_id": member,
        "protocol_type": "consumer",
        "protocols": [protocol],
    }


def _classic(memory: Memory) -> Fields:
    member, generation = memory.random.choice([*memory.classic.items(), ("m", 1)])
    return {"group_id": "classic", "generation_id": generation, "member_id": member}


def _sync(memory: Memory) -> Fields:
    given = [sync_group.SyncGroupRequestAssignment(member_id=each, assignment=b"\0\0") for each in memory.classic]
    return _classic(memory) | {"assignments": given, "protocol_type": "consumer", "protocol_name": "range"}


def _init_producer(memory: Memory) -> Fields:
    return {"transactional_id": TRANSACTIONAL, "transaction_timeout_ms": memory.random.choice((1_000, 30_000))}


def _add_partitions(memory: Memory) -> Fields:
    producer_id, epoch = memory.producer
    topic = add_partitions.AddPartitionsToTxnTopic(name="t", partitions=[0, 1])
    return {
        "v3_and_below_transactional_id": TRANSACTIONAL,
        "v3_and_below_producer_id": producer_id,
        "v3_and_below_producer_epoch": epoch,
        "v3_and_below_topics": [topic],
    }


def _end_txn(memory: Memory) -> Fields:
    producer_id, epoch = memory.producer
    committed = memory.random.random() < 0.5
    return {
        "transactional_id": TRANSACTIONAL,
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "committed": committed,
    }


def _produce(memory: Memory) -> Fields:
    records = [Record(number, NOW_MS, b"k", b"v", []) for number in range(memory.random.choice((1, 3, 10)))]
    producer_id, epoch = memory.producer
    in_transaction = producer_id >= 0 and memory.random.random() < 0.5
    if in_transaction:
        data = build_batch(
            records,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=memory.sequence,
            transactional=True,
        )
        memory.sequence += len(records)
    else:
        data = build_batch(records)
    part = produce.PartitionProduceData(index=0, records=data)
    topic = produce.TopicProduceData(name="t", topic_id=memory.topic_id, partition_data=[part])
    return {
        "transactional_id": TRANSACTIONAL if in_transaction else None,
        "acks": -1,
        "timeout_ms": 5_000,
        "topic_data": [topic],
    }


def _fetch(memory: Memory) -> Fields:
    session_id, epoch = memory.fetch_session
    row = (0, -1, memory.random.choice((0, 0, 5)), -1, -1, 1 << 20, bytes(16), 2**63 - 1)
    topic = fetch.FetchTopic(topic="t", topic_id=memory.topic_id, partitions=[row])
    return {
        "max_wait_ms": memory.random.choice((0, 500)),
        "min_bytes": 1,
        "max_bytes": 1 << 24,
        "session_id": session_id,
        "session_epoch": epoch,
        "topics": [topic],
    }


def _share_fetch(memory: Memory) -> Fields:
    member = memory.member()
    epoch = memory.share_epochs.get(member, 0)
    said = [
        share_fetch.AcknowledgementBatch(
            first_offset=first, last_offset=last, acknowledge_types=[memory.random.choice((1, 1, 2, 3))]
        )
        for first, last in (memory.acquired if epoch else ())
    ]
    part = share_fetch.FetchPartition(partition_index=0, acknowledgement_batches=said)
    return {
        "group_id": "share",
        "member_id": member,
        "share_session_epoch": epoch,
        "max_wait_ms": memory.random.choice((0, 500)),
        "min_bytes": 1,
        "max_records": 10,
        "batch_size": 10,
        "topics": [share_fetch.FetchTopic(topic_id=memory.topic_id, partitions=[part])],
    }


def _share_acknowledge(memory: Memory) -> Fields:
    member = memory.member()
    said = [
        Acknowledged(first_offset=first, last_offset=last, acknowledge_types=[memory.random.choice((1, 2, 3))])
        for first, last in memory.acquired
    ]
    part = AcknowledgePartition(partition_index=0, acknowledgement_batches=said)
    topic = AcknowledgeTopic(topic_id=memory.topic_id, partitions=[part])
    epoch = memory.share_epochs.get(member, 0)
    return {"group_id": "share", "member_id": member, "share_session_epoch": epoch, "topics": [topic]}


_MAKERS: dict[str, Callable[[Memory], Fields]] = {
    "ConsumerGroupHeartbeat": _consumer,
    "ShareGroupHeartbeat": _share,
    "StreamsGroupHeartbeat": _streams,
    "JoinGroup": _join,
    "SyncGroup": _sync,
    "Heartbeat": _classic,
    "InitProducerId": _init_producer,
    "AddPartitionsToTxn": _add_partitions,
    "EndTxn": _end_txn,
    "Produce": _produce,
    "Fetch": _fetch,
    "ShareFetch": _share_fetch,
    "ShareAcknowledge": _share_acknowledge,
}
