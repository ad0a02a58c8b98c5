"""What happened, as a test sees it: requests with answers, events; waiting for them, keeping and comparing them."""

import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, overload

from fakebroker.broker.engine.journal import Event, Exchange, Recorded
from fakebroker.protocol.arguments.kinds import Choice, Choices, Whole
from fakebroker.protocol.arguments.types import Count, CountFrom1, TimeoutS
from fakebroker.protocol.errors import WHERE_KINDS, UnknownThing
from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from fakebroker.testing.handles.expectation import Api, ErrorText, Expectation, RequestPattern
from fakebroker.testing.handles.handle import WAIT_S, Handle

if TYPE_CHECKING:
    from fakebroker.testing.handles.entry_view import EntryView
    from fakebroker.testing.handles.waiting import WaitingRequest
    from fakebroker.testing.journal.brief import BriefJournal
    from fakebroker.testing.journal.diff import JournalDiff
    from fakebroker.testing.journal.saved import SavedJournal

RUN_IN_MEMORY = "memory"
MAX_LINES = 1000  # of a stretch
T = TypeVar("T")


def _event_kinds() -> list[str]:
    from fakebroker.testing.journal.schema import KIND_OF_EVENT

    return sorted(set(KIND_OF_EVENT.values()))


def _line_kinds() -> list[str]:
    from fakebroker.testing.journal.schema import KINDS

    return sorted(KINDS)


EventKind = Annotated[str, Choice(_event_kinds, WHERE_KINDS, UnknownThing)]
LineKind = Annotated[str, Choice(_line_kinds, WHERE_KINDS, UnknownThing)]
LineKinds = Annotated[str, Choices(_line_kinds, WHERE_KINDS, UnknownThing)]


