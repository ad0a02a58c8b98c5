"""Errors of the user's end in the user's line: the traceback of a public method's error has one frame of ours.

What a handle, a broker and its thread did on the way says nothing to whoever misspelt a topic; the message does. Bugs
of the broker, which are other exceptions, keep their whole traceback.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar, ParamSpec, TypeVar

from fakebroker.protocol.arguments.signatures import missing_argument, signature_of, unknown_argument
from fakebroker.protocol.errors import BrokerStopped, FakebrokerError, WrongCall

P = ParamSpec("P")
T = TypeVar("T")

_SPECIAL = frozenset({"__init__", "__getitem__", "__iter__", "__len__", "__enter__", "__exit__"})


class ShortErrors:
    """A class whose public methods and properties raise errors of ours with a short traceback; so do its subclasses.

    Where the methods are powers of a broker, their arguments are checked as their signatures declare them.
    """

    _has_powers: ClassVar[bool] = False
    _special_powers: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, member in list(vars(cls).items()):
            if _is_public(name):
                shortened = _shortened(
                    member, cls._has_powers and (name not in _SPECIAL or name in cls._special_powers)
                )
                if shortened is not member:
                    setattr(cls, name, shortened)


def short_errors(function: Callable[P, T], is_power: bool = False) -> Callable[P, T]:
    """The function, with a short traceback in the errors that it raises; a power checks its arguments before."""
    has_arguments = is_power and function.__code__.co_argcount + function.__code__.co_kwonlyargcount > 1
    checks = has_arguments or (is_power and bool(function.__code__.co_flags & inspect.CO_VARARGS))

    @wraps(function)
    def public(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            if checks:
                signature_of(function).check(args[1:], kwargs)
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
    signature, name = signature_of(function), function.__name__
    parameters = list(inspect.signature(function).parameters.values())[1:]
    known = [each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY]
    for field, value in kwargs.items():
        if field not in known:
            return WrongCall(field, value, f"{field}: {unknown_argument(name, field, known)}")
    by_place = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
    if len(args) - 1 > len(by_place):
        named = ", ".join(f"{each}=" for each in known if each not in by_place) or "nothing"
        value = args[1 + len(by_place)]
        return WrongCall(known[0] if known else name, value, f"{name}({value!r}): arguments must be named: {named}")
    given = {*by_place[: len(args) - 1], *kwargs}
    for each in parameters:
        if each.default is each.empty and each.name not in given:
            kind = signature.arguments[each.name].kind
            return WrongCall(each.name, None, f"{each.name}: {missing_argument(name, kind)}")
    return None


def _is_public(name: str) -> bool:
    return name in _SPECIAL or not name.startswith("_")


def _shortened(member: Any, is_power: bool) -> Any:
    """A method or property that shortens; anything else as it is, and what shortens already."""
    if isinstance(member, property) and member.fget is not None:
        setter = None if member.fset is None else short_errors(member.fset, is_power)
        return property(short_errors(member.fget), setter, member.fdel, member.__doc__)
    is_plain = inspect.isfunction(member) and not inspect.iscoroutinefunction(member)
    return short_errors(member, is_power) if is_plain and not hasattr(member, "__isabstractmethod__") else member


def _without_internals(error: FakebrokerError) -> FakebrokerError:
    return error.with_traceback(None)


def _cause_for_users(error: FakebrokerError) -> BaseException | None:
    """What is behind a broker that has stopped by itself is worth its place; other causes are ours."""
    return error.__cause__ if isinstance(error, BrokerStopped) else None
