"""What takes long with a group of many offsets, in steps between which the broker serves its clients."""

import asyncio
from collections.abc import Mapping
from typing import Any

from fakebroker.broker.core.explain.offsets import side_by_side
from fakebroker.broker.core.offsets.expiry_policies import EXPIRY_POLICIES
from fakebroker.testing.handles.group import GroupHandle


async def explain_policies(group: GroupHandle, given: Mapping[str, Any]) -> str:
    """`group.explain_policies`."""
    explanations = []
    for policy in given.get("policies") or EXPIRY_POLICIES:
        explanations.append(group.explain(policy))
        await asyncio.sleep(0)
    return await asyncio.to_thread(side_by_side, explanations)
