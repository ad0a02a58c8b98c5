"""A play as the HTTP API reports it, as text for people."""

from collections.abc import Mapping
from typing import Any


def text_of(scenario: Mapping[str, Any]) -> str:
    """The transcript, then how the play stands; `scenario` is a Scenario of the OpenAPI document."""
    more = [f"{scenario['scenario_id']} {scenario['state']}", *scenario["problems"]]
    if scenario["state"] == "playing" and scenario["step"] is not None:
        more.append(f"it is at {scenario['step']}")
    return "\n".join([scenario["transcript"], *more, ""])