class JournalHandle(Handle):
    """The journal of a broker: everything that happened, oldest first, as far as it reaches back in memory.

    Entries have sequence numbers that are never used again. `since` leaves out those with smaller ones.
    """

    def __repr__(self) -> str:
        return f"<journal of {len(self)} entries>"

    def __len__(self) -> int:
        return self._access._call(lambda: len(self._access._engine.journal))

    def __iter__(self) -> Iterator[Exchange | Recorded[Event]]:
        """Requests and events as they happened, those of this moment."""
        return iter(list(self._kept(0)))

    @property
    def next_seq(self) -> int:
        """The sequence number that the next entry will have: `since=` for what happens from now on."""
        return self._access._call(lambda: self._access._engine.journal.next_seq)

    @property
    def forgotten(self) -> int:
        """How many entries are not in memory any more."""
        return self._access._call(lambda: self._access._engine.journal.forgotten)

    def requests(
        self, api: Api | None = None, *, client_id: str | None = None, group: str | None = None,
        topic: str | None = None, node: int | None = None, connection: int | None = None,
        error: ErrorText | None = None, since: int = 0, limit: CountFrom1 | None = None,
    ) -> list[Exchange]:  # fmt: skip
        """The requests with their answers, decoded when looked at, in the order in which they were answered.

        `api` is the name of an API, or several as "Heartbeat|OffsetCommit", with wildcards; `error` is a name ("NONE":
        answered without an error), `client_id` may have wildcards. `limit` keeps the last so many of what was found.
        Raises UnknownThing for an API or error that does not exist.
        """
        pattern = RequestPattern(api, error, client_id, group, topic, node, connection)
        return _last([e for e in self._kept(since) if isinstance(e, Exchange) and pattern.matches(e)], limit)

    @overload
    def events(self, kind: None = None, *, since: int = 0, limit: int | None = None) -> list[Recorded[Event]]: ...

    @overload
    def events(self, kind: EventKind, *, since: int = 0, limit: int | None = None) -> list[Recorded[Any]]: ...

    def events(
        self, kind: EventKind | None = None, *, since: int = 0, limit: CountFrom1 | None = None
    ) -> list[Recorded[Any]]:
        """What happened beside requests: each with its sequence number, its time and the event.

        `kind` is a kind of docs/reference/journal-schema.md: "transition", "offset_expired", "connected" ... `limit`
        keeps the last so many of what was found. Raises UnknownThing for a kind that does not exist.
        """
        from fakebroker.testing.journal.schema import KIND_OF_EVENT

        found = (e for e in self._kept(since) if isinstance(e, Recorded))
        return _last([e for e in found if kind is None or KIND_OF_EVENT.get(type(e.event)) == kind], limit)

    def entries(self, *, since: int = 0) -> list[Exchange | Recorded[Event]]:
        """Requests and events in one order."""
        return list(self._kept(since))

    def rows(
        self, kind: LineKind | None = None, *, since: int = 0, limit: CountFrom1 | None = None
    ) -> list[dict[str, Any]]:  # fmt: skip
        """The journal as in files (docs/reference/journal-schema.md): an object for each line, without secrets.

        `kind` may also be "request" and what follows from requests. `limit` keeps the last so many of what was found.
        Raises UnknownThing for a kind that does not exist.
        """
        rows = self._rows(kind, since=since)
        return list(rows if limit is None else deque(rows, limit))

    def _rows(self, kind: str | None = None, *, since: int = 0) -> Iterator[dict[str, Any]]:
        """The same one by one: all of them may take many times the memory that the journal has."""
        from fakebroker.testing.journal.rows import rows_of

        for entry in self._kept(since):
            for row in rows_of(entry, RUN_IN_MEMORY):
                if kind is None or row["kind"] == kind:
                    yield row

    def brief(
        self, *, since: Count = 0, before: Count | None = None, limit: Annotated[int, Whole(1, MAX_LINES)] = 500,
        kind: LineKinds | None = None, group: str | None = None,
    ) -> "BriefJournal":  # fmt: skip
        """A stretch of the journal in brief lines (testing/journal/brief.py), for those who look at all of it.

        The first `limit` entries from `since` on, or with `before` the last ones in front of that number; oldest first.
        Of long lists, as of the groups that a request names, a line has the first 100.
        `kind` is a kind of docs/reference/journal-schema.md, or several as "transition|offset_expired", `group` what
        they name. Raises UnknownThing for a kind that does not exist, InvalidArgument for negative numbers, a `limit`
        outside of 1 to 1000, and for both `since` and `before`.
        """
        steps = self._brief(AT_ONCE, since=since, before=before, limit=limit, kind=kind, group=group)
        return self._access._call(lambda: finished(steps))

    def _brief(
        self, pace: Pace, *, since: int = 0, before: int | None = None, limit: int = 500, kind: str | None = None,
        group: str | None = None,
    ) -> "Generator[None, None, BriefJournal]":  # fmt: skip
        """The same in steps, on the engine's thread."""
        from fakebroker.testing.journal.brief import BriefFilter, BriefLines, check_stretch, stretch_in_steps

        check_stretch(since, before, limit)
        wanted = BriefFilter.of(kind, group)
        journal = self._access._engine.journal
        return (yield from stretch_in_steps(journal, BriefLines(), since, before, limit, wanted, pace))

    def entry(self, seq: Count) -> "EntryView":
        """One entry in full: decoded, its errors with the rules that speak of them, faults, what happened meanwhile.

        Raises UnknownThing for a number that is forgotten or not there yet.
        """
        from fakebroker.testing.handles.entry_view import entry_view

        return self._access._call(lambda: entry_view(self._access._engine.journal, seq, RUN_IN_MEMORY))

    @property
    def waiting(self) -> "list[WaitingRequest]":
        """The requests that wait for their answer now, in the order in which their clients connected. Of very many
        groups or topics in a request the first are named.
        """
        from fakebroker.testing.handles.waiting import waiting_requests

        return self._access._call(lambda: waiting_requests(self._access._engine))

    def expect(
        self, api: Api | None = None, *, error: ErrorText | None = None, client_id: str | None = None,
        group: str | None = None, topic: str | None = None, node: int | None = None, connection: int | None = None,
        since: int = 0,
    ) -> Expectation:  # fmt: skip
        """Expect a request; `.then(...)` another after it, `.never(...)` none in between, `.within(s=2)` waits.

        Arguments as of `requests`. Those that are in the journal already count, from `since` on.
        """
        first = RequestPattern(api, error, client_id, group, topic, node, connection)
        return Expectation(self._access, [first], since)

    def wait(self, requests: Sequence[RequestPattern], *, timeout_s: TimeoutS = WAIT_S, since: int = 0) -> Any:
        """Wait for requests in this order, as `expect(...).then(...).within(s=timeout_s)` does; gives them."""
        return Expectation(self._access, requests, since).within(s=timeout_s)

    def clear(self) -> None:
        """Forget everything; sequence numbers go on."""
        self._access._call(lambda: self._access._engine.journal.clear())

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write what is in memory to a file, as `--journal` does; returns the number of lines."""
        from fakebroker.testing.exchanges.writing import line_of
        from fakebroker.testing.journal.files import new_run
        from fakebroker.testing.journal.rows import rows_of

        run = new_run()
        count = 0
        with open(path, "wb") as file:
            for entry in self._kept(0):
                for row in rows_of(entry, run):
                    file.write(line_of(row))
                    count += 1
        return count

    def diff(self, other: "str | os.PathLike[str] | SavedJournal") -> "JournalDiff":
        """How `other`, a journal file or one that was loaded, differs from this one: what each client and group did.

        Ignores what differs from run to run by nature: times, ids that are made up, ports, how often was polled.
        Raises InvalidArgument for a file that is no journal.
        """
        from fakebroker.testing.journal.diff import diff
        from fakebroker.testing.journal.saved import SavedJournal, load

        return diff(SavedJournal(self.rows()), other if isinstance(other, SavedJournal) else load(other))

    def export_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a timeline of clients and groups that https://ui.perfetto.dev and chrome://tracing open."""
        from fakebroker.testing.journal.trace import write_trace

        write_trace(self.rows(), path)

    def export_pcap(self, path: str | os.PathLike[str]) -> int:
        """Write the frames as a network capture that Wireshark and tshark dissect; returns the number of packets.

        Addresses of nodes are made up (10.0.0.NODE:9092). Frames that were too large to be kept are marked as cut.
        """
        from fakebroker.testing.journal.pcap import write_pcap

        return write_pcap(self._kept(0), path)

    def _kept(self, since: int) -> Iterable[Exchange | Recorded[Event]]:
        return self._access._call(lambda: self._access._engine.journal.kept(since))


def _last(found: list[T], limit: int | None) -> list[T]:
    """The last `limit` of them; all without a limit. Raises InvalidArgument for a limit that is no number above 0."""
    if limit is None:
        return found
    return found[-limit:]
