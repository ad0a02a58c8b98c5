"""Tables made by their recipes with the embedded engine, of rows and as rows: a function for each table.

Its arguments are rows of the tables that the recipe reads, in the order of READS.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, Final

from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
from fakebroker.analysis.pipeline.engines import make
from fakebroker.analysis.pipeline.tables import table

Row = dict[str, Any]

READS: Final[dict[str, tuple[str, ...]]] = {
    "assignments": ("coordinator_records", "events"),
    "campaign_failures": ("campaign_runs",),
    "commits": ("decoded", "events"),
    "coordinator_records": ("decoded",),
    "events": ("journal_lines",),
    "expiries": ("events",),
    "expiry_audit": ("events",),
    "group_health": ("group_states", "commits", "rebalances", "lag_minute", "expiries", "requests"),
    "group_states": ("coordinator_records", "events"),
    "journal_rejects": ("journal_lines", "events"),
    "lag_minute": ("commits", "log_ends", "expiries", "events"),
    "log_ends": ("events", "live_ends"),
    "members": ("coordinator_records", "events"),
    "protocol_coverage": ("requests", "events"),
    "rebalances": ("group_states",),
    "rejects": ("decoded",),
    "retention_losses": ("commits", "coordinator_records", "group_states", "events", "log_ends"),
    "retention_whatif": ("commits", "retention_losses"),
    "requests": ("events",),
    "transaction_records": ("transaction_log",),
    "transactions": ("transaction_records", "events"),
}

_ORDERS: Final = {
    "campaign_failures": ("rank",),
    "expiry_audit": ("source", "expiry_seq", "expiry_part", "commit_seq", "commit_part"),
}


def made(name: str, *tables: Iterable[Row], options: Any = None) -> list[Row]:
    """The rows of a table, in the order of their source; else in that of the key, failures of a campaign by rank."""
    engine = _engine()
    frames = {
        each: engine.frame(table(each), list(map(_as_stored, rows)))
        for each, rows in zip(READS[name], tables, strict=False)
    }
    rows = engine.rows(make(engine, name, frames, options))
    group = ("group_id",) if name == "group_states" else ()
    places = ("source", *group, "log_partition", "log_offset", "seq", "part")
    in_source = [each for each in places if each in table(name).column_names]
    names = _ORDERS.get(name, in_source if "seq" in in_source else table(name).key)
    return sorted(rows, key=lambda row: [(row[each] is not None, row[each]) for each in names])


def _as_stored(row: Row) -> Row:
    """A row of a journal as tables have it: objects are JSON text."""
    if any(isinstance(value, dict) for value in row.values()):
        return {name: json.dumps(value) if isinstance(value, dict) else value for name, value in row.items()}
    return row


@cache
def _engine() -> DuckEngine:
    return DuckEngine()


def _function(name: str) -> Callable[..., list[Row]]:
    return partial(made, name)


assignments = _function("assignments")
campaign_failures = _function("campaign_failures")
commits = _function("commits")
coordinator_records = _function("coordinator_records")
events = _function("events")
expiries = _function("expiries")
expiry_audit = _function("expiry_audit")
group_health = _function("group_health")
group_states = _function("group_states")
journal_rejects = _function("journal_rejects")
lag_minute = _function("lag_minute")
log_ends = _function("log_ends")
members = _function("members")
protocol_coverage = _function("protocol_coverage")
rebalances = _function("rebalances")
rejects = _function("rejects")
requests = _function("requests")
retention_losses = _function("retention_losses")
retention_whatif = _function("retention_whatif")
transaction_records = _function("transaction_records")
transactions = _function("transactions")
