"""ApiVersions, key 18, v0-v4: which APIs and versions this listener serves (KIP-35, AV-5..AV-9).

v0 error, then key, lowest, highest per API; v1 throttle time at the end; v2 no change; v3 flexible, the client names
itself (KIP-511), features as tagged fields (KIP-584); v4 features with minimum 0.
A version of this API that we lack is answered before it gets here (AV-6, `engine.dispatch`): its body cannot be read.

The features are those of the cluster (broker/core/features.py), but for kinds of groups whose APIs this listener does
not serve (AV-9, UF-3). The APIs of client telemetry are listed while somebody has subscribed to metrics (TE-1).
"""

import re
from typing import Any

from fakebroker.broker.apis.call import Call, Repeat
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

# Feature -> the API, and its version, with which the release calls these groups finished: a feature of level 1.
_GROUP_FEATURES = {"group.version": (68, 1), "share.version": (78, 2), "streams.version": (88, 0)}
_FIRST_FEATURES, _FIRST_FEATURES_FROM_ZERO = 3, 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """List what is served here, or INVALID_REQUEST if the client's software names are malformed (AV-7)."""
    if call.version >= _FIRST_FEATURES:
        names = (request.client_software_name, request.client_software_version)
        if not all(_SOFTWARE.fullmatch(name) for name in names):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        call.connection.software = names
    listed = sorted(call.cluster.release.listed(call.listener.versions, call.cluster.collects_telemetry).items())
    response = ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in listed]
    )
    _show_features(call, response)
    return response


def repeat(call: Call, _request: ApiVersionsRequest, response: ApiVersionsResponse) -> Repeat | None:
    """The same again, while features and client telemetry are what they were."""
    if response.error_code:
        return None
    listed, said = _listed(call), response.encode(call.version)

    def answer(call: Call, _values: tuple[Any, ...]) -> bytes | None:
        return said if _listed(call) == listed else None

    return answer


def _listed(call: Call) -> tuple[object, ...]:
    """What an answer depends on that may change."""
    features = call.cluster.features
    return call.cluster.collects_telemetry, features.epoch, features.finalized()


def _show_features(call: Call, response: ApiVersionsResponse) -> None:
    """Fill in the features, where the version has them and the release knows them (AV-9).

    One whose lowest version is 0 is shown as supported from v4 on only, but as finalized in v3, too.
    """
    features = call.cluster.features
    if not features.supported or call.version < _FIRST_FEATURES:
        return
    shows_zero = call.version >= _FIRST_FEATURES_FROM_ZERO
    response.supported_features = [
        SupportedFeatureKey(name=name, min_version=low, max_version=high)
        for name, (low, high) in features.supported.items()
        if (low or shows_zero) and _is_served(call, name)
    ]
    response.finalized_features_epoch = features.epoch
    response.finalized_features = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in features.finalized().items()
        if _is_served(call, name)
    ]


def _is_served(call: Call, feature: str) -> bool:
    """Whether the listener serves the API that a feature stands for, if it stands for one."""
    if feature not in _GROUP_FEATURES:
        return True
    key, version = _GROUP_FEATURES[feature]
    served = call.listener.versions.get(key)
    return served is not None and served[1] >= version
