"""What a scripted client can do, as steps that a test takes one by one: join, commit, produce, fetch and so on.

Every step is a flow: a generator that yields a request that it has sent (`Pending`) and is resumed with the answer. The
caller that runs it does the input and output and decides how to wait: a simulation in virtual time, a scripted client
over TCP. Steps return the answers as they are, with their error codes; only MEMBER_ID_REQUIRED is followed by a second
JoinGroup (KIP-394).
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from fakebroker.arguments import check_partitions, check_text, check_whole
from fakebroker.client.connection import ClientConnection, Pending
from fakebroker.errors import WHERE_APIS, ErrorCode, FakebrokerError, InvalidArgument, UnknownThing, nearest
from fakebroker.records.batch import build_batch, read_records, split_batches
from fakebroker.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from fakebroker.records.record_codec import Record
from fakebroker.schema import ZERO_UUID, Message
from fakebroker.schema.building import built
from fakebroker.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.wire.messages.fetch import FetchRequest, FetchTopic
from fakebroker.wire.messages.heartbeat import HeartbeatRequest
from fakebroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from fakebroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from fakebroker.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from fakebroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from fakebroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from fakebroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from fakebroker.wire.registry import APIS, api

T = TypeVar("T")
Flow = Generator[Pending, Message, T]
Offsets = Mapping[tuple[str, int], int]

# The newest versions that still speak of topics by name and of one group at a time.
NEWEST_BY_NAME = {"Produce": 12, "Fetch": 12, "OffsetCommit": 9, "OffsetFetch": 7}


@dataclass
class Membership:
    """What the client knows of its membership in a group. `join_request` is also what `rejoin` sends."""

    join_request: JoinGroupRequest
    member_id: str = ""
    generation_id: int = -1
    protocol_name: str | None = None
    leader: str = ""
    members: dict[str, bytes] = field(default_factory=dict)  # the leader's view: member id -> metadata
    assignment: dict[str, list[int]] = field(default_factory=dict)  # topic -> partitions

    @property
    def is_leader(self) -> bool:
        """Whether the coordinator chose this member to assign partitions."""
        return bool(self.member_id) and self.leader == self.member_id


class ClientSteps:
    """One client on one connection. `versions` pins APIs to versions, e.g. {"JoinGroup": 4}."""

    def __init__(self, client_id: str | None = "consumer", versions: Mapping[str, int] | None = None) -> None:
        self.connection = ClientConnection(client_id)
        self.membership: Membership | None = None
        self._pinned = dict(versions or {})
        self._served: dict[int, tuple[int, int]] = {}

    def ask(self, request: Message, version: int | None = None) -> Flow[Any]:
        """Send any request and return its answer; without a version the newest that both sides speak."""
        if version is None:
            version = yield from self.version_of(request)
        return (yield self.connection.send(request, version))

    def request(self, api_name: str, version: int | None = None, /, **fields: Any) -> Flow[Any]:
        """Send a request given by its API's name and its fields, e.g. request("JoinGroup", 4, group_id="g").

        A struct in it may be a mapping: topics=[{"name": "orders", "partition_indexes": [0]}]. Raises UnknownThing for
        an API that does not exist, InvalidArgument for a field that it does not have.
        """
        check_text("api_name", api_name)
        try:
            declared = api(api_name)
        except KeyError:
            hint = nearest(api_name, [each.name for each in APIS.values()], WHERE_APIS)
            raise UnknownThing("api_name", api_name, f"api_name: there is no API {api_name!r}; {hint}") from None
        return self.ask(built(declared.request, fields), version)

    def version_of(self, request: Message) -> Flow[int]:
        """The pinned version for a request of this kind, or the newest that both sides speak."""
        name = api(request.api_key).name
        if name in self._pinned:
            return self._pinned[name]
        if not self._served:
            listed = yield self.connection.send(ApiVersionsRequest(), 0)
            self._served = {entry.api_key: (entry.min_version, entry.max_version) for entry in listed.api_keys}  # type: ignore[attr-defined]
        lowest, highest = self._served.get(request.api_key, (0, -1))
        newest = min(highest, request.versions.last, NEWEST_BY_NAME.get(name, highest))
        if newest < max(lowest, request.versions.first):
            raise FakebrokerError(f"the broker serves no version of {name} that this client speaks")
        return newest

    def join(
        self,
        group_id: str,
        topics: Sequence[str] = (),
        *,
        protocols: Sequence[str] = ("range",),
        metadata: bytes | None = None,
        session_timeout_ms: int = 45_000,
        rebalance_timeout_ms: int = 300_000,
        group_instance_id: str | None = None,
        protocol_type: str = "consumer",
    ) -> Flow[JoinGroupResponse]:
        """Join a group as a new member. `metadata` replaces the subscription to `topics`."""
        data = encode_subscription(ConsumerProtocolSubscription(topics=list(topics))) if metadata is None else metadata
        join_request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            member_id="",
            group_instance_id=group_instance_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name in protocols],
        )
        self.membership = Membership(join_request)
        return (yield from self.rejoin())

    def rejoin(self) -> Flow[JoinGroupResponse]:
        """Join again with the same protocols and timeouts, as the member this client is."""
        membership = self._membership()
        answer = yield from self._join_once(membership)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            answer = yield from self._join_once(membership)
        return answer

    def sync(self, assignments: Mapping[str, Mapping[str, Sequence[int]]] | None = None) -> Flow[Any]:
        """Send SyncGroup. The leader passes the assignments of all members: member id -> topic -> partitions."""
        membership = self._membership()
        entries = [
            SyncGroupRequestAssignment(member_id=member_id, assignment=_assignment_bytes(partitions))
            for member_id, partitions in (assignments or {}).items()
        ]
        answer = yield from self.ask(
            SyncGroupRequest(
                group_id=membership.join_request.group_id,
                generation_id=membership.generation_id,
                member_id=membership.member_id,
                group_instance_id=membership.join_request.group_instance_id,
                protocol_type=membership.join_request.protocol_type,
                protocol_name=membership.protocol_name,
                assignments=entries,
            )
        )
        if answer.error_code == ErrorCode.NONE:
            membership.assignment = dict(decode_assignment(answer.assignment).assigned_partitions)
        return answer

    def heartbeat(self) -> Flow[Any]:
        """Send a Heartbeat as the member this client is."""
        membership = self._membership()
        return self.ask(
            HeartbeatRequest(
                group_id=membership.join_request.group_id,
                generation_id=membership.generation_id,
                member_id=membership.member_id,
                group_instance_id=membership.join_request.group_instance_id,
            )
        )

    def leave(self) -> Flow[Any]:
        """Leave the group; the client may join again."""
        membership = self._membership()
        request = LeaveGroupRequest(group_id=membership.join_request.group_id)
        version = yield from self.version_of(request)
        if version < 3:
            request.member_id = membership.member_id
        else:
            instance_id = membership.join_request.group_instance_id
            request.members = [MemberIdentity(member_id=membership.member_id, group_instance_id=instance_id)]
        answer = yield from self.ask(request, version)
        membership.member_id, membership.generation_id, membership.assignment = "", -1, {}
        return answer

    def commit(self, offsets: Offsets, metadata: str = "", group_id: str | None = None) -> Flow[Any]:
        """Commit offsets as the member this client is; with `group_id`, as no member (generation -1, no member id).

        Raises InvalidArgument for what is no offset by topic and partition: {("orders", 0): 42}.
        """
        _check_commit(offsets)
        topics = [
            OffsetCommitRequestTopic(
                name=topic, partitions=[(index, offset, -1, -1, metadata) for index, offset in rows]
            )
            for topic, rows in _by_topic(offsets).items()
        ]
        if group_id is not None:
            return self.ask(OffsetCommitRequest(group_id=group_id, topics=topics))
        membership = self._membership()
        return self.ask(
            OffsetCommitRequest(
                group_id=membership.join_request.group_id,
                generation_id_or_member_epoch=membership.generation_id,
                member_id=membership.member_id,
                group_instance_id=membership.join_request.group_instance_id,
                topics=topics,
            )
        )

    def committed(self, group_id: str, partitions: Sequence[tuple[str, int]] | None = None) -> Flow[Any]:
        """The OffsetFetch answer for these partitions, or for everything the group has committed.

        Raises InvalidArgument for what is no list of topics and partitions: [("orders", 0)].
        """
        topics = None
        if partitions is not None:
            check_partitions("partitions", partitions)
            wanted = _by_topic(dict.fromkeys(partitions, 0))
            topics = [
                OffsetFetchRequestTopic(name=topic, partition_indexes=[index for index, _ in rows])
                for topic, rows in wanted.items()
            ]
        return self.ask(OffsetFetchRequest(group_id=group_id, topics=topics))

    def produce(
        self, topic: str, partition: int, records: Sequence[tuple[bytes | None, bytes | None]], timestamp_ms: int = -1
    ) -> Flow[Any]:
        """Append key-value pairs to a partition, as one batch: [(b"key", b"value"), (None, b"value")].

        Raises InvalidArgument for what is no such pair.
        """
        _check_records(records)
        rows = [Record(index, timestamp_ms, key, value) for index, (key, value) in enumerate(records)]
        data = PartitionProduceData(index=partition, records=build_batch(rows, leader_epoch=-1))
        request = ProduceRequest(acks=-1, timeout_ms=30_000)
        request.topic_data = [TopicProduceData(name=topic, partition_data=[data])]
        return self.ask(request)

    def fetch(self, topic: str, partition: int, offset: int, max_wait_ms: int = 0) -> Flow[list[Record]]:
        """The records of a partition from `offset` on; empty when there are none within `max_wait_ms`.

        Raises FakebrokerError when the broker answers with an error.
        """
        row = (partition, -1, offset, -1, -1, 1 << 20, ZERO_UUID, 2**63 - 1)
        request = FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1)
        request.topics = [FetchTopic(topic=topic, partitions=[row])]
        answer = yield from self.ask(request)
        data = answer.responses[0].partitions[0]
        if data.error_code != ErrorCode.NONE:
            raise FakebrokerError(f"fetch of {topic}-{partition} at {offset}: {ErrorCode(data.error_code).name}")
        records = chain.from_iterable(map(read_records, split_batches(data.records or b"")))
        return [record for record in records if record.offset >= offset]

    def _join_once(self, membership: Membership) -> Flow[JoinGroupResponse]:
        membership.join_request.member_id = membership.member_id
        answer: JoinGroupResponse = yield from self.ask(membership.join_request)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            membership.member_id = answer.member_id
        elif answer.error_code == ErrorCode.NONE:
            membership.member_id = answer.member_id
            membership.generation_id = answer.generation_id
            membership.protocol_name = answer.protocol_name
            membership.leader = answer.leader
            membership.members = {member.member_id: member.metadata for member in answer.members}
        return answer

    def _membership(self) -> Membership:
        if self.membership is None:
            raise FakebrokerError("this client has joined no group")
        return self.membership


def _check_commit(offsets: object) -> None:
    """As `check_offsets`, but any number that a request can carry: what is wrong with it, the broker is to answer."""
    if not isinstance(offsets, Mapping):
        text = f'offsets={offsets!r} has no offset by topic and partition: {{("orders", 0): 42}}'
        raise InvalidArgument("offsets", offsets, text)
    check_partitions("offsets", offsets)
    for offset in offsets.values():
        check_whole("offsets", offset)


def _check_records(records: object) -> None:
    if isinstance(records, str | bytes) or not isinstance(records, Sequence):
        raise InvalidArgument("records", records, f"records={records!r} is no list of keys with values")
    for each in records:
        match each:
            case (bytes() | None, bytes() | None):
                pass
            case _:
                text = f'records: {each!r} is not a key and a value, bytes or None: (b"key", b"value")'
                raise InvalidArgument("records", records, text)


def _assignment_bytes(partitions: Mapping[str, Sequence[int]]) -> bytes:
    """What a leader sends for one member: topic -> partitions."""
    rows = [(topic, list(indexes)) for topic, indexes in partitions.items()]
    return encode_assignment(ConsumerProtocolAssignment(assigned_partitions=rows))


def _by_topic(offsets: Offsets) -> dict[str, list[tuple[int, int]]]:
    topics: dict[str, list[tuple[int, int]]] = {}
    for (topic, index), offset in offsets.items():
        topics.setdefault(topic, []).append((index, offset))
    return topics
