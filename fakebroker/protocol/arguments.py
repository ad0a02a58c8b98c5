"""Checks of arguments whose wrong type would go unnoticed, or fail far from the call and about something else.

Each raises InvalidArgument, which names the argument and its value. Limits that the broker knows are checked there.
"""

import os
from collections.abc import Iterable, Mapping

from fakebroker.protocol.errors import InvalidArgument, nearest, wrong_name

LONGEST_S = 10**9  # of times in seconds, some thirty years: what is longer was meant to be milliseconds


def check_text(field: str, value: object) -> None:
    """A text."""
    if not isinstance(value, str):
        raise InvalidArgument(field, value, f"{field}={value!r} is not a text")


def check_options(what: str, given: Mapping[str, object], known: Iterable[str]) -> None:
    """Options by their names."""
    known = tuple(known)
    for name, value in given.items():
        if name not in known:
            raise InvalidArgument(name, value, f"{what} has no option {name!r}; {nearest(name, known)}")


def check_one_of(
    field: str, value: object, names: Iterable[str], where: str = "", error: type[InvalidArgument] = InvalidArgument
) -> None:
    """One of some names; `where` says where all of them are. What is wrong raises `error` with the nearest ones."""
    names = tuple(names)
    if value not in names:
        raise error(field, value, wrong_name(field, value, names, where))


def check_whole(field: str, value: object, least: int | None = None) -> None:
    """A whole number, not below `least`; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        limit = "" if least is None else f", {least} or more"
        raise InvalidArgument(field, value, f"{field}={value!r} is not a whole number{limit}")


def check_settings(field: str, value: object) -> None:
    """Settings by their names."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        what = 'settings by their Kafka names: {"retention.ms": 1000}'
        raise InvalidArgument(field, value, f"{field}={value!r} is not {what}")


def check_users(value: object) -> dict[str, str]:
    """Passwords by user, None for none. An error does not contain the passwords."""
    users = {} if value is None else value
    if not isinstance(users, Mapping) or not all(isinstance(text, str) for pair in users.items() for text in pair):
        raise InvalidArgument("users", "(passwords)", 'users is not passwords by user: {"alice": "secret"}')
    for name, password in users.items():
        check_user(name, password)
    return dict(users)


def check_user(name: str, password: str) -> None:
    """A user and its password, which no mechanism lets be empty. An error does not contain the password."""
    check_text("name", name)
    if not name:
        raise InvalidArgument("name", name, "name is empty; it is that of a user")
    if not isinstance(password, str) or not password:
        raise InvalidArgument("password", "(password)", f"password of {name!r} is not a text with something in it")


def check_partitions(field: str, value: object) -> None:
    """Partitions, each as its topic and number; or a mapping of such."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidArgument(field, value, f'{field}={value!r} is no list of topics and partitions: [("orders", 0)]')
    for each in value:
        match each:
            case (str(), int()):
                pass
            case _:
                raise InvalidArgument(field, value, f'{field}: {each!r} is not a topic and a partition: ("orders", 0)')


def check_offsets(field: str, value: object) -> None:
    """Offsets by topic and partition; there may be none."""
    if not isinstance(value, Mapping):
        raise InvalidArgument(field, value, f"{field}={value!r} has no offset by topic and partition")
    check_partitions(field, value)
    for key, offset in value.items():
        if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset < 1 << 63:
            raise InvalidArgument(field, value, f"{field}: {offset!r} of {key!r} is not an offset, 0 or more")


def check_path(field: str, value: object) -> None:
    """The path of a file. `open` takes a number for an open file and closes it, perhaps a socket of the broker."""
    if not isinstance(value, str | os.PathLike):
        raise InvalidArgument(field, value, f"{field}={value!r} is not the path of a file")


def check_timeout_s(timeout_s: float, field: str = "timeout_s") -> None:
    """A number of seconds, 0 or more; infinite is for ever."""
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not timeout_s >= 0:
        text = f"{field}={timeout_s!r} is not a number of seconds, 0 or more"
        raise InvalidArgument(field, timeout_s, text)
