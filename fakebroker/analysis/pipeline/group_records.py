"""Records of groups in `__consumer_offsets`, as the table `coordinator_records` has them, and who sorts and reads them.

Both engines replay the records of a group in the order of its log with the functions of `group_spans` and
`group_members`: a newer group is spread over many records, and bytes of members are in the classic ones.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

Row = dict[str, Any]

CLASSIC_KIND: Final = "GroupMetadata"
_TYPES: Final = {"ConsumerGroup": "consumer", "ShareGroup": "share", "StreamsGroup": "streams"}

KIND_PATTERN: Final = f"^({CLASSIC_KIND}$|{'|'.join(_TYPES)})"
"""A regular expression for the kinds of records of groups."""

# What replaying needs of a record.
COLUMNS: Final = ("source", "group_id", "log_partition", "log_offset", "kind", "key", "value", "at")
ORDER: Final = ("source", "group_id", "log_partition", "log_offset")


def group_type(kind: str) -> str | None:
    """The type of group that records of a kind belong to; None for other kinds."""
    if kind == CLASSIC_KIND:
        return "classic"
    return next((name for prefix, name in _TYPES.items() if kind.startswith(prefix)), None)


def part_of(kind: str) -> str:
    """What a record of a newer group is about: MemberMetadata, CurrentMemberAssignment, ... ; Metadata is its epoch."""
    prefix = next(prefix for prefix in _TYPES if kind.startswith(prefix))
    return kind.removeprefix(prefix)


def sorted_records(rows: Iterable[Row]) -> list[Row]:
    """The records of groups, group by group, in the order of their logs."""
    return sorted((row for row in rows if group_type(row["kind"])), key=lambda row: tuple(row[name] for name in ORDER))


def by_group(rows: Iterable[Row]) -> Iterator[Iterator[Row]]:
    """Sorted records, one group of one source after the other."""
    for _, found in groupby(rows, key=lambda row: (row["source"], row["group_id"])):
        yield found


def value_of(row: Row) -> Any:
    """The fields of a record's value; None for a tombstone."""
    return None if row["value"] is None else json.loads(row["value"])


def key_of(row: Row) -> Any:
    """The fields of a record's key."""
    return json.loads(row["key"])


def origin_of(row: Row) -> Row:
    """The columns that say where a row comes from."""
    return {"source": row["source"], "log_partition": row["log_partition"], "log_offset": row["log_offset"],
            "seq": None, "part": None}  # fmt: skip
