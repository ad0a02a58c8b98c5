"""Clients ask what metrics are wanted, and push them: when they may, and what is kept."""

import gzip
from typing import Any

import pytest

from fakebroker.broker.core.config_resources import MetricsResource
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema import ZERO_UUID
from tests.support.engine import Client, SimEngine
from tests.support.frames import request
from tests.support.pushed_metrics import gauge, point, pushed

PAYLOAD = pushed(gauge("org.apache.kafka.n", point(1.5)))
INTERVAL_MS = 1000


class Lab:
    """A broker that wants everything of every client, and a client of it."""

    def __init__(self, **settings: object) -> None:
        self.engine = SimEngine(settings)
        self.cluster = self.engine.cluster
        self.configure("all", metrics="*", **{"interval.ms": str(INTERVAL_MS)})
        self.client = self.engine.client()

    def configure(self, name: str, **own: str) -> None:
        resource = MetricsResource(self.cluster, name)
        resource.check(own)
        resource.store(own)

    def get(self, instance_id: bytes = ZERO_UUID, client: Client | None = None) -> Any:
        return (client or self.client).ask("GetTelemetrySubscriptions", 0, client_instance_id=instance_id)

    def push(self, got: Any, metrics: bytes = PAYLOAD, **fields: Any) -> int:
        """The error code of a push by what a client got."""
        asked = {"client_instance_id": got.client_instance_id, "subscription_id": got.subscription_id}
        answer = self.client.ask("PushTelemetry", 0, metrics=metrics, **(asked | fields))
        code: int = answer.error_code
        return code

    def wait(self, ms: int = INTERVAL_MS) -> None:
        self.engine.network.advance(ms)


@pytest.mark.rules("TE-2")
def test_what_a_new_client_learns() -> None:
    """It gets an id, and keeps it."""
    lab = Lab()
    got = lab.get()

    assert got.error_code == 0
    assert got.client_instance_id != ZERO_UUID
    assert (got.accepted_compression_types, got.push_interval_ms) == ([4, 3, 1, 2], INTERVAL_MS)
    assert (got.telemetry_max_bytes, got.delta_temporality, got.requested_metrics) == (1048576, True, ["*"])
    lab.wait()
    assert lab.get(got.client_instance_id).subscription_id == got.subscription_id


@pytest.mark.rules("TE-3")
def test_who_asks_too_early_is_refused() -> None:
    """Unless what is wanted has changed, or the last push was refused for that."""
    lab = Lab()
    got = lab.get()
    refused = lab.get(got.client_instance_id)
    assert (refused.error_code, refused.client_instance_id, refused.requested_metrics) == (
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ZERO_UUID,
        [],
    )

    lab.configure("other", metrics="org.")
    assert lab.get(got.client_instance_id).error_code == 0
    assert lab.push(got, subscription_id=got.subscription_id + 1) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert lab.get(got.client_instance_id).error_code == 0
    assert lab.get(got.client_instance_id).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED


@pytest.mark.rules("TE-4")
def test_the_first_push_is_free_and_the_next_has_to_wait() -> None:
    """For the interval of the subscription."""
    lab = Lab()
    got = lab.get()
    codes = [lab.push(got), lab.push(got)]
    lab.wait(INTERVAL_MS - 1)
    codes.append(lab.push(got))
    lab.wait(1)

    assert [*codes, lab.push(got)] == [0, ErrorCode.THROTTLING_QUOTA_EXCEEDED, ErrorCode.THROTTLING_QUOTA_EXCEEDED, 0]
    assert len(list(lab.cluster.telemetry)) == 2


@pytest.mark.rules("TE-4")
@pytest.mark.parametrize(
    ("code", "fields"),
    [
        (ErrorCode.INVALID_REQUEST, {"client_instance_id": ZERO_UUID}),
        (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, {"subscription_id": 1}),
        (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, {"compression_type": 9}),
        (ErrorCode.TELEMETRY_TOO_LARGE, {"metrics": bytes(1001)}),
        (ErrorCode.INVALID_RECORD, {"metrics": b"not gzip", "compression_type": 2}),
        (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, {"compression_type": 9, "subscription_id": 1}),
        (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, {"compression_type": 9, "metrics": bytes(1001)}),
    ],
)
def test_what_is_refused(code: int, fields: dict[str, Any]) -> None:
    """The first thing that is wrong is reported, and nothing is kept."""
    lab = Lab(**{"telemetry.max.bytes": 1000})
    assert lab.push(lab.get(), **fields) == code
    assert list(lab.cluster.telemetry) == []


