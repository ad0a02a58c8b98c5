"""Whether and when a committed offset expires: one decision, two callers (KIP-211, EX-2..EX-6).

The policy of an era (`core/eras.py`) looks at a group and says how its offsets age as long as it stays as it is: an
`Aging`. `judge` applies that to one offset. The cleanup and `explain` ask these two and nobody else, so that what is
announced is what happens.
"""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.core.offsets import NEVER
from fakebroker.records.offsets_topic import NO_TIMESTAMP, StoredOffset

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakebroker.core.classic_group import ClassicGroup

    Policy = Callable[[ClassicGroup, int], "Aging"]


class Aging(NamedTuple):
    """How the offsets of one group age as long as the group stays as it is.

    `base_ms` is the moment from which all of them count; None: each from its own commit. `kept` and `kept_topics` say
    what does not age at all. An expire timestamp of its own decides alone (EX-2), unless `whole_group`.
    """

    rule: str
    why: str  # an English clause
    retention_ms: int
    base_ms: int | None = None
    kept: bool = False
    kept_topics: frozenset[str] = frozenset()
    whole_group: bool = False


class Judgement(NamedTuple):
    """What an aging means for one offset. `base_ms` is None and `due_ms` is NEVER for one that does not age."""

    rule: str
    base_ms: int | None
    due_ms: int


def judge(aging: Aging, offset: StoredOffset) -> Judgement:
    """When `offset` is due and by which rule; it expires at the first cleanup with now >= due (EX-2)."""
    topic, _, _, _, _, commit_ms, own_ms, _ = offset
    if aging.kept or topic in aging.kept_topics:
        shielded = own_ms != NO_TIMESTAMP and aging.rule == "EX-3"
        return Judgement("EX-6" if shielded else aging.rule, None, NEVER)
    if own_ms != NO_TIMESTAMP and not aging.whole_group:
        return Judgement("EX-2" if aging.rule == "EX-3" else aging.rule, commit_ms, own_ms)
    base_ms = aging.base_ms
    if base_ms is None:
        return Judgement(aging.rule, commit_ms, commit_ms + aging.retention_ms)
    late = commit_ms > base_ms and aging.rule == "EX-3"
    return Judgement("EX-5" if late else aging.rule, base_ms, base_ms + aging.retention_ms)
