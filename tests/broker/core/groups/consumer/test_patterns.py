"""Patterns: what is refused, when they are resolved, and what that stores."""

from itertools import count
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.groups.consumer import records
from fakebroker.broker.core.groups.consumer.patterns import SHORTEST_PAUSE_MS, STATES_PER_STEP, _matches
from fakebroker.broker.core.groups.consumer.subscriptions import ResolvedPattern
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.records.group_records import GroupRecord
from tests.support.consumer_groups import OneConsumerGroup
from tests.support.work_counter import calls_of

LONGEST_PAUSE_MS = 600_000  # group.consumer.regex.refresh.interval.ms
LONG_MS = 3_600_000  # as a rebalance timeout: nobody is removed for what he keeps


def lab_with(*topics: str) -> OneConsumerGroup:
    """A lab with these topics of 2 partitions, where sessions are long."""
    lab = OneConsumerGroup(
        {"group.consumer.session.timeout.ms": LONG_MS, "group.consumer.max.session.timeout.ms": LONG_MS}
    )
    for name in topics:
        lab.create(name, 2)
    return lab


def join(lab: OneConsumerGroup, member_id: str, pattern: str) -> int:
    """A member joins with a pattern; what is due runs; its epoch."""
    answer = lab.join(member_id, [], pattern=pattern, rebalance=LONG_MS)
    lab.wait(0)
    return answer.member_epoch


def topics_of(lab: OneConsumerGroup) -> dict[str, tuple[str, ...]]:
    """What the patterns of the group were resolved to."""
    return {pattern: resolved.topics for pattern, resolved in lab.group.patterns.items()}


@pytest.mark.rules("CGX-1", "CGB-7")
def test_a_new_pattern_is_resolved_after_the_answer() -> None:
    """The heartbeat that brings it moves nothing; then pattern and epoch are stored together, and the next assigns."""
    lab = lab_with("a1", "a2")

    answer = lab.join("m1", [], pattern="a.")

    assert (answer.member_epoch, lab.assigned(answer)) == (1, {})
    assert lab.types() == [["5 m1", "8 m1"]]
    assert lab.group.unresolved_patterns() == ["a."]
    lab.wait(0)
    assert lab.types() == [["16 a.", "3"]]
    assert lab.group.unresolved_patterns() == []
    assert (lab.group.group_epoch, lab.group.assignment_epoch) == (2, 1)
    answer = lab.send("m1", 1)
    assert (answer.member_epoch, lab.assigned(answer)) == (2, {"a1": [0, 1], "a2": [0, 1]})
    assert lab.types() == [["7 m1", "6", "8 m1"]]


