"""Deletions that a journal tells of in requests: a log has tombstones for them, which are among its commits."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from fakebroker.analysis.pipeline.contract import Row, columns_only

_OFFSETS, _TOPICS = "OffsetDelete", "DeleteTopics"

ANSWERED: Final = f"""
    SELECT run, seq, part, wall_ms, api, request, response
    FROM events
    WHERE kind = 'request' AND api IN ('{_OFFSETS}', '{_TOPICS}') AND response IS NOT NULL
"""
"""A query for the requests that delete offsets, but for those that delete groups, which become Dead."""

DELETED: Final = columns_only("""
    run string: the run
    seq long: the entry of the journal
    part int: the line's number within that entry
    wall_ms long: when
    deleted_group string?: the group; null for every group
    deleted_topic string: the topic
    deleted_partition int?: the partition; null for every partition
""")
"""Offsets that were deleted by requests."""


def deleted(requests: Iterable[Row]) -> Iterator[Row]:
    """What each of these requests deleted, as far as its answer says so."""
    for row in requests:
        request, response = json.loads(row["request"]), json.loads(row["response"])
        found = _of_groups(request, response) if row["api"] == _OFFSETS else _of_topics(response)
        for group_id, topic, partition in found:
            yield {**row, "deleted_group": group_id, "deleted_topic": topic, "deleted_partition": partition}


def _of_groups(request: Any, response: Any) -> Iterator[tuple[str, str, int]]:
    if response.get("ErrorCode"):
        return
    for topic in response.get("Topics") or ():
        for each in topic["Partitions"]:
            if not each["ErrorCode"]:
                yield request["GroupId"], topic["Name"], each["PartitionIndex"]


def _of_topics(response: Any) -> Iterator[tuple[None, str, None]]:
    for each in response.get("Responses") or ():
        if not each["ErrorCode"] and each["Name"] is not None:
            yield None, each["Name"], None
