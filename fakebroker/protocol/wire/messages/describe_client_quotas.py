"""DescribeClientQuotas, key 48: the quotas of users, client ids and addresses (KIP-546); v1 flexible."""

from fakebroker.protocol.schema import Bool, Float64, Int8, Int16, Int32, Message, Str, Struct, field


class ComponentData(Struct):
    entity_type: Str = field("0+")
    match_type: Int8 = field("0+")
    match: Str | None = field("0+", nullable="0+")


class DescribeClientQuotasRequest(Message, api_key=48, versions="0-1", flexible="1+"):
    components: list[ComponentData] = field("0+")
    strict: Bool = field("0+")


class EntityData(Struct):
    entity_type: Str = field("0+")
    entity_name: Str | None = field("0+", nullable="0+")


class ValueData(Struct):
    key: Str = field("0+")
    value: Float64 = field("0+")


class EntryData(Struct):
    entity: list[EntityData] = field("0+")
    values: list[ValueData] = field("0+")


class DescribeClientQuotasResponse(Message, api_key=48, versions="0-1", flexible="1+"):
    throttle_time_ms: Int32 = field("0+")
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    entries: list[EntryData] | None = field("0+", nullable="0+")
