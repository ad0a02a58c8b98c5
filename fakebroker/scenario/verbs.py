"""What an actor can do, by the names that scenarios use: the steps of a scripted client, and some of its own.

`VERBS` maps each to the function whose arguments it has; the first argument is the subject ("join billing"). That of
the steps with a topic and a partition first is written as one: "fetch orders-0".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from fakebroker.client.steps import ClientSteps

Assignor = Literal["range", "roundrobin"]

STEPS = (
    "join",
    "rejoin",
    "sync",
    "heartbeat",
    "leave",
    "commit",
    "committed",
    "produce",
    "fetch",
    "list_offsets",
    "offset_for_leader_epoch",
    "init_producer_id",
    "metadata",
    "describe_topic",
    "describe_cluster",
    "create_topic",
    "create_partitions",
    "delete_topic",
    "delete_records",
    "find_coordinator",
    "describe_group",
    "list_groups",
    "delete_group",
    "delete_offsets",
    "describe_configs",
    "alter_configs",
    "request",
)


class ActorVerbs:
    """What an actor does beside the steps of a scripted client; `actors.py` does it."""

    def consume(
        self,
        group_id: str,
        topics: Sequence[str],
        *,
        heartbeat_interval_ms: int = 3_000,
        session_timeout_ms: int = 45_000,
        rebalance_timeout_ms: int = 300_000,
        group_instance_id: str | None = None,
        protocol: Assignor = "range",
        poll_interval_ms: int | None = None,
        auto_commit_interval_ms: int | None = None,
    ) -> None:
        """Be a member of a group by itself from now on, until `stop`: join, sync, heartbeat, join again.

        It finds the coordinator, and connects again after a lost connection. With `poll_interval_ms` it fetches its
        partitions so often; with `auto_commit_interval_ms` it commits the positions that it has come to.
        """

    def pause(self) -> None:
        """Stand still, as in a long garbage collection: a member that consumes sends and reads nothing."""

    def resume(self) -> None:
        """Go on after `pause`."""

    def stop(self) -> None:
        """End consuming: leave the group (a static member stays in it), and keep the connection."""

    def connect(self, node: int | None = None) -> None:
        """Connect again, to another node if one is given; outstanding steps end, the membership is kept."""

    def close(self) -> None:
        """Close the connection, as a crash does: without LeaveGroup. One that consumes ends, too."""


OWN = ("consume", "pause", "resume", "stop", "connect", "close")

VERBS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(ClientSteps, name) for name in STEPS},
    **{name: getattr(ActorVerbs, name) for name in OWN},
}
