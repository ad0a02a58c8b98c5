"""The values that the fields of a fault may have. Every check raises InvalidArgument: field, value, what is right."""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase, translate

from fakebroker.protocol.arguments import LONGEST_S
from fakebroker.protocol.errors import WHERE_APIS, InvalidArgument, nearest

Check = Callable[[str, object], None]


def parts_of(field: str, value: object) -> list[str]:
    """The parts of a text such as 'A|B'. Raises InvalidArgument for what is none."""
    parts = [part.strip() for part in value.split("|")] if isinstance(value, str) else []
    if not parts or not all(parts):
        raise InvalidArgument(field, value, f"{field} is a text such as 'A|B', not {value!r}")
    return parts


def api_names(
    field: str, pattern: str, known: Iterable[str], kind: type[InvalidArgument] = InvalidArgument, here: str = ""
) -> tuple[str, ...]:
    """The APIs of those `known` that a pattern as "OffsetCommit|Fetch|*Group" names, in the order of the pattern.

    Raises `kind` for a part that names none; `here` ends what the message says that there is not.
    """
    known = tuple(known)
    parts = parts_of(field, pattern)
    found: dict[str, None] = {}
    for part in parts:
        matching = [name for name in known if fnmatchcase(name.casefold(), part.casefold())]
        if not matching:
            hint = nearest(part, known, WHERE_APIS)
            raise kind(field, pattern, f"{field}: there is no API {part!r}{here}; {hint}")
        found |= dict.fromkeys(matching)
    return tuple(found)


def text(field: str, value: object) -> None:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise InvalidArgument(field, value, f"{field} is a text, not {value!r}")


def name_pattern(field: str, value: object) -> None:
    """A name, perhaps with wildcards, that something can have."""
    text(field, value)
    if "(?!)" in translate(str(value)):  # what an empty range of characters, such as [z-a], becomes
        raise InvalidArgument(field, value, f"{field}={value!r} matches no name: it has an empty range of characters")


def function(field: str, value: object) -> None:
    """Something of Python's that can be called."""
    if not callable(value):
        raise InvalidArgument(field, value, f"{field} is a function, not {value!r}")


def whole(least: int, most: int = 2**31 - 1) -> Check:
    """A whole number in a range."""

    def check(field: str, value: object) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise InvalidArgument(field, value, f"{field} is a whole number from {least} to {most}, not {value!r}")

    return check


def seconds(field: str, value: object) -> None:
    """A time in seconds that is not negative."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= LONGEST_S:  # nan is not
        raise InvalidArgument(field, value, f"{field} is a time in seconds from 0 to {LONGEST_S}, not {value!r}")


def share(field: str, value: object) -> None:
    """A probability: above 0, and at most 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise InvalidArgument(field, value, f"{field} is a number above 0 and up to 1, not {value!r}")


def one_of(names: Iterable[str]) -> Check:
    """One of some texts."""
    names = tuple(names)

    def check(field: str, value: object) -> None:
        if value not in names:
            raise InvalidArgument(field, value, f"{field} cannot be {value!r}: {nearest(value, names)}")

    return check


def versions(field: str, value: object) -> None:
    """A version, or a range of them as a text: "3-5", "3+"."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InvalidArgument(field, value, f"{field} is a number or a range such as '3-5', not {value!r}")
    first, last = version_range(value)
    if not 0 <= first <= last:
        raise InvalidArgument(field, value, f"{field} is a number or a range such as '3-5' or '3+', not {value!r}")


def version_range(value: int | str) -> tuple[int, int]:
    """The first and the last version; (-1, -1) for a text that says none."""
    if isinstance(value, int):
        return value, value
    first, separator, last = value.removesuffix("+").partition("-")
    try:
        if value.endswith("+"):
            return int(first), 32767
        return int(first), int(last) if separator else int(first)
    except ValueError:
        return -1, -1
