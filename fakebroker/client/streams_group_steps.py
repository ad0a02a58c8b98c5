"""What a scripted client does as a member of a streams group (KIP-1071): each step is one StreamsGroupHeartbeat.

A member is a thread of an application; the members of one application instance have the same `process_id`. The
application's topology travels with the join; what the members are given are tasks: a subtopology and a partition.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fakebroker.client.group_membership import JOINING, LEAVING, GroupMembership, GroupMembershipSteps
from fakebroker.client.requesting import Flow
from fakebroker.protocol.errors import ErrorCode, InvalidArgument

KIND = "streams"
MAX_PORT = 65_535

Tasks = Mapping[str, Sequence[int]]


class InternalTopic(NamedTuple):
    """A changelog or repartition topic of a topology, which the coordinator creates.

    `partitions` 0: the coordinator decides; `replication_factor` 0: that of the broker.
    """

    name: str
    partitions: int = 0
    replication_factor: int = 0
    configs: Mapping[str, str] = {}


class Subtopology(NamedTuple):
    """A part of a topology that is divided into tasks, one for each partition of its source topics."""

    subtopology_id: str
    source_topics: Sequence[str] = ()
    changelog_topics: Sequence[InternalTopic | str] = ()
    repartition_sink_topics: Sequence[str] = ()
    repartition_source_topics: Sequence[InternalTopic | str] = ()
    copartition_source_topics: Sequence[Sequence[int]] = ()
    """Groups of indexes into `source_topics`: those topics must have as many partitions as each other."""


class StreamsGroupSteps(GroupMembershipSteps):
    """Joining, staying in, and leaving a streams group. Each step but the first needs a group that was joined."""

    def join_streams_group(
        self,
        group_id: str,
        topology: Sequence[Subtopology],
        *,
        topology_epoch: int = 0,
        process_id: str | None = None,
        rack_id: str | None = None,
        client_tags: Mapping[str, str] | None = None,
        endpoint: str | None = None,
        rebalance_timeout_ms: int = 300_000,
        member_id: str | None = None,
    ) -> Flow[Any]:
        """Join or rejoin a streams group, owning nothing: a heartbeat with epoch 0.

        The client keeps its member id unless `member_id` is given; without `process_id` it is a separate process.
        `endpoint` is the address of its interactive queries: "HOST:PORT". Raises InvalidArgument for an invalid
        endpoint.
        """
        membership = self._membership_from(KIND, group_id, member_id)
        fields: dict[str, Any] = {
            "topology": {"epoch": topology_epoch, "subtopologies": [_subtopology(each) for each in topology]},
            "process_id": membership.member_id if process_id is None else process_id,
            "rack_id": rack_id,
            "client_tags": [{"key": key, "value": value} for key, value in (client_tags or {}).items()],
            "rebalance_timeout_ms": rebalance_timeout_ms,
        }
        if endpoint is not None:
            fields["user_endpoint"] = _endpoint(endpoint)
        return self._streams_heartbeat(JOINING, {**fields, **_owned({}, {})})

    def streams_group_heartbeat(
        self,
        *,
        active_tasks: Tasks | None = None,
        standby_tasks: Tasks | None = None,
        shutdown_application: bool = False,
        member_epoch: int | None = None,
    ) -> Flow[Any]:
        """Send a heartbeat as the current member. Omitted fields keep their previous values.

        The tasks are those to report as owned, by subtopology; without both, none are reported.
        """
        epoch = self._membership_in(KIND).member_epoch if member_epoch is None else member_epoch
        fields: dict[str, Any] = {"shutdown_application": True} if shutdown_application else {}
        if active_tasks is not None or standby_tasks is not None:
            fields |= _owned(active_tasks or {}, standby_tasks or {})
        return self._streams_heartbeat(epoch, fields)

    def reconcile_tasks(self) -> Flow[Any]:
        """Give up revoked tasks, take assigned ones, and report it."""
        membership = self._membership_in(KIND)
        return self.streams_group_heartbeat(
            active_tasks=membership.active_tasks, standby_tasks=membership.standby_tasks
        )

    def leave_streams_group(self) -> Flow[Any]:
        """Leave the group."""
        membership = self._membership_in(KIND)
        answer = yield from self._streams_heartbeat(LEAVING, {})
        if answer.error_code == ErrorCode.NONE:
            membership.end(LEAVING)
        return answer

    def _streams_heartbeat(self, epoch: int, fields: dict[str, Any]) -> Flow[Any]:
        membership = self._membership_in(KIND)
        answer = yield from self.request(
            "StreamsGroupHeartbeat",
            group_id=membership.group_id,
            member_id=membership.member_id,
            member_epoch=epoch,
            endpoint_information_epoch=membership.endpoint_epoch,
            **fields,
        )
        if self._take_answer(membership, answer):
            _take_tasks(membership, answer)
        return answer


def _take_tasks(membership: GroupMembership, answer: Any) -> None:
    """Keep the tasks that the answer brings; one without task lists changes none."""
    membership.endpoint_epoch = answer.endpoint_information_epoch
    if answer.active_tasks is not None:
        membership.active_tasks = _by_subtopology(answer.active_tasks)
        membership.standby_tasks = _by_subtopology(answer.standby_tasks or ())


def _endpoint(text: str) -> dict[str, Any]:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > MAX_PORT:
        raise InvalidArgument("endpoint", text, f"endpoint={text!r} is not HOST:PORT")
    return {"host": host, "port": int(port)}


def _by_subtopology(rows: Sequence[Any]) -> dict[str, list[int]]:
    return {row.subtopology_id: list(row.partitions) for row in rows}


def _owned(active: Tasks, standby: Tasks) -> dict[str, Any]:
    """The three task lists of a request; owned tasks count only if all are given (STR-2)."""
    return {"active_tasks": _rows(active), "standby_tasks": _rows(standby), "warmup_tasks": []}


def _rows(tasks: Tasks) -> list[dict[str, Any]]:
    return [{"subtopology_id": name, "partitions": list(indexes)} for name, indexes in tasks.items()]


def _subtopology(part: Subtopology) -> dict[str, Any]:
    return {
        "subtopology_id": part.subtopology_id,
        "source_topics": list(part.source_topics),
        "source_topic_regex": [],
        "state_changelog_topics": [_internal_topic(each) for each in part.changelog_topics],
        "repartition_sink_topics": list(part.repartition_sink_topics),
        "repartition_source_topics": [_internal_topic(each) for each in part.repartition_source_topics],
        "copartition_groups": [
            {"source_topics": list(indexes), "source_topic_regex": [], "repartition_source_topics": []}
            for indexes in part.copartition_source_topics
        ],
    }


def _internal_topic(topic: InternalTopic | str) -> dict[str, Any]:
    if isinstance(topic, str):
        topic = InternalTopic(topic)
    return {
        "name": topic.name,
        "partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
        "topic_configs": [{"key": key, "value": value} for key, value in topic.configs.items()],
    }
