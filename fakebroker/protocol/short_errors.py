"""Errors of the user's end in the user's line: the traceback of a public method's error has one frame of ours.

What a handle, a broker and its thread did on the way says nothing to whoever misspelt a topic; the message does. Bugs
of the broker, which are other exceptions, keep their whole traceback.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from fakebroker.protocol.errors import BrokerStopped, FakebrokerError, WrongCall, nearest

P = ParamSpec("P")
T = TypeVar("T")

# Other words for arguments that are named by their unit, too unlike it to be found by their spelling.
_UNITS = {"ms": ("milliseconds", "millis", "millisecond", "msec"), "s": ("seconds", "second", "secs", "sec")}

_SPECIAL = frozenset({"__init__", "__getitem__", "__iter__", "__len__", "__enter__", "__exit__"})


class ShortErrors:
    """A class whose public methods and properties raise errors of ours with a short traceback; so do its subclasses."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, member in list(vars(cls).items()):
            if _is_public(name):
                shortened = _shortened(member)
                if shortened is not member:
                    setattr(cls, name, shortened)


def short_errors(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with a short traceback in the errors that it raises."""

    @wraps(function)
    def public(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except FakebrokerError as error:
            raise _without_internals(error) from _cause_for_users(error)
        except TypeError as error:
            wrong = _wrong_call(function, args, kwargs, error)
            if wrong is None:
                raise
            raise wrong from None

    return public


def _wrong_call(
    function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object], error: TypeError
) -> WrongCall | None:
    """What is wrong of the call itself: a name that is no argument, or an argument that is missing.

    None for an error of what the function does, which has a further frame, and for what only Python can say.
    """
    if error.__traceback__ is None or error.__traceback__.tb_next is not None:
        return None
    name, parameters = function.__name__, list(inspect.signature(function).parameters.values())[1:]
    known = [each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY]
    for field, value in kwargs.items():
        if field not in known:
            return WrongCall(field, value, f"{name}() has no argument {field!r}; {_nearest_argument(field, known)}")
    by_place = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
    if len(args) - 1 > len(by_place):
        named = ", ".join(f"{each}=" for each in known if each not in by_place) or "nothing"
        value = args[1 + len(by_place)]
        return WrongCall(known[0] if known else name, value, f"{name}({value!r}): by name it takes {named}")
    given = {*by_place[: len(args) - 1], *kwargs}
    missing = [each.name for each in parameters if each.default is each.empty and each.name not in given]
    return WrongCall(missing[0], None, f"{name}() needs {' and '.join(map(_asked_for, missing))}") if missing else None


def _nearest_argument(field: str, known: Sequence[str]) -> str:
    """An argument of the same unit, or the nearest ones."""
    for unit, words in _UNITS.items():
        if unit in known and field.casefold() in words:
            return f"did you mean {unit!r}?"
    return nearest(field, known)


def _asked_for(field: str) -> str:
    """An argument that is missing; times with their unit."""
    return f"{field}=, a number of seconds" if field == "s" or field.endswith("_s") else f"{field}="


def _is_public(name: str) -> bool:
    return name in _SPECIAL or not name.startswith("_")


def _shortened(member: Any) -> Any:
    """A method or property that shortens; anything else as it is, and what shortens already."""
    if isinstance(member, property) and member.fget is not None:
        setter = None if member.fset is None else short_errors(member.fset)
        return property(short_errors(member.fget), setter, member.fdel, member.__doc__)
    is_plain = inspect.isfunction(member) and not inspect.iscoroutinefunction(member)
    return short_errors(member) if is_plain and not hasattr(member, "__isabstractmethod__") else member


def _without_internals(error: FakebrokerError) -> FakebrokerError:
    return error.with_traceback(None)


def _cause_for_users(error: FakebrokerError) -> BaseException | None:
    """What is behind a broker that has stopped by itself is worth its place; other causes are ours."""
    return error.__cause__ if isinstance(error, BrokerStopped) else None
