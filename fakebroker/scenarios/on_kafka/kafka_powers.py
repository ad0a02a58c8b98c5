"""The part of the object model that can be had from any Kafka by its protocol: its groups and topics as they are.

The names are those of `FakeBroker` and its handles, so that a step of a scenario finds the same things here. What
`MEMBERS` does not list, a Kafka does not tell, or cannot do.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from fakebroker.client.cluster.asking import GROUP, Coordinator
from fakebroker.client.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, Fetch
from fakebroker.client.cluster.errors import AnsweredError, NoSuchPartition
from fakebroker.client.cluster.offset_ranges import read_range
from fakebroker.client.cluster.preparing import (
    WITHIN_MS,
    await_group,
    await_producer_ids,
    await_transactions,
    create_topics,
)
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, KafkaError, WaitTimeout
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.records.batch import build_batch, read_records, split_batches
from fakebroker.protocol.records.consumer_protocol import assigned_partitions, decode_subscription
from fakebroker.protocol.records.offsets_topic import CommittedOffset, TopicPartition
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.schema.building import built
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.delete_groups import DeleteGroupsRequest
from fakebroker.protocol.wire.messages.delete_records import DeleteRecordsRequest
from fakebroker.protocol.wire.messages.delete_topics import DeleteTopicsRequest
from fakebroker.protocol.wire.messages.describe_configs import DescribeConfigsRequest
from fakebroker.protocol.wire.messages.describe_groups import DescribeGroupsRequest
from fakebroker.protocol.wire.messages.leave_group import LeaveGroupRequest
from fakebroker.protocol.wire.messages.list_groups import ListGroupsRequest
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequest
from fakebroker.protocol.wire.messages.produce import ProduceRequest
from fakebroker.protocol.wire.registry import newest_by_name
from fakebroker.scenarios.on_kafka.kafka_group_kinds import described, kind_of_group
from fakebroker.scenarios.on_kafka.kafka_transaction import KafkaTransaction
from fakebroker.testing.handles.handle import WAIT_S
from fakebroker.testing.handles.member_view import MemberView
from fakebroker.testing.handles.topic import StoredRecord

Text = bytes | str | None

RETRY_MS = 100
RETRIES = 300
CLIENT_ID = "fakebroker-scenario"
_BROKER = 4  # resource type of DescribeConfigs
_NAMED_IN_ANSWER = 5  # of DescribeGroups: later versions answer an error for a group that is not there
_TOPICS_BY_NAME = 5  # of DeleteTopics: later ones have names or ids

# What there is of each handle. Verbs are those that take arguments.
MEMBERS: Mapping[str, frozenset[str]] = {
    "group": frozenset(
        {"exists", "kind", "state", "epoch", "assignment_epoch", "is_reconciled", "protocol", "members", "offsets"}
        | {"committed", "commit", "delete", "wait"}
    ),
    "topic": frozenset({"exists", "partitions", "end_offsets", "records", "produce", "delete", "advance_log_start"}),
    "transaction": frozenset(
        {"exists", "state", "producer_id", "producer_epoch", "partitions", "timeout_ms", "start_ms", "wait"}
    ),
}


class KafkaPowers:
    """What there is of a broker's powers on a Kafka that is reached by its protocol only."""

    def __init__(self, cluster: ClusterClient) -> None:
        self._cluster = cluster

    def group(self, group_id: str) -> "KafkaGroup":
        """One group."""
        return KafkaGroup(self._cluster, group_id)

    def transaction(self, transactional_id: str) -> KafkaTransaction:
        """One transactional id."""
        return KafkaTransaction(self._cluster, transactional_id)

    def topic(self, name: str) -> "KafkaTopic":
        """One topic."""
        return KafkaTopic(self._cluster, name)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int | None = None,
        config: Mapping[str, object] | None = None,
    ) -> "KafkaTopic":
        """Create a topic and wait until its partitions have leaders. Raises KafkaError for one that is rejected."""
        configs = [{"name": key, "value": str(value)} for key, value in (config or {}).items()]
        wanted = {"name": name, "num_partitions": partitions, "replication_factor": replication_factor or 1}
        with _codes_raised():
            made = create_topics(self._cluster, [built(CreatableTopic, {**wanted, "configs": configs})])
            _check(ErrorCode.NONE if made else ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r}")
            self._cluster.await_topics({name: partitions})
        return self.topic(name)

    def settings(self, names: Sequence[str]) -> dict[str, str | None]:
        """Broker settings in force, by name; those that the Kafka does not know are left out."""
        node_id = self.node_ids()[0]
        wanted = {"resource_type": _BROKER, "resource_name": str(node_id), "configuration_keys": list(names)}
        answer = self._cluster.ask(built(DescribeConfigsRequest, {"resources": [wanted]}), node_id)
        (result,) = answer.results
        _check(result.error_code, f"settings of broker {node_id}")
        return {each.name: each.value for each in result.configs if each.name in names}

    def node_ids(self) -> list[int]:
        """The brokers of its cluster."""
        return sorted(self._cluster.brokers())

    def addresses(self) -> list[Address]:
        """Where clients reach its brokers, in the order of their numbers."""
        return [address for _, address in sorted(self._cluster.brokers().items())]

    def versions(self) -> dict[int, tuple[int, int]]:
        """The lowest and the highest version that it serves, by API key."""
        return self._cluster.versions()

    def prepare(self, name: str, *, transactions: bool) -> None:
        """Wait until coordinators answer for a group of this name, and a transactional id, and producer ids are there.

        Raises ClusterError.
        """
        await_group(self._cluster, name)
        if transactions:
            await_transactions(self._cluster, name)
        await_producer_ids(self._cluster)

    def forget(self, suffix: str) -> None:
        """Delete the groups and topics whose names end so, as far as the Kafka allows it; members are made to leave."""
        listed = chain.from_iterable(
            self._cluster.ask(ListGroupsRequest(), node_id).groups for node_id in self.node_ids()
        )
        for group_id in [each.group_id for each in listed if each.group_id.endswith(suffix)]:
            coordinator = Coordinator(GROUP, group_id)
            members = [{"member_id": each.member_id} for each in self.group(group_id).members]
            if members:
                leave = built(LeaveGroupRequest, {"group_id": group_id, "members": members})
                self._cluster.ask(leave, coordinator)
            self._cluster.ask(DeleteGroupsRequest(groups_names=[group_id]), coordinator)
        for name in [name for name in self._cluster.topics() if name.endswith(suffix)]:
            _delete_topic(self._cluster, name)


