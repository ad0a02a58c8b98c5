"""ApiVersions, key 18: which APIs and versions a broker speaks; the first request of most clients.

v1: throttle time. v2: nothing new (throttled after the answer). v3: flexible; the client gives its name and
version; features in the tagged section. v4: features may have a minimum of 0.
The response has the old header in every version (AV-5).
"""

from fakebroker.protocol.schema import Bool, Int16, Int32, Int64, Message, Str, Struct, field


class ApiVersionsRequest(Message, api_key=18, versions="0-4", flexible="3+"):
    client_software_name: Str = field("3+", ignorable=True)
    client_software_version: Str = field("3+", ignorable=True)


class ApiVersion(Struct):
    api_key: Int16 = field("0+", map_key=True)
    min_version: Int16 = field("0+")
    max_version: Int16 = field("0+")


class SupportedFeatureKey(Struct):
    name: Str = field("3+", map_key=True)
    min_version: Int16 = field("3+")
    max_version: Int16 = field("3+")


class FinalizedFeatureKey(Struct):
    name: Str = field("3+", map_key=True)
    max_version_level: Int16 = field("3+")
    min_version_level: Int16 = field("3+")


class ApiVersionsResponse(Message, api_key=18, versions="0-4", flexible="3+"):
    error_code: Int16 = field("0+", entity="errorCode")
    api_keys: list[ApiVersion] = field("0+")
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    supported_features: list[SupportedFeatureKey] = field("3+", tag=0, ignorable=True)
    finalized_features_epoch: Int64 = field("3+", default=-1, tag=1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = field("3+", tag=2, ignorable=True)
    zk_migration_ready: Bool = field("3+", tag=3, ignorable=True)
