"""DescribeLogDirs, key 35, v0-v5: the size of each partition on this broker (KIP-113, LR).

v1 throttle time (all versions here); v2 flexible; v3 top-level error; v4 size of the disk (KIP-827); v5 cordoned
directories. Kafka 4 serves v1 on.

MOCK: logs live in memory; all of them are in the first directory of log.dirs, the disk's size is unknown (-1), and
nothing is compressed away: sizes are what Kafka would have on disk.
"""

from fakebroker.apis.call import Call
from fakebroker.core.topics import Topic
from fakebroker.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def handle(call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """The broker's directories with the partitions asked for; unknown ones are left out (LR-2)."""
    if request.topics is None:
        found = [_topic(call, topic, range(len(topic.partitions))) for topic in call.cluster.topics]
    else:
        asked = ((call.cluster.topics.get(entry.topic), entry.partitions) for entry in request.topics)
        found = [_topic(call, topic, indexes) for topic, indexes in asked if topic is not None]
    directories = call.node.settings.get_list("log.dirs")
    results = [DescribeLogDirsResult(log_dir=directory) for directory in directories]
    results[0].topics = [topic for topic in found if topic.partitions]
    return DescribeLogDirsResponse(results=results)


def _topic(call: Call, topic: Topic, indexes: list[int] | range) -> DescribeLogDirsTopic:
    entry = DescribeLogDirsTopic(name=topic.name)
    for index in dict.fromkeys(indexes):
        partition = topic.partition(index)
        if partition is not None and call.node.id in partition.replicas:
            size_bytes = partition.log.size_bytes if partition.has_log else 0
            entry.partitions.append(DescribeLogDirsPartition(partition_index=index, partition_size=size_bytes))
    return entry
