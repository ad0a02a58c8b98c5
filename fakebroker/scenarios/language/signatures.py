"""Arguments of steps and powers, from signatures: the keys under which a scenario gives them, and their kinds."""

import inspect
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fakebroker.protocol.arguments.kinds import Kind
from fakebroker.protocol.arguments.signatures import data_kind
from fakebroker.protocol.arguments.structures import ListOf
from fakebroker.scenarios.language.kinds import MOMENT_MS, Duration

MOMENTS = ("timestamp_ms",)  # ends in a unit, but is a time of day


class Argument(NamedTuple):
    """One key of a step, and the argument of the call that it gives."""

    key: str
    kind: Kind
    parameter: str
    is_required: bool = False
    about: str = ""


def arguments_of(parameters: Iterable[inspect.Parameter], leave_out: Sequence[str] = ()) -> list[Argument]:
    """The keys for the arguments of a call, in their order.

    One whose name ends in a unit of time has a second key without the unit, for a duration: `session_timeout: 10s`.
    """
    found: list[Argument] = []
    for parameter in parameters:
        name = parameter.name
        if name in leave_out or parameter.kind is parameter.VAR_KEYWORD:
            continue
        kind = data_kind(parameter.annotation)
        if kind is None:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            found.append(Argument(name, ListOf(kind, 1), name, is_required=name == "values"))
            continue
        is_required = parameter.default is parameter.empty
        found.append(Argument(name, kind, name, is_required))
        found += with_duration(name, is_required, kind)
    return found


def with_duration(name: str, is_required: bool, of: Kind) -> list[Argument]:
    """The second key of an argument in milliseconds or seconds."""
    stem, _, unit = name.rpartition("_")
    if not stem or unit not in ("ms", "s") or "per" in stem.split("_"):
        return []
    kind = MOMENT_MS if name in MOMENTS else Duration(of, 1 if unit == "ms" else 1000)
    return [Argument(stem, kind, name, is_required)]
