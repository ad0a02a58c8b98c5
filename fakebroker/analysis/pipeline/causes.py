"""Why rebalances begin: a closed list of causes, found in the journal's reasons.

A reason is a clause that may end with words of the client in brackets (KIP-800): its cause is the first thing that is
said of the members it begins with.
"""

import re
from typing import Final, NamedTuple

# What a reason says of members, and the cause that this is.
CAUSE_OF_WORDS: Final = {
    "joined": "member joined",
    "left": "member left",
    "exceeded its session timeout": "session expired",
    "timed out": "session expired",
    "did not join after it got its member id": "new member did not join",
    "did not rejoin in time": "member did not rejoin",
    "did not give up its partitions in time": "partitions not given up",
    "did not give up its tasks in time": "partitions not given up",
    "sent no SyncGroup in time": "no SyncGroup in time",
    "changed its metadata": "subscription changed",
    "changed its subscription": "subscription changed",
    "rejoined": "leader rejoined",
    "returned": "static member returned",
    "was evicted by a test": "evicted by a test",
}
# Other reasons by their beginning.
CAUSE_OF_BEGINNING: Final = {
    "storing the assignment failed": "assignment not stored",
    "the loaded group has more members": "group too large",
    "subscribed topics changed": "topics changed",
    "the pattern ": "topics changed",
    "patterns now match": "topics changed",
    "its topics or settings changed": "topics changed",
    "share partitions were initialized": "share partitions initialized",
}
PENDING_LEFT: Final = "pending member left"
REQUESTED: Final = "requested by a test"
"""Any other reason: a test may give one of its own."""
UNKNOWN: Final = "unknown"
"""From a log, which has no reasons."""

CAUSES: Final = (*CAUSE_OF_WORDS.values(), *CAUSE_OF_BEGINNING.values(), PENDING_LEFT, REQUESTED, UNKNOWN)

# The same for Python and for Spark (Java): who, and what is said of them. The shortest "who" is the right one.
MEMBERS: Final = rf"^(?:(?:static )?members? (.*?)|the leader) ({'|'.join(map(re.escape, CAUSE_OF_WORDS))})"
PENDING: Final = "^(.*?), which had not joined yet, left"


class Cause(NamedTuple):
    """The kind of cause, and the members that the reason names."""

    cause: str
    trigger: str | None


def cause_of(reason: str) -> Cause:
    """The cause that a transition's reason tells of."""
    if pending := re.search(PENDING, reason):
        return Cause(PENDING_LEFT, pending.group(1))
    if named := re.search(MEMBERS, reason):
        return Cause(CAUSE_OF_WORDS[named.group(2)], named.group(1))
    known = (cause for beginning, cause in CAUSE_OF_BEGINNING.items() if reason.startswith(beginning))
    return Cause(next(known, REQUESTED), None)
