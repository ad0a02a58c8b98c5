"""Random histories of streams groups: members of several processes, standby tasks, internal topics, timeouts, offsets.

answers = StreamsHistory(clients, seed=7, topic_ids=TopicIds()).play()
"""

from collections.abc import Callable, Mapping
from typing import Any

from fakebroker.protocol.records.streams_group_schema import (
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberValue,
)
from tests.group_histories.history import INTERVAL_MS, LONG_MS, SHORT_MS, Answered
from tests.group_histories.offset_steps import OffsetSteps

SETTINGS: Mapping[str, object] = {
    "group.streams.assignment.interval.ms": 0,
    "group.streams.min.assignment.interval.ms": 0,
    "group.streams.min.session.timeout.ms": 500,
    "group.streams.max.session.timeout.ms": 10 * LONG_MS,
    "group.streams.session.timeout.ms": LONG_MS,
    "group.streams.min.heartbeat.interval.ms": 100,
    "group.streams.heartbeat.interval.ms": INTERVAL_MS,
    "group.streams.initial.rebalance.delay.ms": 0,
}
MISSING_INTERNAL_TOPICS = 3

Tasks = dict[str, list[int]]


class Member:
    """A thread of the application: what it is, and what it believes."""

    def __init__(self, member_id: str, process_id: str, port: int | None) -> None:
        self.member_id, self.process_id, self.port = member_id, process_id, port
        self.epoch, self.epoch_before, self.endpoint_epoch = 0, 0, -1
        self.assigned: tuple[Tasks, Tasks] = {}, {}  # active and standby tasks, as last answered
        self.owned: tuple[Tasks, Tasks] = {}, {}  # what it works on

    def learn(self, answer: Any) -> None:
        """Believe an answer without error."""
        if answer.member_epoch != self.epoch:
            self.epoch_before, self.epoch = self.epoch, answer.member_epoch
        self.endpoint_epoch = answer.endpoint_information_epoch
        if answer.active_tasks is not None:
            self.assigned = _tasks(answer.active_tasks), _tasks(answer.standby_tasks)
            for mine, answers in zip(self.owned, self.assigned, strict=True):
                for subtopology, partitions in answers.items():
                    mine[subtopology] = sorted({*mine.get(subtopology, ()), *partitions})


