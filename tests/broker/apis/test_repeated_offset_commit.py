"""Commits that repeat one before them are answered without being decoded; what changes meanwhile counts as ever."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import offset_commit
from fakebroker.broker.core.topics import CONSUMER_OFFSETS
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.offset_commit import OffsetCommitRequestTopic
from tests.support.engine import Client, SimEngine
from tests.support.frames import JOIN, OffsetRow

NEWEST = 10


class Committing:
    """A client of an engine with topic "t" of two partitions; `general` counts the commits that were decoded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **how: Any) -> None:
        self.sim = SimEngine(how.pop("settings", None), **how)
        self.client = self.sim.client()
        self.make_topic("t")
        self.general = 0
        self.member: dict[str, Any] = {"group_id": "g"}
        handle = offset_commit.handle

        def counted(call: Any, request: Any) -> Any:
            self.general += 1
            return handle(call, request)

        monkeypatch.setattr(offset_commit, "handle", counted)

    def make_topic(self, name: str, partitions: int = 2) -> None:
        asked = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        self.client.ask("CreateTopics", 2, topics=[asked], timeout_ms=1000)

    def join(self) -> None:
        """From now on a member of a Stable group commits."""
        joined = self.client.ask("JoinGroup", 3, **JOIN)
        member = {"group_id": "g", "generation_id": joined.generation_id, "member_id": joined.member_id}
        self.client.ask("SyncGroup", 2, **member, assignments=[])
        self.member = {
            "group_id": "g",
            "generation_id_or_member_epoch": joined.generation_id,
            "member_id": joined.member_id,
        }

    def commit(
        self, offset: int, version: int = 7, *, client: Client | None = None, commit_ms: int = -1, **fields: Any
    ) -> list[int]:
        """Commit both partitions; the codes."""
        topic = self.sim.cluster.topics.get("t")
        rows: list[OffsetRow] = [(index, offset + index, -1, commit_ms, "m") for index in range(2)]
        asked = OffsetCommitRequestTopic(name="t", topic_id=topic.id if topic else bytes(16), partitions=rows)
        answer = (client or self.client).ask("OffsetCommit", version, topics=[asked], **self.member, **fields)
        return [code for topic in answer.topics for _, code in topic.partitions]

    def repeat(self, version: int = 7, **fields: Any) -> None:
        """Commit until a layout answers."""
        for offset in range(5):
            assert self.commit(offset, version, **fields) == [0, 0]

    def stored(self) -> list[tuple[int, int, int]]:
        """Offset, commit and expire timestamp of each partition, from the log."""
        coordinator, now = self.sim.cluster.nodes[1].coordinator, self.sim.engine.now
        partition = self.sim.cluster.group_partition("g")
        coordinator.load(partition.index, now)
        group = coordinator.shard("g", now).groups["g"]
        return [
            (each[2], each[5] - now.wall_ms, each[6] - now.wall_ms if each[6] != -1 else -1) for each in group.offsets
        ]


@pytest.fixture
def committing(monkeypatch: pytest.MonkeyPatch) -> Committing:
    return Committing(monkeypatch)


@pytest.mark.rules("OC-13", "LD-2")
@pytest.mark.parametrize("version", range(2, NEWEST + 1))
def test_the_third_of_a_kind_is_not_decoded(committing: Committing, version: int) -> None:
    """What it commits is in the log with its own time."""
    committing.repeat(version)
    committing.sim.network.advance(1000)
    assert committing.commit(70, version) == [0, 0]
    assert committing.general == 2
    assert committing.stored() == [(70, 0, -1), (71, 0, -1)]


