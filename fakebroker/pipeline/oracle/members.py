"""Members of groups, by generation."""

from collections.abc import Iterable, Iterator
from typing import Any

from fakebroker.pipeline.group_answers import join_answer
from fakebroker.pipeline.group_members import member_rows
from fakebroker.pipeline.group_records import sorted_records

Row = dict[str, Any]


def members(coordinator_records: Iterable[Row], events: Iterable[Row]) -> list[Row]:
    """The table `members`: those that records name, and those whose JoinGroup was answered."""
    return [*member_rows(sorted_records(coordinator_records)), *_answered(events)]


def _answered(events: Iterable[Row]) -> Iterator[Row]:
    for row in sorted(events, key=lambda row: (row["run"], row["seq"], row["part"])):
        if row["kind"] != "request" or row["api"] != "JoinGroup" or row["errors"] != []:
            continue
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
                "at": row["wall_ms"],
                "source": row["run"],
                "log_partition": None,
                "log_offset": None,
                "seq": row["seq"],
                "part": row["part"],
            }
