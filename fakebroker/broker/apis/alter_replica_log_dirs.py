"""AlterReplicaLogDirs, key 34, v0-v2: move replicas to another directory of the broker, at once (KIP-113, LR-3).

v1 no change; v2 flexible. Kafka 4 serves v1 on.
"""

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.log_directories import LogDirectories, LogDirectory
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import listed
from fakebroker.protocol.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

PARTITIONS_PER_STEP = 5_000


def handle(call: Call, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse | None:
    """Each partition on its own, once; the directory is checked first."""
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: AlterReplicaLogDirsRequest) -> Steps[AlterReplicaLogDirsResponse]:
    pace, directories = call.pace(PARTITIONS_PER_STEP), call.node.log_directories
    codes: dict[str, dict[int, ErrorCode]] = {}
    for entry in request.dirs:
        directory = directories.named(entry.path)
        for topic in entry.topics:
            for index in topic.partitions:
                code = ErrorCode.LOG_DIR_NOT_FOUND
                if directory is not None:
                    code = _move(call, topic.name, index, directories, directory)
                codes.setdefault(topic.name, {})[index] = code
                if pace.is_over():
                    yield
            if pace.is_over():
                yield
    response = AlterReplicaLogDirsResponse()
    for name, by_index in codes.items():
        results = (
            AlterReplicaLogDirPartitionResult(partition_index=each, error_code=by_index[each]) for each in by_index
        )
        partitions = yield from listed(results, pace)
        response.results.append(AlterReplicaLogDirTopicResult(topic_name=name, partitions=partitions))
    return response


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
