"""AlterReplicaLogDirs, key 34, v0-v2: move replicas to another directory of the broker, at once (KIP-113, LR-3).

v1 no change; v2 flexible. Kafka 4 serves v1 on.
"""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.log_directories import LogDirectories, LogDirectory
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


def handle(call: Call, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    """Each partition on its own, once; the directory is checked first."""
    directories = call.node.log_directories
    codes: dict[str, dict[int, ErrorCode]] = {}
    for entry in request.dirs:
        directory = directories.named(entry.path)
        for topic in entry.topics:
            for index in topic.partitions:
                code = ErrorCode.LOG_DIR_NOT_FOUND
                if directory is not None:
                    code = _move(call, topic.name, index, directories, directory)
                codes.setdefault(topic.name, {})[index] = code
    return AlterReplicaLogDirsResponse(results=[_result(name, by_index) for name, by_index in codes.items()])


def _result(name: str, codes: dict[int, ErrorCode]) -> AlterReplicaLogDirTopicResult:
    return AlterReplicaLogDirTopicResult(
        topic_name=name,
        partitions=[
            AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code) for index, code in codes.items()
        ],
    )


def _move(call: Call, name: str, index: int, directories: LogDirectories, directory: LogDirectory) -> ErrorCode:
    """Move the broker's replica of a partition; neither its directory nor the other may be offline."""
    if not directory.is_online:
        return ErrorCode.KAFKA_STORAGE_ERROR
    partition = call.cluster.topics.partition(name, index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if call.node.id in partition.offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if call.node.id in partition.replicas:
        directories.move(partition, directory)
    return ErrorCode.NONE
