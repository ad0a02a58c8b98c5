"""DescribeQuorum, key 55, v0-v2: voters and observers of the metadata log (KIP-595, KIP-836, KIP-853, DQ).

v1 times of the last fetch; v2 messages, directory ids and the voters' listeners.

MOCK: there is no quorum. Every broker is shown as a broker that is a controller, too: the leader is the controller that
Metadata names, all others are voters that have everything, or nothing if they are dead. The end of the log is a number
that grows with the clock, as Kafka's does by the record that an idle controller writes every 500 ms. The listener of a
controller is the broker's own, as nothing else listens.
"""

from hashlib import sha256

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.node import Node
from fakebroker.broker.release import KRAFT_VERSION
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    QuorumPartitionResult,
    QuorumTopicResult,
    ReplicaState,
    TopicData,
)
from fakebroker.protocol.wire.messages.describe_quorum import Node as QuorumNode

PARTITIONS_PER_STEP = 2_000  # and topics

_METADATA_LOG = "__cluster_metadata"
_IDLE_RECORD_MS = 500  # metadata.max.idle.interval.ms
_LEADER_EPOCH = 1
_NO_DIRECTORY_ID = bytes(16)
_FIRST_WITH_LISTENERS = 2


def handle(call: Call, request: DescribeQuorumRequest) -> DescribeQuorumResponse | None:
    """The quorum if exactly its partition is asked for, else UNKNOWN_TOPIC_OR_PARTITION for each (DQ-1, DQ-2)."""
    asked = [(topic.topic_name, [each.partition_index for each in topic.partitions]) for topic in request.topics]
    if asked != [(_METADATA_LOG, [0])]:
        return call.work(_unknown(call, request.topics))
    topic = QuorumTopicResult(topic_name=_METADATA_LOG, partitions=[_partition(call)])
    response = DescribeQuorumResponse(error_message="", topics=[topic])
    if call.version >= _FIRST_WITH_LISTENERS:
        response.nodes = [_node(call, node) for node in call.cluster.nodes.values()]
    return response


def _unknown(call: Call, topics: list[TopicData]) -> Steps[DescribeQuorumResponse]:
    code, text = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "not the partition of the metadata log"
    response, pace = DescribeQuorumResponse(error_message=""), call.pace(PARTITIONS_PER_STEP)
    for topic in topics:
        partitions = list[QuorumPartitionResult]()
        response.topics.append(QuorumTopicResult(topic_name=topic.topic_name, partitions=partitions))
        for each in topic.partitions:
            partitions.append(
                QuorumPartitionResult(partition_index=each.partition_index, error_code=code, error_message=text)
            )
            if pace.is_over():
                yield
        if pace.is_over():
            yield
    return response


def _partition(call: Call) -> QuorumPartitionResult:
    end = call.now.mono_ms // _IDLE_RECORD_MS + call.cluster.features.epoch
    return QuorumPartitionResult(
        partition_index=0,
        error_message="",
        leader_id=call.cluster.controller_id,
        leader_epoch=_LEADER_EPOCH,
        high_watermark=end,
        current_voters=[_voter(call, node, end) for node in call.cluster.nodes.values()],
    )


def _voter(call: Call, node: Node, end: int) -> ReplicaState:
    """A voter. A dead one has the values of one that has not fetched from this leader."""
    has_all = not node.is_fenced
    now_ms = call.now.wall_ms if has_all else -1
    return ReplicaState(
        replica_id=node.id,
        replica_directory_id=_directory_id(call, node),
        log_end_offset=end if has_all else -1,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )


def _directory_id(call: Call, node: Node) -> bytes:
    """None before KRaft version 1 (KIP-853); then always the same for a broker of a cluster."""
    if not call.cluster.features.level(KRAFT_VERSION):
        return _NO_DIRECTORY_ID
    return sha256(f"metadata directory of {node.id} in {call.cluster.cluster_id}".encode()).digest()[:16]


def _node(call: Call, node: Node) -> QuorumNode:
    address = call.address_of(node.id)
    listeners = [] if address is None else [Listener(name="CONTROLLER", host=address.host, port=address.port)]
    return QuorumNode(node_id=node.id, listeners=listeners)
