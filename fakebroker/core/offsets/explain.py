"""Why the committed offsets of a group are there or gone, and until when: data for programs, text for people.

It asks the policy and `judge` that the cleanup asks (`expiry.py`), about the group as it is now; what is gone
already is told from what the cleanup noted. Times are milliseconds since the epoch, in texts UTC.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from fakebroker.core.offsets.eras import policy_of
from fakebroker.core.offsets.expiry import Aging, judge
from fakebroker.core.offsets.group_offsets import NEVER
from fakebroker.records.offsets_topic import CommittedOffset

if TYPE_CHECKING:
    from fakebroker.core.coordinator.shard import Shard
    from fakebroker.core.groups.classic_group import ClassicGroup
    from fakebroker.core.node import Node
    from fakebroker.core.offsets.losses import OffsetsExpired
    from fakebroker.instant import Instant


class OffsetStory(NamedTuple):
    """One committed offset: kept or expired, by which rule, since when it counts, when it is due."""

    topic: str
    partition: int
    offset: int
    committed_ms: int
    expired: bool
    rule: str
    base_ms: int | None  # what it counts from; None while it does not age
    due_ms: int | None  # None: not due as long as the group stays as it is
    pass_ms: int | None  # the cleanup that takes it, or took it


class GroupStory(NamedTuple):
    """All of it for one group under one era. `str()` of it is the text."""

    group_id: str
    state: str
    since_ms: int  # when it entered the state; -1 unknown
    state_reason: str  # why it entered the state; "" for one that was loaded or never changed
    why: str
    era: str
    retention_ms: int
    offsets: tuple[OffsetStory, ...]

    def __str__(self) -> str:
        since = f" since {_time(self.since_ms)}" if self.since_ms >= 0 else ""
        since += f" ({self.state_reason})" if self.state_reason else ""
        rules = f"(era {self.era}, retention {_span(self.retention_ms)})"
        lines = [f"group {self.group_id}: {self.state}{since}; {self.why} {rules}"]
        if not self.offsets:
            return f"{lines[0]}\n  no committed offsets"
        rows = [_HEADINGS, *(_row(offset) for offset in self.offsets)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines += ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join(lines)


def explain(node: "Node", group_id: str, now: "Instant", era: str | None = None) -> GroupStory:
    """What becomes of the group's offsets if it stays as it is, and what became of those it lost.

    `era` asks what another era's rules say of the same group. Raises FakebrokerError for an era that does not exist,
    KafkaError if `node` cannot tell: 14, 15 or 16.
    """
    shard = node.coordinator.shard(group_id, now)
    cleanup = shard.cleanup
    chosen = era or cleanup.era
    policy = policy_of(chosen)
    group = shard.group(group_id)
    losses = shard.cluster.losses.of(group_id)
    if group is None:
        return _story_of_the_dead(group_id, losses, chosen, cleanup.retention_ms)
    aging = policy(group, cleanup.retention_ms)
    stories = [*_lost(losses, group), *_kept(shard, group, aging, now)]
    stories.sort(key=lambda story: (story.topic, story.partition))
    return GroupStory(
        group_id,
        str(group.state),
        group.state_ms,
        group.state_reason,
        aging.why,
        chosen,
        cleanup.retention_ms,
        tuple(stories),
    )


def side_by_side(stories: Iterable[GroupStory]) -> str:
    """When each offset is due under several eras, as text: one column for each story of the same group."""
    stories = list(stories)
    dues: dict[tuple[str, int, int], dict[str, str]] = {}
    for story in stories:
        for offset in story.offsets:
            place = (offset.topic, offset.partition, offset.offset)
            dues.setdefault(place, {})[story.era] = f"{_due(offset)} {offset.rule}"
    rows = [("topic", "partition", "offset", *(story.era for story in stories))]
    for (topic, partition, value), by_era in dues.items():
        rows.append((topic, str(partition), str(value), *(by_era.get(story.era, "") for story in stories)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


# -- data --------------------------------------------------------------------------------------------------------------


def _kept(shard: "Shard", group: "ClassicGroup", aging: Aging, now: "Instant") -> Iterator[OffsetStory]:
    """What is there now. An open transaction puts an expiry off until it is over (EX-4)."""
    for stored in group.offsets:
        offset = CommittedOffset._make(stored)
        rule, base_ms, due_ms = judge(aging, stored)
        waits = due_ms < NEVER and group.offsets.is_pending(offset.topic, offset.partition)
        pass_ms = None if due_ms >= NEVER or waits else shard.cleanup.next_pass_ms(due_ms, now.wall_ms)
        yield OffsetStory(
            offset.topic,
            offset.partition,
            offset.offset,
            offset.commit_ms,
            False,
            "EX-4" if waits else rule,
            base_ms,
            None if due_ms >= NEVER else due_ms,
            pass_ms,
        )


def _lost(losses: "list[OffsetsExpired]", group: "ClassicGroup | None") -> Iterator[OffsetStory]:
    """What the cleanup took and nobody committed again, each partition's last."""
    last: dict[tuple[str, int], OffsetStory] = {}
    for loss in losses:
        for stored in loss.offsets:
            offset = CommittedOffset._make(stored)
            place = (offset.topic, offset.partition)
            if group is None or group.offsets.get(*place) is None:
                rule, base_ms, due_ms = judge(loss.aging, stored)
                last[place] = OffsetStory(
                    *place, offset.offset, offset.commit_ms, True, rule, base_ms, due_ms, loss.pass_ms
                )
    yield from last.values()


