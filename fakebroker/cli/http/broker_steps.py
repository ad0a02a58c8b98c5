"""What takes long with the whole broker, in steps between which it serves its clients."""

from collections.abc import Mapping
from typing import Any

from fakebroker.cli.http.turns import in_turns, pace_of
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.explanations.failure_story import UNITS_PER_STEP, story_in_steps


async def story(broker: AsyncFakeBroker, _given: Mapping[str, Any]) -> str:
    """`story`."""
    return await in_turns(story_in_steps(broker._engine, pace_of(UNITS_PER_STEP)))
