"""Declarations: what they make of classes, and which are refused."""

import pytest

from fakebroker.protocol.schema import ZERO_UUID, Int32, Message, Row, Str, Struct, field
from fakebroker.protocol.schema.types import INT32, STRING, ArrayOf, Versions
from tests.protocol.schema.samples import Everything, Inner, Line, Nothing


@pytest.mark.rules("GEN-2")
def test_defaults() -> None:
    """A field that is not given has its default, which is zero, empty or null when the declaration gives none."""
    message = Everything()

    assert (message.tiny, message.count, message.ratio, message.flag) == (0, 5, 0.0, False)
    assert (message.id, message.text, message.data) == (ZERO_UUID, "", b"")
    assert message.maybe_text == ""
    assert message.records is None
    assert (message.numbers, message.inner) == ([], Inner())
    assert message.maybe_inner is None
    assert message.unknown_tags is None


def test_lists_and_structs_are_an_instance_s_own() -> None:
    """Two messages never share a default list or struct, made or decoded."""
    for first, second in [
        (Everything(), Everything()),
        (Everything.decode(Everything().encode(0), 0)[0], Everything.decode(Everything().encode(0), 0)[0]),
    ]:
        first.needed_list.append(1)
        first.tagged_inner.name = "mine"
        first.inner.numbers.append(2)

        assert (second.needed_list, second.tagged_inner, second.inner) == ([], Inner(), Inner())


def test_the_constructor_takes_keywords_only_and_knows_its_fields() -> None:
    """A misspelt or positional argument is a TypeError, from the first instance on."""

    class Fresh(Struct):
        name: Str = field("0+")

    with pytest.raises(TypeError, match="nmae"):
        Fresh(nmae="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Fresh("x")  # type: ignore[call-arg]
    assert Fresh(name="x").name == "x"


def test_equality_looks_at_all_fields_and_unknown_tags() -> None:
    """Messages are equal when they hold the same; no unknown tags and an empty dict of them are the same."""
    one, other = Inner(name="a"), Inner(name="a")
    assert one == other
    other.unknown_tags = {}
    assert one == other
    other.unknown_tags = {9: b""}
    assert one != other
    assert Inner(name="b") != one
    assert one != "a"


def test_messages_have_no_hash() -> None:
    """They are mutable."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(Inner())


def test_repr_leaves_out_defaults() -> None:
    """The repr shows what is set, like a constructor call."""
    message = Inner(name="a", numbers=[1])

    assert repr(message) == "Inner(name='a', numbers=[1])"
    assert repr(Inner()) == "Inner()"
    message.unknown_tags = {1: b"x"}
    assert repr(message).endswith("unknown_tags={1: b'x'})")


def test_fields_tell_the_facts() -> None:
    """`fields` lists the declaration in wire order, with Kafka's names."""
    specs = {spec.name: spec for spec in Everything.fields}

    assert list(specs)[:3] == ["tiny", "short", "word"]
    assert specs["maybe_text"].kafka_name == "MaybeText"
    assert specs["maybe_text"].nullable == Versions(1, 32767)
    assert specs["numbers"].type == ArrayOf(INT32)
    assert specs["lines"].type == ArrayOf(Line)
    assert specs["names"].type == ArrayOf(STRING)
    assert specs["tagged_inner"].tag == 1
    assert not specs["old_text"].flexible
    assert Everything.versions == (0, 3)


def test_names_may_begin_in_lower_case() -> None:
    """Stored records have lowerCamel names; a single odd name can be given."""

    class Stored(Struct, names="lowerCamel"):
        group_id: Str = field("0+")
        odd: Str = field("0+", kafka_name="ODD")

    assert [spec.kafka_name for spec in Stored.fields] == ["groupId", "ODD"]


def test_a_message_without_fields() -> None:
    """It is empty in old versions and an empty tagged section in flexible ones."""
    assert Nothing().encode(0) == b""
    assert Nothing().encode(1) == b"\0"
    assert Nothing.decode(b"", 0) == (Nothing(), 0)
    assert Nothing.decode(b"\0", 1) == (Nothing(), 1)


def test_a_field_needs_its_declaration() -> None:
    """An annotation without field() is refused when the class is made, and so is a type that has no encoding."""
    with pytest.raises(TypeError, match=r"Bad\.name is not declared with field\(\)"):

        class Bad(Struct):
            name: Str = "x"

    with pytest.raises(TypeError, match=r"Worse\.name: <class 'int'> is not a wire type"):

        class Worse(Struct):
            name: int = field("0+")


def test_the_tuple_of_a_row_is_checked() -> None:
    """The tuple in the annotation must spell the row's fields, so that mypy tells the truth."""

    class Pair(Row):
        left: Int32 = field("0+")
        right: Str = field("0+")

    with pytest.raises(TypeError, match="expected for rows of Pair"):

        class Wrong(Message, versions="0"):
            pairs: list[tuple[Int32, Int32]] = field("0+", row=Pair)
