"""What steps save by name, and later steps use as "$name"."""

from collections.abc import Callable, Mapping
from typing import Any

from fakebroker.protocol.errors import UnknownThing, nearest
from fakebroker.scenarios.comparison.names import value_at

Json = Any


class SavedValues:
    """The saved values of one play. "$$" at the beginning of a text stands for a single "$"."""

    def __init__(self, others: Callable[[str], Json] = lambda _name: None) -> None:
        """`others` gives what has a name without having been saved, None for nothing: "$a.member_id" of an actor."""
        self._values: dict[str, Json] = {}
        self._others = others

    def save(self, name: str, value: Json) -> None:
        """Keep a value; one of that name before it is forgotten."""
        self._values[name] = value

    def filled(self, value: Json) -> Json:
        """A value with what was saved in place of the texts that begin with "$".

        "$first.member_id" is a part of what was saved. Raises UnknownThing for what no step has saved.
        """
        if isinstance(value, str) and value.startswith("$"):
            return value[1:] if value.startswith("$$") else self._value(value[1:])
        if isinstance(value, Mapping):
            return {self.filled(key): self.filled(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.filled(each) for each in value] if isinstance(value, list) else value
        return value

    def _value(self, text: str) -> Json:
        name, _, path = text.partition(".")
        value = self._values[name] if name in self._values else self._others(name)
        if value is None and name not in self._values:
            raise UnknownThing(
                "$" + text, text, f"${text}: no step has saved {name!r}; {nearest(name, list(self._values))}"
            )
        return value_at(value, path) if path else value
