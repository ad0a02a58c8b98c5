"""Topologies held against the topics that exist: tasks, partition counts, what is missing and what does not fit."""

import pytest

from fakebroker.broker.core.groups.streams.internal_topics import ConfiguredTopology, InternalTopic, configure
from fakebroker.broker.core.groups.streams.states import StatusCode
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.streams_group_schema import InternalTopic as DeclaredTopic
from fakebroker.protocol.records.streams_group_schema import Subtopology, TopicConfig
from tests.support.streams_groups import subtopology, topology


def configured(*subtopologies: Subtopology, **existing: int) -> ConfiguredTopology:
    """What a topology of these parts comes to while these topics exist."""
    return configure(topology(*subtopologies), existing.get)


def counts(found: ConfiguredTopology) -> dict[str, int]:
    """The decided partition count of each internal topic."""
    assert found.subtopologies is not None
    topics = [topic for each in found.subtopologies.values() for topic in (*each.repartition_sources, *each.changelogs)]
    return {topic.name: topic.partitions for topic in topics}


def tasks(found: ConfiguredTopology) -> dict[str, int]:
    """The number of tasks of each subtopology."""
    assert found.subtopologies is not None
    return {each.subtopology_id: each.tasks for each in found.subtopologies.values()}


def problem(found: ConfiguredTopology) -> tuple[StatusCode, str]:
    """What members get."""
    assert found.problem is not None
    return found.problem


@pytest.mark.rules("STT-7")
def test_tasks_are_as_many_as_the_largest_input_has_partitions() -> None:
    """Also changelogs are; with all topics there the topology is ready."""
    found = configured(subtopology("0", ["a", "b"], changelogs=["c"]), a=2, b=5, c=5)

    assert found.is_ready
    assert tasks(found) == {"0": 5}
    assert counts(found) == {"c": 5}
    assert found.subtopologies is not None
    assert found.subtopologies["0"].is_stateful


@pytest.mark.rules("STT-4")
def test_missing_source_topics() -> None:
    """Without a source topic nothing is decided; three are named, in alphabetical order, the others counted."""
    found = configured(subtopology("0", ["e", "c", "d", "b"]), subtopology("1", ["a"]), b=1)

    assert found.subtopologies is None
    assert not found.is_ready
    assert problem(found) == (StatusCode.MISSING_SOURCE_TOPICS, "source topics are missing: a, c, d and 1 more")


@pytest.mark.rules("STT-5")
def test_missing_internal_topics_are_to_be_created() -> None:
    """What has to be created comes with its decided partition count, replication factor and configs."""
    declared = DeclaredTopic(
        name="c", replication_factor=3, topic_configs=[TopicConfig(key="cleanup.policy", value="compact")]
    )
    part = subtopology("0", ["a"])
    part.state_changelog_topics = [declared]
    found = configured(part, a=4)

    assert found.missing == (InternalTopic("c", 4, 3, {"cleanup.policy": "compact"}),)
    assert problem(found) == (StatusCode.MISSING_INTERNAL_TOPICS, "internal topics are missing: c")
    assert not found.is_ready


@pytest.mark.rules("STT-6")
def test_repartition_topics_take_the_largest_input_of_their_writer() -> None:
    """A count that is given is taken; others come through chains of writers, in whatever order these are declared."""
    found = configured(
        subtopology("0", repartition={"second": 0}),
        subtopology("1", repartition={"first": 0}, sinks=["second"]),
        subtopology("2", ["a", "b"], sinks=["first", "given"]),
        subtopology("3", repartition={"given": 7}),
        a=2,
        b=3,
    )

    assert counts(found) == {"second": 3, "first": 3, "given": 7}
    assert tasks(found) == {"0": 3, "1": 3, "2": 3, "3": 7}


@pytest.mark.rules("STT-6")
@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([subtopology("0", ["a"], repartition={"r": 0})], "never used as a sink topic"),
        (
            [
                subtopology("0", repartition={"r": 0}, sinks=["s"]),
                subtopology("1", repartition={"s": 0}, sinks=["r"]),
            ],
            "There may be loops",
        ),
        ([subtopology("0")], "reads no topic"),
    ],
)
def test_topologies_that_can_never_be_ready(parts: list[Subtopology], text: str) -> None:
    """A count that nobody can know, and a part that reads nothing, make the topology an invalid one."""
    with pytest.raises(KafkaError, match=text) as failure:
        configured(*parts, a=1)

    assert failure.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY


@pytest.mark.rules("STT-8")
def test_copartitioned_sources_must_agree() -> None:
    """Source topics that are joined and differ are reported, with their sizes."""
    found = configured(subtopology("0", ["a", "b"], copartition=[([0, 1], [])]), a=2, b=3)

    assert problem(found) == (
        StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
        "these topics must have the same number of partitions: a=2, b=3",
    )
    assert found.subtopologies is None


@pytest.mark.rules("STT-1")
@pytest.mark.parametrize("copartition", [([1], []), ([-1], []), ([0], [1]), ([], [-1])])
def test_copartition_groups_of_topics_that_are_not_there(copartition: tuple[list[int], list[int]]) -> None:
    """An index that means no topic of the subtopology fails the request; none counts from the end."""
    writer = subtopology("0", ["a"], sinks=["r"])
    with pytest.raises(KafkaError, match="out of bounds for length 1") as raised:
        configured(writer, subtopology("1", ["a"], repartition={"r": 0}, copartition=[copartition]), a=2)
    assert raised.value.code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.rules("STT-8")
def test_repartition_topics_follow_what_they_are_joined_with() -> None:
    """One without a count takes that of the source topic, one with another count does not fit."""
    writer = subtopology("0", ["large"], sinks=["r"])
    flexible = subtopology("1", ["a"], repartition={"r": 0}, copartition=[([0], [0])])
    fixed = subtopology("1", ["a"], repartition={"r": 5}, copartition=[([0], [0])])

    assert counts(configured(writer, flexible, a=2, large=6)) == {"r": 2}
    assert problem(configured(writer, fixed, a=2, large=6)) == (
        StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
        "repartition topic r has 5 partitions; its join partner has 2",
    )


@pytest.mark.rules("STT-8")
def test_repartition_topics_that_are_joined_with_each_other() -> None:
    """They take the counts that are given anywhere, which must all agree; without any the largest."""
    writers = [subtopology("0", ["a"], sinks=["r"]), subtopology("1", ["b"], sinks=["s"])]

    def joined(**given: int) -> ConfiguredTopology:
        part = subtopology("2", repartition={"r": 0, "s": 0, **given}, copartition=[([], [0, 1])])
        return configured(*writers, part, a=2, b=3)

    assert counts(joined()) == {"r": 3, "s": 3}
    assert counts(joined(r=4)) == {"r": 4, "s": 4}
    assert problem(joined(r=4, s=5))[0] is StatusCode.INCORRECTLY_PARTITIONED_TOPICS


@pytest.mark.rules("STT-9")
def test_an_internal_topic_of_another_size() -> None:
    """An internal topic that exists with another partition count than was decided does not fit."""
    found = configured(subtopology("0", ["a"], changelogs=["c"]), a=2, c=3)

    assert problem(found) == (
        StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
        "topic c exists with 3 partitions and must have 2",
    )
