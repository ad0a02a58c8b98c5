"""A producer as others know it: its id and its epoch."""

from typing import Final, NamedTuple

HIGHEST_EPOCH: Final = 32767
"""Never handed out: only markers carry it (PI-11, TX-15)."""


class Producer(NamedTuple):
    """Producer id and producer epoch (KIP-98): of several with one id, the one of the highest epoch may write."""

    id: int
    epoch: int

    @property
    def is_exhausted(self) -> bool:
        """Whether no higher epoch may be handed out (PI-11)."""
        return self.epoch >= HIGHEST_EPOCH - 1

    @property
    def with_next_epoch(self) -> "Producer":
        """The same id with the next epoch; the highest stays."""
        return Producer(self.id, min(self.epoch + 1, HIGHEST_EPOCH))


NO_PRODUCER: Final = Producer(-1, -1)
"""What answers with an error carry (PI-3, TX-22)."""
