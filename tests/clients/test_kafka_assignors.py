"""Our assignors next to the classes of Kafka 4.3.1: the same targets, in the same order, through random histories."""

import json
import subprocess
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from fakebroker.broker.core.groups.consumer.assignors import ASSIGNORS
from fakebroker.broker.core.groups.modern.assignments import Assignment, AssignorGroup, same_partitions
from fakebroker.broker.core.groups.modern.member_table import MemberTable
from fakebroker.broker.core.groups.share import simple_assignor
from fakebroker.protocol.pace import AT_ONCE, finished
from tests.clients.java_programs import java_command, needs_jars
from tests.support.assignor_histories import AssignorHistory
from tests.support.chance import SEED

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.random,
    needs_jars("kafka-group-coordinator", "what Kafka's own assignors give"),
]

HISTORIES, STEPS = 60, 25
OURS = {**ASSIGNORS, "simple": simple_assignor.assign}


class KafkaAssignors:
    """Kafka's classes in a process of their own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            java_command("Assignors.java"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **question: Any) -> Any:
        """The answer to one question (tests/clients/java/Assignors.java)."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def assign(self, assignor: str, group: AssignorGroup) -> dict[str, Assignment]:
        """What the assignor gives."""
        question: dict[str, Any] = {
            "assignor": assignor,
            "homogeneous": group.is_homogeneous,
            "counts": {topic_id.hex(): count for topic_id, count in group.partition_counts.items()},
            "members": [
                {
                    "id": member_id,
                    "instance": member.instance_id,
                    "topics": [topic_id.hex() for topic_id in member.topic_ids],
                    "previous": {topic_id.hex(): list(of) for topic_id, of in member.previous.items()},
                }
                for member_id, member in group.members.items()
            ],
        }
        if group.assignable is not None:
            question["assignable"] = {topic_id.hex(): sorted(of) for topic_id, of in group.assignable.items()}
        answer = self.ask(op="assign", **question)
        return {
            member_id: {bytes.fromhex(topic_id): tuple(partitions) for topic_id, partitions in assignment.items()}
            for member_id, assignment in answer.items()
        }

    def end(self) -> None:
        """Let the process end, and wait for it."""
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()
        self.process.wait(30)


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaAssignors]:
    """Kafka's assignors."""
    assignors = KafkaAssignors()
    yield assignors
    assignors.end()


@pytest.mark.rules(
    "CGA-2", "CGA-3", "CGA-10", "CGA-12", "CGA-13", "CGA-18", "CGA-19", "CGA-21", "CGA-22", "SGA-1", "SGA-3"
)  # fmt: skip
@pytest.mark.parametrize("assignor", OURS)
def test_random_histories(kafka: KafkaAssignors, assignor: str) -> None:
    """Members come, go and want other topics, topics grow: each target is Kafka's, and each record lists it alike."""
    for seed in range(SEED, SEED + HISTORIES):
        history = AssignorHistory(Random(seed), shares=assignor == "simple")
        for step in range(STEPS):
            group = history.step()
            ours, theirs = finished(OURS[assignor](group, AT_ONCE)), kafka.assign(assignor, group)
            assert list(ours) == list(theirs), (seed, step)
            for member_id, member in group.members.items():
                at = f"seed {seed}, step {step}, {member_id}"
                assert same_partitions(ours[member_id], theirs[member_id]), at
                if not same_partitions(member.previous, theirs[member_id]):  # then it is written
                    assert list(ours[member_id].items()) == list(theirs[member_id].items()), at
            history.adopt(ours)


@pytest.mark.rules("CGA-17")
def test_member_tables(kafka: KafkaAssignors) -> None:
    """Members come, go and are written again: the table lists them as Kafka's does."""
    random = Random(SEED)
    for _ in range(HISTORIES):
        table: MemberTable[bool] = MemberTable()
        kafka.ask(op="table", new=True)
        for _ in range(random.choice([5, 40, 150])):
            known = random.choice(list(table)) if table else "nobody"
            if table and random.random() < 0.15:
                del table[known]
                theirs = kafka.ask(op="table", remove=known)
            else:
                member_id = known if table and random.random() < 0.3 else f"member-{random.randrange(10**9)}"
                table[member_id] = True
                theirs = kafka.ask(op="table", put=member_id)
            assert table.in_order() == theirs
