"""AlterReplicaLogDirs, key 34, v0-v2: move replicas to another directory of the broker (KIP-113, LR-3).

v1 no change; v2 flexible. Kafka 4 serves v1 on. MOCK: a directory of the broker is accepted and means nothing.
"""

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


def handle(call: Call, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    """Each partition on its own, once; the directory is checked first."""
    directories = call.node.settings.get_list("log.dirs")
    codes: dict[str, dict[int, ErrorCode]] = {}
    for entry in request.dirs:
        for topic in entry.topics:
            for index in topic.partitions:
                code = _code(call, topic.name, index) if entry.path in directories else ErrorCode.LOG_DIR_NOT_FOUND
                codes.setdefault(topic.name, {})[index] = code
    return AlterReplicaLogDirsResponse(results=[_result(name, by_index) for name, by_index in codes.items()])


def _result(name: str, codes: dict[int, ErrorCode]) -> AlterReplicaLogDirTopicResult:
    return AlterReplicaLogDirTopicResult(
        topic_name=name,
        partitions=[
            AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code) for index, code in codes.items()
        ],
    )


def _code(call: Call, name: str, index: int) -> ErrorCode:
    if call.cluster.topics.partition(name, index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE
