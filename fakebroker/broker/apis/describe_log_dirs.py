"""DescribeLogDirs, key 35, v0-v5: the size of each partition on this broker (KIP-113, LR).

v1 throttle time (all versions here); v2 flexible; v3 top-level error; v4 size of the disk (KIP-827); v5 cordoned
directories. Kafka 4 serves v1 on.

MOCK: the disk's size is unknown (-1), and nothing is compressed away: sizes are what Kafka would have on disk.
"""

from collections.abc import Generator, Iterator, Sequence

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.log_directories import LogDirectory
from fakebroker.broker.core.topics import Topic
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

PARTITIONS_PER_STEP = 2_000  # and topics, which cost about as much


def handle(call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse | None:
    """The broker's directories with the partitions asked for; unknown ones are left out (LR-2)."""
    return call.work(_in_steps(call, request))


def _in_steps(call: Call, request: DescribeLogDirsRequest) -> Steps[DescribeLogDirsResponse]:
    results = {each: _result(each) for each in call.node.log_directories.all}
    pace = call.pace(PARTITIONS_PER_STEP)
    for topic, indexes in _entries(call, request):
        partitions = yield from _partitions(call, topic, indexes, pace)
        for directory, entries in partitions.items():
            if directory.is_online:
                results[directory].topics.append(DescribeLogDirsTopic(name=topic.name, partitions=entries))
        if pace.is_over():
            yield
    return DescribeLogDirsResponse(results=list(results.values()))


def _result(directory: LogDirectory) -> DescribeLogDirsResult:
    """A directory, still without topics. One that is offline has none, but an error (LR-4)."""
    code = ErrorCode.NONE if directory.is_online else ErrorCode.KAFKA_STORAGE_ERROR
    return DescribeLogDirsResult(error_code=code, log_dir=directory.path)


def _entries(call: Call, request: DescribeLogDirsRequest) -> Iterator[tuple[Topic, Sequence[int]]]:
    """The topics that exist with the partitions asked for."""
    if request.topics is None:
        for topic in list(call.cluster.topics):
            yield topic, range(len(topic.partitions))
    else:
        for entry in request.topics:
            known = call.cluster.topics.get(entry.topic)
            if known is not None:
                yield known, entry.partitions


def _partitions(
    call: Call, topic: Topic, indexes: Sequence[int], pace: Pace
) -> Generator[None, None, dict[LogDirectory, list[DescribeLogDirsPartition]]]:
    """Those of a topic's partitions that have a replica here, by their directories; in steps."""
    found: dict[LogDirectory, list[DescribeLogDirsPartition]] = {}
    for index in dict.fromkeys(indexes):
        partition = topic.partition(index)
        if partition is not None and call.node.id in partition.replicas:
            size_bytes = partition.log.size_bytes if partition.has_log else 0
            entry = DescribeLogDirsPartition(partition_index=index, partition_size=size_bytes)
            found.setdefault(call.node.directory_of(partition), []).append(entry)
        if pace.is_over():
            yield
    return found
