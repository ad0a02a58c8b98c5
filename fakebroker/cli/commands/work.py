"""How much a command has to do, for the choice of its engine. Imports what it needs when it is asked."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.engine_choice import AnyWork

AskWork = Callable[[], "AnyWork"]


def reading_journals(paths: Sequence[str]) -> AskWork:
    """The work of reading files and folders of journals."""

    def ask() -> "AnyWork":
        from fakebroker.analysis.pipeline.engine_choice import MAX_JOURNAL_MB, work_on_files

        return work_on_files(paths, MAX_JOURNAL_MB)

    return ask


def reading_logs(paths: Sequence[str]) -> AskWork:
    """The work of decoding files and folders of `__consumer_offsets`."""

    def ask() -> "AnyWork":
        from fakebroker.analysis.pipeline.engine_choice import MAX_LOG_MB, work_on_files

        return work_on_files(paths, MAX_LOG_MB)

    return ask


def reading_kafka() -> "AnyWork":
    """The work of reading the log of a running Kafka."""
    from fakebroker.analysis.pipeline.engine_choice import LIVE

    return LIVE


def building(folder: Path) -> AskWork:
    """The work of making tables of events and of decoded commits."""

    def ask() -> "AnyWork":
        from fakebroker.analysis.pipeline.engine_choice import MAX_EVENTS, work_on_tables

        return work_on_tables(folder, ("events", "commits"), MAX_EVENTS)

    return ask


def checking(folder: Path) -> AskWork:
    """The work of checking all tables."""

    def ask() -> "AnyWork":
        from fakebroker.analysis.pipeline.contract import MAX_CHECKED_ROWS
        from fakebroker.analysis.pipeline.engine_choice import work_on_tables
        from fakebroker.analysis.pipeline.tables import NAMES

        return work_on_tables(folder, NAMES, MAX_CHECKED_ROWS)

    return ask


def asking_what_if(folder: Path, names: Iterable[str]) -> AskWork:
    """The work of trying retentions on the rows of these tables."""

    def ask() -> "AnyWork":
        from fakebroker.analysis.pipeline.engine_choice import MAX_WHATIF_ROWS, work_on_tables

        return work_on_tables(folder, names, MAX_WHATIF_ROWS)

    return ask


def playing(runs: int) -> AskWork:
    """The work of playing runs of a campaign."""

    def ask() -> "AnyWork":
        from fakebroker.analysis.pipeline.engine_choice import MAX_RUNS, Work

        return Work(runs, MAX_RUNS, "runs")

    return ask
