"""Plays the clients' side of a session file and compares what the broker answers, by meaning.

The requests are sent at their recorded times, on connections as recorded, with our ids in place of the recorded ones.
The file is read line by line; what is kept are requests under way, ids, and digests of records that only one side has
delivered so far.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fakebroker.client.connection import ClientConnection, Pending
from fakebroker.client.scripted.driver import Driver
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.records.record_content import ReadRecord
from fakebroker.protocol.schema.jsonable import from_json, to_json
from fakebroker.protocol.wire.registry import api
from fakebroker.scenarios.comparison.matching import Around, Matching
from fakebroker.scenarios.comparison.walk import Difference
from fakebroker.scenarios.recording.explained import reason_for, reason_for_wait
from fakebroker.scenarios.recording.fetched import Explained, Streams
from fakebroker.scenarios.recording.producers import with_our_producers
from fakebroker.scenarios.recording.survey import Survey
from fakebroker.scenarios.recording.transactions import ADD_PARTITIONS, is_of_transaction
from fakebroker.testing.exchanges.messages import Line, message_in
from fakebroker.testing.exchanges.reading import naming_line, read_session
from fakebroker.testing.recorded_cluster.state import TopicPartition

Json = Any

ANSWER_WITHIN_MS = 1_000  # after the recorded broker's answer
_REMOVING = frozenset({"DeleteTopics", "DeleteRecords"})
STARTING = "the recorded coordinator was still starting, and the client asked again"
LOADED_WITHIN_MS = 5_000  # after its start, a coordinator that has few groups
LOADING = "a coordinator that starts again loads its groups, and begins their timers, when it gets to it"
WAITS = "how long a fetch waits depends on when records come"


class Mismatch(NamedTuple):
    """A difference: where in the file the recorded answer stands, whose it is, and why it is none, if it is."""

    line: int
    title: str
    text: str
    reason: str | None


@dataclass
class Replayed:
    """What came of a replay. `answers` were recorded and could be compared; `unserved` counts requests by API."""

    answers: int = 0
    as_recorded: int = 0
    explained: Counter[str] = field(default_factory=Counter)  # reason -> differences
    unexplained: int = 0
    unserved: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0  # requests without an answer in the file
    notes: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether every difference is explained."""
        return not self.unexplained


@dataclass
class _Sent:
    """A request that was sent, until its recorded answer is compared."""

    line: int
    at_ms: float
    message: Json
    pending: Pending
    began_ms: int
    done_ms: int | None = None


class Target(NamedTuple):
    """What a session is played to: a driver, what each recorded broker is here, its address, and what is served.

    `catch_up(place, end, with_fillers=...)` lets other producers write until there, `read` gives the record at an
    offset (None where nothing can), and `settle` is called before each request.
    """

    driver: Driver
    nodes: dict[int, int]
    addresses: dict[int, Address]
    is_served: Callable[[int, int], bool]
    catch_up: Callable[..., None] = lambda *_args, **_options: None
    read: Callable[[TopicPartition, int], list[ReadRecord]] | None = None
    settle: Callable[[], None] = lambda: None
    stop: Callable[[int], None] = lambda _node: None
    start: Callable[[int], None] = lambda _node: None
    notes: Sequence[str] = ()  # what is there that was not


