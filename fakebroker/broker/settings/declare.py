"""How a setting is declared, and what turns its text into a value and back."""

from collections.abc import Callable
from typing import NamedTuple

from fakebroker.protocol.errors import SettingError
from fakebroker.protocol.java_text import trimmed
from fakebroker.protocol.schema.runtime import MAX_STRING_BYTES

# Kafka's types of a setting; the numbers are those of DescribeConfigs' config_type.
BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD = range(1, 10)
TYPE_NAMES = ("", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")

READ_ONLY = "read-only"  # fixed at start
PER_BROKER = "per-broker"  # may be altered for one broker at run time
CLUSTER_WIDE = "cluster-wide"  # may be altered for one broker or for all at run time

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
_BITS = {INT: 32, SHORT: 16, LONG: 64}
_DOUBLE = r"[-+]?(NaN|Infinity|(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?[fFdD]?)"  # as Java reads it, in decimal

Value = bool | int | float | str | tuple[str, ...] | None


class Range(NamedTuple):
    """Numbers from `low` to `high`, both allowed; None is no bound. `also` is allowed beside them."""

    low: float
    high: float | None = None
    also: int | None = None

    def __str__(self) -> str:
        text = f"at least {self.low}" if self.high is None else f"{self.low} to {self.high}"
        return text if self.also is None else f"{text}, or {self.also}"


class OneOf(NamedTuple):
    """One of these words (each element of a list, which may be empty unless `needs_one`).

    Case matters unless `any_case`.
    """

    words: tuple[str, ...]
    any_case: bool = False
    needs_one: bool = False

    def __str__(self) -> str:
        return ", ".join(self.words) + (" (in any case)" if self.any_case else "")


class Form(NamedTuple):
    """A text of a certain form, given as a regular expression; `description` says it in words.

    Its classes, such as digits, are those of ASCII, as in Java. `read` raises ValueError for a text of this form that
    cannot be read, such as a number that is too large.
    """

    pattern: str
    description: str
    read: Callable[[str], object] | None = None

    def has(self, text: str) -> bool:
        """Whether the text has this form, and can be read."""
        import re

        if not re.fullmatch(self.pattern, text, re.ASCII):
            return False
        try:
            if self.read is not None:
                self.read(text)
        except ValueError:
            return False
        return True

    def __str__(self) -> str:
        return self.description


Allowed = Range | OneOf | Form | None


class Setting(NamedTuple):
    """One setting: Kafka's name, type and default, the values it may have, when it may be altered, what it does.

    `has_effect` is False where a mock has no use for the setting: it is validated and described, and does nothing.
    `broker_name` of a topic or group setting is the broker setting that gives its default.
    """

    name: str
    type: int
    default: Value
    allowed: Allowed
    update: str
    description: str
    has_effect: bool = False
    broker_name: str | None = None
    internal: bool = False  # settable, but not listed by DescribeConfigs unless it is set (DC-1)
    of_plugin: bool = False  # not defined by Kafka but read by its authorizer: DescribeConfigs hides type and value
    of_new_listeners: bool = False  # altered, it counts for listeners that begin later

    @property
    def is_fixed(self) -> bool:
        """Whether it has no effect if it is altered while the broker runs."""
        return self.update == READ_ONLY or self.of_new_listeners

    @property
    def unit(self) -> str:
        """The unit of a number, from the last word of its name; empty when it is a plain number."""
        if self.type not in (INT, SHORT, LONG, DOUBLE):
            return ""
        if self.name.endswith(".bytes.per.second"):
            return "bytes per second"
        return _UNITS.get(self.name.rpartition(".")[2], "")


_UNITS = {"ms": "ms", "secs": "seconds", "seconds": "seconds", "minutes": "minutes", "hours": "hours", "bytes": "bytes"}


def parse(setting: Setting, text: str) -> Value:
    """The value that `text` means. Raises SettingError when it has the wrong type or is out of bounds (IA-7)."""
    text = trimmed(text)
    if (size_bytes := len(text.encode())) > MAX_STRING_BYTES:  # neither a record nor an answer can have it
        raise SettingError(f"{setting.name}: a value of {size_bytes} bytes exceeds the limit of {MAX_STRING_BYTES}")
    value = _convert(setting, text)
    problem = _problem(setting.allowed, value)
    if problem is not None:
        raise SettingError(f"{setting.name}: {problem!r} is not allowed; allowed: {setting.allowed}")
    return value


def render(value: Value) -> str | None:
    """The text of a value as Kafka writes it (DC-4); None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    return _double(value) if isinstance(value, float) else str(value)


def to_text(value: object) -> str:
    """The text form of a value given in Python or YAML: True is "true", a list is joined by commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return str(value)


def _convert(setting: Setting, text: str) -> Value:
    if setting.type == BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise SettingError(f"{setting.name}: {text!r} is neither true nor false")
        return text.lower() == "true"
    if setting.type in _BITS:
        return _whole(setting, text)
    if setting.type == DOUBLE:
        return _fraction(setting, text)
    return _list(setting, text) if setting.type == LIST else text


def _list(setting: Setting, text: str) -> tuple[str, ...]:
    """The elements, each once."""
    items = tuple(dict.fromkeys(trimmed(item) for item in text.split(","))) if text else ()
    if "" in items:
        raise SettingError(f"{setting.name}: {text!r} has an empty element")
    return items


def _whole(setting: Setting, text: str) -> int:
    try:
        number = int(text) if "_" not in text and text == text.strip() else None  # `int` strips what Java does not
    except ValueError:
        number = None
    kind = TYPE_NAMES[setting.type]
    if number is None:
        raise SettingError(f"{setting.name}: {text!r} is not a number of type {kind}")
    if not -(1 << _BITS[setting.type] - 1) <= number < 1 << _BITS[setting.type] - 1:
        raise SettingError(f"{setting.name}: {number} does not fit the type {kind}")
    return number


def _fraction(setting: Setting, text: str) -> float:
    import re

    if not re.fullmatch(_DOUBLE, text, re.ASCII):
        raise SettingError(f"{setting.name}: {text!r} is not a number of type double")
    return float(text.rstrip("fFdD"))


def _problem(allowed: Allowed, value: Value) -> object:
    """The part of `value` that `allowed` does not allow, or None."""
    if allowed is None:
        return None
    if isinstance(allowed, Range):
        assert isinstance(value, (int, float))
        inside = value >= allowed.low and (allowed.high is None or value <= allowed.high)
        return None if inside or value == allowed.also else value
    items = value if isinstance(value, tuple) else (str(value),)
    if isinstance(allowed, OneOf):
        if allowed.needs_one and not items:
            return ""
        words = {word.lower() for word in allowed.words} if allowed.any_case else allowed.words
        return next((item for item in items if (item.lower() if allowed.any_case else item) not in words), None)
    return next((item for item in items if not allowed.has(item)), None)


def _double(value: float) -> str:
    """As Java prints it: 0.5, 1.7976931348623157E308, Infinity."""
    text = repr(value).replace("inf", "Infinity").replace("nan", "NaN")
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"
