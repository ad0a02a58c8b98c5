"""What `transition` lines of journals mean."""

from typing import Final

CLASSIC: Final = "classic"
"""The type of the groups that JoinGroup makes; consumer (KIP-848), share and streams groups are the newer ones."""

UNLOADED: Final = "its coordinator"
"""How the reason begins when a coordinator forgets a group that lives on in the log, and for clients is not Dead."""

OTHER_KIND: Final = "it became a group of another type"
"""The reason when a group ends since another one of its name takes its place, and all its offsets with it (CGO-11)."""

LOADED: Final = "loaded from the log"
"""The reason when a coordinator has read a group with members."""

RELOAD_REASONS: Final = (UNLOADED, LOADED)
"""How reasons begin that tell of the coordinator only, not of the group."""


def is_newer(group_type: str | None) -> bool:
    """Whether a group is of a newer type; None is of a line that only classic groups have."""
    return group_type not in (None, CLASSIC)


def is_unload(after: str, reason: str) -> bool:
    """Whether the coordinator only forgot the group: because it moved, was killed or reads its log again (ST-14)."""
    return after == "Dead" and reason.startswith(UNLOADED)
