"""Commits kept as columns: no reader can tell them from the same commits kept as rows."""

import gc
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.coordinator.shard import Shard
from fakebroker.broker.core.groups.classic.classic_group import ClassicGroup
from fakebroker.broker.core.offsets.group_offsets import GroupOffsets
from fakebroker.broker.core.offsets.repeated_commit import CommitTemplate, RepeatedCommit
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.records.offsets_codec import Format
from fakebroker.protocol.records.offsets_topic import StoredOffset, TopicPartition, stored_offset
from fakebroker.protocol.records.record_codec import encode_plain_records
from tests.support.chance import examples
from tests.support.offsets import PASS, OffsetsCluster, state_of
from tests.support.time import DAY, MINUTE

SMALLEST_BOUND = {"fakebroker.unread.writes.max.bytes": 4000}
# What is committed, by name: some have partitions in common, one names a partition twice, metadata and epochs differ.
COMMITS: dict[str, list[tuple[str, int, str]]] = {
    "t": [("t", 0, ""), ("t", 1, "")],
    "u": [("u", 0, "m"), ("u", 1, "é" * 40)],
    "both": [("u", 2, ""), ("t", 1, ""), ("t", 2, "")],
    "twice": [("t", 3, "a"), ("t", 3, "b")],
}
RETENTIONS = st.sampled_from([None, None, MINUTE, DAY])
_COMMIT = st.tuples(st.sampled_from(["commit", "again", "again", "again", "again"]), st.sampled_from(sorted(COMMITS)))
STEPS = st.one_of(
    *[_COMMIT] * 6,
    st.tuples(st.just("delete"), st.sampled_from(sorted(COMMITS))),
    st.tuples(st.just("wait"), st.sampled_from([1, MINUTE, PASS, 8 * DAY])),
    st.tuples(st.just("pend"), st.sampled_from(sorted(COMMITS))),
    st.tuples(st.just("end"), st.booleans()),
    st.tuples(st.sampled_from(["look", "read the log", "load", "delete the group", "delete t"])),
)


class Life:
    """A group whose repeated commits are columns, or rows for comparison."""

    def __init__(self, *, columns: bool, release: str, retention_ms: int | None) -> None:
        self.lab = OffsetsCluster(release, settings=SMALLEST_BOUND)
        self.columns = columns
        self.retention_ms = retention_ms
        self.repeated: dict[str, tuple[ClassicGroup, Callable[[Sequence[int], Instant], bool]]] = {}
        self.next_offset = 0

    def take(self, kind: str, *args: Any) -> None:
        lab, shard = self.lab, self.lab.shard()
        group = lab.found()
        if kind in ("commit", "again"):
            self.commit(shard, group or shard.create_group("g", lab.now), args[0], again=kind == "again")
        elif kind == "delete" and group is not None:
            shard.delete_offsets(group, list(dict.fromkeys(_partitions(args[0]))), lab.now)
        elif kind == "wait":
            lab.wait(args[0])
        elif kind == "pend":
            lab.pend(dict.fromkeys(_partitions(args[0]), 9))
        elif kind == "end":
            shard.replay_end_transaction_marker(7, args[0], lab.now)
        elif kind == "look":
            lab.offsets()
        elif kind == "read the log":
            lab.batches()
        elif kind == "load":
            lab.coordinator.load(lab.partition().index, lab.now)
        elif kind == "delete the group":
            shard.delete_group("g", lab.now)
        elif kind == "delete t" and "t" in lab.cluster.topics:
            lab.cluster.topics.delete("t", lab.now)

    def commit(self, shard: Shard, group: ClassicGroup, name: str, *, again: bool) -> None:
        now, known = self.lab.now, self.repeated.get(name)
        values = [self.next_offset + n for n in range(len(COMMITS[name]))]
        self.next_offset += 10
        validator = shard.commit_validator(now, self.retention_ms)
        expire_ms = -1 if self.retention_ms is None else now.wall_ms + self.retention_ms
        rows: list[StoredOffset] = [
            stored_offset(topic, index, offset, metadata=metadata, commit_ms=now.wall_ms, expire_ms=expire_ms)
            for (topic, index, metadata), offset in zip(COMMITS[name], values, strict=True)
        ]
        assert validator.accepted == []
        if self.columns and again and known is not None and known[0] is group:
            assert known[1](tuple(values), now)
        else:
            shard.commit(group, rows, now)
            if self.columns:
                self.repeated[name] = group, shard.repeatable_commit(group, rows, self.retention_ms)

    def seen(self) -> Any:
        """Everything of the group that anybody may see, in order."""
        group = self.lab.shard().group("g")
        if group is None:
            return None
        return [*group.offsets], group.offsets.partitions(), group.offsets.check_ms, self.lab.expired()


def _partitions(name: str) -> list[TopicPartition]:
    return [TopicPartition(topic, index) for topic, index, _ in COMMITS[name]]


@pytest.mark.rules("OC-13", "LD-2", "EX-8", "CR-14")
@examples(200)
@given(st.lists(STEPS, max_size=60), st.sampled_from(["4.3", "3.9"]), RETENTIONS)
def test_columns_are_as_rows(steps: list[tuple[Any, ...]], release: str, retention_ms: int | None) -> None:
    """A random life of a group, also beyond the bound of unread writes: same offsets, same expiries, same log."""
    lives = [Life(columns=columns, release=release, retention_ms=retention_ms) for columns in (True, False)]
    for kind, *args in [*(("commit", name) for name in COMMITS), *steps]:
        for life in lives:
            life.take(kind, *args)
        columns, rows = (life.lab.partition().log for life in lives)
        assert (columns.log_end_offset, len(columns.segments)) == (rows.log_end_offset, len(rows.segments))
        if kind != "again":
            assert lives[0].seen() == lives[1].seen()
    assert lives[0].seen() == lives[1].seen()
    assert lives[0].lab.batches() == lives[1].lab.batches()
    assert state_of(lives[0].lab.shard()) == state_of(lives[1].lab.shard())


