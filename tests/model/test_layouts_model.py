"""With layouts and without, a broker does the same: hypothesis makes up what clients send and what happens meanwhile.

Requests come in rows that differ in a few numbers, as those of clients do, so that many are answered by layouts; the
versions are all that are served, and some of it is in transactions. Answers, deadlines, journals and logs are
compared byte by byte.
"""

from collections.abc import Iterator
from itertools import count, islice
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from fakebroker.broker.core import elections
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.broker.engine.lanes import Lane
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.create_partitions import CreatePartitionsTopic
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsTopic
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, TopicProduceData
from fakebroker.protocol.wire.messages.sync_group import SyncGroupRequestAssignment
from fakebroker.protocol.wire.messages.update_features import FeatureUpdateKey
from fakebroker.protocol.wire.registry import api
from tests.model.transactional_rows import (
    ENDS,
    IDS,
    NEW_PRODUCE,
    OLD_PRODUCE,
    PROTOCOLS,
    ROW,
    TRANSACTION_EVENTS,
    WRITES,
    TransactionalRows,
    is_of_new_protocol,
)
from tests.model.twins import Twins
from tests.support.chance import MINUTES, model_settings, run_model
from tests.support.engine import SimEngine
from tests.support.frames import JOIN
from tests.support.time import T0

CONNECTIONS = 3
CLIENTS = st.sampled_from([0, 0, 0, 1])  # connections; the last is for what is done to topics
GROUPS, TOPICS = st.sampled_from("gggh"), st.sampled_from("tttu")
LIKELY_TOPICS = st.sampled_from("ttttu")
ROWS, LONG_ROWS = st.sampled_from([2, 15, 15, 40]), st.sampled_from([15, 40])  # requests of a kind
CUTS = st.sampled_from([0, 0, 0, 1, 77, 1000])
CLIENT_IDS = st.sampled_from(["c"] * 9 + ["", None, "another"])
ISOLATION = st.sampled_from([0, 1, 1])
# How the number that changes goes on from request to request.
STEPS = st.sampled_from([1, 1, 3, 0, -1, 2**33])
LIKELY_MEMBERS = st.sampled_from(["member"] * 8 + ["simple", "stale", "unknown"])


LEAST_VERSIONS = {
    "Heartbeat": 0, "OffsetCommit": 0, "Produce": 3, "Fetch": 4,  # below are the formats before batches
    "ApiVersions": 0, "Metadata": 0, "ListOffsets": 0,
}  # fmt: skip


def versions() -> st.SearchStrategy[dict[str, int]]:
    """What a client speaks: any version of each API, the newest most often."""
    spoken = {name: (max(least, api(name).min), api(name).max) for name, least in LEAST_VERSIONS.items()}
    return st.fixed_dictionaries(
        {name: st.just(last) | st.integers(first, last) for name, (first, last) in spoken.items()}
    )


EVENTS = st.none() | st.one_of(
    st.tuples(st.just("make_topic"), TOPICS, st.integers(1, 3)),
    st.tuples(st.just("delete_topic"), st.sampled_from(["t", "u", CONSUMER_OFFSETS])),
    st.tuples(st.just("add_partitions"), st.sampled_from(["t", "u", CONSUMER_OFFSETS]), st.integers(2, 5)),
    st.tuples(st.just("configure"), TOPICS, st.sampled_from([
        {}, {"max.message.bytes": "150"}, {"message.timestamp.type": "LogAppendTime"}, {"compression.type": "lz4"},
        {"cleanup.policy": "compact"}, {"min.insync.replicas": "2"}, {"retention.ms": "1000"},
    ])),
    st.tuples(st.just("lead"), st.sampled_from(["t", "u", CONSUMER_OFFSETS]), st.sampled_from([1, 2, -1])),
    st.tuples(st.just("set_in_sync"), TOPICS, st.sampled_from([[1], [2], [1, 2]])),
    st.tuples(st.just("fence"), st.booleans()),
    st.tuples(st.just("finalize"), st.integers(0, 1)),
    st.tuples(st.just("subscribe_to_metrics"), st.booleans()),
    st.tuples(st.just("reload_groups"), st.sampled_from([None, 0, 500])),
    st.tuples(st.just("fault"), st.sampled_from(list(LEAST_VERSIONS)), st.integers(1, 3), st.sampled_from([
        {"error": "NOT_COORDINATOR"}, {"action": "disconnect"}, {"delay_s": 0.5}, {"action": "answer-twice"},
        {"throttle_ms": 5},
    ])),
    st.tuples(st.just("no_faults")),
    st.tuples(st.just("sleep"), st.sampled_from([1, 10, 1000, 3000, 11_000, 400_000])),
    st.tuples(st.just("look")),
    st.tuples(st.just("join"), GROUPS, st.just(2)),
    st.tuples(st.just("leave"), GROUPS),
    st.tuples(st.just("offset_fetch"), GROUPS),
    TRANSACTION_EVENTS,
)  # fmt: skip
"""What may happen between two requests: the name of a method and its arguments; None: nothing."""


