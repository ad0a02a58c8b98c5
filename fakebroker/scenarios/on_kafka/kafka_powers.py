"""The part of the object model that can be had from any Kafka by its protocol: its groups and topics as they are.

The names are those of `FakeBroker` and its handles, so that a step of a scenario finds the same things here. What
`MEMBERS` does not list, a Kafka does not tell, or cannot do.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Protocol

from fakebroker.client.scripted.driver import Driver
from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.protocol.errors import ErrorCode, FakebrokerError, KafkaError, WaitTimeout
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.records.batch import build_batch, read_records, split_batches
from fakebroker.protocol.records.consumer_protocol import assigned_partitions, decode_subscription
from fakebroker.protocol.records.offsets_topic import CommittedOffset
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.schema.jsonable import to_json
from fakebroker.protocol.wire.registry import api
from fakebroker.scenarios.on_kafka.kafka_group_kinds import described, kind_of_group
from fakebroker.scenarios.on_kafka.kafka_transaction import KafkaTransaction, await_transactions
from fakebroker.testing.handles.handle import WAIT_S
from fakebroker.testing.handles.member_view import MemberView
from fakebroker.testing.handles.topic import StoredRecord

Text = bytes | str | None

RETRY_MS = 100
READY_MS = 30_000
CLIENT_ID = "fakebroker-scenario"
_NOT_YET = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
_BROKER = 4  # resource type of DescribeConfigs
_FETCH_BYTES = 1 << 24

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


class Asker:
    """Requests of our own, on a connection of its own, that are repeated while the answer is "not yet"."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._clients = ScriptedClients(driver)
        self._client = self._clients.client(CLIENT_ID)
        self._served: dict[int, int] = {}  # the newest version of each API

    @property
    def driver(self) -> Driver:
        """What the requests go through."""
        return self._driver

    def ask(self, api: str, version: int, **request: Any) -> Any:
        """The answer to one request, as data with Kafka's field names. Raises ConnectionLost, WaitTimeout."""
        answer = self._client.start(self._client.steps.request(api, version, **request)).result()
        return to_json(answer, version)

    def newest(self, api_name: str) -> int:
        """The newest version of an API that the Kafka serves and we know."""
        if not self._served:
            answer = self.ask("ApiVersions", 0)
            self._served = {each["ApiKey"]: each["MaxVersion"] for each in answer["ApiKeys"]}
        found = api(api_name)
        return min(self._served.get(found.key, 0), found.max)

    def until(self, api: str, version: int, code_of: "CodeOf", **request: Any) -> Any:
        """The answer as soon as no error in it means "not yet". Raises WaitTimeout after READY_MS."""
        end_ms = self._driver.mono_ms + READY_MS
        while True:
            answer = self.ask(api, version, **request)
            code = code_of(answer)
            if code not in _NOT_YET:
                return answer
            if self._driver.mono_ms >= end_ms:
                raise WaitTimeout(f"{api} is answered with {ErrorCode(code).name} for {READY_MS} ms")
            self._driver.pass_time(RETRY_MS)


class CodeOf(Protocol):
    """Finds the error code in an answer."""

    def __call__(self, answer: Any, /) -> int: ...


