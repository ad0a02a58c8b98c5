"""The table `group_health` in plain Python."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]
Key = tuple[str, str]


def group_health(
    group_states: Iterable[Row],
    commits: Iterable[Row],
    rebalances: Iterable[Row],
    lag_minute: Iterable[Row],
    expiries: Iterable[Row],
    requests: Iterable[Row],
) -> list[Row]:
    """A row for each group of each source that had a state or stored an offset."""
    states = _by_group(group_states)
    stored = _by_group(row for row in commits if row["outcome"] == "committed" and row["committed_offset"] is not None)
    begun, lags, expired = _by_group(rebalances), _by_group(lag_minute), _by_group(expiries)
    failed: dict[Key, int] = defaultdict(int)
    for row in requests:
        for group_id in set(row["groups"]) if row["errors"] else ():
            failed[row["source"], group_id] += 1
    return [
        _health(key, states[key], stored[key], begun[key], lags[key])
        | {"expired_offsets": len(expired[key]), "failed_requests": failed[key]}
        for key in sorted({*states, *stored})
    ]


def _by_group(rows: Iterable[Row]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["source"], row["group_id"]].append(row)
    return found


def _health(key: Key, states: list[Row], stored: list[Row], begun: list[Row], lags: list[Row]) -> Row:
    source, group_id = key
    known = [row["began_at"] for row in states] + [row["applied_at"] for row in stored]
    times = [at for at in known if at is not None]
    last = max(states, key=_place, default=None)
    last_commit = max(stored, key=_applied_place, default=None)
    is_journal = any(row["seq"] is not None for row in (*states, *stored))
    took_ms = [row["duration_ms"] for row in begun if row["duration_ms"] is not None]
    known_lags = [row["lag"] for row in lags if row["lag"] is not None]
    return {
        "source": source,
        "group_id": group_id,
        "group_type": last["group_type"] if last else "classic",
        "first_at": min(times, default=None),
        "last_at": max(times, default=None),
        "last_state": last["state"] if last else None,
        "most_members": max((row["members"] for row in states if row["members"] is not None), default=None),
        "rebalances": len(begun),
        "rebalancing_ms": sum(took_ms) if is_journal else None,
        "longest_rebalance_ms": max(took_ms, default=None),
        "commits": len(stored),
        "last_commit_at": last_commit["applied_at"] if last_commit else None,
        "most_lag": max(known_lags, default=None),
        "last_lag": _last_lag(lags),
    }


def _place(row: Row) -> tuple[int, int]:
    return (row["log_offset"], 0) if row["log_offset"] is not None else (row["seq"], row["part"])


def _applied_place(row: Row) -> tuple[int, int]:
    offset = row["applied_log_offset"]
    return (offset, row["log_offset"]) if offset is not None else (row["seq"], row["part"])


def _last_lag(lags: list[Row]) -> int | None:
    """All partitions together, each as of its latest minute; None if it is known of none."""
    latest: dict[tuple[str, int], Row] = {}
    for row in sorted(lags, key=lambda row: row["minute_at"]):
        latest[row["topic"], row["partition"]] = row
    known = [row["lag"] for row in latest.values() if row["lag"] is not None]
    return sum(known) if known else None
