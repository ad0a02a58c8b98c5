"""Patterns of topic names that members subscribe to (CGX). Declared here; still without effect."""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.core.groups.consumer.consumer_group import ConsumerGroup


class ResolvedPattern(NamedTuple):
    """What a pattern was resolved to: the record of type 16. `topics` are sorted."""

    topics: tuple[str, ...]
    version: int
    resolved_ms: int


def check_pattern(pattern: str) -> None:
    """Raise KafkaError INVALID_REGULAR_EXPRESSION if the pattern is none (CGX-2); for one that nobody uses yet."""


def resolve_if_due(group: "ConsumerGroup", now: Instant) -> None:
    """After each heartbeat in a group with patterns: start a resolution of all of them if one is due (CGX-4).

    It happens after the answer, by a deadline at the same instant; then the records of CGB-7 are written.
    """
