"""DescribeLogDirs: the sizes of partitions by directory."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from tests.support.cluster import partition

Ask = Callable[..., Any]
DIRECTORY = "/tmp/kafka-logs"


@pytest.mark.rules("LR-1", "LR-2")
@pytest.mark.parametrize("version", range(6))
def test_log_directories(ask: Ask, cluster: Cluster, version: int) -> None:
    """The size of a partition is that of its batches; unknown partitions and topics without any are left out."""
    batch = build_batch([Record(0, 1, b"k", b"v", ())])
    partition(cluster).log.append(batch, Instant(0, 0))
    asked = [DescribableLogDirTopic(topic="t", partitions=[0, 7]), DescribableLogDirTopic(topic="x", partitions=[0])]
    [directory] = ask(cluster, DescribeLogDirsRequest(topics=asked), version).results
    assert (directory.error_code, directory.log_dir) == (0, DIRECTORY)
    [topic] = directory.topics
    assert [(each.partition_index, each.partition_size, each.offset_lag) for each in topic.partitions] == [
        (0, len(batch), 0)
    ]
    assert not topic.partitions[0].is_future_key
    [everything] = ask(cluster, DescribeLogDirsRequest(topics=None), version).results
    assert [each.partition_index for each in everything.topics[0].partitions] == [0], "partition 1 is on 2 and 3"
    [nothing] = ask(cluster, DescribeLogDirsRequest(topics=[]), version).results
    assert (nothing.log_dir, nothing.topics) == (DIRECTORY, [])
