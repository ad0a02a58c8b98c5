"""IncrementalAlterConfigs, key 44: sets, deletes, appends to or subtracts from single configs.

v1: flexible.
"""

from fakebroker.protocol.schema import Bool, Int8, Int16, Int32, Message, Str, Struct, field


class AlterableConfig(Struct):
    name: Str = field("0+", map_key=True, entity="configName")
    config_operation: Int8 = field("0+", map_key=True)
    value: Str | None = field("0+", nullable="0+", entity="configValue")


class AlterConfigsResource(Struct):
    resource_type: Int8 = field("0+", map_key=True, entity="configResourceType")
    resource_name: Str = field("0+", map_key=True, entity="configResource")
    configs: list[AlterableConfig] = field("0+")


class IncrementalAlterConfigsRequest(Message, api_key=44, versions="0-1", flexible="1+"):
    resources: list[AlterConfigsResource] = field("0+")
    validate_only: Bool = field("0+")


class AlterConfigsResourceResponse(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    resource_type: Int8 = field("0+", entity="configResourceType")
    resource_name: Str = field("0+", entity="configResource")


class IncrementalAlterConfigsResponse(Message, api_key=44, versions="0-1", flexible="1+"):
    throttle_time_ms: Int32 = field("0+")
    responses: list[AlterConfigsResourceResponse] = field("0+")