class KafkaGroup:
    """A group as DescribeGroups and OffsetFetch show it."""

    def __init__(self, cluster: ClusterClient, group_id: str) -> None:
        self._cluster = cluster
        self._coordinator = Coordinator(GROUP, group_id)
        self.group_id = group_id

    def __repr__(self) -> str:
        return f"<group {self.group_id}>"

    @property
    def exists(self) -> bool:
        """Whether there is such a group."""
        return self.state != "Dead"

    @property
    def kind(self) -> str | None:
        """ "classic", "consumer", "share" or "streams"; None for a group that is not there."""
        return kind_of_group(self._cluster, self.group_id).kind

    @property
    def state(self) -> str:
        """The state; "Dead" for a group that is not there."""
        found = kind_of_group(self._cluster, self.group_id)
        return str(self._described().group_state) if found.kind in (None, "classic") else found.state

    @property
    def epoch(self) -> int:
        """The group epoch; -1 for a classic group."""
        return described(self._cluster, self.group_id, self.kind).epoch

    @property
    def assignment_epoch(self) -> int:
        """The group epoch for which the target assignment was computed; -1 for a classic group."""
        return described(self._cluster, self.group_id, self.kind).assignment_epoch

    @property
    def is_reconciled(self) -> bool:
        """Whether it is Stable and every member has the epoch of the group, where there are epochs."""
        found = kind_of_group(self._cluster, self.group_id)
        is_there = found.kind == "classic" or described(self._cluster, self.group_id, found.kind).is_reconciled
        return self.state == "Stable" and is_there

    @property
    def protocol(self) -> str | None:
        """The protocol that its members agreed on."""
        return str(self._described().protocol_data) or None

    @property
    def members(self) -> list[MemberView]:
        """Its members, in Kafka's order, which is random."""
        return [_member(each) for each in self._described().members]

    @property
    def offsets(self) -> dict[tuple[str, int], int]:
        """The committed offsets by topic and partition."""
        return {(each.topic, each.partition): each.offset for each in self.committed}

    @property
    def committed(self) -> list[CommittedOffset]:
        """The committed offsets with their metadata and leader epochs; what OffsetFetch does not tell is -1."""
        answer = await_group(self._cluster, self.group_id)
        _check(answer.error_code, f"offsets of group {self.group_id!r}")
        return [
            CommittedOffset(topic.name, index, offset, epoch, metadata, commit_ms=-1, expire_ms=-1, topic_id=ZERO_UUID)
            for topic in answer.topics
            for index, offset, epoch, metadata, _ in topic.partitions
            if offset >= 0
        ]

    def wait(
        self,
        *,
        state: str | None = None,
        members: int | None = None,
        protocol: str | None = None,
        reconciled: bool = False,
        offsets: Mapping[tuple[str, int], int] | None = None,
        timeout_s: float = WAIT_S,
    ) -> None:
        """Wait until the group matches all given arguments. Raises WaitTimeout."""
        wanted: dict[str, Any] = {"state": state, "protocol": protocol, "offsets": offsets, "members": members}
        wanted["reconciled"] = reconciled or None
        end_ms = self._cluster.driver.mono_ms + round(timeout_s * 1000)
        while True:
            there: dict[str, Any] = {"state": self.state, "protocol": self.protocol, "members": self._member_count()}
            there["reconciled"] = self.is_reconciled if reconciled else None
            there["offsets"] = {key: value for key, value in self.offsets.items() if key in (offsets or {})}
            if all(value is None or there[name] == value for name, value in wanted.items()):
                return
            if self._cluster.driver.mono_ms >= end_ms:
                raise WaitTimeout(f"waited {timeout_s:g} s for group {self.group_id} to be {wanted}; it is {there}")
            self._cluster.driver.pass_time(RETRY_MS)

    def _member_count(self) -> int:
        described_group = described(self._cluster, self.group_id, self.kind)
        return len(described_group.member_epochs) or len(self.members)

    def commit(self, offsets: Mapping[tuple[str, int], int], metadata: str = "") -> None:
        """Commit offsets as no member of the group. Raises KafkaError for the first that is refused."""
        topics = [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": index, "committed_offset": offset, "committed_metadata": metadata}
                    for (name, index), offset in offsets.items()
                    if name == topic
                ],
            }
            for topic in dict.fromkeys(name for name, _ in offsets)
        ]
        request = built(OffsetCommitRequest, {"group_id": self.group_id, "topics": topics})
        answer = self._cluster.ask(request, self._coordinator, newest_by_name(ApiKey.OFFSET_COMMIT))
        for topic in answer.topics:
            for _, code in topic.partitions:
                _check(code, f"commit to group {self.group_id!r}")

    def delete(self) -> None:
        """Delete the group. Raises KafkaError as Kafka answers."""
        answer = self._cluster.ask(DeleteGroupsRequest(groups_names=[self.group_id]), self._coordinator)
        _check(answer.results[0].error_code, f"group {self.group_id!r}")

    def _described(self) -> Any:
        request = DescribeGroupsRequest(groups=[self.group_id])
        (group,) = self._cluster.ask(request, self._coordinator, _NAMED_IN_ANSWER).groups
        _check(group.error_code, f"group {self.group_id!r}")
        return group


