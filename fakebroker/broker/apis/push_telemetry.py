"""PushTelemetry, key 72, v0: a client sends its metrics (KIP-714, TE-4).

They are kept as they came but for the compression; what they say is read when somebody looks (`broker.telemetry`).
"""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.apis.get_telemetry_subscriptions import ACCEPTED_CODECS
from fakebroker.broker.apis.telemetry_clients import instance_of
from fakebroker.broker.core.events import MetricsPushed
from fakebroker.broker.core.telemetry.client_telemetry import Instance, Push
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.compression import NONE, decompress
from fakebroker.protocol.records.faults import BadCompression, TooLarge
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.protocol.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse

MAX_UNPACKED_BYTES = 16 * 1024 * 1024


def handle(call: Call, request: PushTelemetryRequest) -> PushTelemetryResponse:
    """Keep the metrics. Raises KafkaError for a push that is refused."""
    instance_id = bytes(request.client_instance_id)
    if instance_id == ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    instance = instance_of(call, instance_id)
    try:
        _check(call, request, instance)
        _keep(call, request)
    except KafkaError as error:
        instance.last_error = error.code
        raise
    finally:
        instance.is_terminating = request.terminating
    instance.last_error = ErrorCode.NONE
    return PushTelemetryResponse()


def _check(call: Call, request: PushTelemetryRequest, instance: Instance) -> None:
    """Raises KafkaError, in Kafka's order."""
    instance.begin_push(call.now.mono_ms, is_terminating=request.terminating)
    if request.subscription_id != instance.subscription_id:
        raise KafkaError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
    if request.compression_type not in (NONE, *ACCEPTED_CODECS):
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    if len(request.metrics) > call.node.settings.get_int("telemetry.max.bytes"):
        raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE)


def _keep(call: Call, request: PushTelemetryRequest) -> None:
    """Raises KafkaError(INVALID_RECORD) for what cannot be unpacked."""
    if not request.metrics:
        return
    try:
        payload = decompress(request.compression_type, bytes(request.metrics), MAX_UNPACKED_BYTES)
    except (BadCompression, TooLarge):
        raise KafkaError(ErrorCode.INVALID_RECORD) from None
    instance_id = bytes(request.client_instance_id)
    push = Push(
        instance_id, call.client_id, str(call.principal), call.node.id, call.now.wall_ms, request.terminating, payload
    )
    call.cluster.telemetry.keep(push)
    call.cluster.outbox.append(
        MetricsPushed(
            node_id=call.node.id,
            connection_id=call.connection_id,
            client_id=call.client_id,
            client_instance_id=uuid_to_text(instance_id),
            is_terminating=request.terminating,
            size_bytes=len(payload),
        )
    )
