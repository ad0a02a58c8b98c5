"""From a declaration to functions: constructors per class, codecs per (message, version)."""

from typing import Any

from fakebroker.protocol.schema.emit_decode import write_decoder
from fakebroker.protocol.schema.emit_encode import write_encoder
from fakebroker.protocol.schema.emit_locate import write_locator
from fakebroker.protocol.schema.message import ABSENT, Message, Struct
from fakebroker.protocol.schema.source import FunctionSource
from fakebroker.protocol.schema.types import ArrayOf


def make_decoder(message: type[Message], version: int) -> Any:
    """A function (data, position) -> (message, end position)."""
    return write_decoder(message, version).compile("decode")


def make_stepwise_decoder(message: type[Message], version: int) -> Any:
    """A generator function (data, position) that yields between its steps and returns (message, end position)."""
    return write_decoder(message, version, in_steps=True).compile("decode")


def make_locator(message: type[Message], version: int) -> Any:
    """A function (data, position) -> the places of the varying fields."""
    return write_locator(message, version).compile("locate")


def make_encoder(message: type[Message], version: int) -> Any:
    """A function (message) -> bytes."""
    return write_encoder(message, version).compile("encode")


def make_piecer(message: type[Message], version: int) -> Any:
    """A function (message) -> the pieces that its bytes are joined of."""
    return write_encoder(message, version, joined=False).compile("encode")


def make_stepwise_encoder(message: type[Message], version: int) -> Any:
    """A generator function (message) that yields between its steps and returns the pieces."""
    return write_encoder(message, version, joined=False, in_steps=True).compile("encode")


def make_constructor(cls: type[Struct]) -> None:
    """Gives the class a constructor with a keyword parameter per field."""
    source = FunctionSource(f"{cls.__module__}.{cls.__name__} constructor")
    names = []
    for spec in cls.fields:
        source.use(f"default_{spec.name}", ABSENT if spec.is_mutable else spec.default)
        names.append(f"{spec.name}=default_{spec.name}")
    star = "*, " if names else ""
    source.add(f"def __init__(self, {star}{', '.join(names)}):")
    source.depth = 1
    source.add("pass")
    for spec in cls.fields:
        value = spec.name
        if spec.is_mutable:
            fresh = "[]" if isinstance(spec.type, ArrayOf) else f"fresh_{spec.name}()"
            value = f"{fresh} if {spec.name} is ABSENT else {spec.name}"
            source.use(f"fresh_{spec.name}", spec.fresh_default)
            source.use("ABSENT", ABSENT)
        source.add(f"self.{spec.name} = {value}")
    constructor = source.compile("__init__")
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = constructor  # type: ignore[method-assign]