class StreamsHistory(OffsetSteps):
    """One history: the topology is chosen at its beginning."""

    kind = protocol = "streams"

    def play(self) -> list[Answered]:
        self.members: list[Member] = []
        self.gone: list[Member] = []
        self.most = self.chance.choice([2, 4, 9])
        self.processes = [self.some_name("p") for _ in range(self.chance.choice([1, 2, 4]))]
        self.internal: list[str] = []
        self.topology: dict[str, Any] = {}
        if standbys := self.chance.choice([0, 0, 1, 2]):
            self.set_group_config("streams.num.standby.replicas", standbys)
        return super().play()

    def actions(self) -> Mapping[Callable[[], None], float]:
        return {
            self.join: 9,
            self.reconcile: 26,
            self.say_nothing: 6,
            self.own_still: 6,
            self.change: 2,
            self.rejoin: 3,
            self.leave: 5,
            self.claim_another_epoch: 4,
            self.be_a_stranger: 2,
            self.be_silent: 0.7,
            self.revoke_too_slowly: 0.7,
            self.commit: 3,
            self.fetch_offsets: 2,
            self.look: 5,
            self.everybody_reconciles: 4,
        }

    # -- the topology --------------------------------------------------------------------------------------------------

    def _make_topology(self) -> dict[str, Any]:
        """One to three parts; they may have stores, and the second may read what the first repartitions."""
        names = list(self.topics)
        parts: list[dict[str, Any]] = []
        for number in range(self.chance.choice([1, 2, 3])):
            part: dict[str, Any] = {"subtopology_id": f"s{number}", "source_topics": [self.chance.choice(names)]}
            if self.chance.random() < 0.6:
                part["state_changelog_topics"] = [self._internal(f"store{number}-changelog")]
            parts.append(part)
        if len(parts) > 1 and self.chance.random() < 0.5:
            between = self._internal("between-repartition", self.chance.choice([0, 0, 4]))
            parts[0]["repartition_sink_topics"] = [between["name"]]
            parts[1]["repartition_source_topics"] = [between]
        return {"epoch": 0, "subtopologies": [_subtopology(**part) for part in parts]}

    def _internal(self, name: str, partitions: int = 0) -> dict[str, Any]:
        self.internal.append(f"{self.name}-{name}")
        return {"name": self.internal[-1], "partitions": partitions, "replication_factor": 0, "topic_configs": []}

    # -- heartbeats ----------------------------------------------------------------------------------------------------

    def join(self) -> None:
        """Somebody new, or somebody who was there before."""
        if not self.topology:
            self.topology = self._make_topology()
        if len(self.members) >= self.most:
            return
        if self.gone and self.chance.random() < 0.2:
            member = self.gone.pop()
            member.epoch = 0
        else:
            port = self.chance.choice([None, None, 80 + len(self.answers)])
            if self.internal and not self.members:
                port = None  # Kafka 4.3.1 fails to tell of endpoints while internal topics are missing
            member = Member(self.some_name("m"), self.chance.choice(self.processes), port)
        self._join(member)

    def _join(self, member: Member) -> None:
        member.owned, member.endpoint_epoch = ({}, {}), -1
        code = self._heartbeat(
            member, 0, topology=self.topology, rebalance_timeout_ms=LONG_MS, process_id=member.process_id,
            client_tags=[], active_tasks=[], standby_tasks=[], warmup_tasks=[],
            user_endpoint=None if member.port is None else {"host": "h", "port": member.port},
        )  # fmt: skip
        if code == 0 and member not in self.members:
            self.members.append(member)

    def reconcile(self) -> None:
        """A member gives up and takes what it got, and says so."""
        if member := self._some_member():
            self._reconcile(member)

    def _reconcile(self, member: Member) -> None:
        member.owned = dict(member.assigned[0]), dict(member.assigned[1])
        self._heartbeat(member, member.epoch, **_owned(member.owned))

    def everybody_reconciles(self) -> None:
        """Until nothing changes any more."""
        for _ in range(3):
            for member in list(self.members):
                self._reconcile(member)

    def say_nothing(self) -> None:
        """A heartbeat without fields."""
        if member := self._some_member():
            self._heartbeat(member, member.epoch)

    def own_still(self) -> None:
        """A member that has not given up anything yet."""
        if member := self._some_member():
            self._heartbeat(member, member.epoch, **_owned(member.owned))

    def change(self) -> None:
        """A member says something else of itself."""
        if member := self._some_member():
            fields: list[dict[str, Any]] = [
                {"rack_id": self.chance.choice(["r1", "r2"])},
                {"client_tags": [{"key": "zone", "value": self.chance.choice("ab")}]},
                {"rebalance_timeout_ms": self.chance.choice([LONG_MS, LONG_MS + 1])},
                {"process_id": self.chance.choice(self.processes)},
            ]
            self._heartbeat(member, member.epoch, **self.chance.choice(fields))

    def rejoin(self) -> None:
        """A known member with epoch 0."""
        if member := self._some_member():
            self._join(member)

    def leave(self) -> None:
        """For good."""
        if member := self._some_member():
            self._heartbeat(member, -1)
            self._forget(member)

    def claim_another_epoch(self) -> None:
        """Epochs of the past and of the future, with and without tasks."""
        if member := self._some_member():
            epoch = self.chance.choice([member.epoch_before, member.epoch_before, member.epoch + 1, member.epoch - 1])
            fields = self.chance.choice([{}, _owned(({}, {})), _owned(member.owned), _owned(member.assigned)])
            self._heartbeat(member, max(epoch, 1), **fields)

    def be_a_stranger(self) -> None:
        """Somebody that nobody knows."""
        self._heartbeat(Member("stranger", "p", None), self.chance.choice([1, -1]))

    # -- timeouts ------------------------------------------------------------------------------------------------------

    def be_silent(self) -> None:
        """A member's session ends; those of the others do not."""
        if member := self._some_member():
            self._heartbeat(member, member.epoch)
            self.end_session(lambda: self._ask(member, member.epoch))
            self._heartbeat(member, member.epoch)
            self._forget(member)

    def revoke_too_slowly(self) -> None:
        """A member has a second to give tasks up, and does not."""
        if member := self._some_member():
            self._heartbeat(member, member.epoch, rebalance_timeout_ms=SHORT_MS)
            self._join(Member(self.some_name("m"), self.chance.choice(self.processes), None))
            self._heartbeat(member, member.epoch, **_owned(member.owned))
            self.pass_time(SHORT_MS + 700)
            self.look()
            if self._heartbeat(member, member.epoch, rebalance_timeout_ms=LONG_MS, **_owned(member.assigned)):
                self._forget(member)

    def _forget(self, member: Member) -> None:
        self.members.remove(member)
        self.gone.append(member)

    # -- what can be seen ----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """What administrators see."""
        answer = self.client.request("StreamsGroupDescribe", 0, group_ids=[self.group_id])
        (group,) = answer.groups
        members = sorted(
            (
                each.member_id, each.rack_id, each.member_epoch, each.process_id, each.topology_epoch,
                str(each.user_endpoint), str(each.client_tags), *map(_rows, (each.assignment, each.target_assignment)),
            )
            for each in group.members
        )  # fmt: skip
        answers = (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch, str(group.topology))
        self.tell("StreamsGroupDescribe", (*answers, "".join(f"\n      {each}" for each in members)))

    def comparable(self, value: Any) -> Any:
        """Ids of topics that the broker makes are chance, and with them the hash; some orders have no consequences."""
        if isinstance(value, StreamsGroupMetadataValue) and self.internal:
            value.metadata_hash = 1 if value.metadata_hash else 0
        if isinstance(value, StreamsGroupTargetAssignmentMemberValue):
            for tasks in (value.active_tasks, value.standby_tasks):
                tasks.sort(key=lambda each: each.subtopology_id)
                for each in tasks:
                    each.partitions.sort()
        if isinstance(value, StreamsGroupCurrentMemberAssignmentValue):
            for assigned in (
                value.active_tasks, value.standby_tasks, value.active_tasks_pending_revocation,
                value.standby_tasks_pending_revocation,
            ):  # fmt: skip
                assigned.sort(key=lambda one: one.subtopology_id)
                for one in assigned:
                    rows = sorted(zip(one.partitions, one.assignment_epochs or one.partitions, strict=True))
                    one.partitions = [partition for partition, _ in rows]
                    if one.assignment_epochs:
                        one.assignment_epochs = [epoch for _, epoch in rows]
        return value

    # -- how it is asked -----------------------------------------------------------------------------------------------

    def _heartbeat(self, member: Member, epoch: int, **fields: Any) -> int:
        answer = self._ask(member, epoch, **fields)
        status = None if answer.status is None else [each.status_code for each in answer.status]
        tasks = None if answer.active_tasks is None else _rows(answer)
        endpoints = answer.partitions_by_user_endpoint
        answers = (
            answer.error_code, answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms, status, tasks,
            answer.endpoint_information_epoch, None if endpoints is None else sorted(map(_endpoint, endpoints)),
        )  # fmt: skip
        shown = {name: value for name, value in fields.items() if name != "topology"}
        self.tell(f"Heartbeat {member.member_id} {epoch} {member.endpoint_epoch} {shown}", answers)
        if answer.error_code == 0 and epoch >= 0:
            member.learn(answer)
        if MISSING_INTERNAL_TOPICS in (status or ()):
            self.await_topics(self.internal)
        return int(answer.error_code)

    def _ask(self, member: Member, epoch: int, **fields: Any) -> Any:
        return self.client.request(
            "StreamsGroupHeartbeat", 0, group_id=self.group_id, member_id=member.member_id, member_epoch=epoch,
            endpoint_information_epoch=member.endpoint_epoch, **fields,
        )  # fmt: skip

    def claimed(self) -> list[tuple[str, int]]:
        member = self._some_member() or Member("nobody", "p", None)
        epochs = (member.epoch, member.epoch, member.epoch_before, member.epoch + 1, -1)
        return [(member.member_id, each) for each in epochs]

    def _some_member(self) -> Member | None:
        return self.chance.choice(self.members) if self.members else None


