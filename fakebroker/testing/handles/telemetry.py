"""The metrics that clients push to a broker, as a test sees them: who is asked for what, and what came (KIP-714)."""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.config_resources import MetricsResource
from fakebroker.broker.core.telemetry.client_telemetry import ClientTelemetry, Push
from fakebroker.broker.core.telemetry.otlp import read_metrics
from fakebroker.protocol.arguments.types import TimeoutS
from fakebroker.protocol.errors import UnknownThing, WireError, nearest
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.pace import finished
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.testing.handles.handle import WAIT_S, Handle


class MetricValue(NamedTuple):
    """A number that a client measured and pushed.

    `kind` is "gauge" or "sum"; a sum with `is_delta` counts since the push before, else since the client's start.
    `attributes` are those of the point and of the client, such as its rack. `wall_ms` is when it came, by the broker's
    time of day.
    """

    client_id: str | None
    client_instance_id: str
    name: str
    value: float
    kind: str
    is_delta: bool
    attributes: dict[str, Any]
    wall_ms: int


class PushView(NamedTuple):
    """A push of a client. `problem` says why its metrics cannot be read; then `metrics` is empty."""

    client_id: str | None
    client_instance_id: str
    principal: str
    node_id: int
    wall_ms: int
    is_terminating: bool
    size_bytes: int
    metrics: list[MetricValue]
    problem: str | None


class TelemetryHandle(Handle):
    """Subscriptions to the metrics of clients, and what clients pushed.

    Clients discover the telemetry APIs on connect, while there is a subscription.
    """

    def __repr__(self) -> str:
        return f"<telemetry, {self._with_cluster(lambda cluster, _now: len(cluster.telemetry))} pushes>"

    @property
    def subscriptions(self) -> dict[str, dict[str, str]]:
        """The configs of each client metrics resource."""
        return self._with_cluster(
            lambda cluster, _now: {name: dict(own) for name, own in cluster.client_metrics.items()}
        )

    def subscribe(
        self, name: str, metrics: Sequence[str] = ("*",), interval_ms: int = 1000, match: Sequence[str] = ()
    ) -> None:
        """Ask clients for metrics, replacing a subscription of that name.

        `metrics` are prefixes of names, "*" all; `match` are selectors such as "client_id=svc-.*", all of which must
        match a client. Raises KafkaError for an interval or selector that Kafka refuses (TE-6).
        """
        own = {"metrics": ",".join(metrics), "interval.ms": str(interval_ms)}
        if match:
            own["match"] = ",".join(match)

        def subscribe(cluster: Cluster, _now: Instant) -> None:
            resource = MetricsResource(cluster, name)
            resource.check(own)
            resource.store(own)

        self._with_cluster(subscribe)

    def unsubscribe(self, name: str) -> None:
        """End a subscription. Raises UnknownThing."""
        known = self.subscriptions
        if name not in known:
            raise UnknownThing("name", name, f"there is no subscription {name!r}; {nearest(name, known)}")
        self._with_cluster(lambda cluster, _now: MetricsResource(cluster, name).store({}))

    def pushes(self, client_id: str | None = None) -> list[PushView]:
        """What clients, or one of them, pushed, oldest first: the last 10,000, and 8 MiB of them."""
        return finished(self._pushes_in_steps(client_id))

    def metrics(self, name: str | None = None, client_id: str | None = None) -> list[MetricValue]:
        """The latest value of each metric of each client, by attributes, for names with the prefix `name`."""
        return finished(self._metrics_in_steps(name, client_id))

    def wait(self, name: str | None = None, client_id: str | None = None, timeout_s: TimeoutS = WAIT_S) -> Any:
        """Wait until clients, or one of them, have pushed metrics with the prefix `name`; returns them.

        Raises WaitTimeout.
        """

        seen: tuple[ClientTelemetry | None, int] = None, 0  # pushes that were looked at, of which broker's state

        def probe() -> list[MetricValue] | None:
            nonlocal seen
            telemetry = self._access._engine.cluster.telemetry
            new = telemetry.pushes_count - (seen[1] if seen[0] is telemetry else 0)
            unseen = list(telemetry)[-new:] if new else []
            seen = telemetry, telemetry.pushes_count
            pushes = [each for each in unseen if client_id in (None, each.client_id)]
            found = [value for push in pushes for value in _view(push).metrics if value.name.startswith(name or "")]
            return found or None

        def failure() -> str:
            who = "anybody" if client_id is None else f"client {client_id!r}"
            count = self._access._engine.cluster.telemetry.pushes_count
            what = "metrics" if name is None else f"metrics {name!r}"
            return f"waited {timeout_s:g} s for {what} of {who}; there were {count} pushes"

        return self._access.wait(probe, timeout_s, failure)

    def _pushes_in_steps(self, client_id: str | None) -> Generator[None, None, list[PushView]]:
        """A step for each push that is read."""
        found = list[PushView]()
        for push in self._pushes_of(client_id):
            found.append(_view(push))
            yield
        return found

    def _metrics_in_steps(self, name: str | None, client_id: str | None) -> Generator[None, None, list[MetricValue]]:
        latest: dict[Any, MetricValue] = {}
        for push in self._pushes_of(client_id):
            for value in _view(push).metrics:
                if value.name.startswith(name or ""):
                    key = value.client_instance_id, value.name, tuple(sorted(map(str, value.attributes.items())))
                    latest[key] = value
            yield
        return list(latest.values())

    def _pushes_of(self, client_id: str | None) -> list[Push]:
        pushes = self._with_cluster(lambda cluster, _now: list(cluster.telemetry))
        return [push for push in pushes if client_id in (None, push.client_id)]

    def clear(self) -> None:
        """Delete all pushes."""
        self._with_cluster(lambda cluster, _now: cluster.telemetry.clear())


def _view(push: Push) -> PushView:
    instance_id, problem = uuid_to_text(push.instance_id), None
    try:
        points = read_metrics(push.payload)
    except WireError as error:
        points, problem = [], str(error)
    values = [
        MetricValue(
            push.client_id,
            instance_id,
            each.name,
            each.value,
            each.kind,
            each.is_delta,
            each.attributes,
            push.wall_ms,
        )
        for each in points
    ]
    return PushView(
        push.client_id,
        instance_id,
        push.principal,
        push.node_id,
        push.wall_ms,
        push.is_terminating,
        len(push.payload),
        values,
        problem,
    )
