"""Beside NOT_LEADER_OR_FOLLOWER a partition's answer names the leader, and the whole answer where it is (KIP-951).

So that clients need no Metadata request in between: Produce v10+, Fetch v16+ (there beside FENCED_LEADER_EPOCH, too).
"""

from typing import TYPE_CHECKING, Any

from fakebroker.broker.apis.call import Call

if TYPE_CHECKING:
    from fakebroker.broker.core.topics import Partition


def name_leader(
    call: Call, partition: "Partition", answer: Any, response: Any, *, leader: type[Any], endpoint: type[Any]
) -> None:
    """Fill `current_leader` of a partition's `answer` and `node_endpoints` of the `response` (CLU-51).

    `leader` and `endpoint` are the message's own LeaderIdAndEpoch and NodeEndpoint. Without a leader there is no
    endpoint.
    """
    seen = partition.seen_by(call.node.id)
    leader_id = seen.leader
    answer.current_leader = leader(leader_id=leader_id, leader_epoch=seen.leader_epoch)
    address = call.address_of(leader_id)
    if address is not None and all(node.node_id != leader_id for node in response.node_endpoints):
        rack = call.cluster.nodes[leader_id].rack
        response.node_endpoints.append(endpoint(node_id=leader_id, host=address.host, port=address.port, rack=rack))
