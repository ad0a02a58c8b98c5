"""The tables, a file for each: what it promises (`TABLE`), and how it is made (`recipe`)."""

from importlib import import_module
from typing import Any, Final

from fakebroker.analysis.pipeline.contract import Table
from fakebroker.analysis.pipeline.recipe import Recipe

# In the order in which they are made.
NAMES: Final = (
    "events", "coordinator_records", "transaction_records", "rejects", "commits", "group_states", "members",
    "assignments", "transactions", "requests", "log_ends", "expiries", "lag_minute", "rebalances", "expiry_audit",
    "protocol_coverage", "group_health", "retention_losses", "retention_whatif", "campaign_runs", "campaign_failures",
)  # fmt: skip


def table(name: str) -> Table:
    """The contract of the table of that name, or of one that is not published."""
    found: Table = import_module(f"{__name__}.{name}").TABLE
    return found


def recipe(name: str, options: Any = None) -> Recipe:
    """How the table of that name is made."""
    module = import_module(f"{__name__}.{name}")
    made: Recipe = module.recipe() if options is None else module.recipe(options)
    return made


def all_tables() -> tuple[Table, ...]:
    """Every contract, in the order in which the tables are made."""
    return tuple(map(table, NAMES))
