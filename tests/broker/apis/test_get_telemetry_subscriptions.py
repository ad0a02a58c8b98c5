"""GetTelemetrySubscriptions by itself; with pushes it is in test_push_telemetry.py."""

from fakebroker.broker.apis.get_telemetry_subscriptions import error_response
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest


def test_a_refusal_says_nothing_but_the_code() -> None:
    """No id, no metrics."""
    answer = error_response(GetTelemetrySubscriptionsRequest(), 0, ErrorCode.THROTTLING_QUOTA_EXCEEDED)

    assert answer.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert (answer.client_instance_id, answer.requested_metrics, answer.push_interval_ms) == (bytes(16), [], 0)