class KafkaPowers:
    """What there is of a broker's powers on a Kafka that is reached by its protocol only."""

    def __init__(self, driver: Driver) -> None:
        self._asker = Asker(driver)

    def group(self, group_id: str) -> "KafkaGroup":
        """One group."""
        return KafkaGroup(self._asker, group_id)

    def transaction(self, transactional_id: str) -> KafkaTransaction:
        """One transactional id."""
        return KafkaTransaction(self._asker, transactional_id)

    def topic(self, name: str) -> "KafkaTopic":
        """One topic."""
        return KafkaTopic(self._asker, name)

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
        created = self._asker.ask("CreateTopics", 2, topics=[{**wanted, "configs": configs}], timeout_ms=READY_MS)
        (topic,) = created["Topics"]
        _check(topic["ErrorCode"], f"topic {name!r}: {topic['ErrorMessage'] or 'rejected'}")
        found = self.topic(name)
        end_ms = self._asker.driver.mono_ms + READY_MS
        while not found.is_ready(partitions):
            if self._asker.driver.mono_ms > end_ms:
                raise WaitTimeout(f"topic {name!r} has no leaders after {READY_MS} ms")
            self._asker.driver.pass_time(RETRY_MS)
        return found

    def settings(self, names: Sequence[str]) -> dict[str, str | None]:
        """Broker settings in force, by name; those that the Kafka does not know are left out."""
        node_id = self.node_ids()[0]
        wanted = {"resource_type": _BROKER, "resource_name": str(node_id), "configuration_keys": list(names)}
        answer = self._asker.ask("DescribeConfigs", 1, resources=[wanted])
        (result,) = answer["Results"]
        _check(result["ErrorCode"], f"settings of broker {node_id}")
        return {each["Name"]: each["Value"] for each in result["Configs"] if each["Name"] in names}

    def node_ids(self) -> list[int]:
        """The brokers of its cluster."""
        return sorted(each["NodeId"] for each in self._asker.ask("Metadata", 5, topics=[])["Brokers"])

    def addresses(self) -> list[Address]:
        """Where clients reach its brokers, in the order of their numbers."""
        brokers = self._asker.ask("Metadata", 5, topics=[])["Brokers"]
        return [Address(each["Host"], each["Port"]) for each in sorted(brokers, key=lambda each: each["NodeId"])]

    def versions(self) -> dict[int, tuple[int, int]]:
        """The lowest and the highest version that it serves, by API key."""
        answer = self._asker.ask("ApiVersions", 0)
        return {each["ApiKey"]: (each["MinVersion"], each["MaxVersion"]) for each in answer["ApiKeys"]}

    def await_groups(self, group_id: str) -> None:
        """Wait until a coordinator answers for the group; the first one ever asked for has a topic to create."""
        self._asker.until("FindCoordinator", 1, _top, key=group_id)
        self._asker.until("OffsetFetch", 2, _top, group_id=group_id, topics=None)

    def await_transactions(self, transactional_id: str) -> None:
        """Wait until a coordinator answers for transactional ids."""
        await_transactions(self._asker, transactional_id)

    def await_producer_ids(self) -> None:
        """Wait until a producer id is handed out; the first block of them has to be fetched from the controller."""
        self._asker.until("InitProducerId", 0, _top, transactional_id=None, transaction_timeout_ms=READY_MS)

    def forget(self, suffix: str) -> None:
        """Delete the groups and topics whose names end so, as far as the Kafka allows it; members are made to leave."""
        listed = self._asker.ask("ListGroups", 0)["Groups"]
        for group_id in [each["GroupId"] for each in listed if each["GroupId"].endswith(suffix)]:
            members = [{"member_id": each.member_id} for each in self.group(group_id).members]
            if members:
                self._asker.ask("LeaveGroup", 3, group_id=group_id, members=members)
            self._asker.ask("DeleteGroups", 1, groups_names=[group_id])
        topics = [each["Name"] for each in self._asker.ask("Metadata", 5, topics=None)["Topics"]]
        if names := [name for name in topics if name.endswith(suffix)]:
            self._asker.ask("DeleteTopics", 3, topic_names=names, timeout_ms=READY_MS)


