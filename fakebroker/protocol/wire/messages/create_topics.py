"""CreateTopics, key 19.

v1: validate only, error texts. v2: throttle time. v4: -1 for the broker's default of partitions and replicas.
v5: flexible; the answer has partitions, replicas and configs. v7: topic ids. v3, v6: nothing new on the wire.
"""

from fakebroker.protocol.schema import Bool, Int8, Int16, Int32, Message, Str, Struct, Uuid, field


class CreatableReplicaAssignment(Struct):
    partition_index: Int32 = field("0+", map_key=True, entity="partitionIndex")
    broker_ids: list[Int32] = field("0+", entity="brokerId")


class CreatableTopicConfig(Struct):
    name: Str = field("0+", map_key=True, entity="configName")
    value: Str | None = field("0+", nullable="0+", entity="configValue")


class CreatableTopic(Struct):
    name: Str = field("0+", map_key=True, entity="topicName")
    num_partitions: Int32 = field("0+")
    replication_factor: Int16 = field("0+")
    assignments: list[CreatableReplicaAssignment] = field("0+")
    configs: list[CreatableTopicConfig] = field("0+")


class CreateTopicsRequest(Message, api_key=19, versions="0-7", flexible="5+"):
    topics: list[CreatableTopic] = field("0+")
    timeout_ms: Int32 = field("0+", default=60000, kafka_name="timeoutMs")
    validate_only: Bool = field("1+", kafka_name="validateOnly")


class CreatableTopicConfigs(Struct):
    name: Str = field("5+", entity="configName")
    value: Str | None = field("5+", nullable="5+", entity="configValue")
    read_only: Bool = field("5+")
    config_source: Int8 = field("5+", default=-1, ignorable=True)
    is_sensitive: Bool = field("5+")


class CreatableTopicResult(Struct):
    name: Str = field("0+", map_key=True, entity="topicName")
    topic_id: Uuid = field("7+", ignorable=True, entity="topicId")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("1+", nullable="0+", ignorable=True)
    topic_config_error_code: Int16 = field("5+", tag=0, ignorable=True)
    num_partitions: Int32 = field("5+", default=-1, ignorable=True)
    replication_factor: Int16 = field("5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = field("5+", nullable="5+", ignorable=True)


class CreateTopicsResponse(Message, api_key=19, versions="0-7", flexible="5+"):
    throttle_time_ms: Int32 = field("2+", ignorable=True)
    topics: list[CreatableTopicResult] = field("0+")
