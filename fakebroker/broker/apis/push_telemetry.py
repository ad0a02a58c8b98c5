"""PushTelemetry, key 72, v0: a client sends its metrics (KIP-714, TE-4).

They are kept as they came but for the compression; what they say is read when somebody looks (`broker.telemetry`).
"""

from collections.abc import Generator

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.apis.get_telemetry_subscriptions import ACCEPTED_CODECS
from fakebroker.broker.apis.telemetry_clients import instance_of
from fakebroker.broker.core.events import MetricsPushed
from fakebroker.broker.core.telemetry.client_telemetry import Instance, Push
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.records.compression import NONE, decompress_in_steps
from fakebroker.protocol.records.faults import BadCompression, TooLarge
from fakebroker.protocol.schema import ZERO_UUID
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.protocol.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse

MAX_UNPACKED_BYTES = 16 * 1024 * 1024
SHORT_BYTES = 128 * 1024  # as usual pushes have at most: very many clients may push together


def handle(call: Call, request: PushTelemetryRequest) -> PushTelemetryResponse | None:
    """Keep the metrics, which are unpacked in steps. Raises KafkaError for a push that is refused."""
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: PushTelemetryRequest) -> Steps[PushTelemetryResponse]:
    instance_id = bytes(request.client_instance_id)
    if instance_id == ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    instance = yield from instance_of(call, instance_id)
    try:
        _check(call, request, instance)
        yield from _keep(call, request)
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


def _keep(call: Call, request: PushTelemetryRequest) -> Generator[None, None, None]:
    """Raises KafkaError(INVALID_RECORD) for what cannot be unpacked."""
    if not request.metrics:
        return
    try:
        payload = bytes(request.metrics)
        if request.compression_type != NONE:
            steps = decompress_in_steps(request.compression_type, payload, MAX_UNPACKED_BYTES, SHORT_BYTES)
            payload = bytes((yield from call.in_line(steps)))
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
