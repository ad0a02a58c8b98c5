"""APIs that are there only while a feature of the cluster is on (CGH-1, UF-3)."""

from typing import TYPE_CHECKING, Final

from fakebroker.broker.apis.call import Call, Repeat, Steps
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema.message import with_fields
from fakebroker.protocol.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.protocol.schema import Message

_GROUP, _SHARE, _STREAMS = "group.version", "share.version", "streams.version"
FEATURES: Final[dict[int, str]] = {
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _GROUP,
    ApiKey.CONSUMER_GROUP_DESCRIBE: _GROUP,
    ApiKey.SHARE_GROUP_HEARTBEAT: _SHARE,
    ApiKey.SHARE_GROUP_DESCRIBE: _SHARE,
    ApiKey.SHARE_FETCH: _SHARE,
    ApiKey.SHARE_ACKNOWLEDGE: _SHARE,
    ApiKey.STREAMS_GROUP_HEARTBEAT: _STREAMS,
    ApiKey.STREAMS_GROUP_DESCRIBE: _STREAMS,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _SHARE,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _SHARE,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _SHARE,
}
# Kafka's answers say something beside the code.
_WITH_TEXT: Final = (ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS)


def gate(route: "Route") -> "Route":
    """Let a route answer UNSUPPORTED_VERSION while its feature is at level 0; returns it.

    Nothing of the request is looked at then, as in Kafka.
    """
    feature, handle, repeat = FEATURES[route.api_key], route.handle, route.repeat

    def gated(call: Call, request: "Message") -> "Message | None":
        if call.cluster.features.is_off(feature):
            return call.work(_refusal(route, request))
        return handle(call, request)

    def gated_repeat(call: Call, request: "Message", response: "Message") -> Repeat | None:
        assert repeat is not None
        answer = repeat(call, request, response)
        if answer is None:
            return None
        return lambda call, values: None if call.cluster.features.is_off(feature) else answer(call, values)

    route.handle = gated
    if repeat is not None:
        route.repeat = gated_repeat
    return route


def _refusal(route: "Route", request: "Message") -> Steps["Message"]:
    response = yield from route.error_in_steps(request, ErrorCode.UNSUPPORTED_VERSION)
    return with_fields(response, error_message="the feature is off") if route.api_key in _WITH_TEXT else response
