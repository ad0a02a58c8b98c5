"""What goes into a streams group and what comes out: heartbeats without wire versions, and their answers."""

from collections.abc import Mapping
from typing import NamedTuple

from fakebroker.broker.core.groups.streams.endpoints import EndpointPartitions
from fakebroker.broker.core.groups.streams.internal_topics import InternalTopic, Status
from fakebroker.broker.core.groups.streams.member import Endpoint
from fakebroker.broker.core.groups.streams.tasks import Tasks
from fakebroker.broker.core.groups.streams.topology import Topology

LEAVE_EPOCH = -1  # a heartbeat with this epoch leaves the group (STH-31)


class HeartbeatRequest(NamedTuple):
    """A StreamsGroupHeartbeat that passed the checks of its fields (STH-1 to STH-3).

    None, and -1 as `rebalance_timeout_ms`, mean: as in the last heartbeat. `topology` comes with epoch 0 only.
    `owned` are the tasks that the member says it owns; None: it does not say. `endpoint_epoch` is the epoch of the
    endpoints that it knows (STP-2).
    """

    group_id: str
    member_id: str
    member_epoch: int
    endpoint_epoch: int = 0
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    owned: Tasks | None = None
    process_id: str | None = None
    endpoint: Endpoint | None = None
    client_tags: Mapping[str, str] | None = None
    shutdown_application: bool = False
    client_id: str = ""
    client_host: str = ""


class HeartbeatAnswer(NamedTuple):
    """The answer (STH-30).

    `tasks` are those that the member may own now, None: they have not changed. `endpoints` say where each partition is
    processed, None: the member knows. `missing_topics` are internal topics that the broker has to create (STT-5).
    """

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    status: tuple[Status, ...] = ()
    tasks: Tasks | None = None
    endpoint_epoch: int = 0
    endpoints: tuple[EndpointPartitions, ...] | None = None
    missing_topics: tuple[InternalTopic, ...] = ()