@pytest.mark.rules("CGX-2")
@pytest.mark.parametrize("pattern", ["[", "*", "(?=a)b", r"(a)\1"])
def test_what_is_no_pattern(pattern: str) -> None:
    """INVALID_REGULAR_EXPRESSION with the reason, and nothing is stored."""
    lab = lab_with()

    answer = lab.join("m1", [], pattern=pattern)

    assert answer.code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert answer.message
    assert answer.message.startswith(f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: ")
    assert lab.shard.group("g") is None


@pytest.mark.rules("CGX-2")
def test_whole_names_match_and_internal_topics_too() -> None:
    """A part of a name is not enough; topics of the broker itself are matched like others."""
    lab = lab_with("aa", "a")
    join(lab, "m1", "a|__consumer.*")

    assert topics_of(lab) == {"a|__consumer.*": ("__consumer_offsets", "a")}


@pytest.mark.rules("CGX-3")
def test_a_pattern_without_topics_moves_nothing() -> None:
    """It has a record, and the group epoch stays."""
    lab = lab_with()
    join(lab, "m1", "none")

    assert lab.types() == [["5 m1", "8 m1"], ["16 none"]]
    assert lab.group.group_epoch == 1


@pytest.mark.rules("CGX-4")
def test_new_topics_are_noticed_by_a_heartbeat_after_ten_seconds() -> None:
    """Not before, not without a heartbeat, and not again for the same topics."""
    lab = lab_with("a1")
    join(lab, "m1", "a.")
    lab.send("m1", 1)
    lab.create("a2", 2)
    lab.wait(SHORTEST_PAUSE_MS)
    lab.send("m1", 2)
    lab.wait(0)
    assert topics_of(lab) == {"a.": ("a1",)}

    lab.wait(1)
    assert topics_of(lab) == {"a.": ("a1",)}
    lab.send("m1", 2)
    lab.wait(0)
    assert topics_of(lab) == {"a.": ("a1", "a2")}
    lab.written()
    lab.wait(SHORTEST_PAUSE_MS + 1)
    lab.send("m1", 2)
    lab.wait(0)
    assert lab.types() == [["7 m1", "6", "8 m1"]]


@pytest.mark.rules("CGX-4", "CGX-6")
def test_deleted_topics_go_with_the_refresh() -> None:
    """A topic that is gone stays in the record until ten minutes have passed; its partitions go at once."""
    lab = lab_with("a1", "a2")
    join(lab, "m1", "a.")
    lab.send("m1", 1)
    lab.cluster.topics.delete("a2", lab.now)
    answer = lab.send("m1", 2)
    assert lab.assigned(answer) == {"a1": [0, 1]}
    lab.wait(LONGEST_PAUSE_MS - 1)
    lab.send("m1", 2, {"a1": [0, 1]})
    lab.wait(0)
    assert topics_of(lab) == {"a.": ("a1", "a2")}

    lab.wait(1)
    epoch = lab.group.group_epoch
    lab.send("m1", lab.has("m1")[0])
    lab.wait(0)
    assert topics_of(lab) == {"a.": ("a1",)}
    assert lab.group.group_epoch == epoch + 1


@pytest.mark.rules("CGX-4")
def test_a_second_pattern_waits_for_its_turn() -> None:
    """It is resolved, together with the first, ten seconds after that was."""
    lab = lab_with("a1", "b1")
    join(lab, "m1", "a.")
    lab.send("m1", 1)
    join(lab, "m2", "b.")
    assert topics_of(lab) == {"a.": ("a1",)}
    lab.written()

    lab.wait(SHORTEST_PAUSE_MS + 1)
    lab.send("m1", 2)
    lab.wait(0)
    assert lab.types() == [["16 b.", "16 a.", "3"]]
    assert topics_of(lab) == {"a.": ("a1",), "b.": ("b1",)}


@pytest.mark.rules("CGX-4", "CGX-5")
def test_a_pattern_in_place_of_the_only_one() -> None:
    """The old one is deleted and moves nothing. The next heartbeat resolves the new one: none is left to wait for."""
    lab = lab_with("a1", "b1")
    join(lab, "m1", "a.")
    lab.send("m1", 1)
    lab.written()

    lab.send("m1", 2, {"a1": [0, 1]}, pattern="b.")
    lab.wait(0)
    assert lab.types() == [["5 m1", "-16 a.", "8 m1"]]
    lab.send("m1", 2, {})
    lab.wait(0)
    assert lab.types()[-1] == ["16 b.", "3"]


@pytest.mark.rules("CGX-5")
def test_what_was_given_up_counts_with_the_next_resolution() -> None:
    """Another pattern without topics moves the epoch when it is resolved: the topics of the old one are gone."""
    lab = lab_with("a1")
    join(lab, "m1", "a.")
    lab.send("m1", 1)
    lab.send("m1", 2, {"a1": [0, 1]}, pattern="none")
    lab.written()

    lab.send("m1", 2, {})
    lab.wait(0)

    assert lab.types()[-1] == ["16 none", "3"]
    assert (lab.group.group_epoch, lab.group.metadata_hash) == (3, 0)


@pytest.mark.rules("CGX-5")
def test_a_pattern_that_is_resolved_assigns_at_once() -> None:
    """Who comes to it moves the epoch, and is assigned with that heartbeat."""
    lab = lab_with("a1")
    join(lab, "m1", "a.")
    lab.send("m1", 1)
    lab.written()

    answer = lab.join("m2", [], pattern="a.")

    assert answer.member_epoch == 3
    assert lab.types() == [["5 m2", "3", "7 m1", "7 m2", "6", "8 m2"]]


@pytest.mark.rules("CGX-1", "CGX-5")
@pytest.mark.parametrize("pattern", ["a.", "b."])
def test_giving_up_a_pattern_moves_the_epoch(pattern: str) -> None:
    """The empty text does that, also for a pattern that was never resolved; its record goes with its last member."""
    lab = lab_with("a1", "b1")
    join(lab, "m1", "a.")
    join(lab, "m2", pattern)
    epoch = lab.group.group_epoch
    lab.written()

    lab.send("m2", lab.has("m2")[0], pattern="")

    assert lab.group.group_epoch == epoch + 1
    types = lab.types()[0]
    assert types[0] == "5 m2"
    assert ("-16 b." in types) == (pattern == "b.")


@pytest.mark.rules("CGX-5", "CGB-2")
def test_the_last_member_takes_its_pattern_along() -> None:
    """When it leaves, the pattern is deleted before the epoch moves."""
    lab = lab_with("a1")
    join(lab, "m1", "a.")
    lab.send("m1", 1)
    lab.written()

    lab.send("m1", -1)

    assert lab.types() == [["-8 m1", "-7 m1", "-5 m1", "-16 a.", "3"]]


@pytest.mark.rules("CGX-1")
def test_names_and_pattern_add_up() -> None:
    """A member reads both; a topic of both is assigned once."""
    lab = lab_with("a1")
    lab.join("m1", ["t", "a1"], pattern="a.")
    lab.wait(0)

    assert lab.group.subscribed_topics == frozenset({"t", "a1"})
    assert lab.assigned(lab.send("m1", 2, {"t": [0, 1, 2, 3], "a1": [0, 1]}, topics=["a1"])) == {"a1": [0, 1]}


@pytest.mark.rules("CGX-4")
def test_what_is_under_way_is_not_begun_again() -> None:
    """Two heartbeats before the resolution has its turn are one resolution; it takes the patterns of its beginning."""
    lab = lab_with("a1")
    lab.join("m1", [], pattern="a.")
    lab.join("m2", [], pattern="b.")

    lab.wait(0)
    assert topics_of(lab) == {"a.": ("a1",)}


def test_a_pattern_that_went_meanwhile_is_not_stored() -> None:
    """A resolution whose patterns nobody has any more stores nothing."""
    lab = lab_with("a1")
    lab.join("m1", [], pattern="a.")
    lab.send("m1", -1)
    lab.written()

    lab.wait(0)
    assert lab.types() == []


def test_an_unloaded_group_resolves_nothing() -> None:
    """What is under way ends with the group; after the load a heartbeat begins anew."""
    lab = lab_with("a1")
    lab.join("m1", [], pattern="a.")
    lab.reload()
    lab.wait(0)
    assert topics_of(lab) == {}

    lab.send("m1", 1)
    lab.wait(0)
    assert topics_of(lab) == {"a.": ("a1",)}


def test_a_long_resolution_takes_many_turns() -> None:
    """A turn that serves clients does a part of it, so that others have theirs; one that is over is forgotten."""
    lab = lab_with(*(f"a{number}" for number in range(200)))
    passes, turns = lab.cluster.timers.passes, 0
    passes.limit()
    lab.join("m1", [], pattern="|".join(f".*{number}.*" for number in range(200)))
    lab.wait(0)
    while rest := passes.take():
        assert topics_of(lab) == {}
        passes.limit()
        rest(lab.now)
        turns += 1
    assert turns > 3
    (topics,) = topics_of(lab).values()
    assert len(topics) == 200


def test_matching_that_takes_long_has_turns() -> None:
    """The stopwatch ends a step that the count of states does not."""
    lab = lab_with(*(f"a{number}" for number in range(10)))
    passes, turns, passed_s = lab.cluster.timers.passes, 0, count()
    passes.stopwatch = lambda: float(next(passed_s))
    passes.limit()
    lab.join("m1", [], pattern="a.*")
    lab.wait(0)
    while rest := passes.take():
        passes.limit()
        rest(lab.now)
        turns += 1
    assert turns > 3
    assert len(topics_of(lab)["a.*"]) == 10


def test_large_patterns_are_compiled_in_steps() -> None:
    """Also those that match nothing, or are no patterns here: each of some length is a step."""
    large, wrong = [f"x{n}.{{900}}" * 6 for n in range(5)], [f"x{n}" * 5_000 + "(" for n in range(5)]
    for patterns in (large, wrong):
        assert sum(1 for _ in _matches(patterns, ["a"], Pace(STATES_PER_STEP))) >= len(patterns)


def test_a_resolution_of_a_group_that_has_ended_is_forgotten() -> None:
    """What was put off of it does nothing, and puts nothing off again."""
    lab = lab_with(*(f"a{number}" for number in range(200)))
    passes = lab.cluster.timers.passes
    passes.limit()
    lab.join("m1", [], pattern="|".join(f".*{number}.*" for number in range(200)))
    lab.wait(0)
    rest = passes.take()
    assert rest is not None
    lab.group.resolver.end()
    passes.limit()
    rest(lab.now)
    assert not passes
    assert topics_of(lab) == {}


@pytest.mark.rules("CGB-7")
def test_the_record_tells_when() -> None:
    """Topics ascending, and the wall time of the resolution."""
    lab = lab_with("b", "a")
    join(lab, "m1", "[ab]")

    record = next(
        each for batch in lab.written() for each in batch if isinstance(each, GroupRecord) and each.type == 16
    )
    assert (record.value.topics, record.value.timestamp) == (["a", "b"], lab.now.wall_ms)


PATTERNS: Final = ("a.*", "b.*", "c.*")


@pytest.mark.rules("CGX-3")
@given(st.lists(st.tuples(st.sampled_from(PATTERNS), st.none() | st.sets(st.sampled_from("uvwxyz"))), max_size=12))
def test_the_topics_of_the_group_follow_its_patterns(stored: list[tuple[str, set[str] | None]]) -> None:
    """Whatever is stored of them, in whatever order: those of every pattern that a member has."""
    lab = lab_with()
    for number, pattern in enumerate(PATTERNS[:2]):
        lab.join(f"m{number}", ["named"], pattern=pattern)
    for pattern, topics in stored:
        resolved = None if topics is None else ResolvedPattern(tuple(sorted(topics)), 1, 0)
        lab.group.replay(records.pattern_record("g", pattern, resolved), lab.now)
        assert lab.group.subscribed_topics == lab.group.subscriptions.topics(lab.group.patterns)


def calls_to_store(patterns: int) -> int:
    """How many calls it is to store what the patterns of as many members are resolved to."""
    lab = lab_with()
    made = []
    for number in range(patterns):
        lab.join(f"m{number}", [], pattern=f"a{number}")
        made.append(records.pattern_record("g", f"a{number}", ResolvedPattern((f"a{number}",), 1, 0)))
    return calls_of(lambda: [lab.group.replay(record, lab.now) for record in made])


def test_the_work_to_store_patterns_grows_with_them() -> None:
    """Four times as many patterns are about four times the work."""
    assert calls_to_store(80) < 5 * calls_to_store(20)


def test_names_that_are_too_long_to_store_are_not_worked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What all patterns match is counted before records are made of it; the group goes on as it was."""
    lab = lab_with(*("t" * 200 + str(number) for number in range(30)))
    join(lab, "m1", "t{2,}.*")
    stored = topics_of(lab)
    assert len(stored["t{2,}.*"]) == 30
    offsets_topic = lab.cluster.topics.get("__consumer_offsets")
    assert offsets_topic is not None
    offsets_topic.config.replace({"max.message.bytes": "10000"})
    made: list[object] = []
    monkeypatch.setattr(records, "pattern_record", lambda *parts: made.append(parts))
    join(lab, "m2", "t{3,}.*")
    lab.wait(SHORTEST_PAUSE_MS + 1)
    lab.send("m1", lab.group.members["m1"].epoch)
    lab.wait(0)
    assert (topics_of(lab), made) == (stored, [])


@pytest.mark.rules("CGX-4")
def test_what_cannot_be_stored_is_not_worked_on_with_each_heartbeat() -> None:
    """The next resolution is begun as late as if this one had been stored."""
    lab = lab_with(*("t" * 200 + str(number) for number in range(30)))
    offsets_topic = lab.cluster.topics.internal("__consumer_offsets")
    offsets_topic.config.replace({"max.message.bytes": "3000"})
    join(lab, "m1", "t{2,}.*")

    def works() -> bool:
        lab.send("m1", lab.group.members["m1"].epoch)
        return calls_of(lambda: lab.wait(0)) > 1_000

    assert not works()
    lab.wait(SHORTEST_PAUSE_MS)
    assert not works()
    lab.wait(1)
    assert works()
    offsets_topic.config.replace({"max.message.bytes": "30000"})
    lab.wait(SHORTEST_PAUSE_MS + 1)
    assert works()
    assert len(topics_of(lab)["t{2,}.*"]) == 30
