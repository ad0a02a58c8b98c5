"""Arguments as steps of clients and powers of brokers take them, once what was saved stands in its places."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from fakebroker.protocol.arguments.structures import partition_of
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.scenarios.playing.raw_requests import as_record

Json = Any


def as_taken(name: str, value: Json) -> Any:
    """An argument as the method takes it: partitions as topic and number, records by their fields.

    Where a scenario writes "orders-0" itself that is done when it is read; what was saved has texts. Raises
    InvalidArgument for what names no partition.
    """
    if name == "offsets" and isinstance(value, Mapping):
        return _by_partition(value)
    if name == "partitions" and isinstance(value, list | tuple):
        return [_partition(each) for each in value]
    if name == "records" and isinstance(value, list):
        return [as_record(each) for each in value]
    return value


def signature_of(method: Callable[..., Any]) -> inspect.Signature:
    """What a bound method takes; looked at once for all objects of a class."""
    function = getattr(method, "__func__", None)
    return inspect.signature(method) if function is None else _signature_without_self(function)


@cache
def _signature_without_self(function: Callable[..., Any]) -> inspect.Signature:
    whole = inspect.signature(function)
    return whole.replace(parameters=list(whole.parameters.values())[1:])


def _by_partition(table: Mapping[Any, Json]) -> dict[tuple[str, int], Json]:
    """A table by topic and partition, from "orders-0" or from tables of tables by topic."""
    found: dict[tuple[str, int], Json] = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and isinstance(key, str):
            found |= {(key, int(index)): each for index, each in value.items()}
        else:
            found[_partition(key)] = value
    return found


def _partition(value: Json) -> tuple[str, int]:
    if not isinstance(value, str):
        return tuple(value)
    try:
        return partition_of(value)
    except ValueError:
        text = f"partition: should be a topic and a partition, such as orders-0, not {value!r}"
        raise InvalidArgument("partition", value, text) from None
