"""Deletions that a journal tells of in requests: a log has tombstones for them, which are among its commits."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

Row = dict[str, Any]


def deletions_of(commits: Iterable[Row], events: Iterable[Row]) -> Iterator[Row]:
    """A row for each partition of which a journal says that its offset was deleted: key, `at`, place in the journal.

    From OffsetDelete and DeleteTopics requests that were answered. (A group that is deleted becomes Dead.)
    """
    partitions: dict[tuple[str, str], set[tuple[str, int]]] = defaultdict(set)
    for row in commits:
        if row["log_offset"] is None:
            partitions[row["source"], row["group_id"]].add((row["topic"], row["partition"]))
    for row in events:
        if row["kind"] == "request" and row["api"] == "OffsetDelete" and row["response"] is not None:
            yield from _of_offset_delete(row)
        elif row["kind"] == "request" and row["api"] == "DeleteTopics":
            yield from _of_delete_topics(row, partitions)


def _deletion(place: Row, source: str, group_id: str, topic: str, partition: int, at_ms: int) -> Row:
    return {
        "source": source,
        "group_id": group_id,
        "topic": topic,
        "partition": partition,
        "at": at_ms,
        "log_partition": None,
        "log_offset": None,
        "seq": place["seq"],
        "part": place["part"],
    }


def _of_offset_delete(row: Row) -> Iterator[Row]:
    request, response = (_message(row[name]) for name in ("request", "response"))
    if response.get("ErrorCode"):
        return
    for topic in response.get("Topics") or ():
        for each in topic["Partitions"]:
            if not each["ErrorCode"]:
                yield _deletion(
                    row, row["run"], request["GroupId"], topic["Name"], each["PartitionIndex"], row["wall_ms"]
                )


def _of_delete_topics(row: Row, partitions: dict[tuple[str, str], set[tuple[str, int]]]) -> Iterator[Row]:
    response = _message(row["response"])
    gone = {each["Name"] for each in response.get("Responses") or () if not each["ErrorCode"]}
    for (source, group_id), known in sorted(partitions.items()):
        for topic, partition in sorted(known):
            if source == row["run"] and topic in gone:
                yield _deletion(row, source, group_id, topic, partition, row["wall_ms"])


def _message(text: Any) -> dict[str, Any]:
    found = json.loads(text) if isinstance(text, str) else text
    return found if isinstance(found, dict) else {}
