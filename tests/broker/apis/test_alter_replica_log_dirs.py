"""AlterReplicaLogDirs: there is one directory to move to."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)

Ask = Callable[..., Any]
DIRECTORY = "/tmp/kafka-logs"


@pytest.mark.rules("LR-3")
@pytest.mark.parametrize(
    ("path", "topic", "code"),
    [
        ("/no/such/dir", "t", ErrorCode.LOG_DIR_NOT_FOUND),
        ("relative", "t", ErrorCode.LOG_DIR_NOT_FOUND),
        ("/no/such/dir", "x", ErrorCode.LOG_DIR_NOT_FOUND),
        (DIRECTORY, "t", 0),
        (DIRECTORY, "x", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_moving_between_directories(ask: Ask, cluster: Cluster, path: str, topic: str, code: int) -> None:
    """A path that is no directory of the broker is 57, whatever the partition."""
    topics = [AlterReplicaLogDirTopic(name=topic, partitions=[0])]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=topics)])
    [result] = ask(cluster, request, 2).results
    assert (result.topic_name, result.partitions[0].partition_index, result.partitions[0].error_code) == (
        topic,
        0,
        code,
    )
