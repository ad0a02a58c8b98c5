"""The parts of a cluster's metadata, whose changes go to what keeps them. Core itself does no I/O."""

from collections.abc import Callable, Hashable
from enum import Enum
from typing import NamedTuple


class MetadataPart(Enum):
    """The parts. After a change all of one is compared with what was kept, or one entry of it."""

    CONFIGS = "configs of brokers, groups and client metrics"
    ACLS = "access control lists"
    SCRAM = "SCRAM credentials"
    TOKENS = "delegation tokens"
    QUOTAS = "client quotas"
    FEATURES = "levels of features"
    PRODUCER_IDS = "blocks of producer ids"
    NODES = "brokers"


class MetadataEntry(NamedTuple):
    """One entry of a part that may have very many.

    Attributes:
        part: CONFIGS, ACLS, SCRAM, TOKENS or QUOTAS.
        key: A resource as (type, name); an AclState; a credential as (user, mechanism); a token's id; an Entity.
    """

    part: MetadataPart
    key: Hashable


PartOrEntry = MetadataPart | MetadataEntry
OnChange = Callable[[PartOrEntry], None]


def not_kept(_what: PartOrEntry) -> None:
    """The OnChange of what belongs to no cluster."""
