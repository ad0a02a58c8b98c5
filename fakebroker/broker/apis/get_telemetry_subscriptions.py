"""GetTelemetrySubscriptions, key 71, v0: a client asks which of its metrics somebody wants (KIP-714, TE-2, TE-3)."""

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.telemetry_clients import identity_of, instance_of
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)

ACCEPTED_CODECS = (4, 3, 1, 2)  # zstd, lz4, gzip, snappy: the best first


def handle(call: Call, request: GetTelemetrySubscriptionsRequest) -> GetTelemetrySubscriptionsResponse | None:
    """What the resources that match the client want. Raises KafkaError(THROTTLING_QUOTA_EXCEEDED) for too early."""
    return call.work(_in_steps(call, request))


def _in_steps(call: Call, request: GetTelemetrySubscriptionsRequest) -> Steps[GetTelemetrySubscriptionsResponse]:
    instance_id = bytes(request.client_instance_id)
    if instance_id == ZERO_UUID:
        instance_id = call.cluster.telemetry.new_instance_id()
    instance = yield from instance_of(call, instance_id)
    instance.ask(call.now.mono_ms)
    wanted = yield from call.cluster.telemetry.wanted(identity_of(call, instance_id))
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance_id,
        subscription_id=instance.subscription_id,
        accepted_compression_types=list(ACCEPTED_CODECS),
        push_interval_ms=instance.interval_ms,
        telemetry_max_bytes=call.node.settings.get_int("telemetry.max.bytes"),
        delta_temporality=True,
        requested_metrics=list(wanted.metrics),
    )


def error_response(
    _request: GetTelemetrySubscriptionsRequest, _version: int, code: ErrorCode
) -> GetTelemetrySubscriptionsResponse:
    """What a handler that failed is answered with: the code, and nothing else."""
    return GetTelemetrySubscriptionsResponse(error_code=code)
