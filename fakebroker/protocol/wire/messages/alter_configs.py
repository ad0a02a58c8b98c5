"""AlterConfigs, key 33: replaces all dynamic configs of a resource.

v2: flexible. v1: nothing new on the wire.
"""

from fakebroker.protocol.schema import Bool, Int8, Int16, Int32, Message, Str, Struct, field


class AlterableConfig(Struct):
    name: Str = field("0+", map_key=True, entity="configName")
    value: Str | None = field("0+", nullable="0+", entity="configValue")


class AlterConfigsResource(Struct):
    resource_type: Int8 = field("0+", map_key=True, entity="configResourceType")
    resource_name: Str = field("0+", map_key=True, entity="configResource")
    configs: list[AlterableConfig] = field("0+")


class AlterConfigsRequest(Message, api_key=33, versions="0-2", flexible="2+"):
    resources: list[AlterConfigsResource] = field("0+")
    validate_only: Bool = field("0+")


class AlterConfigsResourceResponse(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    resource_type: Int8 = field("0+", entity="configResourceType")
    resource_name: Str = field("0+", entity="configResource")


class AlterConfigsResponse(Message, api_key=33, versions="0-2", flexible="2+"):
    throttle_time_ms: Int32 = field("0+")
    responses: list[AlterConfigsResourceResponse] = field("0+")
