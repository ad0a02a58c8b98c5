"""AlterClientQuotas, key 49, v0-v1: set and remove quotas of users, client ids and addresses (KIP-546, QU-1 to QU-5).

MOCK: done at once (AD-1); entries are answered in the order of the request (AD-3).
"""

from collections.abc import Generator, Iterable, Sequence

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.quotas.client_quotas import ENTITY_TYPES, Entity, check_value, make_entity
from fakebroker.protocol.errors import ErrorCode, ErrorContent, KafkaError
from fakebroker.protocol.pace import Pace, listed
from fakebroker.protocol.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
    ResultEntryData,
)

ENTRIES_PER_STEP = 2_000

_Names = tuple[tuple[str, str | None], ...]


def handle(call: Call, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse | None:
    """Each entity is changed as a whole or not at all.

    Of one that comes twice the first counts, and yet it is answered that it was ignored, as in Kafka.
    """
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: AlterClientQuotasRequest) -> Steps[AlterClientQuotasResponse]:
    errors, pace = dict[_Names, ErrorContent | None](), call.pace(ENTRIES_PER_STEP)
    for entry in request.entries:
        names = yield from _names(entry, pace)
        if names in errors:
            errors[names] = _twice(names).content
        else:
            errors[names] = yield from _alter(call, request, entry, names, pace)
        if pace.is_over():
            yield
    results = []
    for names, error in errors.items():
        results.append((yield from _result(names, error, pace)))
    return AlterClientQuotasResponse(entries=results)


def _alter(
    call: Call, request: AlterClientQuotasRequest, entry: EntryData, names: _Names, pace: Pace
) -> Generator[None, None, ErrorContent | None]:
    """Change one entity, if that is not only to be checked; the error if it cannot be."""
    try:
        changes = yield from _changes(entry.ops, names, pace)
        entity = make_entity(dict(names))
        yield from _check(entity, changes, pace)
    except KafkaError as error:
        return error.content
    if not request.validate_only:
        call.cluster.client_quotas.alter(entity, changes)
    return None


def error_response(
    request: AlterClientQuotasRequest, _version: int, code: ErrorCode
) -> Generator[None, None, AlterClientQuotasResponse]:
    """What a handler that failed is answered with: the error for each entry (AV-10)."""
    error, pace, results = KafkaError(code).content, Pace(ENTRIES_PER_STEP), []
    for entry in request.entries:
        names = yield from _names(entry, pace)
        results.append((yield from _result(names, error, pace)))
    return AlterClientQuotasResponse(entries=results)


def _names(entry: EntryData, pace: Pace) -> Generator[None, None, _Names]:
    """The names by type, of a type that comes twice the last, in Kafka's order as far as it knows the types."""
    names = dict[str, str | None]()
    for each in entry.entity:
        names[each.entity_type] = each.entity_name
        if pace.is_over():
            yield
    known = {kind: names.pop(kind) for kind in ENTITY_TYPES if kind in names}
    return *known.items(), *names.items()


def _changes(ops: Sequence[OpData], names: _Names, pace: Pace) -> Generator[None, None, dict[str, float | None]]:
    """By key the new value, None to remove it. Raises KafkaError for a key that comes twice."""
    changes: dict[str, float | None] = {}
    for op in ops:
        if op.key in changes:
            raise _twice(names)
        changes[op.key] = None if op.remove else op.value
        if pace.is_over():
            yield
    return changes


def _twice(names: Iterable[tuple[str, str | None]]) -> KafkaError:
    shown = ", ".join(f"{kind}={name}" for kind, name in names)
    return KafkaError(ErrorCode.INVALID_REQUEST, f"Ignoring duplicate entity: {shown}")


def _check(entity: Entity, changes: dict[str, float | None], pace: Pace) -> Generator[None, None, None]:
    """What is removed may be anything (QU-2). Raises KafkaError."""
    for key, value in changes.items():
        if value is not None:
            check_value(entity, key, value)
        if pace.is_over():
            yield


def _result(names: _Names, error: ErrorContent | None, pace: Pace) -> Generator[None, None, ResultEntryData]:
    entity = yield from listed((EntityData(entity_type=kind, entity_name=name) for kind, name in names), pace)
    if pace.is_over():
        yield
    return ResultEntryData(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        entity=entity,
    )
