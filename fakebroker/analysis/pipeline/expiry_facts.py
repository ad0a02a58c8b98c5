"""What the expiry of offsets depends on in a journal: the release and the settings of a broker, and its groups."""

import json
from typing import Any, Final, NamedTuple

from fakebroker.analysis.pipeline.expiry_cases import NEWER_RULE, Due, aging_of
from fakebroker.analysis.pipeline.group_transitions import CLASSIC, is_newer

DEFAULT_INTERVAL_MS: Final = 600_000
_MINUTE_MS: Final = 60_000
_WEEK_MINUTES, _DAY_MINUTES = 10_080, 1_440

COMMIT_UNKNOWN: Final = "commit not in the journal"
TRANSACTION: Final = "offset of a transaction"
BROKER_UNKNOWN: Final = "broker not in the journal"
TOPICS_UNKNOWN: Final = "subscriptions not in the journal"
TYPE_UNKNOWN: Final = "type of the group not in the journal"


class BrokerFacts(NamedTuple):
    """Of a broker as a `broker_started` line has it.

    `policy` is that of docs/explanation/expiry.md; `always_has_expire_ms` says that each offset is stored with the time
    at which it expires (EX-17).
    """

    policy: str
    retention_ms: int
    interval_ms: int
    always_has_expire_ms: bool


def broker_facts(release: str, settings: Any) -> BrokerFacts:
    """Of a release ("4.3.1") and the settings that were given, as an object or its JSON text."""
    given = json.loads(settings) if isinstance(settings, str) else settings
    major, minor = map(int, release.split(".")[:2])
    line = (major, minor)
    by_release = "2.0" if line <= (2, 0) else "2.1" if line <= (2, 1) else "4.3"
    chosen = given.get("fakebroker.expiry.policy", "release")
    policy = by_release if chosen == "release" else "4.3" if chosen == "3.9" else chosen
    minutes = int(given.get("offsets.retention.minutes", _DAY_MINUTES if line < (2, 0) else _WEEK_MINUTES))
    interval_ms = int(given.get("offsets.retention.check.interval.ms", DEFAULT_INTERVAL_MS))
    return BrokerFacts(policy, minutes * _MINUTE_MS, interval_ms, line < (2, 1))


class GroupFacts(NamedTuple):
    """Of a group: its state and type, and what else decides how its offsets age.

    `protocol_type` is empty for a simple group. `topics` are those that its members subscribe to, None if that cannot
    be known; `knows_topics` is false while the journal does not tell. `empty_ms` is when it became Empty, -1 unknown.
    """

    state: str = "Empty"
    protocol_type: str = ""
    topics: frozenset[str] | None = None
    knows_topics: bool = True
    empty_ms: int = -1
    group_type: str = CLASSIC


def due_of(broker: BrokerFacts, group: GroupFacts, topic: str, committed_ms: int, expire_ms: int | None) -> Due | None:
    """When an offset is due as long as its group stays as it is; None: never."""
    if expire_ms is None and broker.always_has_expire_ms:
        expire_ms = committed_ms + broker.retention_ms
    empty_ms = None if group.empty_ms < 0 else group.empty_ms
    aging = aging_of(broker.policy, group.state, group.protocol_type, group.topics, empty_ms, group.group_type)
    return aging.due(topic, committed_ms, expire_ms, broker.retention_ms)


def needs_topics(broker: BrokerFacts, group: GroupFacts) -> bool:
    """Whether an offset's fate depends on subscriptions that the journal does not tell: none of newer groups."""
    is_needed = is_newer(group.group_type) or broker.policy == "kip-211"
    return is_needed and group.state != "Empty" and not group.knows_topics


def may_be_newer(group: GroupFacts, rule: str) -> bool:
    """Whether a group of which the journal has nothing is of a newer type, as the `rule` of an expiry says.

    A journal has no line of the load of such a group without members, which a snapshot may have brought.
    """
    return rule == NEWER_RULE and group == GroupFacts()
