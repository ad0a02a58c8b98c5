"""Which partitions are read at which endpoint."""

from functools import partial

import pytest

from fakebroker.broker.core.groups.streams import endpoints
from fakebroker.broker.core.groups.streams.endpoints import EndpointPartitions, endpoints_of
from fakebroker.broker.core.groups.streams.internal_topics import configure
from fakebroker.broker.core.groups.streams.member import CurrentAssignment, Endpoint, MemberMetadata, StreamsMember
from fakebroker.broker.core.groups.streams.tasks import Task, tasks_of
from fakebroker.protocol.errors import ErrorCode, KafkaError
from tests.support.streams_groups import subtopology, tasks, topology
from tests.support.work_counter import calls_of

EXISTING = {"a": 3, "small": 1, "r": 3, "c": 3}
CONFIGURED = configure(
    topology(
        subtopology("0", ["a", "small"], changelogs=["c"], sinks=["r"]),
        subtopology("1", repartition={"r": 0}),
    ),
    EXISTING.get,
)


HOME = Endpoint("h", 80)


def member(current: CurrentAssignment, endpoint: Endpoint | None) -> StreamsMember:
    return StreamsMember("m", MemberMetadata(endpoint=endpoint), current)


@pytest.mark.rules("STP-2", "STP-3")
def test_each_endpoint_with_what_is_read_there() -> None:
    """Source and repartition source topics, by active and standby tasks; of a small topic only what it has."""
    assert CONFIGURED.subtopologies is not None
    current = CurrentAssignment(
        assigned=tasks_of([Task("0", 1), Task("0", 2), Task("1", 0)], [Task("0", 0)]), pending=tasks(3)
    )

    found = endpoints_of([member(current, HOME), member(current, None)], CONFIGURED.subtopologies, EXISTING.get)

    assert found == (
        EndpointPartitions(HOME, (("small", (1,)), ("a", (1, 2)), ("r", (0,))), (("small", (0,)), ("a", (0,)))),
    )


@pytest.mark.rules("STP-2")
def test_a_topic_that_is_gone_cannot_be_reported() -> None:
    """A topic that is deleted before the group has looked again fails the heartbeat, as in Kafka."""
    assert CONFIGURED.subtopologies is not None
    there = member(CurrentAssignment(assigned=tasks(0)), HOME)

    with pytest.raises(KafkaError) as failure:
        endpoints_of([there], CONFIGURED.subtopologies, lambda _: None)

    assert failure.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


# -- many members that read many topics ------------------------------------------------------------------------------

MEMBERS = 40
TOPICS = {f"t{number}": MEMBERS for number in range(50)}
WIDE = configure(topology(subtopology("0", list(TOPICS))), TOPICS.get).subtopologies or {}
READERS = [member(CurrentAssignment(assigned=tasks(number, MEMBERS - 1)), HOME) for number in range(MEMBERS - 1)]


def test_topics_are_looked_up_once_for_all_members() -> None:
    """However many members read a topic: an answer lists it for each of them, in one turn."""
    asked: list[str] = []

    def count(topic: str) -> int:
        asked.append(topic)
        return TOPICS[topic]

    found = endpoints_of(READERS, WIDE, count)

    assert sorted(asked) == sorted(TOPICS)
    assert [len(each.active) for each in found] == [len(TOPICS)] * len(READERS)


def test_a_listed_topic_costs_no_call() -> None:
    """Each member more costs a few calls, and not some for each topic that it reads."""
    few, many = (calls_of(partial(endpoints_of, readers, WIDE, TOPICS.get)) for readers in (READERS[:10], READERS[:30]))
    assert many - few < 20 * len(TOPICS)


def test_topics_of_a_member_share_their_partitions() -> None:
    """A member's tasks of a subtopology are listed once, but for topics that have fewer partitions."""
    (found, *_) = endpoints_of(READERS, WIDE, {**TOPICS, "t0": 1}.get)
    listed = {id(indexes): indexes for _, indexes in found.active}
    assert sorted(listed.values()) == [(0,), (0, MEMBERS - 1)]


@pytest.mark.parametrize(("what", "most"), [("MOST_TOPICS", 100), ("MOST_PARTITIONS", 200)])
def test_more_than_one_answer_reports(monkeypatch: pytest.MonkeyPatch, what: str, most: int) -> None:
    """Members times topics are bounded, and so are the partitions: beyond that the heartbeat fails and says why."""
    monkeypatch.setattr(endpoints, what, most)
    assert len(endpoints_of(READERS[:2], WIDE, TOPICS.get)) == 2

    with pytest.raises(KafkaError) as failure:
        endpoints_of(READERS, WIDE, TOPICS.get)

    assert failure.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "fewer members may have an endpoint (application.server)" in str(failure.value.message)
