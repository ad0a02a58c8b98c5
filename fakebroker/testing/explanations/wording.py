"""Requests in words, for the log of `--verbose` and the story of a failed test.

What every client meets when all is well is shown as a step, "told to join again, ... (REBALANCE_IN_PROGRESS)". Other
errors stand alone.
"""

from collections.abc import Mapping

from fakebroker.broker.engine.faults.naming import transactional_ids_of
from fakebroker.broker.engine.journal import Exchange
from fakebroker.broker.engine.printable import printable
from fakebroker.broker.engine.subjects import FoundError
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.messages.end_txn import EndTxnRequest
from fakebroker.testing.explanations.failed_wording import wording_or_error
from fakebroker.testing.explanations.group_wording import NOTHING_ACQUIRED, fine_text, member_text
from fakebroker.testing.explanations.offset_wording import NOTHING_NEW, answered_of_partitions, asked_of_partitions

MAX_TOPICS = 3
MAX_PARTITIONS = 6
MAX_ERRORS = 3
MAX_GROUPS = 3

POLLS = frozenset({"Fetch", "ShareFetch"})
_NOTHING = (NOTHING_NEW, NOTHING_ACQUIRED)

_REJOIN = "to rejoin, a rebalance is in progress"
_OTHER_NODE = "to look up the coordinator again, it has moved"
_OTHER_LEADER = "to refresh its metadata, the leader has moved"
_NEW_SESSION = "to start a new fetch session"
_NEW_SHARE_SESSION = "to start a new share session"
_JOIN_ANEW = "to give up its partitions and rejoin"

# By API ("" is any) and error: the errors of ordinary operation.
STEPS: Mapping[tuple[str, str], str] = {
    ("JoinGroup", "MEMBER_ID_REQUIRED"): "to rejoin with its new member id",
    ("JoinGroup", "REBALANCE_IN_PROGRESS"): _REJOIN,
    ("SyncGroup", "REBALANCE_IN_PROGRESS"): _REJOIN,
    ("Heartbeat", "REBALANCE_IN_PROGRESS"): _REJOIN,
    ("OffsetCommit", "REBALANCE_IN_PROGRESS"): _REJOIN,
    ("", "NOT_COORDINATOR"): _OTHER_NODE,
    ("", "COORDINATOR_NOT_AVAILABLE"): "to retry, the coordinator is not available",
    ("", "COORDINATOR_LOAD_IN_PROGRESS"): "to retry, the coordinator is loading",
    ("Produce", "NOT_LEADER_OR_FOLLOWER"): _OTHER_LEADER,
    ("Fetch", "NOT_LEADER_OR_FOLLOWER"): _OTHER_LEADER,
    ("ListOffsets", "NOT_LEADER_OR_FOLLOWER"): _OTHER_LEADER,
    ("Fetch", "FENCED_LEADER_EPOCH"): _OTHER_LEADER,
    ("Fetch", "UNKNOWN_LEADER_EPOCH"): _OTHER_LEADER,
    ("Fetch", "FETCH_SESSION_ID_NOT_FOUND"): _NEW_SESSION,
    ("Fetch", "INVALID_FETCH_SESSION_EPOCH"): _NEW_SESSION,
    ("ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH"): _JOIN_ANEW,
    ("ShareGroupHeartbeat", "FENCED_MEMBER_EPOCH"): _JOIN_ANEW,
    ("StreamsGroupHeartbeat", "FENCED_MEMBER_EPOCH"): _JOIN_ANEW,
    ("OffsetCommit", "STALE_MEMBER_EPOCH"): "to commit again with the epoch of its next heartbeat",
    ("ShareFetch", "SHARE_SESSION_NOT_FOUND"): _NEW_SHARE_SESSION,
    ("ShareFetch", "INVALID_SHARE_SESSION_EPOCH"): _NEW_SHARE_SESSION,
    ("ShareFetch", "NOT_LEADER_OR_FOLLOWER"): _OTHER_LEADER,
    ("ShareAcknowledge", "NOT_LEADER_OR_FOLLOWER"): _OTHER_LEADER,
    ("Metadata", "LEADER_NOT_AVAILABLE"): "to retry, the topic is being created",
    ("", "CONCURRENT_TRANSACTIONS"): "to retry, the previous transaction is still completing",
    ("ApiVersions", "UNSUPPORTED_VERSION"): "which versions are supported",
}


def step_of(api: str, error: str) -> str:
    """What an error tells a client to do, e.g. "to join again"; "" for one that belongs to no ordinary life."""
    return STEPS.get((api, error)) or STEPS.get(("", error)) or ""


