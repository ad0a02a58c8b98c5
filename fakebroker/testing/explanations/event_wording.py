"""Events in words, for the log of `--verbose` and the story of a failed test."""

import re
from collections import Counter
from itertools import islice
from typing import Any

from fakebroker.broker.core.dates import date_text, span_text
from fakebroker.broker.core.events import (
    AccessDenied,
    AclChanged,
    AssignmentComputed,
    ClientLogin,
    ClientThrottled,
    ClockMoved,
    CoordinatorMoved,
    CoordinatorRecords,
    FaultHit,
    GroupEpochBumped,
    GroupsLoaded,
    GroupStored,
    MemberTransition,
    NodeChanged,
    OffsetsExpired,
    TransactionTransition,
    Transition,
)
from fakebroker.broker.core.groups.kinds import epoch_word
from fakebroker.broker.core.offsets.expirations import OffsetExpired
from fakebroker.broker.engine.journal import (
    BrokerStarted,
    Connected,
    Disconnected,
    Event,
    InternalError,
    Peer,
    TlsEstablished,
    TlsFailed,
)
from fakebroker.broker.engine.printable import LINE_CHARACTERS, printable
from fakebroker.testing.explanations.failed_wording import wording_or_error

SHOWN_EXPIRED = 5

GroupEvent = Transition | GroupEpochBumped | AssignmentComputed | MemberTransition


def event_text(event: Event) -> str:
    """An event on one line; one that has no words of its own is shown by its name and fields."""
    return wording_or_error(lambda: _event_text(event))


def _event_text(event: Event) -> str:
    match event:
        case Transition() | GroupEpochBumped() | AssignmentComputed() | MemberTransition():
            reason = reason_of(event)
            return f"{printable(event.group_id)}: {group_event_text(event)}" + (f" ({reason})" if reason else "")
        case TransactionTransition():
            return _transaction_text(event)
        case OffsetsExpired():
            return f"{printable(event.group_id)}: offsets expired: {_format_expired(event)}"
        case GroupStored():
            return f"{printable(event.group_id)}: {_stored_text(event)}"
        case CoordinatorRecords():
            return _records_text(event)
        case GroupsLoaded():
            count = len(event.groups)
            return f"{count} group{'' if count == 1 else 's'} loaded"
        case BrokerStarted():
            settings = ", ".join(f"{name}={value}" for name, value in sorted(event.settings.items()))
            return f"the broker started as release {event.release}, with {settings or 'default settings'}"
        case CoordinatorMoved():
            reason = f": {event.reason}" if event.reason else ""
            return f"{event.topic}-{event.partition}: {event.what} by node {event.node_id}{reason}"
        case NodeChanged():
            return f"node {event.node_id}: {event.what}"
        case ClockMoved():
            return f"the clock {event.how}: {date_text(event.from_ms)} -> {date_text(event.to_ms)}"
        case FaultHit():
            what = f"{event.api} v{event.version} of {printable(event.client_id or '(no client id)')}"
            return f"{what}: hit by fault {event.fault_id} ({printable(event.description, LINE_CHARACTERS)})"
        case ClientLogin():
            return _login_text(event)
        case ClientThrottled():
            return _throttled_text(event)
        case AccessDenied():
            what = f"{event.operation} on {event.resource_type} {printable(event.resource_name)}"
            who = f"{event.api} of {printable(event.principal)} at {event.host}"
            return f"{who} refused: {what} ({printable(event.reason, LINE_CHARACTERS)})"
        case AclChanged():
            return f"ACL {event.what}: {printable(event.acl, LINE_CHARACTERS)}"
        case Connected():
            return f"{event.peer.address} connected to node {event.peer.node_id}"
        case Disconnected():
            reason = printable(event.reason, LINE_CHARACTERS)
            return f"{event.peer.address} disconnected from node {event.peer.node_id}: {reason}"
        case TlsEstablished():
            return f"{event.peer.address} uses {event.tls_version} with node {event.peer.node_id}, as {event.principal}"
        case TlsFailed():
            reason = printable(event.reason, LINE_CHARACTERS)
            return f"{event.peer.address} failed in the TLS handshake with node {event.peer.node_id}: {reason}"
        case InternalError():
            return f"internal error of the broker: {event.error}: {printable(event.message, LINE_CHARACTERS)}"
        case _:
            return _plain(event)


def epoch_text(event: Transition) -> str:
    """The generation of a classic group, or the group epoch of one of another kind."""
    return f"{epoch_word(event.group_type)} {event.generation}"


