"""What the group coordinator needs of its broker and the cluster. `Node` and `Cluster` implement it."""

from typing import TYPE_CHECKING, Protocol

from fakebroker.broker.core.groups.classic.holds import GroupHolds
from fakebroker.broker.core.offsets.expirations import Expirations
from fakebroker.broker.core.share_state.asking import ShareStateCluster, ShareStateNode

if TYPE_CHECKING:
    from fakebroker.broker.core.coordinator.loading import DecodedBatch


class GroupCluster(ShareStateCluster, Protocol):
    """The cluster, as groups and their coordinator see it."""

    @property
    def holds(self) -> dict[str, GroupHolds]:
        """What a test holds, by group id."""

    @property
    def expirations(self) -> Expirations: ...

    @property
    def decoded_batches(self) -> "dict[bytes, DecodedBatch] | None":
        """Batches that were decoded before, while a snapshot is restored."""

    def new_member_id(self, prefix: str) -> str:
        """A new, unique member id: `prefix`, a hyphen, a random UUID (JG-14)."""

    def new_base64_id(self) -> str:
        """A random UUID as 22 characters of URL-safe base64."""


class GroupNode(ShareStateNode, Protocol):
    """A broker, as its group coordinator sees it."""

    @property
    def cluster(self) -> GroupCluster: ...
