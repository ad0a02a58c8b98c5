"""What clients pushed, read in steps between which the broker serves its clients."""

from collections.abc import Iterator, Mapping
from typing import Any

from fakebroker.cli.http.turns import in_turns
from fakebroker.testing.handles.telemetry import MetricValue, PushView, TelemetryHandle


async def pushes(telemetry: TelemetryHandle, given: Mapping[str, Any]) -> Iterator[PushView]:
    """`telemetry.pushes`."""
    return iter(await in_turns(telemetry._pushes_in_steps(given.get("client_id"))))


async def metrics(telemetry: TelemetryHandle, given: Mapping[str, Any]) -> Iterator[MetricValue]:
    """`telemetry.metrics`."""
    return iter(await in_turns(telemetry._metrics_in_steps(given.get("name"), given.get("client_id"))))
