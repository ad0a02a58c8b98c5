"""What `transition` lines of journals mean."""

from typing import Final

UNLOADED: Final = "its coordinator"
"""How the reason begins when a coordinator forgets a group that lives on in the log, and for clients is not Dead."""

LOADED: Final = "loaded from the log"
"""The reason when a coordinator has read a group with members."""

RELOAD_REASONS: Final = (UNLOADED, LOADED)
"""How reasons begin that tell of the coordinator only, not of the group."""


def is_unload(after: str, reason: str) -> bool:
    """Whether the coordinator only forgot the group: because it moved, was killed or reads its log again (ST-14)."""
    return after == "Dead" and reason.startswith(UNLOADED)
