"""DescribeCluster, key 60: the brokers. Flexible from the start.

v1: brokers or controllers. v2: fenced brokers, on request.
"""

from fakebroker.protocol.schema import Bool, Int8, Int16, Int32, Message, Str, Struct, field


class DescribeClusterRequest(Message, api_key=60, versions="0-2", flexible="0+"):
    include_cluster_authorized_operations: Bool = field("0+")
    endpoint_type: Int8 = field("1+", default=1)
    include_fenced_brokers: Bool = field("2+")


class DescribeClusterBroker(Struct):
    broker_id: Int32 = field("0+", map_key=True, entity="brokerId")
    host: Str = field("0+", entity="host")
    port: Int32 = field("0+", entity="port")
    rack: Str | None = field("0+", nullable="0+", default=None)
    is_fenced: Bool = field("2+")


class DescribeClusterResponse(Message, api_key=60, versions="0-2", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+", default=None)
    endpoint_type: Int8 = field("1+", default=1)
    cluster_id: Str = field("0+", entity="clusterId")
    controller_id: Int32 = field("0+", default=-1, entity="brokerId")
    brokers: list[DescribeClusterBroker] = field("0+")
    cluster_authorized_operations: Int32 = field("0+", default=-(2**31))
