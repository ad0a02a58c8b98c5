"""Declarations made for tests: every wire type and every way to place a field, in old and flexible versions."""

from fakebroker.protocol.schema import (
    Bool,
    Bytes,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Message,
    Records,
    Row,
    Str,
    Struct,
    UInt16,
    UInt32,
    Uuid,
    field,
)


class Inner(Struct):
    name: Str = field("0+")
    numbers: list[Int16] = field("0+")


class Line(Row):
    index: Int32 = field("0+")
    added: Int64 = field("1+", default=-1, ignorable=True)
    needed: Int64 = field("1+", default=-1)
    texts: list[Str] = field("1+", ignorable=True)
    note: Str | None = field("0+", nullable="0+")
    tagged: Int8 = field("2+", tag=3, default=7)


class Everything(Message, versions="0-3", flexible="2+"):
    tiny: Int8 = field("0+")
    short: Int16 = field("0+")
    word: UInt16 = field("0+")
    count: Int32 = field("0+", default=5)
    big_count: UInt32 = field("0+")
    long: Int64 = field("0+")
    ratio: Float64 = field("0+")
    flag: Bool = field("0+")
    id: Uuid = field("0+")
    text: Str = field("0+")
    maybe_text: Str | None = field("0+", nullable="1+")
    old_text: Str = field("0+", flexible="none")
    data: Bytes = field("0+")
    records: Records | None = field("0+", nullable="0+")
    numbers: list[Int32] = field("0+")
    flags: list[Bool] = field("0+")
    ids: list[Uuid] = field("0+")
    names: list[Str] | None = field("0+", nullable="1+")
    inner: Inner = field("0+")
    maybe_inner: Inner | None = field("0+", nullable="0+", default=None)
    inners: list[Inner] = field("0+")
    lines: list[tuple[Int32, Int64, Int64, list[Str], Str | None, Int8]] = field("0+", row=Line)
    ignored: Int32 = field("1+", default=-1, ignorable=True)
    needed: Int32 = field("1+", default=-1)
    needed_inner: Inner = field("1+")
    needed_list: list[Int32] = field("1+")
    tagged_text: Str | None = field("2+", nullable="2+", default=None, tag=0)
    tagged_inner: Inner = field("2+", tag=1)
    tagged_maybe: Inner | None = field("2+", nullable="2+", default=None, tag=2)
    tagged_list: list[Int64] = field("3+", tag=3)


class Nothing(Message, versions="0-1", flexible="1+"):
    """No fields at all."""
