"""The journal by HTTP: as a stream of server-sent events, as files for tools, compared with a file that is sent."""

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from fakebroker.cli.http.answers import to_json
from fakebroker.cli.http.endpoint import wants_text
from fakebroker.cli.http.event_stream import EventStream, ThreadStream
from fakebroker.cli.http.extra import Extra, Served
from fakebroker.cli.http.journal_stream import journal_events
from fakebroker.cli.http.problems import Problem, shown_value
from fakebroker.cli.http.request_body import read_body
from fakebroker.testing.exchanges.reading import UnreadableFile
from fakebroker.testing.handles.still_journal import StillJournal
from fakebroker.testing.journal.diff import JournalDiff

PIECE_BYTES = 256 * 1024
LINES, PCAP = "application/jsonl", "application/vnd.tcpdump.pcap"


async def _stream(served: Served, request: Request) -> Response:
    """The journal as server-sent events, as it happens: an event for each line of docs/reference/journal-schema.md.

    `since` begins with the entry of that sequence number, as Last-Event-ID with the one after it; without either the
    stream begins with what happens next.
    """
    broker = served.broker_of(request)
    since = request.query_params.get("since")
    if since is None:
        last = request.headers.get("last-event-id", "")
        since = str(int(last) + 1) if _is_number(last) else None
    if since is not None and not _is_number(since):
        detail = f"since must be a sequence number, not {shown_value(since)!r}"
        raise Problem(422, "invalid-argument", detail, field="since", value=shown_value(since))
    start = broker.journal.next_seq if since is None else int(since)
    return EventStream(journal_events(broker, start, lambda: served.is_closing))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


async def _file(served: Served, request: Request) -> Response:
    """What is in memory as a journal file (JSON lines): for `fakebroker journal`, and for `POST /journal/diff`."""
    return await asyncio.to_thread(_written, _journal(served, request).save, LINES)


async def _trace(served: Served, request: Request) -> Response:
    """A timeline of clients and groups that https://ui.perfetto.dev and chrome://tracing open."""
    return await asyncio.to_thread(_written, _journal(served, request).export_trace, "application/json")


async def _pcap(served: Served, request: Request) -> Response:
    """The frames as a network capture that Wireshark and tshark dissect."""
    return await asyncio.to_thread(_written, _journal(served, request).export_pcap, PCAP)


async def _diff(served: Served, request: Request) -> Response:
    """How the journal file in the body differs from this journal: what each client and group did."""
    body = await read_body(request)
    found = await asyncio.to_thread(_difference, _journal(served, request), body)
    return PlainTextResponse(f"{found}\n") if wants_text(request) else JSONResponse(to_json(found, frozenset()))


def _journal(served: Served, request: Request) -> StillJournal:
    """The journal as it is now, which another thread may read."""
    return StillJournal(served.broker_of(request).journal)


def _difference(journal: StillJournal, other: bytes) -> JournalDiff:
    with TemporaryDirectory() as folder:
        path = Path(folder, "the body")
        path.write_bytes(other)
        try:
            return journal.diff(path)
        except UnreadableFile as error:
            where = path.name if error.number is None else f"{path.name}, line {error.number}"
            raise Problem(422, "invalid-argument", f"{where}: {error.problem}") from None


def _written(write: Callable[[str | os.PathLike[str]], object], media_type: str) -> Response:
    """What a method writes to a file, which may be many times as long as the journal."""
    folder = TemporaryDirectory()
    path = Path(folder.name, "journal")
    try:
        write(path)
    except BaseException:
        folder.cleanup()
        raise
    return ThreadStream(_pieces(folder, path), media_type)


def _pieces(folder: "TemporaryDirectory[str]", path: Path) -> Iterator[bytes]:
    with folder, path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _covers(name: str) -> tuple[str, ...]:
    return (f"JournalHandle.{name}",)


JOURNAL = (
    Extra("GET", "/journal/stream", _stream, media_type="text/event-stream", of_broker=True, query=("since",)),
    Extra("GET", "/journal/file", _file, media_type=LINES, of_broker=True, covers=_covers("save")),
    Extra("GET", "/journal/trace", _trace, schema="Trace", of_broker=True, covers=_covers("export_trace")),
    Extra("GET", "/journal/pcap", _pcap, media_type=PCAP, of_broker=True, covers=_covers("export_pcap")),
    Extra("POST", "/journal/diff", _diff, schema="JournalDiff", of_broker=True, covers=_covers("diff")),
)
