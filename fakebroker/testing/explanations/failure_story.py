"""The text of `FakeBroker.story()`, which the pytest plugin adds to the report of a failed test."""

from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING

from fakebroker.broker.core.dates import date_text
from fakebroker.broker.core.events import ClientLogin, CoordinatorMoved, TransactionTransition
from fakebroker.broker.core.explain.members import explain_members
from fakebroker.broker.core.explain.share_partitions import share_partitions_of
from fakebroker.broker.core.groups.modern.modern_group import ModernGroup
from fakebroker.broker.core.groups.share.share_group import ShareGroup
from fakebroker.broker.core.topics import TRANSACTION_STATE
from fakebroker.broker.core.transactions.states import ENDING, TransactionState
from fakebroker.broker.engine.journal import NOT_IN_STORY, Event, Exchange, Recorded
from fakebroker.broker.engine.printable import LINE_CHARACTERS, printable
from fakebroker.protocol.pace import AT_ONCE, Pace, finished
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.explanations.event_wording import event_text
from fakebroker.testing.explanations.reset_hint import hints_in_steps
from fakebroker.testing.explanations.wording import asked_text, is_idle_poll, request_text

if TYPE_CHECKING:
    from fakebroker.broker.engine.engine import Engine

LAST_REQUESTS = 8
LAST_EVENTS = 20
UNITS_PER_STEP = 1000
_SHOWN_ELSEWHERE = (*NOT_IN_STORY, ClientLogin)


def story(engine: "Engine") -> str:
    """What clients asked for that is not served, the last logins with their outcome, the last requests of each client,
    the last events of groups and of transactions with their reasons, groups whose members are not where they shall be,
    records in delivery, transactions that are open, what the test holds, the unanswered requests, faults that are still
    set, and a hint where numbers give a mistake away. Times are seconds since the oldest entry of the journal.

    Call it on the thread that owns the engine.
    """
    return finished(story_in_steps(engine, AT_ONCE))


def story_in_steps(engine: "Engine", pace: Pace) -> Generator[None, None, str]:
    """The same with a pause after each part, and within them after UNITS_PER_STEP requests, groups or partitions, the
    units of `pace`.
    """
    start_ms = _start_ms(engine)
    parts: list[Callable[[], str | Generator[None, None, str]]] = [
        lambda: _unserved(engine),
        lambda: _logins(engine, start_ms),
        lambda: _requests(engine, start_ms, pace),
        lambda: _events(engine, start_ms),
        lambda: _reconciling(engine, pace),
        lambda: _in_delivery(engine, pace),
        lambda: _transactions(engine, start_ms),
        lambda: _open_transactions(engine, pace),
        lambda: _held(engine),
        lambda: _unanswered(engine),
        lambda: _faults(engine),
    ]
    found = []
    for part in parts:
        text = part()
        found.append(text if isinstance(text, str) else (yield from text))
        yield
    found += yield from hints_in_steps(engine, pace)
    return "\n".join(part for part in found if part) or "nothing happened"


def _unserved(engine: "Engine") -> str:
    lines = engine.unserved.lines
    return "\n".join(["unsupported requests:", *(f"  {line}" for line in lines)]) if lines else ""


def _logins(engine: "Engine", start_ms: int) -> str:
    """Who logged in, and who was refused and why: a client that was not does not say more than that."""
    found = engine.journal.events(ClientLogin)
    return "\n".join(["logins:", *_event_lines(found, start_ms)]) if found else ""


def _start_ms(engine: "Engine") -> int:
    first = next(engine.journal.entries(), None)
    if first is None:
        return 0
    return first.at.mono_ms if isinstance(first, Recorded) else first.received.mono_ms


def _requests(engine: "Engine", start_ms: int, pace: Pace) -> Generator[None, None, str]:
    by_client: defaultdict[str, list[Exchange]] = defaultdict(list)
    for exchange in engine.journal.requests():
        by_client[printable(exchange.client_id or "(no client id)")].append(exchange)
        if pace.is_over():
            yield
    lines = []
    for client, exchanges in by_client.items():
        shown, count = yield from _last_of(exchanges, start_ms, pace)
        lines.append(f"{client}: the last {count} of {len(exchanges)} requests")
        lines += shown
    return "\n".join(lines)


def _last_of(exchanges: list[Exchange], start_ms: int, pace: Pace) -> Generator[None, None, tuple[list[str], int]]:
    """The last lines of a client, and how many requests they tell: polls in a row that found nothing share one."""
    lines: list[str] = []
    count, polls, position = 0, 0, len(exchanges)
    while position and len(lines) < LAST_REQUESTS:
        position -= 1
        exchange, count = exchanges[position], count + 1
        polls = polls + 1 if is_idle_poll(exchange) else 0
        if pace.is_over():
            yield
        if polls and position and _is_same_poll(exchanges[position - 1], exchange):
            continue
        many = f" ({polls} times)" if polls > 1 else ""
        lines.append(_request_line(exchange, start_ms) + many)
        polls = 0
    return lines[::-1], count


