"""Changes of configs: what a resource's own values become (IA, AC)."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from fakebroker.broker.core.config_resources import ROOT_LOGGER, ConfigResource, LoggerResource
from fakebroker.broker.settings.declare import LIST, parse, render
from fakebroker.protocol.errors import ErrorCode, KafkaError, SettingError
from fakebroker.protocol.java_text import trimmed
from fakebroker.protocol.pace import Pace

OPERATIONS = SET, DELETE, APPEND, SUBTRACT = range(4)


class Change(NamedTuple):
    """One entry of a request: what to do to one config."""

    name: str
    operation: int
    value: str | None


class NamedValue(Protocol):
    """A config in a request, with a `config_operation` in some; without one it is set."""

    name: str
    value: str | None


def changes_of(configs: Iterable[NamedValue]) -> Iterator[Change]:
    """The changes that a request asks for of one resource."""
    return (Change(each.name, getattr(each, "config_operation", SET), each.value) for each in configs)


def apply(resource: ConfigResource, changes: Sequence[Change], validate_only: bool, replace: bool) -> None:
    """Change a resource, all of it or nothing (IA-5); `replace` drops the values that `changes` does not name (AC-1).

    `check_form` has passed. Raises KafkaError.
    """
    values = {} if replace else dict(resource.own)
    for change in changes:
        if change.operation == DELETE:
            values.pop(change.name, None)
        else:
            values[change.name] = _new_value(resource, change)
    resource.check(values)
    if not validate_only:
        resource.store({name: _canonical(resource, name, text) for name, text in values.items()})


def check_form(resource: ConfigResource, changes: Sequence[Change], pace: Pace) -> Generator[None, None, None]:
    """Raises KafkaError for changes that are wrong whatever the resource is called, which Kafka finds first (IA-6).

    In steps: there may be very many.
    """
    fault = yield from fault_of_any_type(changes, pace)
    if fault is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, fault)
    for change in changes:
        _check_operation(resource, change)
        if pace.is_over():
            yield


def _check_operation(resource: ConfigResource, change: Change) -> None:
    """An operation that Kafka does not know is UNKNOWN_SERVER_ERROR: Kafka fails to look it up."""
    if change.operation not in OPERATIONS:
        fails = resource.checks_changes_first
        code = ErrorCode.UNKNOWN_SERVER_ERROR if fails else ErrorCode.INVALID_REQUEST
        raise KafkaError(code, unknown_operation(change))
    if change.operation == DELETE and change.name == ROOT_LOGGER and isinstance(resource, LoggerResource):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the level of the root logger cannot be removed")
    if change.operation in (APPEND, SUBTRACT) and resource.checks_changes_first:
        _check_list(resource, change)


def fault_of_any_type(changes: Iterable[Change], pace: Pace) -> Generator[None, None, str | None]:
    """What is wrong with the changes of a resource, even one of an unknown type, in steps; None: nothing."""
    names = set[str]()
    null: str | None = None
    for change in changes:
        if change.name in names:
            return f"{change.name} is changed twice in one request"
        names.add(change.name)
        if null is None and change.value is None and change.operation != DELETE:
            null = change.name
        if pace.is_over():
            yield
    return None if null is None else f"{null} has no value"


def unknown_operation(change: Change) -> str:
    """What is said of a change that is none of SET, DELETE, APPEND, SUBTRACT."""
    return f"{change.name}: unknown operation {change.operation}"


def _check_list(resource: ConfigResource, change: Change) -> None:
    if isinstance(resource, LoggerResource):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a logger has a level, not a list: use SET")
    setting = resource.table.get(change.name)
    if setting is None or setting.type != LIST or not resource.adds_to_lists:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{change.name} is not a list; only SET and DELETE are allowed")


def _new_value(resource: ConfigResource, change: Change) -> str:
    """The text after SET, or after adding to or taking from a list (IA-2)."""
    assert change.value is not None
    if change.operation == SET:
        return change.value
    _check_list(resource, change)
    present = _items(resource.own.get(change.name) or resource.effective(change.name))
    given = _items(change.value)
    if change.operation == APPEND:
        known = set(present)
        return ",".join(present + [item for item in given if item not in known])
    taken = set(given)
    return ",".join(item for item in present if item not in taken)


def _items(text: str) -> list[str]:
    return [trimmed(item) for item in text.split(",")] if text else []


def _canonical(resource: ConfigResource, name: str, text: str) -> str:
    """The text as it is shown and compared from now on: " TRUE " is "true" (IA-7)."""
    setting = resource.table.get(name)
    if setting is None:
        return text
    try:
        return render(parse(setting, text)) or ""
    except SettingError as error:  # a value from before, of a release whose bounds were wider
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