def _subtopology(**fields: Any) -> dict[str, Any]:
    names = (
        "source_topics", "source_topic_regex", "state_changelog_topics", "repartition_sink_topics",
        "repartition_source_topics", "copartition_groups",
    )  # fmt: skip
    return {**{name: [] for name in names}, **fields}


def _tasks(listed: Any) -> Tasks:
    return {each.subtopology_id: sorted(each.partitions) for each in listed}


def _rows(tasks: Any) -> tuple[Any, ...]:
    kinds = (tasks.active_tasks, tasks.standby_tasks, tasks.warmup_tasks)
    return tuple(sorted(_tasks(each).items()) for each in kinds)


def _endpoint(endpoint: Any) -> tuple[Any, ...]:
    partitions = (
        sorted((topic, sorted(partitions)) for topic, partitions in topics)
        for topics in (endpoint.active_partitions, endpoint.standby_partitions)
    )
    return endpoint.user_endpoint.port, *partitions


def _owned(tasks: tuple[Tasks, Tasks]) -> dict[str, Any]:
    """Fields of a request that say what the member owns."""
    active, standby = (
        [{"subtopology_id": subtopology, "partitions": listed} for subtopology, listed in kind.items() if listed]
        for kind in tasks
    )
    return {"active_tasks": active, "standby_tasks": standby, "warmup_tasks": []}
