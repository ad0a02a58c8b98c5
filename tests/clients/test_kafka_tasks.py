"""Tasks next to the classes of Kafka 4.3.1: the same targets, the same partition counts, whatever is asked."""

import json
import subprocess
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest

from fakebroker.broker.core.groups.streams.internal_topics import configure
from fakebroker.broker.core.groups.streams.sticky_assignor import AssignorMember, assign
from fakebroker.broker.core.groups.streams.tasks import Task, Tasks, each_task, partitions_by_subtopology, tasks_of
from fakebroker.broker.core.groups.streams.topology import Topology
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import AT_ONCE, finished
from tests.clients.java_programs import java_command, needs_jars
from tests.support.chance import SEED
from tests.support.task_histories import TaskHistory, random_topology

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.random,
    needs_jars("kafka-group-coordinator", "what Kafka itself makes of tasks"),
]

HISTORIES, STEPS, TOPOLOGIES = 80, 25, 2_000
EXCEPTIONS = {
    ErrorCode.STREAMS_INVALID_TOPOLOGY: "StreamsInvalidTopologyException",
    ErrorCode.UNKNOWN_SERVER_ERROR: "IllegalStateException",
}


class Kafka:
    """Kafka's classes in a process of their own (tests/clients/java/StreamsTasks.java)."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            java_command("StreamsTasks.java"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **question: Any) -> Any:
        """The answer to one question."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def assign(self, members: dict[str, AssignorMember], history: TaskHistory) -> dict[str, Tasks]:
        """What the assignor gives."""
        answer = self.ask(
            op="assign",
            standbys=history.standbys,
            subtopologies=[
                {"id": each.subtopology_id, "tasks": each.tasks, "stateful": each.is_stateful}
                for each in history.subtopologies
            ],
            members=[
                {
                    "id": member_id,
                    "process": member.process_id,
                    "active": partitions_by_subtopology(member.previous.active),
                    "standby": partitions_by_subtopology(member.previous.standby),
                }
                for member_id, member in members.items()
            ],
        )
        return {
            member_id: tasks_of(_tasks(given["active"]), _tasks(given["standby"]))
            for member_id, given in answer.items()
        }

    def configure(self, topology: Topology, existing: dict[str, int]) -> Any:
        """What becomes of a topology."""
        return self.ask(
            op="configure",
            existing=existing,
            subtopologies=[
                {
                    "id": each.subtopology_id,
                    "sources": each.source_topics,
                    "sinks": each.repartition_sink_topics,
                    "repartition": {topic.name: topic.partitions for topic in each.repartition_source_topics},
                    "changelogs": [topic.name for topic in each.state_changelog_topics],
                    "copartition": [
                        [group.source_topics, group.repartition_source_topics] for group in each.copartition_groups
                    ],
                }
                for each in topology.value.subtopologies
            ],
        )

    def end(self) -> None:
        """Let the process end, and wait for it."""
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()
        self.process.wait(30)


def _tasks(by_subtopology: dict[str, list[int]]) -> Iterable[Task]:
    return (task for each, partitions in by_subtopology.items() for task in each_task(each, partitions))


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    """Kafka's classes."""
    process = Kafka()
    yield process
    process.end()


@pytest.mark.rules("STA-1", "STA-2", "STA-3", "STA-5", "STA-6")
def test_random_histories(kafka: Kafka) -> None:
    """Members and processes come and go, standbys are asked for and given up: each target is Kafka's."""
    for seed in range(SEED, SEED + HISTORIES):
        history = TaskHistory(Random(seed))
        for step in range(STEPS):
            members = history.step()
            ours = finished(assign(members, history.subtopologies, history.standbys, AT_ONCE))
            assert ours == kafka.assign(members, history), f"seed {seed}, step {step}"
            history.adopt(ours)


@pytest.mark.rules("STT-4", "STT-6", "STT-7", "STT-8", "STT-9")
def test_random_topologies(kafka: Kafka) -> None:
    """Whatever a topology is like and whatever topics exist: tasks, counts, missing topics and status are Kafka's."""
    random = Random(SEED)
    for number in range(TOPOLOGIES):
        topology, existing = random_topology(random)
        assert _configured(topology, existing) == kafka.configure(topology, existing), f"seed {SEED}, {number}"


def _configured(topology: Topology, existing: dict[str, int]) -> dict[str, Any]:
    """Our result in the form of Kafka's answer."""
    try:
        configured = configure(topology, existing.get)
    except KafkaError as error:
        return {"error": EXCEPTIONS[error.code]}
    subtopologies = (configured.subtopologies or {}).values()
    return {
        "tasks": {each.subtopology_id: each.tasks for each in subtopologies},
        "topics": {
            topic.name: topic.partitions
            for each in subtopologies
            for topic in (*each.repartition_sources, *each.changelogs)
        },
        "missing": [topic.name for topic in configured.missing],
        "status": None if configured.problem is None else configured.problem.code,
    }
