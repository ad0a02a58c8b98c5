"""Arguments as steps of clients and powers of brokers take them, once what was saved stands in its places."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from os import PathLike
from typing import Any

from fakebroker.protocol.arguments import signatures
from fakebroker.protocol.arguments.forms import PYTHON
from fakebroker.protocol.arguments.kinds import PATH, Kind, WrongValue
from fakebroker.protocol.arguments.structures import ListOf, OneOf
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.scenarios.language.kinds import YamlForm

Json = Any


class _SavedForm(YamlForm):
    """Saved values are the data of a scenario; what was read from its file stands beside them and is made already."""

    def leaves(self, value: object) -> bool:
        return not isinstance(value, str | int | float | list | Mapping | None)

    def partition(self, value: Any) -> tuple[str, int]:
        return PYTHON.partition(value) if isinstance(value, tuple) else super().partition(value)


_SAVED = _SavedForm()


def as_taken(method: Callable[..., Any], name: str, value: Json) -> Any:
    """An argument as the signature of the method has it: partitions as topic and number, records by their fields.

    Raises InvalidArgument for a value that is not of its kind. A text is never the path of a file: whoever may play a
    scenario may not read the files of this machine.
    """
    argument = signatures.signature_of(_function(method)).arguments.get(name)
    if argument is None:
        return value
    if names_file(argument.kind):
        if isinstance(value, str | bytes | PathLike):
            raise InvalidArgument(name, value, f"{name}: {value!r} was not saved by a step; a scenario names no files")
        return value
    kind = ListOf(argument.kind) if argument.is_many else argument.kind
    try:
        return kind.read(value)
    except WrongValue:
        pass
    try:
        return kind.read(value, _SAVED)
    except WrongValue as wrong:
        raise wrong.of(name) from None


def names_file(kind: Kind) -> bool:
    """Whether an argument of this kind may be the path of a file."""
    return kind is PATH or (isinstance(kind, OneOf) and any(map(names_file, kind.kinds)))


def signature_of(method: Callable[..., Any]) -> inspect.Signature:
    """What a bound method takes; looked at once for all objects of a class."""
    function = getattr(method, "__func__", None)
    return inspect.signature(method) if function is None else _signature_without_self(function)


@cache
def _signature_without_self(function: Callable[..., Any]) -> inspect.Signature:
    whole = inspect.signature(function)
    return whole.replace(parameters=list(whole.parameters.values())[1:])


def _function(method: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a bound method."""
    function: Callable[..., Any] = getattr(method, "__func__", method)
    return function
