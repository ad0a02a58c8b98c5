"""The table `protocol_coverage` in plain Python."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from fakebroker.analysis.pipeline.served_versions import served_versions

Row = dict[str, Any]

NO_ERROR: Final = "NONE"
NO_ANSWER: Final = "NO_ANSWER"
MAX_CLIENTS: Final = 20


def protocol_coverage(requests: Iterable[Row], events: Iterable[Row]) -> list[Row]:
    """A row for each API, version and error that was seen, and for each version that was served and not asked for.

    `events` say of which releases the brokers were (`broker_started`): without such lines nothing is unseen.
    """
    cells: dict[tuple[str, int, int, str], list[Row]] = defaultdict(list)
    for row in requests:
        for error in _errors(row):
            cells[row["api"], row["api_key"], row["version"], error].append(row)
    seen = {(api_key, version) for _, api_key, version, _ in cells}
    releases = {row["release"] for row in events if row["kind"] == "broker_started"}
    served = {each[1:] for each in served_versions() if each.release in releases}
    found = [_row(*cell, rows) for cell, rows in cells.items()]
    found += [
        _row(api, api_key, version, NO_ERROR, []) for api, api_key, version in served if (api_key, version) not in seen
    ]
    return sorted(found, key=lambda row: (row["api_key"], row["version"], row["error"]))


def _errors(row: Row) -> list[str]:
    if not row["is_answered"]:
        return [NO_ANSWER]
    return list(dict.fromkeys(row["errors"])) or [NO_ERROR]


def _row(api: str, api_key: int, version: int, error: str, rows: Sequence[Row]) -> Row:
    waits = sorted(row["waited_ms"] for row in rows)
    clients = sorted({row["client_id"] for row in rows if row["client_id"] is not None})
    return {
        "api": api,
        "api_key": api_key,
        "version": version,
        "error": error,
        "is_seen": bool(rows),
        "requests": len(rows),
        "clients": clients[:MAX_CLIENTS],
        "waited_ms_p50": percentile(waits, 0.5),
        "waited_ms_p99": percentile(waits, 0.99),
    }


def percentile(ordered: Sequence[int], share: float) -> float | None:
    """The value that so large a share of them does not exceed, on the line between the two beside it, as SQL has it."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    if below == place or ordered[below] == ordered[above]:
        return float(ordered[below])
    return (below + 1 - place) * ordered[below] + (place - below) * ordered[above]
