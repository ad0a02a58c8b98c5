"""Checks of single values, for code that is no power of a broker. Each raises InvalidArgument.

It names the argument and its value, in the words of the kinds.
"""

from collections.abc import Iterable, Mapping

from fakebroker.protocol.arguments.kinds import NAME, SCALAR, TEXT, WHOLE, Choice, Kind, Whole, WrongValue
from fakebroker.protocol.arguments.signatures import unknown_argument
from fakebroker.protocol.arguments.structures import PARTITION, ListOf, SecretTable, TableOf
from fakebroker.protocol.errors import InvalidArgument, WrongCall, wrong_name

_PASSWORDS, _PARTITIONS, _SETTINGS = SecretTable(), ListOf(PARTITION), TableOf(SCALAR)


def check(field: str, value: object, kind: Kind) -> None:
    """A value of a kind."""
    try:
        kind.read(value)
    except WrongValue as wrong:
        raise wrong.of(field) from None


def check_text(field: str, value: object) -> None:
    """A text."""
    check(field, value, TEXT)


def check_options(what: str, given: Mapping[str, object], known: Iterable[str]) -> None:
    """Options by their names."""
    known = tuple(known)
    for name, value in given.items():
        if name not in known:
            raise WrongCall(name, value, f"{name}: {unknown_argument(what, name, known)}")


def check_one_of(
    field: str, value: object, names: Iterable[str], where: str = "", error: type[InvalidArgument] = InvalidArgument
) -> None:
    """One of some names; `where` says where all of them are. What is wrong raises `error` with the nearest ones."""
    if value is None:
        raise error(field, value, wrong_name(field, value, names, where))
    check(field, value, Choice(names, where, error))


def check_whole(field: str, value: object, least: int | None = None) -> None:
    """A whole number, not below `least`; True and False are none."""
    check(field, value, WHOLE if least is None else Whole(least))


def check_settings(field: str, value: object) -> None:
    """Settings by their names."""
    check(field, value, _SETTINGS)


def check_users(value: object) -> dict[str, str]:
    """Passwords by user, None for none. An error does not contain the passwords."""
    users: Mapping[str, str] = value if isinstance(value, Mapping) else {}
    if value is not None:
        check("users", value, _PASSWORDS)
    for name in users:
        check("name", name, NAME)
    return dict(users)


def check_partitions(field: str, value: object) -> None:
    """Partitions, each as its topic and number; or a mapping of such."""
    check(
        field, list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else value, _PARTITIONS
    )
