"""DescribeConfigs, key 32.

v1: where a value comes from, and its synonyms. v3: types and documentation. v4: flexible. v2: nothing new on the
wire.
"""

from fakebroker.protocol.schema import Bool, Int8, Int16, Int32, Message, Str, Struct, field


class DescribeConfigsResource(Struct):
    resource_type: Int8 = field("0+", entity="configResourceType")
    resource_name: Str = field("0+", entity="configResource")
    configuration_keys: list[Str] | None = field("0+", nullable="0+")


class DescribeConfigsRequest(Message, api_key=32, versions="0-4", flexible="4+"):
    resources: list[DescribeConfigsResource] = field("0+")
    include_synonyms: Bool = field("1+")
    include_documentation: Bool = field("3+")


class DescribeConfigsSynonym(Struct):
    name: Str = field("1+", entity="configName")
    value: Str | None = field("1+", nullable="0+", entity="configValue")
    source: Int8 = field("1+")


class DescribeConfigsResourceResult(Struct):
    name: Str = field("0+", entity="configName")
    value: Str | None = field("0+", nullable="0+", entity="configValue")
    read_only: Bool = field("0+")
    is_default: Bool = field("0")
    config_source: Int8 = field("1+", default=-1, ignorable=True)
    is_sensitive: Bool = field("0+")
    synonyms: list[DescribeConfigsSynonym] = field("1+", ignorable=True)
    config_type: Int8 = field("3+", ignorable=True)
    documentation: Str | None = field("3+", nullable="0+", ignorable=True)


class DescribeConfigsResult(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    resource_type: Int8 = field("0+", entity="configResourceType")
    resource_name: Str = field("0+", entity="configResource")
    configs: list[DescribeConfigsResourceResult] = field("0+")


class DescribeConfigsResponse(Message, api_key=32, versions="0-4", flexible="4+"):
    throttle_time_ms: Int32 = field("0+")
    results: list[DescribeConfigsResult] = field("0+")
