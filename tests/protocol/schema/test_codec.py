"""What the generated codecs do, rule by rule, on declarations made for it."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchResponse, OffsetFetchResponseTopic
from tests.protocol.schema.samples import Everything, Inner
from tests.protocol.schema.strategies import messages

VERSIONS = range(4)


@given(data=st.data())
def test_there_and_back(data: st.DataObject) -> None:
    """Every value of every type survives encoding and decoding, in all versions, and so do the bytes."""
    version = data.draw(st.integers(0, 3))
    message = data.draw(messages(Everything, version))

    encoded = message.encode(version)
    decoded, end = Everything.decode(encoded, version)

    assert (decoded, end) == (message, len(encoded))
    assert decoded.encode(version) == encoded


@given(texts=st.lists(st.sampled_from(["", "", "", "some", None]), max_size=14), version=st.sampled_from([1, 5, 6, 7]))
def test_rows_with_and_without_a_text(texts: list[str | None], version: int) -> None:
    """Rows are the same bytes whichever rows around them have an empty string, also when they are written in steps."""
    rows = [(index, 2**40 + index, -1 if version < 5 else 7, text, 3) for index, text in enumerate(texts)]
    message = OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="t", partitions=rows)])

    encoded = message.encode(version)

    assert OffsetFetchResponse.decode(encoded, version) == (message, len(encoded))
    assert b"".join(written_in_steps(message, version)) == encoded


def written_in_steps(message: OffsetFetchResponse, version: int) -> list[bytes]:
    steps = OffsetFetchResponse.stepwise_encoder(version)(message)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            encoded: list[bytes] = end.value
            return encoded


@pytest.mark.rules("GEN-1", "GEN-2")
def test_a_field_of_another_version_has_its_default_after_decoding() -> None:
    """What a version does not carry, the receiver sees as the default; ignorable values are dropped on the way."""
    decoded, _ = Everything.decode(Everything(ignored=9).encode(0), 0)

    assert (decoded.ignored, decoded.needed, decoded.needed_list) == (-1, -1, [])
    assert decoded == Everything()


@pytest.mark.rules("GEN-3")
@pytest.mark.parametrize(
    ("message", "field"),
    [
        (Everything(needed=1), "Needed"),
        (Everything(needed_inner=Inner(name="x")), "NeededInner"),
        (Everything(needed_inner=Inner(numbers=[1])), "NeededInner"),
        (Everything(needed_list=[1]), "NeededList"),
        (Everything(tagged_text=""), "TaggedText"),
        (Everything(lines=[(1, 9, 9, ["x"], None, 7)]), "Lines[].Needed"),
        (Everything(lines=[(1, 9, -1, ["x"], None, 8)]), "Lines[].Tagged"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_value_that_the_version_would_lose_is_refused(message: Everything, field: str) -> None:
    """A value other than the default in a field the version lacks raises WireError that names the field."""
    with pytest.raises(WireError) as refused:
        message.encode(0)

    assert str(refused.value).startswith(f"Everything v0 at {field}: ")
    assert "does not have the field" in str(refused.value)


@pytest.mark.rules("GEN-3")
def test_tagged_fields_with_their_default_are_not_written() -> None:
    """The tagged section is a zero byte when nothing in it says anything."""
    plain = Everything().encode(2)

    assert plain[-1] == 0
    assert Everything(tagged_text=None, tagged_inner=Inner(), tagged_list=[]).encode(2) == plain
    assert Everything(tagged_text="x").encode(2) == plain[:-1] + b"\x01\x00\x02\x02x"


@pytest.mark.rules("GEN-4")
def test_tagged_fields_are_written_in_the_order_of_their_tags() -> None:
    """Known and unknown tags are one ascending list, and unknown ones are kept."""
    message = Everything(tagged_text="x", tagged_list=[1])
    message.unknown_tags = {200: b"far", 5: b"near"}

    encoded = message.encode(3)
    decoded, _ = Everything.decode(encoded, 3)

    section = encoded[len(Everything().encode(3)) - 1 :]
    assert section == bytes.fromhex("04 00 02 02 78 03 09 02 0000000000000001 05 04") + b"near\xc8\x01\x03far"
    assert decoded == message


@pytest.mark.rules("GEN-4")
@pytest.mark.parametrize(("version", "tags"), [(3, {3: b"x"}), (2, {0: b""}), (0, {9: b"x"})])
def test_unknown_tags_must_be_unknown_and_have_a_place(version: int, tags: dict[int, bytes]) -> None:
    """A declared tag among the unknown ones, or tags in a version without a tagged section, raise WireError."""
    message = Everything()
    message.unknown_tags = tags

    with pytest.raises(WireError, match="unknown_tags"):
        message.encode(version)


@pytest.mark.rules("GEN-4")
@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 128, 16382, 16383, 32767])
@pytest.mark.parametrize("version", [1, 2])
def test_lengths(version: int, length: int) -> None:
    """Strings, bytes and arrays of all lengths, around where a length takes a byte more."""
    text = "x" * length
    message = Everything(
        text=text,
        maybe_text=text,
        data=text.encode(),
        records=text.encode(),
        numbers=[7] * length,
        names=["a"] * length,
    )

    decoded, _ = Everything.decode(message.encode(version), version)

    assert decoded == message


@pytest.mark.rules("GEN-4")
@pytest.mark.parametrize("version", [1, 3])
def test_nulls(version: int) -> None:
    """Null strings, bytes, arrays and structs come back as None."""
    message = Everything(maybe_text=None, records=None, names=None, maybe_inner=None)

    decoded, _ = Everything.decode(message.encode(version), version)

    assert (decoded.maybe_text, decoded.records, decoded.names, decoded.maybe_inner) == (None, None, None, None)


@pytest.mark.rules("GEN-5")
def test_a_nullable_struct_is_announced() -> None:
    """An int8 stands before a nullable struct, in a tagged field a varint."""
    base = Everything(ignored=0, needed=0).encode(2)
    given_inner = Everything(maybe_inner=Inner(name="n")).encode(2)
    tagged = Everything(ignored=0, needed=0, tagged_maybe=Inner(name="n")).encode(2)

    assert base.count(b"\xff") == 1
    assert b"\x01\x02n\x01\x00" in given_inner
    assert tagged.endswith(bytes.fromhex("01 02 05 01 02 6e 01 00"))
    assert Everything.decode(tagged, 2)[0].tagged_maybe == Inner(name="n")
    announced_null = base[:-1] + bytes.fromhex("01 02 01 00")
    assert Everything.decode(announced_null, 2)[0].tagged_maybe is None


@pytest.mark.rules("GEN-6")
def test_a_field_may_stay_inflexible() -> None:
    """`flexible="none"` keeps the int16 length in flexible versions."""
    assert b"\x00\x05stays" in Everything(old_text="stays").encode(2)
    assert b"\x06stays" in Everything(text="stays").encode(2)


def test_bad_utf8_is_replaced() -> None:
    """Strings that are not UTF-8 are read as Java reads them, with replacement characters."""
    encoded = Everything(text="ab").encode(0).replace(b"\x00\x02ab", b"\x00\x02a\xff")

    assert Everything.decode(encoded, 0)[0].text == "a\ufffd"


@pytest.mark.parametrize(
    ("version", "message", "words"),
    [
        (0, Everything(tiny=128), "tiny: 128 does not fit int8"),
        (0, Everything(word=-1), "word: -1 does not fit uint16"),
        (0, Everything(long=2**63), "long: 9223372036854775808 does not fit int64"),
        (0, Everything(text=None), "text: null is not allowed"),  # type: ignore[arg-type]
        (0, Everything(maybe_text=None), "maybe_text: null is not allowed"),
        (0, Everything(names=None), "names: null is not allowed"),
        (2, Everything(data=None), "data: null is not allowed"),  # type: ignore[arg-type]
        (0, Everything(inner=None), "inner: null is not allowed"),  # type: ignore[arg-type]
        (0, Everything(text="é" * 16384), "text: a string of 32768 bytes is longer than 32767"),
        (2, Everything(text="x" * 32768), "a string of 32768 bytes is longer than 32767"),
        (2, Everything(text="\ud800"), "cannot be encoded as UTF-8"),
        (2, Everything(text=b"x"), "text: b'x' is not a str"),  # type: ignore[arg-type]
        (2, Everything(data="x"), "data: 'x' is not bytes"),  # type: ignore[arg-type]
        (2, Everything(id=b"short"), "b'short' is not a UUID of 16 bytes"),
        (2, Everything(ids=[bytes(16), bytes(15)]), "is not a UUID of 16 bytes"),
        (2, Everything(flag=None), "flag: null is not allowed"),  # type: ignore[arg-type]
        (2, Everything(flag="yes"), "flag: 'yes' is not a bool"),  # type: ignore[arg-type]
        (2, Everything(ratio="1"), "ratio: '1' is not a float64"),  # type: ignore[arg-type]
        (2, Everything(count=1.5), "count: 1.5 is not an integer"),  # type: ignore[arg-type]
        (2, Everything(numbers=[1, 2**31]), "numbers[1]: 2147483648 does not fit int32"),
        (2, Everything(numbers=7), "numbers: 7 is not a list"),  # type: ignore[arg-type]
        (2, Everything(inners=[Inner(), Inner(name=None)]), "inners[1].name: null"),  # type: ignore[arg-type]
        (2, Everything(inners=["x"]), "inners[0]: 'x' is not a Inner"),  # type: ignore[list-item]
        (2, Everything(lines=[(1, 2)]), "lines[0]: (1, 2) is not a tuple of index, added"),  # type: ignore[list-item]
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_value_that_does_not_fit_is_named(version: int, message: Everything, words: str) -> None:
    """A value without an encoding raises WireError that names message, version, field and value."""
    with pytest.raises(WireError) as refused:
        message.encode(version)

    assert str(refused.value).startswith(f"Everything v{version} at ")
    assert words in str(refused.value)


@pytest.mark.parametrize("version", [-1, 4, 99])
def test_a_version_that_does_not_exist(version: int) -> None:
    """Decoding or encoding a version beyond the declared ones raises WireError that names the range."""
    with pytest.raises(WireError, match=f"Everything has no version {version}, only 0-3"):
        Everything.decode(b"", version)
    with pytest.raises(WireError, match=f"Everything has no version {version}, only 0-3"):
        Everything().encode(version)


@pytest.mark.rules("AV-4")
@pytest.mark.parametrize("version", VERSIONS)
def test_every_prefix_is_refused(version: int) -> None:
    """Bytes cut short anywhere raise WireError."""
    message = Everything(text="ab", names=["c", "d"], inners=[Inner(name="e")], lines=[(1, -1, -1, [], "f", 7)])
    encoded = message.encode(version)

    for length in range(len(encoded)):
        with pytest.raises(WireError, match=rf"^Everything v{version}"):
            Everything.decode(encoded[:length], version)


@pytest.mark.rules("AV-4")
@pytest.mark.parametrize("old", ["text", "data", "numbers", "names", "inners", "lines"])
@pytest.mark.parametrize("version", [0, 2])
def test_a_length_beyond_the_input_is_refused_before_allocation(version: int, old: str) -> None:
    """A length of two thousand millions raises WireError, and costs no memory."""
    size = {"text": b"\x7f\xff"}.get(old, b"\x7f\xff\xff\xff") if version == 0 else b"\xff\xff\xff\xff\x07"
    encoded = Everything().encode(version)
    position = start_of(old, version)
    bad = encoded[:position] + size + bytes(40)

    with pytest.raises(WireError):
        Everything.decode(bad, version)  # once before: the decoder is generated when it is first used
    tracemalloc.start()
    with pytest.raises(WireError):
        Everything.decode(bad, version)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 200_000


def start_of(name: str, version: int) -> int:
    """Where a field begins in an empty message: there its length is, so one entry more changes bytes from there on."""
    empty = Everything().encode(version)
    one: dict[str, Any] = {"text": "\x01", "data": b"\x01", "numbers": [0], "names": [""], "inners": [Inner()]}
    one["lines"] = [(0, -1, -1, [], None, 7)]
    other = Everything(**{name: one[name]}).encode(version)
    width = 1 if version == 2 else 2 if name == "text" else 4
    return next(i for i in range(len(empty)) if empty[i] != other[i]) - width + 1


@pytest.mark.rules("AV-4")
@pytest.mark.parametrize("encoded", ["ffffffffff01", "808080808001", "ffffffff0f", "8080808008"])
def test_varints_have_five_bytes_and_lengths_31_bits(encoded: str) -> None:
    """A longer varint, or a length that is negative as an int32, raises WireError."""
    start = start_of("text", 2)
    with pytest.raises(WireError, match="Text"):
        Everything.decode(Everything().encode(2)[:start] + bytes.fromhex(encoded) + bytes(99), 2)


@pytest.mark.rules("AV-4")
def test_a_tagged_field_fills_its_size() -> None:
    """A tagged field whose value is shorter or longer than its size raises WireError."""
    body = Everything().encode(2)[:-1]

    for section in ("01 00 03 02 78 00", "01 00 01 02 78", "01 02 04 01 02 6e 01"):
        with pytest.raises(WireError, match="Tagged"):
            Everything.decode(body + bytes.fromhex(section), 2)
