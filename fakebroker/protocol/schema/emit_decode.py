"""Writes the decoder of one message in one version: a straight line of reads.

In the generated code `data` is the input and `p` the position. The decoder of HeartbeatRequest v0 is

    def decode(data, p):
        o = new(HeartbeatRequest)
        n1, = unpack_h(data, p)                         # the length of group_id, an int16
        if n1 < 0: raise null_error()
        e = p + 2 + n1
        o.group_id = data[p + 2:e].decode("utf-8", "fakebroker.replaced")
        p = e
        o.generation_id, n2 = unpack_ih(data, p)        # two fixed-size values, one call
        ...

Three things make it fast, and the emitter (`Decoder`) keeps a piece of state for each:

- `run`: adjacent fixed-size values, the length of what follows included, are one `unpack_from`. `fixed` adds a value,
  `flush` writes the call. Everything that uses a value in the generated code must flush first.
- `ahead`: after such a read `p` is not advanced in the generated code. The emitter counts the bytes instead, and the
  next read adds them to its own offset (the `p + 2` above). Where code can be reached on two ways (the end of an `if`,
  the next round of a loop) both must agree on `p`: `emit_advance` writes the pending `p += n` there.
- Slices are not checked against the end of the input one by one. A slice beyond the end is cut short in Python, but `p`
  only grows, so a later read fails with struct.error or IndexError, or the check at the end of the message does.
  Only what decides how often a loop runs is checked at once (`too_long`), before memory is allocated for it.
"""

from struct import calcsize

from fakebroker.protocol.schema.message import Declaration, Message
from fakebroker.protocol.schema.runtime import MAX_ENTRIES, REPLACED, array_reader
from fakebroker.protocol.schema.source import FunctionSource, field_targets, format_paths
from fakebroker.protocol.schema.types import STRING, ArrayOf, FieldSpec, Primitive

BYTES_PER_STEP = 64 << 10  # of arrays: small entries cost most, some 0.2 us a byte
NUMBERS_PER_STEP = 1 << 20


def write_decoder(message: type[Message], version: int, *, in_steps: bool = False) -> FunctionSource:
    """The source of `decode(data, p) -> (message, end position)`.

    With `in_steps` it is a generator function that yields each `BYTES_PER_STEP` of an array, and returns that. It reads
    MAX_ENTRIES of all arrays together, at most: each takes up to 600 bytes of memory, and there is the answer.
    """
    source = FunctionSource(f"{message.__name__} v{version} decode{' in steps' * in_steps}")
    source.use("new", object.__new__)
    Decoder(source, version, message.flexible.includes(version), in_steps).function(message)
    return source


