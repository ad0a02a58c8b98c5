"""Why a classic group starts a rebalance, as the journal says it: every reason but the words of a test."""

from enum import StrEnum
from typing import NewType

RebalanceReason = NewType("RebalanceReason", str)
"""One English clause, followed in brackets by the words of the client (KIP-800) if it gave some."""


class Reason(StrEnum):
    """The reasons. `{}` stands for the members ("member a-1", "the leader"), or for the name of an error."""

    JOINED = "{} joined"
    LEFT = "{} left"
    PENDING_LEFT = "{}, which had not joined yet, left"
    SESSION_EXPIRED = "{} exceeded its session timeout"
    NOT_JOINED_AGAIN = "{} did not join after it got its member id"
    NO_SYNC = "{} sent no SyncGroup in time"
    METADATA_CHANGED = "{} changed its metadata"
    REJOINED = "{} rejoined"
    STATIC_RETURNED = "{} returned"
    EVICTED = "{} was evicted by a test"
    NOT_STORED = "storing the assignment failed with {}"
    TOO_LARGE = "the loaded group has more members than group.max.size"

    def of(self, subject: str = "", words: str = "") -> RebalanceReason:
        """The clause about a subject, with the words that the client gave as its reason."""
        clause = self.value.format(subject)
        return RebalanceReason(f"{clause} ({words})" if words else clause)


def became_classic(reason: str) -> RebalanceReason:
    """Why a consumer group became a classic one, and with that why the classic one rebalances."""
    return RebalanceReason(f"{reason}, and the consumer group became a classic one")


def describe(member_ids: list[str]) -> str:
    """The members as words; of more than three the first three."""
    if len(member_ids) == 1:
        return f"member {member_ids[0]}"
    return f"members {', '.join(member_ids[:3])}{' and others' if len(member_ids) > 3 else ''}"
