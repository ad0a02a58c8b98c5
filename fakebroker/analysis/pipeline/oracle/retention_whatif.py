"""What other retentions would have cost each group, in plain Python."""

from collections import defaultdict
from typing import Any

from fakebroker.analysis.pipeline.tables.retention_losses import WhatifOptions

Row = dict[str, Any]


def retention_whatif(
    commits: list[Row], retention_losses: list[Row], *, options: WhatifOptions | None = None
) -> list[Row]:
    """A row for each group that ever committed and each retention: see the contract."""
    options = options or WhatifOptions()
    partitions: dict[tuple[str, str], set[tuple[str, int]]] = defaultdict(set)
    for row in commits:
        if row["committed_offset"] is not None:
            partitions[row["source"], row["group_id"]].add((row["topic"], row["partition"]))
    losses: dict[tuple[str, str, int], list[Row]] = defaultdict(list)
    for row in retention_losses:
        losses[row["source"], row["group_id"], row["retention_ms"]].append(row)
    return [
        {
            "source": source,
            "group_id": group_id,
            "retention_ms": retention_ms,
            "partitions": len(known),
            **_summary(losses[source, group_id, retention_ms]),
        }
        for (source, group_id), known in partitions.items()
        for retention_ms in sorted(set(options.retentions_ms))
    ]


def _summary(losses: list[Row]) -> Row:
    met = [row for row in losses if row["came_back_at"] is not None]
    times = [row["lost_at"] for row in losses]
    return {
        "lost_offsets": len(losses),
        "lost_partitions": len({(row["topic"], row["partition"]) for row in losses}),
        "first_lost_at": min(times, default=None),
        "last_lost_at": max(times, default=None),
        "came_back": bool(met),
        "reset_offsets": len(met),
        "read_again_records": _known_sum(losses, "read_again_records"),
        "skipped_records": _known_sum(losses, "skipped_records"),
    }


def _known_sum(losses: list[Row], column: str) -> int | None:
    known = [row[column] for row in losses if row[column] is not None]
    return sum(known) if known else None