@pytest.mark.rules("TE-4")
def test_the_last_push_need_not_wait_and_there_is_none_after_it() -> None:
    """A client that closes."""
    lab = Lab()
    got = lab.get()
    codes = [lab.push(got), lab.push(got, terminating=True), lab.push(got, terminating=True)]

    assert codes == [0, 0, ErrorCode.INVALID_REQUEST]
    assert [push.is_terminating for push in lab.cluster.telemetry] == [False, True]


def test_metrics_are_kept_without_compression() -> None:
    """And so are those that nobody can read; a push without any is not kept."""
    lab = Lab()
    got = lab.get()
    lab.push(got, gzip.compress(PAYLOAD), compression_type=1)
    lab.wait()
    lab.push(got, b"garbage")
    lab.wait()
    lab.push(got, b"")

    assert [push.payload for push in lab.cluster.telemetry] == [PAYLOAD, b"garbage"]


def test_others_are_served_while_metrics_are_unpacked() -> None:
    """A small push may unpack to 16 MiB; what unpacks to more is refused."""
    lab = Lab()
    got, now = lab.get(), lab.engine.network.now
    fields = {"client_instance_id": got.client_instance_id, "subscription_id": got.subscription_id}
    metrics = gzip.compress(bytes(16 << 20))
    frame = request("PushTelemetry", 0, metrics=metrics, compression_type=1, **fields)
    lab.client.socket.connection.receive(frame, now)

    assert lab.engine.engine.works
    lab.engine.network.flush()
    assert lab.client.answer("PushTelemetry", 0).error_code == 0
    assert [len(push.payload) for push in lab.cluster.telemetry] == [16 << 20]
    lab.wait()
    assert lab.push(got, gzip.compress(bytes((16 << 20) + 1)), compression_type=1) == ErrorCode.INVALID_RECORD


@pytest.mark.rules("TE-1")
def test_the_apis_are_listed_while_there_is_a_subscription() -> None:
    """They are answered all the same."""
    lab = Lab()

    def listed() -> set[int]:
        return {each.api_key for each in lab.engine.client().ask("ApiVersions", 3, **SOFTWARE).api_keys} & {71, 72}

    assert listed() == {71, 72}
    MetricsResource(lab.cluster, "all").store({})
    assert listed() == set()
    assert lab.get().requested_metrics == []


SOFTWARE = {"client_software_name": "probe", "client_software_version": "1.0"}


@pytest.mark.rules("TE-2")
def test_clients_are_distinguished_by_the_software_that_they_say_they_are() -> None:
    """In ApiVersions, on the same connection."""
    lab = Lab()
    lab.configure("all", metrics="org.", match="client_software_name=probe")
    assert lab.get().requested_metrics == []

    named = lab.engine.client()
    named.ask("ApiVersions", 3, **SOFTWARE)
    assert lab.get(client=named).requested_metrics == ["org."]


def test_a_client_is_forgotten_with_its_connection() -> None:
    """Who comes again is asked again at once."""
    lab = Lab()
    got = lab.get()
    lab.client.socket.close()
    lab.client = lab.engine.client()

    assert lab.get(got.client_instance_id).error_code == 0


def test_any_number_of_ids_on_a_connection_takes_bounded_memory() -> None:
    """And all of them are forgotten with it."""
    lab = Lab()
    for number in range(1, 50):
        assert lab.get(number.to_bytes(16, "big")).error_code == 0
    assert len(lab.client.socket.connection._at_end or {}) == 1
    assert len(lab.cluster.telemetry._instances) == 49
    lab.client.socket.close()
    assert lab.cluster.telemetry._instances == {}


@pytest.mark.parametrize(("size_bytes", "waits"), [(100_000, False), (200_000, True)])
def test_usual_pushes_are_unpacked_at_once(size_bytes: int, waits: bool) -> None:
    """Larger ones wait for each other; each first step is short, for very many clients may push together."""
    lab = Lab()
    got = lab.get()
    fields = {"client_instance_id": got.client_instance_id, "subscription_id": got.subscription_id}
    frame = request("PushTelemetry", 0, metrics=gzip.compress(bytes(size_bytes)), compression_type=1, **fields)
    lab.client.socket.connection.receive(frame, lab.engine.network.now)
    assert bool(lab.engine.engine.works) is waits
    lab.engine.network.flush()
    assert lab.client.answer("PushTelemetry", 0).error_code == 0
    assert [len(push.payload) for push in lab.cluster.telemetry] == [size_bytes]
