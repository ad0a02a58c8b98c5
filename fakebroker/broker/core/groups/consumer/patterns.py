"""Patterns of topic names that members subscribe to, and which topics they were resolved to (CGX).

A pattern is checked when its first member comes with it. Which topics it matches is found out later, after the answer:
a `PatternResolver` resolves all patterns of its group together, in steps, and stores what it found. Only then has the
group new topics to assign. Kafka: `GroupMetadataManager.maybeUpdateRegularExpressions`, `refreshRegularExpressions`,
`handleRegularExpressionsResult`.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.core.groups.consumer import records
from fakebroker.broker.core.groups.consumer.subscriptions import ResolvedPattern
from fakebroker.broker.core.groups.modern.heartbeats import is_storable
from fakebroker.broker.core.groups.modern.metadata_hash import metadata_hash_of
from fakebroker.broker.core.java_hash_map import JavaHashMap, JavaHashSet
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import kept

if TYPE_CHECKING:
    from fakebroker.broker.core.groups.consumer.stored_group import StoredGroup
    from fakebroker.protocol.pace import Pace
    from fakebroker.protocol.records.group_records import GroupRecord

SHORTEST_PAUSE_MS: Final = 10_000  # between two resolutions of a group's patterns; a constant in Kafka, too
STATES_PER_STEP: Final = 5_000  # of the patterns' machines that one step looks at
RIGHT_COSTS_STATES: Final = 10  # to ask whether a topic may be described
NEVER_MS: Final = -(2**63)


def check_pattern(pattern: str) -> None:
    """Raise KafkaError INVALID_REGULAR_EXPRESSION if the pattern is none (CGX-2); for one that nobody uses yet."""
    from fakebroker.broker.core.re2.pattern import InvalidPattern, compile_pattern

    try:
        compile_pattern(pattern)
    except InvalidPattern as error:
        text = f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error.fault}."
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, text) from error


def resolved_ms(patterns: Mapping[str, ResolvedPattern]) -> int:
    """When the patterns of a group were resolved last (wall time), NEVER_MS if none was.

    All are resolved together, so any of them tells it. One that is resolved no more is forgotten, and its time with it.
    """
    return next((resolved.resolved_ms for resolved in patterns.values()), NEVER_MS)


class PatternResolver:
    """Resolves the patterns of one group, one resolution at a time."""

    __slots__ = ("_failed_ms", "_group", "_running", "_seen_creation", "_steps")

    def __init__(self, group: "StoredGroup") -> None:
        self._group = group
        self._running: Deadline | None = None
        self._steps: Generator[None, None, dict[str, tuple[str, ...]]] | None = None
        self._seen_creation = group.host.topics.last_creation
        self._failed_ms = NEVER_MS  # when what was found could not be stored (wall time)

    def start_if_due(self, last_ms: int, now: Instant, may_describe: Callable[[str], bool] | None = None) -> None:
        """After a heartbeat in a group with patterns: start a resolution of all of them if one is due (CGX-4).

        What the client of the heartbeat may not describe is not matched: all topics count if `may_describe` is None.

        `last_ms` is `resolved_ms` of the group's patterns as they were before the heartbeat. The work is done after the
        answer, in turns if it takes many steps (`LongPasses`).
        """
        if self._running is not None or now.wall_ms <= max(last_ms, self._failed_ms) + SHORTEST_PAUSE_MS:
            return
        group = self._group
        is_unresolved = len(group.patterns) < len(group.subscriptions.patterns)
        longest_pause_ms = group.host.settings.get_int("group.consumer.regex.refresh.interval.ms")
        is_old = now.wall_ms >= last_ms + longest_pause_ms
        if is_unresolved or is_old or self._seen_creation != group.host.topics.last_creation:
            self._start(now, may_describe)

    def end(self) -> None:
        """The group has ended: what is under way is forgotten."""
        if self._running is not None and self._steps is not None:
            self._running.end()
            self._steps.close()
            self._running = self._steps = None

    def _start(self, now: Instant, may_describe: Callable[[str], bool] | None) -> None:
        topics = self._group.host.topics
        self._seen_creation = topics.last_creation
        patterns = JavaHashSet.copy_of(self._group.subscriptions.patterns.in_order()).keys_in_order()
        version, passes = topics.changes, self._group.host.timers.passes
        pace, names = passes.pace(STATES_PER_STEP), sorted(topic.name for topic in topics)
        steps = _matches_of_allowed(patterns, names, may_describe, pace)

        def store(found: Mapping[str, tuple[str, ...]], now: Instant) -> None:
            if self._running is deadline:
                self._running = self._steps = None
                self._store(found, version, now)

        self._steps = steps
        deadline = self._running = Deadline(partial(passes.take_steps, steps, store), self._group)
        self._group.mono.arm(deadline, now.mono_ms)

    def _store(self, found: Mapping[str, tuple[str, ...]], version: int, now: Instant) -> None:
        """Store what was found of the patterns that are still used; other topics bump the group epoch (CGB-7, CGX-3).

        So do topics of a pattern that somebody gave up for another, which bumped nothing then (CGX-5). What cannot be
        stored now is looked for again with a later heartbeat: as it takes long, not with the next one, as in Kafka.
        """
        group = self._group
        resolved = {
            pattern: ResolvedPattern(topics, version, now.wall_ms)
            for pattern, topics in found.items()
            if pattern in group.subscriptions.patterns
        }
        if not resolved:
            return
        if not is_storable(group.host, found.values()):
            self._failed_ms = now.wall_ms
            return
        changed = [pattern for pattern, new in resolved.items() if new.topics != _topics_of(group, pattern)]
        group.try_to_write(self._records(resolved, is_changed=bool(changed)), now, _reason(changed))

    def _records(self, resolved: Mapping[str, ResolvedPattern], *, is_changed: bool) -> "list[GroupRecord]":
        """The patterns, and the group epoch if it is bumped."""
        group = self._group
        group_id = group.group_id
        in_order: JavaHashMap[str, ResolvedPattern] = JavaHashMap(expected=len(resolved))
        for pattern, new in resolved.items():
            in_order[pattern] = new
        made = [records.pattern_record(group_id, pattern, resolved[pattern]) for pattern in in_order.keys_in_order()]
        topics = group.subscriptions.topics({**group.patterns, **resolved})
        metadata_hash = metadata_hash_of(topics, group.host.topics)
        if is_changed or metadata_hash != group.metadata_hash:
            made.append(records.epoch_record(group_id, group.group_epoch + 1, metadata_hash))
        return made


def _topics_of(group: "StoredGroup", pattern: str) -> tuple[str, ...]:
    known = group.patterns.get(pattern)
    return () if known is None else known.topics


def _reason(changed: list[str]) -> str:
    if not changed:
        return "its patterns match the same topics as before"
    return (
        f"the pattern {changed[0]} now matches other topics" if len(changed) == 1 else "patterns now match other topics"
    )


def _matches_of_allowed(
    patterns: Iterable[str], names: list[str], may_describe: Callable[[str], bool] | None, pace: "Pace"
) -> Generator[None, None, dict[str, tuple[str, ...]]]:
    """Which of the names that may be described each pattern matches, in steps; None: all may be."""
    if may_describe is not None:
        names = yield from kept(names, may_describe, pace, RIGHT_COSTS_STATES)
    return (yield from _matches(patterns, names, pace))


def _matches(
    patterns: Iterable[str], names: list[str], pace: "Pace"
) -> Generator[None, None, dict[str, tuple[str, ...]]]:
    """Which of the names each pattern matches, in steps; one that cannot be read here matches none.

    MOCK: a pattern is refused before it is stored, so that is one of a log that a Kafka wrote.
    """
    from fakebroker.broker.core.re2.pattern import InvalidPattern, compile_pattern

    found = dict[str, tuple[str, ...]]()
    for text in patterns:
        matching = list[str]()
        try:
            pattern = compile_pattern(text)
        except InvalidPattern:
            found[text] = ()
            if pace.is_over(len(text)):
                yield
            continue
        if pace.is_over(len(text) + pattern.states_count):  # what it takes to compile it
            yield
        for name in names:
            if (yield from pattern.fullmatch(name, pace)):
                matching.append(name)
        found[text] = tuple(matching)
    return found