class KafkaTopic:
    """A topic as Metadata, ListOffsets and Fetch show it."""

    def __init__(self, cluster: ClusterClient, name: str) -> None:
        self._cluster = cluster
        self.name = name

    def __repr__(self) -> str:
        return f"<topic {self.name}>"

    @property
    def exists(self) -> bool:
        """Whether the topic exists."""
        return self.name in self._cluster.topics([self.name])

    @property
    def partitions(self) -> int:
        """The number of partitions. Raises KafkaError if it is not there."""
        with _codes_raised():
            return len(self._cluster.partitions([self.name]))

    @property
    def end_offsets(self) -> dict[int, int]:
        """Where the next record of each partition will be."""
        return self._offsets(LATEST)

    def records(self, partition: int | None = None) -> list[StoredRecord]:
        """The records that a consumer can read, of one partition or of all."""
        ends = self.end_offsets
        starts = self._offsets(EARLIEST)
        wanted = sorted(ends) if partition is None else [partition]
        return list(chain.from_iterable(self._read(index, starts[index], ends[index]) for index in wanted))

    def produce(
        self,
        *values: Text,
        key: Text = None,
        partition: int = 0,
        headers: Any = (),
        timestamp_ms: int | None = None,
    ) -> int:
        """Append records, as one batch; the offset of the first. Raises KafkaError as Kafka answers."""
        at_ms = self._cluster.driver.wall_ms if timestamp_ms is None else timestamp_ms
        named = tuple((_bytes(name) or b"", _bytes(value)) for name, value in headers)
        rows = [Record(index, at_ms, _bytes(key), _bytes(value), named) for index, value in enumerate(values)]
        data = {"index": partition, "records": build_batch(rows, leader_epoch=-1)}
        topics = [{"name": self.name, "partition_data": [data]}]
        request = built(ProduceRequest, {"acks": -1, "timeout_ms": WITHIN_MS, "topic_data": topics})
        answer = self._asked_of_leader(partition, request, newest_by_name(ApiKey.PRODUCE))
        (row,) = answer.responses[0].partition_responses
        _check(row.error_code, f"produce to {self.name}-{partition}")
        return int(row.base_offset)

    def advance_log_start(self, offset: int, partition: int = 0) -> None:
        """Delete the records before `offset`, as DeleteRecords does."""
        topics = [{"name": self.name, "partitions": [{"partition_index": partition, "offset": offset}]}]
        request = built(DeleteRecordsRequest, {"topics": topics, "timeout_ms": WITHIN_MS})
        answer = self._asked_of_leader(partition, request)
        _check(answer.topics[0].partitions[0].error_code, f"{self.name}-{partition}")

    def delete(self) -> None:
        """Delete the topic. Raises KafkaError as Kafka answers."""
        _check(_delete_topic(self._cluster, self.name), f"topic {self.name!r}")

    def _asked_of_leader(self, partition: int, request: Any, newest: int | None = None) -> Any:
        with _codes_raised():
            return self._cluster.ask(request, TopicPartition(self.name, partition), newest)

    def _offsets(self, time: int) -> dict[int, int]:
        with _codes_raised():
            found = self._cluster.offsets(dict.fromkeys(self._cluster.partitions([self.name]), time))
        return {partition.partition: at.offset for partition, at in found.items()}

    def _read(self, index: int, start: int, end: int) -> Iterator[StoredRecord]:
        with _codes_raised():
            for chunk in read_range(self._cluster, Fetch(TopicPartition(self.name, index), start), end):
                for batch in split_batches(chunk.fetched.records):
                    yield from (_stored(index, each) for each in read_records(batch) if each.offset >= start)