def group_event_text(event: GroupEvent) -> str:
    """What happened to a group, without its name and the reason: "Stable -> Empty, epoch 4"."""
    match event:
        case Transition():
            return f"{event.before} -> {event.after}, {epoch_text(event)}"
        case GroupEpochBumped():
            return f"group epoch {event.epoch}"
        case AssignmentComputed():
            members = "1 member" if event.members == 1 else f"{event.members} members"
            return f"assignment of epoch {event.epoch} computed for {members} by {printable(event.assignor)}"
        case MemberTransition():
            states = event.after if event.before == event.after else f"{event.before} -> {event.after}"
            return f"member {printable(event.member_id)}: {states}, epoch {event.epoch}"


def reason_of(event: GroupEvent) -> str:
    """Why it happened, "" where that goes without saying."""
    return printable(getattr(event, "reason", ""), LINE_CHARACTERS)


def _transaction_text(event: TransactionTransition) -> str:
    producer = f"producer {event.producer_id} epoch {event.producer_epoch}"
    partitions = "1 partition" if event.partitions == 1 else f"{event.partitions} partitions"
    what = f"{printable(event.transactional_id)}: {event.before} -> {event.after}, {producer}, {partitions}"
    return f"{what} ({printable(event.reason, LINE_CHARACTERS)})"


def _login_text(event: ClientLogin) -> str:
    who = printable(event.principal or "(nobody)")
    client = f"connection {event.connection_id} ({printable(event.client_id or 'no client id')})"
    mechanism = f" by {printable(event.mechanism)}" if event.mechanism else ""
    if event.what == "session expired":
        return f"the session of {who} on {client} has expired: {printable(event.reason, LINE_CHARACTERS)}"
    reason = f": {printable(event.reason, LINE_CHARACTERS)}" if event.reason else ""
    return f"{who} {event.what}{mechanism} on {client}{reason}"


def _throttled_text(event: ClientThrottled) -> str:
    who = f"{event.api} v{event.version} of {printable(event.client_id or '(no client id)')}" if event.api else ""
    measured = f"{event.measured:.6g}{' tokens left' if event.quota == 'controller_mutation_rate' else ''}"
    what = f"{event.quota} of {printable(event.entity)} is {event.limit:.6g}, measured {measured}"
    return f"{who or 'a connection'} throttled for {event.throttle_ms} ms: {what}"


def kind_name(source: type[Any]) -> str:
    """The kind of a class: OffsetCommitted is "offset_committed"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", source.__name__).lower()


def _plain(event: Any) -> str:
    """The name of the event's class as words, and its fields that say something."""
    fields = ", ".join(
        f"{name.removesuffix('_id').replace('_', ' ')} {printable(_value(value))}"
        for name, value in event._asdict().items()
        if value not in (None, "")
    )
    return f"{kind_name(type(event)).replace('_', ' ')}: {fields}".removesuffix(": ")


def _value(value: Any) -> str:
    return value.address if isinstance(value, Peer) else str(value)


def _records_text(event: CoordinatorRecords) -> str:
    """How many records of a group were written or found, and of which types."""
    from fakebroker.protocol.records.record_types import RECORD_TYPES

    of_type = Counter(each.type for each in event.records)
    names = ((RECORD_TYPES[number].name, count) for number, count in of_type.items())
    what = ", ".join(name if count == 1 else f"{count} {name}" for name, count in names)
    group_id = event.records[0].group_id if event.records else ""
    return printable(f"{group_id}: {event.how} {what}", LINE_CHARACTERS)


def _stored_text(event: GroupStored) -> str:
    """What of a group was written to its log, or found there."""
    kind = event.protocol_type or "simple"
    members = "1 member" if event.members == 1 else f"{event.members} members"
    since = f", in this state since {date_text(event.state_ms)}" if event.state_ms >= 0 else ""
    how = "found in the log" if event.how == "loaded" else event.how
    return f"{how}: {kind} group of generation {event.generation}, {members}{since}"


def _format_expired(event: OffsetsExpired) -> str:
    """The first few expired offsets one by one, each with why, the rest as a number."""
    expired = [_expired_text(event, each) for each in islice(event.each(), SHOWN_EXPIRED)]
    more = len(event.offsets) - SHOWN_EXPIRED
    return ", ".join(expired) + (f" and {more} more" if more > 0 else "")


def _expired_text(event: OffsetsExpired, each: OffsetExpired) -> str:
    """ "orders-0 at 42, kept 7 d since Empty, due 2026-11-30 14:26 (EX-3)", or that the commit chose its time."""
    where = f"{printable(each.topic)}-{each.partition} at {each.offset}"
    counts_from = each.due_ms - event.aging.retention_ms
    kept = ", kept for the retention time of its commit"
    if counts_from == event.aging.base_ms:
        kept = f", kept {span_text(event.aging.retention_ms)} since {event.state}"
    elif counts_from == each.committed_ms:
        kept = f", kept {span_text(event.aging.retention_ms)} since its commit"
    return f"{where}{kept}, due {date_text(each.due_ms)} ({each.rule})"