def batch(kind: str, number: int) -> bytes | None:
    """Records to produce; all kinds but the first change with the number."""
    if kind == "null":
        return None
    size = number * 37 % 300
    producer: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "base_sequence": number % 5}
    made = build_batch(
        [Record(n, T0 + number + n, b"k", b"v" * (0 if kind == "alike" else size)) for n in range(1 + number % 3)],
        codec=4 if kind == "compressed" else 0,
        **(producer if kind == "idempotent" else {}),
    )
    if kind == "broken":
        return made[:-1] + b"!" if number % 4 == 3 else made
    return made + made if kind == "two" else made


BATCHES = st.sampled_from(["unlike"] * 5 + ["alike", "compressed", "idempotent", "broken", "two", "null"])


class LayoutsMachine(TransactionalRows, RuleBasedStateMachine):
    """Clients on a few connections, with two groups, two topics and three transactional ids."""

    @initialize(partitions=st.integers(1, 3), as_release=st.sampled_from(["4.3", "4.3", "3.9", "2.0"]),
                node_ids=st.sampled_from([(1,), (1,), (1, 2)]), spoken=st.tuples(versions(), versions()),
                unread_bytes=st.sampled_from([4_000, 1 << 26]),
                markers_delay_ms=st.sampled_from([0, 0, 50]))  # fmt: skip
    def begin(
        self,
        partitions: int,
        as_release: str,
        node_ids: tuple[int, ...],
        spoken: tuple[dict[str, int], ...],
        unread_bytes: int,
        markers_delay_ms: int,
    ) -> None:
        settings: dict[str, object] = {
            "offsets.topic.num.partitions": 3,
            "transaction.state.log.num.partitions": 3,
            "fakebroker.unread.writes.max.bytes": unread_bytes,
            "fakebroker.transaction.markers.delay.ms": markers_delay_ms,
        }
        self.twins = Twins(CONNECTIONS, settings, as_release, node_ids)
        self.versions = [  # of each connection that sends rows
            {name: self.twins.served(name, version) for name, version in each.items()} for each in spoken
        ]
        self.members: dict[str, tuple[int, str]] = {}  # generation and id of each group's latest member
        self.sessions: dict[int, tuple[int, int]] = {}  # id and next epoch of each connection's fetch session
        self.numbers = count(1)
        self.make_topic("t", partitions)
        self.join("g", 0)

    def _row(
        self,
        connection: int,
        name: str,
        each: Iterator[dict[str, Any]],
        event: tuple[Any, ...] | None,
        version: int | None = None,
        **how: Any,
    ) -> None:
        """Send requests that differ in a few numbers; in the middle something happens."""
        version = self.versions[connection][name] if version is None else version
        self.twins.send(connection, name, version, islice(each, ROW), **how)
        self.happen(event)
        self.twins.send(connection, name, version, each, **how)

    @rule(event=EVENTS)
    def happen(self, event: tuple[Any, ...] | None) -> None:
        if event is not None:
            getattr(self, event[0])(*event[1:])

    # Groups

    @rule(group=GROUPS, connection=CLIENTS)
    def join(self, group: str, connection: int) -> None:
        """A new member; if it is alone in its group the leader of a generation at once."""
        self.twins.send(connection, "JoinGroup", 3, [{**JOIN, "group_id": group, "session_timeout_ms": 10_000}])
        for name, joined in list(self.twins.answers.values()):
            if name == "JoinGroup" and not joined.error_code:
                self.members[group] = joined.generation_id, joined.member_id
                ids = [each.member_id for each in joined.members]
                shares = [SyncGroupRequestAssignment(member_id=each, assignment=b"mine") for each in ids]
                self.twins.send(connection, "SyncGroup", 2, [self._member(group, "member") | {"assignments": shares}])

    def leave(self, group: str) -> None:
        """The latest member leaves."""
        member_id = self._member(group)["member_id"]
        self.twins.send(2, "LeaveGroup", 1, [{"group_id": group, "member_id": member_id}])

    def _member(self, group: str, likely: str = "member") -> dict[str, Any]:
        generation, member_id = self.members.get(group, (-1, ""))
        if likely == "simple":
            generation, member_id = -1, ""
        elif likely == "stale":
            generation -= 1
        elif likely == "unknown":
            member_id = "nobody"
        return {"group_id": group, "generation_id": generation, "member_id": member_id}

    @rule(group=GROUPS, connection=CLIENTS, likely=LIKELY_MEMBERS, event=EVENTS, rows=ROWS, cut=CUTS,
          client_id=CLIENT_IDS)  # fmt: skip
    def heartbeats(self, group: str, connection: int, likely: str, rows: int, **how: Any) -> None:
        self._row(connection, "Heartbeat", iter([self._member(group, likely)] * rows), **how)

    @rule(group=GROUPS, connection=CLIENTS, likely=LIKELY_MEMBERS, event=EVENTS, rows=ROWS,
          cut=CUTS, step=STEPS, topics=st.sampled_from(["t", "t", "tu", "ut", "tt"]), partitions=st.integers(1, 3),
          metadata=st.sampled_from(["", "", None, "m", "m" * 5000]))  # fmt: skip
    def commits(
        self, group: str, connection: int, likely: str, rows: int, step: int, topics: str,
        partitions: int, metadata: str | None, **how: Any,
    ) -> None:  # fmt: skip
        def each() -> Iterator[dict[str, Any]]:
            for number in islice(self.numbers, rows):
                entries = [
                    (
                        index,
                        number * step - index,
                        number // 16 % 3 - 1 if self.versions[connection]["OffsetCommit"] >= 6 else -1,
                        -1,
                        metadata,
                    )
                    for index in range(partitions)
                ]
                asked = [
                    OffsetCommitRequestTopic(name=name, topic_id=self._topic_id(name), partitions=entries)
                    for name in topics
                ]
                member = self._member(group, likely)
                generation = {"generation_id_or_member_epoch": member.pop("generation_id")}
                yield {**member, **generation, "topics": asked}

        self._row(connection, "OffsetCommit", each(), **how)

    def offset_fetch(self, group: str) -> None:
        self.twins.send(2, "OffsetFetch", 5, [{"group_id": group, "topics": None}])

    # Records

    @rule(connection=CLIENTS, topics=st.sampled_from(["t", "t", "t", "tu", "u"]), event=EVENTS,
          rows=ROWS, cut=CUTS, kind=BATCHES, acks=st.sampled_from([1, -1, -1, 0, 5]),
          index=st.sampled_from([0, 0, 1, 9]), client_id=CLIENT_IDS)  # fmt: skip
    def produces(self, connection: int, topics: str, rows: int, kind: str, acks: int, index: int, **how: Any) -> None:
        def each() -> Iterator[dict[str, Any]]:
            for number in islice(self.numbers, rows):
                data = [PartitionProduceData(index=index, records=batch(kind, number))]
                asked = [
                    TopicProduceData(name=name, topic_id=self._topic_id(name), partition_data=data) for name in topics
                ]
                yield {"acks": acks, "timeout_ms": 1000, "topic_data": asked}

        self._row(connection, "Produce", each(), **how)

    @rule(connection=CLIENTS, topic=TOPICS, event=EVENTS, rows=ROWS, cut=CUTS, step=st.integers(0, 3),
          first=st.sampled_from([0, 0, 0, 2, -1, 50]), partitions=st.integers(1, 3),
          wait_ms=st.sampled_from([0, 0, 100]), max_bytes=st.sampled_from([1, 200, 1 << 20]),
          min_bytes=st.sampled_from([0, 1, 300]), isolation=ISOLATION)  # fmt: skip
    def fetches(
        self, connection: int, topic: str, rows: int, first: int, step: int, partitions: int,
        wait_ms: int, max_bytes: int, min_bytes: int, isolation: int, **how: Any,
    ) -> None:  # fmt: skip
        def each() -> Iterator[dict[str, Any]]:
            for number in range(rows):
                terms = {"max_wait_ms": wait_ms, "min_bytes": min_bytes, "isolation_level": isolation}
                yield {**terms, "topics": self._asked(topic, range(partitions), first + step * number, max_bytes)}

        self._row(connection, "Fetch", each(), **how)

    @rule(connection=CLIENTS, topic=TOPICS, partitions=st.integers(1, 3), isolation=ISOLATION)
    def begin_session(self, connection: int, topic: str, partitions: int, isolation: int) -> None:
        asked = self._asked(topic, range(partitions), 0, 1 << 20)
        version = self.versions[connection]["Fetch"]
        self.twins.send(
            connection, "Fetch", version, [{"session_epoch": 0, "isolation_level": isolation, "topics": asked}]
        )
        for name, answer in self.twins.answers.values():
            if name == "Fetch":
                self.sessions[connection] = answer.session_id, 1

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), topic=TOPICS, event=EVENTS, rows=ROWS, cut=CUTS, step=st.integers(0, 2),
          index=st.sampled_from([None, 0, 0, 1, 2]), min_bytes=st.sampled_from([0, 0, 1]),
          isolation=ISOLATION)  # fmt: skip
    def fetches_of_a_session(
        self, data: st.DataObject, topic: str, rows: int, index: int | None, step: int, min_bytes: int,
        isolation: int, **how: Any,
    ) -> None:  # fmt: skip
        connection = data.draw(st.sampled_from(sorted(self.sessions)))
        self._reads_in_session(connection, topic, rows, index, step, min_bytes, isolation, **how)

    def _reads_in_session(
        self, connection: int, topic: str, rows: int, index: int | None, step: int, min_bytes: int, isolation: int,
        **how: Any,
    ) -> None:  # fmt: skip
        def each() -> Iterator[dict[str, Any]]:
            for number in range(rows):
                session_id, epoch = self.sessions[connection]
                self.sessions[connection] = session_id, epoch + 1
                asked = [] if index is None else self._asked(topic, [index], step * number, 1 << 20)
                session = {"session_id": session_id, "session_epoch": epoch, "isolation_level": isolation}
                yield {**session, "min_bytes": min_bytes, "max_wait_ms": 50, "topics": asked}

        self._row(connection, "Fetch", each(), **how)

    # What a client asks first

    @rule(connection=CLIENTS, event=EVENTS, rows=ROWS, cut=CUTS, client_id=CLIENT_IDS,
          topics=st.sampled_from(["t", "t", "tu", "tt", "v", "", None]), may_create=st.booleans())  # fmt: skip
    def asks_for_metadata(self, connection: int, rows: int, topics: str | None, may_create: bool, **how: Any) -> None:
        asked = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        if self.versions[connection]["Metadata"] == 0:
            asked = asked or []
        fields: dict[str, Any] = {"topics": asked}
        if self.versions[connection]["Metadata"] >= 4:
            fields["allow_auto_topic_creation"] = may_create
        self._row(connection, "Metadata", iter([fields] * rows), **how)

    @rule(connection=CLIENTS, event=EVENTS, rows=ROWS, cut=CUTS, name=st.sampled_from(["client"] * 3 + ["?"]))
    def asks_for_versions(self, connection: int, rows: int, name: str, **how: Any) -> None:
        fields = {"client_software_name": name, "client_software_version": "1"}
        self._row(connection, "ApiVersions", iter([fields] * rows), **how)

    @rule(connection=CLIENTS, event=EVENTS, rows=ROWS, cut=CUTS, topics=st.sampled_from(["t", "t", "tu", "tt"]),
          partitions=st.integers(1, 3), first=st.sampled_from([T0, T0, T0, -1, -2, -4, 0, 7]),
          step=st.sampled_from([0, 0, 1, 1, 100, -1]), epoch=st.sampled_from([-1, -1, 0, 1]),
          isolation=ISOLATION)  # fmt: skip
    def lists_offsets(
        self, connection: int, topics: str, partitions: int, first: int, step: int, epoch: int, isolation: int,
        rows: int, **how: Any,
    ) -> None:  # fmt: skip
        version = self.versions[connection]["ListOffsets"]

        def each() -> Iterator[dict[str, Any]]:
            for number in range(rows):
                asked = [
                    (index, epoch if version >= 4 else -1, first + step * number, 1) for index in range(partitions)
                ]
                entries = [ListOffsetsTopic(name=name, partitions=asked) for name in topics]
                yield {"replica_id": -1, "isolation_level": isolation * (version >= 2), "topics": entries}

        self._row(connection, "ListOffsets", each(), **how)

    # Transactions

    @rule(data=st.data(), transactional_id=IDS, connection=CLIENTS, topic=LIKELY_TOPICS,
          index=st.sampled_from([0, 0, 1]), rows=ROWS, kind=WRITES, acks=st.sampled_from([-1] * 8 + [1, 0]),
          speaks=PROTOCOLS, commit=ENDS, event=EVENTS, cut=CUTS, client_id=CLIENT_IDS)  # fmt: skip
    def produces_in_a_transaction(
        self, data: st.DataObject, transactional_id: str, connection: int, topic: str, index: int, rows: int,
        kind: str, acks: int, speaks: str, commit: bool | None, **how: Any,
    ) -> None:  # fmt: skip
        is_new = is_of_new_protocol(transactional_id, speaks)
        version = self.twins.served("Produce", data.draw(NEW_PRODUCE if is_new else OLD_PRODUCE))
        end = ("end", transactional_id, bool(commit), 5 if is_new else 3)
        how["event"] = end if data.draw(st.sampled_from([True, False, False])) else how["event"]
        each = self.transactional_batches(transactional_id, topic, index, rows, kind, acks, is_new=is_new)
        self._row(connection, "Produce", each, version=version, **how)
        if commit is not None:
            self.end(transactional_id, commit, 5 if is_new else 3)

    @rule(transactional_id=IDS, group=GROUPS, connection=CLIENTS, likely=LIKELY_MEMBERS, rows=st.sampled_from([1, 9]),
          version=st.sampled_from([0, 2, 3, 4, 5, 5]), commit=ENDS, event=EVENTS, cut=CUTS,
          client_id=CLIENT_IDS)  # fmt: skip
    def commits_in_a_transaction(
        self, transactional_id: str, group: str, connection: int, likely: str, rows: int, version: int,
        commit: bool | None, **how: Any,
    ) -> None:  # fmt: skip
        version = self.twins.served("TxnOffsetCommit", version)
        each = self.transactional_commits(transactional_id, group, likely, rows, version)
        self._row(connection, "TxnOffsetCommit", each, version=version, **how)
        if commit is not None:
            self.end(transactional_id, commit, 5 if version >= 5 else 3)

    @rule(data=st.data(), transactional_id=IDS, topic=LIKELY_TOPICS, count=st.integers(1, 5), commit=st.booleans(),
          likely=st.sampled_from([True, True, True, False]), in_session=st.booleans(), rows=LONG_ROWS,
          cut=CUTS)  # fmt: skip
    def reads_while_a_transaction_ends(
        self, data: st.DataObject, transactional_id: str, topic: str, count: int, commit: bool,
        likely: bool, in_session: bool, **how: Any,
    ) -> None:  # fmt: skip
        """A reader, most often of what is committed, has lists of aborted transactions in the middle of its row."""
        is_new = is_of_new_protocol(transactional_id, "its own")
        each = self.transactional_batches(transactional_id, topic, 0, count, "good", -1, is_new=is_new)
        version = self.twins.served("Produce", data.draw(NEW_PRODUCE if is_new else OLD_PRODUCE))
        self._row(1, "Produce", each, None, version=version)
        how |= {
            "topic": topic,
            "step": 0,
            "isolation": int(likely),
            "event": ("end", transactional_id, commit, 5 if is_new else 3),
        }
        if in_session:
            self.begin_session(0, topic, 2, int(likely))
            index = data.draw(st.sampled_from([0, 0, None]))
            if 0 in self.sessions:
                self._reads_in_session(0, index=index, min_bytes=0, **how)
        else:
            self.fetches(
                0,
                first=0,
                partitions=1,
                wait_ms=0,
                max_bytes=data.draw(st.sampled_from([200, 1 << 20])),
                min_bytes=0,
                **how,
            )

    def _asked(self, topic: str, indexes: Any, offset: int, max_bytes: int) -> list[FetchTopic]:
        rows = [(index, -1, offset, -1, -1, max_bytes, bytes(16), 2**63 - 1) for index in indexes]
        return [FetchTopic(topic=topic, topic_id=self._topic_id(topic), partitions=rows)]

    def _topic_id(self, name: str) -> bytes:
        topic = self.twins.topic(name)
        return bytes(16) if topic is None else topic.id

    # What happens meanwhile

    def make_topic(self, name: str, partitions: int) -> None:
        only = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        self.twins.send(2, "CreateTopics", 2, [{"topics": [only], "timeout_ms": 1000}])

    def delete_topic(self, name: str) -> None:
        self.twins.send(2, "DeleteTopics", 1, [{"topic_names": [name], "timeout_ms": 1000}])

    def add_partitions(self, name: str, partitions: int) -> None:
        asked = CreatePartitionsTopic(name=name, count=partitions)
        self.twins.send(2, "CreatePartitions", 0, [{"topics": [asked], "timeout_ms": 1000}])

    def configure(self, name: str, config: dict[str, str]) -> None:
        def replace(broker: SimEngine, _now: Instant) -> None:
            topic = broker.cluster.topics.get(name)
            if topic is not None:
                topic.config.replace(config)

        self.twins.do(replace)

    def lead(self, name: str, leader: int) -> None:
        """The topic's partitions get another leader, or none."""

        def lead(broker: SimEngine, now: Instant) -> None:
            topic = broker.cluster.topics.get(name)
            for partition in topic.partitions if topic is not None else ():
                if leader in (-1, *partition.replicas):
                    partition.lead(leader, now)

        self.twins.do(lead)

    def set_in_sync(self, name: str, in_sync: list[int]) -> None:
        """Of the topic's replicas only these are in sync."""

        def set_all(broker: SimEngine, now: Instant) -> None:
            topic = broker.cluster.topics.get(name)
            for partition in topic.partitions if topic is not None else ():
                elections.set_in_sync(partition, [each for each in in_sync if each in partition.replicas], now)

        self.twins.do(set_all)

    def fence(self, is_fenced: bool) -> None:
        """The last broker is not shown to clients, or is again."""

        def set_fenced(broker: SimEngine, _now: Instant) -> None:
            *_, last = broker.cluster.nodes.values()
            last.is_fenced = is_fenced

        self.twins.do(set_fenced)

    def finalize(self, level: int) -> None:
        """A feature gets another level."""
        update = FeatureUpdateKey(feature="share.version", max_version_level=level, upgrade_type=3 - 2 * level)
        if api("UpdateFeatures").key in self.twins.brokers[0].engine.listeners[0].versions:
            self.twins.send(2, "UpdateFeatures", 1, [{"feature_updates": [update], "timeout_ms": 1000}])

    def subscribe_to_metrics(self, is_on: bool) -> None:
        """Somebody subscribes to metrics of clients, or nobody does any more."""

        def subscribe(broker: SimEngine, _now: Instant) -> None:
            broker.cluster.client_metrics.pop("s", None)
            if is_on:
                broker.cluster.client_metrics["s"] = {}

        self.twins.do(subscribe)

    def reload_groups(self, load_ms: int | None) -> None:
        """The groups are forgotten, and loaded again by the next request, now, or slowly."""

        def reload(broker: SimEngine, now: Instant) -> None:
            coordinator = broker.cluster.nodes[1].coordinator
            for index in list(coordinator.shards):
                coordinator.unload(index, now)
                if load_ms is not None:
                    coordinator.load(index, now, load_ms)

        self.twins.do(reload)

    def fault(self, name: str, times: int, action: dict[str, Any]) -> None:
        def add(broker: SimEngine, _now: Instant) -> None:
            broker.engine.faults.add(FaultSpec(api=name, times=times, **action))

        self.twins.do(add)

    def no_faults(self) -> None:
        self.twins.do(lambda broker, _now: broker.engine.faults.clear())

    def sleep(self, ms: int) -> None:
        self.twins.sleep(ms)

    def look(self) -> None:
        self.twins.compare_logs()

    def teardown(self) -> None:
        if hasattr(self, "twins"):
            self.twins.compare_journals()
            self.twins.compare_logs()
            for group in "gh":
                self.offset_fetch(group)


SHORT = model_settings(max_examples=60, steps=30)


@pytest.mark.random
@pytest.mark.timeout(0 if MINUTES else 600)  # a failure takes its time to shrink
def test_layouts_make_no_difference() -> None:
    """In no history is an answer, a deadline, the journal or a log another one than without layouts; with
    FAKEBROKER_MODEL_MINUTES for that long.
    """
    served = 0
    serve = Lane.serve

    def counted(lane: Lane, *request: Any) -> bool:
        nonlocal served
        is_served = serve(lane, *request)
        served += is_served
        return is_served

    with patch.object(Lane, "serve", counted):
        runs = run_model(LayoutsMachine, SHORT, settings(SHORT, max_examples=25, stateful_step_count=100))
    assert served > runs, "too few requests were answered by layouts to say anything"
    if MINUTES:
        print(f"\n{served:,} requests by layouts in {runs:,} histories over {MINUTES:g} minutes: no difference")
