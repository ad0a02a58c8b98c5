"""StreamsGroupHeartbeat on the wire: checks of the fields, answers, internal topics that the broker creates (STH)."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.groups.streams import group_step
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema.jsonable import to_json
from fakebroker.protocol.wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    Subtopology,
    TaskIds,
    TaskOffset,
    TopicInfo,
    Topology,
)
from tests.support.group_apis import GroupApis

MakeCall = Callable[..., Call]
ALL = [TaskIds(subtopology_id="0", partitions=[0, 1, 2])]


def reads(*topics: str, **fields: Any) -> Topology:
    """A topology with one subtopology that reads these topics."""
    return Topology(epoch=1, subtopologies=[Subtopology(subtopology_id="0", source_topics=list(topics), **fields)])


def joining(**fields: Any) -> dict[str, Any]:
    """A heartbeat that joins, as it should be but for `fields`."""
    return {
        "group_id": "g",
        "member_id": "m",
        "rebalance_timeout_ms": 5_000,
        "topology": reads("t"),
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": "p",
        **fields,
    }


def lab_of(make_call: MakeCall, **settings: object) -> GroupApis:
    """A cluster with a topic "t" of three partitions, without a delay before an assignment."""
    soon = {"group.streams.initial.rebalance.delay.ms": 0, "group.streams.assignment.interval.ms": 0}
    lab = GroupApis(make_call, **{**soon, **settings})  # type: ignore[arg-type]
    lab.cluster.topics.create("t", 3, 1)
    return lab


def beat(lab: GroupApis, **fields: Any) -> Any:
    return lab.ask("StreamsGroupHeartbeat", 0, **fields)


@pytest.mark.rules("STH-10", "STH-30", "STH-31")
def test_a_member_joins_stays_and_leaves(make_call: MakeCall) -> None:
    """It is given all tasks once, and nothing when it leaves; lists of tasks are null when nothing is new."""
    lab = lab_of(make_call)
    joined = beat(lab, **joining())
    steady = beat(lab, group_id="g", member_id="m", member_epoch=2)
    left = beat(lab, group_id="g", member_id="m", member_epoch=-1)

    assert (joined.error_code, joined.member_id, joined.member_epoch, joined.heartbeat_interval_ms) == (0, "m", 2, 5000)
    assert (joined.active_tasks, joined.standby_tasks, joined.warmup_tasks) == (ALL, [], [])
    assert (joined.status, joined.acceptable_recovery_lag, joined.task_offset_interval_ms) == ([], 0, 0)
    assert (steady.member_epoch, steady.active_tasks, steady.standby_tasks, steady.warmup_tasks) == (
        2,
        None,
        None,
        None,
    )
    assert (left.member_epoch, left.heartbeat_interval_ms, left.status, left.active_tasks) == (-1, 0, [], None)


@pytest.mark.rules("STH-4", "STH-3", "STH-2")
@pytest.mark.parametrize(
    "fields",
    [
        joining(instance_id="i"),
        joining(task_offsets=[]),
        joining(task_offsets=[TaskOffset(subtopology_id="0")]),
        joining(task_end_offsets=[]),
        joining(warmup_tasks=ALL),
        joining(topology=reads("t", source_topic_regex=["t.*"])),
        joining(member_id=" "),
        joining(group_id=""),
        joining(rack_id="\t"),
        joining(rebalance_timeout_ms=-1),
        joining(active_tasks=None),
        joining(standby_tasks=None),
        joining(warmup_tasks=None),
        joining(active_tasks=ALL),
        joining(standby_tasks=ALL),
        joining(topology=None),
        {"group_id": "g", "member_id": "m", "member_epoch": -2},
        {"group_id": "g", "member_id": "m", "member_epoch": -3},
        {"group_id": "g", "member_id": "m", "member_epoch": 1, "active_tasks": []},
        {"group_id": "g", "member_id": "m", "member_epoch": 1, "topology": reads("t")},
    ],
)
def test_requests_that_are_invalid(make_call: MakeCall, fields: dict[str, Any]) -> None:
    """Each is refused with a text, and without member id, epoch or tasks; no group comes of it."""
    lab = lab_of(make_call)
    answer = beat(lab, **fields)

    assert (answer.error_code, answer.member_id, answer.member_epoch, answer.status) == (
        ErrorCode.INVALID_REQUEST,
        "",
        0,
        [],
    )
    assert answer.error_message
    assert answer.active_tasks is None
    assert list(lab.coordinator.shard("g", lab.now)) == []


@pytest.mark.rules("STH-1", "STH-3", "STT-2", "STT-6")
@pytest.mark.parametrize(
    "topology",
    [
        reads("__consumer_offsets"),
        reads("t", repartition_sink_topics=["__transaction_state"]),
        reads("no topic"),
        reads("t", state_changelog_topics=[TopicInfo(name="c/d")]),
        reads("t", state_changelog_topics=[TopicInfo(name="c", partitions=3)]),
        reads("t", repartition_source_topics=[TopicInfo(name="r")]),
        reads(),
    ],
)
def test_topologies_that_cannot_be(make_call: MakeCall, topology: Topology) -> None:
    """Internal and malformed names, a changelog with a count, a repartition topic of nobody, nothing to read."""
    assert beat(lab_of(make_call), **joining(topology=topology)).error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY


@pytest.mark.rules("STH-1", "STH-2")
def test_names_are_checked_first(make_call: MakeCall) -> None:
    """An impossible topology is reported before other errors, and what is unsupported before the rest."""
    lab = lab_of(make_call)

    assert (
        beat(lab, **joining(topology=reads("__consumer_offsets"), member_id="")).error_code
        == ErrorCode.STREAMS_INVALID_TOPOLOGY
    )
    assert "static" in beat(lab, **joining(instance_id="i", group_id="")).error_message


@pytest.mark.rules("STH-1")
def test_a_broker_without_streams_groups(make_call: MakeCall) -> None:
    """One that does not speak their protocol answers that it does not support the request."""
    lab = lab_of(make_call, **{"group.coordinator.rebalance.protocols": "classic,consumer"})

    assert beat(lab, **joining()).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.rules("STT-5")
def test_missing_internal_topics_are_created(make_call: MakeCall) -> None:
    """With the decided count and the configs of the topology; the next heartbeat assigns."""
    lab = lab_of(make_call)
    changelog = TopicInfo(name="c", topic_configs=[KeyValue(key="cleanup.policy", value="compact")])
    first = beat(lab, **joining(topology=reads("t", state_changelog_topics=[changelog])))
    second = beat(lab, group_id="g", member_id="m", member_epoch=2)

    topic = lab.cluster.topics.get("c")
    assert topic is not None
    assert (len(topic.partitions), topic.config.own) == (3, {"cleanup.policy": "compact"})
    assert [status.status_code for status in first.status] == [3]
    assert first.active_tasks == []
    assert (second.member_epoch, second.status, second.active_tasks) == (3, [], ALL)


@pytest.mark.rules("STT-5")
def test_internal_topics_that_cannot_be_created(make_call: MakeCall) -> None:
    """The status says why, at every heartbeat."""
    lab = lab_of(make_call)
    too_many = TopicInfo(name="c", replication_factor=3)
    answers = [
        beat(lab, **joining(topology=reads("t", state_changelog_topics=[too_many]))),
        beat(lab, group_id="g", member_id="m", member_epoch=2),
    ]

    for answer in answers:
        (status,) = answer.status
        assert status.status_code == 3
        assert "c (replication factor 3 is larger than the number of brokers, 1)" in status.status_detail


@pytest.mark.rules("STT-5")
def test_internal_topics_have_a_bound_together(make_call: MakeCall) -> None:
    """As many partitions as one CreateTopics may make, else none of them: a short request names millions."""
    lab = lab_of(make_call)
    names = [f"r{number}" for number in range(3)]
    sources = [TopicInfo(name=name, partitions=4_000) for name in names]
    topology = reads("t", repartition_sink_topics=names, repartition_source_topics=sources)
    (status,) = beat(lab, **joining(topology=topology)).status

    assert "could not be created: Excessively large number of partitions per request." in status.status_detail
    assert [lab.cluster.topics.get(name) for name in names] == [None] * 3


def test_more_tasks_than_can_be_written(make_call: MakeCall, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are refused before they are assigned, with the error of an assignment that is too long."""
    monkeypatch.setattr(group_step, "MOST_TASKS", 5)
    monkeypatch.setattr(group_step, "assign", lambda *_: pytest.fail("it is assigned"))
    lab = lab_of(make_call)
    parts = [Subtopology(subtopology_id=str(number), source_topics=["t"]) for number in range(2)]

    answer = beat(lab, **joining(topology=Topology(epoch=1, subtopologies=parts)))

    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert answer.error_message == "the group has 6 tasks, and at most 5 fit"