def _story_of_the_dead(group_id: str, losses: "list[OffsetsExpired]", era: str, retention_ms: int) -> GroupStory:
    if not losses:
        return GroupStory(group_id, "Dead", -1, "", "there is no such group", era, retention_ms, ())
    end = losses[-1]
    stories = sorted(_lost(losses, None), key=lambda story: (story.topic, story.partition))
    why = f"gone at the cleanup of {_time(end.pass_ms)}; before, {end.aging.why}"
    return GroupStory(group_id, "Dead", end.pass_ms, "", why, era, end.aging.retention_ms, tuple(stories))


# -- text --------------------------------------------------------------------------------------------------------------

_HEADINGS = ("topic", "partition", "offset", "committed", "counts from", "due", "decision", "rule")


def _row(story: OffsetStory) -> tuple[str, ...]:
    return (
        story.topic,
        str(story.partition),
        str(story.offset),
        _time(story.committed_ms),
        "-" if story.base_ms is None else _time(story.base_ms),
        _due(story),
        _decision(story),
        f"{story.rule} {_MEANINGS.get(story.rule, '')}".rstrip(),
    )


def _due(story: OffsetStory) -> str:
    return "never" if story.due_ms is None else _time(story.due_ms)


def _decision(story: OffsetStory) -> str:
    if story.expired:
        return f"expired {_time(story.pass_ms or 0)}"
    return "kept" if story.pass_ms is None else f"goes {_time(story.pass_ms)}"


_MEANINGS = {
    "EX-2": "its own expire timestamp decides",
    "EX-4": "an open transaction holds it",
    "EX-5": "a later commit does not restart the clock",
    "EX-6": "its expire timestamp does not count while the group reads it",
    "EX-14": "as the text of KIP-211 has it",
    "EX-17": "before KIP-211",
    "EX-18": "KIP-211 as first released",
}


def _time(ms: int) -> str:
    """2026-03-01 09:00, with seconds where there are any; a number where no calendar reaches."""
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(ms)
    return moment.strftime("%Y-%m-%d %H:%M" if ms % 60_000 == 0 else "%Y-%m-%d %H:%M:%S")


def _span(ms: int) -> str:
    """7 d, 36 h, 90 min: the largest unit that divides it."""
    for unit_ms, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min")):
        if ms % unit_ms == 0:
            return f"{ms // unit_ms} {name}"
    return f"{ms} ms"
