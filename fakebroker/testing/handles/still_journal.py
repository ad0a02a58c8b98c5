"""A journal as it was at one moment, for readers that take long."""

from collections.abc import Iterable

from fakebroker.broker.engine.journal import Event, Exchange, Recorded
from fakebroker.testing.handles.journal import JournalHandle


class StillJournal(JournalHandle):
    """What a journal had when this was made. Any thread may call what reads entries: `rows`, `save` and the like.

    To decode 100,000 requests takes seconds. On the broker's own thread every client would wait for that.
    """

    def __init__(self, journal: JournalHandle) -> None:
        access = journal._access
        super().__init__(access)
        self._entries = access._call(lambda: access._engine.journal.kept())

    def _kept(self, since: int) -> Iterable[Exchange | Recorded[Event]]:
        entries = self._entries
        return entries.of(range(max(since, entries.first_seq), entries.end_seq))
