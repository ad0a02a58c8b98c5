"""Which partitions are read at which endpoint."""

import pytest

from fakebroker.broker.core.groups.streams.endpoints import EndpointPartitions, endpoints_of
from fakebroker.broker.core.groups.streams.internal_topics import configure
from fakebroker.broker.core.groups.streams.member import CurrentAssignment, Endpoint, MemberMetadata, StreamsMember
from fakebroker.broker.core.groups.streams.tasks import Task, tasks_of
from fakebroker.protocol.errors import ErrorCode, KafkaError
from tests.support.streams_groups import subtopology, tasks, topology

EXISTING = {"a": 3, "small": 1, "r": 3, "c": 3}
CONFIGURED = configure(
    topology(
        subtopology("0", ["a", "small"], changelogs=["c"], sinks=["r"]),
        subtopology("1", repartition={"r": 0}),
    ),
    EXISTING.get,
)


def member(current: CurrentAssignment, endpoint: Endpoint | None) -> StreamsMember:
    return StreamsMember("m", MemberMetadata(endpoint=endpoint), current)


@pytest.mark.rules("STP-2", "STP-3")
def test_each_endpoint_with_what_is_read_there() -> None:
    """Source and repartition source topics, by active and standby tasks; of a small topic only what it has."""
    assert CONFIGURED.subtopologies is not None
    home = Endpoint("h", 80)
    current = CurrentAssignment(
        assigned=tasks_of([Task("0", 1), Task("0", 2), Task("1", 0)], [Task("0", 0)]), pending=tasks(3)
    )

    found = endpoints_of([member(current, home), member(current, None)], CONFIGURED.subtopologies, EXISTING.get)

    assert found == (
        EndpointPartitions(home, (("small", (1,)), ("a", (1, 2)), ("r", (0,))), (("small", (0,)), ("a", (0,)))),
    )


@pytest.mark.rules("STP-2")
def test_a_topic_that_is_gone_cannot_be_reported() -> None:
    """A topic that is deleted before the group has looked again fails the heartbeat, as in Kafka."""
    assert CONFIGURED.subtopologies is not None
    there = member(CurrentAssignment(assigned=tasks(0)), Endpoint("h", 80))

    with pytest.raises(KafkaError) as failure:
        endpoints_of([there], CONFIGURED.subtopologies, lambda _: None)

    assert failure.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
