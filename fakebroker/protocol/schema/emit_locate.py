"""Writes the locator of one message in one version: a walk over its bytes that notes where varying fields stand.

In the generated code `data` is the input, `p` the position and `found` the places. It is the decoder's straight line
without the values: what is not asked for is not read but passed over, so that of fixed-size fields only an offset is
left. The locator of OffsetCommitRequest v2 has in its inner loop

    found.append(FieldSpan(p + 4, 'q'))                 # CommittedOffset, behind the four bytes of PartitionIndex
    n7, = unpack_h(data, p + 12)                    # the length of CommittedMetadata
    ...

The bytes were decoded or encoded by us before, so nothing is checked here beyond what the walk itself needs.
"""

from fakebroker.protocol.schema.emit_decode import Decoder
from fakebroker.protocol.schema.message import Declaration, Message
from fakebroker.protocol.schema.source import FunctionSource
from fakebroker.protocol.schema.types import (
    COMPACT_LENGTH,
    FIXED_LENGTH,
    RECORDS,
    STRING,
    ArrayOf,
    FieldSpan,
    FieldSpec,
    Primitive,
)

_NOWHERE = "_"  # the target of values that nobody asks for


def write_locator(message: type[Message], version: int) -> FunctionSource:
    """The source of `locate(data, p) -> [FieldSpan, ...]`, in wire order."""
    source = FunctionSource(f"{message.__name__} v{version} locate")
    source.use("FieldSpan", FieldSpan)
    _Locator(source, version, message.flexible.includes(version), in_steps=False).function(message)
    return source


def has_varying_bytes(declaration: type[Declaration], version: int) -> bool:
    """Whether messages of that version may differ in length and be alike for all that."""
    for spec in declaration.fields:
        if spec.is_plain(version):
            kind = spec.type.element if isinstance(spec.type, ArrayOf) else spec.type
            if spec.varies and isinstance(kind, Primitive) and not kind.char:
                return True
            if isinstance(kind, type) and has_varying_bytes(kind, version):
                return True
    return False


def has_records(declaration: type[Declaration]) -> bool:
    """Whether messages have a field of type records, in any version."""
    kinds = [spec.type.element if isinstance(spec.type, ArrayOf) else spec.type for spec in declaration.fields]
    return any(kind is RECORDS or (isinstance(kind, type) and has_records(kind)) for kind in kinds)


class _Locator(Decoder):
    """Emits the walk. Lengths, arrays and nullable structs are the decoder's; values are passed over."""

    varies = False  # whether the field being written is declared so

    def function(self, message: type[Message]) -> None:
        self.source.add("def locate(data, p):")
        self.source.depth = 1
        self.source.add("found = []")
        self.struct(message, _NOWHERE, "")
        self.source.add("return found")

    def struct(self, declaration: type[Declaration], target: str, path: str) -> None:
        flexible = self.flexible
        for spec in declaration.fields:
            if spec.is_plain(self.version):
                self.flexible = flexible and spec.flexible
                self.field(spec, _NOWHERE, path + spec.kafka_name)
                self.flexible = flexible
        if flexible:
            self.tagged(declaration, target, {}, path)

    def field(self, spec: FieldSpec, target: str, path: str) -> None:
        self.varies = spec.varies
        super().field(spec, target, path)

    def inner(self, declaration: type[Declaration], target: str, path: str) -> None:
        self.struct(declaration, target, path + ".")

    def tagged(self, declaration: type[Declaration], target: str, values: dict[str, str], path: str) -> None:  # noqa: ARG002
        """The tagged section is passed over: nothing in it varies."""
        count = self.source.fresh("t")
        self.fixed("B", count, path + "tags")
        self.emit_advance()
        read = self.source.helper("read_tags")
        self.source.add(f"if {count}: {self.p} = {read}({count}, {self.data}, {self.p})[1]", path + "tags")

    def primitive(self, kind: Primitive, nullable: bool, target: str, path: str) -> None:
        if not kind.char:
            self.sized(kind, nullable, target, path)
            return
        if self.varies:
            self.source.add(f"found.append(FieldSpan({self.at(self.ahead)}, {kind.char!r}))", path)
        self.ahead += kind.size

    def sized(self, kind: Primitive, nullable: bool, target: str, path: str) -> None:  # noqa: ARG002
        n = self.source.fresh("n")
        less = self.length("h" if kind is STRING else "i", n, nullable, path, "string" if kind is STRING else "length")
        self.emit_advance()
        if nullable:
            self.source.add(f"if {n}{'' if self.flexible else ' >= 0'}:")
            self.source.depth += 1
        if less:
            self.source.add(f"{n} -= 1")
        if self.varies:
            length = COMPACT_LENGTH if self.flexible else FIXED_LENGTH
            self.source.add(f"found.append(FieldSpan({self.p}, f'{{{n}}}s', {length!r}))", path)
        self.source.add(f"{self.p} += {n}")
        if nullable:
            self.source.depth -= 1

    def numbers(self, element: Primitive, n: str, target: str, path: str) -> None:  # noqa: ARG002
        self.source.add(f"{self.p} += {n} * {element.size}", path)

    def elements(self, element: "Primitive | type[Declaration]", n: str, target: str, path: str) -> None:
        if isinstance(element, Primitive) and element.size:
            self.numbers(element, n, target, path)
            return
        self.source.add(f"for _ in range({n}):")
        self.source.depth += 1
        if isinstance(element, Primitive):
            self.sized(element, False, target, path + "[]")
        else:
            self.struct(element, target, path + "[].")
        self.emit_advance()
        self.source.depth -= 1