@pytest.mark.rules("STT-1", "STT-8", "STB-1")
def test_the_topology_is_stored_as_it_was_sent(make_call: MakeCall) -> None:
    """Every field of it is in the group's record."""
    lab = lab_of(make_call)
    subtopology = Subtopology(
        subtopology_id="0",
        source_topics=["t"],
        state_changelog_topics=[TopicInfo(name="c", replication_factor=1)],
        repartition_sink_topics=["r"],
        repartition_source_topics=[TopicInfo(name="r", partitions=3)],
        copartition_groups=[CopartitionGroup(source_topics=[0], repartition_source_topics=[0])],
    )
    beat(lab, **joining(topology=Topology(epoch=7, subtopologies=[subtopology])))
    group: Any = lab.coordinator.shard("g", lab.now).group("g")

    (stored,) = group.topology.value.subtopologies
    assert group.topology.epoch == 7
    assert str(to_json(stored, 0)).lower() == str(to_json(subtopology, 0)).lower()  # but for the case of field names


@pytest.mark.rules("STP-1", "STP-2")
def test_endpoints(make_call: MakeCall) -> None:
    """Who does not know the latest learns which partitions are read where; others do not."""
    lab = lab_of(make_call)
    response = beat(lab, **joining(user_endpoint=Endpoint(host="h", port=65_535), endpoint_information_epoch=-1))
    known = beat(lab, group_id="g", member_id="m", member_epoch=2)

    (entry,) = response.partitions_by_user_endpoint
    assert (entry.user_endpoint.host, entry.user_endpoint.port) == ("h", 65_535)
    assert [(topic, list(indexes)) for topic, indexes in entry.active_partitions] == [("t", [0, 1, 2])]
    assert list(entry.standby_partitions) == []
    assert known.partitions_by_user_endpoint is None


