"""Names of actors, from client ids and group instance ids."""

import re
from collections.abc import Collection

_OTHERS = re.compile(r"[^a-z0-9_-]+")


def free_name(wanted: str, taken: Collection[str]) -> str:
    """A name for an actor that is not among `taken`: small letters, digits, `_` and `-`."""
    name = _OTHERS.sub("_", wanted.lower()).strip("_-") or "member"
    if not name[0].isalpha():
        name = f"member_{name}"
    number, free = 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free
