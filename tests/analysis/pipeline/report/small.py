"""Small published tables for tests of the report."""

from pathlib import Path
from typing import Any, Final

from fakebroker.analysis.pipeline.publish import write_manifest
from fakebroker.analysis.pipeline.rows import write_rows
from fakebroker.analysis.pipeline.tables import table
from tests.support.tables_made import campaign_failures

Row = dict[str, Any]

START_MS: Final = 1_767_225_600_000  # 2026-01-01
MINUTE_MS, DAY_MS = 60_000, 86_400_000
_EMPTY: Final = {
    "string": "", "int": 0, "long": 0, "double": 0.0, "boolean": False, "timestamp": START_MS, "strings": [],
}  # fmt: skip


def rows(name: str, *given: Row) -> list[Row]:
    """Rows of a table; what is not given is null where it may be, else empty, and `seq` counts."""
    contract = table(name)
    defaults = {each.name: None if each.is_nullable else _EMPTY[each.type] for each in contract.columns}
    if "seq" in defaults:
        return [{**defaults, "seq": seq, "part": 0, **row} for seq, row in enumerate(given)]
    return [{**defaults, **row} for row in given]


def publish(folder: Path, tables: dict[str, list[Row]]) -> Path:
    """A folder as it is after tables were published. Nothing checks them: a report tells of what is wrong, too."""
    for name, found in tables.items():
        write_rows(table(name), found, folder / name)
    write_manifest(folder, tables, {"checks": {"run": 7, "left_out": 2}})
    return folder


def small_tables(group: str = "billing") -> dict[str, list[Row]]:
    """A bit of everything, of two groups: `group`, and one that is named as nobody should name groups."""
    odd = "<script>alert('x')</script>"
    return {
        "rejects": rows("rejects", {"source": "s", "file": "j/1.jsonl", "position": 7, "reason": "the line is torn"}),
        "expiries": rows(
            "expiries",
            {"group_id": group, "topic": "orders", "rule": "EX-3", "expired_at": START_MS + DAY_MS, "due_at": START_MS},
            {"group_id": group, "topic": "mail", "rule": "EX-2", "expired_at": START_MS + DAY_MS, "due_at": START_MS},
        ),
        "lag_minute": rows(
            "lag_minute",
            *(
                {
                    "group_id": each,
                    "topic": "orders",
                    "minute_at": START_MS + minute * MINUTE_MS,
                    "committed_offset": 40,
                    "log_end_offset": 40 + lag,
                    "lag": lag,
                }
                for each, lags in ((group, (0, 5, 1500)), (odd, (3, 4, 0)))
                for minute, lag in enumerate(lags)
            ),
            {"group_id": group, "topic": "orders", "minute_at": START_MS + DAY_MS, "log_end_offset": 1540},
        ),
        "rebalances": rows(
            "rebalances",
            *(
                {
                    "group_id": each,
                    "began_at": START_MS + at_ms,
                    "ended_at": START_MS + at_ms + took_ms,
                    "duration_ms": took_ms,
                    "cause": cause,
                    "result": "Stable",
                }
                for each, at_ms, took_ms, cause in (
                    (group, 0, 3000, "member joined"),
                    (group, 60_000, 250, "member joined"),
                    (group, 90_000, 40_000, "session expired"),
                    (odd, 60_000, 10, "member left | rejoined"),
                )
            ),
            {"group_id": odd, "began_at": START_MS + 120_000, "cause": "member joined", "result": "unfinished"},
        ),
        "transactions": rows(
            "transactions",
            {"transactional_id": "payments", "began_at": START_MS, "ended_at": START_MS + 40, "duration_ms": 40,
             "outcome": "committed", "ended_by": "producer"},
            {"transactional_id": odd, "began_at": START_MS, "ended_at": START_MS + 60_000, "duration_ms": 60_000,
             "outcome": "aborted", "ended_by": "timeout"},
        ),
        "protocol_coverage": rows(
            "protocol_coverage",
            {"api": "Heartbeat", "api_key": 12, "version": 4, "error": "NONE", "is_seen": True, "requests": 90},
            {
                "api": "Heartbeat",
                "api_key": 12,
                "version": 4,
                "error": "UNKNOWN_MEMBER_ID",
                "is_seen": True,
                "requests": 10,
                "clients": ["a", odd],
            },
            {"api": "Heartbeat", "api_key": 12, "version": 3, "error": "NONE", "is_seen": False},
            {"api": "JoinGroup", "api_key": 11, "version": 0, "error": "NONE", "is_seen": False},
        ),
        "group_health": rows(
            "group_health",
            {"group_id": group, "group_type": "classic", "rebalances": 3, "commits": 70, "last_lag": 1500},
            {"group_id": odd, "group_type": "classic", "rebalances": 2, "commits": 3, "last_lag": 0},
        ),
        "retention_whatif": rows(
            "retention_whatif",
            {"group_id": group, "retention_ms": DAY_MS, "lost_offsets": 4, "lost_partitions": 3, "reset_offsets": 2,
             "came_back": True, "read_again_records": 1200},
            {"group_id": group, "retention_ms": 7 * DAY_MS, "lost_offsets": 1, "lost_partitions": 1},
            {"group_id": odd, "retention_ms": DAY_MS},
            {"group_id": odd, "retention_ms": 7 * DAY_MS},
        ),
        **campaign_tables(odd),
    }  # fmt: skip


def campaign_tables(odd: str) -> dict[str, list[Row]]:
    """A campaign of five runs, of which two failed."""
    runs = rows(
        "campaign_runs",
        *(
            {
                "scenario": "s/a.yaml",
                "seed": seed,
                "settings": "{}",
                "outcome": "failed" if seed > 3 else "passed",
                "failure": f"s/a.yaml:3: expected `a`, but saw {odd}" if seed > 3 else None,
                "signature": "expected a" if seed > 3 else None,
                "repeat": f"fakebroker scenario run 's/a|b.yaml' --seed {seed}" if seed > 3 else None,
            }
            for seed in range(1, 6)
        ),
    )
    return {"campaign_runs": runs, "campaign_failures": campaign_failures(runs)}