@pytest.mark.rules("STR-2")
def test_lists_of_owned_tasks_count_together(make_call: MakeCall) -> None:
    """A member that reports all three has given up what it does not name."""
    lab = lab_of(make_call)
    beat(lab, **joining())
    beat(lab, **joining(member_id="n", process_id="q"))
    response = beat(lab, group_id="g", member_id="m", member_epoch=2)
    owned = {"active_tasks": response.active_tasks, "standby_tasks": [], "warmup_tasks": []}
    done = beat(lab, group_id="g", member_id="m", member_epoch=2, **owned)

    assert [(tasks.subtopology_id, tasks.partitions) for tasks in response.active_tasks] == [("0", [0, 1])]
    assert (response.member_epoch, done.member_epoch, done.active_tasks) == (2, 3, None)


@pytest.mark.rules("STH-11", "STH-4")
def test_errors_of_the_group(make_call: MakeCall) -> None:
    """What the group refuses is reported like what the fields refuse; so is a coordinator that is elsewhere."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    here, elsewhere = lab.elsewhere(leader=1), lab.elsewhere()

    for group_id, code in ((here, ErrorCode.GROUP_ID_NOT_FOUND), (elsewhere, ErrorCode.NOT_COORDINATOR)):
        answer = beat(lab, group_id=group_id, member_id="m", member_epoch=1)
        assert (answer.error_code, answer.member_id, answer.member_epoch) == (code, "", 0)
