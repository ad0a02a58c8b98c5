"""Making tables of tables: which in which order, each from those that it reads."""

from collections.abc import Iterable
from typing import Any, Final

from fakebroker.analysis.pipeline.engines import Frame, contract_of, make, tables_needed, union
from fakebroker.analysis.pipeline.publish import Staging
from fakebroker.analysis.pipeline.recipe import Recipe
from fakebroker.analysis.pipeline.tables import NAMES

# Of `__consumer_offsets`: what decoding gives, and what follows from it.
FROM_LOG: Final = ("coordinator_records", *NAMES[NAMES.index("transaction_records") : NAMES.index("requests")])
OF_RETENTION: Final = ("retention_losses", "retention_whatif")  # `history whatif` makes them of commits and states
_BUILT: Final = NAMES[NAMES.index("commits") : NAMES.index("retention_losses")]
_COMMITS_OF_LOG: Final = Recipe("SELECT * FROM commits WHERE log_partition IS NOT NULL")
_LIVE_ENDS: Final = Recipe("SELECT * FROM log_ends WHERE seq IS NULL")


def make_tables(stage: Staging, names: Iterable[str], frames: dict[str, Frame], options: Any = None) -> None:
    """Make tables in this order and store them; `frames` has what is known beside what is published, and grows."""
    for name in names:
        for needed in tables_needed(name):
            if needed not in frames:
                frames[needed] = _known(stage, needed)
        frames[name] = stage.make(name, frames, options)


def build(stage: Staging) -> None:
    """Make silver and gold of what is published: events of journals, and what was decoded of a log.

    Rows of commits that came from a log are kept: they are made by decoding and by nothing else.
    """
    frames: dict[str, Frame] = {"live_ends": live_ends(stage)} if stage.has("log_ends") else {}
    if stage.has("commits"):
        frames["commits"] = _with_commits_of_log(stage)
    names = [name for name in _BUILT if name not in frames]
    make_tables(stage, names, frames)
    stage.drop(OF_RETENTION)


def _with_commits_of_log(stage: Staging) -> Frame:
    engine, contract = stage.engine, contract_of("commits")
    from_log = engine.made(_COMMITS_OF_LOG, contract, {"commits": stage.load("commits")})
    of_journals = make(engine, "commits", {"events": _known(stage, "events")})
    return stage.store(contract.name, union(engine, contract, [from_log, of_journals]))


def live_ends(stage: Staging) -> Frame:
    """The ends of logs that a running Kafka was asked for, which no journal has."""
    return stage.engine.made(_LIVE_ENDS, contract_of("live_ends"), {"log_ends": _known(stage, "log_ends")})


def _known(stage: Staging, name: str) -> Frame:
    """A table as it is made or published; empty otherwise, as is what is never published."""
    if stage.has(name):
        return stage.load(name)
    return stage.engine.frame(contract_of(name), [])
