"""What a share group's configs say of its share partitions (SGC), as they are now."""

from typing import TYPE_CHECKING, Final

from fakebroker.broker.core.groups.modern.config import group_config, group_config_int
from fakebroker.broker.core.share_partitions.acquisition import Limits
from fakebroker.broker.settings.group_scope import BY_DURATION
from fakebroker.protocol.java_duration import duration_ms

if TYPE_CHECKING:
    from fakebroker.broker.core.share_state.asking import ShareStateNode
    from fakebroker.broker.settings import Settings

EARLIEST: Final = "earliest"
LATEST: Final = "latest"


class ShareGroupSettings:
    """The configs of one group on one broker."""

    def __init__(self, node: "ShareStateNode", group_id: str) -> None:
        self.group_id = group_id
        self._cluster = node.cluster
        self._settings: Settings = node.settings

    @property
    def settings(self) -> "Settings":
        """The broker's settings."""
        return self._settings

    @property
    def group_configs(self) -> dict[str, dict[str, str]]:
        """The configs that groups have of their own."""
        return self._cluster.group_configs

    @property
    def lock_duration_ms(self) -> int:
        """How long acquired records are locked (`share.record.lock.duration.ms`)."""
        return group_config_int(self, self.group_id, "share.record.lock.duration.ms")

    @property
    def delivery_limit(self) -> int:
        """How often a record is delivered (`share.delivery.count.limit`)."""
        return group_config_int(self, self.group_id, "share.delivery.count.limit")

    @property
    def limits(self) -> Limits:
        """What limits acquisitions."""
        window_records = group_config_int(self, self.group_id, "share.partition.max.record.locks")
        return Limits(self.delivery_limit, window_records)

    @property
    def is_read_committed(self) -> bool:
        """Whether records of open and aborted transactions are left out (`share.isolation.level`)."""
        return group_config(self, self.group_id, "share.isolation.level") == "read_committed"

    @property
    def of_waiting(self) -> tuple[int, bool]:
        """What counts for fetches that wait: how many records the window may have, and which can be read."""
        return self.limits.window_records, self.is_read_committed

    @property
    def may_renew(self) -> bool:
        """Whether members may renew locks (`share.renew.acknowledge.enable`)."""
        return group_config(self, self.group_id, "share.renew.acknowledge.enable").lower() == "true"

    @property
    def offset_reset(self) -> str | int:
        """Where a new share partition begins: EARLIEST, LATEST, or how many milliseconds back."""
        text = group_config(self, self.group_id, "share.auto.offset.reset")
        return duration_ms(text.removeprefix(BY_DURATION)) if text.startswith(BY_DURATION) else text
