"""AlterReplicaLogDirs, key 34.

v2: flexible. v1: nothing new on the wire.
"""

from fakebroker.protocol.schema import Int16, Int32, Message, Str, Struct, field


class AlterReplicaLogDirTopic(Struct):
    name: Str = field("0+", map_key=True, entity="topicName")
    partitions: list[Int32] = field("0+", entity="partitionIndex")


class AlterReplicaLogDir(Struct):
    path: Str = field("0+", map_key=True)
    topics: list[AlterReplicaLogDirTopic] = field("0+")


class AlterReplicaLogDirsRequest(Message, api_key=34, versions="0-2", flexible="2+"):
    dirs: list[AlterReplicaLogDir] = field("0+")


class AlterReplicaLogDirPartitionResult(Struct):
    partition_index: Int32 = field("0+", entity="partitionIndex")
    error_code: Int16 = field("0+", entity="errorCode")


class AlterReplicaLogDirTopicResult(Struct):
    topic_name: Str = field("0+", entity="topicName")
    partitions: list[AlterReplicaLogDirPartitionResult] = field("0+")


class AlterReplicaLogDirsResponse(Message, api_key=34, versions="0-2", flexible="2+"):
    throttle_time_ms: Int32 = field("0+")
    results: list[AlterReplicaLogDirTopicResult] = field("0+")
