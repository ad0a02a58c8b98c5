"""What scripted clients and the player of dialogues need: connections to a broker, and time that passes."""

from collections.abc import Callable
from typing import Protocol

from fakebroker.client.connection import ClientConnection
from fakebroker.protocol.listeners import Address


class Driver(Protocol):
    """Connects clients to a broker: over TCP in real time, or in the simulator in virtual time."""

    keeps_recorded_pace: bool  # whether the player waits as long as the recorded broker did

    @property
    def wall_ms(self) -> int:
        """The broker's time of day."""

    @property
    def mono_ms(self) -> int:
        """The time that waits are measured with."""

    def open(self, client: ClientConnection, address: Address | None = None) -> None:
        """Connect, to the broker at `address` if it is given. Raises OSError when the broker does not accept."""

    def control(self, operation: str, node_id: int) -> None:
        """Do something to a broker from outside: stop, kill, restart, freeze or thaw. Raises OSError if it cannot."""

    def flush(self, client: ClientConnection) -> None:
        """Send what the client has queued."""

    def pass_time(self, ms: int, until: Callable[[], bool] | None = None) -> bool:
        """Let up to `ms` pass, bytes coming in meanwhile; stop as soon as `until` is true, and say whether it is."""

    def close(self, client: ClientConnection) -> None:
        """The client closes its connection."""

    def close_all(self) -> None:
        """Close every connection; the driver cannot be used after that."""

    def tolerance_ms(self, waited_ms: int) -> int:
        """By how many milliseconds the time until an answer may differ from the recorded `waited_ms`."""
