"""ApiVersions, key 18, v0-v4: which APIs and versions this listener serves (KIP-35, AV-5..AV-9).

v0 error, then key, lowest, highest per API; v1 throttle time at the end; v2 no change; v3 flexible, the client names
itself (KIP-511), features as tagged fields (KIP-584); v4 features with minimum 0.
A version of this API that we lack is answered before it gets here (AV-6, `engine.dispatch`): its body cannot be read.

Left out: supported and finalized features. What a feature would promise clients here is decided by API versions alone;
transaction.version above all would change how producers behave (TX-10).
"""

import re

from fakebroker.apis.call import Call
from fakebroker.errors import ErrorCode
from fakebroker.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """List what is served here, or INVALID_REQUEST if the client's software names are malformed (AV-7)."""
    if call.version >= 3:
        names = (request.client_software_name, request.client_software_version)
        if not all(_SOFTWARE.fullmatch(name) for name in names):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    listed = sorted(call.cluster.release.listed(call.listener.versions).items())
    return ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in listed]
    )
