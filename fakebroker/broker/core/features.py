"""The features of a cluster and their levels: part of its durable state (KIP-584, KIP-778, UF)."""

from collections.abc import Mapping
from typing import NamedTuple

from fakebroker.broker.core.metadata_parts import MetadataPart, OnChange, not_kept
from fakebroker.broker.release import KRAFT_VERSION, METADATA_VERSION
from fakebroker.protocol.errors import ErrorCode, KafkaError

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


class FeaturesState(NamedTuple):
    """`levels` are those that differ from a new cluster's; `changes` is how often there was a change."""

    levels: dict[str, int] = {}
    changes: int = 0


class Features:
    """What the brokers of a release support, and which level of it the cluster has.

    `supported` has the lowest and the highest level of each feature by name. Level 0 means that a feature is off.
    """

    def __init__(self, supported: Mapping[str, tuple[int, int]], on_change: OnChange = not_kept) -> None:
        self.supported = supported
        self._on_change = on_change
        self._levels: dict[str, int] = {}
        self._changes = 0

    @property
    def epoch(self) -> int:
        """Grows with every change. Kafka's is an offset of its metadata log, which there is not here."""
        return 1 + self._changes

    def level(self, name: str) -> int:
        """The level of a feature; 0 for one that is off or unknown. A new cluster has the highest of all but KRaft."""
        if name in self._levels:
            return self._levels[name]
        return 0 if name == KRAFT_VERSION else self.supported.get(name, (0, 0))[1]

    def is_off(self, name: str) -> bool:
        """Whether somebody has given the feature level 0."""
        return self._levels.get(name) == 0

    def finalized(self) -> dict[str, int]:
        """The features that are on, with their levels."""
        levels = {name: self.level(name) for name in self.supported}
        return {name: level for name, level in levels.items() if level}

    def check(self, name: str, level: int, upgrade_type: int) -> None:
        """Raises KafkaError(INVALID_UPDATE_VERSION) unless the feature may get that level, in Kafka's order (UF-1).

        Args:
            name: The feature.
            level: The level that it is to have.
            upgrade_type: UPGRADE, SAFE_DOWNGRADE or UNSAFE_DOWNGRADE; another is refused.
        """
        reason = self._objection(name, level, upgrade_type)
        if reason:
            raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"{name} cannot be set to level {level}: {reason}")

    def change(self, levels: Mapping[str, int]) -> None:
        """Give features levels that were checked."""
        self._levels.update(levels)
        self._changes += bool(levels)
        self._on_change(MetadataPart.FEATURES)

    def _objection(self, name: str, level: int, upgrade_type: int) -> str:
        if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            return f"unknown upgrade type {upgrade_type}"
        if level < 0:
            return "the lowest level is 0"
        if name not in self.supported:
            return "the feature is unknown"
        lowest, highest = self.supported[name]
        if not lowest <= level <= highest:
            return f"the levels are {lowest} to {highest}"
        current = self.level(name)
        if level < current:
            return _objection_to_lower(name, upgrade_type)
        if level > current and upgrade_type != UPGRADE:
            return f"this would be an upgrade from {current}, but the request asks for a downgrade"
        return ""

    # State

    def state(self) -> FeaturesState:
        """All of it as plain values."""
        return FeaturesState(dict(self._levels), self._changes)

    def restore(self, state: FeaturesState) -> None:
        """Have what a state says, and nothing else."""
        self._levels, self._changes = dict(state.levels), state.changes


def _objection_to_lower(name: str, upgrade_type: int) -> str:
    if upgrade_type == UPGRADE:
        return "this would be a downgrade, but the request asks for an upgrade"
    if name == KRAFT_VERSION:
        return "it cannot be downgraded"
    if name == METADATA_VERSION:  # each level of those that are supported changed the metadata's records
        return (
            "the downgrade would lose metadata"
            if upgrade_type == SAFE_DOWNGRADE
            else "unsafe downgrades are not supported"
        )
    return ""