class Decoder:
    """Emits the reads of one message. Methods append lines to `source`; `target` is an assignable expression in them.

    `path` is the field in Kafka's names, such as "Topics[].Name": it becomes the line's comment and the error's text.
    """

    def __init__(self, source: FunctionSource, version: int, flexible: bool, in_steps: bool) -> None:
        self.source = source
        self.version = version
        self.in_steps = in_steps  # whether the function is a generator that pauses within long arrays
        self.flexible = flexible  # the encoding of the field being written; False inside of a field as in GEN-6
        self.data = "data"  # what is read: the message, or the slice of one tagged field
        self.p = "p"
        self.ahead = 0  # bytes already read that the generated code has not added to `p`
        # Fixed-size values waiting for their common read: struct format, where the value goes, field.
        self.run: list[tuple[str, str, str]] = []

    def function(self, message: type[Message]) -> None:
        self.source.add("def decode(data, p):")
        self.source.depth = 1
        if self.in_steps:
            self.source.add(f"mark, left = p + {BYTES_PER_STEP}, {MAX_ENTRIES}")
        self.struct(message, "o", "")
        self.emit_advance()
        if not self.flexible:  # else the count of tags, read last, proves that nothing was cut short
            self.source.add(f"if p > len(data): raise {self.source.helper('too_long')}(0, data, p)")
        self.source.add("return o, p")
        if self.in_steps:
            self.source.add("yield  # never reached; makes it a generator also where there is no array")

    # Reading positions

    def fixed(self, char: str, target: str, path: str) -> None:
        """Adds a fixed-size value, of the struct format `char`, to the run that the next `flush` reads."""
        self.run.append((char, target, path))

    def flush(self) -> None:
        """Writes the read of the waiting fixed-size values."""
        if not self.run:
            return
        chars = "".join(char for char, _, _ in self.run)
        path = format_paths([path for _, _, path in self.run])
        where = self.at(self.ahead)
        if chars == "B":
            self.source.add(f"{self.run[0][1]} = {self.data}[{where}]", path)
        else:
            targets = ", ".join(target for _, target, _ in self.run) + ("," if len(self.run) == 1 else "")
            unpack = self.source.struct_function("unpack", chars)
            self.source.add(f"{targets} = {unpack}({self.data}, {where})", path)
        self.ahead += calcsize(">" + chars)
        self.run.clear()

    def at(self, ahead: int) -> str:
        """The expression for the position `ahead` bytes after `p`."""
        return f"{self.p} + {ahead}" if ahead else self.p

    def emit_advance(self) -> None:
        """Writes the waiting read and the pending advance: now `p` is where the next byte to read is."""
        self.flush()
        if self.ahead:
            self.source.add(f"{self.p} += {self.ahead}")
            self.ahead = 0

    # Structures

    def struct(self, declaration: type[Declaration], target: str, path: str) -> None:
        """A struct into the local `target`; for a row, into a tuple of that name.

        A row's fields are locals first, because a tuple cannot be made before all of them are read.
        """
        flexible, values = self.flexible, field_targets(declaration, target)
        if not declaration.is_row:
            self.source.add(f"{target} = new({self.source.use(declaration.__name__, declaration)})")
        for spec in declaration.fields:
            if not spec.is_plain(self.version):
                self.absent(declaration, spec, values)
        for spec in declaration.fields:
            if spec.is_plain(self.version):
                self.flexible = flexible and spec.flexible
                self.field(spec, values[spec.name], path + spec.kafka_name)
                self.flexible = flexible
        if flexible:
            self.tagged(declaration, target, values, path)
        if declaration.is_row:
            self.flush()
            self.source.add(f"{target} = ({', '.join(values.values())},)")

    def absent(self, declaration: type[Declaration], spec: FieldSpec, values: dict[str, str]) -> None:
        """What a field holds that the version lacks or that its tagged section may leave out.

        Nothing needs to be written for a default that cannot change: it is an attribute of the class. A row has no
        class to look in, so the default goes into the tuple, as a literal where no tagged field can replace it.
        """
        if spec.is_mutable:
            default = f"{self.source.use(spec.type.__name__, spec.type)}()" if isinstance(spec.type, type) else "[]"
            self.source.add(f"{values[spec.name]} = {default}")
        elif declaration.is_row:
            if spec.is_tagged(self.version):
                self.source.add(f"{values[spec.name]} = {spec.default!r}")
            else:
                values[spec.name] = repr(spec.default)

    def tagged(self, declaration: type[Declaration], target: str, values: dict[str, str], path: str) -> None:
        """The tagged section (KIP-482). Nearly always it is empty: one zero byte, read together with what is before."""
        count = self.source.fresh("t")
        self.fixed("B", count, path + "tags")
        self.emit_advance()
        self.source.add(f"if {count}:")
        self.source.depth += 1
        read = self.source.helper("read_tags")
        self.source.add(f"{count}, {self.p} = {read}({count}, {self.data}, {self.p})", path + "tags")
        for spec in declaration.fields:
            if spec.is_tagged(self.version):
                self.tagged_field(spec, count, values[spec.name], path)
        if not declaration.is_row:
            self.source.add(f"if {count}: {target}.unknown_tags = {count}")
        self.source.depth -= 1

    def tagged_field(self, spec: FieldSpec, tags: str, target: str, path: str) -> None:
        """A known tagged field: decoded from a slice of its own, which it must fill."""
        outer = self.data, self.p
        self.data, self.p = self.source.fresh("data"), self.source.fresh("p")
        self.source.add(f"if {spec.tag} in {tags}:")
        self.source.depth += 1
        self.source.add(f"{self.data} = {tags}.pop({spec.tag}); {self.p} = 0")
        full = path + spec.kafka_name
        if spec.nullable.includes(self.version) and isinstance(spec.type, type):
            self.optional("B", spec, target, full)
        else:
            self.field(spec, target, full)
        self.emit_advance()
        error = f"raise {self.source.helper('wrong_tag_size')}({self.p}, {self.data})"
        self.source.add(f"if {self.p} != len({self.data}): {error}", full)
        self.source.depth -= 1
        self.data, self.p = outer

    # Fields

    def field(self, spec: FieldSpec, target: str, path: str) -> None:
        nullable = spec.nullable.includes(self.version)
        if isinstance(spec.type, ArrayOf):
            self.array(spec.type, nullable, target, path)
        elif isinstance(spec.type, Primitive):
            self.primitive(spec.type, nullable, target, path)
        elif nullable:
            self.optional("b", spec, target, path)
        else:
            self.inner(spec.type, target, path)

    def inner(self, declaration: type[Declaration], target: str, path: str) -> None:
        local = self.source.fresh("o")
        self.struct(declaration, local, path + ".")
        self.source.add(f"{target} = {local}")

    def optional(self, char: str, spec: FieldSpec, target: str, path: str) -> None:
        """A nullable struct: an int8, or in a tagged field a varint, says whether it is there (GEN-5).

        `char` is "b" or "B" accordingly; null is -1 for the int8 and 0 for the varint.
        """
        flag = self.source.fresh("n")
        self.fixed(char, flag, path)
        self.emit_advance()
        self.source.add(f"if {flag} > 0:" if char == "B" else f"if {flag} >= 0:")
        self.source.depth += 1
        assert isinstance(spec.type, type)
        self.inner(spec.type, target, path)
        self.emit_advance()
        self.source.depth -= 1
        self.source.add(f"else: {target} = None")

    def primitive(self, kind: Primitive, nullable: bool, target: str, path: str) -> None:
        if kind.char:
            self.fixed(kind.char, target, path)
        else:
            self.sized(kind, nullable, target, path)

    def sized(self, kind: Primitive, nullable: bool, target: str, path: str) -> None:
        """A string, bytes or records: a length and a slice.

        Compact lengths are one more than the length (0 is null), and taking the one off would be an operation of its
        own: it goes into the offset of the slice's end instead (`less`).
        """
        n = self.source.fresh("n")
        kind_name = "string" if kind is STRING else "length"
        less = self.length("h" if kind is STRING else "i", n, nullable, path, kind_name)
        if nullable:
            self.source.add(f"if {n}{'' if self.flexible else ' >= 0'}:")
            self.source.depth += 1
        self.source.add(f"e = {self.at(self.ahead - less)} + {n}")
        tail = f'.decode("utf-8", "{REPLACED}")' if kind is STRING else ""
        if kind is STRING and nullable:
            tail += f' if {n} > {less} else ""'  # such strings (metadata, instance ids) are mostly empty
        self.source.add(f"{target} = {self.data}[{self.at(self.ahead)}:e]{tail}", path)
        self.source.add(f"{self.p} = e")
        if nullable:
            self.source.depth -= 1
            self.source.add("else:")
            self.source.depth += 1
            self.source.add(f"{target} = None")
            if self.ahead:
                self.source.add(f"{self.p} += {self.ahead}")
            self.source.depth -= 1
        self.ahead = 0  # on both ways: a slice's end became the position, or the else branch has advanced it

    def length(self, char: str, n: str, nullable: bool, path: str, helper: str) -> int:
        """Reads a length into `n`; returns how much more than the length `n` is: 1 for compact lengths, else 0.

        A compact length is a varint. Its first byte is read with the run before it; only if that says that more bytes
        follow (over 127), or is a null that is not allowed, a function of runtime.py is called.
        """
        self.fixed("B" if self.flexible else char, n, path)
        self.flush()
        if not self.flexible:
            if not nullable:
                self.source.add(f"if {n} < 0: raise {self.source.helper('null_error')}()", path)
            return 0
        helper = self.source.helper(("finish_" if nullable else "nonnull_") + helper)
        test = f"{n} > 127" if nullable else f"not 0 < {n} < 128"
        self.source.add(f"if {test}:")
        self.source.add(f"    {n}, e = {helper}({n}, {self.data}, {self.at(self.ahead)}); {self.p} += e", path)
        return 1

    def array(self, kind: ArrayOf, nullable: bool, target: str, path: str) -> None:
        """An array: its length, then its entries.

        Every entry takes a byte at least, so a length beyond what is left is an error before the loop begins: a
        request of a few bytes cannot make the broker allocate gigabytes.
        """
        n = self.source.fresh("n")
        less = self.length("i", n, nullable, path, "length")
        self.emit_advance()
        if nullable:
            self.source.add(f"if {n}:" if less else f"if {n} >= 0:")
            self.source.depth += 1
        if less:
            self.source.add(f"{n} -= 1")
        self.source.add(f"if {n} > len({self.data}) - {self.p}:")
        self.source.add(f"    raise {self.source.helper('too_long')}({n}, {self.data}, {self.p})", path)
        if self.in_steps:
            self.source.add(f"left -= {n}")
            self.source.add(f"if left < 0: raise {self.source.helper('too_many')}()", path)
        self.elements(kind.element, n, target, path)
        if nullable:
            self.source.depth -= 1
            self.source.add("else:")
            self.source.add(f"    {target} = None")

    def elements(self, element: "Primitive | type[Declaration]", n: str, target: str, path: str) -> None:
        """The `n` entries of an array: numbers by one unpack for all, anything else in a loop."""
        if isinstance(element, Primitive) and element.char not in ("", "16s"):
            self.numbers(element, n, target, path)
            return
        items, item = self.source.fresh("a"), self.source.fresh("o")
        self.source.add(f"{target} = {items} = []")
        self.source.add(f"for _ in range({n}):")
        self.source.depth += 1
        if self.in_steps and self.p == "p":  # tagged fields have a position of their own, and are not long
            self.source.add(f"if p > mark: mark = p + {BYTES_PER_STEP}; yield")
        if isinstance(element, Primitive):
            self.primitive(element, False, item, path + "[]")
        else:
            self.struct(element, item, path + "[].")
        self.emit_advance()
        self.source.add(f"{items}.append({item})")
        self.source.depth -= 1

    def numbers(self, element: Primitive, n: str, target: str, path: str) -> None:
        """An array of fixed-size numbers, read by one `unpack`, or by many where it is long and there may be steps."""
        read = self.source.use(f"read_{element.name}s", array_reader(element.char))
        times_size = f" * {element.size}" if element.size > 1 else ""
        if self.in_steps:
            items = self.source.fresh("a")
            self.source.add(f"{items} = []")
            self.source.add(f"while {n} > {NUMBERS_PER_STEP}:")
            self.source.depth += 1
            self.source.add(f"{items} += {read}({NUMBERS_PER_STEP}, {self.data}, {self.p})", path)
            self.source.add(f"{n} -= {NUMBERS_PER_STEP}; {self.p} += {NUMBERS_PER_STEP * element.size}; yield")
            self.source.depth -= 1
            self.source.add(f"{items} += {read}({n}, {self.data}, {self.p})", path)
            self.source.add(f"{target} = {items}")
        else:
            self.source.add(f"{target} = {read}({n}, {self.data}, {self.p})", path)
        self.source.add(f"{self.p} += {n}{times_size}")
