"""Options of data sources, as users give them to Spark: every one must be known, and have a value that it can have."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from fakebroker.client.cluster.client_properties import OF_SECURITY, security_of
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.errors import InvalidArgument, nearest

T = TypeVar("T")

# What Spark puts among the options of a query by itself, and what has no meaning here.
_OF_SPARK: Final = ("checkpointLocation", "queryName", "path")
_KAFKA: Final = "kafka."
# Read as client properties: where they are passed over, a client would do other than asked.
_SECURITY: Final = tuple(f"{_KAFKA}{name}" for name in OF_SECURITY)
_REFUSED: Final = {
    "kafka.auto.offset.reset": "use the option startingOffsets",
    "kafka.enable.auto.commit": "the source commits no offsets",
    "kafka.interceptor.classes": "there is no Java client to run them",
    "kafka.key.deserializer": "keys are bytes; cast the column",
    "kafka.value.deserializer": "values are bytes; cast the column",
    "kafka.key.serializer": "keys are bytes; cast the column",
    "kafka.value.serializer": "values are bytes; cast the column",
    "kafka.transactional.id": "the sink writes without transactions",
}


class OptionError(InvalidArgument):
    """An option of the data source that does not exist, or has a value that it cannot have."""


def wrong(name: str, value: object, text: str) -> OptionError:
    """The error of an option."""
    return OptionError(name, value, text)


class Options:
    """Options as a user gave them, whatever their case; every one that is read must be known.

    `known` are the names that mean something here. Others are refused, but for settings of a Kafka client ("kafka."),
    which are passed over with one warning.
    """

    def __init__(self, given: Mapping[str, str], known: Sequence[str]) -> None:
        self._given = {name.lower(): value for name, value in given.items()}
        understood = {name.lower() for name in (*known, *_OF_SPARK)}
        unused = [name for name in self._given if name not in understood and not name.startswith(_SECURITY)]
        for name in unused:
            self._refuse(name, known)
        if unused:
            warnings.warn(f"the options {', '.join(sorted(unused))} are not used by fakebroker", stacklevel=2)

    def _refuse(self, name: str, known: Sequence[str]) -> None:
        value = self._given[name]
        if name in _REFUSED:
            raise wrong(name, value, f"the option {name} is not supported: {_REFUSED[name]}")
        if not name.startswith(_KAFKA):
            raise wrong(name, value, f"there is no option {name!r}; {nearest(name, known)}")

    def text(self, name: str) -> str | None:
        """The value of an option, None if it is not given."""
        return self._given.get(name.lower())

    def read(self, name: str, kind: Callable[[str], T], must: str, default: T) -> T:
        """The value as `kind` makes it. Raises OptionError that says what it `must` be."""
        value = self.text(name)
        if value is None:
            return default
        try:
            return kind(value)
        except ValueError:
            raise wrong(name, value, f"the option {name} is {value!r}; it must be {must}") from None

    def number(self, name: str, default: int, least: int = 0) -> int:
        """A whole number."""

        def number(value: str) -> int:
            if (found := int(value)) < least:
                raise ValueError
            return found

        return self.read(name, number, f"a whole number, {least} or more", default)

    def maybe_number(self, name: str, least: int = 1) -> int | None:
        """A whole number, None if it is not given."""
        return None if self.text(name) is None else self.number(name, 0, least)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        return self.choice(name, {"true": True, "false": False}, default)

    def choice(self, name: str, values: Mapping[str, T], default: T) -> T:
        """One of some values."""

        def chosen(value: str) -> T:
            if value.lower() not in values:
                raise ValueError
            return values[value.lower()]

        return self.read(name, chosen, " or ".join(values), default)

    def kafka(self) -> ClientConfig:
        """kafka.bootstrap.servers, which must be there, and how to connect: kafka.security.protocol and its kin."""
        value = self.text("kafka.bootstrap.servers")
        if not value:
            text = "the option kafka.bootstrap.servers is missing: HOST:PORT of one broker or several"
            raise wrong("kafka.bootstrap.servers", value, text)
        given = {name.removeprefix(_KAFKA): each for name, each in self._given.items() if name.startswith(_SECURITY)}
        try:
            return ClientConfig(value, security_of(given, "the options kafka.*"))
        except InvalidArgument as error:
            raise OptionError("kafka.security.protocol", None, str(error)) from None
