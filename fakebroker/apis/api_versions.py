"""ApiVersions, key 18, v0-v4: which APIs and versions this listener serves (KIP-35, AV-5..AV-9).

v0 error, then key, lowest, highest per API; v1 throttle time at the end; v2 no change; v3 flexible, the client names
itself (KIP-511), features as tagged fields (KIP-584); v4 features with minimum 0.
A version of this API that we lack is answered before it gets here (AV-6, `engine.dispatch`): its body cannot be read.

Of Kafka's features only transaction.version is shown: by it producers choose the transaction protocol (TX-10). What the
others would promise clients here is decided by API versions alone (AV-9).
"""

import re

from fakebroker.apis.call import Call
from fakebroker.errors import ErrorCode
from fakebroker.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_TRANSACTION_VERSION = "transaction.version"
_FEATURES_EPOCH = 1  # Kafka's counts the records of the metadata log; features never change here
_FIRST_FEATURES, _FIRST_FEATURES_FROM_ZERO = 3, 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """List what is served here, or INVALID_REQUEST if the client's software names are malformed (AV-7)."""
    if call.version >= _FIRST_FEATURES:
        names = (request.client_software_name, request.client_software_version)
        if not all(_SOFTWARE.fullmatch(name) for name in names):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    listed = sorted(call.cluster.release.listed(call.listener.versions).items())
    response = ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in listed]
    )
    _show_features(call, response)
    return response


def _show_features(call: Call, response: ApiVersionsResponse) -> None:
    """Fill in the features, where the version has them and the release knows them (AV-9).

    One whose lowest version is 0 is shown as supported from v4 on only, but as finalized in v3, too.
    """
    level = call.cluster.behaviours.transaction_version
    if not level or call.version < _FIRST_FEATURES:
        return
    if call.version >= _FIRST_FEATURES_FROM_ZERO:
        feature = SupportedFeatureKey(name=_TRANSACTION_VERSION, min_version=0, max_version=level)
        response.supported_features.append(feature)
    response.finalized_features_epoch = _FEATURES_EPOCH
    response.finalized_features.append(
        FinalizedFeatureKey(name=_TRANSACTION_VERSION, max_version_level=level, min_version_level=level)
    )
