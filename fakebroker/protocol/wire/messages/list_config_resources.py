"""ListConfigResources, key 74. Flexible from the start.

v0: client metrics only. v1: resources of the requested types.
"""

from fakebroker.protocol.schema import Int8, Int16, Int32, Message, Str, Struct, field


class ListConfigResourcesRequest(Message, api_key=74, versions="0-1", flexible="0+"):
    resource_types: list[Int8] = field("1+")


class ConfigResource(Struct):
    resource_name: Str = field("0+", entity="configResource")
    resource_type: Int8 = field("1+", default=16, ignorable=True, entity="configResourceType")


class ListConfigResourcesResponse(Message, api_key=74, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    config_resources: list[ConfigResource] = field("0+")
