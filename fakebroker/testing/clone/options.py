"""What is cloned of a Kafka, and which names and payloads are hidden."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from fakebroker.broker.core.topics import INTERNAL_TOPICS


class CloneOptions(NamedTuple):
    """The options of a clone.

    `topics` and `groups` are patterns with * and ?, () for all. `last_records` is how many offsets at the end of each
    partition are cloned with their records, `since_ms` the time from which on they are; records are left out if both
    are None. `secret` is what names and keys are hashed with.
    """

    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    last_records: int | None = None
    since_ms: int | None = None
    without_payloads: bool = False
    anonymise: bool = False
    secret: bytes = b""

    @property
    def has_records(self) -> bool:
        """Whether any record is cloned."""
        return self.last_records is not None or self.since_ms is not None

    def wants_topic(self, name: str) -> bool:
        """Whether a topic is cloned. Internal topics are made from the groups."""
        return name not in INTERNAL_TOPICS and _matches(name, self.topics)

    def wants_group(self, group_id: str) -> bool:
        """Whether a group is cloned."""
        return _matches(group_id, self.groups)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return not patterns or any(fnmatchcase(name, each) for each in patterns)
