"""Powers of the object model by their names: "coordinator.move", with the arguments of each call on the way."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.protocol.errors import InvalidArgument, UnknownThing, nearest
from fakebroker.scenarios.playing.arguments import as_taken, signature_of

if TYPE_CHECKING:
    from fakebroker.testing.handles.broker_control import BrokerControl

Json = Any


def exert(
    target: "BrokerControl | Any", power: str, identity: Mapping[str, Json], arguments: Mapping[str, Json]
) -> Any:
    """Do what a power does, from `target` on; give what it gives.

    Arguments go to the calls by their names, those of `identity` to those on the way and, if none takes them, to the
    last. A property that is set has its own name as its argument. Raises UnknownThing for a power that there is not.
    """
    *way, last = power.replace("[]", "").split(".")
    left = dict(identity)
    for name in way:
        member = _member(target, name, power)
        target = _call(member, _taken(member, left)) if callable(member) else member
    if isinstance(getattr(type(target), last, None), property):
        if last in arguments:
            setattr(target, last, arguments[last])
            return None
        return getattr(target, last)
    member = _member(target, last, power)
    return _call(member, left | {name: as_taken(member, name, value) for name, value in arguments.items()})


def _member(target: Any, name: str, power: str) -> Any:
    if name.startswith("_") or not hasattr(target, name):
        known = [each for each in dir(target) if each[0] != "_"]
        raise UnknownThing("power", power, f"{power}: there is no {name!r}; {nearest(name, known)}")
    return getattr(target, name)


def _taken(function: Callable[..., Any], left: dict[str, Json]) -> dict[str, Json]:
    """The arguments of `left` that a call on the way has; they are used up."""
    return {name: left.pop(name) for name in signature_of(function).parameters if name in left}


def _call(function: Callable[..., Any], given: Mapping[str, Json]) -> Any:
    """Call by name; the argument of `*values` is a list."""
    signature = signature_of(function)
    many = [each.name for each in signature.parameters.values() if each.kind is each.VAR_POSITIONAL]
    values = [value for name in many for value in given.get(name, ())]
    named = {name: value for name, value in given.items() if name not in many}
    try:
        signature.bind(*values, **named)
    except TypeError as error:
        raise InvalidArgument("arguments", dict(given), f"{error}; given was {', '.join(given) or 'nothing'}") from None
    return function(*values, **named)
