"""Random members of streams groups and random topologies, for tests of assignor and partition counts."""

from random import Random

from fakebroker.broker.core.groups.modern.assignments import members_in_order
from fakebroker.broker.core.groups.streams.sticky_assignor import AssignorMember, AssignorSubtopology
from fakebroker.broker.core.groups.streams.tasks import NO_TASKS, Tasks
from fakebroker.broker.core.groups.streams.topology import Topology
from fakebroker.protocol.records.streams_group_schema import (
    CopartitionGroup,
    InternalTopic,
    StreamsGroupTopologyValue,
    Subtopology,
)


class TaskHistory:
    """Members of several processes come and go; each step gives what the assignor is asked then."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.target: dict[str, Tasks] = {}
        self.processes: dict[str, str] = {}
        self.standbys = random.choice([0, 0, 1, 2])
        self.subtopologies = [
            AssignorSubtopology(str(number), random.randrange(1, 12), random.random() < 0.6)
            for number in range(random.randrange(1, 4))
        ]

    def step(self) -> dict[str, AssignorMember]:
        """Somebody joins or leaves, or the settings change; returns the members for the assignor."""
        random = self.random
        if self.processes and random.random() < 0.3:
            del self.processes[random.choice(list(self.processes))]
        if random.random() < 0.2:
            self.standbys = random.randrange(3)
        if not self.processes or random.random() < 0.7:
            self.processes[f"member-{random.randrange(10**6)}"] = f"process-{random.randrange(6)}"
        *present, joined = self.processes
        return {
            member_id: AssignorMember(self.processes[member_id], self.target.get(member_id, NO_TASKS))
            for member_id in members_in_order(present, joined)
        }

    def adopt(self, target: dict[str, Tasks]) -> None:
        """This is the target assignment from now on."""
        self.target = target


def random_topology(random: Random) -> tuple[Topology, dict[str, int]]:
    """A topology, and the partition counts of the topics that exist: often good, sometimes not."""
    sources = [f"source-{number}" for number in range(random.randrange(1, 4))]
    between = [f"between-{number}" for number in range(random.randrange(4))]
    existing = {name: random.randrange(1, 4) for name in sources if random.random() < 0.97}
    fixed = {name: random.choice([0, 0, 0, 2, 3]) for name in between}
    count = random.randrange(1, 4)
    subtopologies = [_subtopology(random, str(number), sources, fixed, existing) for number in range(count)]
    value = StreamsGroupTopologyValue(epoch=1, subtopologies=subtopologies)
    return Topology(value), existing


def _subtopology(
    random: Random, name: str, sources: list[str], fixed: dict[str, int], existing: dict[str, int]
) -> Subtopology:
    read = [topic for topic in sources if random.random() < 0.5]
    taken = [topic for topic in fixed if random.random() < 0.4]
    if not read and not taken and random.random() < 0.95:
        read = sources[:1]
    changelogs = [f"changelog-{name}"] if random.random() < 0.4 else []
    for topic in changelogs:
        if random.random() < 0.3:
            existing[topic] = random.randrange(1, 4)
    groups = []
    if random.random() < 0.4 and (read or taken):
        of_sources = random.sample(range(len(read)), random.randrange(len(read) + 1))
        of_taken = random.sample(range(len(taken)), random.randrange(len(taken) + 1))
        groups = [CopartitionGroup(source_topics=of_sources, repartition_source_topics=of_taken)]
    return Subtopology(
        subtopology_id=name,
        source_topics=read,
        repartition_sink_topics=[topic for topic in fixed if random.random() < 0.5],
        repartition_source_topics=[InternalTopic(name=topic, partitions=fixed[topic]) for topic in taken],
        state_changelog_topics=[InternalTopic(name=topic) for topic in changelogs],
        copartition_groups=groups,
    )