def _member(each: Any) -> MemberView:
    """A member as DescribeGroups shows it; empty topics and partitions for what is not a consumer's."""
    try:
        topics = tuple(decode_subscription(bytes(each.member_metadata)).topics)
    except FakebrokerError:
        topics = ()
    try:
        assignment = assigned_partitions(bytes(each.member_assignment))
    except FakebrokerError:
        assignment = {}
    instance_id = each.group_instance_id
    return MemberView(each.member_id, each.client_id, each.client_host, instance_id, topics, assignment)


def _stored(index: int, record: Record) -> StoredRecord:
    headers = tuple((bytes(name).decode(errors="replace"), value) for name, value in record.headers)
    return StoredRecord(index, record.offset, record.timestamp_ms, record.key, record.value, headers)


def _delete_topic(cluster: ClusterClient, name: str) -> int:
    """The code of the answer."""
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=WITHIN_MS)
    return int(cluster.ask(request, "controller", _TOPICS_BY_NAME).responses[0].error_code)


@contextmanager
def _codes_raised() -> Iterator[None]:
    """Errors of the client that come of a code, as the errors that steps of scenarios expect."""
    try:
        yield
    except NoSuchPartition as error:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, str(error)) from None
    except AnsweredError as error:
        raise KafkaError(ErrorCode(error.code), str(error)) from None


def _bytes(text: Any) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def _check(code: int, what: str) -> None:
    if code != ErrorCode.NONE:
        raise KafkaError(ErrorCode(code), what)
