"""Fetches like one that was answered at once: the same partitions from other offsets, without decoding or encoding.

Of v10 and later: in those before a topic's settings may forbid to read it (FT-17).
Both kinds read with the functions that the handler reads with, and step back where it would do anything but answer at
once with records and offsets: errors, waits, topics that came or went, settings that changed, segments to be loaded.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.fetch_answer import fetch_response, together
from fakebroker.broker.apis.fetch_request import TARGETS_PER_STEP
from fakebroker.broker.core.logs.fetch_sessions import FINAL_EPOCH, FetchSession, SessionPartition, key_of
from fakebroker.broker.core.logs.fetching import (
    FetchParams,
    FetchTarget,
    LogReadResult,
    PartitionFetch,
    ReadResult,
    is_any_unloaded,
    read_all,
)
from fakebroker.protocol.pace import AT_ONCE, finished
from fakebroker.protocol.schema import FieldSpan
from fakebroker.protocol.wire.layout import AnswerTemplate
from fakebroker.protocol.wire.messages.fetch import FetchResponse

MAX_TEMPLATES = 4  # of a session, whose answers list now these partitions, now those
MAX_LISTED = 250  # partitions of a template, which takes 0.8 KB for each

Answer = tuple[PartitionFetch, LogReadResult]


class _FetchAgain:
    """What both kinds have in common. `fetches` are the rows of the request, whose offsets change."""

    def __init__(self, call: Call, params: FetchParams, fetches: list[PartitionFetch]) -> None:
        self.params = params
        self.fetches = fetches
        self._topics, self._topic_changes = call.cluster.topics, call.cluster.topics.changes
        self._settings, self._generation = call.node.settings, call.node.settings.generation

    def is_still_valid(self) -> bool:
        """Whether the request means the same partitions and limits as it did, whoever leads them now."""
        return self._topics.changes == self._topic_changes and self._settings.generation == self._generation

    def answers_at_once(self, done: ReadResult) -> bool:
        """Whether what was read is answered at once and without an error (FT-5)."""
        params = self.params
        return not done.ends_wait and (done.size_bytes >= params.min_bytes or params.max_wait_ms <= 0)


class RepeatedFullFetch(_FetchAgain):
    """Without a session."""

    def __init__(self, call: Call, params: FetchParams, targets: list[FetchTarget]) -> None:
        super().__init__(call, params, [fetch for fetch, _ in targets])
        self._targets = targets
        self._template = _template(call, self.fetches, params) if len(self.fetches) <= MAX_LISTED else None

    def __call__(self, call: Call, values: tuple[Any, ...]) -> bytes | list[bytes] | None:
        """As `apis.call.Repeat` says."""
        if values[0] != FINAL_EPOCH or not self.is_still_valid():
            return None
        for at, fetch in enumerate(self.fetches, 1):
            fetch.offset = values[at]  # nobody else has it
        if call.cluster.storage is not None and is_any_unloaded(self._targets):
            return None
        done = read_all(call.cluster, self._targets, self.params)
        if not self.answers_at_once(done):
            return None
        if self._template is None or (self.params.read_committed and _has_own_lists(done.reads)):
            return _encoded(call, list(zip(self.fetches, done.reads, strict=True)))
        return self._template.fill(*_values(done.reads))


class RepeatedIncrementalFetch(_FetchAgain):
    """In a session."""

    def __init__(self, call: Call, params: FetchParams, session: FetchSession, fetches: list[PartitionFetch]) -> None:
        super().__init__(call, params, fetches)
        self._session = session
        self._keys = [key_of(fetch) for fetch in fetches]
        self._templates: dict[tuple[Any, ...], AnswerTemplate] = {}

    def __call__(self, call: Call, values: tuple[Any, ...]) -> bytes | list[bytes] | None:
        """As `apis.call.Repeat` says."""
        session, sessions = self._session, call.node.fetch_sessions
        if not self.is_still_valid() or sessions.get(session.id, session.owner) is not session:
            return None
        if session.epoch != values[0] or session.params is not self.params:
            return None
        listed = [session.partitions.get(key) for key in self._keys]
        if None in listed:
            return None
        before = [(known, known.fetch, known.caught_up_at) for known in listed if known is not None]
        for (known, _, _), fetch, offset in zip(before, self.fetches, values[1:], strict=True):
            known.fetch, known.caught_up_at = fetch.at(offset), -1  # a request that waits may have the other
        unread = session.unread()
        done = self._read(call, unread)
        if done is None or not self.answers_at_once(done):
            for known, fetch, caught_up_at in before:
                known.fetch, known.caught_up_at = fetch, caught_up_at
            return None
        sessions.advance(session, call.now)
        return self._answer(call, list(session.news(zip(unread, done.reads, strict=True), self.params)))

    def _read(self, call: Call, unread: list[SessionPartition]) -> ReadResult | None:
        """What the partitions give; None if there is one that cannot be read, or if they are read in steps.

        What a request found under their names, at the first of these or later, is still there: topics have not changed.
        """
        if len(unread) > TARGETS_PER_STEP:
            return None
        targets = [(known.fetch, known.partition) for known in unread if known.partition is not None]
        if len(targets) < len(unread) or (call.cluster.storage is not None and is_any_unloaded(targets)):
            return None
        return read_all(call.cluster, targets, self.params)

    def _answer(self, call: Call, answers: list[Answer]) -> bytes | list[bytes]:
        if self.params.read_committed and _has_own_lists(read for _, read in answers):
            return _encoded(call, answers, self._session.id)
        listed = tuple([(fetch.topic, fetch.topic_id, fetch.partition) for fetch, _ in answers])
        template = self._templates.get(listed)
        if template is None:
            if len(self._templates) >= MAX_TEMPLATES or len(listed) > MAX_LISTED:
                return _encoded(call, answers, self._session.id)
            template = _template(call, [fetch for fetch, _ in answers], self.params, self._session.id)
            self._templates[listed] = template
        return template.fill(*_values(read for _, read in answers))


def _has_own_lists(reads: Iterable[LogReadResult]) -> bool:
    """Whether any list of aborted transactions is not empty, as it is in a template; it may also be null (FT-15)."""
    return any(read.aborted != [] for read in reads)


def _encoded(call: Call, answers: list[Answer], session_id: int = 0) -> list[bytes]:
    """An answer of its own, without a template."""
    return _encoder(call.version)(finished(fetch_response(call, answers, AT_ONCE, session_id)))


def _values(reads: Iterable[LogReadResult]) -> list[Any]:
    """The values of the answer's varying fields, in wire order."""
    values: list[Any] = []
    size_bytes = 0
    for read in reads:
        batches = read.batches
        records = batches[0] if len(batches) == 1 else together(batches, size_bytes)
        size_bytes += len(records)
        values += (read.high_watermark, read.last_stable_offset, read.log_start_offset, records)
    return values


def _template(
    call: Call, fetches: Iterable[PartitionFetch], params: FetchParams, session_id: int = 0
) -> AnswerTemplate:
    """The answer that lists these partitions without an error."""
    read = LogReadResult(aborted=[] if params.read_committed else None)
    response = finished(fetch_response(call, [(fetch, read) for fetch in fetches], AT_ONCE, session_id))
    body = response.encode(call.version)
    return AnswerTemplate(body, _locator(call.version)(body, 0))


@cache
def _encoder(version: int) -> Callable[[FetchResponse], list[bytes]]:
    return FetchResponse.piecer(version)


@cache
def _locator(version: int) -> Callable[[bytes, int], Sequence[FieldSpan]]:
    return FetchResponse.locator(version)