def request_text(exchange: Exchange) -> str:
    """A request on one line, without its client: "OffsetCommit v9 of group billing, orders-0=42 -> ok after 3 ms"."""
    waited = f" after {exchange.waited_ms} ms" if exchange.waited_ms else ""
    return f"{said_text(exchange)}{waited}"


def said_text(exchange: Exchange) -> str:
    """The same without how long it waited."""
    return f"{asked_text(exchange)} -> {outcome_text(exchange)}"


def asked_text(exchange: Exchange) -> str:
    """API, version, and what the request is about."""
    begin = f"{exchange.api} v{exchange.version}"
    about = wording_or_error(lambda: _about(exchange))
    return f"{begin}{'' if about.startswith('of ') else ','} {about}" if about else begin


def _about(exchange: Exchange) -> str:
    request = exchange.request
    if request is None:
        return ""
    said = member_text(exchange.api, request)
    places = asked_of_partitions(exchange, request) or topics_text(exchange.topics)
    return ", ".join(filter(None, (_groups(exchange.group_ids), said, _transactions(request), places)))


def _groups(group_ids: tuple[str, ...]) -> str:
    if not group_ids:
        return ""
    names = ", ".join(printable(group_id) for group_id in group_ids[:MAX_GROUPS])
    more = f" and {len(group_ids) - MAX_GROUPS} more" if len(group_ids) > MAX_GROUPS else ""
    return f"of group{'s' if len(group_ids) > 1 else ''} {names}{more}"


def _transactions(request: Message | None) -> str:
    ids = list(transactional_ids_of(request))
    if not ids:
        return ""
    names = ", ".join(printable(each) for each in ids[:MAX_GROUPS])
    more = f" and {len(ids) - MAX_GROUPS} more" if len(ids) > MAX_GROUPS else ""
    end = ""
    if isinstance(request, EndTxnRequest):
        end = " (commit)" if request.committed else " (abort)"
    return f"of transaction{'s' if len(ids) > 1 else ''} {names}{more}{end}"


def topics_text(topics: Mapping[str, list[int]]) -> str:
    """Topics with their partitions, the first few: "orders-0,1,2 audit-0 and 4 more topics"."""
    shown = [_topic(name, topics[name]) for name in list(topics)[:MAX_TOPICS]]
    if len(topics) > MAX_TOPICS:
        shown.append(f"and {len(topics) - MAX_TOPICS} more topics")
    return " ".join(shown)


def _topic(name: str, partitions: list[int]) -> str:
    if not partitions:
        return printable(name)
    numbers = ",".join(map(str, partitions[:MAX_PARTITIONS]))
    more = f",... ({len(partitions)} partitions)" if len(partitions) > MAX_PARTITIONS else ""
    return f"{printable(name)}-{numbers}{more}"


def outcome_text(exchange: Exchange) -> str:
    """What became of a request: "ok", its errors, or that there was no answer."""
    if not exchange.is_answered:
        return "not answered" if exchange.api != "Produce" else "not answered (acks=0, or the client left)"
    return wording_or_error(lambda: _answered(exchange))


def _answered(exchange: Exchange) -> str:
    errors = exchange.found_errors
    if not errors:
        return _fine(exchange)
    by_name: dict[str, list[FoundError]] = {}
    for error in errors:
        by_name.setdefault(error.name, []).append(error)
    return ", ".join(_error(exchange.api, name, found) for name, found in by_name.items())


def _fine(exchange: Exchange) -> str:
    response = exchange.response
    if response is None:
        return "ok"
    return fine_text(exchange.api, response) or answered_of_partitions(exchange, response) or "ok"


def is_idle_poll(exchange: Exchange) -> bool:
    """Whether a request is a poll that found nothing: clients send them all the time."""
    return exchange.api in POLLS and exchange.is_answered and outcome_text(exchange) in _NOTHING


def _error(api: str, name: str, found: list[FoundError]) -> str:
    """An error with the partitions it stands at, if these are not all that was asked for."""
    places = [f"{printable(e.topic)}-{e.partition}" for e in found if e.topic is not None and e.partition is not None]
    where = f" for {' '.join(places[:MAX_ERRORS])}" if places else ""
    if len(places) > MAX_ERRORS:
        where += f" and {len(places) - MAX_ERRORS} more"
    step = step_of(api, name)
    return f"told {step} ({name}{where})" if step else f"{name}{where}"
