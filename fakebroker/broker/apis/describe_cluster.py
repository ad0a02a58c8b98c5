"""DescribeCluster, key 60, v0-v2: brokers, controller, cluster id (KIP-700, DK).

v1 endpoint type (KIP-919); v2 fenced brokers (KIP-1073). MOCK: the controller named is the first live broker (CLU-20).
"""

from fakebroker.broker.apis import operations
from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_BROKERS, _CONTROLLERS = 1, 2


def handle(call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """The live brokers; dead ones too, as fenced, if asked for (CLU-21)."""
    if request.endpoint_type != _BROKERS:
        return _error_response(request.endpoint_type)
    cluster = call.cluster
    response = DescribeClusterResponse(
        cluster_id=cluster.cluster_id, controller_id=cluster.controller_id, error_message=None
    )
    for node in cluster.nodes.values():
        address = call.address_of(node.id)
        if address is not None and (not node.is_fenced or request.include_fenced_brokers):
            broker = DescribeClusterBroker(broker_id=node.id, host=address.host, port=address.port, rack=node.rack)
            broker.is_fenced = node.is_fenced
            response.brokers.append(broker)
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = operations.CLUSTER
    return response


def _error_response(endpoint_type: int) -> DescribeClusterResponse:
    """MISMATCHED_ENDPOINT_TYPE for controllers, as this is a broker; UNSUPPORTED_ENDPOINT_TYPE for others (DK-2)."""
    if endpoint_type == _CONTROLLERS:
        code, message = ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is a broker's listener, not a controller's"
    else:
        code, message = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"unknown endpoint type {endpoint_type}"
    return DescribeClusterResponse(error_code=code, error_message=message, endpoint_type=_BROKERS, cluster_id="")