class KafkaGroup:
    """A group as DescribeGroups and OffsetFetch show it."""

    def __init__(self, asker: Asker, group_id: str) -> None:
        self._asker = asker
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
        return kind_of_group(self._asker, self.group_id).kind

    @property
    def state(self) -> str:
        """The state; "Dead" for a group that is not there."""
        found = kind_of_group(self._asker, self.group_id)
        return str(self._described()["GroupState"]) if found.kind in (None, "classic") else found.state

    @property
    def epoch(self) -> int:
        """The group epoch; -1 for a classic group."""
        return described(self._asker, self.group_id, self.kind).epoch

    @property
    def assignment_epoch(self) -> int:
        """The group epoch for which the target assignment was computed; -1 for a classic group."""
        return described(self._asker, self.group_id, self.kind).assignment_epoch

    @property
    def is_reconciled(self) -> bool:
        """Whether it is Stable and every member has the epoch of the group, where there are epochs."""
        found = kind_of_group(self._asker, self.group_id)
        is_there = found.kind == "classic" or described(self._asker, self.group_id, found.kind).is_reconciled
        return self.state == "Stable" and is_there

    @property
    def protocol(self) -> str | None:
        """The protocol that its members agreed on."""
        return str(self._described()["ProtocolData"]) or None

    @property
    def members(self) -> list[MemberView]:
        """Its members, in Kafka's order, which is random."""
        return [_member(each) for each in self._described()["Members"]]

    @property
    def offsets(self) -> dict[tuple[str, int], int]:
        """The committed offsets by topic and partition."""
        answer = self._asker.until("OffsetFetch", 2, _top, group_id=self.group_id, topics=None)
        _check(answer["ErrorCode"], f"offsets of group {self.group_id!r}")
        return {
            (topic["Name"], partition["PartitionIndex"]): partition["CommittedOffset"]
            for topic in answer["Topics"]
            for partition in topic["Partitions"]
            if partition["CommittedOffset"] >= 0
        }

    @property
    def committed(self) -> list[CommittedOffset]:
        """The committed offsets with their metadata and leader epochs; what OffsetFetch does not tell is -1."""
        answer = self._asker.until("OffsetFetch", 5, _top, group_id=self.group_id, topics=None)
        _check(answer["ErrorCode"], f"offsets of group {self.group_id!r}")
        return [
            CommittedOffset(
                topic["Name"],
                partition["PartitionIndex"],
                partition["CommittedOffset"],
                partition["CommittedLeaderEpoch"],
                partition["Metadata"],
                commit_ms=-1,
                expire_ms=-1,
                topic_id=ZERO_UUID,
            )
            for topic in answer["Topics"]
            for partition in topic["Partitions"]
            if partition["CommittedOffset"] >= 0
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
        """Wait until the group is as described, in everything that is given. Raises WaitTimeout."""
        wanted: dict[str, Any] = {"state": state, "protocol": protocol, "offsets": offsets, "members": members}
        wanted["reconciled"] = reconciled or None
        end_ms = self._asker.driver.mono_ms + round(timeout_s * 1000)
        while True:
            there: dict[str, Any] = {"state": self.state, "protocol": self.protocol, "members": self._member_count()}
            there["reconciled"] = self.is_reconciled if reconciled else None
            there["offsets"] = {key: value for key, value in self.offsets.items() if key in (offsets or {})}
            if all(value is None or there[name] == value for name, value in wanted.items()):
                return
            if self._asker.driver.mono_ms >= end_ms:
                raise WaitTimeout(f"waited {timeout_s:g} s for group {self.group_id} to be {wanted}; it is {there}")
            self._asker.driver.pass_time(RETRY_MS)

    def _member_count(self) -> int:
        described_group = described(self._asker, self.group_id, self.kind)
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
        answer = self._asker.until("OffsetCommit", 2, _first_of_topics, group_id=self.group_id, topics=topics)
        _check(_first_of_topics(answer), f"commit to group {self.group_id!r}")

    def delete(self) -> None:
        """Delete the group. Raises KafkaError as Kafka answers."""
        answer = self._asker.until("DeleteGroups", 1, _first_result, groups_names=[self.group_id])
        _check(_first_result(answer), f"group {self.group_id!r}")

    def _described(self) -> Any:
        answer = self._asker.until("DescribeGroups", 4, _first_group, groups=[self.group_id])
        (group,) = answer["Groups"]
        _check(group["ErrorCode"], f"group {self.group_id!r}")
        return group


class KafkaTopic:
    """A topic as Metadata, ListOffsets and Fetch show it."""

    def __init__(self, asker: Asker, name: str) -> None:
        self._asker = asker
        self.name = name

    def __repr__(self) -> str:
        return f"<topic {self.name}>"

    @property
    def exists(self) -> bool:
        """Whether there is such a topic."""
        return bool(self._described()["ErrorCode"] != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    @property
    def partitions(self) -> int:
        """How many partitions it has. Raises KafkaError if it is not there."""
        found = self._described()
        _check(found["ErrorCode"], f"topic {self.name!r}")
        return len(found["Partitions"])

    @property
    def end_offsets(self) -> dict[int, int]:
        """Where the next record of each partition will be."""
        return self._offsets(-1)

    def is_ready(self, partitions: int) -> bool:
        """Whether all partitions have a leader that answers."""
        found = self._described()
        rows = found["Partitions"]
        if found["ErrorCode"] or len(rows) != partitions or any(row["ErrorCode"] for row in rows):
            return False
        try:
            return len(self.end_offsets) == partitions
        except FakebrokerError:
            return False

    def records(self, partition: int | None = None) -> list[StoredRecord]:
        """The records that a consumer can read, of one partition or of all."""
        ends = self.end_offsets
        starts = self._offsets(-2)
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
        at_ms = self._asker.driver.wall_ms if timestamp_ms is None else timestamp_ms
        named = tuple((_bytes(name) or b"", _bytes(value)) for name, value in headers)
        rows = [Record(index, at_ms, _bytes(key), _bytes(value), named) for index, value in enumerate(values)]
        data = {"index": partition, "records": build_batch(rows, leader_epoch=-1)}
        topics = [{"name": self.name, "partition_data": [data]}]
        answer = self._asker.until("Produce", 9, _first_response, acks=-1, timeout_ms=READY_MS, topic_data=topics)
        _check(_first_response(answer), f"produce to {self.name}-{partition}")
        return int(answer["Responses"][0]["PartitionResponses"][0]["BaseOffset"])

    def advance_log_start(self, offset: int, partition: int = 0) -> None:
        """Delete the records before `offset`, as DeleteRecords does."""
        topics = [{"name": self.name, "partitions": [{"partition_index": partition, "offset": offset}]}]
        answer = self._asker.until("DeleteRecords", 1, _first_of_topics, topics=topics, timeout_ms=READY_MS)
        _check(_first_of_topics(answer), f"{self.name}-{partition}")

    def delete(self) -> None:
        """Delete the topic. Raises KafkaError as Kafka answers."""
        answer = self._asker.ask("DeleteTopics", 3, topic_names=[self.name], timeout_ms=READY_MS)
        _check(answer["Responses"][0]["ErrorCode"], f"topic {self.name!r}")

    def _described(self) -> Any:
        answer = self._asker.ask("Metadata", 5, topics=[{"name": self.name}], allow_auto_topic_creation=False)
        return answer["Topics"][0]

    def _offsets(self, timestamp: int) -> dict[int, int]:
        partitions = [{"partition_index": index, "timestamp": timestamp} for index in range(self.partitions)]
        answer = self._asker.until(
            "ListOffsets", 1, _first_of_topics, replica_id=-1, topics=[{"name": self.name, "partitions": partitions}]
        )
        _check(_first_of_topics(answer), f"offsets of topic {self.name!r}")
        return {each["PartitionIndex"]: each["Offset"] for each in answer["Topics"][0]["Partitions"]}

    def _read(self, index: int, start: int, end: int) -> list[StoredRecord]:
        found: list[StoredRecord] = []
        while start < end:
            row = (index, -1, start, -1, -1, _FETCH_BYTES, ZERO_UUID, 2**63 - 1)
            topics = [{"topic": self.name, "partitions": [row]}]
            answer = self._asker.ask("Fetch", 11, replica_id=-1, max_wait_ms=500, min_bytes=1, topics=topics)
            data = answer["Responses"][0]["Partitions"][0]
            _check(data["ErrorCode"], f"fetch of {self.name}-{index} at {start}")
            batches = list(split_batches(_raw(data["Records"])))
            records = [record for batch in batches for record in read_records(batch) if record.offset >= start]
            if not records:
                break
            found += [_stored(index, record) for record in records]
            start = records[-1].offset + 1
        return found


def _member(each: Any) -> MemberView:
    """A member as DescribeGroups shows it; empty topics and partitions for what is not a consumer's."""
    try:
        topics = tuple(decode_subscription(_raw(each["MemberMetadata"])).topics)
    except FakebrokerError:
        topics = ()
    try:
        assignment = assigned_partitions(_raw(each["MemberAssignment"]))
    except FakebrokerError:
        assignment = {}
    instance_id = each["GroupInstanceId"]
    return MemberView(each["MemberId"], each["ClientId"], each["ClientHost"], instance_id, topics, assignment)


def _stored(index: int, record: Record) -> StoredRecord:
    headers = tuple((bytes(name).decode(errors="replace"), value) for name, value in record.headers)
    return StoredRecord(index, record.offset, record.timestamp_ms, record.key, record.value, headers)


def _raw(value: Any) -> bytes:
    """The bytes in an answer as data."""
    return bytes.fromhex(value["hex"]) if value else b""


def _bytes(text: Any) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def _check(code: int, what: str) -> None:
    if code != ErrorCode.NONE:
        raise KafkaError(ErrorCode(code), what)


def _top(answer: Any, /) -> int:
    return int(answer["ErrorCode"])


def _first_group(answer: Any, /) -> int:
    return int(answer["Groups"][0]["ErrorCode"])


def _first_result(answer: Any, /) -> int:
    return int(answer["Results"][0]["ErrorCode"])


def _first_response(answer: Any, /) -> int:
    return int(answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"])


def _first_of_topics(answer: Any, /) -> int:
    """The first error among the partitions of all topics."""
    codes = (partition["ErrorCode"] for topic in answer["Topics"] for partition in topic["Partitions"])
    return int(next((code for code in codes if code), 0))
