"""The journal that a broker's options ask for."""

import os
from time import monotonic

from fakebroker.broker.engine.journal import Journal


def make_journal(journal_dir: str | os.PathLike[str] | None, verbose: bool) -> Journal:
    """The ring alone, or one that also writes files or logs. Raises InvalidArgument for a directory without use."""
    if journal_dir is None and not verbose:
        return Journal()
    from fakebroker.testing.journal.files import JournalFile
    from fakebroker.testing.journal.observed import ObservedJournal, Observer
    from fakebroker.testing.journal.request_log import RequestLog

    observers: list[Observer] = [RequestLog()] if verbose else []
    if journal_dir is not None:
        observers.append(JournalFile(journal_dir))
    return ObservedJournal(observers, monotonic)
