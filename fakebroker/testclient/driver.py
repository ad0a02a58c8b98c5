"""What a player needs of the world: connections, and time that passes."""

from collections.abc import Callable
from typing import Protocol

from fakebroker.client.connection import ClientConnection


class Driver(Protocol):
    """A way to a broker. Real time over TCP, or virtual time in the simulator."""

    keeps_recorded_pace: bool  # whether the player lets time pass as in the recording where answers came sooner

    @property
    def wall_ms(self) -> int:
        """The broker's time of day."""

    @property
    def mono_ms(self) -> int:
        """The time that waits are measured with."""

    def open(self, client: ClientConnection) -> None:
        """Connect. Raises OSError when the broker does not accept."""

    def flush(self, client: ClientConnection) -> None:
        """Send what the client has queued."""

    def pass_time(self, ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Let up to `ms` pass, bytes coming in meanwhile; stop as soon as `until` is true, and say whether it is."""

    def close(self, client: ClientConnection) -> None:
        """The client closes its connection."""

    def close_all(self) -> None:
        """Every connection is closed; the driver is not used any more."""

    def tolerance_ms(self, waited_ms: int) -> int:
        """How far a wait may be from the recorded one."""
