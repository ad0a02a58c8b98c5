"""The parts of a cluster's metadata, whose changes go to what keeps them. Core itself does no I/O."""

from collections.abc import Callable
from enum import Enum


class MetadataPart(Enum):
    """The parts that are small, and looked at as a whole after a change."""

    CONFIGS = "configs of brokers, groups and client metrics"
    ACLS = "access control lists"
    SCRAM = "SCRAM credentials"
    TOKENS = "delegation tokens"
    QUOTAS = "client quotas"
    FEATURES = "levels of features"
    PRODUCER_IDS = "blocks of producer ids"
    NODES = "brokers"


OnChange = Callable[[MetadataPart], None]


def not_kept(_part: MetadataPart) -> None:
    """The OnChange of what belongs to no cluster."""