@pytest.mark.rules("CR-4", "CR-5")
@given(
    st.lists(st.tuples(st.integers(-1, 2**63 - 1), st.integers(-1, 7), st.text(max_size=300)), min_size=1, max_size=70),
    st.integers(0, 2**62),
    RETENTIONS,
    st.sampled_from([Format(), Format(offset_version=3), Format(offset_version=1)]),
)
def test_a_pattern_encodes_what_rows_say(
    commits: list[tuple[int, int, str]], commit_ms: int, retention_ms: int | None, record_format: Format
) -> None:
    """The bytes of a repetition are those of the same commit as rows, whatever its numbers are."""
    rows = [
        stored_offset("t", index, 1, leader_epoch=epoch, metadata=metadata, commit_ms=1)
        for index, (_, epoch, metadata) in enumerate(commits)
    ]
    template = CommitTemplate("g", rows, retention_ms, record_format, GroupOffsets())
    repeated = RepeatedCommit(template, [offset for offset, _, _ in commits], commit_ms)
    assert repeated.encoded() == encode_plain_records(repeated.records())


def _played(*steps: tuple[Any, ...]) -> Life:
    life = Life(columns=True, release="4.3", retention_ms=None)
    for kind, *args in steps:
        life.take(kind, *args)
    return life


def test_the_later_of_two_repeated_commits_counts() -> None:
    """They have a partition in common; their order is that of the log."""
    steps = [(kind, name) for kind in ("commit", "again", "again") for name in ("both", "t")]
    assert _played(*steps, ("again", "both")).lab.offsets()[("t", 1)] == 61


def test_after_a_deletion_the_first_to_commit_is_listed_first() -> None:
    """As for commits that are no repetitions: the order is that of the first commits."""
    steps = [(kind, name) for kind in ("commit", "again", "delete") for name in ("t", "u")]
    assert list(_played(*steps, ("again", "u"), ("again", "t")).lab.group().offsets.topics) == ["u", "t"]


@pytest.mark.rules("LD-2")
def test_a_repeated_commit_is_loaded_as_it_was() -> None:
    """What another coordinator reads in the log is what this one's cache has."""
    life = _played(("commit", "both"), *[("again", "both")] * 3)
    assert life.lab.offsets() == {("u", 2): 30, ("t", 1): 31, ("t", 2): 32}
    assert state_of(life.lab.reread()) == state_of(life.lab.shard())


def test_only_what_somebody_looks_at_becomes_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand repetitions, with the log over its bound, the latest alone; the log kept none of the others."""
    made: list[RepeatedCommit] = []
    rows = RepeatedCommit.rows
    monkeypatch.setattr(RepeatedCommit, "rows", lambda commit: made.append(commit) or rows(commit))
    life = _played(("commit", "t"), ("look",))
    for _ in range(1000):
        life.take("again", "t")
    life.lab.offsets()
    assert {commit.offsets for commit in made} <= {made[-1].offsets, made[0].offsets}
    assert len(life.lab.batches()) < 20


def test_connections_that_repeat_one_commit_share_its_template() -> None:
    """So neither makes rows of what the other commits."""
    life = _played(("commit", "t"), ("again", "t"))
    before = _templates_in_memory()
    again = life.repeated["t"]
    life.take("commit", "t")
    assert life.repeated["t"] != again
    assert _templates_in_memory() == before


def test_a_group_that_is_gone_waits_for_no_collector() -> None:
    """Its offsets and what repeats them know each other only as long as the group is there."""
    life = _played(("commit", "t"), ("again", "t"))
    life.repeated.clear()
    gc.collect()
    before = _templates_in_memory()
    gc.disable()
    try:
        life.take("load")
        assert _templates_in_memory() == before - 1
    finally:
        gc.enable()


def _templates_in_memory() -> int:
    return sum(isinstance(each, CommitTemplate) for each in gc.get_objects())


@pytest.mark.rules("CLU-63", "CLU-42", "OC-14")
@pytest.mark.parametrize("why", ["replicas lag", "another broker leads", "the batch is too large"])
def test_what_cannot_be_stored_at_once_changes_nothing(why: str) -> None:
    """The general way refuses such a commit, or lets it wait."""
    lab = OffsetsCluster(nodes=(1, 2), settings={"offsets.topic.replication.factor": 2})
    lab.cluster.topics.internal("__consumer_offsets")
    leader = lab.partition().leader
    shard = lab.cluster.nodes[leader].coordinator.shard("g", lab.now)
    rows = [stored_offset("t", n % 4, n, commit_ms=0) for n in range(17)]
    group = shard.create_group("g", lab.now)
    shard.commit(group, rows, lab.now)
    repeat_commit = shard.repeatable_commit(group, rows, None)
    if why == "replicas lag":
        lab.partition().log.limit_high_watermark(3, lab.now)
    elif why == "another broker leads":
        lab.cluster.nodes[leader].is_unaware = True
        lab.partition().lead(3 - leader, lab.now)
    else:
        lab.cluster.topics.internal("__consumer_offsets").config.replace({"max.message.bytes": "100"})
    end = shard.log.log_end_offset
    assert not repeat_commit(range(17), lab.now)
    assert shard.log.log_end_offset == end
    assert {stored[:2]: stored[2] for stored in group.offsets} == {row[:2]: row[2] for row in rows}
