"""How much work it is to hold a long topology against the topics that exist."""

from collections.abc import Callable

import pytest

from fakebroker.broker.core.groups.streams.internal_topics import configure
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.streams_group_schema import Subtopology
from tests.support.streams_groups import subtopology, topology
from tests.support.work_counter import calls_of


def chain(count: int) -> list[Subtopology]:
    """Each part reads what the next one writes: no count is known before that of the last."""
    parts = [subtopology(f"{n:04}", sinks=[f"r{n}"], repartition={f"r{n + 1}": 0}) for n in range(count)]
    return [*parts, subtopology(f"{count:04}", ["t"], sinks=[f"r{count}"])]


def joins(count: int) -> list[Subtopology]:
    """As many repartition topics of a given count as there are joins, of one topic each."""
    repartition = {f"r{n}": 3 for n in range(count)}
    groups = [(list[int](), [n]) for n in range(count)]
    return [subtopology("0", ["t"], sinks=list(repartition), repartition=repartition, copartition=groups)]


def fans(count: int) -> list[Subtopology]:
    """A part that reads many repartition topics and writes many."""
    first = subtopology("0", ["t"], sinks=[f"r{n}" for n in range(count)])
    sinks = [f"s{n}" for n in range(count)]
    return [first, subtopology("1", sinks=sinks, repartition={f"r{n}": 0 for n in range(count)})]


@pytest.mark.parametrize("parts", [chain, joins, fans])
def test_the_work_grows_with_the_topology(parts: Callable[[int], list[Subtopology]]) -> None:
    """Four times as long a topology is about four times the work, in whatever order its parts come."""
    few, many = (topology(*parts(count)) for count in (50, 200))
    assert calls_of(lambda: configure(many, {"t": 3}.get)) < 5 * calls_of(lambda: configure(few, {"t": 3}.get))


@pytest.mark.rules("STT-6")
def test_the_text_about_a_topic_that_nothing_writes_is_short() -> None:
    """However many there are: it is Kafka's, and must fit the answer."""
    with pytest.raises(KafkaError) as failure:
        configure(topology(subtopology("0", ["t"], repartition={f"r{n}": 0 for n in range(12_000)})), {"t": 3}.get)
    assert failure.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert failure.value.message == (
        "Failed to compute number of partitions for all repartition topics, because a repartition source topic is "
        "never used as a sink topic."
    )
