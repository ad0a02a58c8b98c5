"""Members of groups, by generation."""

from collections.abc import Iterable, Iterator
from typing import Any

from fakebroker.analysis.pipeline.group_answers import join_answer
from fakebroker.analysis.pipeline.group_members import member_rows
from fakebroker.analysis.pipeline.group_records import sorted_records
from fakebroker.analysis.pipeline.oracle.answered import answered_well, origin_of

Row = dict[str, Any]


def members(coordinator_records: Iterable[Row], events: Iterable[Row]) -> list[Row]:
    """The table `members`: those that records name, and those whose JoinGroup was answered."""
    return [*member_rows(sorted_records(coordinator_records)), *_answered(events)]


def _answered(events: Iterable[Row]) -> Iterator[Row]:
    for row in answered_well(events, "JoinGroup"):
        answer = join_answer(row["request"], row["response"])
        if answer is not None:
            yield {
                "group_id": answer.group_id,
                "group_type": "classic",
                "generation": answer.generation,
                "member_id": answer.member_id,
                "group_instance_id": answer.group_instance_id,
                "client_id": row["client"],
                "client_host": None,
                "rebalance_timeout_ms": answer.rebalance_timeout_ms,
                "session_timeout_ms": answer.session_timeout_ms,
                "protocol": answer.protocol,
                "subscribed_topics": answer.topics,
                **origin_of(row),
            }
