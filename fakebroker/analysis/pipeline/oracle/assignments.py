"""Assigned partitions, by generation and member."""

from collections.abc import Iterable, Iterator
from typing import Any

from fakebroker.analysis.pipeline.group_answers import sync_answer
from fakebroker.analysis.pipeline.group_members import assignment_rows
from fakebroker.analysis.pipeline.group_records import sorted_records
from fakebroker.analysis.pipeline.oracle.answered import answered_well, origin_of

Row = dict[str, Any]


def assignments(coordinator_records: Iterable[Row], events: Iterable[Row]) -> list[Row]:
    """The table `assignments`: what records assign, and what members got in answers to SyncGroup."""
    return [*assignment_rows(sorted_records(coordinator_records)), *_answered(events)]


def _answered(events: Iterable[Row]) -> Iterator[Row]:
    for row in answered_well(events, "SyncGroup"):
        answer = sync_answer(row["request"], row["response"])
        for topic, partition in answer.partitions if answer is not None else ():
            assert answer is not None
            yield {
                "group_id": answer.group_id,
                "group_type": "classic",
                "generation": answer.generation,
                "member_id": answer.member_id,
                "topic": topic,
                "partition": partition,
                **origin_of(row),
            }
