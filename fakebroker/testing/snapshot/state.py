"""What a snapshot holds: the options of the broker, its clock, and the durable state of its cluster."""

from collections.abc import Mapping
from typing import NamedTuple

from fakebroker.broker.core.cluster_state import ClusterState
from fakebroker.broker.settings.declare import to_text


class Options(NamedTuple):
    """What the broker was made with, as FakeBroker takes it."""

    config: dict[str, str]
    profile: str
    as_release: str
    seed: int
    node_ids: tuple[int, ...]  # that it began with; others were added, or some removed
    racks: tuple[str | None, ...] | None = None


class ClockState(NamedTuple):
    """The time of day, and how it passes."""

    wall_ms: int
    rate: float
    is_frozen: bool


class BrokerState(NamedTuple):
    """All of a snapshot."""

    options: Options
    clock: ClockState
    cluster: ClusterState


def texts(config: Mapping[str, object]) -> dict[str, str]:
    """Settings with their values as texts, which is how a snapshot keeps them."""
    return {name: to_text(value) for name, value in config.items()}
