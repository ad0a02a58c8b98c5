"""DescribeClientQuotas, key 48, v0-v1: the quotas of users, client ids and addresses (KIP-546, QU-3, QU-4, QU-6)."""

from collections.abc import Callable, Mapping, Sequence

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.quotas.client_quotas import ENTITY_TYPES, IP, Entity
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

EXACT, DEFAULT, ANY = 0, 1, 2
ENTITIES_PER_STEP = 5_000

_Matches = Callable[[str | None], bool]


def handle(call: Call, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse | None:
    """The entities that match every component."""
    try:
        filters = _filters(request.components)
    except KafkaError as error:
        return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)
    return call.work(_in_steps(call, filters, request.strict), may_begin_later=True)


def _in_steps(call: Call, filters: dict[str, _Matches], is_strict: bool) -> Steps[DescribeClientQuotasResponse]:
    """The quotas are those of the beginning."""
    entries, pace = list[EntryData](), call.pace(ENTITIES_PER_STEP)
    for entity, values in list(call.cluster.client_quotas):
        if _is_meant(entity, filters, is_strict):
            entries.append(_entry(entity, values))
        if pace.is_over():
            yield
    return DescribeClientQuotasResponse(error_message="", entries=entries)


def _entry(entity: Entity, values: Mapping[str, float]) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        values=[ValueData(key=key, value=value) for key, value in sorted(values.items())],
    )


def error_response(
    _request: DescribeClientQuotasRequest, _version: int, code: ErrorCode
) -> DescribeClientQuotasResponse:
    """What a handler that failed is answered with: the code, and no list (QU-4)."""
    return DescribeClientQuotasResponse(error_code=code, error_message=None, entries=None)


def _filters(components: Sequence[ComponentData]) -> dict[str, _Matches]:
    """What the name of each type must be. Raises KafkaError for a filter that cannot be (QU-6)."""
    filters: dict[str, _Matches] = {}
    for component in components:
        kind = component.entity_type
        if not kind:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
        if kind in filters:
            text = f"Entity type {kind} cannot appear more than once in the filter."
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        if kind not in ENTITY_TYPES:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        filters[kind] = _filter(component)
    if IP in filters and len(filters) > 1:
        text = "Invalid entity filter component combination: an ip stands alone."
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)
    return filters


def _filter(component: ComponentData) -> _Matches:
    """Raises KafkaError for an unknown match type, and for a name where there must be none, or none where one must."""
    match_type, wanted = component.match_type, component.match
    if match_type not in (EXACT, DEFAULT, ANY):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown match type {match_type}")
    if (match_type == EXACT) != (wanted is not None):
        text = f"match type {match_type} {'needs' if match_type == EXACT else 'takes no'} match string"
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)
    if match_type == ANY:
        return lambda _name: True
    return lambda name: name == wanted


def _is_meant(entity: Entity, filters: dict[str, _Matches], is_strict: bool) -> bool:
    names = dict(entity)
    if is_strict and names.keys() != filters.keys():
        return False
    return all(kind in names and matches(names[kind]) for kind, matches in filters.items())
