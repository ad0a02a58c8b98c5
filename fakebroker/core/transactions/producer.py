"""A producer as others know it: its id and its epoch."""

from typing import Final, NamedTuple


class Producer(NamedTuple):
    """Producer id and producer epoch (KIP-98): of several with one id, the one of the highest epoch may write."""

    id: int
    epoch: int


NO_PRODUCER: Final = Producer(-1, -1)
"""What answers with an error carry (PI-3, TX-22)."""
HIGHEST_EPOCH: Final = 32767
"""Never handed out: only markers carry it (PI-11, TX-15)."""
