"""What the HTTP door tells of a play, as text for people."""

from collections.abc import Mapping
from typing import Any


def text_of(told: Mapping[str, Any]) -> str:
    """The transcript, then how the play stands; `told` is a Scenario of the door's OpenAPI document."""
    more = [f"{told['scenario_id']} {told['state']}", *told["problems"]]
    if told["state"] == "playing" and told["step"] is not None:
        more.append(f"it is at {told['step']}")
    return "\n".join([told["transcript"], *more, ""])
