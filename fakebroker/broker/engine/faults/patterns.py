"""Texts that name several things: APIs as "Heartbeat|Offset*", versions as "3-5"."""

from collections.abc import Iterable

from fakebroker.protocol.errors import WHERE_APIS, InvalidArgument, nearest
from fakebroker.protocol.wildcards import MAX_LENGTH, is_like


def parts_of(field: str, value: object) -> list[str]:
    """The parts of a text such as 'A|B'. Raises InvalidArgument for what is none."""
    if isinstance(value, str) and len(value) > MAX_LENGTH:
        raise InvalidArgument(field, value, f"{field}: has {len(value):,} characters, more than {MAX_LENGTH:,}")
    parts = [part.strip() for part in value.split("|")] if isinstance(value, str) else []
    if not parts or not all(parts):
        raise InvalidArgument(field, value, f"{field}: should be a text such as 'A|B', not {value!r}")
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
        matching = [name for name in known if is_like(name.casefold(), part.casefold())]
        if not matching:
            hint = nearest(part, known, WHERE_APIS)
            raise kind(field, pattern, f"{field}: there is no API {part!r}{here}; {hint}")
        found |= dict.fromkeys(matching)
    return tuple(found)


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
