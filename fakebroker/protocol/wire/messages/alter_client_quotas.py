"""AlterClientQuotas, key 49: set and remove quotas of users, client ids and addresses (KIP-546); v1 flexible."""

from fakebroker.protocol.schema import Bool, Float64, Int16, Int32, Message, Str, Struct, field


class EntityData(Struct):
    entity_type: Str = field("0+")
    entity_name: Str | None = field("0+", nullable="0+")


class OpData(Struct):
    key: Str = field("0+")
    value: Float64 = field("0+")
    remove: Bool = field("0+")


class EntryData(Struct):
    entity: list[EntityData] = field("0+")
    ops: list[OpData] = field("0+")


class AlterClientQuotasRequest(Message, api_key=49, versions="0-1", flexible="1+"):
    entries: list[EntryData] = field("0+")
    validate_only: Bool = field("0+")


class ResultEntryData(Struct):
    error_code: Int16 = field("0+", entity="errorCode")
    error_message: Str | None = field("0+", nullable="0+")
    entity: list[EntityData] = field("0+")


class AlterClientQuotasResponse(Message, api_key=49, versions="0-1", flexible="1+"):
    throttle_time_ms: Int32 = field("0+")
    entries: list[ResultEntryData] = field("0+")


ResultEntryData.kafka_name = "EntryData"