@pytest.mark.rules("OC-10")
def test_commit_timestamps_go_the_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1 may have one for each partition."""
    committing = Committing(monkeypatch, as_release="3.9")
    committing.repeat(1, commit_ms=5)
    committing.repeat(1)
    assert committing.general == 10


@pytest.mark.rules("OC-12", "EX-2")
@pytest.mark.parametrize("version", [2, 4])
def test_an_explicit_retention_counts_from_each_commit(committing: Committing, version: int) -> None:
    """Each repetition has its own expire timestamp, and expires by it."""
    committing.repeat(version, retention_time_ms=60_000)
    committing.sim.network.advance(7)
    committing.commit(50, version, retention_time_ms=60_000)
    assert committing.general == 2
    assert committing.stored() == [(50, 0, 60_000), (51, 0, 60_000)]
    committing.sim.network.advance(20 * 60_000)
    assert "g" not in committing.sim.cluster.nodes[1].coordinator.shard("g", committing.sim.engine.now).groups


def _delete_topic(each: Committing) -> None:
    each.client.ask("DeleteTopics", 1, topic_names=["t"], timeout_ms=1000)


def _make_topic_smaller(each: Committing) -> None:
    _delete_topic(each)
    each.make_topic("t", 1)


def _begin_rebalance(each: Committing) -> None:
    each.sim.client().join()


def _let_sessions_time_out(each: Committing) -> None:
    each.sim.network.advance(40_000)


def _move_the_coordinator(each: Committing) -> None:
    each.sim.cluster.group_partition("g").lead(-1, each.sim.engine.now)


def _load_slowly(each: Committing) -> None:
    index = each.sim.cluster.group_partition("g").index
    each.sim.cluster.nodes[1].coordinator.load(index, each.sim.engine.now, 60_000)


def _forget_the_groups(each: Committing) -> None:
    index = each.sim.cluster.group_partition("g").index
    each.sim.cluster.nodes[1].coordinator.unload(index, each.sim.engine.now)


def _delete_the_log(each: Committing) -> None:
    each.sim.cluster.topics.delete(CONSUMER_OFFSETS, each.sim.engine.now)


@pytest.mark.rules("OC-2", "OC-7", "OC-8")
@pytest.mark.parametrize(
    ("happen", "codes"),
    [
        (_delete_topic, [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2),
        (_make_topic_smaller, [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]),
        (_begin_rebalance, [0, 0]),
        (_let_sessions_time_out, [ErrorCode.UNKNOWN_MEMBER_ID] * 2),
        (_move_the_coordinator, [ErrorCode.NOT_COORDINATOR] * 2),
        (_load_slowly, [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2),
        (_forget_the_groups, [0, 0]),
        (_delete_the_log, [ErrorCode.ILLEGAL_GENERATION] * 2),
    ],
)
def test_what_happens_meanwhile_counts(
    committing: Committing, happen: Callable[[Committing], None], codes: list[int]
) -> None:
    """A member's next commit is answered as it would be without a layout."""
    committing.join()
    committing.repeat()
    happen(committing)
    answered = committing.commit(90)
    assert sorted(answered) == sorted(codes)


@pytest.mark.rules("TM-1")
def test_a_repeated_commit_is_a_sign_of_life(committing: Committing) -> None:
    """The member's session starts anew with it."""
    committing.join()
    committing.repeat()
    for _ in range(5):
        committing.sim.network.advance(20_000)
        assert committing.commit(90) == [0, 0]
    assert committing.general == 2


@pytest.mark.rules("OC-4")
def test_only_what_was_stored_as_a_whole_is_repeated(committing: Committing) -> None:
    """A commit with an error in it is judged anew each time."""
    committing.make_topic("u")
    for number in range(20):
        rows: list[OffsetRow] = [(index, number, -1, -1, "") for index in (0, 9)]
        asked = OffsetCommitRequestTopic(name="u", partitions=rows)
        (topic,) = committing.client.ask("OffsetCommit", 7, group_id="g", topics=[asked]).topics
        assert sorted(topic.partitions) == [(0, 0), (9, 3)]
    assert committing.general == 20


@pytest.mark.rules("OC-15")
@pytest.mark.parametrize("as_release", ["3.9", "4.3"])
def test_a_partition_twice_is_stored_as_ever(monkeypatch: pytest.MonkeyPatch, as_release: str) -> None:
    """The last offset of a repetition counts, whichever release answers."""
    committing = Committing(monkeypatch, as_release=as_release)
    for number in range(10):
        rows: list[OffsetRow] = [(0, number, -1, -1, "a"), (0, number + 100, -1, -1, "b")]
        committing.client.ask(
            "OffsetCommit", 7, group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=rows)]
        )
    assert [offset for offset, _, _ in committing.stored()] == [109]


def test_two_connections_repeat_one_commit(committing: Committing) -> None:
    """The latest of both counts; they share its template."""
    other = committing.sim.client()
    committing.repeat()
    committing.repeat(client=other)
    for number in range(10):
        committing.commit(number, client=other if number % 2 else None)
    assert committing.general == 4
    assert [offset for offset, _, _ in committing.stored()] == [9, 10]
