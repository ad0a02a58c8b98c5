"""Errors of the user's end in the user's line: the traceback of a public method's error has one frame of ours.

What a handle, a broker and its thread did on the way says nothing to whoever misspelt a topic; the message does. Bugs
of the broker, which are other exceptions, keep their whole traceback.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from fakebroker.protocol.errors import BrokerStopped, FakebrokerError

P = ParamSpec("P")
T = TypeVar("T")

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

    return public


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
