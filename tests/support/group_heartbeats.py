"""Heartbeats of share and streams groups, as far as it takes to have a real Kafka keep such a group.

No Python library speaks these; a group is kept in `__consumer_offsets` as soon as a member heartbeats.
"""

import socket
from struct import Struct as Layout

from fakebroker.protocol.schema import Bool, Int16, Int32, Message, Str, Struct, UInt16, field
from tests.support.real_kafka import RealKafka

_FRAME = Layout(">ihhih")
_HEADER_BYTES = 5  # correlation id, tags; then come throttle time, error, its message, member id, member epoch


class ShareGroupHeartbeatRequest(Message, api_key=76, versions="0-1", flexible="0+"):
    group_id: Str = field("0+")
    member_id: Str = field("0+")
    member_epoch: Int32 = field("0+")
    rack_id: Str | None = field("0+", nullable="0+", default=None)
    subscribed_topic_names: list[Str] | None = field("0+", nullable="0+", default=None)


class KeyValue(Struct):
    key: Str = field("0+")
    value: Str = field("0+")


class TopicInfo(Struct):
    name: Str = field("0+")
    partitions: Int32 = field("0+")
    replication_factor: Int16 = field("0+")
    topic_configs: list[KeyValue] = field("0+")


class CopartitionGroup(Struct):
    source_topics: list[Int16] = field("0+")
    source_topic_regex: list[Int16] = field("0+")
    repartition_source_topics: list[Int16] = field("0+")


class Subtopology(Struct):
    subtopology_id: Str = field("0+")
    source_topics: list[Str] = field("0+")
    source_topic_regex: list[Str] = field("0+")
    state_changelog_topics: list[TopicInfo] = field("0+")
    repartition_sink_topics: list[Str] = field("0+")
    repartition_source_topics: list[TopicInfo] = field("0+")
    copartition_groups: list[CopartitionGroup] = field("0+")


class Topology(Struct):
    epoch: Int32 = field("0+")
    subtopologies: list[Subtopology] = field("0+")


class TaskIds(Struct):
    subtopology_id: Str = field("0+")
    partitions: list[Int32] = field("0+")


class Endpoint(Struct):
    host: Str = field("0+")
    port: UInt16 = field("0+")


class StreamsGroupHeartbeatRequest(Message, api_key=88, versions="0", flexible="0+"):
    group_id: Str = field("0+")
    member_id: Str = field("0+")
    member_epoch: Int32 = field("0+")
    endpoint_information_epoch: Int32 = field("0+")
    instance_id: Str | None = field("0+", nullable="0+", default=None)
    rack_id: Str | None = field("0+", nullable="0+", default=None)
    rebalance_timeout_ms: Int32 = field("0+", default=-1)
    topology: Topology | None = field("0+", nullable="0+", default=None)
    active_tasks: list[TaskIds] | None = field("0+", nullable="0+", default=None)
    standby_tasks: list[TaskIds] | None = field("0+", nullable="0+", default=None)
    warmup_tasks: list[TaskIds] | None = field("0+", nullable="0+", default=None)
    process_id: Str | None = field("0+", nullable="0+", default=None)
    user_endpoint: Endpoint | None = field("0+", nullable="0+", default=None)
    client_tags: list[KeyValue] | None = field("0+", nullable="0+", default=None)
    task_offsets: list[TaskIds] | None = field("0+", nullable="0+", default=None)
    task_end_offsets: list[TaskIds] | None = field("0+", nullable="0+", default=None)
    shutdown_application: Bool = field("0+")


def ask(kafka: RealKafka, request: Message, version: int) -> tuple[int, int]:
    """Send a heartbeat on a connection of its own; error code and member epoch of the answer."""
    body = request.encode(version)
    frame = _FRAME.pack(11 + len(body), request.api_key, version, 1, -1) + b"\0" + body
    with socket.create_connection((kafka.host, kafka.port), 30) as connection, connection.makefile("rb") as answers:
        connection.sendall(frame)
        answer = answers.read(int.from_bytes(answers.read(4), "big"))
    head = answer[_HEADER_BYTES:]
    error = int.from_bytes(head[4:6], "big", signed=True)
    message_end = 7 + max(head[6] - 1, 0)  # both texts are shorter than 127 bytes
    member_end = message_end + 1 + max(head[message_end] - 1, 0)
    return error, int.from_bytes(head[member_end : member_end + 4], "big", signed=True)
