"""Writes the encoder of one message in one version.

The generated code collects pieces of bytes in lists and joins them once. Adjacent fixed-size fields, and in old
versions the length of what follows, are one `pack`; compact lengths come from a table. An array whose entries are one
`pack` each becomes a list comprehension. A row with one string is one `pack` when the string is empty, and four such
rows are one: most committed offsets have no metadata.

The emitter (`_Encoder`) delays writing on two levels, and the order of bytes depends on emptying them in order:

- `run`: fixed-size values for one `pack`. `end_run` makes a piece of them.
- `pending`: pieces (expressions) for one `parts += (...)`. `flush` writes it. Whatever writes a statement that appends
  to the list by itself, a loop or an `if`, must flush first.

Statements that only compute (`b1 = o.name.encode(); n1 = len(b1)`) are written at once, before the pieces that use
them. So an encoder without loops ends in a single `return b"".join((...))`, and needs no list.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

from fakebroker.protocol.schema.emit_locate import has_records
from fakebroker.protocol.schema.message import Declaration, Message
from fakebroker.protocol.schema.runtime import array_writer
from fakebroker.protocol.schema.source import FunctionSource, field_targets, format_paths
from fakebroker.protocol.schema.types import RECORDS, STRING, UUID, ArrayOf, FieldSpec, Primitive

PIECES_PER_STEP = 10_000
LOOKS_PER_STEP = 20  # at the size of the pieces
STEP_BYTES = 1 << 20  # a step is over with these, too: a piece may be the partitions of a large topic
ROWS_AT_ONCE = 4
FEW_PIECES = 16  # of so many the size is not looked at: that would cost as much as to join them


def write_encoder(
    message: type[Message], version: int, *, joined: bool = True, in_steps: bool = False
) -> FunctionSource:
    """The source of `encode(message) -> bytes`, or with `joined` false of one that returns the list of pieces.

    With `in_steps` it is a generator function that joins pieces, unless there may be records among them, and yields
    after `PIECES_PER_STEP` of them, or `STEP_BYTES`.
    """
    source = FunctionSource(
        f"{message.__name__} v{version} encode{'' if joined else ' as pieces'}{' in steps' * in_steps}"
    )
    encoder = _Encoder(source, version, message.flexible.includes(version), in_steps, joined)
    encoder.is_limited = not has_records(message)
    encoder.function(message)
    return source


class Piece(NamedTuple):
    """An expression for some bytes, and the fields it is about."""

    expression: str
    path: str


class Fixed(NamedTuple):
    """A fixed-size value: its struct format, the expression for it, the field it is of."""

    char: str
    value: str
    path: str


class _Encoder:
    """Emits the expressions for one message. `value` is the expression of a field's value in the generated code.

    `path` is the field in Kafka's names, such as "Topics[].Name": it becomes the line's comment and the error's text.
    """

    def __init__(self, source: FunctionSource, version: int, flexible: bool, in_steps: bool, joined: bool) -> None:
        self.source = source
        self.version = version
        self.flexible = flexible
        self.in_steps = in_steps
        self.joined = joined
        self.is_limited = True  # it has no records: how large it may be is looked at
        # The list that takes the pieces, those not yet put there, and fixed-size values waiting for their pack.
        self.parts = "parts"
        self.pending: list[Piece] = []
        self.run: list[Fixed] = []

    def function(self, message: type[Message]) -> None:
        """The whole function. Whether it needs the list is known only after the body: its first line goes in last."""
        self.source.add("def encode(o):")
        self.source.depth = 1
        start = len(self.source.lines)
        self.struct(message, "o", "")
        if not self.joined or any(self.parts in line for line in self.source.lines[start:]):
            self.source.insert(start, f"{self.parts} = []")
            self.flush()
            if self.in_steps:
                self.source.insert(start, "done = []; size = begun = at = 0")
                if self.is_limited:
                    self.source.add(self.measured())
                self.source.add(self.joined_step())
                self.source.add("return done")
                self.source.add("yield  # never reached; makes it a generator also where no array is long")
            elif not self.joined:
                self.source.add(f"return {self.parts}")
            else:
                if self.is_limited:
                    check = self.source.helper("check_size")
                    self.source.add(f"if len({self.parts}) > {FEW_PIECES}: {check}({self.parts}, 0)")
                self.source.add(f'return b"".join({self.parts})')
            return
        self.end_run()
        if len(self.pending) == 1:
            self.source.add(f"return {self.pending[0].expression}", self.pending[0].path)
        else:
            self.listing('return b"".join((', self.pending, "))")

    def joined_step(self) -> str:
        """A line that puts the pieces of a step behind those that are done.

        Records are not copied: what has some stays in pieces.
        """
        return f"{self.source.helper('gather')}(parts, done)" if self.is_limited else "done += parts"

    def measured(self) -> str:
        """A line that looks at the size, before any piece is copied."""
        return f"size = {self.source.helper('check_size')}(parts[at:], size)"

    def end_of_step(self) -> None:
        """Lines that end a step where it is over, in a loop over entries: by the number of pieces, or by their size."""
        if not self.is_limited:
            self.source.add(f"if len(parts) > {PIECES_PER_STEP}: {self.joined_step()}; parts.clear(); yield")
            return
        self.source.add(f"if len(parts) - at > {PIECES_PER_STEP // LOOKS_PER_STEP}:")
        self.source.add(f"    {self.measured()}; at = len(parts)")
        self.source.add(f"    if at > {PIECES_PER_STEP} or size - begun > {STEP_BYTES}:")
        self.source.add(f"        {self.joined_step()}; parts.clear(); at = 0; begun = size; yield")

    # Pieces

    def fixed(self, char: str, value: str, path: str) -> None:
        """Adds a fixed-size value, of the struct format `char`, to the run."""
        self.run.append(Fixed(char, value, path))

    def packed(self, fixed: list[Fixed]) -> Piece:
        """The pack call of fixed-size values."""
        pack = self.source.struct_function("pack", "".join(each.char for each in fixed))
        values = ", ".join(each.value for each in fixed)
        return Piece(f"{pack}({values})", format_paths([each.path for each in fixed]))

    def end_run(self) -> None:
        """Makes a piece of the waiting fixed-size values: a piece of another kind comes next."""
        if self.run:
            self.pending.append(self.packed(self.run))
            self.run.clear()

    def flush(self) -> None:
        """Puts everything pending into the list."""
        self.end_run()
        if len(self.pending) == 1:
            self.source.add(f"{self.parts}.append({self.pending[0].expression})", self.pending[0].path)
        elif self.pending:
            self.listing(f"{self.parts} += (", self.pending, ")")
        self.pending = []

    def listing(self, start: str, pieces: list[Piece], end: str) -> None:
        """A tuple of pieces, one a line: a traceback then names the one that failed."""
        self.source.add(start)
        for expression, path in pieces:
            self.source.add(f"    {expression},", path)
        self.source.add(end)

    @contextmanager
    def aside(self, parts: str) -> Iterator[None]:
        """Pieces emitted inside go into a list of their own; what is pending outside stays pending."""
        saved = self.parts, self.pending, self.run
        self.parts, self.pending, self.run = parts, [], []
        yield
        self.flush()
        self.parts, self.pending, self.run = saved

    # Structures

    def struct(self, declaration: type[Declaration], target: str, path: str) -> None:
        flexible, values = self.flexible, field_targets(declaration, target)
        for spec in declaration.fields:
            if not spec.versions.includes(self.version) and not spec.ignorable:
                self.check_default(spec, values[spec.name], path)
        if declaration.is_row:
            self.row_without_text(declaration, values, path)
        for spec in declaration.fields:
            if spec.is_plain(self.version):
                self.flexible = flexible and spec.flexible
                self.field(spec, values[spec.name], path + spec.kafka_name)
                self.flexible = flexible
        if flexible:
            self.tagged(declaration, target, values, path)
        elif not declaration.is_row:
            reject = self.source.helper("reject_tags")
            self.source.add(f"if {target}.unknown_tags: {reject}({target}.unknown_tags)", path + "unknown_tags")

    def row_without_text(self, row: type[Declaration], values: dict[str, str], path: str) -> None:
        """Writes the short way for a row whose one string is empty: all of it is one pack.

        It ends the loop's round, so what is written after it is for rows with a text, or with null. Nothing waits to be
        written before it: a row begins with its loop.
        """
        text, fixed = self.without_text(row, values, path)
        if fixed:
            whole = self.packed(fixed)
            self.source.add(f'if {text} == "": {self.parts}.append({whole.expression}); continue', whole.path)

    def without_text(self, row: type[Declaration], values: dict[str, str], path: str) -> tuple[str, list[Fixed]]:
        """For a row of one string and fixed-size fields: the string, and the values to pack if it is empty.

        No values for a row of other fields.
        """
        text, fixed = "", []
        for spec in row.fields:
            if not spec.versions.includes(self.version):
                continue
            name = path + spec.kafka_name
            if spec.type is STRING and spec.tag is None and not text:
                text, is_compact = values[spec.name], self.flexible and spec.flexible
                fixed.append(Fixed("B" if is_compact else "h", "1" if is_compact else "0", name))  # the length 0
            elif isinstance(spec.type, Primitive) and spec.type.char not in ("", UUID.char) and spec.tag is None:
                fixed.append(Fixed(spec.type.char.replace("?", "B"), values[spec.name], name))
            else:
                return "", []
        no_tags = [Fixed("B", "0", "")] if self.flexible else []
        return text, [*fixed, *no_tags] if text else []

    def rows_by_fours(self, row: type[Declaration], items: str, path: str) -> None:
        """Writes the way for four rows in one pack, which ends at the first with a text; `items` is what is left then.

        A row costs a third less than alone: half of the cost of a pack is that of the call and of its bytes.
        """
        is_checked = any(not spec.versions.includes(self.version) and not spec.ignorable for spec in row.fields)
        _, fixed = self.without_text(row, field_targets(row, ""), path)
        if not fixed or is_checked:  # `check_default` looks at each row
            return
        rows = [field_targets(row, self.source.fresh("o")) for _ in range(ROWS_AT_ONCE)]
        texts, values = zip(*(self.without_text(row, targets, path) for targets in rows), strict=True)
        names = ", ".join(f"({', '.join(targets.values())})" for targets in rows)
        whole, before = self.packed(list(chain(*values))).expression, self.source.fresh("n")
        self.source.add(f"{before} = len({self.parts})")
        self.source.add(f"for {names} in {self.source.helper('by_fours')}({items}):")
        self.source.add(f'    if not {" == ".join(texts)} == "": break')
        self.source.add(f"    {self.parts}.append({whole})", format_paths([each.path for each in fixed]))
        taken = f"{ROWS_AT_ONCE} * (len({self.parts}) - {before})"
        self.source.add(f"if len({self.parts}) > {before}: {items} = {items}[{taken}:]")

    def check_default(self, spec: FieldSpec, value: str, path: str) -> None:
        """A field that the version lacks must hold its default: otherwise encoding would lose it silently (GEN-3)."""
        error = f"raise {self.source.helper('not_in_version')}({spec.name!r}, {value})"
        self.source.add(f"if {self.differs(spec, value)}: {error}", path + spec.kafka_name)

    def differs(self, spec: FieldSpec, value: str) -> str:
        """An expression: whether a field holds another value than its default."""
        if spec.default is None:
            return f"{value} is not None"
        if spec.default is False:
            return value
        if isinstance(spec.type, ArrayOf):
            return f"{value} != []"
        if isinstance(spec.type, Primitive):
            return f"{value} != {spec.default!r}"
        inner = [self.differs(part, f"{value}.{part.name}") for part in spec.type.fields]
        return " or ".join([f"{value} is None", *inner, f"{value}.unknown_tags"])

    def tagged(self, declaration: type[Declaration], target: str, values: dict[str, str], path: str) -> None:
        """The tagged section: each known field that says something is encoded aside, into a dict by tag."""
        declared = [spec for spec in declaration.fields if spec.is_tagged(self.version)]
        known = self.source.fresh("t") if declared else ""
        if declared:
            self.source.add(f"{known} = {{}}")
        for spec in declared:
            self.source.add(f"if {self.differs(spec, values[spec.name])}:")
            self.source.depth += 1
            parts = self.source.fresh("parts")
            self.source.add(f"{parts} = []")
            with self.aside(parts):
                self.tagged_value(spec, values[spec.name], path + spec.kafka_name)
            self.source.add(f'{known}[{spec.tag}] = b"".join({parts})')
            self.source.depth -= 1
        unknown = "" if declaration.is_row else f"{target}.unknown_tags"
        test = " and ".join([f"not {name}" for name in (known, unknown) if name])
        tags = tuple(spec.tag for spec in declared)
        arguments = f"{known or '{}'}, {unknown or None}, {tags}"
        self.end_of_struct(test, f"{self.source.helper('encode_tags')}({arguments})", path + "tags")

    def tagged_value(self, spec: FieldSpec, value: str, path: str) -> None:
        """In a tagged section a varint, not an int8, announces a nullable struct (GEN-5)."""
        if isinstance(spec.type, type) and spec.nullable.includes(self.version):
            self.optional(spec.type, value, path, null="\\0")
        else:
            self.field(spec, value, path)

    def end_of_struct(self, test: str, encode: str, path: str) -> None:
        """The tagged section at the end of a struct: a zero byte if there are no tags, else what `encode` gives.

        `test` is the expression for "no tags", empty if there can be none. The zero byte costs nothing: it is packed
        with the fixed-size values before it. So the piece has two forms, one with and one without the zero byte.
        """
        if not test:
            self.fixed("B", "0", "")
            return
        if not self.run:
            self.pending.append(Piece(rf'b"\0" if {test} else {encode}', path))
            return
        before = self.packed(self.run)
        self.fixed("B", "0", "")
        self.pending.append(
            Piece(
                f"{self.packed(self.run).expression} if {test} else {before.expression} + {encode}",
                f"{before.path}, {path}",
            )
        )
        self.run.clear()

    # Fields

    def field(self, spec: FieldSpec, value: str, path: str) -> None:
        nullable = spec.nullable.includes(self.version)
        if isinstance(spec.type, ArrayOf):
            self.array(spec.type, nullable, value, path)
        elif isinstance(spec.type, Primitive):
            self.primitive(spec.type, nullable, value, path)
        elif nullable:
            self.optional(spec.type, value, path, null="\\xff")
        else:
            self.struct(spec.type, self.local(value), path + ".")

    def local(self, value: str) -> str:
        name = self.source.fresh("o")
        self.source.add(f"{name} = {value}")
        return name

    def optional(self, declaration: type[Declaration], value: str, path: str, null: str) -> None:
        """A nullable struct after the byte 1; `null` is the byte that stands for null, as an escape (GEN-5)."""
        name = self.local(value)
        self.flush()
        self.source.add(f'if {name} is None: {self.parts}.append(b"{null}")')
        self.source.add("else:")
        self.source.depth += 1
        self.pending.append(Piece(r'b"\1"', ""))
        self.struct(declaration, name, path + ".")
        self.flush()
        self.source.depth -= 1

    def primitive(self, kind: Primitive, nullable: bool, value: str, path: str) -> None:
        if kind is UUID:
            self.source.add(f"if len({value}) != 16: raise {self.source.helper('no_uuid')}({value})", path)
        if kind.char:
            # A bool goes as the number it is, because "?" would take any object for true.
            self.fixed(kind.char.replace("?", "B"), value, path)
        else:
            self.sized(kind, nullable, value, path)

    def sized(self, kind: Primitive, nullable: bool, value: str, path: str) -> None:
        """A string, bytes or records: a length, -1 for null, and the bytes."""
        data, n = self.source.fresh("b"), self.source.fresh("n")
        encode = ".encode()" if kind is STRING else ""
        if nullable:
            self.source.add(f"{data} = {value}")
            self.source.add(f'if {data} is None: {data} = b""; {n} = -1')
            convert = f"{data} = {data}{encode}; " if encode else ""
            self.source.add(f"else: {convert}{n} = len({data})", path)
        else:
            self.source.add(f"{data} = {value}{encode}; {n} = len({data})", path)
        self.length("h" if kind is STRING else "i", n, "long_string" if kind is STRING else "long_length", path)
        if kind is RECORDS and self.joined and not self.in_steps:  # which may come in pieces
            data = f"{self.source.helper('whole')}({data})"
        self.pending.append(Piece(data, path))

    def length(self, char: str, n: str, helper: str, path: str) -> None:
        """The length `n`: of the struct format `char`, or compact. LENGTHS[-1] is null, so -1 needs no case."""
        if not self.flexible:
            self.fixed(char, n, path)
            self.end_run()
            return
        self.end_run()
        table, function = self.source.helper("LENGTHS"), self.source.helper(helper)
        self.pending.append(Piece(f"{table}[{n}] if {n} < 127 else {function}({n})", path))

    def array(self, kind: ArrayOf, nullable: bool, value: str, path: str) -> None:
        items, n = self.source.fresh("a"), self.source.fresh("n")
        self.source.add(f"{items} = {value}")
        if nullable:
            self.source.add(f"if {items} is None: {items} = (); {n} = -1")
            self.source.add(f"else: {n} = len({items})", path)
        else:
            self.source.add(f"{n} = len({items})", path)
        self.length("i", n, "long_length", path)
        element = kind.element
        if isinstance(element, Primitive) and element.char not in ("", "16s"):
            write = self.source.use(f"write_{element.name}s", array_writer(element.char.replace("?", "B")))
            self.pending.append(Piece(f"{write}({items})", path))
        else:
            self.loop(element, items, path)

    def loop(self, element: "Primitive | type[Declaration]", items: str, path: str) -> None:
        """One round per entry; a comprehension when an entry is a single piece.

        Only after an entry is written is it known whether it needed statements or several pieces. If not, the loop's
        first line is taken back and the piece becomes the comprehension's expression.
        """
        self.flush()
        item = self.source.fresh("o")
        names = item
        if not isinstance(element, Primitive) and element.is_row:
            names = ", ".join(field_targets(element, item).values()) + ("," if len(element.fields) == 1 else "")
            if not self.in_steps:  # it looks at the list after each row
                self.rows_by_fours(element, items, path + "[].")
        start = len(self.source.lines)
        self.source.add(f"for {names} in {items}:")
        self.source.depth += 1
        if self.in_steps:
            self.end_of_step()
        if isinstance(element, Primitive):
            self.primitive(element, False, item, path + "[]")
        else:
            self.struct(element, item, path + "[].")
        self.end_run()
        if len(self.source.lines) == start + 1 and len(self.pending) == 1:
            piece = self.pending.pop()
            self.source.cut(start)
            self.source.depth -= 1
            self.source.add(f"{self.parts} += [{piece.expression} for {names} in {items}]", piece.path)
        else:
            self.flush()
            self.source.depth -= 1
