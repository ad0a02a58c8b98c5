"""One broker of the cluster."""

from typing import TYPE_CHECKING

from fakebroker.core.coordinator.coordinator import GroupCoordinator
from fakebroker.settings import Settings

if TYPE_CHECKING:
    from fakebroker.core.cluster import Cluster
    from fakebroker.core.logs.fetch_sessions import FetchSessions
    from fakebroker.instant import Instant


class Node:
    """A broker: its id, whether it is alive, its settings, its group coordinator and fetch sessions."""

    __slots__ = ("_fetch_sessions", "alive", "cluster", "coordinator", "id", "settings")

    def __init__(self, cluster: "Cluster", node_id: int, settings: Settings) -> None:
        self.cluster = cluster
        self.id = node_id
        self.settings = settings
        self.alive = True
        self.coordinator = GroupCoordinator(cluster, self)
        self._fetch_sessions: FetchSessions | None = None

    @property
    def rack(self) -> str | None:
        """The broker's rack (`broker.rack`), None if it is not set."""
        return None if self.settings.is_null("broker.rack") else self.settings.get_str("broker.rack")

    def stop(self) -> None:
        """The broker does not serve any more: its fetch sessions are lost; settings and logs are on its disk."""
        self.alive = False
        self._fetch_sessions = None

    def restart(self, now: "Instant") -> None:
        """The broker was stopped and starts again: its groups are loaded from their logs."""
        self.coordinator.restart(now)

    @property
    def fetch_sessions(self) -> "FetchSessions":
        """The fetch sessions of this broker's clients (KIP-227, FS)."""
        if self._fetch_sessions is None:
            from fakebroker.core.logs.fetch_sessions import FetchSessions

            self._fetch_sessions = FetchSessions(self.cluster)
        return self._fetch_sessions