class Replay:
    """One replay of a session. `on_difference` is called with each difference as it is found."""

    def __init__(self, survey: Survey, target: Target, on_difference: Callable[[Mismatch], None]) -> None:
        self.result = Replayed(notes=list(target.notes))
        self.matching = Matching()
        self._survey = survey
        self._target = target
        self._driver = target.driver
        self._tell = on_difference
        self._streams = Streams(self.matching, survey.topic_name, survey.transactional)
        self._clients: dict[int, ClientConnection] = {}
        self._sent: dict[tuple[int, int | None], _Sent] = {}
        self._skipped: dict[tuple[int, int | None], str | None] = {}  # requests that are not sent, and why not
        self._written_ms: dict[TopicPartition, float] = {}
        for recorded, ours in target.nodes.items():
            self.matching.pairs.pair("node", recorded, ours)
        self._started_ms: int | None = None  # when a broker was last back
        self._start_ms = target.driver.mono_ms
        self._start_wall_ms = target.driver.wall_ms

    def play(self, path: str | os.PathLike[str]) -> Replayed:
        """Play every line. Raises UnreadableFile for a file that is no session."""
        for number, line in read_session(path, self.result.notes.append):
            if line["kind"] in ("connect", "request", "answer", "close"):
                self._pass_to(line["at_ms"])
                with naming_line(path, number):
                    self._stop_or_start(number)
                    self._play(number, line)
        self._finish()
        return self.result

    def _play(self, number: int, line: Line) -> None:
        match line["kind"]:
            case "connect":
                self._connect(line)
            case "request":
                self._request(number, line)
            case "answer":
                self._answer(number, line)
            case "close":
                self._close(line)

    def _stop_or_start(self, number: int) -> None:
        """A broker that was away in the session is away here."""
        outages = self._survey.outages
        if number in outages.stops:
            self._target.stop(outages.stops[number])
        if number in outages.starts:
            self._target.start(outages.starts[number])
            self._started_ms = self._driver.mono_ms

    def _connect(self, line: Line) -> None:
        client = self._clients[line["connection"]] = ClientConnection(None)
        try:
            self._driver.open(client, self._target.addresses.get(line["node"]))
        except OSError as error:
            client.close(str(error))

    def _request(self, number: int, line: Line) -> None:
        key = (line["connection"], line["correlation_id"])
        client = self._clients.get(line["connection"])
        if number in self._survey.starting:
            self._skipped[key] = STARTING
            return
        message = message_in(line) if self._can_send(line) else None
        if client is None or message is None or self._is_of_transaction(line, message):
            self.result.unserved[_title(line) + (" of a transaction" if message is not None else "")] += 1
            self._skipped[key] = None
            return
        if line["api"] in _REMOVING:
            self._meet_in_log()
        if line["api"] == "DeleteTopics":
            named = [{"Name": name} for name in message.get("TopicNames", ())] + message.get("Topics", [])
            self._streams.going |= dict.fromkeys(name for each in named if (name := self._survey.topic_name(each)))
        self._target.settle()
        request = self.matching.translated(message)
        if line["api"] == "Produce":
            for place, base_offset in self._survey.bases.get(number, {}).items():
                self._target.catch_up(place, base_offset, with_fillers=True)
            self._note_writes(message["TopicData"], "PartitionData", line["at_ms"])
            with_our_producers(request, self.matching.pairs)
        client.client_id = line["client"]
        expects_answer = not (line["api"] == "Produce" and message["Acks"] == 0)
        version = line["version"]
        pending = client.send(from_json(api(line["api"]).request, version, request), version, expects_answer)
        began_ms = self._driver.mono_ms
        self._sent[key] = _Sent(number, line["at_ms"], message, pending, began_ms)
        self._driver.flush(client)
        self._note_done()
        if not expects_answer:
            del self._sent[key]

    def _is_of_transaction(self, line: Line, message: Json) -> bool:
        can_take_part = self._target.is_served(*ADD_PARTITIONS) and not self._survey.lacks_transactions
        return not can_take_part and is_of_transaction(line["api"], message)

    def _can_send(self, line: Line) -> bool:
        return (
            "message" in line and line["api"] is not None and self._target.is_served(line["api_key"], line["version"])
        )

    def _answer(self, number: int, line: Line) -> None:
        key = (line["connection"], line["correlation_id"])
        if key in self._skipped:
            self._skip(number, line, self._skipped.pop(key))
            return
        sent = self._sent.get(key)
        recorded = message_in(line) if sent is not None else None
        if sent is None or recorded is None:
            return
        if line["api"] == "Fetch":
            self._catch_up(recorded)
        if line["api"] == "Produce":
            self._note_writes(recorded["Responses"], "PartitionResponses", line["at_ms"])
        self._driver.pass_time(ANSWER_WITHIN_MS, lambda: self._note_done() or sent.pending.is_done)
        del self._sent[key]
        self.result.answers += 1
        self._count_all(number, line, list(self._compared(line, recorded, sent)))

    def _skip(self, number: int, line: Line, reason: str | None) -> None:
        """An answer to a request that was not sent: only explained ones count."""
        if reason is not None:
            self.result.answers += 1
            self._count(number, line, Explained(Difference("answer", "not asked", "an error to try again"), reason), 1)

    def _count_all(self, number: int, line: Line, found: list[Explained]) -> None:
        """Each unexplained difference of an answer, and of the explained ones the first for each reason."""
        if not found:
            self.result.as_recorded += 1
        for each in found:
            if each.reason is None:
                self._count(number, line, each, 1)
        for reason in dict.fromkeys(each.reason for each in found if each.reason is not None):
            alike = [each for each in found if each.reason == reason]
            self._count(number, line, alike[0], len(alike))

    def _count(self, number: int, line: Line, each: Explained, alike: int) -> None:
        if each.reason is None:
            self.result.unexplained += 1
        else:
            self.result.explained[each.reason] += 1
        more = f", and {alike - 1} more" if alike > 1 else ""
        self._tell(Mismatch(number, f"{_title(line)} of {line['client']}", f"{each.difference}{more}", each.reason))

    def _compared(self, line: Line, recorded: Json, sent: _Sent) -> Iterator[Explained]:
        waited_ms = line["at_ms"] - sent.at_ms
        if not sent.pending.is_done:
            text = f"none within {self._driver.mono_ms - sent.began_ms} ms"
            yield Explained(Difference("answer", text, f"after {waited_ms:.0f} ms"), None)
            return
        try:
            answer = sent.pending.result()
        except FakebrokerError as error:
            yield Explained(Difference("answer", str(error), "an answer"), None)
            return
        ours = to_json(answer, line["version"])
        around = Around(sent.message, self._recorded_wall_ms(line["at_ms"]), self._driver.wall_ms)
        is_fetch = line["api"] == "Fetch"
        if is_fetch:
            yield from self._streams.compare(recorded, ours, around, lambda place: self._is_moving(place, sent))
        else:
            for each in self.matching.differences(recorded, ours, around):
                yield Explained(each, reason_for(line["api"], each, recorded, self._survey))
        yield from self._compared_wait(line["api"], waited_ms, sent)

    def _compared_wait(self, api_name: str, waited_ms: float, sent: _Sent) -> Iterator[Explained]:
        our_ms = (self._driver.mono_ms if sent.done_ms is None else sent.done_ms) - sent.began_ms
        if abs(our_ms - waited_ms) > self._driver.tolerance_ms(int(waited_ms)):
            difference = Difference("answered", f"after {our_ms} ms", f"after {waited_ms:.0f} ms")
            reason = WAITS if api_name == "Fetch" else reason_for_wait(api_name, our_ms, waited_ms)
            if reason is None and self._may_have_loaded(sent) and abs(our_ms - waited_ms) < LOADED_WITHIN_MS:
                reason = LOADING
            yield Explained(difference, reason)

    def _may_have_loaded(self, sent: _Sent) -> bool:
        return self._started_ms is not None and sent.began_ms - self._started_ms < LOADED_WITHIN_MS

    def _close(self, line: Line) -> None:
        client = self._clients.pop(line["connection"], None)
        if client is not None:
            self._driver.close(client)
        for key in [key for key in self._sent if key[0] == line["connection"]]:
            del self._sent[key]
            self.result.unanswered += 1

    def _finish(self) -> None:
        """What was left over: requests under way, and records that only the recorded broker delivered."""
        self.result.unanswered += len(self._sent)
        if self._survey.cut is None and not self._survey.has_end:
            self.result.notes.append("the session has no end line: the recorder was stopped, or still writes")
        self._meet_in_log()
        if self._target.read is not None:
            for place, offset in self._streams.left():
                self.result.unexplained += 1
                text = f"{place[0]}-{place[1]}: the record at offset {offset}, which a consumer read, is not there"
                self._tell(Mismatch(self._survey.lines, "Fetch", text, None))
        self._driver.close_all()

    def _meet_in_log(self) -> None:
        """What only the recorded broker has delivered is the same if it is in our log."""
        for place, offset in self._streams.left():
            for record in () if self._target.read is None else self._target.read(place, offset):
                self._streams.meet(place, record)

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _pass_to(self, at_ms: float) -> None:
        left_ms = self._start_ms + int(at_ms) - self._driver.mono_ms
        if left_ms > 0:
            self._driver.pass_time(left_ms, self._note_done)
            self._note_done()

    def _note_done(self) -> bool:
        """Note which requests were answered by now; the member ids in their answers are known at once. False."""
        for sent in self._sent.values():
            if sent.done_ms is None and sent.pending.is_done:
                sent.done_ms = self._driver.mono_ms
                recorded = self._survey.member_ids.get(sent.line)
                ours = getattr(sent.pending.response, "member_id", None)
                if recorded and ours:
                    self.matching.pairs.pair("member", recorded, ours)
        return False

    def _note_writes(self, topics: Json, key: str, at_ms: float) -> None:
        for topic in topics:
            name = self._survey.topic_name(topic)
            for each in topic[key]:
                if name is not None:
                    self._written_ms[name, each["Index"]] = at_ms

    def _is_moving(self, place: TopicPartition, sent: _Sent) -> bool:
        return self._written_ms.get(place, -1) >= sent.at_ms

    def _catch_up(self, recorded: Json) -> None:
        """Records that nobody in the session produced are in the log from the moment when somebody could read them."""
        for place, partition in self._streams.partitions_of(recorded):
            self._target.catch_up(place, partition["HighWatermark"], with_fillers=False)

    def _recorded_wall_ms(self, at_ms: float) -> int:
        return self._survey.started_wall_ms + int(at_ms)


def _title(line: Line) -> str:
    return f"{line['api'] or 'API ' + str(line['api_key'])} v{line['version']}"
