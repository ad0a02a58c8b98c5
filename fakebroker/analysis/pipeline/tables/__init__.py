"""The contracts of the tables, a file for each."""

from importlib import import_module
from typing import Final

from fakebroker.analysis.pipeline.contract import Table

# In the order in which they are made.
NAMES: Final = (
    "events",
    "coordinator_records",
    "rejects",
    "commits",
    "group_states",
    "members",
    "assignments",
    "requests",
    "log_ends",
    "expiries",
    "lag_minute",
    "rebalances",
    "expiry_audit",
    "protocol_coverage",
    "group_health",
    "retention_losses",
    "retention_whatif",
    "campaign_runs",
    "campaign_failures",
)


def table(name: str) -> Table:
    """The contract of the table of that name, or of `decoded`, which is not published."""
    found: Table = import_module(f"{__name__}.{name}").TABLE
    return found


def all_tables() -> tuple[Table, ...]:
    """Every contract, in the order in which the tables are made."""
    return tuple(map(table, NAMES))
