"""Metadata, key 3: brokers, topics, partitions and their leaders.

v1: null means all topics; rack, controller, internal topics. v2: cluster id. v3: throttle time. v4: the client
says whether topics may be created. v5: offline replicas. v7: leader epoch. v8: authorized operations, on request.
v9: flexible. v10: topic ids, a null name in the request. v11: no more cluster-wide authorized operations.
v12: lookup by topic id works, a null name in the answer. v13: an error for the whole answer.
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Message, Str, Struct, Uuid, field


class MetadataRequestTopic(Struct):
    topic_id: Uuid = field("10+", ignorable=True, entity="topicId")
    name: Str | None = field("0+", nullable="10+", entity="topicName")


class MetadataRequest(Message, api_key=3, versions="0-13", flexible="9+"):
    topics: list[MetadataRequestTopic] | None = field("0+", nullable="1+")
    allow_auto_topic_creation: Bool = field("4+", default=True)
    include_cluster_authorized_operations: Bool = field("8-10")
    include_topic_authorized_operations: Bool = field("8+")


class MetadataResponseBroker(Struct):
    node_id: Int32 = field("0+", map_key=True, entity="brokerId")
    host: Str = field("0+", entity="host")
    port: Int32 = field("0+", entity="port")
    rack: Str | None = field("1+", nullable="1+", default=None, ignorable=True)


class MetadataResponsePartition(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    partition_index: Int32 = field("0+", entity="partitionIndex")
    leader_id: Int32 = field("0+", entity="brokerId")
    leader_epoch: Int32 = field("7+", default=-1, ignorable=True, entity="leaderEpoch")
    replica_nodes: list[Int32] = field("0+", entity="brokerId")
    isr_nodes: list[Int32] = field("0+", entity="brokerId")
    offline_replicas: list[Int32] = field("5+", ignorable=True, entity="brokerId")


class MetadataResponseTopic(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    name: Str | None = field("0+", nullable="12+", map_key=True, entity="topicName")
    topic_id: Uuid = field("10+", ignorable=True, entity="topicId")
    is_internal: Bool = field("1+", ignorable=True)
    partitions: list[MetadataResponsePartition] = field("0+")
    topic_authorized_operations: Int32 = field("8+", default=-(2**31))


class MetadataResponse(Message, api_key=3, versions="0-13", flexible="9+"):
    throttle_time_ms: Int32 = field("3+", ignorable=True)
    brokers: list[MetadataResponseBroker] = field("0+")
    cluster_id: Str | None = field("2+", nullable="2+", default=None, ignorable=True, entity="clusterId")
    controller_id: Int32 = field("1+", default=-1, ignorable=True, entity="brokerId")
    topics: list[MetadataResponseTopic] = field("0+")
    cluster_authorized_operations: Int32 = field("8-10", default=-(2**31))
    error_code: Int16 = field("13+", ignorable=True, entity="errorCode")
