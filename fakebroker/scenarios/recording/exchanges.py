"""A session as what its clients did: requests with their answers, without what only clients' libraries need.

Connections become actors: each client's connections are one actor, but for those that act while another is held up in a
rebalance, and those of different members of a group with the same client id.
"""

import os
import re
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any

from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.wire.registry import APIS
from fakebroker.scenarios.language.declaration import ALL_WORDS
from fakebroker.scenarios.recording.survey import Survey
from fakebroker.scenarios.recording.transactions import is_of_transaction
from fakebroker.testing.exchanges.messages import Line, message_in
from fakebroker.testing.exchanges.reading import read_session

Json = Any

MAX_PRODUCED_BYTES = 4 << 20  # more than that is no scenario, whatever is in it
PARKED_MS = 50  # an answer that took longer was held up
_LIBRARY = frozenset({"ApiVersions", "FindCoordinator", "ConsumerGroupDescribe", "PushTelemetry"})
_HELD_UP = frozenset({"JoinGroup", "SyncGroup"})
_OF_PRODUCERS = frozenset({"InitProducerId", "TxnOffsetCommit"})  # left out: scenarios of sessions play no transactions


@dataclass
class Exchange:
    """A request, its answer (None if there was none), and when both were."""

    line: int
    connection: int
    client: str | None
    broker: int | None
    api: str
    version: int
    request: Json
    sent_ms: float
    answer: Json = None
    answered_ms: float | None = None
    answer_line: int | None = None
    is_held_up: bool = False  # whether the broker held the answer back, as in a rebalance
    actor: str = ""

    @property
    def waited_ms(self) -> float:
        """How long the answer took; 0 if there was none."""
        return 0 if self.answered_ms is None else self.answered_ms - self.sent_ms


@dataclass
class SessionExchanges:
    """All that a session tells, for a scenario: the exchanges by the time of their requests, and what was left out."""

    exchanges: list[Exchange] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    cut: str | None = None

    def leave_out(self, what: str) -> None:
        """Count something that the scenario does not have."""
        self.left_out[what] = self.left_out.get(what, 0) + 1


def too_long(path: str) -> FakebrokerError:
    """The error for a session of which no scenario can be made that fakebroker would read, let alone people."""
    return FakebrokerError(
        f"{path}: a scenario of all that would be longer than 1 MiB; make one of its beginning: "
        f"head -n 2000 {path} > part.jsonl; fakebroker scenario from part.jsonl"
    )


def exchanges_of(path: str | os.PathLike[str], survey: Survey) -> SessionExchanges:
    """Read a session. Raises UnreadableFile for a file that is none."""
    session = SessionExchanges()
    open_ones: dict[tuple[int, int | None], Exchange] = {}
    brokers: dict[int, int | None] = {}
    produced_bytes = 0

    def note(sentence: str) -> None:
        session.cut = sentence

    for number, line in read_session(path, note):
        match line["kind"]:
            case "connect":
                brokers[line["connection"]] = line["node"]
            case "request":
                one = _exchange(number, line, brokers.get(line["connection"]))
                produced_bytes += line["size_bytes"] if line["api"] == "Produce" else 0
                if produced_bytes > MAX_PRODUCED_BYTES:
                    raise too_long(os.path.basename(os.fspath(path)))
                if one is not None and number not in survey.starting:
                    open_ones[line["connection"], line["correlation_id"]] = one
                    session.exchanges.append(one)
                elif line["api"] not in _LIBRARY and number not in survey.starting:
                    session.leave_out(f"{line['api'] or 'an unknown API'} v{line['version']}, which is not served")
            case "answer":
                one = open_ones.pop((line["connection"], line["correlation_id"]), None)
                if one is not None:
                    one.answered_ms, one.answer_line = line["at_ms"], number
                    one.answer = message_in(line)
    _note_held_up(session.exchanges)
    _name_actors(session.exchanges)
    return session


def _note_held_up(exchanges: list[Exchange]) -> None:
    """An answer was held up if it took long, or if others of the group acted before it came."""
    for index, one in enumerate(exchanges):
        if one.api in _HELD_UP:
            until = one.answer_line
            last = one.line if until is None else until
            later = takewhile(lambda other, last=last: other.line < last, islice(exchanges, index + 1, None))  # type: ignore[misc]
            is_passed = any(other.request.get("GroupId") == one.request["GroupId"] for other in later)
            one.is_held_up = until is None or one.waited_ms > PARKED_MS or is_passed


def _exchange(number: int, line: Line, broker: int | None) -> Exchange | None:
    if line["api"] in _LIBRARY or line["api_key"] not in APIS:
        return None
    message = message_in(line)
    if message is None or (line["api"] in _OF_PRODUCERS and is_of_transaction(line["api"], message)):
        return None
    return Exchange(
        number, line["connection"], line["client"], broker, line["api"], line["version"], message, line["at_ms"]
    )


def _name_actors(exchanges: list[Exchange]) -> None:
    """Give each connection an actor."""
    members: dict[str, int] = {}  # member id -> the first connection that had it
    owner: dict[int, int] = {}  # connection -> the connection whose actor it is
    for one in exchanges:
        owner.setdefault(one.connection, one.connection)
        if one.api == "JoinGroup" and one.answer and one.answer.get("MemberId"):
            for member_id in (one.request.get("MemberId"), one.answer["MemberId"]):
                if member_id:
                    owner[one.connection] = owner.get(members.setdefault(member_id, one.connection), one.connection)
    leading = list(dict.fromkeys(owner[one.connection] for one in exchanges if one.api == "JoinGroup"))
    _merge_others(exchanges, owner, leading)
    names: dict[int, str] = {}
    for one in exchanges:
        leader = owner[one.connection]
        if leader not in names:
            names[leader] = _free_name(one.client, names)
        one.actor = names[leader]


def _merge_others(exchanges: list[Exchange], owner: dict[int, int], leading: list[int]) -> None:
    """Connections that join no group belong to the one member of their client id there, if it is not held up."""
    clients: dict[int, tuple[str | None, int | None]] = {}  # client id, broker if there are several
    are_several = len({one.broker for one in exchanges if one.broker is not None}) > 1
    for one in exchanges:
        clients.setdefault(one.connection, (one.client, one.broker if are_several else None))
    held_up = [
        (owner[one.connection], one.sent_ms, float("inf") if one.answered_ms is None else one.answered_ms)
        for one in exchanges
        if one.is_held_up
    ]
    others: dict[tuple[str | None, int | None], int] = {}  # by client id and broker
    for connection, client in clients.items():
        if owner[connection] != connection or connection in leading:
            continue
        alike = [leader for leader in leading if clients[leader] == client]
        times = [one.sent_ms for one in exchanges if one.connection == connection]
        if len(alike) == 1 and not any(
            leader == alike[0] and begin <= at <= end for leader, begin, end in held_up for at in times
        ):
            owner[connection] = alike[0]
        else:
            owner[connection] = others.setdefault(client, connection)


def _free_name(client: str | None, taken: dict[int, str]) -> str:
    """A name for an actor: the client id as far as names go."""
    name = re.sub(r"\W+", "_", client or "client").strip("_").lower() or "client"
    if not name[0].isalpha() or name in ALL_WORDS:
        name = f"client_{name}"
    number, free = 2, name
    while free in taken.values():
        free, number = f"{name}_{number}", number + 1
    return free
