"""UpdateFeatures, key 57: change the levels of the cluster's features (KIP-584).

v1 kind of change and dry runs in place of `allow_downgrade` (KIP-778); v2 no results (KIP-1022).
"""

from fakebroker.protocol.schema import Bool, Int8, Int16, Int32, Message, Str, Struct, field


class FeatureUpdateKey(Struct):
    feature: Str = field("0+", map_key=True)
    max_version_level: Int16 = field("0+")
    allow_downgrade: Bool = field("0")
    upgrade_type: Int8 = field("1+", default=1)


class UpdateFeaturesRequest(Message, api_key=57, versions="0-2", flexible="0+"):
    timeout_ms: Int32 = field("0+", default=60000, kafka_name="timeoutMs")
    feature_updates: list[FeatureUpdateKey] = field("0+")
    validate_only: Bool = field("1+")


class UpdatableFeatureResult(Struct):
    feature: Str = field("0+", map_key=True)
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")


class UpdateFeaturesResponse(Message, api_key=57, versions="0-2", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    results: list[UpdatableFeatureResult] = field("0-1", ignorable=True)
