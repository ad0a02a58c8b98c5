"""One broker of the cluster."""

from typing import TYPE_CHECKING

from fakebroker.settings import Settings

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster
    from fakebroker.core.coordinator.coordinator import GroupCoordinator
    from fakebroker.core.logs.fetch_sessions import FetchSessions
    from fakebroker.instant import Instant


class Node:
    """A broker: its id, whether it is alive, its settings, and what only it knows."""

    __slots__ = ("_coordinator", "_fetch_sessions", "alive", "cluster", "id", "settings")

    def __init__(self, cluster: "Cluster", node_id: int, settings: Settings) -> None:
        self.cluster = cluster
        self.id = node_id
        self.settings = settings
        self.alive = True
        self._coordinator: GroupCoordinator | None = None
        self._fetch_sessions: FetchSessions | None = None

    @property
    def rack(self) -> str | None:
        """The rack the broker is in, None if nobody said."""
        return None if self.settings.is_null("broker.rack") else self.settings.str("broker.rack")

    @property
    def coordinator(self) -> "GroupCoordinator":
        """What this broker knows of groups."""
        if self._coordinator is None:
            from fakebroker.core.coordinator.coordinator import GroupCoordinator

            self._coordinator = GroupCoordinator(self.cluster, self)
        return self._coordinator

    def restart(self, now: "Instant") -> None:
        """The broker was stopped and starts again: of groups it knows what its logs say."""
        if self._coordinator is not None:
            self._coordinator.restart(now)

    @property
    def fetch_sessions(self) -> "FetchSessions":
        """The fetch sessions of this broker's connections (FS)."""
        if self._fetch_sessions is None:
            from fakebroker.core.logs.fetch_sessions import FetchSessions

            self._fetch_sessions = FetchSessions(self.cluster)
        return self._fetch_sessions
