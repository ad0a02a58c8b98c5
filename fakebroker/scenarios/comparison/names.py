"""The names of a dialogue: values that differ from run to run, saved when they appear and referred to later."""

import re
from collections.abc import Mapping
from typing import Any

from fakebroker.protocol.errors import UnknownThing

_RELATIVE_TIME = re.compile(r"now([+-]\d+)")


class Names:
    """Saved values by name, and the tag that stands for "~" in group, topic and transactional ids."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self._values: dict[str, Any] = {}

    def save(self, name: str, value: Any) -> None:
        """Remember `value`, to be written "$name"."""
        self._values[name] = value

    def fill(self, value: Any, wall_ms: int) -> Any:
        """A copy of `value` (JSON data) with "$name", "~" and "now-5000" replaced by this run's values, in keys, too.

        "now" is `wall_ms`, a time in milliseconds since the epoch.
        """
        if isinstance(value, str):
            return self._fill_text(value, wall_ms)
        if isinstance(value, dict):
            return {self.fill(key, wall_ms): self.fill(inner, wall_ms) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.fill(inner, wall_ms) for inner in value]
        return value

    def _fill_text(self, text: str, wall_ms: int) -> Any:
        if relative := _RELATIVE_TIME.fullmatch(text):
            return wall_ms + int(relative[1])
        if text.startswith("$") and text[1:] in self._values:
            return self._values[text[1:]]
        return text.replace("~", self.tag)


def value_at(value: Any, path: str) -> Any:
    """What stands at a path: "Members.0.MemberId". Raises UnknownThing, which says how far it leads."""
    at = value
    for index, part in enumerate(path.split(".")):
        by_text = {str(key): each for key, each in at.items()} if isinstance(at, Mapping) else {}
        if isinstance(at, list | tuple) and part.isdigit() and int(part) < len(at):
            at = at[int(part)]
        elif part in by_text:
            at = by_text[part]
        else:
            where = ".".join(path.split(".")[:index]) or "the answer"
            if isinstance(at, Mapping):
                text = f"{where} has {', '.join(by_text) or 'no fields'}"
            else:
                text = f"{where} has {len(at)} elements" if isinstance(at, list | tuple) else f"{where} is {at!r}"
            raise UnknownThing(path, part, f"{path}: {part!r} is missing: {text}")
    return at
