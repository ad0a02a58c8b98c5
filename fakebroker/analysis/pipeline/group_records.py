"""Records of groups: those of `__consumer_offsets`, as the table `coordinator_records` has them, and those of journals.

The records of a group are replayed in their order by the functions of `group_spans`, `journal_spans` and
`group_members`: a newer group is spread over many records, and bytes of members are in the classic ones. A journal has
the records of newer groups only, as `coordinator_record` lines.
"""

import json
from typing import Any, Final

from fakebroker.analysis.pipeline.contract import ORIGIN_KEY, Row
from fakebroker.analysis.pipeline.recipe import listed

CLASSIC_KIND: Final = "GroupMetadata"
_TYPES: Final = {"ConsumerGroup": "consumer", "ShareGroup": "share", "StreamsGroup": "streams"}

# What replaying needs of a record.
COLUMNS: Final = ("source", "group_id", "log_partition", "log_offset", "seq", "part", "kind", "key", "value", "at")
TOGETHER: Final = ("source", "group_id")
ORDER: Final = ("log_partition", "log_offset", "seq", "part")
IN_LOGS: Final = f"SELECT {listed(COLUMNS)} FROM coordinator_records WHERE kind = '{CLASSIC_KIND}' OR " + " OR ".join(
    f"STARTS_WITH(kind, '{prefix}')" for prefix in _TYPES
)
"""A query for the records of groups in logs."""
EVERYWHERE: Final = f"""
    {IN_LOGS}
    UNION ALL
    SELECT run, "group", NULL, NULL, seq, part, record, key, value, wall_ms
    FROM events
    WHERE kind = 'coordinator_record'
"""
"""A query for the records of groups in logs and journals."""


def group_type(kind: str) -> str | None:
    """The type of group that records of a kind belong to; None for other kinds."""
    if kind == CLASSIC_KIND:
        return "classic"
    return next((name for prefix, name in _TYPES.items() if kind.startswith(prefix)), None)


def part_of(kind: str) -> str:
    """What a record of a newer group is about: MemberMetadata, CurrentMemberAssignment, ... ; Metadata is its epoch."""
    prefix = next(prefix for prefix in _TYPES if kind.startswith(prefix))
    return kind.removeprefix(prefix)


def value_of(row: Row) -> Any:
    """The fields of a record's value; None for a tombstone."""
    return None if row["value"] is None else json.loads(row["value"])


def key_of(row: Row) -> Any:
    """The fields of a record's key."""
    return json.loads(row["key"])


def origin_of(row: Row) -> Row:
    """The columns that say where a row comes from."""
    return {name: row[name] for name in ORIGIN_KEY}


def origin_of_line(row: Row) -> Row:
    """The same for a line of a journal."""
    return {"source": row["run"], "seq": row["seq"], "part": row["part"]}