def _is_same_poll(one: Exchange, other: Exchange) -> bool:
    return one.api == other.api and is_idle_poll(one) and asked_text(one) == asked_text(other)


def _request_line(exchange: Exchange, start_ms: int) -> str:
    when = _when(exchange.received.mono_ms, start_ms)
    return f"  #{exchange.seq} {when} {printable(request_text(exchange), LINE_CHARACTERS)}"


def _events(engine: "Engine", start_ms: int) -> str:
    all_events = engine.journal.events()
    found = [r for r in all_events if not isinstance(r.event, _SHOWN_ELSEWHERE) and not _is_of_transactions(r)]
    return "\n".join(["groups and offsets:", *_event_lines(found, start_ms)]) if found else ""


def _reconciling(engine: "Engine", pace: Pace) -> Generator[None, None, str]:
    """Who in consumer, share and streams groups waits for whom: what clients may be waiting for."""
    lines = []
    for group in engine.cluster.groups(engine.now):
        if isinstance(group, ModernGroup) and not group.is_empty and not group.is_reconciled:
            first, *more = explain_members(engine.cluster, group, engine.now).lines()
            lines.append(f"  {printable(group.group_id)}: {group.state}, {first}")
            lines += [f"    {printable(each, LINE_CHARACTERS)}" for each in more]
        if pace.is_over():
            yield
    return "\n".join(["groups that are not at their target assignment:", *lines]) if lines else ""


def _in_delivery(engine: "Engine", pace: Pace) -> Generator[None, None, str]:
    """The records that members of share groups have acquired: others wait until they are acknowledged or unlocked."""
    lines = []
    for group in engine.cluster.groups(engine.now):
        if pace.is_over():
            yield
        for each in share_partitions_of(engine.cluster, group, engine.now) if isinstance(group, ShareGroup) else ():
            if any(records.member_id is not None for records in each.records):
                lines.append(f"  {printable(group.group_id)}: {printable(str(each), LINE_CHARACTERS)}")
            if pace.is_over():
                yield
    return "\n".join(["records in delivery:", *lines]) if lines else ""


def _transactions(engine: "Engine", start_ms: int) -> str:
    """Apart from groups, whose events would be lost among them: each transaction has three."""
    found = [r for r in engine.journal.events() if _is_of_transactions(r)]
    return "\n".join(["transactions:", *_event_lines(found, start_ms)]) if found else ""


def _is_of_transactions(recorded: Recorded[Event]) -> bool:
    """Whether an event is a transition of a transactional id, or a move of what coordinates some."""
    event = recorded.event
    is_move = isinstance(event, CoordinatorMoved) and event.topic == TRANSACTION_STATE
    return is_move or isinstance(event, TransactionTransition)


def _event_lines(found: Sequence[Recorded[Event]], start_ms: int) -> list[str]:
    return [f"  #{r.seq} {_when(r.at.mono_ms, start_ms)} {event_text(r.event)}" for r in found[-LAST_EVENTS:]]


def _open_transactions(engine: "Engine", pace: Pace) -> Generator[None, None, str]:
    """What readers of committed records and of stable offsets may be waiting for."""
    lines = []
    for each in engine.cluster.transactions(engine.now):
        if each.state is TransactionState.ONGOING or each.state in ENDING:
            partitions = ", ".join(map(str, each.partitions))
            overdue = "" if each.due_ms is None else f", overdue from {date_text(each.due_ms)} on by the broker's clock"
            lines.append(f"  {printable(each.transactional_id)}: {each.state.kafka_name}, {partitions}{overdue}")
        if pace.is_over():
            yield
    return "\n".join(["open transactions:", *lines]) if lines else ""


def _held(engine: "Engine") -> str:
    """What the test itself keeps from going on: the first thing to know when a client waits."""
    lines = [
        f"  {printable(group_id)}: {hold.text(phase)}"
        for group_id, holds in engine.cluster.holds.items()
        for phase, hold in holds.items()
        if not hold.is_released
    ]
    return "\n".join(["held:", *lines]) if lines else ""


def _unanswered(engine: "Engine") -> str:
    lines = []
    for connection in engine.connections.values():
        call = connection.parked_call
        if call is not None:
            waits_ms = engine.now.mono_ms - call.now.mono_ms
            client, api = printable(str(call.client_id)), APIS[call.api_key]
            lines.append(f"  {client}: {api.name} v{call.version}, for {waits_ms} ms")
    return "\n".join(["unanswered:", *lines]) if lines else ""


def _faults(engine: "Engine") -> str:
    """The faults that go on: one that a test has forgotten hits what comes later, too."""
    faults = [fault for fault in engine.faults if not getattr(fault.spec.fields.get("run"), "is_observation", False)]
    return "\n".join(f"{fault} is still set, {_hits(fault.hits)}" for fault in faults if not fault.is_exhausted)


def _hits(count: int) -> str:
    return "1 hit" if count == 1 else f"{count} hits"


def _when(mono_ms: int, start_ms: int) -> str:
    return f"+{(mono_ms - start_ms) / 1000:.3f}s"
