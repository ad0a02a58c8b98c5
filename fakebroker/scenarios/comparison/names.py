"""The names of a dialogue: values that differ from run to run, saved when they appear and referred to later."""

import re
from typing import Any

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
    """The value at a path like "Members.0.MemberId". Raises LookupError when it leads nowhere."""
    for word in path.split("."):
        value = value[int(word)] if isinstance(value, list) else value[word]
    return value
